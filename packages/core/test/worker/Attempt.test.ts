import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import * as Logger from "effect/Logger"
import * as Runtime from "effect/Runtime"
import * as TestClock from "effect/TestClock"
import * as ClosedMarkets from "../../src/domain/session/ClosedMarkets.ts"
import * as GracePeriod from "../../src/runtime/GracePeriod.ts"
import { type Sender, SendResult } from "../../src/sender/Sender.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import * as Attempt from "../../src/worker/Attempt.ts"
import * as Batch from "../../src/worker/Batch.ts"
import { Bulkhead } from "../../src/worker/Bulkhead.ts"
import type { SessionCircuit } from "../../src/worker/Circuits.ts"
import { Runner, Turns } from "../../src/worker/Turns.ts"

const job = (recipients: number): ClaimedJob => ({
  jobId: "01980000-0000-7000-8000-000000000000",
  accountId: "account",
  sessionId: "session",
  content: { kind: "direct", text: "Hello", linkPreview: false },
  fence: 1,
  probe: false,
  recipients: Array.from({ length: recipients }, (_, index) => ({
    index,
    phone: String(34_600_000_000 + index),
    values: [],
    attempts: 1,
    firstAttemptAt: 0,
    maybeSent: false,
    crashCount: 0
  }))
})

const circuit: SessionCircuit = {
  mayBegin: () => true,
  isOpen: () => false,
  began: () => {},
  ended: () => {},
  unused: () => {}
}

const noRefusals = {
  byPlace: new Map(),
  offset: 0,
  isClosed: ClosedMarkets.nobody,
  consent: { isFresh: () => true, askAgain: () => Effect.succeed(undefined) }
}

/** Makes the attempts of jobs, so many side by side. */
const run = (jobs: ReadonlyArray<Attempt.Attempts>, slots: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const runner = yield* runnerOf(jobs, slots)
    yield* Effect.onInterrupt(runner.end, () => runner.interrupt)
  })

const turnsOf = (sessions: ReadonlyArray<Attempt.Attempts>, slots: number): Turns => {
  const bulkhead = new Bulkhead({ slots, oldAt: 0 })
  bulkhead.only("session")
  const asking = bulkhead.ask(1000, 0)
  for (const { queue } of sessions)
    bulkhead.claimed(
      asking,
      "session",
      queue.map(({ recipient }) => recipient)
    )
  bulkhead.over(asking)
  return new Turns(bulkhead, () => 0, constVoid)
}

const runnerOf = (jobs: ReadonlyArray<Attempt.Attempts>, slots: number) =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    const turns = turnsOf(jobs, slots)
    const runner = new Runner(
      turns,
      (effect) => Runtime.runFork(runtime)(Effect.interruptible(effect)),
      constVoid
    )
    for (const attempts of jobs) turns.enter("session", runner, attempts, false)
    runner.wake()
    return runner
  })

const batchOf = (send: Sender["send"], recipients: number, concurrency: number) => {
  const sender: Sender = { provider: "http", deduplicates: false, send }
  const claimed = job(recipients)
  const attempts = Attempt.prepareAttempts(
    {
      sender,
      config: {},
      retryForMs: null,
      closedMarkets: [],
      connection: { config: "", connectedSince: 0 }
    },
    claimed,
    circuit,
    () => true,
    noRefusals
  )
  return {
    claimed,
    attempts,
    run: run([attempts], concurrency),
    settlements: () => attempts.settlements()
  }
}

const accepted = Effect.succeed(SendResult.Accepted({ providerId: null, status: "accepted" }))

describe("a batch", () => {
  it.effect("that is stopped begins nothing more, and waits for what is under way", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const slow: Sender["send"] = ({ messageId }) =>
        Effect.suspend(() => {
          sent.push(messageId)
          return Effect.delay(accepted, "300 millis")
        })
      const { attempts, claimed } = batchOf(slow, 10, 2)
      const batch = Batch.start([{ job: claimed, attempts }], {
        turns: turnsOf([attempts], 2),
        isSuspect: false,
        since: 0,
        fork: Runtime.runFork(yield* Effect.runtime()),
        deadlines: () => () => {},
        applyActions: () => Effect.void,
        grace: GracePeriod.make(20_000)
      })
      yield* TestClock.adjust("100 millis")
      const stopping = yield* Effect.fork(batch.stop)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(stopping)
      expect(sent).toHaveLength(2)
      const outcomes = (yield* batch.collect).map(({ outcome }) => outcome._tag)
      expect(outcomes.filter((tag) => tag === "Accepted")).toHaveLength(2)
      expect(outcomes.filter((tag) => tag === "Released")).toHaveLength(8)
    })
  )

  it.effect("leaves unknown only those at whom its sender breaks, in whatever way that is", () =>
    Effect.gen(function* () {
      const { run, settlements } = batchOf(
        ({ to }) => {
          if (to.endsWith("2")) throw new Error("thrown")
          return to.endsWith("5") ? Effect.die("died") : accepted
        },
        9,
        2
      )
      yield* run
      expect(settlements().map(({ outcome }) => outcome._tag)).toEqual(
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => (index === 2 || index === 5 ? "Unknown" : "Accepted"))
      )
    })
  )

  it.effect(
    "knows from a refusal that a message was not sent only where no attempt before it may have arrived",
    () =>
      Effect.gen(function* () {
        const failure = { code: "recipient_invalid", provider_code: "7", message: "No.", permanent: true }
        const rejected = Effect.succeed(SendResult.Rejected({ failure }))
        const senders: ReadonlyArray<Partial<Sender>> = [
          {},
          { deduplicates: true },
          { lookUp: () => rejected },
          { lookUp: () => Effect.succeed(null) }
        ]
        const outcomes: Array<unknown> = []
        for (const uncertain of [false, true])
          for (const some of senders) {
            const sender: Sender = { provider: "http", deduplicates: false, send: () => rejected, ...some }
            const { recipients, ...rest } = job(1)
            const claimed = {
              ...rest,
              recipients: recipients.map((each) => ({ ...each, maybeSent: uncertain }))
            }
            const line = {
              sender,
              config: {},
              retryForMs: null,
              closedMarkets: [],
              connection: { config: "", connectedSince: 0 }
            }
            const attempts = Attempt.prepareAttempts(line, claimed, circuit, () => true, noRefusals)
            yield* run([attempts], 1)
            outcomes.push(...attempts.settlements().map(({ outcome }) => outcome))
          }
        const failed = { _tag: "Failed", failure }
        const unknown = { _tag: "Unknown", failure: { code: "outcome_unknown", provider_code: "7" } }
        expect(outcomes).toMatchObject([failed, failed, failed, failed, unknown, failed, failed, failed])
      })
  )

  it.effect("settles each of them, whatever a sender without types answers", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<string> = [
        '{"_tag":"Accepted","status":"queued"}',
        '{"_tag":"Accepted","providerId":17,"status":"sent"}',
        '{"_tag":"Accepted","providerId":{},"status":"accepted"}',
        '{"_tag":"Transient","failure":{"code":1},"retryAfterMs":"soon"}',
        '{"_tag":"Transient","failure":{"code":"c","provider_code":null,"message":"m"},"retryAfterMs":"soon"}',
        '{"_tag":"Rejected"}',
        '{"_tag":"Done"}',
        "null"
      ]
      const { run, settlements } = batchOf(
        ({ to }) => Effect.sync(() => JSON.parse(answers[Number(to.slice(-1))] ?? "{}")),
        answers.length,
        2
      )
      yield* run
      const outcomes = settlements().map(({ outcome }) => outcome)
      expect(outcomes.map((outcome) => [outcome._tag, "status" in outcome ? outcome.status : null])).toEqual([
        ["Accepted", "accepted"],
        ["Accepted", "sent"],
        ["Accepted", "accepted"],
        ["Unknown", null],
        ["Retry", null],
        ["Unknown", null],
        ["Unknown", null],
        ["Unknown", null]
      ])
      for (const outcome of outcomes) if (outcome._tag === "Retry") expect(outcome.at).not.toBeNaN()
    })
  )

  it.effect("has as many under way as it may, and no more, until the last", () =>
    Effect.gen(function* () {
      let [underWay, most, ended] = [0, 0, 0]
      const send = Effect.suspend(() => {
        underWay += 1
        most = Math.max(most, underWay)
        return Effect.zipRight(
          Effect.yieldNow(),
          Effect.zipRight(
            Effect.promise(() => Promise.resolve()),
            accepted
          )
        )
      }).pipe(
        Effect.tap(() => {
          underWay -= 1
          ended += 1
        })
      )
      const { run } = batchOf(() => send, 50, 4)
      yield* run
      expect([most, ended]).toEqual([4, 50])
    })
  )

  it.effect("interrupts what is under way, and begins nothing more", () =>
    Effect.gen(function* () {
      const interrupted: Array<string> = []
      const { attempts, run, settlements } = batchOf(
        ({ to }) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted.push(to))),
        5,
        3
      )
      const running = yield* Effect.fork(run)
      while (interrupted.length === 0 && (yield* Fiber.status(running))._tag !== "Suspended")
        yield* Effect.yieldNow()
      yield* Fiber.interrupt(running)
      expect(interrupted).toHaveLength(3)
      attempts.interruptPending()
      expect(settlements().map(({ outcome }) => outcome._tag)).toEqual([
        "Unknown",
        "Unknown",
        "Unknown",
        "Released",
        "Released"
      ])
    })
  )

  it.effect("shares what may be under way with the jobs beside it", () =>
    Effect.gen(function* () {
      let [underWay, most] = [0, 0]
      const send: Sender["send"] = () =>
        Effect.suspend(() => {
          underWay += 1
          most = Math.max(most, underWay)
          return Effect.as(Effect.yieldNow(), SendResult.Accepted({ providerId: null, status: "accepted" }))
        }).pipe(
          Effect.tap(() => {
            underWay -= 1
          })
        )
      const jobs = Array.from({ length: 20 }, () => batchOf(send, 2, 0).attempts)
      yield* run(jobs, 5)
      expect(most).toBeLessThanOrEqual(5)
      expect(jobs.flatMap((each) => each.settlements()).map(({ outcome }) => outcome._tag)).toEqual(
        Array.from({ length: 40 }, () => "Accepted")
      )
    })
  )

  it.effect(
    "tells why a sender broke in the log, without what is secret in the session's configuration",
    () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
        const sender: Sender = {
          provider: "http",
          deduplicates: false,
          send: () => {
            throw new TypeError("There is no header for Bearer abcdef-123456", { cause: new Error("Why.") })
          }
        }
        const attempts = Attempt.prepareAttempts(
          {
            sender,
            config: { token: "abcdef-123456" },
            closedMarkets: [],
            retryForMs: null,
            connection: { config: "", connectedSince: 0 }
          },
          job(1),
          circuit,
          () => true,
          noRefusals
        )
        yield* Effect.provide(run([attempts], 1), Logger.replace(Logger.defaultLogger, logger))
        expect(attempts.settlements()).toHaveLength(1)
        expect(lines.join("\n")).toContain("TypeError: There is no header for Bearer [hidden]")
        expect(lines.join("\n")).toContain("Why.")
        expect(lines.join("\n")).not.toContain("abcdef")
      })
  )
})
