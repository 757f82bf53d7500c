/**
 * Chooses the recipients that an operator retries (contract.md §10). A recipient must match every member that is
 * present. Retries that could do harm need to be named:
 *
 * - `unknown` recipients only by `statuses`: the platform may have the message, and a retry may send it twice;
 * - permanent failures only by code in `codes` or phone in `phones`: unchanged, they fail again.
 */

import * as Struct from "effect/Struct"
import * as Address from "../Address.ts"
import * as Erasure from "../Erasure.ts"
import type { Instant } from "../Instant.ts"
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
  /** Phones, or user ids; any when absent. */
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

/**
 * What a retry makes of a recipient: it is `chosen`, or left since nobody named it (`unknown`, `permanent`), or since it
 * `changed` after the retry of many jobs began. All `other` ones are not asked for.
 */
export type Verdict = "changed" | "chosen" | "other" | "permanent" | "unknown"

type Judged = Pick<RecipientResult, "address" | "failure" | "requeuedAt" | "status" | "updatedAt">

/** True for what an operator retried, or what was written, after a time: somebody else has dealt with it since. */
const hasChanged = ({ requeuedAt, updatedAt }: Judged, since: Instant): boolean =>
  updatedAt > since || (requeuedAt !== null && requeuedAt >= since)

/** True where the phone or the user id is in the list, and where there is no list. */
export const namesOne = (phones: RetrySelection["phones"], address: Address.Address): boolean => {
  if (phones === undefined) return true
  const { phone, userId } = Address.personOf(address)
  return [phone, userId].some((name) => name !== null && phones.includes(name))
}

/** @param since when a retry of many jobs began; null of one that is done at once */
export const judge = (
  selection: RetrySelection,
  since: Instant | null = null
): ((recipient: Judged) => Verdict) => {
  const wanted = selection.statuses ?? byDefault
  const codes = setOf(selection.codes)
  const isNamed = codes !== undefined || selection.phones !== undefined
  return (recipient) => {
    const { address, failure, status } = recipient
    if (!Recipient.isRetryable(status) || Erasure.isErased(address)) return "other"
    if (!matches(codes, failure?.code) || !namesOne(selection.phones, address)) return "other"
    if (!wanted.includes(status)) return status === "unknown" ? "unknown" : "other"
    if (status === "failed" && failure?.permanent === true && !isNamed) return "permanent"
    return since !== null && hasChanged(recipient, since) ? "changed" : "chosen"
  }
}
