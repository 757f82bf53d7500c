/** All that rows tell of one message (`domain/job/Timeline`): each part by an index, and no more than is bounded there. */
import * as Address from "../../../domain/Address.ts"
import type * as Audit from "../../../domain/Audit.ts"
import * as Consent from "../../../domain/consent/Consent.ts"
import * as Ids from "../../../domain/Ids.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Job } from "../../../domain/job/Job.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import * as Timeline from "../../../domain/job/Timeline.ts"
import type { Key } from "../../../domain/Person.ts"
import type { Program, Row, SqlParameter } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import { findAccount } from "../AccountStore.ts"
import { auditEntries } from "../codec/AuditEntry.ts"
import { consents, readConsent } from "../codec/Consent.ts"
import { attempts as attemptColumns, deliveries as deliveryColumns, events } from "../codec/Delivery.ts"
import { endpoints } from "../codec/Endpoint.ts"
import type { Dialect } from "../Database.ts"
import * as Happenings from "../Happenings.ts"
import * as IndexScan from "../IndexScan.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { end, instant, integer, limited, seq, text, textOrNull } from "../RowReader.ts"
import { findSession } from "../SessionStore.ts"
import * as EarlierAttempts from "./EarlierAttempts.ts"
import type { StoredJobs } from "./Jobs.ts"

export const { most } = Timeline

type Cut = Timeline.Rows["cut"][number]

// Consent

const behind = `SELECT ${consents.list} FROM (
    SELECT * FROM sendwright_consent WHERE account = ? AND person = ?
    ORDER BY occurred_at DESC, seq DESC LIMIT ${most.consents}
  ) AS newest`
const decided = `${behind} WHERE purpose IN (?, 'all') AND recorded_at <= ? ORDER BY occurred_at DESC, seq DESC LIMIT 1`
const isLong = `SELECT recorded_at FROM sendwright_consent WHERE account = ? AND person = ?
  ORDER BY occurred_at DESC, seq DESC LIMIT 1 OFFSET ${most.consents}`
const said = `SELECT ${consents.list} FROM (
    SELECT * FROM sendwright_consent WHERE account = ? AND person = ? ORDER BY seq DESC LIMIT ${most.consents}
  ) AS newest WHERE recorded_at >= ? AND source IN ('${Consent.inboundSources.message}', '${Consent.inboundSources.platform}')
  ORDER BY seq DESC LIMIT ${most.words + 1}`

/** By all names of a recipient, each of whom has records of their own. */
const ofKeys = function* (
  statement: string,
  account: string,
  keys: ReadonlyArray<Key>,
  ...rest: ReadonlyArray<SqlParameter>
) {
  const rows: Array<Row> = []
  for (const key of keys) rows.push(...(yield* all(statement, account, key, ...rest)))
  return rows
}

function* decisionsOf(job: Job, keys: ReadonlyArray<Key>, times: ReadonlyArray<Instant>) {
  const cut: Array<Cut> = []
  const decisions: Array<Timeline.Decision> = []
  if (!Jobs.isReadable(job.content)) return { decisions, cut }
  const purpose = Jobs.purpose(job.content)
  for (const at of times) {
    const [record] = (yield* ofKeys(decided, job.accountId, keys, purpose, at))
      .map(readConsent)
      .toSorted((a, b) => Number(a.status === "granted") - Number(b.status === "granted"))
    if (record !== undefined) decisions.push({ at, record })
    else if ((yield* ofKeys(isLong, job.accountId, keys)).length === 0) decisions.push({ at, record: null })
    else cut.push({ kind: "consent", at })
  }
  return { decisions, cut }
}

// Webhooks

const endpointsOf = `SELECT seq FROM sendwright_endpoint WHERE account = ? ORDER BY seq LIMIT ${most.endpoints + 1}`
const made = "FROM sendwright_delivery WHERE id >= ? AND id < ? ORDER BY id"
const isMore = `SELECT seq ${made} LIMIT 1 OFFSET ${most.ofMoment}`
const lastBefore = "SELECT seq FROM sendwright_delivery WHERE id < ? ORDER BY id DESC LIMIT 1"
const firstSince = "SELECT seq FROM sendwright_delivery WHERE id >= ? ORDER BY id LIMIT 1"
const received = "message.received"

const shownDelivery = deliveryColumns.only("id", "status", "nextAt", "createdAt")
const shownAttempt = attemptColumns.only("number", "at", "status", "durationMs", "reason")
const shownEndpoint = endpoints.only("id", "url", "enabled")

/** Reads of an event's body what a reply's is. It is JSON of our own writing. */
const replyOf = (row: Row): Timeline.Reply => {
  const { data }: { readonly data: { readonly text: string } } = JSON.parse(text(row, "body"))
  return { at: instant(row, "created_at"), text: data.text }
}

/** The numbers of deliveries between which those of a time lie, both exclusive. */
function* rangeOf({ from, to }: Timeline.Span): Program<readonly [number, number]> {
  const before = yield* get(lastBefore, Ids.since(from))
  const after = yield* get(firstSince, Ids.since(Time.after(to, 1)))
  return [before === undefined ? 0 : seq(before), after === undefined ? end : seq(after)]
}

/** What an event has that came from them. */
const fromThem = (address: Address.Address): string => {
  const { phone, userId } = Address.personOf(address)
  return phone === null ? `"user_id":${JSON.stringify(userId)}` : `"from":"${phone}"`
}

/** The account, the message's id, and what an event has that came from its recipient. */
type Named = readonly [accountId: string, messageId: string, from: string]

/** Events that tell of the message, or are from its number; and the times at which there were more than are looked at. */
class Found {
  readonly events = new Map<number, Row>()
  readonly cut: Array<Cut> = []

  add(rows: ReadonlyArray<Row>): void {
    for (const row of rows) this.events.set(seq(row), row)
  }

  /** True when the change to a status was found already. */
  tells(status: string | null): boolean {
    return [...this.events.values()].some((row) => text(row, "type").endsWith(`.${status}`))
  }
}

const finding = ({ contains, lookUp, within }: Dialect) => {
  const inRange = `FROM sendwright_delivery WHERE ${within("endpoint", "seq")}`
  const bound = `SELECT seq, created_at ${inRange} ORDER BY endpoint, seq LIMIT 1 OFFSET 0 + ?`
  const isReply = `event.type = '${received}' AND ${contains("event.body")}`
  const tellingOf = (
    deliveries: string,
    isTold: string
  ) => `SELECT event.seq, event.id, event.type, event.created_at,
      CASE WHEN event.type = '${received}' THEN event.body END AS body
    FROM (SELECT event ${deliveries}) AS looked
    ${lookUp(
      "sendwright_event",
      "event",
      `event.seq = looked.event AND event.account = ? AND (${isTold})`
    )} ${limited}`
  const isAny = `${contains("event.body")} OR (${isReply})`
  const tellingAt = tellingOf(`${made} LIMIT ${most.ofMoment}`, isAny)
  const telling = tellingOf(inRange, isAny)
  const replying = tellingOf(inRange, isReply)

  function* ofMoment(at: Instant, named: Named, found: Found): Program<void> {
    const moment = [Ids.since(at), Ids.since(Time.after(at, 1))]
    found.add(yield* all(tellingAt, ...moment, ...named, most.events))
    if ((yield* get(isMore, ...moment)) !== undefined) found.cut.push({ kind: "webhook", at })
  }

  function* behind(
    span: Timeline.Span,
    keys: ReadonlyArray<number>,
    named: Named,
    found: Found
  ): Program<void> {
    const { status } = span
    const [after, before] = yield* rangeOf(span)
    const [account, messageId, from] = named
    for (const key of keys) {
      const last = yield* get(bound, key, after, key, before, Math.ceil(most.looks / keys.length))
      if (last !== undefined)
        found.cut.push({ kind: status === null ? "inbound" : "webhook", at: instant(last, "created_at") })
      const range = [key, after, key, last === undefined ? before : seq(last)]
      found.add(
        status === null
          ? yield* all(replying, ...range, account, from, most.events)
          : yield* all(telling, ...range, account, messageId, from, most.events)
      )
    }
  }

  /** The events of these times that tell of the message, or are from its number. */
  return function* (
    job: Job,
    messageId: string,
    address: Address.Address,
    { commits, receipts }: Timeline.Looks
  ): Program<Found> {
    const found = new Found()
    const theirs = commits.length === 0 ? [] : (yield* all(endpointsOf, job.accountId)).map(seq)
    const keys = theirs.slice(0, most.endpoints)
    if (keys.length === 0) return found
    if (theirs.length > keys.length) found.cut.push({ kind: "webhook", at: job.createdAt })
    const named: Named = [job.accountId, messageId, fromThem(address)]
    for (const at of commits) yield* ofMoment(at, named, found)
    for (const span of receipts) if (!found.tells(span.status)) yield* behind(span, keys, named, found)
    return found
  }
}

const webhooks = (dialect: Dialect) => {
  const { elements, lookUp } = dialect
  const eventsOf = finding(dialect)
  const ofEvents = `SELECT delivery.seq, delivery.event, delivery.endpoint, ${shownDelivery.of("delivery")} FROM ${elements.from}
    ${lookUp("sendwright_delivery", "delivery", `delivery.event = ${elements.integer}`)} ${limited}`
  const ofDeliveries = `SELECT attempt.delivery, ${shownAttempt.of("attempt")} FROM ${elements.from}
    ${lookUp("sendwright_attempt", "attempt", `attempt.delivery = ${elements.integer}`)}
    ORDER BY attempt.delivery, attempt.number ${limited}`
  const byKeys = `SELECT seq, ${shownEndpoint.list} FROM sendwright_endpoint
    WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`

  function* deliveriesOf(told: ReadonlyMap<number, Row>) {
    const rows = yield* all(ofEvents, JSON.stringify([...told.keys()]), most.deliveries + 1)
    const deliveries = rows.slice(0, most.deliveries)
    const keys = JSON.stringify(deliveries.map(seq))
    const made = yield* all(ofDeliveries, keys, most.deliveryAttempts + 1)
    const places = JSON.stringify([...new Set(deliveries.map((row) => integer(row, "endpoint")))])
    const known = new Map((yield* all(byKeys, places)).map((row) => [seq(row), shownEndpoint.read(row)]))
    const found = deliveries.flatMap((row): ReadonlyArray<Timeline.ToldDelivery> => {
      const endpoint = known.get(integer(row, "endpoint"))
      const event = told.get(integer(row, "event"))
      if (endpoint === undefined || event === undefined) return []
      const attempts = made
        .slice(0, most.deliveryAttempts)
        .filter((each) => integer(each, "delivery") === seq(row))
        .map(shownAttempt.read)
      return [
        {
          ...shownDelivery.read(row),
          endpointId: endpoint.id,
          eventId: text(event, "id"),
          eventType: events.columns.type.read(event),
          endpoint,
          attempts
        }
      ]
    })
    const isCut = rows.length > most.deliveries || made.length > most.deliveryAttempts
    return { deliveries: found, isCut }
  }

  return function* (job: Job, messageId: string, address: Address.Address, looks: Timeline.Looks) {
    const { cut, events } = yield* eventsOf(job, messageId, address, looks)
    const told = new Map([...events].filter(([, row]) => text(row, "type") !== received))
    const replies = [...events.values()].filter((row) => text(row, "type") === received).map(replyOf)
    if (told.size === 0) return { deliveries: [], replies, cut }
    const { deliveries, isCut } = yield* deliveriesOf(told)
    const first = deliveries[0]
    return {
      deliveries,
      replies,
      cut: isCut && first !== undefined ? [...cut, { kind: "webhook" as const, at: first.createdAt }] : cut
    }
  }
}

// All of it

const acts = IndexScan.make("sendwright_audit", `seq, ${auditEntries.list}`, ["target"])

/** The newest acts of operators on something, in their order. */
export function* actsOn(target: string, limit: number): Program<ReadonlyArray<Audit.Entry>> {
  const { items } = yield* acts.page([target], { limit, after: null })
  return items.map(auditEntries.read).reverse()
}

const keyOfJob = "SELECT seq, public_key FROM sendwright_job WHERE id = ?"

/** What there is, and whether there is more than may be. */
const cutTo = <A extends { readonly at: Instant }>(
  kind: Timeline.Kind,
  found: ReadonlyArray<A>,
  limit: number
) => {
  const kept = found.slice(-limit)
  const [first] = kept
  const cut: ReadonlyArray<Cut> = found.length > limit && first !== undefined ? [{ kind, at: first.at }] : []
  return { kept, cut }
}

function* happeningsOf(job: Job, to: Instant) {
  const { createdAt, sessionId } = job
  const newest = yield* Happenings.find({ sessionId, from: Time.at(0), to, limit: most.happenings + 1 })
  const ofStore = yield* Happenings.find({ from: createdAt, to, limit: most.happenings })
  const { cut, kept } = cutTo("waited", [...newest].reverse(), most.happenings)
  return {
    happenings: [...ofStore.filter(({ type }) => type.startsWith("restore.")), ...kept],
    cut: cut.filter(({ at }) => at > createdAt)
  }
}

export const make = ({ dialect, find, recipients, recipientsOf }: StoredJobs) => {
  const recipientAt = recipientsOf("seq = ?")
  const webhooksOf = webhooks(dialect)

  return function* (query: {
    readonly jobId: string
    readonly index: number
    readonly publicKey?: string | undefined
    readonly now: Instant
  }): Program<Timeline.Rows | null> {
    const { index, jobId, now, publicKey } = query
    const known = yield* get(keyOfJob, jobId)
    if (known === undefined || (publicKey !== undefined && textOrNull(known, "public_key") !== publicKey))
      return null
    const stored = yield* find(jobId)
    if (stored === undefined) return null
    const { job } = stored
    const key = recipientKey(stored.seq, index)
    const recipient = (yield* recipients(recipientAt, job.sessionId, key))[0]?.recipient
    if (recipient === undefined) return null
    const keys = Address.keysOf(recipient.address)
    const earlier = cutTo("attempt", yield* EarlierAttempts.lastOf(key, most.attempts + 1), most.attempts)
    const decided = yield* decisionsOf(job, keys, Timeline.decisionTimes(job, recipient))
    const spoken = (yield* ofKeys(said, job.accountId, keys, job.createdAt))
      .map(readConsent)
      .toSorted((a, b) => a.recordedAt - b.recordedAt)
    const words = cutTo(
      "inbound",
      spoken.map((record) => ({ at: record.recordedAt, record })),
      most.words
    )
    const acts = cutTo("retried", yield* actsOn(jobId, most.acts + 1), most.acts)
    const happened = yield* happeningsOf(job, Time.after(Timeline.dispatchedAt(recipient) ?? now, 1))
    const looks = Timeline.looks(recipient, earlier.kept)
    const told = yield* webhooksOf(job, Ids.messageId(jobId, index), recipient.address, looks)
    return {
      job,
      recipient,
      account: yield* findAccount(job.accountId),
      session: yield* findSession(job.sessionId),
      earlier: earlier.kept,
      decisions: decided.decisions,
      words: words.kept.map(({ record }) => record),
      happenings: happened.happenings,
      acts: acts.kept,
      sessionActs: yield* actsOn(job.sessionId, most.acts),
      deliveries: told.deliveries,
      replies: told.replies,
      cut: [earlier, decided, words, acts, happened, told].flatMap(({ cut }) => cut)
    }
  }
}
