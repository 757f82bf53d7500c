/**
 * Runs one history over several stores side by side and compares, after every step, all that a caller can see of them:
 * the answer, jobs, recipients, events, sessions, and what is due next. None of them is taken for right.
 */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { random } from "../../../../test/support/Random.ts"
import * as Plan from "../../src/domain/account/Plan.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import { day, utcDay } from "../../src/domain/Instant.ts"
import * as ClientTexts from "../../src/domain/job/ClientTexts.ts"
import * as Retention from "../../src/domain/Retention.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { purgeAll, tell } from "../StorageSuite/Setup.ts"
import type { Ending, History, Step } from "./History.ts"
import { sessions } from "./History.ts"
import type { Seen, Taken } from "./Model.ts"
import { Model } from "./Model.ts"

export interface Subject {
  readonly name: string
  readonly stores: Context.Context<Stores>
  /** Makes it as empty as it was. */
  readonly clear: Effect.Effect<void, unknown>
}

/** Where two stores part. */
export interface Difference {
  /** The place of the step after which they do. */
  readonly step: number
  /** By their names. */
  readonly stores: string
  /** Of what is compared, with both values. */
  readonly at: string
}

const failure = { code: "broken", provider_code: "1", message: "It broke.", permanent: true }

const outcomeOf = (ending: Ending, now: number, providerId: string): Outcome => {
  switch (ending.end) {
    case "accepted":
    case "sent":
      return Outcome.Accepted({ providerId: ending.providerId ? providerId : null, status: ending.end })
    case "failed":
      return Outcome.Failed({ failure, stopsJob: ending.stopsJob })
    case "unknown":
      return Outcome.Unknown({ failure })
    case "skipped":
      return Outcome.Skipped({ failure })
    case "retry":
      return Outcome.Retry({
        at: Time.after(Time.at(now), ending.afterMs),
        failure,
        maybeSent: ending.maybeSent
      })
    case "released":
      return Outcome.Released({ maybeSent: ending.maybeSent })
  }
}

/** What all stores of a run are told the same of. */
interface Cast {
  now: number
  readonly accountId: string
  readonly sessionIds: ReadonlyArray<string>
  readonly jobIds: Map<number, string>
  /** Every attempt that was given out, in the order of the claims, with the fence that each store drew for it. */
  readonly attempts: Array<{
    readonly jobId: string
    readonly fences: ReadonlyArray<number>
    readonly index: number
  }>
  readonly idOf: (place: number) => string
}

let runs = 0

/** Ids grow from run to run, so that nothing that a store remembers of an earlier one can mean anything in this one. */
export const idsOfRun = (): ((place: number) => string) => {
  runs += 1
  const run = runs
  return (place) => {
    const next = random(place)
    const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(next() * 256))
    return Ids.make(bytes).jobId(Time.after(Fixtures.now, run))
  }
}

const cast = (): Cast => {
  const idOf = idsOfRun()
  const sessionIds = Array.from({ length: sessions }, (_, place) => idOf(1000 + place)).sort()
  return {
    now: Fixtures.now,
    accountId: idOf(2000),
    sessionIds,
    jobIds: new Map(),
    attempts: [],
    idOf
  }
}

const weekMs = 7 * day
const retention = { ...Retention.defaults, resultsDays: 7, contentsDays: 1, deliveriesDays: 1 }

const plan = { ...Plan.defaults, dailyTemplateRecipients: 8, minimumWaitMs: 20 }

/** The sandbox for the first two, and one of which a crash leaves unknown what was under way. */
const providerOf = (place: number) => (place === sessions - 1 ? "http" : "sandbox")

const prepare = ({ accountId, idOf, sessionIds }: Cast) =>
  Effect.gen(function* () {
    yield* (yield* AccountStore).create(Fixtures.account({ id: accountId, plan, retention }))
    yield* (yield* WebhookStore).create(Fixtures.endpoint(accountId, { id: idOf(3000) }))
    for (const [place, id] of sessionIds.entries()) {
      yield* (yield* SessionStore).create(Fixtures.session(accountId, { id, provider: providerOf(place) }))
      const contents = [Fixtures.template()]
      yield* (yield* TemplateStore).importAll({ accountId, sessionId: id, contents, now: Fixtures.now })
    }
  })

const workerOf = (place: number): string => `worker-${place}`

/** What a step changes of the world before any store is asked. */
const begin = (step: Step, world: Cast): void => {
  if (step.do === "clock") world.now += step.ms
  if (step.do === "purge") world.now += weekMs
  if (step.do === "accept") world.jobIds.set(step.job, world.idOf(step.job))
}

/** What a store is asked by a step. @param subject its place among the stores */
const perform = (step: Step, world: Cast, subject: number): Effect.Effect<unknown, unknown, Stores> =>
  Effect.gen(function* () {
    const { accountId, attempts, jobIds, now, sessionIds } = world
    const jobs = yield* JobStore
    const sessions = yield* SessionStore
    const session = (place: number): string => sessionIds[place] ?? ""
    const job = (place: number): string => jobIds.get(place) ?? world.idOf(place)
    switch (step.do) {
      case "accept": {
        const sessionId = session(step.session)
        const { templates } = yield* templatesOf(world, sessionId)
        const template = templates[0] ?? Fixtures.template()
        const { claim, fingerprint, key, kind, phones } = step
        return yield* jobs.accept({
          now: Time.at(now),
          jobId: job(step.job),
          accountId,
          sessionId,
          publicKey: `pk ${sessionId}`,
          perMinute: null,
          stopWhen: null,
          content:
            kind === "direct"
              ? { kind, text: "Hello", linkPreview: false }
              : { kind, templateId: templates[0]?.templateId ?? 1, template },
          ...ClientTexts.job.of({}),
          priority: step.priority,
          recipients: phones.map((phone, index) => ({
            address: `3460000000${phone}`,
            externalId: index === 0 ? null : `r${index}`,
            values: [`Name ${index}`],
            market: "*",
            price: "0.0100"
          })),
          currency: "EUR",
          estimatedCost: null,
          idempotency: key === null ? null : { key: `key-${key}`, fingerprint: `print-${fingerprint}` },
          demand: {
            units: phones.length,
            dailyLimit: step.dailyLimit,
            minimumWaitMs: step.minimumWaitMs
          },
          claim: claim === null ? null : workerOf(claim),
          isEmbedded: step.isEmbedded
        })
      }
      case "exchange": {
        const settlements = step.settle.flatMap(([place, ending]) => {
          const attempt = attempts.at(-1 - (place % Math.max(1, attempts.length)))
          if (attempt === undefined) return []
          const outcome = outcomeOf(ending, now, providerIdOf(attempt.jobId, attempt.index))
          const { fences, index, jobId } = attempt
          return [{ jobId, index, fence: fences[subject] ?? 0, outcome }]
        })
        const { claim } = step
        return yield* jobs.settleAndClaim({
          now: Time.at(now),
          settlements,
          claim:
            claim === null
              ? null
              : {
                  worker: workerOf(claim.worker),
                  limit: claim.limit,
                  room: ({ id }) => (claim.without.map(session).includes(id) ? 0 : claim.limit),
                  ...(claim.young !== null && {
                    care: {
                      survivors: claim.young,
                      suspects: 0,
                      youngForMs: 5000,
                      survivorsWait: false,
                      suspectsWait: false
                    }
                  })
                }
        })
      }
      case "giveBack":
        return yield* jobs.giveBack({ worker: workerOf(step.worker), now: Time.at(now) })
      case "rescue":
        return yield* jobs.rescue({
          worker: workerOf(step.worker),
          now: Time.at(now),
          recoverable: step.recoverable ? ["sandbox"] : []
        })
      case "receive": {
        const bySession = new Map<string | undefined, Array<(typeof step.reports)[number]>>()
        for (const report of step.reports) {
          const of = report.byPlatform === null ? undefined : session(report.byPlatform)
          bySession.set(of, [...(bySession.get(of) ?? []), report])
        }
        return yield* Effect.forEach(bySession, ([sessionId, reports]) =>
          jobs.receive({
            now: Time.at(now),
            ...(sessionId !== undefined && { sessionId }),
            reports: reports.map(({ index, job: place, status }) => ({
              messageId: sessionId === undefined ? Ids.messageId(job(place), index) : null,
              providerId: sessionId === undefined ? null : providerIdOf(job(place), index),
              status,
              at: Time.at(now),
              failure: status === "failed" ? failure : null
            }))
          })
        )
      }
      case "unpark":
        return yield* jobs.applyEarlyReports({ now: Time.at(now) })
      case "unblock":
        return yield* sessions.unblock({ now: Time.at(now) })
      case "makeDue":
        return yield* jobs.makeDue({ now: () => Time.at(now) })
      case "hold":
        return yield* jobs.hold({ jobId: job(step.job), isHeld: step.isHeld, now: Time.at(now) })
      case "cancel":
        return yield* jobs.cancel({ jobId: job(step.job), now: Time.at(now) })
      case "retry": {
        const { dryRun, selection } = step
        return yield* jobs.retry({ jobId: job(step.job), now: Time.at(now), selection, dryRun })
      }
      case "transition":
        return yield* sessions.transition({
          id: session(step.session),
          state: step.state,
          reason: null,
          now: Time.at(now)
        })
      case "block":
        return yield* sessions.block({
          id: session(step.session),
          until: Time.after(Time.at(now), step.ms),
          now: Time.at(now)
        })
      case "unavailable":
        return yield* tell(session(step.session), "OutageBegan", Time.at(now))
      case "available":
        return yield* tell(session(step.session), "OutageEnded", Time.at(now))
      case "takeProbe":
        return yield* sessions.acquireProbe({ id: session(step.session), now: Time.at(now) })
      case "returnProbe": {
        return yield* tell(
          session(step.session),
          step.attempted ? "ProbeFailed" : "ProbeUnused",
          Time.at(now)
        )
      }
      case "template": {
        const status = step.approved ? "approved" : "paused"
        const contents = [Fixtures.template({ status })]
        const store = yield* TemplateStore
        const imported = yield* store.importAll({
          accountId,
          sessionId: session(step.session),
          contents,
          now: Time.at(now)
        })
        return imported.map(({ status }) => status)
      }
      case "pace": {
        const pacing = { messagesPerSecond: step.messagesPerSecond, pairIntervalMs: step.pairMs }
        return yield* sessions.change({ id: session(step.session), change: { pacing }, now: Time.at(now) })
      }
      case "beat": {
        const workers = [...new Set(step.workers)].map(workerOf)
        return yield* jobs.heartbeat({ workers, beats: step.beats, dispatchesAt: Time.at(now) })
      }
      case "purge":
        return yield* purgeAll(Time.at(now), step.limit)
      case "clock":
        return null
    }
  })

const providerIdOf = (jobId: string, index: number): string => `p-${jobId}-${index}`

const templatesOf = (_: Cast, sessionId: string) =>
  Effect.gen(function* () {
    const store = yield* TemplateStore
    const { language, name } = Fixtures.template()
    const found = yield* store.findNamed({ sessionId, name, language })
    return { templates: found === null ? [] : [found] }
  })

const everything = { limit: 250, after: null }

/** Events since the last time, in any order. */
const news = ({ now }: Cast) =>
  Effect.gen(function* () {
    const { claimed } = yield* (yield* WebhookStore).settleAndClaim({
      now: Time.at(now),
      settlements: [],
      claim: Fixtures.deliveryClaim({ worker: "events" })
    })
    return claimed
      .map(({ body }) => {
        const { created_at, data, type } = JSON.parse(body)
        return JSON.stringify([created_at, type, data])
      })
      .sort()
  })

/** What tells of every change of a job at once. */
const glance = (world: Cast) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const { accountId, now } = world
    const of = (kind: "template" | "direct") =>
      Effect.map(jobs.list({ by: { accountId }, kind, page: everything }), ({ items }) => items)
    return {
      nextDue: yield* jobs.nextDue(Time.at(now)),
      jobs: [...(yield* of("template")), ...(yield* of("direct"))]
    }
  })

/** All that a caller can see, beside the answers. */
const look = (world: Cast) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const sessions = yield* SessionStore
    const { accountId, jobIds, now, sessionIds } = world
    return {
      ...(yield* glance(world)),
      events: yield* news(world),
      recipients: yield* Effect.forEach(jobIds.values(), (jobId) =>
        Effect.map(jobs.results({ jobId, page: everything }), ({ items }) => items)
      ),
      sessions: yield* Effect.forEach(sessionIds, (id) => sessions.find(id)),
      workers: [...(yield* jobs.workers)].sort((a, b) => (a.worker < b.worker ? -1 : 1)),
      usage: yield* jobs.usage({ accountId, day: utcDay(Time.at(now)) })
    }
  })

/** Looks that cost most are taken after so many steps, and after the last. */
const lookEvery = 4

/** As text; templates and claims have numbers of their store's own. */
const textOf = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/((?:template_?[iI]d|fence)\\?":)\d+/g, "$10")

/** What a step and a look at everything came to; a failure is told by its name. */
export const seen = <A>(
  effect: Effect.Effect<A, unknown, Stores>
): Effect.Effect<A | string, never, Stores> =>
  Effect.catchAllCause(effect, (cause) => Effect.succeed(`failed: ${cause.toString().split("\n")[0]}`))

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The places in which two values part. */
export const partings = function* (a: unknown, b: unknown, path: string): Generator<string> {
  if (!isRecord(a) || !isRecord(b)) {
    if (!Object.is(a, b)) yield `${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`
    return
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
    yield* partings(a[key], b[key], `${path}.${key}`)
}

const claimedIn = (answer: unknown): ReadonlyArray<ClaimedJob> => {
  if (!isRecord(answer)) return []
  const { claimed } = answer as { readonly claimed?: ReadonlyArray<ClaimedJob> | ClaimedJob | null }
  return claimed === undefined || claimed === null
    ? []
    : Array.isArray(claimed)
      ? claimed
      : [claimed as ClaimedJob]
}

/** Runs the history over all of them; null when they answer and show the same after every step. */
export const compare = (
  subjects: ReadonlyArray<Subject>,
  history: History,
  ignored: (at: string) => boolean = () => false
): Effect.Effect<Difference | null> =>
  Effect.gen(function* () {
    const world = cast()
    const [first, ...others] = subjects
    if (first === undefined) return null
    const within = <A, E>(subject: Subject, effect: Effect.Effect<A, E, Stores>): Effect.Effect<A, E> =>
      Effect.provide(effect, subject.stores)
    for (const subject of subjects) {
      yield* subject.clear
      yield* within(subject, prepare(world))
    }
    for (const [place, step] of history.entries()) {
      begin(step, world)
      const isLong = (place + 1) % lookEvery === 0 || place === history.length - 1
      const observe = (subject: Subject) =>
        within(
          subject,
          Effect.all({
            answer: seen(perform(step, world, subjects.indexOf(subject))),
            state: seen(isLong ? look(world) : glance(world))
          })
        )
      const expected = yield* observe(first)
      const claimed = [claimedIn(expected.answer)]
      for (const subject of others) {
        const found = yield* observe(subject)
        claimed.push(claimedIn(found.answer))
        const [one, other] = [textOf(expected), textOf(found)]
        if (one === other) continue
        const at = [...partings(JSON.parse(one), JSON.parse(other), "")].find((at) => !ignored(at))
        if (at !== undefined) return { step: place, stores: `${first.name} and ${subject.name}`, at }
      }
      for (const [place, { jobId, recipients }] of (claimed[0] ?? []).entries()) {
        const fences = claimed.map((ofStore) => ofStore[place]?.fence ?? 0)
        for (const { index } of recipients) world.attempts.push({ jobId, fences, index })
      }
    }
    return null
  }).pipe(Effect.orDie)

/** What a store shows to the model. */
const shown = (world: Cast): Effect.Effect<Seen, unknown, Stores> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const { jobs: found } = yield* glance(world)
    const recipients = yield* Effect.forEach(found, ({ id }) =>
      Effect.map(
        jobs.results({ jobId: id, page: everything }),
        ({ items }) => [id, items.map(({ status }) => status)] as const
      )
    )
    return { jobs: found, recipients: new Map(recipients) }
  })

/** Runs the history over the first store and holds it against the model after every step. */
export const obey = ([subject]: ReadonlyArray<Subject>, history: History): Effect.Effect<Difference | null> =>
  Effect.gen(function* () {
    if (subject === undefined) return null
    const world = cast()
    const model = new Model()
    yield* subject.clear
    yield* Effect.provide(prepare(world), subject.stores)
    for (const [place, step] of history.entries()) {
      begin(step, world)
      const settled =
        step.do !== "exchange"
          ? []
          : step.settle.flatMap(([back, ending]) => {
              const attempt = world.attempts.at(-1 - (back % Math.max(1, world.attempts.length)))
              return attempt === undefined
                ? []
                : [
                    {
                      jobId: attempt.jobId,
                      index: attempt.index,
                      fence: attempt.fences[0] ?? 0,
                      end: ending.end,
                      stopsJob: ending.end === "failed" && ending.stopsJob,
                      maybeSent: "maybeSent" in ending && ending.maybeSent
                    }
                  ]
            })
      const reported =
        step.do !== "receive"
          ? []
          : step.reports.map(({ index, job, status }) => ({
              jobId: world.jobIds.get(job) ?? world.idOf(job),
              index,
              status
            }))
      const answer = yield* Effect.provide(seen(perform(step, world, 0)), subject.stores)
      const claimed: ReadonlyArray<Taken> = claimedIn(answer).flatMap(({ fence, jobId, recipients }) =>
        recipients.map(({ index }) => ({ jobId, index, fence }))
      )
      for (const { fence, index, jobId } of claimed) world.attempts.push({ jobId, fences: [fence], index })
      const jobId = "job" in step ? (world.jobIds.get(step.job) ?? world.idOf(step.job)) : null
      const state = yield* Effect.provide(shown(world), subject.stores)
      const wrong = model.after({ step, jobId, settled, claimed, reported }, state)
      if (wrong !== null) return { step: place, stores: `${subject.name} and the model`, at: wrong }
    }
    return null
  }).pipe(Effect.orDie)
