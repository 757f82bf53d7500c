import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { type Sender, SendResult } from "../../src/sender/Sender.ts"
import type { DispatchedJob } from "../../src/storage/JobStore.ts"
import * as Attempt from "../../src/worker/Attempt.ts"
import { attemptsOf, circuit, job, line, noRefusals, turnsOf } from "./Attempts.ts"

/** Makes the attempts of jobs, so many side by side; answers what became of them, in their order. */
const run = (jobs: ReadonlyArray<Attempt.Attempts>, slots: number) =>
  Effect.gen(function* () {
    const { enter, inFlight, outcomes, turns } = yield* turnsOf(slots)
    for (const attempts of jobs) enter(attempts)
    turns.begin()
    yield* Effect.onInterrupt(inFlight.awaitIdle, () => turns.interrupt(inFlight))
    return outcomes()
  })

const batchOf = (send: Sender["send"], recipients: number, concurrency: number) =>
  run([attemptsOf({ send }, job(recipients))], concurrency)

const accepted = Effect.succeed(SendResult.Accepted({ providerId: null, status: "accepted" }))

describe("attempts", () => {
  it.effect("that are given back begin no more, and what is under way goes on", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const slow: Sender["send"] = ({ messageId }) =>
        Effect.suspend(() => {
          sent.push(messageId)
          return Effect.delay(accepted, "300 millis")
        })
      const { enter, inFlight, outcomes, turns } = yield* turnsOf(2)
      enter(attemptsOf({ send: slow }, job(10)))
      turns.begin()
      yield* TestClock.adjust("100 millis")
      turns.release(({ batch }) => batch.inFlight === inFlight)
      expect([inFlight.isIdle, outcomes().map(({ _tag }) => _tag)]).toEqual([
        false,
        Array(8).fill("Released")
      ])
      yield* TestClock.adjust("300 millis")
      expect(sent).toHaveLength(2)
      expect([inFlight.isIdle, outcomes().map(({ _tag }) => _tag)]).toEqual([true, ["Accepted", "Accepted"]])
    })
  )

  it.effect("leave unknown only those at whom their sender breaks, in whatever way that is", () =>
    Effect.gen(function* () {
      const outcomes = yield* batchOf(
        ({ to }) => {
          if (to.endsWith("2")) throw new Error("thrown")
          return to.endsWith("5") ? Effect.die("died") : accepted
        },
        9,
        2
      )
      expect(outcomes.map(({ _tag }) => _tag)).toEqual(
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => (index === 2 || index === 5 ? "Unknown" : "Accepted"))
      )
    })
  )

  it.effect(
    "know from a refusal that a message was not sent only where no attempt before it may have arrived",
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
            const { recipients, ...rest } = job(1)
            const claimed: DispatchedJob = {
              ...rest,
              recipients: recipients.map((each) => ({ ...each, maybeSent: uncertain }))
            }
            outcomes.push(...(yield* run([attemptsOf({ send: () => rejected, ...some }, claimed)], 1)))
          }
        const failed = { _tag: "Failed", failure }
        const unknown = { _tag: "Unknown", failure: { code: "outcome_unknown", provider_code: "7" } }
        expect(outcomes).toMatchObject([failed, failed, failed, failed, unknown, failed, failed, failed])
      })
  )

  it.effect("settle each of them, whatever a sender without types answers", () =>
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
      const outcomes = yield* batchOf(
        ({ to }) => Effect.sync(() => JSON.parse(answers[Number(to.slice(-1))] ?? "{}")),
        answers.length,
        2
      )
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

  it.effect("have as many under way as they may, and no more, until the last", () =>
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
      yield* batchOf(() => send, 50, 4)
      expect([most, ended]).toEqual([4, 50])
    })
  )

  it.effect("share what may be under way with the jobs beside it", () =>
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
      const outcomes = yield* run(
        Array.from({ length: 20 }, () => attemptsOf({ send }, job(2))),
        5
      )
      expect(most).toBeLessThanOrEqual(5)
      expect(outcomes.map(({ _tag }) => _tag)).toEqual(Array.from({ length: 40 }, () => "Accepted"))
    })
  )

  it.effect("tell why a sender broke in the log, without what is secret in the session's configuration", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
      const attempts = Attempt.prepareAttempts(
        {
          ...line({
            send: () => {
              throw new TypeError("There is no header for Bearer abcdef-123456", { cause: new Error("Why.") })
            }
          }),
          config: { token: "abcdef-123456" }
        },
        job(1),
        circuit,
        () => true,
        noRefusals
      )
      const outcomes = yield* Effect.provide(run([attempts], 1), Logger.replace(Logger.defaultLogger, logger))
      expect(outcomes).toHaveLength(1)
      expect(lines.join("\n")).toContain("TypeError: There is no header for Bearer [hidden]")
      expect(lines.join("\n")).toContain("Why.")
      expect(lines.join("\n")).not.toContain("abcdef")
    })
  )
})
