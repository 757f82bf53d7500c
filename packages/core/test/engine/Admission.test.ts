import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Admission from "../../src/engine/Admission.ts"

describe("admission", () => {
  it.effect(
    "refuses who comes over the backlog, with a time to come again, and takes others once it is gone",
    () =>
      Effect.gen(function* () {
        const { admit } = Admission.make()
        const committed = yield* Deferred.make<string>()
        let begun = 0
        const accept = Effect.suspend(() => {
          begun += 1
          return Deferred.await(committed)
        })
        const waiting = yield* Effect.fork(
          Effect.replicateEffect(admit(accept), Admission.mostWaiting, { concurrency: "unbounded" })
        )
        yield* Effect.repeat(Effect.yieldNow(), { while: () => begun < Admission.mostWaiting })
        const refused = yield* Effect.flip(admit(Effect.dieMessage("was accepted")))
        expect(refused).toMatchObject({ _tag: "Overloaded", retryAfterMs: 1000 })
        yield* Deferred.succeed(committed, "committed")
        expect(new Set(yield* Fiber.join(waiting))).toEqual(new Set(["committed"]))
        expect(yield* admit(Effect.succeed("committed"))).toBe("committed")
      })
  )

  it.effect("counts nobody who failed, broke or was interrupted", () =>
    Effect.gen(function* () {
      const { admit } = Admission.make()
      for (let time = 0; time < Admission.mostWaiting; time++) {
        yield* Effect.exit(admit(Effect.fail("no")))
        yield* Effect.exit(admit(Effect.die("broken")))
        yield* Effect.exit(admit(Effect.interrupt))
      }
      expect(yield* admit(Effect.succeed(1))).toBe(1)
    })
  )
})
