/** An answer that is watched: drawn over itself at a terminal, a line each where a program reads. */
import { describe, expect, it } from "@effect/vitest"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Screen from "../../src/cli/Screen.ts"
import type { View } from "../../src/cli/Summary.ts"
import * as Watch from "../../src/cli/Watch.ts"

const view: View = {
  text: (body) => String(body),
  codeOf: () => 0,
  failedCode: 1,
  patience: Duration.seconds(1),
  isWatched: true
}

/** Answers one after the other; `null` stands for none. */
const answering = (...answers: ReadonlyArray<string | null>) => {
  let asked = 0
  return Effect.suspend(() => {
    const answer = answers[asked] ?? null
    asked += 1
    return answer === null ? Effect.fail("The host does not answer.") : Effect.succeed(answer)
  })
}

const caught = () => {
  const lines: Array<string> = []
  const console: Console.Console = Object.assign(Object.create(null), {
    [Console.TypeId]: Console.TypeId,
    log: (line: string) => Effect.sync(() => lines.push(line)),
    error: (line: string) => Effect.sync(() => lines.push(`! ${line}`))
  })
  return { lines, console }
}

const say = (error: string): string => error

describe("what is watched", () => {
  it.effect("is a line every two seconds where no terminal reads it, also after a failure", () =>
    Effect.gen(function* () {
      const { console, lines } = caught()
      const watched = Watch.run(answering("1", "2", null, "4"), view, Screen.none.out, say)
      const fiber = yield* Effect.fork(Console.withConsole(watched, console))
      yield* TestClock.adjust("1 second")
      expect(lines).toEqual(["1"])
      yield* TestClock.adjust("5 seconds")
      expect(lines).toEqual(["1", "2", "! The host does not answer.", "4"])
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect(
    "is drawn over itself on a screen of its own, no longer than that, and gives the shell's back",
    () =>
      Effect.gen(function* () {
        const drawn: Array<string> = []
        const { out } = Screen.make(
          { isTTY: true, columns: 80, rows: 3, write: (text) => drawn.push(text) },
          {},
          undefined
        )
        const fiber = yield* Effect.fork(Watch.run(answering("1\na\nb", "2"), view, out, say))
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.interrupt(fiber)
        const esc = "\u001b["
        expect(drawn).toEqual([
          `${esc}?1049h${esc}?25l`,
          `${esc}H1${esc}K\na${esc}K${esc}J`,
          `${esc}H2${esc}K${esc}J`,
          `${esc}?25h${esc}?1049l`
        ])
      })
  )

  it.effect("shows the last answer below a failure, and ends with the first one", () =>
    Effect.gen(function* () {
      const drawn: Array<string> = []
      const write = (text: string) => drawn.push(text)
      const { out } = Screen.make({ isTTY: true, columns: 80, rows: 24, write }, {}, undefined)
      const fiber = yield* Effect.fork(Watch.run(answering("1", null), view, out, say))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.interrupt(fiber)
      expect(drawn[2]).toContain("The host does not answer. It is asked again.")
      expect(drawn[2]).toContain("1")
      expect(yield* Effect.flip(Watch.run(answering(null), view, out, say))).toBe("The host does not answer.")
      expect(drawn).toHaveLength(4)
    })
  )
})
