/** What free text is refused for before its platform is asked, and what the platform's refusal closes (contract.md §14). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { embedded, platform, wroteTo } from "../worker/Support.ts"

const to = "34600000021"
const closed = {
  code: "window_closed",
  provider_code: "131047",
  message: "More than 24 hours have passed.",
  permanent: true
}

const harness = (hasWindow: boolean) => {
  let refuses = false
  const { sender, sent } = platform({}, () =>
    Effect.sync(() =>
      refuses
        ? SendResult.Rejected({ failure: closed })
        : SendResult.Accepted({ providerId: `p${sent.length}`, status: "accepted" })
    )
  )
  const layer = Layer.provideMerge(embedded({ ...sender, hasWindow }), Memory.layer)
  const ready = Effect.gen(function* () {
    yield* TestClock.setTime(20 * Time.day)
    const engine = yield* Engine.Engine
    const { accountId, caller } = yield* prepare(engine, [to])
    const wrote = wroteTo(accountId, caller.session.id, to)
    const send = engine.sendDirect(caller, { idempotencyKey: undefined, request: { to, message: "Hi" } })
    /** The window as it is told, and as a text into it ends. */
    const [told, goes] = [
      Effect.map(engine.window(caller, to), ({ certain, open }) => ({ certain, open })),
      Effect.match(send, { onFailure: ({ _tag }) => _tag, onSuccess: () => "sent" })
    ]
    const isOpen = Effect.map(engine.window(caller, to), ({ open }) => open)
    const answers = (no: boolean) => {
      refuses = no
    }
    return { accountId, answers, caller, engine, goes, isOpen, send, told, wrote }
  })
  return { layer, ready, sent }
}

describe("a direct message into a window", () => {
  const { layer, ready, sent } = harness(true)
  it.effect(
    "that is certainly closed is refused unasked; the platform's refusal closes one, and a word opens it",
    () =>
      Effect.gen(function* () {
        const { answers, engine, isOpen, send, wrote } = yield* ready
        const refused = Effect.map(Effect.flip(send), ({ _tag }) => _tag)
        answers(true)
        expect(yield* refused).toBe("SendFailed")
        expect(yield* refused).toBe("WindowClosed")
        expect(sent).toHaveLength(1)
        // What they said before it opens nothing, however late it comes.
        yield* wrote(Time.hour)
        expect([yield* isOpen, yield* refused]).toEqual([false, "WindowClosed"])
        answers(false)
        yield* TestClock.adjust("5 seconds")
        yield* wrote(0)
        expect(yield* isOpen).toBe(true)
        yield* TestClock.adjust("5 seconds")
        const { messageId } = yield* send
        expect(sent).toHaveLength(2)
        const at = yield* Time.now
        yield* engine.receive([{ messageId, status: "failed", at, failure: closed, providerId: null }])
        expect([yield* isOpen, yield* refused]).toEqual([false, "WindowClosed"])
        yield* TestClock.adjust("5 seconds")
        yield* wrote(0)
        yield* TestClock.adjust("23 hours")
        yield* send
        yield* TestClock.adjust("1 hour")
        expect(yield* refused).toBe("WindowClosed")
        expect(sent).toHaveLength(3)
      }).pipe(Effect.provide(layer))
  )

  const without = harness(false)
  it.effect("is asked for where the platform has none", () =>
    Effect.gen(function* () {
      const { send, wrote } = yield* without.ready
      yield* wrote(0)
      yield* TestClock.adjust("2 days")
      yield* send
      expect(without.sent).toHaveLength(1)
    }).pipe(Effect.provide(without.layer))
  )

  it.effect("is told over the person's names, and of nobody who is not named", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* without.ready
      for (const name of ["+34600000021", "somebody", "XX.1"])
        expect(yield* Effect.flip(engine.window(caller, name))).toMatchObject({ _tag: "InvalidRequest" })
      expect(yield* engine.window(caller, "ES.1")).toEqual({
        open: false,
        until: null,
        freeUntil: null,
        certain: false
      })
    }).pipe(Effect.provide(without.layer))
  )

  const unknown = harness(true)
  const free = harness(true)
  it.effect("that is told to be certainly closed is refused, and every other is left to the platform", () =>
    Effect.gen(function* () {
      for (const [{ layer, ready }, isReferred] of [
        [unknown, null],
        [free, true],
        [without, false]
      ] as const)
        yield* Effect.gen(function* () {
          const { accountId, caller, goes, told } = yield* ready
          const wrote = wroteTo(accountId, caller.session.id, isReferred === null ? "34600000022" : to)
          yield* wrote(30 * Time.hour, isReferred === true)
          expect([yield* told, yield* goes]).toEqual([{ certain: false, open: false }, "sent"])
          yield* TestClock.adjust("2 days")
          const isRefused = isReferred === true
          expect([yield* told, yield* goes]).toEqual([
            { certain: isRefused, open: false },
            isRefused ? "WindowClosed" : "sent"
          ])
        }).pipe(Effect.provide(layer))
    })
  )
})
