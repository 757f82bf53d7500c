/**
 * Finds all that needs somebody, by one rule for the overview and for the report of health: each item says what it costs whom,
 * its likely cause and the next step. Pure: rows in, items out, the most urgent first.
 */
import type { Account } from "../account/Account.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Limited } from "../job/Waiting.ts"
import * as Waiting from "../job/Waiting.ts"
import * as Restore from "../Restore.ts"
import * as Sizes from "../Size.ts"
import type { Session } from "../session/Session.ts"
import * as Sessions from "../session/Session.ts"
import type { Endpoint } from "../webhook/Webhook.ts"
import * as Webhooks from "../webhook/Webhook.ts"
import type { SessionFigures } from "./Figures.ts"
import * as Figures from "./Figures.ts"
import type { StoreReadings, Troubled, Usage } from "./StoreReadings.ts"

/** In the order of their urgency, where all else is alike. */
export const kinds = [
  "restore_held",
  "no_worker",
  "disk_full",
  "session_unavailable",
  "session_blocked",
  "session_disconnected",
  "process_lost",
  "template_paused",
  "queue_slow",
  "failures_rising",
  "poisoned",
  "unknown_outcomes",
  "webhook_disabled",
  "webhook_failing",
  "quota_full",
  "refusals_doubtful",
  "hooks_unread",
  "erasure_stuck",
  "clock_differs"
] as const
export type Kind = (typeof kinds)[number]

/** Demands on a store: that messages flow, that they succeed, and that what is told of them is fresh. */
export const promises = ["flowing", "succeeding", "fresh"] as const
export type Promised = (typeof promises)[number]

/** The page to look at. */
export interface Target {
  readonly of:
    | "account"
    | "doubts"
    | "erasures"
    | "hooks"
    | "jobs_unknown"
    | "jobs_failed"
    | "jobs_waiting"
    | "overview"
    | "readiness"
    | "session"
    | "storage"
    | "templates"
    | "webhook"
  /** The id of a session, an account or an endpoint. */
  readonly id: string | null
}

export interface Item {
  readonly kind: Kind
  /** `failing`: nothing is sent, or soon. */
  readonly verdict: "degraded" | "failing"
  readonly lacks: Promised
  /** Null where nobody knows. */
  readonly since: Instant | null
  readonly title: string
  readonly cost: string
  readonly cause: string
  readonly next: string
  /** The number of those whom it costs something: recipients, deliveries, hooks. */
  readonly count: number
  readonly target: Target
}

/** Recipients that wait too long without anything that keeps them. */
const slowMs = 15 * Time.minute

/** The same where the session's own pace keeps them, as its operator wants. */
const pacedMs = Time.hour

/** Failures rise where so many failed lately, so large a part, and so many times the part of before. */
const rising = { least: 20, part: 0.2, times: 3 }

/** The part of a day's quota of which somebody should know. */
const nearlyFull = 0.9

/** A clock that differs by more is told. */
const clockMs = 5 * Time.second

/** So many items of one kind are told singly, and the others as one. */
const mostOfKind = 10

const number = (value: number): string => value.toLocaleString("en")

const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** A time as a sentence has it. */
const at = (time: Instant): string => `${Time.format(time).slice(0, 19)}Z`

const target = (of: Target["of"], id: string | null = null): Target => ({ of, id })

interface Look {
  readonly facts: StoreReadings
  readonly sessions: ReadonlyArray<SessionFigures>
  readonly limited: ReadonlyArray<Limited>
  /** All that waits. */
  readonly waiting: number
  /** True where something waits and nothing of it goes on. */
  readonly isAllKept: boolean
}

type Rule = (look: Look) => ReadonlyArray<Item>

const waitFor = (waiting: number, oldestAt: Instant | null): string =>
  waiting === 0
    ? "Nothing waits for it."
    : `${count(waiting, "recipient waits", "recipients wait")} for it${oldestAt === null ? "" : `, the oldest since ${at(oldestAt)}`}.`

const named = ({ name, provider }: Session, account: Pick<Account, "name">): string =>
  `${name} (${provider}, ${account.name})`

const heldStore: Rule = ({ facts: { quarantine }, waiting }) =>
  quarantine === null
    ? []
    : [
        {
          kind: "restore_held",
          verdict: "failing",
          lacks: "flowing",
          since: quarantine.since,
          title: "Nothing is sent, since the store is held after a restore",
          cost: waitFor(waiting, null),
          cause: `${Restore.causeOf(quarantine)}.`,
          next: Restore.nextStep,
          count: waiting,
          target: target("readiness")
        }
      ]

const noWorker: Rule = ({ facts: { backlog, isDispatched, leaseMs, processes }, waiting }) => {
  if (isDispatched || waiting === 0) return []
  const senders = processes.filter(({ role }) => role !== "api")
  const lastSeen = senders.reduce<Instant | null>(
    (last, { seenAt }) => (last === null || seenAt > last ? seenAt : last),
    null
  )
  return [
    {
      kind: "no_worker",
      verdict: "failing",
      lacks: "flowing",
      since: lastSeen ?? backlog.oldestAt,
      title: "Nothing is sent, since no process is alive that sends",
      cost: waitFor(waiting, backlog.oldestAt),
      cause:
        lastSeen === null
          ? "No process of the role all or worker runs."
          : `The last one has not said for ${leaseMs / Time.second} seconds that it lives.`,
      next: "Start a process of the role all or worker, and read the log of the one that ended.",
      count: waiting,
      target: target("jobs_waiting")
    }
  ]
}

const fullDisk: Rule = ({ facts: { now, storage } }) => {
  const { bytesPerDay, freeBytes, fullAt } = storage
  const room = freeBytes === null ? "enough" : Sizes.roomOf(freeBytes, bytesPerDay ?? 0)
  if (freeBytes === null || room === "enough") return []
  const days = fullAt === null ? null : Math.ceil((fullAt - now) / Time.day)
  return [
    {
      kind: "disk_full",
      verdict: room === "now" ? "failing" : "degraded",
      lacks: "flowing",
      since: null,
      title: days === null ? "The disk is nearly full" : `The disk is full within ${count(days, "day")}`,
      cost: "From then on nothing is accepted and nothing is sent.",
      cause: `The store grows ${number(bytesPerDay ?? 0)} bytes a day, and ${number(freeBytes)} are free.`,
      next: "Give the file system more room, or keep less: sendwright purge --dry-run true.",
      count: 0,
      target: target("storage")
    }
  ]
}

/** The way in which a platform fails, by the code that its attempts end with lately. */
const unanswering: Readonly<Record<string, { readonly title: string; readonly cause: string }>> = {
  outcome_unknown: { title: "does not answer", cause: "It is reached, and does not answer in time." },
  provider_unavailable: {
    title: "answers with errors",
    cause: "It is reached, and answers with errors, or says that it is not available."
  },
  provider_unreachable: { title: "cannot be reached", cause: "It is out, or cannot be reached from here." }
}

const unknownWhy = {
  title: "does not answer, or with errors",
  cause: "It is out, cannot be reached from here, or answers with errors."
}

const silenceOf = ({ latelyReasons }: SessionFigures): typeof unknownWhy => {
  const found = latelyReasons.find(({ code }) => Object.hasOwn(unanswering, code))
  const told = found && unanswering[found.code]
  return told === undefined
    ? unknownWhy
    : { ...told, cause: `${told.cause} Its attempts end with ${found?.code}.` }
}

/** The code that a platform's refusals have most. */
const because = ({ reasons: [first] }: SessionFigures): string =>
  first === undefined ? "" : ` Its attempts end with ${first.code}.`

const unavailable: Rule = ({ isAllKept, sessions }) =>
  sessions.flatMap((figures): ReadonlyArray<Item> => {
    const { account, oldestAt, session, waiting } = figures
    if (session.outage === null) return []
    const { cause, title } = silenceOf(figures)
    return [
      {
        kind: "session_unavailable",
        verdict: isAllKept && waiting > 0 ? "failing" : "degraded",
        lacks: "flowing",
        since: session.outage.since,
        title: `The platform of ${named(session, account)} ${title}`,
        cost: waitFor(waiting, oldestAt),
        cause,
        next: `It is asked again by itself, next at ${at(session.outage.probeAt)}. Look at the platform's status and at the way to it.`,
        count: waiting,
        target: target("session", session.id)
      }
    ]
  })

const endsBy = (until: Instant): string =>
  until === Sessions.withoutEnd
    ? "It goes on once the platform says so."
    : `It goes on by itself at ${at(until)}.`

const blocked: Rule = ({ isAllKept, sessions }) =>
  sessions.flatMap((figures): ReadonlyArray<Item> => {
    const { account, oldestAt, session, waiting } = figures
    if (session.blockedUntil === null) return []
    return [
      {
        kind: "session_blocked",
        verdict: isAllKept && waiting > 0 ? "failing" : "degraded",
        lacks: "flowing",
        since: session.updatedAt,
        title:
          session.blockReason === "platform_restriction"
            ? `The platform restricts the templates of ${named(session, account)}`
            : session.blockReason === "same_failure"
              ? `All that ${named(session, account)} sends fails with ${session.blockCode}`
              : `The platform blocks ${named(session, account)}`,
        cost: waitFor(waiting, oldestAt),
        cause:
          session.blockReason === "same_failure"
            ? "Its last ten attempts ended with this one failure, which is no recipient's own."
            : `It takes nothing more from it for a while.${because(figures)}`,
        next: `${endsBy(session.blockedUntil)} Look for what the platform complains of.`,
        count: waiting,
        target: target("session", session.id)
      }
    ]
  })

/** One that nobody expects to be connected needs nobody, unless something waits for it. */
const isMissed = ({ session, waiting }: SessionFigures): boolean =>
  session.state !== "connected" && (waiting > 0 || !Sessions.isMeant(session))

const disconnected: Rule = ({ facts: { happenings }, isAllKept, sessions }) =>
  sessions.filter(isMissed).map(({ account, oldestAt, session, waiting }) => {
    const happened = happenings.find(
      ({ sessionId, type }) => type === "session.disconnected" && sessionId === session.id
    )
    return {
      kind: "session_disconnected",
      verdict: isAllKept && waiting > 0 ? "failing" : "degraded",
      lacks: "flowing",
      since: happened?.at ?? session.updatedAt,
      title: `${named(session, account)} is not connected`,
      cost: waitFor(waiting, oldestAt),
      cause:
        session.reason === null ? "It was not connected again." : sentence(`Its reason: ${session.reason}`),
      next: `Mend its configuration where that is wrong, then connect it: sendwright sessions connect ${session.id}.`,
      count: waiting,
      target: target("session", session.id)
    }
  })

const lostProcess: Rule = ({ facts: { happenings, leaseMs, now, processes } }) => {
  const silent = processes
    .filter(({ seenAt }) => now - seenAt > leaseMs)
    .map(({ id, inFlight, role, seenAt }) => ({ id, inFlight, role, at: seenAt }))
  const lost = happenings.flatMap(({ at, data, subject, type }) =>
    type === "process.lost" && now - at < Time.hour
      ? [{ id: subject ?? "", inFlight: 0, role: String(data["role"] ?? ""), at }]
      : []
  )
  return [...silent, ...lost.filter(({ id }) => silent.every((each) => each.id !== id))].map(
    ({ at: since, id, inFlight, role }) => ({
      kind: "process_lost",
      verdict: "degraded",
      lacks: "flowing",
      since,
      title: `A process${role === "" ? "" : ` (${role})`} has died`,
      cost:
        inFlight === 0
          ? "What it had in hand was taken back; a message of which nobody knows whether it left is unknown."
          : `${count(inFlight, "recipient is", "recipients are")} in its hands until others take them back.`,
      cause: `${id} stopped to say that it lives, without an end as it should be.`,
      next: "Read its log and the machine's: memory, a crash, or a network that was lost. Start it again.",
      count: inFlight,
      target: target("overview")
    })
  )
}

/** Limiters that a job meets before its turn has come are not counted: a claim finds them. */
const templateCost = (waiting: number, oldestAt: Instant | null): string =>
  waiting === 0 ? "What waits with it is kept as its turn comes." : waitFor(waiting, oldestAt)

const templateCause = (status: string, isSynced: boolean): string => {
  if (status === "approved") return "It may be another one at its platform, which is asked."
  return isSynced
    ? "Its platform has stopped it, as it does where too many people report or block it or its content is refused; or it was imported so."
    : "It was imported with this status, or its platform told it."
}

const pausedTemplate: Rule = ({ facts: { happenings, synced, templates }, limited, sessions }) => {
  const ofSession = (id: string) => sessions.find(({ session }) => session.id === id)
  const waits = new Map<number, { waiting: number; oldestAt: Instant }>()
  for (const { group } of limited) {
    if (group.templateId === null) continue
    const known = waits.get(group.templateId) ?? { waiting: 0, oldestAt: group.oldestAt }
    waits.set(group.templateId, {
      waiting: known.waiting + group.waiting + group.retrying,
      oldestAt: Time.min(known.oldestAt, group.oldestAt)
    })
  }
  const happened = new Map(
    happenings
      .filter(({ type }) => type === "template.status")
      .toReversed()
      .map((happening) => [happening.subject, happening])
  )
  const stopped = ["paused", "disabled", "rejected"]
  const waited = templates.map(({ language, name, sessionId, status, templateId, updatedAt }) => ({
    id: templateId,
    name: `${name} (${language})`,
    status,
    sessionId,
    since: happened.get(String(templateId))?.at ?? updatedAt
  }))
  const unwaited = [...happened.values()].flatMap(({ at, data, sessionId, subject }) =>
    sessionId === null || !stopped.includes(String(data["status"])) || waits.has(Number(subject))
      ? []
      : [
          {
            id: Number(subject),
            name: `${data["name"]} (${data["language"]})`,
            status: String(data["status"]),
            sessionId,
            since: at
          }
        ]
  )
  return [...waited, ...unwaited].map(({ id, name, sessionId, since, status }) => {
    const { oldestAt = null, waiting = 0 } = waits.get(id) ?? {}
    const owner = ofSession(sessionId)
    const isSynced = owner !== undefined && synced.has(owner.session.provider)
    return {
      kind: "template_paused",
      verdict: "degraded",
      lacks: "flowing",
      since,
      title: `The template ${name} is ${status === "approved" ? "looked at again" : status}`,
      cost: `${templateCost(waiting, oldestAt)} New sends with it are refused${owner === undefined ? "" : `, of ${named(owner.session, owner.account)}`}.`,
      cause: templateCause(status, isSynced),
      next: isSynced
        ? `Mend it in the platform's tools, then read it again: sendwright templates sync ${sessionId}.`
        : `Mend it in the platform's tools, then import it as it is there: sendwright templates import ${sessionId} <file.json>.`,
      count: waiting,
      target: target("templates", sessionId)
    }
  })
}

/** Sessions whose own pace has kept messages for over an hour. */
const slowlyPaced = ({ facts: { now }, limited, sessions }: Look): ReadonlyArray<Item> => {
  const late = limited.filter(
    ({ group, limiter }) => limiter === "pace" && group.waiting > 0 && now - group.oldestAt > pacedMs
  )
  return [...new Set(late.map(({ group }) => group.session.id))].map((id) => {
    const groups = late.flatMap(({ group }) => (group.session.id === id ? [group] : []))
    const waiting = groups.reduce((sum, group) => sum + group.waiting, 0)
    const oldestAt = Time.min(...groups.map((group) => group.oldestAt))
    const shown = sessions.find(({ session }) => session.id === id)
    const name = shown === undefined ? `session ${id}` : named(shown.session, shown.account)
    const pace = groups[0]?.session.pacing.messagesPerSecond ?? 0
    return {
      kind: "queue_slow",
      verdict: "degraded",
      lacks: "fresh",
      since: oldestAt,
      title: `What waits for the pace of ${name} has waited for ${count(Math.floor((now - oldestAt) / Time.minute), "minute")}`,
      cost: waitFor(waiting, oldestAt),
      cause: `More is accepted than its pace of ${number(pace)} a second sends.`,
      next: `Raise messages_per_second if its platform allows it: sendwright sessions change ${id}.`,
      count: waiting,
      target: target("session", id)
    }
  })
}

const slowQueue: Rule = (look) => {
  const {
    facts: { isDispatched, now, processes },
    limited
  } = look
  const slow = limited.filter(
    ({ group, limiter }) =>
      limiter === "worker" && isDispatched && now - group.oldestAt > slowMs && group.waiting > 0
  )
  const paced = slowlyPaced(look)
  if (slow.length === 0) return paced
  const waiting = slow.reduce((sum, { group }) => sum + group.waiting, 0)
  const oldestAt = Time.min(...slow.map(({ group }) => group.oldestAt))
  const slots = processes.reduce((sum, process) => sum + process.slots, 0)
  return [
    {
      kind: "queue_slow",
      verdict: "degraded",
      lacks: "fresh",
      since: oldestAt,
      title: `What waits has waited for ${count(Math.floor((now - oldestAt) / Time.minute), "minute")}`,
      cost: waitFor(waiting, oldestAt),
      cause: `Nothing keeps it but the workers: more is accepted than ${count(slots, "slot")} send.`,
      next: "Look at the platform's time to answer, raise WORKER_CONCURRENCY, or start another process.",
      count: waiting,
      target: target("jobs_waiting")
    },
    ...paced
  ]
}

const risingFailures: Rule = ({ sessions }) =>
  sessions.flatMap((figures): ReadonlyArray<Item> => {
    const { account, before, failedLastHour, failingSince, failures, lately, session } = figures
    const partOf = ({ done, failed }: SessionFigures["lately"]): number =>
      failed === 0 ? 0 : failed / (failed + done)
    const isRising =
      lately.failed >= rising.least &&
      partOf(lately) >= rising.part &&
      partOf(lately) >= rising.times * partOf(before)
    if (!isRising) return []
    const codes = failures.slice(0, 3).map(({ code, count: of }) => `${code} (${number(of)})`)
    return [
      {
        kind: "failures_rising",
        verdict: "degraded",
        lacks: "succeeding",
        since: failingSince,
        title: `${Math.round(partOf(lately) * 100)} % of what ${named(session, account)} sends fails`,
        cost: `${count(failedLastHour, "recipient")} failed in the last hour.`,
        cause: `Most of them with ${codes.join(", ")}.`,
        next: `Read what its jobs failed for: sendwright jobs list --has failed --session-id ${session.id}.`,
        count: failedLastHour,
        target: target("jobs_failed", session.id)
      }
    ]
  })

const poisoned: Rule = ({ facts: { tallies } }) => {
  const found = tallies.filter(({ code }) => code === "poisoned")
  const recipients = Figures.standing(found, ["failed", "unknown"])[0]?.count ?? 0
  return recipients === 0
    ? []
    : [
        {
          kind: "poisoned",
          verdict: "degraded",
          lacks: "succeeding",
          since: Time.min(...found.flatMap(({ minute, outcome }) => (outcome === "mended" ? [] : minute))),
          title: `${count(recipients, "recipient was", "recipients were")} parked, since every process died that sent to them`,
          cost: "Whether they got the message is unknown.",
          cause:
            "Something about the message or the answer to it ends the process: a sender of your own, or memory.",
          next: "Read the logs of the processes that died, then send again only to those who may get it twice.",
          count: recipients,
          target: target("jobs_unknown")
        }
      ]
}

const unknownOutcomes: Rule = ({ facts: { unknowns } }) =>
  unknowns.recipients === 0
    ? []
    : [
        {
          kind: "unknown_outcomes",
          verdict: "degraded",
          lacks: "succeeding",
          since: unknowns.since,
          title: `Nobody knows whether ${count(unknowns.recipients, "recipient")} got the message`,
          cost: `${count(unknowns.recipients, "recipient")} of ${count(unknowns.jobs, "job")}, of today and yesterday.`,
          cause:
            "A process died while it asked the platform, or the platform did not answer and cannot be asked again.",
          next: "A receipt may still tell. Ask the platform for them, and send again only to those who may get it twice.",
          count: unknowns.recipients,
          target: target("jobs_unknown")
        }
      ]

/** An address may have a secret behind its path. */
const placeOf = ({ url }: Endpoint): string => url.replace(/[?#].*$/s, "")

const webhookCost = ({ waiting }: Troubled): string =>
  waiting === 0 ? "Nothing waits for it." : `${count(waiting, "delivery waits", "deliveries wait")} for it.`

const webhookCause = ({ last }: Troubled): string => {
  if (last === null) return "It does not answer, or not with 2xx; its last deliveries tell how."
  return last.status === null
    ? `It does not answer: an attempt ended with ${last.reason}.`
    : `It answered ${last.status}, where 2xx is asked for.`
}

const webhooks: Rule = ({ facts: { now, webhooks: standing } }) =>
  standing.troubled.flatMap((troubled): ReadonlyArray<Item> => {
    const { endpoint, waiting } = troubled
    const { disabledReason, enabled, failingSince, id, updatedAt } = endpoint
    const url = placeOf(endpoint)
    const where = { cost: webhookCost(troubled), count: waiting, target: target("webhook", id) }
    if (!enabled)
      return disabledReason === Webhooks.disabledByOperator
        ? []
        : [
            {
              kind: "webhook_disabled",
              verdict: "degraded",
              lacks: "fresh",
              since: updatedAt,
              title: `The webhook ${url} is disabled`,
              cause: disabledReason ?? "It failed for too long.",
              next: `Mend the receiver, then enable it: sendwright webhooks change ${id} --enabled true.`,
              ...where
            }
          ]
    if (failingSince === null || now - failingSince < Webhooks.failingMs) return []
    return [
      {
        kind: "webhook_failing",
        verdict: "degraded",
        lacks: "fresh",
        since: failingSince,
        title: `The webhook ${url} fails`,
        cause: webhookCause(troubled),
        next: `Mend the receiver: what waits is tried again for 8 days. sendwright webhooks deliveries ${id}.`,
        ...where
      }
    ]
  })

const quotasOf = ({ account, direct, template }: Usage) => {
  const { dailyDirectMessages, dailyTemplateRecipients } = account.plan
  return [
    {
      what: "template recipients",
      used: template,
      most: dailyTemplateRecipients,
      flag: "daily-template-recipients"
    },
    { what: "direct messages", used: direct, most: dailyDirectMessages, flag: "daily-direct-messages" }
  ]
}

const quotas: Rule = ({ facts: { now, usage } }) =>
  usage.flatMap((used) =>
    quotasOf(used).flatMap(({ flag, most, used: units, what }): ReadonlyArray<Item> => {
      if (most === null || units < most * nearlyFull) return []
      const isFull = units >= most
      return [
        {
          kind: "quota_full",
          verdict: "degraded",
          lacks: "flowing",
          since: null,
          title: `${used.account.name} has ${isFull ? "used up" : "nearly used up"} its ${what} of today`,
          cost: `${number(units)} of ${number(most)}: sends beyond it are refused.`,
          cause: "The account sends more than its plan has for a day.",
          next: `It begins anew at ${at(Time.endOfUtcDay(now))}, or raise it: sendwright accounts change ${used.account.id} --${flag} <number>.`,
          count: units,
          target: target("account", used.account.id)
        }
      ]
    })
  )

const doubtfulRefusals: Rule = ({ facts: { doubts } }) =>
  doubts === null
    ? []
    : [
        {
          kind: "refusals_doubtful",
          verdict: "degraded",
          lacks: "fresh",
          since: doubts.firstAt,
          title: `${count(doubts.count, "text")} may be ${doubts.count === 1 ? "a refusal" : "refusals"}`,
          cost: "Whoever meant it gets more messages until somebody decides.",
          cause: "The text has an opt-out word among others.",
          next: `Read them, and record or dismiss each: sendwright consents doubtful ${doubts.accountId}.`,
          count: doubts.count,
          target: target("doubts", doubts.accountId)
        }
      ]

const unreadHooks: Rule = ({ facts: { unread } }) =>
  unread === null
    ? []
    : [
        {
          kind: "hooks_unread",
          verdict: "degraded",
          lacks: "fresh",
          since: unread.firstAt,
          title: `${count(unread.count, "part")} of platforms' hooks could not be understood`,
          cost: "A receipt, a reply or an opt-out may be among them.",
          cause: "The platform tells something new, or in another form than it did.",
          next: `Read them: sendwright sessions unread-hooks ${unread.sessionId}.`,
          count: unread.count,
          target: target("hooks", unread.sessionId)
        }
      ]

const stuckErasures: Rule = ({ facts: { stuckErasures: since } }) =>
  since.length === 0
    ? []
    : [
        {
          kind: "erasure_stuck",
          verdict: "degraded",
          lacks: "fresh",
          since: Time.min(...since),
          title: `${count(since.length, "erasure does", "erasures do")} not go on`,
          cost: "What came of these people since then is still there.",
          cause: "No process that sends runs, or it fails at it.",
          next: "Read its log, and look at what is done: sendwright people erased.",
          count: since.length,
          target: target("erasures")
        }
      ]

const clock: Rule = ({ facts: { clock: health } }) => {
  const ms = Math.abs(health.differenceMs ?? 0)
  if (ms < clockMs && !health.uncertain) return []
  return [
    {
      kind: "clock_differs",
      verdict: "degraded",
      lacks: "fresh",
      since: null,
      title: health.uncertain
        ? "The database has not told its time for a while"
        : `The clock of the process that answers is ${number(Math.round(ms / Time.second))} seconds off the database's`,
      cost: "The database's time is used for all that is stored; signatures and logs have this machine's.",
      cause: "The machine does not set its clock (NTP), or the database does not answer in time.",
      next: "Look at the machine's clock: sendwright doctor tells more.",
      count: 0,
      target: target("readiness")
    }
  ]
}

const rules: ReadonlyArray<Rule> = [
  heldStore,
  noWorker,
  fullDisk,
  unavailable,
  blocked,
  disconnected,
  lostProcess,
  pausedTemplate,
  slowQueue,
  risingFailures,
  poisoned,
  unknownOutcomes,
  webhooks,
  quotas,
  doubtfulRefusals,
  unreadHooks,
  stuckErasures,
  clock
]

const more = (items: ReadonlyArray<Item>): Item | undefined => {
  const [first] = items
  return (
    first && {
      ...first,
      since: Time.firstOf(items.map(({ since }) => since)),
      title: `${number(items.length)} more: ${first.title}, and so on`,
      count: items.reduce((sum, item) => sum + item.count, 0)
    }
  )
}

/** The most of a kind, by their cost, and the others in one. */
const bounded = (items: ReadonlyArray<Item>): ReadonlyArray<Item> => {
  const ordered = items.toSorted(
    (a, b) => b.count - a.count || (a.since ?? Number.MAX_SAFE_INTEGER) - (b.since ?? Number.MAX_SAFE_INTEGER)
  )
  const rest = more(ordered.slice(mostOfKind))
  return rest === undefined ? ordered : [...ordered.slice(0, mostOfKind), rest]
}

const isFailing = ({ verdict }: Item): boolean => verdict === "failing"

/** All that needs somebody, the most urgent first; nothing where all is well. */
export const attentionOf = (
  facts: StoreReadings,
  sessions: ReadonlyArray<SessionFigures>
): ReadonlyArray<Item> => {
  const keeping = { isDispatched: facts.isDispatched, isHeld: facts.quarantine !== null }
  const limited = Waiting.limit({ groups: Waiting.due(facts.backlog) }, keeping)
  const waiting = limited.reduce((sum, { group }) => sum + group.waiting + group.retrying, 0)
  const goesOn = ["pace", "worker", "retry"]
  const isAllKept =
    waiting > 0 &&
    limited.every(
      ({ group, limiter, retryLimiter }) =>
        !(group.waiting > 0 && goesOn.includes(limiter)) &&
        !(group.retrying > 0 && goesOn.includes(retryLimiter))
    )
  const look = { facts, sessions, limited, waiting, isAllKept }
  const items = rules.flatMap((rule) => rule(look))
  const ofKinds = kinds.flatMap((kind) => bounded(items.filter((item) => item.kind === kind)))
  return [...ofKinds.filter(isFailing), ...ofKinds.filter((item) => !isFailing(item))]
}
