/**
 * The story of one message: derived from its rows when somebody asks, one function for all stores (docs/adr/0041). What no row
 * tells is null, and where more was there than is read the story says so.
 */

import * as Address from "../Address.ts"
import type * as Audit from "../Audit.ts"
import type { Account } from "../account/Account.ts"
import { isOfSession } from "../account/ApiKey.ts"
import type { ConsentRecord } from "../consent/Consent.ts"
import * as Consent from "../consent/Consent.ts"
import * as Erasure from "../Erasure.ts"
import type { Happening } from "../Happening.ts"
import * as Ids from "../Ids.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Person } from "../Person.ts"
import * as Retention from "../Retention.ts"
import * as FailureCatalogue from "../session/FailureCatalogue.ts"
import type { Session } from "../session/Session.ts"
import * as Rendering from "../template/Rendering.ts"
import type { Button } from "../template/Template.ts"
import * as Url from "../Url.ts"
import type { Delivery, Endpoint } from "../webhook/Webhook.ts"
import type { Attempt, EarlierAttempt } from "./Attempts.ts"
import * as Attempts from "./Attempts.ts"
import * as ClientTexts from "./ClientTexts.ts"
import * as Direct from "./Direct.ts"
import type { Job, RecipientResult } from "./Job.ts"
import * as Jobs from "./Job.ts"
import type { Next } from "./Next.ts"
import * as Nexts from "./Next.ts"
import * as Obstacles from "./Obstacles.ts"
import type { Priority } from "./Priority.ts"
import * as Recipient from "./Recipient.ts"
import * as SentAgain from "./SentAgain.ts"
import * as Transitions from "./Transitions.ts"
import type { Limiter } from "./Waiting.ts"

export const kinds = [
  "accepted",
  "consent",
  "waited",
  "attempt",
  "receipt",
  "inbound",
  "webhook",
  "retried",
  "canceled",
  "restored"
] as const
export type Kind = (typeof kinds)[number]

// Rows

/** So many of each are read: the newest, but of webhooks the first behind each of the message's times. */
export const most = {
  attempts: 200,
  /** Records of a person behind those that decided then. */
  consents: 1000,
  words: 20,
  happenings: 200,
  acts: 50,
  endpoints: 8,
  /** Deliveries of a moment, and of all endpoints together behind a receipt. */
  ofMoment: 2000,
  looks: 250,
  events: 50,
  deliveries: 50,
  deliveryAttempts: 200
} as const

/** The record that decided at a time; null where none of then is kept. */
export interface Decision {
  readonly at: Instant
  readonly record: ConsentRecord | null
}

/** A delivery of an event that tells of the message. Of its receivers' answers only their status is read. */
export interface ToldDelivery extends Omit<Delivery, "attempts"> {
  readonly endpoint: Pick<Endpoint, "enabled" | "id" | "url">
  readonly attempts: ReadonlyArray<Omit<Delivery["attempts"][number], "excerpt">>
}

/** A text that came from the number. */
export interface Reply {
  readonly at: Instant
  readonly text: string
}

/** All that the rows of a store tell of a message. */
export interface Rows {
  readonly job: Job
  readonly recipient: RecipientResult
  readonly account: Account | null
  readonly session: Session | null
  /** In their order. */
  readonly earlier: ReadonlyArray<EarlierAttempt>
  readonly decisions: ReadonlyArray<Decision>
  /** The person's words on consent to a platform since the acceptance. */
  readonly words: ReadonlyArray<ConsentRecord>
  readonly happenings: ReadonlyArray<Happening>
  /** The acts of operators on the job. */
  readonly acts: ReadonlyArray<Audit.Entry>
  /** The acts on its session, which tell the paces of then. */
  readonly sessionActs: ReadonlyArray<Audit.Entry>
  readonly deliveries: ReadonlyArray<ToldDelivery>
  readonly replies: ReadonlyArray<Reply>
  /** The kinds of which there is more than was read, with a time from which on that is so. */
  readonly cut: ReadonlyArray<{ readonly kind: Kind; readonly at: Instant }>
}

/** The times at which it is decided whether the person may get the message: at its acceptance, and at its dispatch. */
export const decisionTimes = (job: Job, recipient: RecipientResult): ReadonlyArray<Instant> => {
  const dispatched = recipient.status === "skipped" ? recipient.updatedAt : Transitions.attemptedAt(recipient)
  return dispatched === null || dispatched === job.createdAt ? [job.createdAt] : [job.createdAt, dispatched]
}

/** The time until which a happening could hold up a message. */
export const dispatchedAt = (recipient: RecipientResult): Instant | null =>
  Recipient.leftDispatch(recipient.status)
    ? (Transitions.attemptedAt(recipient) ?? recipient.updatedAt)
    : null

/** A time in which an event of a message was made. */
export interface Span {
  readonly from: Instant
  readonly to: Instant
  /** The status that the event tells; null of texts that came from the number. */
  readonly status: Recipient.Status | null
}

/** The places of a message's events: none has an index by message. */
export interface Looks {
  /** The times of commits that changed it, exactly. */
  readonly commits: ReadonlyArray<Instant>
  /** Behind the platform's own times of receipts: these are heard later, and looked for where no commit tells of them. */
  readonly receipts: ReadonlyArray<Span>
}

/** Ids of deliveries lie in the order of their times, but for as long as a commit takes. */
const commit = Time.second
const heardMs = Time.hour

export const looks = (recipient: RecipientResult, earlier: ReadonlyArray<EarlierAttempt>): Looks => {
  const { deliveredAt, readAt, sentAt, sequence, updatedAt } = recipient
  if (sequence === 0) return { commits: [], receipts: [] }
  const before = Attempts.attemptsOf(recipient, earlier).earlier
  const repeated = before.flatMap(({ at, outcome }) => (isRepeated(outcome) ? [at] : [])).slice(-2)
  const attempted = Transitions.attemptedAt(recipient)
  const behind = (at: Instant, status: Recipient.Status | null): Span => ({
    from: Time.before(at, commit),
    to: Time.after(at, heardMs),
    status
  })
  const told = (
    [
      [sentAt, "sent"],
      [deliveredAt, "delivered"],
      [readAt, "read"]
    ] as const
  ).flatMap(([at, status]) => (at === null ? [] : [behind(at, status)]))
  const last = Time.at(Math.max(sentAt ?? 0, deliveredAt ?? 0, readAt ?? 0))
  return {
    commits: [...new Set([...repeated, ...(attempted === null ? [] : [attempted]), updatedAt])],
    receipts: last === 0 ? [] : [...told, behind(last, null)]
  }
}

// Story

/** The target of an entry's link. */
export type About =
  | { readonly of: "job" | "session" | "delivery" | "acts" | "deliveries"; readonly id: string }
  | ({ readonly of: "consents"; readonly id: string } & Person)

export interface Entry {
  readonly at: Instant
  readonly kind: Kind
  readonly title: string
  readonly text: string | null
  readonly code: string | null
  readonly ms: number | null
  readonly process: string | null
  readonly about: About | null
  /** The key, the request and the address of an acceptance, or of an operator's act. No key sends in the engine's own process. */
  readonly key?: string | null
  readonly requestId?: string | null
  readonly address?: string | null
  /** The end of a wait; null while nobody knows. */
  readonly until?: Instant | null
  readonly limiter?: Limiter | "content"
  /** Of an attempt; null of a failure without one. */
  readonly number?: number | null
  readonly outcome?: Attempt["outcome"]
  /** Of an attempt: the messages that its session sent a second then; null where it had no pace. */
  readonly pace?: number | null
  /** Of a webhook: the endpoint's id, and the status of the answer; null where there was none. */
  readonly endpoint?: string
  readonly answer?: number | null
}

export interface Content {
  readonly header: string | null
  readonly body: string | null
  readonly footer: string | null
  readonly buttons: ReadonlyArray<Button>
}

export interface Message extends ClientTexts.JobTexts, ClientTexts.RecipientTexts {
  readonly messageId: string
  readonly jobId: string
  readonly phone: string | null
  readonly userId: string | null
  readonly status: Recipient.Status
  readonly failure: Recipient.Failure | null
  readonly priority: Priority
  /** Null of a direct message that goes as it was written. Without a name where its content cannot be read. */
  readonly template: {
    readonly templateId: number
    readonly name: string | null
    readonly language: string | null
  } | null
  /** Null of a template send. */
  readonly sentAs: Jobs.SentAs | null
  readonly accountId: string
  readonly account: string | null
  readonly sessionId: string
  readonly session: string | null
  readonly currency: string
  readonly estimated: string | null
  readonly actual: string | null
  /** The time at which its variables, or its text, were forgotten. */
  readonly contentExpiredAt: Instant | null
  readonly isErased: boolean
  readonly content: Content
}

export interface Story {
  readonly message: Message
  readonly timeline: ReadonlyArray<Entry>
  readonly next: ReadonlyArray<Next>
}

/** Facts that no row of the message tells. */
export interface Known {
  readonly now: Instant
  /** The limiter that its job waits for now; null where it waits for nothing. */
  readonly waiting: { readonly limiter: Limiter | "content"; readonly until: Instant | null } | null
  readonly actual: string | null
  /** False of who has an API key alone: addresses, processes and operators are not told. */
  readonly isOperator: boolean
  /** False of a key that may not read direct messages: their text is not told. */
  readonly readsDirect: boolean
}

/** An entry, and its place among the others where that is another than its time. */
interface Placed {
  readonly entry: Entry
  readonly place: Instant
}

const entry = (
  kind: Kind,
  at: Instant,
  title: string,
  rest: Partial<Omit<Entry, "at" | "kind" | "title">> = {}
): Placed => ({
  entry: { at, kind, title, text: null, code: null, ms: null, process: null, about: null, ...rest },
  place: at
})

const sentences = (...all: ReadonlyArray<string | null>): string | null => {
  const found = all.filter((each) => each !== null && each !== "")
  return found.length === 0 ? null : found.join(" ")
}

const isRepeated = (outcome: Attempt["outcome"]): boolean =>
  outcome === "failed" || outcome === "unknown" || outcome === "reported"

const accepted = ({ job }: Rows): Placed =>
  entry("accepted", job.createdAt, "Accepted", {
    text: sentences(
      `${isOfSession(job) ? "In the engine's own process" : `By the key ${job.publicKey}`}${job.requestId === null ? "" : `, in the request ${job.requestId}`}.`,
      job.idempotencyKey === null ? null : `Its Idempotency-Key is ${job.idempotencyKey}.`,
      job.recipients === 1 ? null : `It is one of ${job.recipients} recipients of its job.`,
      job.contentExpiredAt === null
        ? null
        : `What it said was forgotten at ${Time.format(job.contentExpiredAt)}.`
    ),
    about: { of: "job", id: job.id },
    key: isOfSession(job) ? null : job.publicKey,
    requestId: job.requestId,
    address: null
  })

const scopeOf = ({ purpose }: ConsentRecord): string =>
  purpose === "all" ? "messages of every purpose" : `${purpose} messages`

const saidOf = (record: ConsentRecord): string =>
  `The record of ${Time.format(record.recordedAt)} (${record.source}), said at ${Time.format(record.occurredAt)}.`

const consents = ({ decisions, job, recipient }: Rows): ReadonlyArray<Placed> => {
  const { address, failure, status, updatedAt } = recipient
  const about = { of: "consents", id: job.accountId, ...Address.personOf(address) } as const
  return decisions.flatMap(({ at, record }, which) => {
    const isRefusal = status === "skipped" && at === updatedAt
    if (isRefusal)
      return [
        entry("consent", at, "Not sent: no consent any more", {
          text: sentences(failure?.message ?? null, record === null ? null : saidOf(record)),
          code: failure?.code ?? null,
          about
        })
      ]
    // The same record had decided before.
    if (which > 0 && record?.id === decisions[0]?.record?.id) return []
    if (record === null)
      return [
        entry("consent", at, "No consent record of then is kept", {
          text: "It was replaced by a later one and deleted, or consent is decided outside of this store.",
          about
        })
      ]
    return [
      entry("consent", at, `Consent was ${record.status} for ${scopeOf(record)}`, {
        text: saidOf(record),
        about
      })
    ]
  })
}

const attemptTitles: Readonly<Record<Attempt["outcome"], string>> = {
  accepted: "the platform took it",
  sent: "the platform sent it",
  retried: "not taken, to be tried again",
  released: "not taken, and nothing is sent for now",
  reported: "failed, as the platform reported",
  lost: "its process died meanwhile",
  failed: "failed",
  unknown: "nobody knows whether the platform has it",
  under_way: "is under way"
}

const platformCode = (code: string | null): string | null =>
  code === null ? null : `The platform's own code is ${code}.`

const paceIn = (view: Audit.View | null): number | null => {
  const pacing = view?.["pacing"]
  if (typeof pacing !== "object" || pacing === null || !("messages_per_second" in pacing)) return null
  return typeof pacing.messages_per_second === "number" ? pacing.messages_per_second : null
}

/** The changes of its session's pace by operators, in their order. */
const paceChanges = ({ sessionActs }: Rows): ReadonlyArray<Audit.Entry> =>
  sessionActs
    .filter(({ after, before }) => before !== null && after !== null && paceIn(before) !== paceIn(after))
    .toSorted((a, b) => a.at - b.at)

/** The pace of a session at a time, and the change that ended it. */
const paceAt = (rows: Rows, at: Instant) => {
  const ended = paceChanges(rows).find((each) => each.at > at)
  const pace = ended === undefined ? (rows.session?.pacing.messagesPerSecond ?? null) : paceIn(ended.before)
  return { pace, ended }
}

const paceText = (pace: number, ended: Audit.Entry | undefined, isOperator: boolean): string => {
  const had = `Its session ${ended === undefined ? "sends" : "sent"} ${pace} messages a second, and had others before it.`
  if (ended === undefined) return had
  const after = paceIn(ended.after)
  return `${had} ${isOperator ? ended.operator : "An operator"} changed that at ${Time.format(ended.at)}, to ${after === null ? "no pace" : String(after)}.`
}

/** @param number counted on over retries */
const attempt = (rows: Rows, each: Attempt, number: number): Placed => {
  const { at, code, message, ms, outcome, process, providerCode } = each
  const said = message ?? (code === null ? null : (FailureCatalogue.find(code)?.message ?? null))
  const rest = { text: sentences(said, platformCode(providerCode)), code }
  return outcome === "reported"
    ? entry("receipt", at, "Failed, as the platform reports", rest)
    : entry("attempt", at, `Attempt ${number}: ${attemptTitles[outcome]}`, {
        ...rest,
        ms,
        process,
        number,
        outcome,
        pace: paceAt(rows, ms === null ? at : Time.before(at, ms)).pace
      })
}

/** A failure of its whole job, before any attempt or between two. */
const stopped = ({ failure, updatedAt }: RecipientResult): Placed =>
  entry("attempt", updatedAt, "Failed with its whole job, without an attempt", {
    text: sentences(failure?.message ?? null, platformCode(failure?.provider_code ?? null)),
    code: failure?.code ?? null,
    number: null,
    outcome: "failed"
  })

/**
 * The place of the last attempt: it began before its receipts, and all that they led to. Its own time is that of its end, which may
 * be written after these have come, and a platform's second may begin before it.
 */
const placeOfLast = ({ earlier, job, recipient }: Rows, last: Pick<Attempt, "at">): Instant => {
  const { deliveredAt, readAt, requeuedAt, sentAt } = recipient
  const before = Time.max(job.createdAt, requeuedAt ?? job.createdAt, earlier.at(-1)?.at ?? job.createdAt)
  const told = [sentAt, deliveredAt, readAt].filter((at) => at !== null)
  return Time.max(before, Time.min(last.at, ...told))
}

const receipts = (rows: Rows, last: Attempt | null): ReadonlyArray<Placed> => {
  const { recipient } = rows
  const { attemptedAt, deliveredAt, failure, pricing, readAt, sentAt, status, updatedAt } = recipient
  const behind = last === null ? null : placeOfLast(rows, last)
  const billed =
    pricing === null
      ? null
      : pricing.free
        ? `The platform charges nothing for it (${pricing.category}).`
        : `The platform bills it as ${pricing.category}.`
  const told = (at: Instant | null, title: string, rest: Partial<Entry> = {}): ReadonlyArray<Placed> =>
    at === null ? [] : [{ ...entry("receipt", at, title, rest), place: Time.max(at, behind ?? at) }]
  return [
    ...(last?.outcome === "sent" && sentAt === last.at ? [] : told(sentAt, "Sent by the platform")),
    ...told(deliveredAt, "Delivered", { text: billed }),
    ...told(readAt, "Read", { text: deliveredAt === null ? billed : null }),
    ...(status === "failed" && attemptedAt !== null
      ? told(updatedAt, "Failed, as the platform reports", {
          text: sentences(failure?.message ?? null, platformCode(failure?.provider_code ?? null)),
          code: failure?.code ?? null
        })
      : [])
  ]
}

const inbound = ({ job, recipient, replies, words }: Rows): ReadonlyArray<Placed> => [
  ...replies.map(({ at, text }) => entry("inbound", at, "A message came from the number", { text })),
  ...words.map((record) =>
    entry("inbound", record.recordedAt, `The person ${record.status} consent for ${scopeOf(record)}`, {
      text: saidOf(record),
      about: { of: "consents", id: job.accountId, ...Address.personOf(recipient.address) }
    })
  )
]

/** A receiver's address without query and user, which often are secrets. */
const hostOf = (url: string): string | null => {
  const parsed = Url.parse(url)
  return parsed === undefined ? null : `${parsed.protocol}//${parsed.host}${parsed.pathname}`
}

const failureTexts = {
  status: "It answered otherwise than with success.",
  timeout: "It did not answer in time.",
  connection: "No connection, or a broken one.",
  address_refused: "Its address is not allowed.",
  secret_unreadable: "Its secret cannot be read with this process's key."
} as const

const webhook = (delivery: ToldDelivery, isOperator: boolean): ReadonlyArray<Placed> => {
  const { attempts, createdAt, endpoint, eventType, id, nextAt, status } = delivery
  const to = isOperator ? hostOf(endpoint.url) : null
  const common = { about: { of: "delivery", id } as const, endpoint: endpoint.id }
  const ending =
    status === "exhausted"
      ? "It was given up."
      : status === "delivered"
        ? null
        : !endpoint.enabled
          ? "The endpoint is disabled: it waits."
          : nextAt === null
            ? "It is under way."
            : `It is tried again at ${Time.format(nextAt)}.`
  if (attempts.length === 0)
    return [
      entry("webhook", createdAt, `Webhook ${eventType} waits`, {
        ...common,
        text: sentences(to, ending),
        answer: null
      })
    ]
  return attempts.map(({ at, durationMs, reason, status: answer }, place) =>
    entry("webhook", at, `Webhook ${eventType}: ${answer === null ? "no answer" : `answered ${answer}`}`, {
      ...common,
      text: sentences(
        to === null ? null : `${to}.`,
        reason === null ? null : failureTexts[reason],
        place === attempts.length - 1 ? ending : null
      ),
      code: reason,
      ms: durationMs,
      answer
    })
  )
}

/** Of the webhooks of then, that they are gone: no row is left to tell. */
const forgottenWebhooks = ({ account, deliveries, recipient }: Rows, now: Instant): ReadonlyArray<Placed> => {
  const days = account === null ? null : Retention.daysOf(account.retention, "deliveries")
  if (days === null || deliveries.length > 0 || recipient.sequence === 0) return []
  return recipient.updatedAt >= now - days * Time.day
    ? []
    : [
        entry("webhook", recipient.updatedAt, "Webhooks of then are kept no longer", {
          text: `The account keeps them for ${days} days.`,
          code: "expired"
        })
      ]
}

const of = (rows: Rows, operation: string): ReadonlyArray<Audit.Entry> =>
  rows.acts.filter((each) => each.operation === operation && each.after?.["dry_run"] !== true)

const byWhom = (act: Audit.Entry | undefined, isOperator: boolean): Partial<Entry> =>
  act === undefined
    ? {}
    : isOperator
      ? {
          text: `By ${act.operator}${SentAgain.retryIdOf(act) === null ? "" : ` in the retry ${SentAgain.retryIdOf(act)}`}.`,
          requestId: act.requestId,
          address: act.address,
          about: { of: "acts", id: act.target ?? "" }
        }
      : { text: "By an operator." }

/** The times at which an operator had the message sent again. Those before the last are told by acts alone. */
const retries = (
  rows: Rows
): ReadonlyArray<{ readonly at: Instant; readonly act: Audit.Entry | undefined }> => {
  const { requeuedAt } = rows.recipient
  if (requeuedAt === null) return []
  const last = SentAgain.retryAt(rows.acts, requeuedAt)
  const acts = of(rows, SentAgain.retryOfJob).toSorted((a, b) => a.at - b.at)
  const repeated = rows.earlier.filter(({ outcome }) => isRepeated(outcome))
  const before = repeated.flatMap(({ at }) => {
    const act = acts.find((each) => each.at >= at)
    return act === undefined || act === last || act.at > requeuedAt ? [] : [act]
  })
  const found = [...new Set(before)].map((act) => ({ at: act.at, act }))
  return [...found, { at: requeuedAt, act: last }]
}

const canceled = (rows: Rows, isOperator: boolean): ReadonlyArray<Placed> => {
  const { job, recipient } = rows
  if (recipient.status !== "canceled") return []
  const act = of(rows, "jobs.cancel")[0]
  return [
    entry("canceled", recipient.updatedAt, "Canceled", {
      text: Jobs.isCanceled(job.status) ? "With its job." : null,
      ...byWhom(act, isOperator)
    })
  ]
}

/** The end of a hold, if it was one for this message; while it is held it is told what it waits for. */
const restored = ({ happenings, job, recipient }: Rows): ReadonlyArray<Placed> => {
  const { failure, status, updatedAt } = recipient
  const opened = happenings.filter(
    ({ at, type }) =>
      type === "restore.opened" && at >= job.createdAt && at <= (dispatchedAt(recipient) ?? at)
  )
  if (failure?.code === "restored" && status === "unknown")
    return [
      entry("restored", updatedAt, "Not sent after a restore: nobody knows whether the platform has it", {
        text: failure.message,
        code: failure.code
      })
    ]
  return opened.map(({ at }) =>
    entry("restored", at, "The store was opened after a restore", { text: "What was open went on then." })
  )
}

/** Shorter waits are those of any message. */
const shortestWait = Time.second

const waited = (
  rows: Rows,
  from: Instant,
  to: Instant,
  isRetry: boolean,
  obstacles: ReadonlyArray<Obstacles.Obstacle>,
  isOperator: boolean
): ReadonlyArray<Placed> => {
  return Obstacles.within(from, to, obstacles).flatMap(({ from, obstacle, to }) => {
    if (to - from < shortestWait) return []
    const { ended, pace } = paceAt(rows, from)
    const [limiter, text]: readonly [Limiter, string] =
      obstacle !== null
        ? [obstacle.limiter, obstacle.text]
        : isRetry
          ? ["retry", "Another attempt was planned for later."]
          : pace === null
            ? ["worker", "Nothing that is on record held it up but its turn and a free worker."]
            : ["pace", paceText(pace, ended, isOperator)]
    return [
      entry("waited", from, `Waited for ${forWhat[limiter]}`, {
        text,
        code: limiter,
        ms: to - from,
        about: { of: "session", id: rows.job.sessionId },
        limiter,
        until: to
      })
    ]
  })
}

const forWhat: Readonly<Record<Limiter | "content", string>> = {
  pace: "its turn within the session's pace",
  platform: "the platform",
  template: "its template",
  session: "its session",
  retry: "its next attempt",
  worker: "a worker",
  restore: "a decision after a restore",
  client: "its client, who holds its job",
  schedule: "its time",
  hours: "hours that are allowed at the recipient's place",
  content: "its content, which cannot be read"
}

/** The wait of now; null where the message is under way or over. */
const waitingNow = ({ recipient }: Rows, { now, waiting }: Known): NonNullable<Known["waiting"]> | null => {
  const { nextAt, status } = recipient
  if (Recipient.leftDispatch(status) || nextAt === null) return null
  const isPlanned = nextAt > now
  if (waiting !== null && !(isPlanned && (waiting.limiter === "pace" || waiting.limiter === "retry")))
    return waiting
  return isPlanned ? { limiter: "retry", until: nextAt } : { limiter: "worker", until: null }
}

const waitText = ({ limiter, until }: NonNullable<Known["waiting"]>): string =>
  `It waits for ${forWhat[limiter]}${until === null ? "" : `, until ${Time.format(until)}`}.`

/** True where the end of an attempt is told by no row: neither by the recipient's own, nor by that of a first outcome. */
const endedUntold = ({ recipient }: Rows, last: Attempt | null): boolean =>
  last === null && recipient.attemptedAt === null && Recipient.leftDispatch(recipient.status)

const followedByRetry: ReadonlyArray<Attempt["outcome"]> = ["retried", "released", "lost"]

const waits = (waiting: NonNullable<Known["waiting"]>, since: Instant, { job }: Rows): Placed =>
  entry("waited", since, `Waits for ${forWhat[waiting.limiter]}`, {
    text: waiting.until === null ? null : `Until ${Time.format(waiting.until)}.`,
    code: waiting.limiter,
    about: { of: "session", id: job.sessionId },
    limiter: waiting.limiter,
    until: waiting.until
  })

/** The attempts, and the waits before, between and behind them. */
const attempts = (rows: Rows, last: Attempt | null, known: Known): ReadonlyArray<Placed> => {
  const { earlier, happenings, job, recipient } = rows
  const templateId = job.content.kind === "template" ? job.content.templateId : null
  const obstacles = Obstacles.obstaclesOf(happenings, templateId)
  const again = retries(rows)
  const made = last === null ? earlier : [...earlier, last]
  const found = again.flatMap(({ act, at }) =>
    at === job.replacedAt ? [] : [entry("retried", at, "Queued again", byWhom(act, known.isOperator))]
  )
  let from = job.createdAt
  let isRetry = false
  const until = (to: Instant): void => {
    const requeued = again.findLast(({ at }) => at >= from && at <= to)
    if (requeued !== undefined) [from, isRetry] = [requeued.at, false]
    found.push(...waited(rows, from, to, isRetry, obstacles, known.isOperator))
  }
  let number = 0
  for (const each of made) {
    const isReceipt = each.outcome === "reported"
    if (!isReceipt) {
      number += 1
      until(each.ms === null ? each.at : Time.before(each.at, each.ms))
    }
    const told = attempt(rows, each, number)
    found.push(each === last ? { ...told, place: placeOfLast(rows, each) } : told)
    if (each !== last && each.at === job.replacedAt)
      found.push(
        entry("retried", each.at, "Its template goes in the place of the text", {
          text: "The person's window was closed."
        })
      )
    from = each.at
    isRetry = followedByRetry.includes(each.outcome)
  }
  const waiting = waitingNow(rows, known)
  if (waiting !== null) {
    const requeued = again.findLast(({ at }) => at >= from)
    const turned = obstacles.flatMap(({ from, limiter, to }) =>
      to <= known.now ? [to] : limiter === waiting.limiter ? [from] : []
    )
    const since = Time.max(requeued?.at ?? from, ...turned)
    if (since > from) until(since)
    found.push(waits(waiting, since, rows))
  } else if (endedUntold(rows, last)) until(recipient.updatedAt)
  return recipient.status === "failed" && endedUntold(rows, last) ? [...found, stopped(recipient)] : found
}

const cutTexts: Partial<Readonly<Record<Kind, string>>> = {
  attempt: "Earlier attempts are left out: there were too many.",
  consent: "Which record decided is not looked for behind a thousand later ones.",
  webhook: "The account told of more about then than was looked through: see its deliveries.",
  inbound: "More came in, or was told, since than was looked through.",
  retried: "Older acts of operators are left out: there were too many.",
  waited: "What its session went through before is left out: there was too much."
}

/** Once for each kind, at the first time from which on there was more. */
const cut = (rows: Rows): ReadonlyArray<Placed> =>
  rows.cut
    .toSorted((a, b) => a.at - b.at)
    .filter(({ kind }, place, all) => all.findIndex((each) => each.kind === kind) === place)
    .map(({ at, kind }) =>
      entry(kind, at, "Not all is told", {
        text: cutTexts[kind] ?? null,
        code: "not_all",
        about: kind === "webhook" ? { of: "deliveries", id: rows.job.accountId } : null
      })
    )

const noContent: Content = { header: null, body: null, footer: null, buttons: [] }

const contentOf = (
  { job: { content, contentExpiredAt }, recipient: { values } }: Rows,
  readsDirect: boolean
): Content => {
  if (!Jobs.isReadable(content)) return noContent
  if (content.kind === "direct") {
    if (!readsDirect || contentExpiredAt !== null) return noContent
    const { buttons = [] } = content
    return {
      ...noContent,
      body: Direct.words(content) || null,
      buttons: buttons.map(({ title }) => ({ type: "quick_reply", text: title }))
    }
  }
  const { body, buttons = [], footer = null, header = null } = Rendering.render(content.template, values)
  return { header, body, footer, buttons }
}

const templateOf = ({ job }: Rows): Message["template"] => {
  const content = Jobs.isReadable(job.content) ? Jobs.outgoing(job, job.content).content : job.content
  if (content.kind === "direct") return null
  const { templateId } = content
  const { language = null, name = null } = Jobs.isReadable(content) ? content.template : {}
  return { templateId, name, language }
}

const messageOf = (rows: Rows, { actual, readsDirect }: Known): Message => {
  const { account, job, recipient, session } = rows
  return {
    messageId: Ids.messageId(job.id, recipient.index),
    jobId: job.id,
    ...Address.personOf(recipient.address),
    status: recipient.status,
    failure: recipient.failure,
    ...ClientTexts.job.of(job),
    priority: job.priority,
    ...ClientTexts.recipient.of(recipient),
    template: templateOf(rows),
    sentAs: Jobs.sentAs(job),
    accountId: job.accountId,
    account: account?.name ?? null,
    sessionId: job.sessionId,
    session: session?.name ?? null,
    currency: job.currency,
    estimated: recipient.price,
    actual,
    contentExpiredAt: job.contentExpiredAt,
    isErased: Erasure.isErased(recipient.address),
    content: contentOf(rows, readsDirect)
  }
}

/** An API key's owner is not told of processes, of addresses, and of whatever leads to what only operators may read. */
const shown = (entry: Entry, isOperator: boolean): Entry => {
  if (isOperator) return entry
  const { address: _, ...rest } = entry
  return { ...rest, process: null, about: entry.about?.of === "job" ? entry.about : null }
}

export const story = (found: Rows, known: Known): Story => {
  const { isOperator, now } = known
  const { earlier, last } = Attempts.attemptsOf(found.recipient, found.earlier)
  const rows = { ...found, earlier }
  const placed = [
    accepted(rows),
    ...consents(rows),
    ...attempts(rows, last, known),
    ...restored(rows),
    ...canceled(rows, isOperator),
    ...receipts(rows, last),
    ...inbound(rows),
    ...rows.deliveries.flatMap((each) => webhook(each, isOperator)),
    ...forgottenWebhooks(rows, now),
    ...cut(rows)
  ]
  const waiting = waitingNow(rows, known)
  return {
    message: messageOf(rows, known),
    timeline: placed.toSorted((a, b) => a.place - b.place).map(({ entry }) => shown(entry, isOperator)),
    next: Nexts.nextStepsOf({ ...rows, waits: waiting === null ? null : waitText(waiting) })
  }
}

/** Words of people to a platform, of which the account's own records are none. */
export const isWord = ({ source }: Pick<ConsentRecord, "source">): boolean =>
  source === Consent.inboundSources.message || source === Consent.inboundSources.platform
