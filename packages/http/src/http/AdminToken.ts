/** The operator's token that a server is given, as far as it can be guessed. */
import * as Redacted from "effect/Redacted"

/** Short enough to type, too long to guess at the rate that wrong tokens are answered. */
export const minimumLength = 24

export const isWeak = (token: Redacted.Redacted<string>): boolean =>
  Redacted.value(token).length < minimumLength || new Set(Redacted.value(token)).size === 1
