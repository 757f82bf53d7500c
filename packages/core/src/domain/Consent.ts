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

/** What of a record decides. */
export type Standing = Pick<ConsentRecord, "purpose" | "status" | "occurredAt">

export type Verdict<R extends Standing = Standing> =
  | { readonly _tag: "Granted"; readonly record: R }
  | { readonly _tag: "Revoked"; readonly record: R }
  | { readonly _tag: "Missing" }

/** Why a message may not go. */
export type Refusal<R extends Standing = Standing> = Exclude<Verdict<R>, { readonly _tag: "Granted" }>

/**
 * Of the records for the purpose and for `all`, the one that occurred last decides; of two that occurred at the
 * same time, the one recorded last. `history` is in the order of recording.
 */
export const decide = <R extends Standing>(history: Iterable<R>, purpose: Purpose): Verdict<R> => {
  let last: R | undefined
  for (const record of history) {
    if (record.purpose !== purpose && record.purpose !== "all") continue
    if (last === undefined || record.occurredAt >= last.occurredAt) last = record
  }
  if (last === undefined) return { _tag: "Missing" }
  return { _tag: last.status === "granted" ? "Granted" : "Revoked", record: last }
}

/** Those of the verdicts that forbid, by their places. */
export const refusals = <R extends Standing>(
  verdicts: ReadonlyArray<Verdict<R>>
): ReadonlyMap<number, Refusal<R>> => {
  const found = new Map<number, Refusal<R>>()
  verdicts.forEach((verdict, place) => {
    if (verdict._tag !== "Granted") found.set(place, verdict)
  })
  return found
}
