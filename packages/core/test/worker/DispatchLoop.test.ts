/** What wakes a loop is never lost, and nothing makes it spin. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/TestClock"
import * as GracePeriod from "../../src/runtime/GracePeriod.ts"
import * as Moment from "../../src/runtime/Moment.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { Verbs } from "../../src/worker/DispatchLoop.ts"
import * as DispatchLoop from "../../src/worker/DispatchLoop.ts"

type Outcome = string

const down = new StorageError({ operation: "exchange", cause: "The connection broke." })

/** A loop over a store and attempts that do as they are told. */
const opened = Effect.fnUntraced(function* (some: Partial<Verbs<Outcome, string>> = {}) {
  const { sends } = yield* Signals
  const clock = yield* Effect.clock
  const did: Array<string> = []
  const given = new Set<string>()
  let since: number | null = null
  let outcomes: Array<Outcome> = []
  let wakeLoop = (): void => {}
  const end = (outcome: Outcome): void => {
    outcomes.push(outcome)
    since ??= Moment.unsafeNow(clock)
    wakeLoop()
  }
  const heartbeat = {
    leaseMs: 15_000,
    register: Effect.succeed("name"),
    deregister: (worker: string) => Effect.sync(() => given.add(worker)),
    giveBack: () => Effect.succeed(0),
    isGivenBack: () => false,
    prove: Effect.succeed(true),
    stillOwns: () => true,
    isHere: () => true,
    dispatch: Effect.void,
    isDispatched: Effect.succeed(true)
  }
  const loop = yield* DispatchLoop.open<Outcome, string>(heartbeat, GracePeriod.make(20_000), (wake) => {
    wakeLoop = wake
    return {
      kind: {
        settleMs: 25,
        idleMs: 1000,
        looksFirst: false,
        plainOf: () => null,
        subjectOf: (outcome) => outcome,
        released: () => []
      },
      signal: sends,
      refresh: () => {},
      facts: () => ({
        hasRoom: true,
        mayBring: "nothing",
        since,
        isIdle: true,
        inUse: new Set<string>()
      }),
      wakeAt: () => null,
      look: Effect.sync(() => {
        did.push("look")
        return null
      }),
      collect: Effect.sync(() => {
        const settlements = outcomes
        outcomes = []
        since = null
        return { settlements, lapsed: false }
      }),
      commit: (settlements, worker) =>
        Effect.gen(function* () {
          did.push(`commit ${settlements.join(" ")}${worker === null ? "" : " claims"}`)
          yield* Effect.sleep(100)
          return { claimed: [], postponed: [], isFull: false }
        }),
      begin: () => Effect.void,
      end: Effect.void,
      giveBack: () => Effect.void,
      nameOf: (outcome) => outcome,
      ...some
    }
  })
  return { did, end, given, loop, notify: sends.notify }
})

const provided = Effect.provide(Signals.layer)

describe("a loop", () => {
  it.effect("claims again for a notice that came while it made a commit", () =>
    Effect.gen(function* () {
      const { did, loop, notify } = yield* opened()
      yield* Effect.fork(Effect.forever(loop.step))
      yield* TestClock.adjust(50)
      yield* notify
      yield* TestClock.adjust(60)
      expect(did).toEqual(["commit  claims", "look", "commit  claims"])
      yield* TestClock.adjust(500)
    }).pipe(provided)
  )

  it.effect("stores an outcome that came while it made a commit, or looked", () =>
    Effect.gen(function* () {
      const { did, end, loop } = yield* opened()
      yield* Effect.fork(Effect.forever(loop.step))
      yield* TestClock.adjust(50)
      end("a")
      yield* TestClock.adjust(60)
      expect(did).toEqual(["commit  claims", "commit a claims"])
      yield* TestClock.adjust(500)
    }).pipe(provided)
  )

  it.effect("looks again when it is time, though an earlier alarm rang in vain", () =>
    Effect.gen(function* () {
      const { did, end, loop } = yield* opened()
      yield* Effect.fork(Effect.forever(loop.step))
      yield* TestClock.adjust(600)
      end("a")
      yield* TestClock.adjust(200)
      did.splice(0)
      yield* TestClock.adjust(999)
      expect(did).toEqual(["look"])
      yield* TestClock.adjust(2000)
      expect(did).toEqual(["look", "look", "look"])
    }).pipe(provided)
  )

  it.effect("fails each step while the store is down, which it asks once in each", () =>
    Effect.gen(function* () {
      let commits = 0
      const { end, loop } = yield* opened({
        commit: () =>
          Effect.suspend(() => {
            commits += 1
            return Effect.fail(down)
          })
      })
      end("a")
      for (let step = 0; step < 20; step += 1)
        expect(Exit.isFailure(yield* Effect.exit(loop.step))).toBe(true)
      expect(commits).toBe(20)
    }).pipe(provided)
  )

  for (const [fault, names] of [
    ["collision", []],
    ["content", []],
    ["unavailable", ["name"]],
    [undefined, ["name"]]
  ] as const)
    it.effect(`gives up its name after a claim that failed only where it may have been made (${fault})`, () =>
      Effect.gen(function* () {
        let fails = true
        const given: Array<string> = []
        const { loop } = yield* opened({
          giveBack: (workers) => Effect.sync(() => void given.push(...workers)),
          commit: () =>
            Effect.suspend(() => {
              if (!fails) return Effect.succeed({ claimed: [], postponed: [], isFull: false })
              fails = false
              return Effect.fail(new StorageError({ operation: "exchange", cause: "failed", fault }))
            })
        })
        yield* Effect.exit(loop.step)
        yield* Effect.fork(Effect.forever(loop.step))
        yield* TestClock.adjust(2000)
        expect(given).toEqual(names)
      }).pipe(provided)
    )

  it.effect("fails each step while a claim fails, though a commit without one does not", () =>
    Effect.gen(function* () {
      let claims = 0
      const { loop } = yield* opened({
        commit: (_, worker) => {
          if (worker === null) return Effect.succeed({ claimed: [], postponed: [], isFull: false })
          claims += 1
          return Effect.fail(down)
        }
      })
      for (const tries of [1, 2, 3, 4]) {
        expect(Exit.isFailure(yield* Effect.exit(loop.step))).toBe(true)
        expect(claims).toBe(tries)
      }
    }).pipe(provided)
  )

  it.effect("that ends right after what it claimed was begun gives back none of it", () =>
    Effect.gen(function* () {
      const kind = { settleMs: 25, idleMs: 1000, looksFirst: false, plainOf: () => null }
      const { did, loop } = yield* opened({
        kind: {
          ...kind,
          subjectOf: (outcome) => outcome,
          released: (claimed) => claimed.map((each) => `${each} released`)
        },
        commit: (settlements, worker) =>
          Effect.sync(() => {
            did.push(`commit ${settlements.join(" ")}`)
            return { claimed: worker === null ? [] : ["a"], postponed: [], isFull: false }
          }),
        begin: (claimed) => Effect.sync(() => void did.push(`begin ${claimed.join(" ")}`))
      })
      yield* loop.step
      yield* loop.close
      expect(did).toEqual(["commit ", "begin a"])
    }).pipe(provided)
  )

  it.effect("ends with its names given up, whatever broke before", () =>
    Effect.gen(function* () {
      const { given, loop } = yield* opened({ look: Effect.die(new TypeError("a bug")) })
      const first = yield* Effect.fork(loop.step)
      yield* TestClock.adjust(200)
      yield* first
      expect(Exit.isFailure(yield* Effect.exit(loop.step))).toBe(true)
      yield* loop.close
      expect([...given]).toEqual(["name"])
    }).pipe(provided)
  )
})
