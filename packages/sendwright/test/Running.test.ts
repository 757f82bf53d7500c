/** What cannot wait is over when it is answered. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { SendwrightError } from "sendwright"
import { expect, it } from "vitest"
import { Alive } from "../src/inside/Alive.ts"
import * as Running from "../src/inside/Running.ts"

it("an operation that has to wait, where nothing may, is refused and does not go on", async () => {
  const runtime = ManagedRuntime.make(Layer.empty)
  await runtime.runtime()
  let went = false
  const waits = Effect.zipRight(
    Effect.promise(() => Promise.resolve()),
    Effect.sync(() => {
      went = true
    })
  )
  let refused: unknown
  try {
    Running.make(runtime, new Alive()).runSync(waits)
  } catch (error) {
    refused = error
  }
  expect(refused).toBeInstanceOf(SendwrightError)
  expect(refused).toMatchObject({ code: "transaction_unsupported" })
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  expect(went).toBe(false)
  await runtime.dispose()
})
