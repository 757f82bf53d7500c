/** Core's effects as promises. */
import { Timers } from "@sendwright/core/adapter"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import { SendwrightError } from "../api/SendwrightError.ts"
import type { Alive, Release } from "./Alive.ts"
import * as Failures from "./Failures.ts"

/** @typeParam R services that `runWith` may ask for */
export interface Running<R = never> {
  /** Keeps the process from ending until it is called back. */
  readonly hold: () => Release
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly runWith: <A, E>(effect: Effect.Effect<A, E, R>) => Promise<A>
  /** For effects that never wait. */
  readonly runSync: <A, E>(effect: Effect.Effect<A, E>) => A
  /** All items of a list, page by page, as they are asked for. */
  readonly pages: <A, E>(
    page: (page: Page) => Effect.Effect<Paged<A>, E>,
    limit?: number
  ) => AsyncGenerator<A, void>
  /** Refuses every call from here on, and interrupts those that take longer. All are over, for their callers, when this is. */
  readonly end: (patienceMs: number) => Promise<void>
}

export interface Page {
  readonly limit: number
  readonly after: number | null
}

export interface Paged<A> {
  readonly items: ReadonlyArray<A>
  readonly next: number | null
}

export const stopped = (): SendwrightError =>
  new SendwrightError("unavailable", "This Sendwright was stopped.")

const settled = <A>(exit: Exit.Exit<A, unknown>): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.isInterruptedOnly(exit.cause) ? stopped() : Failures.ofCore(Cause.squash(exit.cause))
}

/** What has to wait is given up: it would go on by itself once the caller's transaction is over. */
const settledAtOnce = <A>(exit: Exit.Exit<A, unknown>): A => {
  const cause = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  if (!Runtime.isAsyncFiberException(cause)) return settled(exit)
  cause.fiber.unsafeInterruptAsFork(FiberId.none)
  throw new SendwrightError(
    "transaction_unsupported",
    "A synchronous send cannot wait, and this one has to. Use `send` in a transaction that may wait."
  )
}

const itemsOfPage = 100

/** So long a call that was interrupted may take to store what it knows. */
const tidyingMs = 250

/** A call under way, and how its caller is told that it is over. */
type Calls = Map<Fiber.RuntimeFiber<unknown, unknown>, (error: SendwrightError) => void>

/** By the clock of the machine: that of a test may stand still. */
export const onMachine = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.withScheduler(Effect.withClock(effect, Timers.clock), Timers.scheduler))

const atMost = (ms: number, step: Promise<unknown>): Promise<unknown> =>
  onMachine(
    Effect.raceFirst(
      Effect.promise(() => step),
      Effect.sleep(ms)
    )
  )

export const make = <R>(
  runtime: ManagedRuntime.ManagedRuntime<R, unknown>,
  alive: Pick<Alive, "hold">
): Running<R> => {
  const calls: Calls = new Map()
  let isOver = false
  const open = (): ManagedRuntime.ManagedRuntime<R, unknown> => {
    if (isOver) throw stopped()
    return runtime
  }
  const run: Running<R>["runWith"] = async <A, E>(effect: Effect.Effect<A, E, R>) => {
    const fiber = open().runFork(effect)
    const release = alive.hold()
    const exit = await new Promise<Exit.Exit<A, unknown>>((resolve, reject) => {
      calls.set(fiber, reject)
      fiber.addObserver((ended) => {
        calls.delete(fiber)
        resolve(ended)
      })
    }).finally(release)
    return settled(exit)
  }
  const allEnded = () =>
    Promise.all([...calls.keys()].map((fiber) => new Promise((resolve) => fiber.addObserver(resolve))))
  const end = async (patienceMs: number): Promise<void> => {
    isOver = true
    await atMost(patienceMs, allEnded())
    for (const fiber of [...calls.keys()]) fiber.unsafeInterruptAsFork(FiberId.none)
    await atMost(tidyingMs, allEnded())
    for (const reject of calls.values()) reject(stopped())
  }
  return {
    hold: () => alive.hold(),
    run,
    runWith: run,
    runSync: (effect) => settledAtOnce(open().runSyncExit(effect)),
    pages: async function* <A, E>(page: (page: Page) => Effect.Effect<Paged<A>, E>, limit = itemsOfPage) {
      let after: number | null = null
      do {
        const { items, next }: Paged<A> = await run(page({ limit, after }))
        yield* items
        after = next
      } while (after !== null)
    },
    end
  }
}
