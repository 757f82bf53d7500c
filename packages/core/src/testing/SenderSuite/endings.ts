/** How an attempt ends that has no answer. */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import type { Make } from "./Setup.ts"
import { soon, test } from "./Setup.ts"

export const suite = (make: Make): void => {
  describe("an attempt without an answer", () => {
    test(make, "times out, is open, and lets go of its connection", (opened) =>
      Effect.gen(function* () {
        const { arrived, message, released } = opened.given(opened.platform.situations.hangs)(
          opened.message()
        )
        const sending = yield* Effect.fork(opened.send(message))
        yield* soon(arrived, "The request did not arrive.")
        yield* TestClock.adjust("1 hour")
        expect((yield* Fiber.join(sending))._tag).toBe("Ambiguous")
        yield* soon(released, "The connection is still held after the time-out.")
      })
    )

    test(make, "ends when it is interrupted, without an outcome, and lets go of its connection", (opened) =>
      Effect.gen(function* () {
        const { arrived, message, released } = opened.given(opened.platform.situations.hangs)(
          opened.message()
        )
        const sending = yield* Effect.fork(Effect.suspend(() => opened.sender.send(message)))
        yield* soon(arrived, "The request did not arrive.")
        const exit = yield* soon(Fiber.interrupt(sending), "The attempt does not end when it is interrupted.")
        expect(Exit.isInterrupted(exit), `ended with ${JSON.stringify(exit)}`).toBe(true)
        yield* soon(released, "The connection is still held after the interruption.")
      })
    )

    test(make, "holds up no other", (opened) =>
      Effect.gen(function* () {
        const hangs = opened.given(opened.platform.situations.hangs)
        const hanging = Array.from({ length: 20 }, () => hangs(opened.message()))
        const fibers = yield* Effect.forEach(hanging, ({ message }) =>
          Effect.fork(opened.sender.send(message))
        )
        yield* Effect.forEach(hanging, ({ arrived }) => soon(arrived, "The request did not arrive."))
        const other = opened.send(opened.platform.situations.accepts(opened.message()))
        expect((yield* soon(other, "It waits for those that hang."))._tag).toBe("Accepted")
        yield* Fiber.interruptAll(fibers)
      })
    )
  })
}
