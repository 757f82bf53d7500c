/**
 * Recipients that a claim takes by their job's row alone: they lie side by side and nothing happened to any of them yet.
 * Their own rows are first written with what becomes of them, so until then they are told by both rows together: their
 * own `next_at` and `fence` tell nothing.
 *
 * Whatever becomes of a recipient raises its `sequence`, so one that still has none within these places is in hand. Of a
 * job that is claimed nothing is in hand, so no claim writes over places that still tell of somebody.
 */
import type { Instant } from "../../domain/Instant.ts"
import type { RecipientResult } from "../../domain/Job.ts"
import * as Progress from "../../domain/Progress.ts"
import type { Move, Step } from "../JobSteps.ts"
import type { StoredJob, Taken } from "./codec/Job.ts"
import type { StoredRecipient } from "./codec/Recipient.ts"
import { untouched } from "./codec/Recipient.ts"
import { recipientKey } from "./RecipientKeys.ts"

const isUntouched = ({ sequence, status }: RecipientResult): boolean => sequence === 0 && status === "queued"

const takenBy = (moves: ReadonlyArray<Move>, at: Instant): Taken | null => {
  const [move] = moves
  if (move === undefined) return null
  const first = move.before.index
  const tells = moves.every(({ before }, place) => before.index === first + place && isUntouched(before))
  return tells ? { first, last: first + moves.length - 1, at } : null
}

/** A step that gives recipients to a worker, with what it takes by the job's row. */
export const ofClaim = (
  { drafts, held, moves }: Step<StoredJob>,
  now: Instant
): {
  /** All of it. */
  readonly step: Step<StoredJob>
  /** The part that is written: without the recipients whose claim the job's row records. */
  readonly written: Step<StoredJob>
} => {
  const taken = takenBy(moves, now)
  const step = { held: { ...held, taken }, moves, drafts }
  return { step, written: taken === null ? step : { held: step.held, moves: [], drafts } }
}

/** The recipient, from its row and its job's. */
export const tell = ({ fence, taken }: StoredJob, stored: StoredRecipient): StoredRecipient => {
  const { recipient } = stored
  if (taken === null || recipient.index < taken.first || recipient.index > taken.last) return stored
  return isUntouched(recipient)
    ? { ...stored, recipient: Progress.claim(recipient, taken.at), fence }
    : stored
}

/** Whether a row of `sendwright_recipient` is one of them; its parameters are {@link ends}. */
export const isTaken = `${untouched} AND seq BETWEEN ? AND ?`

/** The first and the last key of what is taken; between nulls is nothing. */
export const ends = ({
  seq,
  taken
}: Pick<StoredJob, "seq" | "taken">): readonly [number | null, number | null] =>
  taken === null ? [null, null] : [recipientKey(seq, taken.first), recipientKey(seq, taken.last)]
