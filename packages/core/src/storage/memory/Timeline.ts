/** All that rows tell of one message (`domain/job/Timeline`). */
import * as Consent from "../../domain/consent/Consent.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Timeline from "../../domain/job/Timeline.ts"
import type { Database, DeliveryRow } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

const { most } = Timeline

const isIn =
  ({ commits, receipts }: Timeline.Looks) =>
  ({ createdAt }: DeliveryRow): boolean =>
    commits.includes(createdAt) || receipts.some(({ from, to }) => createdAt >= from && createdAt <= to)

const replyOf = ({ body, createdAt }: DeliveryRow["event"]): Timeline.Reply => {
  const { data }: { readonly data: { readonly text: string } } = JSON.parse(body)
  return { at: createdAt, text: data.text }
}

const webhooksOf = (
  db: Database,
  job: Job,
  messageId: string,
  phone: string,
  looks: Timeline.Looks
): Pick<Timeline.Rows, "deliveries" | "replies"> => {
  const near = [...db.deliveries.values()].filter(
    (row) => row.event.accountId === job.accountId && isIn(looks)(row)
  )
  const told = new Set(
    near.filter(({ event }) => event.body.includes(messageId)).map(({ event }) => event.id)
  )
  const replies = new Map(
    near
      .filter(
        ({ event: { body, type } }) => type === "message.received" && body.includes(`"from":"${phone}"`)
      )
      .map(({ event }) => [event.id, replyOf(event)])
  )
  const deliveries = [...db.deliveries.values()].flatMap((row): ReadonlyArray<Timeline.ToldDelivery> => {
    const endpoint = db.endpoints.get(row.endpointId)?.value
    return endpoint === undefined || !told.has(row.event.id) || replies.has(row.event.id)
      ? []
      : [
          {
            id: row.id,
            endpointId: row.endpointId,
            eventId: row.event.id,
            eventType: row.event.type,
            status: row.status,
            nextAt: row.nextAt,
            createdAt: row.createdAt,
            endpoint: { id: endpoint.id, url: endpoint.url, enabled: endpoint.enabled },
            attempts: row.log.map(({ excerpt: _, ...attempt }) => attempt)
          }
        ]
  })
  return { deliveries: deliveries.slice(0, most.deliveries), replies: [...replies.values()] }
}

const actsOn = (db: Database, target: string) =>
  db.audit.flatMap(({ value }) => (value.target === target ? [value] : [])).slice(-most.acts)

export const rowsOf = (
  db: Database,
  query: {
    readonly jobId: string
    readonly index: number
    readonly publicKey?: string | undefined
    readonly now: Instant
  }
): Timeline.Rows | null => {
  const { index, jobId, now, publicKey } = query
  const stored = db.jobs.get(jobId)
  const recipient = stored?.recipients[index]?.recipient
  if (stored === undefined || recipient === undefined) return null
  const { job } = stored
  if (publicKey !== undefined && job.publicKey !== publicKey) return null
  const messageId = Ids.messageId(jobId, index)
  const earlier = (db.earlierAttempts.get(messageId) ?? []).slice(-most.attempts)
  const history = People.historyOf(db, job.accountId, recipient.phone)
  const { content } = job
  const decisions = !Jobs.isReadable(content)
    ? []
    : Timeline.decisionTimes(job, recipient).map((at) => {
        const then = history.filter(({ recordedAt }) => recordedAt <= at)
        const verdict = Consent.decide(then, Jobs.purpose(content))
        return { at, record: verdict._tag === "Missing" ? null : verdict.record }
      })
  const to = Timeline.dispatchedAt(recipient) ?? now
  const happenings = db.happenings.filter(
    ({ at, sessionId, type }) =>
      at <= to && (sessionId === job.sessionId || (type.startsWith("restore.") && at >= job.createdAt))
  )
  return {
    job,
    recipient,
    account: db.accounts.get(job.accountId)?.value ?? null,
    session: db.sessions.get(job.sessionId)?.value ?? null,
    earlier,
    decisions,
    words: history
      .filter((record) => record.recordedAt >= job.createdAt && Timeline.isWord(record))
      .slice(-most.words),
    happenings: happenings.slice(-most.happenings),
    acts: actsOn(db, jobId),
    sessionActs: actsOn(db, job.sessionId),
    ...webhooksOf(db, job, messageId, recipient.phone, Timeline.looks(recipient, earlier)),
    cut: []
  }
}
