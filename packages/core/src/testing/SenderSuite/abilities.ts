/** What a sender says that it can, it can: the engine relies on it. */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Time from "../../domain/Instant.ts"
import type { OutboundMessage } from "../../sender/Sender.ts"
import type { Make, Opened } from "./Setup.ts"
import { soon, test } from "./Setup.ts"

const repeatable = (opened: Opened): void => {
  if (!opened.sender.deduplicates) opened.skip("The sender says that a repetition is sent twice.")
}

/** Asks the platform whether it has a message. */
const lookUp = (opened: Opened) => {
  const ask = opened.able("lookUp", opened.sender.lookUp)
  return (message: OutboundMessage) =>
    Effect.map(
      Effect.suspend(() => ask(message)),
      (found) => (found === null ? null : opened.judged(found))
    )
}

export const suite = (make: Make): void => {
  describe("a sender that deduplicates", () => {
    test(make, "sends once what it is given again after a lost answer", (opened) =>
      Effect.gen(function* () {
        repeatable(opened)
        const message = opened.given(opened.platform.situations.resets)(opened.message())
        expect((yield* opened.send(message))._tag).toBe("Ambiguous")
        const again = opened.platform.situations.accepts({ ...message, attempt: 2 })
        yield* TestClock.adjust("1 minute")
        expect((yield* opened.send(again))._tag).toBe("Accepted")
        expect(opened.taken(message)).toHaveLength(1)
      })
    )

    test(make, "sends once what it is given twice at once, and nothing else twice", (opened) =>
      Effect.gen(function* () {
        repeatable(opened)
        const message = opened.platform.situations.accepts(opened.message())
        const other = opened.platform.situations.accepts({ ...opened.message(), to: message.to })
        const given = [message, message, other]
        const results = yield* Effect.forEach(given, opened.send, { concurrency: "unbounded" })
        expect(results.map(({ _tag }) => _tag)).toEqual(["Accepted", "Accepted", "Accepted"])
        expect(results[0]).toEqual(results[1])
        expect([opened.taken(message).length, opened.taken(other).length]).toEqual([1, 1])
      })
    )
  })

  describe("a sender that looks up", () => {
    test(make, "finds what the platform took, under its id of it", (opened) =>
      Effect.gen(function* () {
        const ask = lookUp(opened)
        const message = opened.platform.situations.accepts(opened.message())
        const sent = yield* opened.send(message)
        expect(sent._tag).toBe("Accepted")
        const found = yield* ask(message)
        expect(found).toMatchObject({ _tag: "Accepted", providerId: Reflect.get(sent, "providerId") })
      })
    )

    test(make, "finds what the platform took although its answer was lost", (opened) =>
      Effect.gen(function* () {
        const ask = lookUp(opened)
        const message = opened.given(opened.platform.situations.resets)(opened.message())
        expect((yield* opened.send(message))._tag).toBe("Ambiguous")
        const found = yield* ask(opened.platform.situations.accepts(message))
        expect(found?._tag).toBe("Accepted")
      })
    )

    test(make, "finds nothing of what was never sent or was refused, whoever else has a message", (opened) =>
      Effect.gen(function* () {
        const ask = lookUp(opened)
        const other = opened.platform.situations.accepts(opened.message())
        yield* opened.send(other)
        expect(yield* ask({ ...opened.message(), to: other.to })).toBeNull()
        const refused = opened.given(opened.platform.situations.refuses)(opened.message())
        yield* opened.send(refused)
        expect(yield* ask(opened.platform.situations.accepts(refused))).toBeNull()
      })
    )

    test(make, "cannot tell when the platform is not reached or answers an error page", (opened) =>
      Effect.gen(function* () {
        const ask = lookUp(opened)
        const config = opened.kept(opened.given(opened.platform.unreachable))
        expect((yield* ask(opened.message({ config })))?._tag).toBe("Ambiguous")
        const failed = opened.given(opened.platform.situations.fails)(opened.message())
        expect((yield* ask(failed))?._tag).toBe("Ambiguous")
      })
    )

    test(make, "cannot tell when the answer does not come, and lets go of its connection", (opened) =>
      Effect.gen(function* () {
        const ask = lookUp(opened)
        const { arrived, message, released } = opened.given(opened.platform.situations.hangs)(
          opened.message()
        )
        const asking = yield* Effect.fork(ask(message))
        yield* soon(arrived, "The request did not arrive.")
        yield* TestClock.adjust("1 hour")
        expect((yield* Fiber.join(asking))?._tag).toBe("Ambiguous")
        yield* soon(released, "The connection is still held after the time-out.")
      })
    )
  })

  describe("a sender that checks", () => {
    test(make, "finds nothing wrong with a session that the platform knows", (opened) =>
      Effect.gen(function* () {
        const check = opened.able("check", opened.sender.check)
        expect(yield* check(opened.config)).toBeNull()
      })
    )

    test(make, "says what is wrong when the platform does not know the session or is not reached", (opened) =>
      Effect.gen(function* () {
        const check = opened.able("check", opened.sender.check)
        const wrong = yield* check(opened.foreign())
        expect(wrong, "the credentials are another's").not.toBeNull()
        const away = yield* check(opened.kept(opened.given(opened.platform.unreachable)))
        expect(away, "the platform is not reached").not.toBeNull()
        for (const failure of [wrong, away]) if (failure !== null) opened.told(failure)
      })
    )
  })

  describe("a sender that has the platform's templates", () => {
    test(make, "has all of them over all pages", (opened) =>
      Effect.gen(function* () {
        const templates = opened.able("templates", opened.sender.templates)
        const { nameOf, names } = opened.beside("templates", opened.platform.templates)
        const found = yield* templates(opened.config)
        expect(found.map(nameOf)).toEqual(names)
      })
    )

    test(make, "says why it has none, instead of an empty list", (opened) =>
      Effect.gen(function* () {
        const templates = opened.able("templates", opened.sender.templates)
        const away = opened.kept(opened.given(opened.platform.unreachable))
        for (const config of [opened.foreign(), away]) {
          const refusal = yield* Effect.flip(templates(config))
          opened.told(refusal.failure)
        }
      })
    )
  })

  describe("a sender that is asked for news", () => {
    test(make, "tells of a message by its id, not before the time, and once", (opened) =>
      Effect.gen(function* () {
        const poll = opened.able("poll", opened.sender.poll)
        const message = opened.beside("reports", opened.platform.reports)(opened.message())
        expect(yield* poll(Time.at(0))).toMatchObject({ reports: [], messages: [] })
        const sent = yield* opened.send(message)
        expect(sent._tag).toBe("Accepted")
        const [early, late] = [yield* poll(Time.at(0)), yield* poll(Time.at(Time.day))]
        const reports = [...early.reports, ...late.reports]
        expect(reports.length, "a report within a day").toBeGreaterThan(0)
        for (const { at } of early.reports) expect(at).toBeLessThanOrEqual(0)
        if (late.reports.length > 0) expect(early.nextAt, "when to ask again").toBe(late.reports[0]?.at)
        for (const { messageId, providerId } of reports) {
          expect(messageId !== null || providerId !== null, "a report names its message").toBe(true)
          if (messageId !== null) expect(messageId).toBe(message.messageId)
          if (providerId !== null) expect(providerId).toBe(Reflect.get(sent, "providerId"))
        }
        expect(yield* poll(Time.at(Time.day))).toMatchObject({ reports: [], nextAt: null })
      })
    )
  })
}
