import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Deadlines from "../../src/runtime/Deadlines.ts"

describe("deadlines", () => {
  it.scoped("end each at its own time, in every order of lengths, and not what was done before", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const ended: Array<string> = []
      const end = (name: string) => () => ended.push(name)
      deadlines(1000, end("long"))
      deadlines(100, end("short"))
      const lift = deadlines(100, end("done"))
      yield* TestClock.adjust(50)
      deadlines(100, end("later"))
      lift()
      yield* TestClock.adjust(49)
      expect(ended).toEqual([])
      yield* TestClock.adjust(1)
      expect(ended).toEqual(["short"])
      yield* TestClock.adjust(50)
      expect(ended).toEqual(["short", "later"])
      yield* TestClock.adjust(850)
      expect(ended).toEqual(["short", "later", "long"])
      // The line had run empty.
      deadlines(100, end("again"))
      yield* TestClock.adjust(100)
      expect(ended.at(-1)).toBe("again")
    })
  )
})
