/** The statements of an acceptance: one that reads all its facts, and those that record it. */
import type { Instant } from "../../domain/Instant.ts"
import type { Content, Job } from "../../domain/Job.ts"
import type { AcceptSend, Earlier } from "../JobStore.ts"
import type { AcceptanceQuery } from "../policy/JobRows.ts"
import type { Column, Dialect } from "./Database.ts"
import type { Sql } from "./JobRows.ts"
import * as Jobs from "./Jobs.ts"
import type { Program, SqlValue } from "./Program.ts"
import { get } from "./Program.ts"
import { integer, integerOrNull, lastPlace, oneOf, recipientKey, text, textOrNull } from "./Rows.ts"

const kindOf = oneOf<Content["kind"]>(["template", "direct"])

const withKey = "FROM sendwright_job WHERE public_key = ? AND idempotency_key = ?"

const findEarlier = `SELECT id, kind, fingerprint, recipients, answer ${withKey}`

export function* earlierTo(publicKey: string, key: string): Program<Earlier | null> {
  const row = yield* get(findEarlier, publicKey, key)
  if (row === undefined) return null
  return {
    fingerprint: text(row, "fingerprint"),
    jobId: text(row, "id"),
    kind: kindOf(row, "kind"),
    recipients: integer(row, "recipients"),
    answer: textOrNull(row, "answer")
  }
}

const findFacts = (kind: Content["kind"]): string => `SELECT
    (SELECT id ${withKey}) AS earlier,
    (${Jobs.findSnapshot}) AS snapshot,
    (SELECT ${kind} FROM sendwright_usage WHERE account = ? AND day = ?) AS used,
    (SELECT accepted_at FROM sendwright_acceptance WHERE public_key = ?) AS accepted_at`

const findFactsOf = { template: findFacts("template"), direct: findFacts("direct") }

export function* facts({ accountId, content, day, key, publicKey }: AcceptanceQuery): Program<Sql["facts"]> {
  const of = [publicKey, key, Jobs.digestOf(content), accountId, day, publicKey]
  const row = (yield* get(findFactsOf[content.kind], ...of)) ?? {}
  const repeats = key !== null && textOrNull(row, "earlier") !== null
  return {
    earlier: repeats ? yield* earlierTo(publicKey, key) : null,
    usedToday: integerOrNull(row, "used") ?? 0,
    lastAcceptedAt: integerOrNull(row, "accepted_at"),
    snapshot: integerOrNull(row, "snapshot")
  }
}

const staying = [
  "id",
  "account",
  "session",
  "public_key",
  "kind",
  "template",
  "snapshot",
  "reference",
  "currency",
  "estimated_cost",
  "idempotency_key",
  "fingerprint",
  "recipients",
  "created_at"
]

const changing = {
  status: "'queued'",
  queued: "?",
  sending: "0",
  accepted: "0",
  sent: "0",
  delivered: "0",
  read: "0",
  failed: "0",
  skipped: "0",
  canceled: "0",
  unknown: "0",
  in_flight: "0",
  next_at: "?",
  fence: "0",
  updated_at: "?"
}

const addUsage = `INSERT INTO sendwright_usage (account, day, template, direct) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, day) DO UPDATE
  SET template = sendwright_usage.template + excluded.template, direct = sendwright_usage.direct + excluded.direct`

const noteAcceptance = `INSERT INTO sendwright_acceptance (public_key, accepted_at) VALUES (?, ?)
  ON CONFLICT (public_key) DO UPDATE SET accepted_at = excluded.accepted_at`

/** The columns that are the same for all recipients of most sends come first. */
const newRecipient: ReadonlyArray<Column> = [
  ["next_at", "bigint"],
  ["updated_at", "bigint"],
  ["market", "text"],
  ["price", "text"],
  ["external_id", "text"],
  ["variables", "text"],
  ["phone", "text"],
  ["seq", "bigint"]
]

/** As `Job.newRecipient` begins each. */
const newRecipients = { status: "'queued'", attempts: "0", sequence: "0" }

const fromNew = (
  job: number,
  recipient: AcceptSend["recipients"][number],
  index: number,
  now: Instant
): ReadonlyArray<SqlValue> => [
  now,
  now,
  recipient.market,
  recipient.price,
  recipient.externalId,
  JSON.stringify(recipient.values),
  recipient.phone,
  recipientKey(job, index)
]

/** Records a send; the number of its content is null when that is new. */
export const inserting = ({ progress }: Dialect) => {
  const insertJob = progress.insert(staying, changing, newRecipient, newRecipients, [
    addUsage,
    noteAcceptance
  ])
  return function* (command: AcceptSend, job: Job, day: string, snapshot: number | null): Program<void> {
    const { content, demand, idempotency, now, recipients } = command
    if (recipients.length > lastPlace) throw new RangeError(`A job has ${lastPlace} recipients at most`)
    const frozen = snapshot ?? (yield* Jobs.freeze(content))
    const [template, direct] = content.kind === "template" ? [demand.units, 0] : [0, demand.units]
    yield* insertJob(
      [
        job.id,
        job.accountId,
        job.sessionId,
        job.publicKey,
        content.kind,
        content.kind === "template" ? content.templateId : null,
        frozen,
        job.reference,
        job.currency,
        job.estimatedCost,
        idempotency === null ? null : idempotency.key,
        idempotency === null ? null : idempotency.fingerprint,
        job.recipients,
        now,
        job.counts.queued,
        now,
        now
      ],
      (seq) => recipients.map((each, index) => fromNew(seq, each, index, now)),
      [
        [job.accountId, day, template, direct],
        [job.publicKey, now]
      ]
    )
  }
}
