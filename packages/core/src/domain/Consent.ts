/**
 * Consent (decisions.md §4): append-only records per account and phone. A send needs consent for its purpose,
 * the template's category or `direct`.
 */
import type { Instant } from "./Instant.ts"

/** What a message is sent for. */
export type Purpose = "marketing" | "utility" | "authentication" | "direct"
/** What a record speaks of: one purpose, or all of them. */
export type Scope = Purpose | "all"
export const scopes: ReadonlyArray<Scope> = ["all", "marketing", "utility", "authentication", "direct"]

export type Status = "granted" | "revoked"

export interface ConsentRecord {
  readonly id: string
  readonly phone: string
  readonly purpose: Scope
  readonly status: Status
  /** How it was given or withdrawn, in the account's words: `web-form`, `import`, `inbound-message`. */
  readonly source: string
  /** Evidence, in the account's words; null when none was given. */
  readonly proof: string | null
  readonly occurredAt: Instant
  readonly recordedAt: Instant
}

export type Verdict =
  | { readonly _tag: "Granted"; readonly record: ConsentRecord }
  | { readonly _tag: "Revoked"; readonly record: ConsentRecord }
  | { readonly _tag: "Missing" }

/**
 * Of the records for the purpose and for `all`, the one that occurred last decides; of two that occurred at the
 * same time, the one recorded last. `history` is in the order of recording.
 */
export const decide = (history: Iterable<ConsentRecord>, purpose: Purpose): Verdict => {
  let last: ConsentRecord | undefined
  for (const record of history) {
    if (record.purpose !== purpose && record.purpose !== "all") continue
    if (last === undefined || record.occurredAt >= last.occurredAt) last = record
  }
  if (last === undefined) return { _tag: "Missing" }
  return { _tag: last.status === "granted" ? "Granted" : "Revoked", record: last }
}
