/** contract.md §11, "A store that was restored": what its operator is told. */

import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../src/domain/Instant.ts"
import * as Restore from "../../src/engine/admin/Restore.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import { RestoreStore } from "../../src/storage/RestoreStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"

it.effect("of two operators who open a store differently at once, the second is told what was begun", () =>
  Effect.gen(function* () {
    const store = yield* RestoreStore
    const { decide } = yield* Restore.make
    yield* decide({ quarantine: true })
    yield* store.open({ way: "unknown", now: Time.at(1) })
    expect(yield* Effect.flip(decide({ open: "send" }))).toMatchObject({
      _tag: "InvalidRequest",
      faults: [{ path: ["open"], message: expect.stringContaining("opened with `unknown`") }]
    })
    expect(yield* decide({ open: "unknown" })).toMatchObject({ isQuarantined: false })
  }).pipe(Effect.provide(Layer.mergeAll(Memory.layer, Signals.layer)))
)

it.effect("an operator who decides when another has ended the hold is told that nothing was done", () =>
  Effect.gen(function* () {
    const store = yield* RestoreStore
    const { decide } = yield* Effect.provideService(Restore.make, RestoreStore, {
      ...store,
      open: (command) =>
        Effect.zipRight(
          Effect.all([store.open({ ...command, way: "cancel" }), store.end]),
          store.open(command)
        )
    })
    yield* decide({ quarantine: true })
    expect(yield* decide({ open: "send" })).toMatchObject({ isQuarantined: false, quarantine: null })
  }).pipe(Effect.provide(Layer.mergeAll(Memory.layer, Signals.layer)))
)

it.effect("an operator who opens a store is told of a hold that has come meanwhile", () =>
  Effect.gen(function* () {
    const store = yield* RestoreStore
    const again = Time.at(1000)
    const foundElsewhere = Effect.zipRight(store.end, store.place({ now: again }))
    const { decide } = yield* Effect.provideService(Restore.make, RestoreStore, {
      ...store,
      end: Effect.zipRight(foundElsewhere, Effect.succeed(null))
    })
    yield* decide({ quarantine: true })
    expect(yield* decide({ open: "unknown" })).toMatchObject({
      isQuarantined: true,
      quarantine: { since: again }
    })
  }).pipe(Effect.provide(Layer.mergeAll(Memory.layer, Signals.layer)))
)
