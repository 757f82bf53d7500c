/**
 * Events that are derived when they are asked for, from rows that changed with them (contract.md §12): nothing is stored so
 * that it can be told. Each has the time that its row has for it.
 */

import * as Address from "./Address.ts"
import type { Entry } from "./Audit.ts"
import type { ConsentRecord } from "./consent/Consent.ts"
import type { Happening } from "./Happening.ts"
import * as Happenings from "./Happening.ts"
import * as Ids from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as ClientTexts from "./job/ClientTexts.ts"
import type { Job, RecipientResult } from "./job/Job.ts"
import * as Transitions from "./job/Transitions.ts"
import type { Paged } from "./Page.ts"

/** The steps of a recipient, in the order in which they are taken. */
const steps = ["attempted", "sent", "delivered", "read", "failed", "skipped", "unknown", "canceled"] as const
type Step = (typeof steps)[number]

const ends = ["completed", "failed", "canceled"] as const

/** Types that are found by their time over all accounts. */
export const ofTime = [
  "job.created",
  "message.created",
  "consent.revoked",
  "audit.recorded",
  ...Happenings.types
] as const

/** Types that are found through their job alone: no index has their time, since each send would pay for one. */
const ofJobs = [
  ...ends.map((end) => `job.${end}` as const),
  ...steps.map((step) => `recipient.${step}` as const),
  ...steps.map((step) => `message.${step}` as const)
]

export const types = [...ofTime, ...ofJobs]
export type Type = (typeof types)[number]

/** The types of one family, such as `recipient.*`. */
export const families: ReadonlyArray<string> = [
  ...new Set(types.map((type) => `${type.slice(0, type.indexOf("."))}.*`))
]

/** @param asked a type, or a family of them; all where it is left out */
export const isAsked = (asked: string | undefined, type: Type): boolean =>
  asked === undefined || asked === type || (asked.endsWith(".*") && type.startsWith(asked.slice(0, -1)))

export interface DerivedEvent {
  readonly at: Instant
  readonly type: Type
  /** Null of operators' acts, processes and the store. */
  readonly accountId: string | null
  readonly sessionId: string | null
  readonly jobId: string | null
  readonly messageId: string | null
  /** The recipient's number of events so far: what has a lower one is older than the recipient is now. */
  readonly sequence: number | null
  /** The id or name of what it is of, where that is none of these. */
  readonly subject: string | null
  readonly data: Readonly<Record<string, unknown>>
}

const none = { accountId: null, sessionId: null, jobId: null, messageId: null, sequence: null, subject: null }

export const ofHappening = ({ accountId, at, data, sessionId, subject, type }: Happening): DerivedEvent => ({
  ...none,
  ...{ at, type, accountId, sessionId, subject, data }
})

/** An operator's act; what it showed of its target is in the audit log. */
export const ofAct = ({ address, at, id, operation, operator, requestId, target }: Entry): DerivedEvent => ({
  ...none,
  ...{ at, type: "audit.recorded", subject: target },
  data: { entry_id: id, operation, operator, address, request_id: requestId }
})

export const ofRefusal = (
  accountId: string,
  { id, occurredAt, phone, purpose, recordedAt: at, source, userId }: ConsentRecord
): DerivedEvent => ({
  ...none,
  ...{ at, type: "consent.revoked", accountId, subject: id },
  data: { phone, user_id: userId, purpose, source, occurred_at: Time.format(occurredAt) }
})

const isDirect = ({ content }: Job): boolean => content.kind === "direct"

const ofItself = ({ accountId, id: jobId, sessionId }: Job) => ({ ...none, accountId, sessionId, jobId })

export const ofAcceptance = (job: Job): DerivedEvent => {
  const { content, currency, estimatedCost, publicKey, recipients, reference, requestId } = job
  return {
    ...ofItself(job),
    ...{ at: job.createdAt, type: isDirect(job) ? "message.created" : "job.created" },
    messageId: isDirect(job) ? Ids.messageId(job.id, 0) : null,
    data: {
      ...{ reference, recipients, key: publicKey, request_id: requestId },
      template_id: content.kind === "template" ? content.templateId : null,
      ...{ currency, estimated_cost: estimatedCost }
    }
  }
}

/** An event with its rank among those of its job that have the same time. */
interface Ranked {
  readonly event: DerivedEvent
  readonly place: number
  readonly rank: number
}

/** Ahead of every recipient, and behind. */
const [first, last] = [0, 4095]

const endOf = (job: Job): ReadonlyArray<Ranked> => {
  const type = ends.find((end) => end === job.status)
  // A direct message ends as its recipient does.
  if (type === undefined || job.completedAt === null || isDirect(job)) return []
  const { counts, reference, recipients } = job
  const event = { ...ofItself(job), at: job.completedAt, data: { reference, recipients, counts } }
  return [{ event: { ...event, type: `job.${type}` }, place: last, rank: 0 }]
}

const timesOf = (recipient: RecipientResult): Partial<Record<Step, Instant | null>> => {
  const { deliveredAt, readAt, sentAt, status, updatedAt } = recipient
  const ended = steps.slice(4).find((step) => step === status)
  const times = {
    attempted: Transitions.attemptedAt(recipient),
    sent: sentAt,
    delivered: deliveredAt,
    read: readAt
  }
  return ended === undefined ? times : { ...times, [ended]: updatedAt }
}

const ofRecipient = (job: Job, recipient: RecipientResult): ReadonlyArray<Ranked> => {
  const { attempts, failure, index, sequence } = recipient
  const of = { ...ofItself(job), messageId: Ids.messageId(job.id, index), sequence }
  const family = isDirect(job) ? "message" : "recipient"
  return Object.entries(timesOf(recipient)).flatMap(([name, at]) => {
    const step = steps.find((each) => each === name)
    if (step === undefined || at === null) return []
    const error = step === recipient.status ? failure : null
    const { phone, userId: user_id } = Address.personOf(recipient.address)
    const data = { phone, user_id, ...ClientTexts.recipient.toBody(recipient), attempts, error }
    const type = `${family}.${step}` as const
    return [{ event: { ...of, at, type, data }, place: index, rank: 1 + steps.indexOf(step) }]
  })
}

/** The events of a job and its recipients that are asked for, a page of them, newest first. */
export const pageOfJob = (
  job: Job,
  recipients: ReadonlyArray<RecipientResult>,
  isIncluded: (event: DerivedEvent) => boolean,
  { after, limit }: { readonly limit: number; readonly after: number | null }
): Paged<DerivedEvent> => {
  const accepted = { event: ofAcceptance(job), place: first, rank: 0 }
  const found = [accepted, ...endOf(job), ...recipients.flatMap((each) => ofRecipient(job, each))]
    .filter(({ event }) => isIncluded(event))
    .map((each) => ({ event: each.event, position: positionIn(job, each) }))
    .filter(({ position }) => after === null || position < after)
    .sort((a, b) => b.position - a.position)
  const items = found.slice(0, limit)
  return {
    items: items.map(({ event }) => event),
    next: found.length > limit ? (items.at(-1)?.position ?? null) : null
  }
}

/** A position grows with the time, and stays the event's own while others come. A platform's clock may be behind ours. */
const positionIn = ({ createdAt }: Job, { event, place, rank }: Ranked): number =>
  (Math.max(0, event.at - createdAt) * 4096 + place) * 16 + rank

/** The part of a source that is asked for, newest first. */
export interface Between {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  /** Inclusive. */
  readonly from: Instant
  /** Exclusive. */
  readonly to: Instant
  readonly limit: number
}

/** The findings of a source, newest first. */
export interface Looked<A> {
  readonly items: ReadonlyArray<A>
  /** All behind this time was looked at; null when all that was asked for was. It looks at more than one millisecond has. */
  readonly lookedTo: Instant | null
}

export const mapLooked = <A>(
  { items, lookedTo }: Looked<A>,
  f: (item: A) => DerivedEvent
): Looked<DerivedEvent> => ({ items: items.map(f), lookedTo })

/**
 * Positions tell so many events of one millisecond apart: so many fit beside any time of this century. No commit writes as many,
 * and each has a time of its own.
 */
const ofOneMs = 2048

/** The begin of a page: behind so many of the events of a time, and at all that are older. */
export interface Place {
  readonly at: Instant
  readonly skip: number
}

export const placeOf = (position: number): Place => ({
  at: Time.at(position / ofOneMs),
  skip: position % ofOneMs
})

/** Behind more of one time than can be told apart it goes on with what is older; null where nothing is. */
const positionOf = ({ at, skip }: Place): number | null => {
  if (skip >= ofOneMs) return positionOf({ at: Time.before(at, 1), skip: 0 })
  return at < 0 ? null : at * ofOneMs + skip
}

/**
 * A page of what several sources have found from a place on. Each has answered one more than the page and what it skips, or all,
 * or all behind the time to which it looked.
 */
export const pageOf = (
  sources: ReadonlyArray<Looked<DerivedEvent>>,
  place: Place,
  limit: number
): Paged<DerivedEvent> => {
  const looked = sources.flatMap(({ lookedTo }) => lookedTo ?? [])
  const floor = looked.length === 0 ? null : Time.max(...looked)
  const found = sources
    .flatMap(({ items }) => items)
    .filter(({ at }) => floor === null || at > floor)
    .sort((a, b) => b.at - a.at)
  const level = found.filter(({ at }) => at === place.at).length
  const rest = found.slice(Math.min(place.skip, level))
  const items = rest.slice(0, limit)
  const end = items.at(-1)
  if (rest.length > limit && end !== undefined) {
    const given = items.filter(({ at }) => at === end.at).length
    return { items, next: positionOf({ at: end.at, skip: given + (end.at === place.at ? place.skip : 0) }) }
  }
  return {
    items,
    next: floor === null ? null : positionOf({ at: Time.min(floor, Time.before(place.at, 1)), skip: 0 })
  }
}
