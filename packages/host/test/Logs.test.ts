/** One event is one line of the log, or one with indented ones below it, whatever its text is. */
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import type { Format } from "../src/Logs.ts"
import * as Logs from "../src/Logs.ts"

const formats: ReadonlyArray<Format> = ["pretty", "json"]

/** What a program writes, event by event. */
const written = (format: Format, program: Effect.Effect<void>): ReadonlyArray<string> => {
  const events: Array<string> = []
  const logger = Logger.map(Logs.line(format), (text) => void events.push(text))
  Effect.runSync(
    program.pipe(
      Logger.withMinimumLogLevel(LogLevel.All),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
  )
  return events
}

/** Everything that an event may carry text in. */
const carrying = (text: string): Effect.Effect<void> => {
  const error = new Error(text, { cause: new TypeError(text) })
  error.name = text
  error.stack = `${error.name}: ${text}\n    at somewhere`
  return Effect.logError(text, { text }, error, Cause.die(error)).pipe(
    Effect.annotateLogs({ text, [text === "" ? "empty" : text]: error }),
    Effect.withLogSpan(text)
  )
}

/** What ends a line somewhere, moves a terminal's cursor, or turns text around. */
const harmful = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u

const hostile = [
  "a\nb",
  "\r\n[2026-01-01T00:00:00.000Z] ERROR (#1): forged",
  '{"level":"INFO"}\n{"message":"forged"}',
  "\u001b[2K\u001b[1Aforged\u009b2J",
  "a\u2028b\u2029c\u0085d\u000be\fg\0h\u007f",
  "\u202eforged\u2066\u200f\u061c",
  "\ud800 %s %d %j",
  "    at forged (file:1:1)"
]

const text = FastCheck.oneof(
  FastCheck.constantFrom(...hostile),
  FastCheck.fullUnicodeString(),
  FastCheck.string16bits({ maxLength: 20 })
)

describe.each(formats)("an event of the %s log", (format) => {
  it("is one line, and no other looks like its first", () => {
    FastCheck.assert(
      FastCheck.property(text, (text) => {
        const events = written(format, carrying(text))
        expect(events).toHaveLength(1)
        const [first = "", ...rest] = (events[0] ?? "").split("\n")
        expect([first, ...rest].filter((line) => harmful.test(line))).toEqual([])
        expect(rest.filter((line) => !line.startsWith("    "))).toEqual([])
        if (format === "json") {
          expect(rest).toEqual([])
          expect(JSON.parse(first)).toMatchObject({ logLevel: "ERROR" })
        } else {
          expect(first).toMatch(/^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] ERROR \(#\d+\): /)
        }
      }),
      { numRuns: 100, examples: hostile.map((each): [string] => [each]) }
    )
  })

  it("has phone numbers by their last four digits, and ids, times and codes whole", () => {
    const whole = [
      "01934567-8901-7123-8456-123456789012",
      "2026-01-01T00:00:00.000Z",
      "131026",
      "2494073",
      "0.12345678",
      "wamid.HBgLMzQ2MDAwMDEyMzQVAgAR12345678901"
    ]
    for (const each of whole) expect(written(format, Effect.logInfo(each)).join()).toContain(each)
    const numbers = ["34600001234", "+34600001234", "+34 600 001-234", "+1 (555) 123-1234"]
    for (const number of numbers) {
      const said = `(#131030) Recipient ${number}, not in the list.`
      const program = Effect.annotateLogs(Effect.logError(said, new Error(said), { said }), { said })
      const lines = written(format, program).join()
      expect(lines, number).not.toContain(number)
      expect(lines).toContain("Recipient …1234, not in the list.")
    }
    if (format === "json") {
      const program = Effect.annotateLogs(Effect.logInfo("At"), { ms: 123_456_789_012 })
      expect(JSON.parse(written(format, program).join())).toMatchObject({
        annotations: { ms: 123_456_789_012 }
      })
    }
  })

  it("tells an error by its stack and causes, and not what a driver put beside them", () => {
    const error = Object.assign(new Error("duplicate key", { cause: new Error("the reason") }), {
      detail: "Key (phone)=(a-row-of-somebody) already exists.",
      parameters: ["a-row-of-somebody"]
    })
    const programs = [
      Effect.logError("Broken", error),
      Effect.logError("Broken", Cause.die(error)),
      Effect.annotateLogs(Effect.logError("Broken"), { error })
    ]
    for (const program of programs) {
      const lines = written(format, program).join("\n")
      expect(lines).toContain("duplicate key")
      expect(lines).toContain("the reason")
      expect(lines).toContain("Logs.test.ts")
      expect(lines).not.toContain("a-row-of-somebody")
    }
  })

  it("tells nothing that is redacted", () => {
    const secret = Redacted.make("a-secret")
    const lines = written(format, Effect.annotateLogs(Effect.logInfo("At", secret, { secret }), { secret }))
    expect(lines.join()).not.toContain("a-secret")
  })
})
