/**
 * Recipients that are claimed by their job's row alone: they lie side by side and nothing happened to any of them yet.
 * Their own rows are first written with what becomes of them, so until then both rows together describe them: their
 * own `next_at` and `fence` tell nothing.
 *
 * Whatever becomes of a recipient raises its `sequence`, so one that still has none within these places is claimed. Of a
 * job that a claim chooses nothing is claimed yet, so no claim writes over places that still tell of somebody.
 */
import type { Instant } from "../../domain/Instant.ts"
import type { RecipientResult } from "../../domain/job/Job.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import type { JobChange, RecipientChange } from "../JobSteps.ts"
import type { ClaimedRange, StoredJob } from "./codec/Job.ts"
import type { StoredRecipient } from "./codec/Recipient.ts"
import { untouched } from "./codec/Recipient.ts"
import { recipientKey } from "./RecipientKeys.ts"

const isUntouched = ({ sequence, status }: RecipientResult): boolean => sequence === 0 && status === "queued"

const rangeOf = (changes: ReadonlyArray<RecipientChange>, at: Instant): ClaimedRange | null => {
  const [change] = changes
  if (change === undefined) return null
  const first = change.before.index
  const isContiguous = changes.every(
    ({ before }, place) => before.index === first + place && isUntouched(before)
  )
  return isContiguous ? { first, last: first + changes.length - 1, at } : null
}

/** A step that gives recipients to a worker, with those that it claims by the job's row. */
export const ofClaim = (
  { changes, drafts, state }: JobChange<StoredJob>,
  now: Instant
): {
  /** All of it. */
  readonly step: JobChange<StoredJob>
  /** The part that is written: without the recipients whose claim the job's row records. */
  readonly written: JobChange<StoredJob>
} => {
  const claimedRange = rangeOf(changes, now)
  const step = { state: { ...state, claimedRange }, changes, drafts }
  return { step, written: claimedRange === null ? step : { state: step.state, changes: [], drafts } }
}

/** The recipient, from its row and its job's. */
export const effectiveRecipient = (
  { claimedRange, fence }: StoredJob,
  stored: StoredRecipient
): StoredRecipient => {
  const { recipient } = stored
  if (claimedRange === null || recipient.index < claimedRange.first || recipient.index > claimedRange.last)
    return stored
  return isUntouched(recipient)
    ? { ...stored, recipient: Transitions.claim(recipient, claimedRange.at), fence }
    : stored
}

/** Whether a row of `sendwright_recipient` is one of them; its parameters are {@link ends}. */
export const isInRange = `${untouched} AND seq BETWEEN ? AND ?`

/** The first and the last key of the claimed range; between nulls is nothing. */
export const ends = ({
  claimedRange,
  seq
}: Pick<StoredJob, "seq" | "claimedRange">): readonly [number | null, number | null] =>
  claimedRange === null
    ? [null, null]
    : [recipientKey(seq, claimedRange.first), recipientKey(seq, claimedRange.last)]
