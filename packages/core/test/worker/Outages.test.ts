/** Platforms that do not answer, and how long what fails in passing is tried again (contract.md §10 "Dispatch"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import { value } from "../../../../test/support/Metered.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Failure } from "../../src/domain/job/Recipient.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { type Sender, SendResult } from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { events, find, listen, owner, results, tell } from "../StorageSuite/Setup.ts"
import { accept, accepted, acceptOf, during, embedded, platform, running, timedOut } from "./Support.ts"

const failure = (code: string): Failure => ({
  code,
  provider_code: null,
  message: "Not now.",
  permanent: false
})

const outOfOrder = SendResult.Transient({
  failure: failure("provider_unavailable"),
  retryAfterMs: null,
  answered: false
})

const minute = 60_000

/** Does not answer until a time, by the test's clock. */
const downUntil = (ms: number, some: Parameters<typeof platform>[0] = { deduplicates: true }) =>
  platform(some, () => Effect.map(Time.now, (now) => (now < ms ? timedOut : accepted)))

const drained = (sender: Sender) =>
  Effect.provide(
    Effect.flatMap(Engine.Engine, ({ drain }) => drain),
    embedded(sender)
  )

const countsOf = (jobId: string) => Effect.map(find(jobId), ({ counts }) => counts)

const sessionOf = Effect.fnUntraced(function* (jobId: string) {
  const { sessionId } = yield* find(jobId)
  return (yield* (yield* SessionStore).find(sessionId)) ?? (yield* Effect.dieMessage("It is gone."))
})

const down = new StorageError({ operation: "JobStore.settleAndClaim", cause: "The disk is full." })

type Told = ReturnType<(typeof JobStore.Service)["settleAndClaim"]>

/** The store of jobs, but for how it is told that a session is unavailable. */
const marking = (mark: (told: Told, now: number) => Told) =>
  Effect.map(JobStore, (jobs) =>
    Layer.succeed(JobStore, {
      ...jobs,
      settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
        (command.news ?? []).some(({ what }) => what === "OutageBegan")
          ? mark(jobs.settleAndClaim(command), command.now)
          : jobs.settleAndClaim(command)
    })
  )

const paused = { status: "paused", pauseReason: "platform_unavailable" }

/** Minutes of idle loops take a loaded machine longer than tests have. */
const loopsTimeout = 300_000

describe("an outage", { timeout: loopsTimeout, concurrent: true }, () => {
  it.effect("pauses the jobs of its session, asks with one message at a time, and costs no attempts", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(4 * minute)
      const { jobId } = yield* accept(200)
      yield* listen((yield* find(jobId)).accountId)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("5 seconds")
        expect(yield* find(jobId)).toMatchObject(paused)
        expect((yield* sessionOf(jobId)).outage).not.toBeNull()
        const before = sent.length
        expect(before).toBeLessThanOrEqual(20 + 8 * 4 + 3)
        yield* TestClock.adjust("234 seconds")
        expect(yield* find(jobId)).toMatchObject(paused)
        // After 1, 2, 4, 8, 16, 32, 60, 60, … seconds.
        expect(sent.length - before).toBeLessThanOrEqual(9)
        expect(Math.max(...(yield* results(jobId)).map(({ attempts }) => attempts))).toBeLessThanOrEqual(2)
        yield* TestClock.adjust("62 seconds")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 200 })
        expect((yield* sessionOf(jobId)).outage).toBeNull()
      })
      yield* during(sender, sending)
      const told = (yield* events(10 * minute)).map(({ type }) => type)
      // Once each: a probe tells nothing.
      expect(told.filter((type) => !type.startsWith("recipient.")).toSorted()).toEqual([
        "job.completed",
        "job.paused",
        "job.processing",
        "job.processing",
        "session.available",
        "session.unavailable"
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is found after half a minute of a platform that keeps everybody waiting", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true }, () => Effect.as(Effect.sleep("1 hour"), timedOut))
      // As many as are in hand: nobody looks.
      const who = yield* owner
      const jobId = yield* acceptOf(who, 20)
      for (let job = 0; job < 9; job++) yield* acceptOf(who, 20)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("29 seconds")
        expect((yield* find(jobId)).status).toBe("processing")
        yield* TestClock.adjust("7 seconds")
        expect(yield* find(jobId)).toMatchObject(paused)
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("releases the rest of its batch, of which other sessions' messages go on", () =>
    Effect.gen(function* () {
      const ours = yield* accept(60)
      const theirs = yield* accept(60)
      const isOurs = (messageId: string) => messageId.slice(0, -3) === ours.jobId.slice(0, -3)
      const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) =>
        Effect.succeed(isOurs(messageId) ? timedOut : accepted)
      )
      yield* drained(sender)
      expect(yield* countsOf(theirs.jobId)).toMatchObject({ accepted: 60 })
      expect(yield* find(ours.jobId)).toMatchObject(paused)
      expect(sent.filter(isOurs).length).toBeLessThanOrEqual(20 + 8)
      const spared = (yield* results(ours.jobId)).filter(({ attempts }) => attempts === 0)
      expect(spared.length).toBeGreaterThan(30)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is probed by one process of many", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(4 * minute)
      const { jobId } = yield* accept(300)
      const engines = [running(sender), running(sender), running(sender)]
      yield* Effect.gen(function* () {
        for (const engine of engines) yield* Layer.build(engine)
        yield* TestClock.adjust("30 seconds")
        const before = sent.length
        yield* TestClock.adjust("205 seconds")
        expect(sent.length - before).toBeLessThanOrEqual(5)
        expect(sent.length - before).toBeGreaterThanOrEqual(3)
        yield* TestClock.adjust("70 seconds")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 300 })
      }).pipe(Effect.scoped)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is found within a minute of few recipients, too", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({ deduplicates: true }, () => Effect.succeed(outOfOrder))
      const { jobId } = yield* accept(2)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("25 seconds")
        expect((yield* find(jobId)).status).toBe("processing")
        yield* TestClock.adjust("45 seconds")
        expect(yield* find(jobId)).toMatchObject(paused)
        expect(sent.length).toBeLessThan(20)
      })
      yield* during(sender, sending)
    }).pipe(Effect.withRandom(Random.make("few recipients")), Effect.provide(Memory.layer))
  )

  it.effect("ends though some recipients of its jobs are never answered for", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const first = yield* acceptOf(who, 60)
      const { sender } = platform({ deduplicates: true }, ({ messageId }) =>
        Effect.map(Time.now, (now) => {
          const isBad = messageId.slice(0, -3) === first.slice(0, -3) && messageId.endsWith("001")
          return isBad || now < 2 * minute ? timedOut : accepted
        })
      )
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("6 minutes")
        expect(yield* countsOf(first)).toMatchObject({ accepted: 59, sending: 1 })
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("fails nobody whose time is over when it ends", () =>
    Effect.gen(function* () {
      const who = yield* owner
      yield* (yield* SessionStore).change({
        id: who.sessionId,
        change: { retryForMs: minute },
        now: Time.at(0)
      })
      const jobId = yield* acceptOf(who, 60)
      let isBusy = true
      const { sender } = platform({ deduplicates: true }, () =>
        Effect.map(Time.now, (now) => {
          if (now < 5 * minute) return timedOut
          return isBusy
            ? SendResult.Transient({ failure: failure("provider_rate_limited"), retryAfterMs: null })
            : accepted
        })
      )
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("335 seconds")
        expect((yield* sessionOf(jobId)).outage).toBeNull()
        const { failed, queued, sending } = yield* countsOf(jobId)
        expect([failed, sending + queued]).toEqual([0, 60])
        isBusy = false
        yield* TestClock.adjust("1 minute")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 60 })
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("passes over recipients without consent, instead of waiting for each", () =>
    Effect.gen(function* () {
      const { sender } = downUntil(minute)
      const { jobId } = yield* accept(120)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("30 seconds")
        const { accountId } = yield* find(jobId)
        const now = yield* Time.now
        const open = (yield* results(jobId)).filter(({ status }) => status !== "accepted").slice(0, -1)
        yield* (yield* ConsentStore).record({
          accountId,
          records: open.map(({ address: phone }) =>
            Fixtures.consent(phone, { status: "revoked", occurredAt: now, recordedAt: now })
          )
        })
        yield* TestClock.adjust("2 minutes")
        const { accepted, skipped, unknown } = yield* countsOf(jobId)
        // Those of the first attempts may have it.
        expect([accepted, skipped + unknown, unknown < 30]).toEqual([1, 119, true])
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("asks a platform that cannot deduplicate by its own check first, where it has one", () =>
    Effect.gen(function* () {
      const check = () =>
        Effect.map(Time.now, (now) => (now < 10 * minute ? failure("provider_unreachable") : null))
      const { sender, sent } = downUntil(10 * minute, { check })
      const { jobId } = yield* accept(100)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        const { unknown } = yield* countsOf(jobId)
        const before = sent.length
        expect(unknown).toBe(before)
        yield* TestClock.adjust("9 minutes")
        expect([sent.length, (yield* countsOf(jobId)).unknown]).toEqual([before, before])
        yield* TestClock.adjust("2 minutes")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 100 - before, unknown: before })
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that its platform's check explains by the session's credentials disconnects it", () =>
    Effect.gen(function* () {
      const check = () => Effect.succeed(failure("credentials_rejected"))
      const { sender } = downUntil(10 * minute, { check, deduplicates: true })
      const { jobId } = yield* accept(40)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        expect(yield* sessionOf(jobId)).toMatchObject({ state: "disconnected", outage: null })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("goes on at a platform that answers its check and no message", () =>
    Effect.gen(function* () {
      for (const said of [null, failure("provider_rate_limited")]) {
        const check = () => Effect.succeed(said)
        const { sender, sent } = downUntil(60 * minute, { check })
        const { jobId } = yield* accept(200)
        const sending = Effect.gen(function* () {
          yield* TestClock.adjust("3 minutes")
          expect((yield* sessionOf(jobId)).outage).not.toBeNull()
          // Those that find it, and probes.
          const ours = sent.filter((messageId) => messageId.slice(0, -3) === jobId.slice(0, -3))
          expect(ours.length).toBeGreaterThan(20)
          expect(ours.length).toBeLessThan(70)
        })
        yield* during(sender, sending)
      }
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is no outage where the platform answers, however often it refuses for the moment", () =>
    Effect.gen(function* () {
      const busy = SendResult.Transient({ failure: failure("provider_rate_limited"), retryAfterMs: null })
      const { sender } = platform({ deduplicates: true }, () =>
        Effect.map(Time.now, (now) => (now < minute ? busy : accepted))
      )
      const { jobId } = yield* accept(100)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("50 seconds")
        expect((yield* find(jobId)).status).toBe("processing")
        yield* TestClock.adjust("10 minutes")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 100 })
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that the store cannot be told of claims nothing until it can", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(3 * minute)
      const { jobId, jobs } = yield* accept(100)
      let commits = 0
      const counted = Layer.succeed(JobStore, {
        ...jobs,
        settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) => {
          commits += 1
          return jobs.settleAndClaim(command)
        }
      })
      const unwilling = yield* Effect.provide(
        marking((told, now) => (now < minute ? Effect.fail(down) : told)),
        counted
      )
      yield* Effect.gen(function* () {
        yield* Layer.build(Layer.provide(running(sender), unwilling))
        yield* TestClock.adjust("5 seconds")
        const [before, commitsBefore] = [sent.length, commits]
        yield* TestClock.adjust("50 seconds")
        expect([sent.length, (yield* find(jobId)).status]).toEqual([before, "processing"])
        // They look once a second.
        expect(commits - commitsBefore).toBeLessThan(300)
        yield* TestClock.adjust("10 seconds")
        expect(yield* find(jobId)).toMatchObject(paused)
        yield* TestClock.adjust("3 minutes")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 100 })
      }).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that begins while the store is down is told before its outcomes are stored", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(3 * minute)
      const { jobId, jobs } = yield* accept(100)
      const written: Array<string> = []
      let isDown = false
      let comesBack = false
      const failing = Layer.succeed(JobStore, {
        ...jobs,
        settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) => {
          const what = [
            ...((command.news ?? []).length > 0 ? ["the outage"] : []),
            ...(command.settlements.length > 0 ? ["outcomes"] : [])
          ]
          if (sent.length < 20 || what.length === 0) return jobs.settleAndClaim(command)
          isDown ||= written.length === 0
          // It comes back between two rounds: each begins with what is told.
          if (comesBack && what[0] === "the outage") {
            ;[comesBack, isDown] = [false, false]
            written.push("the store is back")
          }
          return isDown
            ? Effect.fail(down)
            : Effect.tap(jobs.settleAndClaim(command), () => written.push(...what))
        }
      })
      yield* Effect.gen(function* () {
        yield* Layer.build(Layer.provide(running(sender), failing))
        yield* TestClock.adjust("20 seconds")
        expect(isDown).toBe(true)
        comesBack = true
        yield* TestClock.adjust("20 seconds")
        expect(written.slice(0, 3)).toEqual(["the store is back", "the outage", "outcomes"])
        expect(yield* find(jobId)).toMatchObject(paused)
        yield* TestClock.adjust("4 minutes")
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 100 })
      }).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that the store cannot be told of at first is told by the next drain", () =>
    Effect.gen(function* () {
      const { sender } = downUntil(3 * minute)
      const { jobId } = yield* accept(100)
      let isDown = true
      const unwilling = yield* marking((told) => (isDown ? Effect.fail(down) : told))
      yield* Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        yield* Effect.flip(drain)
        isDown = false
        yield* TestClock.adjust("1 minute")
        yield* drain
        expect(yield* find(jobId)).toMatchObject(paused)
        for (let minutes = 0; minutes < 5; minutes++)
          yield* Effect.zipRight(TestClock.adjust("1 minute"), drain)
        expect(yield* countsOf(jobId)).toMatchObject({ accepted: 100 })
      }).pipe(
        Effect.provide(Layer.provide(embedded(sender), unwilling)),
        Effect.provide(Logger.remove(Logger.defaultLogger))
      )
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a direct message during an outage", { concurrent: true }, () => {
  const phone = "34600000100"

  const sending = Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const { caller } = yield* prepare(engine, [phone])
    const sendUnder = (idempotencyKey: string | undefined) =>
      Effect.either(engine.sendDirect(caller, { idempotencyKey, request: { to: phone, message: "Hello" } }))
    const send = sendUnder(undefined)
    const outage = Effect.flatMap(SessionStore, (sessions) =>
      Effect.map(sessions.find(caller.session.id), (session) => session?.outage ?? null)
    )
    return { engine, caller, send, sendUnder, outage, sessionId: caller.session.id }
  })

  it.effect("finds it, is refused without an attempt, and ends it when it is the probe", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(10 * minute, { deduplicates: false })
      yield* Effect.gen(function* () {
        const { outage, send } = yield* sending
        for (let time = 0; time < 20; time++) yield* send
        expect(sent).toHaveLength(20)
        expect(yield* outage).not.toBeNull()
        const refused = {
          _tag: "Left",
          left: {
            _tag: "SendFailed",
            outcome: "failed",
            failure: { code: "provider_unavailable", permanent: false }
          }
        }
        expect(yield* send).toMatchObject(refused)
        expect(sent).toHaveLength(20)
        yield* TestClock.adjust("1100 millis")
        expect(yield* send).toMatchObject({ _tag: "Left", left: { outcome: "unknown" } })
        yield* TestClock.adjust("1100 millis")
        expect(yield* send).toMatchObject(refused)
        expect(sent).toHaveLength(21)
        yield* TestClock.adjust("10 minutes")
        expect(yield* send).toMatchObject({ _tag: "Right", right: { status: "accepted" } })
        expect(yield* outage).toBeNull()
        expect(yield* send).toMatchObject({ _tag: "Right" })
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is refused with its key left free, and costs nothing of the day's messages", () =>
    Effect.gen(function* () {
      const { sender, sent } = downUntil(10 * minute, { deduplicates: false })
      yield* Effect.gen(function* () {
        const { caller, send, sendUnder } = yield* sending
        const jobs = yield* JobStore
        for (let time = 0; time < 20; time++) yield* send
        const used = jobs.usage({ accountId: caller.account.id, day: "1970-01-01" })
        const before = yield* used
        expect(yield* sendUnder("again")).toMatchObject({
          left: { _tag: "SendFailed", messageId: null, failure: { code: "provider_unavailable" } }
        })
        expect(yield* used).toEqual(before)
        yield* TestClock.adjust("11 minutes")
        expect(yield* sendUnder("again")).toMatchObject({ right: { status: "accepted", replayed: false } })
        expect(yield* sendUnder("again")).toMatchObject({ right: { replayed: true } })
        expect(sent).toHaveLength(21)
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that the quota refuses gives its probe back", () =>
    Effect.gen(function* () {
      const { sender } = downUntil(10 * minute, { deduplicates: false })
      yield* Effect.gen(function* () {
        const { caller, engine, outage, send } = yield* sending
        for (let time = 0; time < 20; time++) yield* send
        yield* TestClock.adjust("11 minutes")
        const plan = { ...caller.account.plan, dailyDirectMessages: 0 }
        const poor = { ...caller, knownAt: Time.at(11 * minute), account: { ...caller.account, plan } }
        const request = { to: phone, message: "Hello" }
        const refused = yield* Effect.flip(engine.sendDirect(poor, { idempotencyKey: undefined, request }))
        expect(refused._tag).toBe("DailyLimitReached")
        expect(yield* outage).toMatchObject({ probeAt: 11 * minute })
        expect(yield* send).toMatchObject({ _tag: "Right" })
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("tells the store what it could not be told before, without any loop", () =>
    Effect.gen(function* () {
      const { sender } = downUntil(10 * minute, { deduplicates: false })
      let isDown = true
      const unwilling = yield* marking((told) => (isDown ? Effect.fail(down) : told))
      yield* Effect.gen(function* () {
        const { outage, send } = yield* sending
        for (let time = 0; time < 22; time++) yield* send
        expect(yield* outage).toBeNull()
        isDown = false
        yield* send
        expect(yield* outage).not.toBeNull()
        yield* TestClock.adjust("11 minutes")
        expect(yield* send).toMatchObject({ _tag: "Right" })
      }).pipe(Effect.provide(Layer.provideMerge(embedded(sender), unwilling)))
    }).pipe(Effect.provide(Memory.layer), Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.effect("gets its turn beside a job that is never answered for", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true }, ({ content }) =>
        content.kind === "direct"
          ? Effect.succeed(accepted)
          : // No time of ours is even for ever.
            Effect.as(Effect.sleep("101 millis"), timedOut)
      )
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(running(sender), scope)
      yield* Effect.gen(function* () {
        const { caller, outage, send } = yield* sending
        const { accountId, id: sessionId } = { accountId: caller.account.id, id: caller.session.id }
        // As many as open a circuit: one alone may be tried again with longer and longer pauses.
        yield* acceptOf({ accountId, sessionId, publicKey: caller.key.publicKey }, 30)
        yield* TestClock.adjust("2 minutes")
        expect(yield* outage).not.toBeNull()
        let refused = 0
        for (; (yield* send)._tag === "Left"; refused++) yield* TestClock.adjust("7 seconds")
        expect(refused).toBeLessThan(100)
        expect(yield* outage).toBeNull()
      }).pipe(Effect.provide(context))
      const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(stopping)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("and `connect`, to which nobody answers, leave the session connected", () =>
    Effect.gen(function* () {
      let said: Failure | null = failure("provider_unreachable")
      const { sender } = downUntil(10 * minute, { deduplicates: false, check: () => Effect.sync(() => said) })
      yield* Effect.gen(function* () {
        const { engine, outage, send, sessionId } = yield* sending
        for (let time = 0; time < 20; time++) yield* send
        const { connect, disconnect } = engine.admin.sessions
        expect(yield* connect(sessionId)).toMatchObject({ state: "connected", reason: null })
        expect(yield* outage).not.toBeNull()
        said = failure("credentials_rejected")
        expect(yield* connect(sessionId)).toMatchObject({ state: "disconnected", outage: null })
        said = null
        expect(yield* connect(sessionId)).toMatchObject({ state: "connected", outage: null })
        yield* disconnect(sessionId)
        said = failure("provider_unreachable")
        expect(yield* connect(sessionId)).toMatchObject({ state: "disconnected", reason: "Not now." })
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("goes on once another process has found the platform back", () =>
    Effect.gen(function* () {
      const { sender } = downUntil(10 * minute, { deduplicates: false })
      yield* Effect.gen(function* () {
        const { send, sessionId } = yield* sending
        for (let time = 0; time < 20; time++) yield* send
        yield* TestClock.adjust("10 minutes")
        yield* tell(sessionId, "OutageEnded", Time.at(10 * minute))
        expect(yield* send).toMatchObject({ _tag: "Right" })
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a transient failure", { concurrent: true }, () => {
  const busy = (code: string) => SendResult.Transient({ failure: failure(code), retryAfterMs: null })

  const tried = Effect.fnUntraced(function* (
    category: "authentication" | "utility",
    code: string,
    retryForMs: number | null
  ) {
    const times: Array<number> = []
    const { sender } = platform({ deduplicates: true }, () =>
      Effect.map(Time.now, (now) => {
        times.push(now)
        return busy(code)
      })
    )
    const who = yield* owner
    yield* (yield* SessionStore).change({ id: who.sessionId, change: { retryForMs }, now: Time.at(0) })
    const template = Fixtures.template({ category })
    const command = Fixtures.send(who, {
      phones: 1,
      now: Time.at(0),
      content: { kind: "template", templateId: 1, template }
    })
    const records = command.recipients.map(({ address: phone }) =>
      Fixtures.consent(phone, { occurredAt: Time.at(0) })
    )
    yield* (yield* ConsentStore).record({ accountId: who.accountId, records })
    yield* (yield* JobStore).accept(command)
    yield* Effect.gen(function* () {
      const { drain } = yield* Engine.Engine
      for (let step = 0; step < 110; step++) yield* Effect.zipRight(drain, TestClock.adjust("15 seconds"))
      for (let step = 0; step < 300; step++) yield* Effect.zipRight(drain, TestClock.adjust("5 minutes"))
    }).pipe(Effect.provide(embedded(sender)))
    const [recipient] = yield* results(command.jobId)
    return { recipient, attempts: times.length, lastAt: times.at(-1) ?? 0 }
  })

  it.effect("of an authentication template is tried again for ten minutes", () =>
    Effect.gen(function* () {
      const { attempts, lastAt, recipient } = yield* tried("authentication", "provider_rate_limited", null)
      expect(recipient?.status).toBe("failed")
      expect(attempts).toBeGreaterThan(10)
      expect(lastAt).toBeGreaterThanOrEqual(9 * minute)
      expect(lastAt).toBeLessThanOrEqual(10 * minute + 15_000)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("of any other message is tried again for a day, at least every quarter of an hour", () =>
    Effect.gen(function* () {
      const { attempts, lastAt, recipient } = yield* tried("utility", "provider_rate_limited", null)
      expect(recipient?.status).toBe("failed")
      expect(attempts).toBeGreaterThan(90)
      expect(lastAt).toBeGreaterThanOrEqual(24 * 60 * minute - 15 * minute)
      expect(lastAt).toBeLessThanOrEqual(24 * 60 * minute + 5 * minute)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is tried again for as long as its session says", () =>
    Effect.gen(function* () {
      const { lastAt, recipient } = yield* tried("authentication", "provider_rate_limited", 25 * minute)
      expect(recipient?.status).toBe("failed")
      expect(lastAt).toBeGreaterThanOrEqual(22 * minute)
      expect(lastAt).toBeLessThanOrEqual(26 * minute)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect(
    "whose cause is the recipient ends after eight attempts",
    () =>
      Effect.gen(function* () {
        for (const code of ["media_unusable", "pair_rate_limited"]) {
          const { attempts, recipient } = yield* tried("utility", code, null)
          expect([code, recipient?.status, attempts]).toEqual([code, "failed", 8])
        }
      }).pipe(Effect.provide(Memory.layer)),
    loopsTimeout
  )

  it.effect("that says nothing of the platform's silence is one of the platform that answers", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const jobId = yield* acceptOf(who, 60)
      const { sender } = platform({ deduplicates: true }, () => Effect.succeed(busy("unheard_of")))
      yield* drained(sender)
      expect((yield* find(jobId)).status).toBe("processing")
      const silent = platform({ deduplicates: true }, () => Effect.succeed(outOfOrder))
      const other = yield* acceptOf(who, 60)
      yield* drained(silent.sender)
      expect(yield* find(other)).toMatchObject(paused)
    }).pipe(Effect.provide(Memory.layer))
  )
})

// The number is one of the whole process: nothing goes on beside it.
describe("an outage that begins and ends", { timeout: loopsTimeout }, () => {
  it.effect("is a line in the log at its beginning and its end, and a number among the metrics", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        const line = `${logLevel.label} ${String(message)}`
        if (line.includes("available")) lines.push(line)
      })
      const { jobId } = yield* accept(40)
      const { sender } = downUntil(2 * minute)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("1 minute")
        expect(yield* value("session_unavailable")).toBe(1)
        yield* TestClock.adjust("3 minutes")
        expect(yield* value("session_unavailable")).toBe(0)
      })
      yield* Effect.provide(during(sender, sending), Logger.replace(Logger.defaultLogger, logger))
      const { id } = yield* sessionOf(jobId)
      expect(lines).toEqual([
        expect.stringContaining(`WARN Session ${id} is unavailable: its platform does not answer.`),
        `INFO Session ${id} is available: its platform answers again.`
      ])
    }).pipe(Effect.provide(Memory.layer))
  )
})
