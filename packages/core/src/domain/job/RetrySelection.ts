/**
 * Chooses the recipients that an operator retries (decisions.md §10). A recipient must match every member that is
 * present. Retries that could do harm need to be named:
 *
 * - `unknown` recipients only by `statuses`: the platform may have the message, and a retry may send it twice;
 * - permanent failures only by code in `codes` or phone in `phones`: unchanged, they fail again.
 */
import * as Struct from "effect/Struct"
import * as Erasure from "../Erasure.ts"
import type { RecipientResult } from "./Job.ts"
import * as Recipient from "./Recipient.ts"

export const statuses: ReadonlyArray<Status> = Recipient.statuses.filter(Recipient.isRetryable)
export type Status = Recipient.Retryable

/** The maximum length of a failure's code. */
export const maximumCodeLength = 64

export interface RetrySelection {
  /** The recipients' statuses; `failed` when absent. */
  readonly statuses?: ReadonlyArray<Status> | undefined
  /** Codes of failures; any when absent. */
  readonly codes?: ReadonlyArray<string> | undefined
  /** Any when absent. */
  readonly phones?: ReadonlyArray<string> | undefined
}

/** How many recipients of each status. */
export type RetryCounts = Readonly<Record<Status, number>>

export const noCounts: RetryCounts = Struct.pick(Recipient.noCounts, ...statuses)

const byDefault: ReadonlyArray<Status> = ["failed"]

const matches = (names: ReadonlySet<string> | undefined, name: string | undefined): boolean =>
  names === undefined || (name !== undefined && names.has(name))

const setOf = (names: ReadonlyArray<string> | undefined): ReadonlySet<string> | undefined =>
  names === undefined ? undefined : new Set(names)

/** The status by which a recipient is chosen; null when it is not. Nobody who was erased is. */
export const chooser = (
  selection: RetrySelection
): ((recipient: Pick<RecipientResult, "failure" | "phone" | "status">) => Status | null) => {
  const wanted = selection.statuses ?? byDefault
  const codes = setOf(selection.codes)
  const phones = setOf(selection.phones)
  const isNamed = codes !== undefined || phones !== undefined
  return ({ failure, phone, status }) => {
    if (Erasure.isErased(phone)) return null
    const found = wanted.find((each) => each === status)
    if (found === undefined || !matches(codes, failure?.code) || !matches(phones, phone)) return null
    return found === "failed" && failure?.permanent === true && !isNamed ? null : found
  }
}
