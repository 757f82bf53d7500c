/** Core's effects as promises. */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"

/** @typeParam R services that `runWith` may ask for */
export interface Running<R = never> {
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly runWith: <A, E>(effect: Effect.Effect<A, E, R>) => Promise<A>
  /** For effects that never wait. */
  readonly runSync: <A, E>(effect: Effect.Effect<A, E>) => A
  /** All items of a list, page by page, as they are asked for. */
  readonly pages: <A, E>(
    page: (page: Page) => Effect.Effect<Paged<A>, E>,
    limit?: number
  ) => AsyncGenerator<A, void>
}

export interface Page {
  readonly limit: number
  readonly after: number | null
}

export interface Paged<A> {
  readonly items: ReadonlyArray<A>
  readonly next: number | null
}

const settled = <A>(exit: Exit.Exit<A, unknown>): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw Failures.ofCore(Cause.squash(exit.cause))
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

export const make = <R>(runtime: () => ManagedRuntime.ManagedRuntime<R, unknown>): Running<R> => {
  const run: Running<R>["runWith"] = async (effect) => settled(await runtime().runPromiseExit(effect))
  return {
    run,
    runWith: run,
    runSync: (effect) => settledAtOnce(runtime().runSyncExit(effect)),
    pages: async function* <A, E>(page: (page: Page) => Effect.Effect<Paged<A>, E>, limit = itemsOfPage) {
      let after: number | null = null
      do {
        const { items, next }: Paged<A> = await run(page({ limit, after }))
        yield* items
        after = next
      } while (after !== null)
    }
  }
}
