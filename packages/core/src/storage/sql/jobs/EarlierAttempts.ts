/** The rows of attempts that were not their recipients' last. */
import type { EarlierAttempt } from "../../../domain/job/Attempts.ts"
import * as Attempts from "../../../domain/job/Attempts.ts"
import type { JobChange } from "../../JobSteps.ts"
import { instant, integer, integerOrNull, table, textOrNull, word } from "../Columns.ts"
import { insertRows } from "../Insert.ts"
import type { Program } from "../Program.ts"
import { all, run } from "../Program.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { limited } from "../RowReader.ts"
import type { StoredJob } from "./JobColumns.ts"

interface AttemptRow extends EarlierAttempt {
  /** The key of its recipient. */
  readonly recipient: number
}

const attempts = table<AttemptRow>({
  recipient: integer("recipient"),
  at: instant("at"),
  number: integer("number"),
  outcome: word("outcome", Attempts.outcomes),
  code: textOrNull("code"),
  providerCode: textOrNull("provider_code"),
  message: textOrNull("message"),
  ms: integerOrNull("ms"),
  process: textOrNull("process")
})

const insert = insertRows("sendwright_earlier_attempt", attempts.names, {
  onConflict: "(recipient, at, number) DO NOTHING"
})

export function* save(steps: ReadonlyArray<JobChange<StoredJob>>): Program<void> {
  const made: Array<AttemptRow> = []
  for (const { changes, state } of steps)
    for (const { after, earlier } of changes)
      if (earlier !== undefined)
        for (const each of earlier) made.push({ ...each, recipient: recipientKey(state.seq, after.index) })
  if (made.length > 0) yield* insert(made.map(attempts.write))
}

const forget =
  "UPDATE sendwright_earlier_attempt SET message = NULL WHERE recipient = ? AND message IS NOT NULL"

/** Platforms write numbers into their words. */
export const forgetWords = (recipient: number): Program<void> => run(forget, recipient)

const ofRecipient = attempts.without("recipient")

const select = `SELECT ${ofRecipient.list} FROM sendwright_earlier_attempt WHERE recipient = ? ORDER BY at, number`

const newest = `SELECT ${ofRecipient.list} FROM sendwright_earlier_attempt WHERE recipient = ?
  ORDER BY at DESC, number DESC ${limited}`

/** The last of them, in their order. */
export function* lastOf(recipient: number, limit: number): Program<ReadonlyArray<EarlierAttempt>> {
  return (yield* all(newest, recipient, limit)).map(ofRecipient.read).reverse()
}

/** @param recipient the recipient's key */
export function* of(recipient: number): Program<ReadonlyArray<EarlierAttempt>> {
  return (yield* all(select, recipient)).map(ofRecipient.read)
}
