/**
 * Work on many things at once, by fibers that stay: to begin a fiber for each, with what it takes to see it end, costs
 * several times what one costs that is done with one thing and waits for the next.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

export interface FiberPool<A> {
  /** It is begun as soon as the caller waits for something, beside all that is under way. */
  readonly submit: (item: A) => void
  /** Returns when nothing is under way. */
  readonly awaitIdle: Effect.Effect<void>
}

/**
 * What is under way when the scope ends is interrupted.
 *
 * @param broken is done where `work` dies; the next thing is not affected
 */
export const make = <A>(
  work: (item: A) => Effect.Effect<void>,
  broken: (item: A, cause: Cause.Cause<never>) => Effect.Effect<void>
): Effect.Effect<FiberPool<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never, void>()
    const idle = yield* Effect.makeLatch(true)
    /** Of the fibers that wait. */
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
        // Whoever made us may have been uninterruptible.
        else fork(Effect.interruptible(runItems(item)), { immediate: false })
      },
      awaitIdle: idle.await
    }
  })
