/** Finds whether platforms and receivers of webhooks can be reached from here, without a message and without an event. */
import * as Effect from "effect/Effect"
import type { Finding } from "../domain/Diagnosis.ts"
import { cureOf, failing, ok, warning } from "../domain/Diagnosis.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Either from "../effect/Either.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import type { Sender } from "../sender/Sender.ts"
import { isCheckAnswered, Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { AddressPolicy } from "../webhook/AddressPolicy.ts"

const configOf = (
  box: SecretBox["Type"],
  { configure }: Sender,
  { config, id }: { readonly id: string; readonly config: string }
): Either.Either<unknown, string> => {
  if (configure === undefined) return Either.right({})
  const opened = box.open(SessionSender.place(id), config)
  return Either.isLeft(opened) ? Either.left(opened.left.message) : Either.right(JSON.parse(opened.right))
}

/** Asks the platform of a connected session whether it knows us, or at least connects to it. */
export const session = Effect.fnUntraced(function* (seen: {
  readonly id: string
  readonly provider: string
  readonly config: string
  readonly unavailableSince: Instant | null
}) {
  const check = `session ${seen.id}`
  const sender = (yield* Senders).get(seen.provider)
  if (sender === undefined)
    return failing(
      check,
      `This program has no sender for ${seen.provider}.`,
      "Run doctor by the program that has it (docs/own-sender.md, In the host)."
    )
  const config = configOf(yield* SecretBox, sender, seen)
  if (Either.isLeft(config)) return failing(check, config.left, "Give the key that sealed it (see keys).")
  const { check: ask, reach } = sender
  const asked = ask ?? reach
  if (asked === undefined) return ok(check, `${seen.provider}: it has no platform outside of this process.`)
  const failure = yield* asked(config.right)
  if (failure !== null)
    return failing(
      check,
      `${seen.provider}: ${failure.message}`,
      ask !== undefined && isCheckAnswered(failure)
        ? "Correct it at the platform, or by sessions change --config-file; then sessions connect."
        : "Look whether this machine may reach it (firewall, egress, the platform's own state)."
    )
  return seen.unavailableSince === null
    ? ok(
        check,
        `${seen.provider}: ${ask === undefined ? "it can be connected to" : "the platform answers and knows it"}.`
      )
    : warning(
        check,
        `${seen.provider}: it answers now, and is taken for out since ${Time.format(seen.unavailableSince)}.`,
        "The next message that it answers ends that."
      )
})

/** Connects to a receiver of webhooks, with TLS where it asks for that. */
export const endpoint = Effect.fnUntraced(function* (
  seen: { readonly id: string; readonly url: string; readonly failingSince: Instant | null },
  reach: (url: string) => Effect.Effect<string | null>
) {
  const check = `webhook ${seen.id}`
  const fault = (yield* AddressPolicy).check(seen.url)
  if (fault !== undefined) return failing(check, fault, "Give it another address: webhooks change --url.")
  const { host } = new URL(seen.url)
  const reason = yield* reach(seen.url)
  if (reason !== null) return failing(check, `${host} cannot be reached (${reason}).`, cureOf(reason))
  return seen.failingSince === null
    ? ok(check, `${host} can be connected to.`)
    : warning(
        check,
        `${host} can be connected to, and every delivery has failed since ${Time.format(seen.failingSince)}.`,
        `Look what it answers: sendwright webhooks deliveries ${seen.id}`
      )
})

/** A list of which only the first were looked at. */
export const unseen = (
  check: string,
  { all, first }: { readonly first: ReadonlyArray<unknown>; readonly all: number }
) =>
  all <= first.length
    ? ([] as ReadonlyArray<Finding>)
    : [ok(check, `${all - first.length} older ones were not looked at: the newest ${first.length} are.`)]
