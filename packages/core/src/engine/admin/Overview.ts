/** The store at a glance: a process reads it at most once in two seconds, whoever asks, and nothing of it without a bound. */
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Tally } from "../../domain/job/Tally.ts"
import type { Backlog } from "../../domain/job/Waiting.ts"
import * as Figures from "../../domain/overview/Figures.ts"
import type { Report } from "../../domain/overview/Health.ts"
import * as Health from "../../domain/overview/Health.ts"
import * as Domain from "../../domain/overview/Overview.ts"
import type { OwnedSession, Process, StoreReadings } from "../../domain/overview/StoreReadings.ts"
import { Senders } from "../../sender/Sender.ts"
import { ErasureStore } from "../../storage/ErasureStore.ts"
import { HappeningStore } from "../../storage/HappeningStore.ts"
import { InboundStore } from "../../storage/InboundStore.ts"
import type { LivingWorker } from "../../storage/JobStore.ts"
import { JobStore, processOf } from "../../storage/JobStore.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import { SizeStore } from "../../storage/SizeStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { TemplateStore } from "../../storage/TemplateStore.ts"
import { WebhookStore } from "../../storage/WebhookStore.ts"
import { Heartbeat } from "../../worker/Heartbeat.ts"
import * as Housekeeping from "../../worker/Housekeeping.ts"
import { StoreClock } from "../../worker/StoreClock.ts"
import { WaitingLook } from "../../worker/WaitingLook.ts"
import { ProcessVersion } from "../Acting.ts"
import type { Check } from "../Readiness.ts"

/** So much is read of each at most. */
export const most = {
  sessions: 100,
  tallies: 20_000,
  templates: 20,
  accounts: 50,
  endpoints: 20,
  jobs: 1000,
  hooks: 1000,
  happenings: 200
} as const

const freshFor = "2 seconds"

/** Readings that change slowly, and after how long each is read anew. */
const slowly = { size: Time.minute, usage: 30 * Time.second }

/** Processes write their numbers within this time: younger minutes are read with each look. */
const settledMs = 3 * Time.minute

/** An erasure whose next sweep is overdue for so long does not go on. */
const stuckMs = 10 * Time.minute

export interface Overview {
  readonly now: Effect.Effect<Domain.Overview, StorageError>
  /** Also of a store that cannot be read. */
  readonly health: Effect.Effect<Report>
}

/** Keeps what was read for a while. */
const rarely = <A, E, R>(ms: number, read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  let kept: { readonly at: Instant; readonly value: A } | undefined
  return Effect.flatMap(Time.now, (now) =>
    kept !== undefined && now >= kept.at && now - kept.at < ms
      ? Effect.succeed(kept.value)
      : Effect.tap(read, (value) =>
          Effect.sync(() => {
            kept = { at: now, value }
          })
        )
  )
}

/** So many minutes of those before are read anew with each look: processes may write late what the store did not take. */
const pieceMs = 6 * Time.minute

/** The last hour's numbers: all of them at first, and then those of the youngest minutes and of some others by turns. */
const readHour = (
  tallies: JobStore["Type"]["tallies"]
): Effect.Effect<ReadonlyArray<Tally>, StorageError> => {
  let known: ReadonlyArray<Tally> = []
  /** The time of the last look, and where the next piece begins. */
  let last: { readonly at: Instant; readonly nextFrom: Instant } | undefined
  return Effect.gen(function* () {
    const now = yield* Time.now
    const shown = Figures.shownSince(now)
    const young = Time.before(now, (now % Time.minute) + settledMs)
    // Since a look that is longer ago there are minutes of which nothing was read.
    const isFollowing = last !== undefined && last.at <= now && young <= last.at
    const next = last?.nextFrom ?? shown
    const from = isFollowing && next >= shown && next < young ? next : shown
    const to = isFollowing ? Time.min(young, Time.after(from, pieceMs)) : young
    const older = yield* tallies({ from, to, most: most.tallies })
    const youngest = yield* tallies({
      from: young,
      to: Time.after(young, settledMs + Time.minute),
      most: most.tallies
    })
    last = { at: now, nextFrom: to }
    const kept = known.filter(
      ({ minute }) => minute >= shown && minute < young && (minute < from || minute >= to)
    )
    known = [...kept, ...older, ...youngest]
    return known
  })
}

/** Workers of one process are told as one. */
const processesOf = (living: ReadonlyArray<LivingWorker>): ReadonlyArray<Process> => {
  const processes = new Map<string, Process>()
  for (const { inFlight, role, saidAt, slots, startedAt, version, worker } of living) {
    const id = processOf(worker)
    const known = processes.get(id)
    processes.set(id, {
      id,
      role,
      version,
      since: startedAt,
      seenAt: Time.max(saidAt, known?.seenAt ?? saidAt),
      inFlight: inFlight + (known?.inFlight ?? 0),
      slots
    })
  }
  return [...processes.values()]
}

/** The sessions for which something waits, that with the most first, and then those that do something now. */
const busiest = ({ groups }: Backlog, tallies: ReadonlyArray<Tally>, now: Instant): ReadonlyArray<string> => {
  const sums = (of: ReadonlyArray<readonly [string, number]>): ReadonlyArray<string> => {
    const counts = new Map<string, number>()
    for (const [id, count] of of) counts.set(id, (counts.get(id) ?? 0) + count)
    return [...counts].sort(([, a], [, b]) => b - a).map(([id]) => id)
  }
  const waiting = groups.map(({ retrying, session, waiting }) => [session.id, waiting + retrying] as const)
  const since = Figures.ratedSince(now)
  const active = tallies
    .filter(({ minute }) => minute >= since)
    .map(({ count, sessionId }) => [sessionId, count] as const)
  return [...new Set([...sums(waiting), ...sums(active)])]
}

const accountsOf = (sessions: ReadonlyArray<OwnedSession>): ReadonlyArray<OwnedSession["account"]> => [
  ...new Map(sessions.map(({ account }) => [account.id, account])).values()
]

const hasQuota = ({ plan }: OwnedSession["account"]): boolean =>
  plan.dailyDirectMessages !== null || plan.dailyTemplateRecipients !== null

/** Reads all facts; what is kept in between is of this process alone. */
const reading = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessionStore = yield* SessionStore
  const templateStore = yield* TemplateStore
  const webhookStore = yield* WebhookStore
  const inbound = yield* InboundStore
  const erasures = yield* ErasureStore
  const happeningStore = yield* HappeningStore
  const sizes = yield* SizeStore
  const senders = yield* Senders
  const synced = new Set([...senders].flatMap(([provider, { templates }]) => (templates ? [provider] : [])))
  const heartbeat = yield* Heartbeat
  const clock = yield* StoreClock
  const { found } = yield* WaitingLook
  const hour = readHour(jobs.tallies)
  const size = rarely(slowly.size, Effect.provideService(Housekeeping.sizeOf, SizeStore, sizes))

  let shown: ReadonlyArray<OwnedSession> = []
  const usage = rarely(
    slowly.usage,
    Effect.flatMap(Time.now, (now) =>
      Effect.forEach(accountsOf(shown).filter(hasQuota).slice(0, most.accounts), (account) =>
        Effect.map(jobs.usage({ accountId: account.id, day: Time.utcDay(now) }), (used) => ({
          account,
          ...used
        }))
      )
    )
  )

  const templatesOf = ({ groups }: Backlog) =>
    Effect.map(
      Effect.forEach(
        [...new Set(groups.flatMap(({ templateId }) => templateId ?? []))].slice(0, most.templates),
        (templateId) => templateStore.find({ templateId })
      ),
      (some) => some.flatMap((template) => template ?? [])
    )

  return Effect.gen(function* () {
    const { backlog, deliveries, isDispatched, quarantine } = yield* found
    const now = yield* Time.now
    const tallies = yield* hour
    shown = yield* sessionStore.inNeedFirst({ ids: busiest(backlog, tallies, now), most: most.sessions })
    const yesterday = Time.before(now, Time.day)
    const facts: StoreReadings = {
      now,
      quarantine,
      isDispatched,
      backlog,
      deliveriesWaiting: deliveries,
      tallies,
      sessions: shown,
      templates: yield* templatesOf(backlog),
      synced,
      processes: processesOf(yield* jobs.living),
      leaseMs: heartbeat.leaseMs,
      webhooks: yield* webhookStore.standing({ most: most.endpoints }),
      storage: yield* size,
      unknowns: yield* jobs.unknowns({ since: yesterday, most: most.jobs }),
      unread: yield* inbound.countUnread({ since: yesterday, most: most.hooks }),
      doubts: yield* inbound.countPerhapsRefusals({ most: most.hooks }),
      happenings: yield* happeningStore.between({
        from: yesterday,
        to: Time.after(now, 1),
        limit: most.happenings
      }),
      stuckErasures: (yield* erasures.due(Time.before(now, stuckMs))).map(({ begunAt }) => begunAt),
      usage: yield* usage,
      clock: yield* clock.health
    }
    return facts
  })
})

/** @param readiness the checks of the process, which the report of health tells, too */
export const make = (readiness: Effect.Effect<ReadonlyArray<Check>>) =>
  Effect.gen(function* () {
    const version = yield* ProcessVersion
    const read = yield* reading
    const look = Effect.map(read, (facts) => Domain.overviewOf(facts, version))
    // Whoever began it may leave while others wait for the same.
    const now = Effect.uninterruptible(yield* Effect.cachedWithTTL(look, freshFor))
    const overview: Overview = {
      now,
      health: Effect.gen(function* () {
        const checks = yield* readiness
        const found = yield* Effect.catchAll(now, (error) =>
          Effect.as(Effect.logWarning("The overview cannot be read", error), null)
        )
        return Health.healthOf(found, checks, { at: found?.at ?? (yield* Time.now), version })
      })
    }
    return overview
  })
