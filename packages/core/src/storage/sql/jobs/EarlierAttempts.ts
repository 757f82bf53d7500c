/** The rows of attempts that were not their recipients' last. */

import type { EarlierAttempt } from "../../../domain/job/Attempts.ts"
import * as Attempts from "../../../domain/job/Attempts.ts"
import type { JobChange } from "../../JobSteps.ts"
import type { Program } from "../../Program.ts"
import { all } from "../../Program.ts"
import type { StoredJob } from "../../policy/JobRows.ts"
import { instant, integer, integerOrNull, table, textOrNull, word } from "../Columns.ts"
import { insertRows } from "../Insert.ts"
import { impersonal, said } from "../Personal.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { limited } from "../RowReader.ts"

interface AttemptRow extends EarlierAttempt {
  /** The key of its recipient. */
  readonly recipient: number
}

export const attempts = table("sendwright_earlier_attempt", {
  kept: { walk: "jobs", by: "recipient", of: "recipients" },
  part: "recipients",
  key: ["recipient", "at", "number"]
})<AttemptRow>({
  recipient: integer("recipient", impersonal),
  at: instant("at", impersonal),
  number: integer("number", impersonal, "INTEGER NOT NULL"),
  outcome: word("outcome", impersonal, Attempts.outcomes),
  code: textOrNull("code", impersonal),
  providerCode: textOrNull("provider_code", impersonal),
  message: textOrNull("message", said),
  ms: integerOrNull("ms", impersonal),
  process: textOrNull("process", impersonal)
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

const ofRecipient = attempts.without("recipient")

const select = `SELECT ${ofRecipient.list} FROM sendwright_earlier_attempt WHERE recipient = ? ORDER BY at, number`

const newest = `SELECT ${ofRecipient.list} FROM sendwright_earlier_attempt WHERE recipient = ?
  ORDER BY at DESC, number DESC ${limited}`

/** The last of them, in their order. */
export function* lastOf(recipient: number, limit: number): Program<ReadonlyArray<EarlierAttempt>> {
  return (yield* all(newest, recipient, limit)).map(ofRecipient.read).reverse()
}

/** @param recipient the recipient's key */
export function* earlierAttemptsOf(recipient: number): Program<ReadonlyArray<EarlierAttempt>> {
  return (yield* all(select, recipient)).map(ofRecipient.read)
}
