/** A session whose attempts all end with one failure stops, by whichever way it comes (contract.md §13). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Sender from "../../src/sender/Sender.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RefusingPlatform from "./RefusingPlatform.ts"

const phones = Array.from({ length: 60 }, (_, n) => `346000012${String(n).padStart(2, "0")}`)
const failure = {
  code: "gateway_refused",
  provider_code: "no_credit",
  message: "No credit.",
  permanent: true
}

const ways = [
  "answers",
  "receipts",
  "receipts behind those of the send",
  "receipts, and then answers"
] as const
type Way = (typeof ways)[number]

/** A gateway that refuses all until it is mended, in its answers or by receipts. */
const given = <E>(stores: Layer.Layer<Stores, E>, way: Way) =>
  Effect.gen(function* () {
    let sent = 0
    let isMended = false
    const given = yield* RefusingPlatform.job(stores, phones, ({ reports }) => ({
      send: ({ messageId }) =>
        Effect.sync(() => {
          sent += 1
          if (isMended) return Sender.accepted(`p${sent}`, "accepted")
          if (way === "answers" || (way === "receipts, and then answers" && sent > 6))
            return Sender.SendResult.Rejected({ failure })
          const report = { messageId, providerId: `p${sent}`, at: Time.at(0), failure: null }
          if (way === "receipts behind those of the send") reports.push({ ...report, status: "sent" })
          reports.push({ messageId, providerId: `p${sent}`, status: "failed", at: Time.at(0), failure })
          return Sender.accepted(`p${sent}`, "accepted")
        })
    }))
    const { caller, engine, hookOf } = given
    const pass = (seconds: number, by = engine) =>
      Effect.repeatN(Effect.all([by.drain, hookOf(by), TestClock.adjust("1 second")]), seconds - 1)
    const mend = (is = true) =>
      Effect.sync(() => {
        isMended = is
      })
    const direct = (to: string) =>
      engine.sendDirect(caller, { idempotencyKey: undefined, request: { to, message: "Hello" } })
    return { ...given, direct, mend, pass, sent: () => sent }
  })

describe.each([
  ["memory", () => Memory.layer],
  ["SQLite", () => Sqlite.layer({ filename: ":memory:" })]
] as const)("on %s", (_, stores) => {
  it.effect.each(ways)(
    "ten of one failure by %s stop the session; it probes by itself, and goes on once that is mended",
    (way) =>
      Effect.gen(function* () {
        const { engine, id, job, mend, pass, sent } = yield* given(stores(), way)
        yield* pass(30)
        expect(sent()).toBeLessThanOrEqual(12)
        expect(yield* engine.admin.sessions.find(id)).toMatchObject({
          state: "connected",
          blockReason: "same_failure",
          blockCode: "gateway_refused"
        })
        expect(yield* job).toMatchObject({ status: "paused", pauseReason: "same_failure" })
        const before = sent()
        yield* pass(60)
        expect(sent() - before).toBe(1)
        expect(yield* job).toMatchObject({ pauseReason: "same_failure" })
        yield* mend()
        yield* engine.admin.sessions.change(id, { blockedUntil: null })
        yield* pass(60)
        expect(sent()).toBe(phones.length)
      }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.effect.each(["answers", "receipts"] as const)(
    "another process goes on counting what ended by %s",
    (way) =>
      Effect.gen(function* () {
        const { engine, id, pass, sent, start } = yield* given(stores(), way)
        yield* pass(5)
        const other = yield* start
        yield* pass(20, other)
        expect(sent()).toBeLessThanOrEqual(12)
        expect(yield* engine.admin.sessions.find(id)).toMatchObject({ blockReason: "same_failure" })
      }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.effect("a success in another process ends the count", () =>
    Effect.gen(function* () {
      const { engine, id, mend, pass, sent, start } = yield* given(stores(), "answers")
      yield* pass(9)
      const other = yield* start
      yield* mend()
      yield* pass(1, other)
      yield* mend(false)
      yield* pass(8)
      expect(sent()).toBeGreaterThan(14)
      expect(yield* engine.admin.sessions.find(id)).toMatchObject({ blockReason: null })
    }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.effect("direct messages count, and are refused then", () =>
    Effect.gen(function* () {
      const { direct, engine, id, sent } = yield* given(stores(), "answers")
      for (const phone of phones.slice(0, 10))
        expect(yield* Effect.flip(direct(phone))).toMatchObject({ failure: { code: "gateway_refused" } })
      expect(yield* engine.admin.sessions.find(id)).toMatchObject({ blockReason: "same_failure" })
      const before = sent()
      yield* Effect.flip(direct("34600001299"))
      expect(sent()).toBe(before)
    }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
  )
})
