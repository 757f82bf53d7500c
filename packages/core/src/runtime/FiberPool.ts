/**
 * Runs work on fibers that are reused: starting and observing a fiber for each item costs several times as much as
 * waking one that waits for the next item.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

export interface FiberPool<A> {
  /** Starts the work when the caller next yields, concurrently with other work. */
  readonly submit: (item: A) => void
  /** Returns when no work is in progress. */
  readonly awaitIdle: Effect.Effect<void>
}

/**
 * Work that is in progress when the scope ends is interrupted.
 *
 * @param broken runs when `work` dies; other items are not affected
 */
export const make = <A>(
  work: (item: A) => Effect.Effect<void>,
  broken: (item: A, cause: Cause.Cause<never>) => Effect.Effect<void>
): Effect.Effect<FiberPool<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never, void>()
    const idle = yield* Effect.makeLatch(true)
    /** Resumes fibers that wait for an item. */
    const resumes: Array<(next: Effect.Effect<A>) => void> = []
    let inFlight = 0

    const next = Effect.async<A>((resume) => {
      resumes.push(resume)
      inFlight -= 1
      if (inFlight === 0) idle.unsafeOpen()
    })

    const runItems = (first: A): Effect.Effect<void> => {
      let item = first
      const all: Effect.Effect<void> = Effect.suspend(() =>
        Effect.whileLoop({
          while: () => true,
          body: () => Effect.zipRight(work(item), next),
          step: (given) => {
            item = given
          }
        })
      ).pipe(
        Effect.catchAllCause((cause) =>
          Effect.flatMap(Effect.zipRight(broken(item, cause), next), (given) => {
            item = given
            return all
          })
        )
      )
      return all
    }

    return {
      submit: (item) => {
        inFlight += 1
        idle.unsafeClose()
        const resume = resumes.pop()
        if (resume !== undefined) resume(Effect.succeed(item))
        // The fiber that built this pool may be uninterruptible, and a fork inherits that.
        else fork(Effect.interruptible(runItems(item)), { immediate: false })
      },
      awaitIdle: idle.await
    }
  })
