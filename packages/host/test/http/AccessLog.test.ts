import { describe, expect, it } from "@effect/vitest"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import { accessLog } from "../../src/Logs.ts"

const answered = { at: 0, method: "GET", route: "/health/live", status: 200, ms: 3, requestId: "r1" }

/** A console that keeps what is written, write by write. */
const listening = Effect.map(Console.consoleWith(Effect.succeed), (console) => {
  const writes: Array<string> = []
  const log = (text: string) => Effect.sync(() => void writes.push(text))
  return { writes, console: { ...console, log } }
})

describe("the access log", () => {
  it.scoped("has one line for each answer, and one write for many", () =>
    Effect.gen(function* () {
      const { console, writes } = yield* listening
      const tell = yield* accessLog({ logFormat: "json", logLevel: LogLevel.Debug }).pipe(
        Effect.withConsole(console)
      )
      tell?.(answered)
      tell?.({ ...answered, requestId: "r2" })
      expect(writes).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(writes).toHaveLength(1)
      const lines = writes.flatMap((text) => text.split("\n")).map((line) => JSON.parse(line))
      const { at: _, ...annotations } = answered
      expect(lines).toMatchObject([
        { message: "Answered", logLevel: "DEBUG", timestamp: "1970-01-01T00:00:00.000Z", annotations },
        { message: "Answered", annotations: { ...annotations, requestId: "r2" } }
      ])
    })
  )

  it.effect("loses nothing at the end", () =>
    Effect.gen(function* () {
      const { console, writes } = yield* listening
      yield* accessLog({ logFormat: "pretty", logLevel: LogLevel.All }).pipe(
        Effect.withConsole(console),
        Effect.map((tell) => tell?.(answered)),
        Effect.scoped
      )
      expect(writes.join()).toContain("requestId=r1")
    })
  )

  it.scoped(
    "has a line for each refusal at info level, with its request id and code, and none for others",
    () =>
      Effect.gen(function* () {
        const { console, writes } = yield* listening
        const tell = yield* accessLog({ logFormat: "json", logLevel: LogLevel.Info }).pipe(
          Effect.withConsole(console)
        )
        tell?.(answered)
        tell?.({ ...answered, status: 403, requestId: "r2", code: "consent_required" })
        yield* TestClock.adjust("1 second")
        expect(writes.flatMap((text) => text.split("\n")).map((line) => JSON.parse(line))).toMatchObject([
          {
            message: "Refused",
            logLevel: "INFO",
            annotations: { requestId: "r2", status: 403, code: "consent_required" }
          }
        ])
      })
  )

  it.scoped("is silent above info level", () =>
    Effect.map(accessLog({ logFormat: "json", logLevel: LogLevel.Warning }), (tell) =>
      expect(tell).toBeUndefined()
    )
  )
})
