/** One at a time, in the order in which they came; who waits can be interrupted. */
import * as Effect from "effect/Effect"
import { constVoid } from "effect/Function"

export interface Lock {
  readonly isFree: () => boolean
  /** `wake` is called when the turn comes; not when the ticket is granted at once. */
  readonly join: (wake: () => void) => Ticket
  readonly release: () => void
  /** Gives up a place in the queue, or the lock itself when it was granted meanwhile. */
  readonly leave: (ticket: Ticket) => void
}

export interface Ticket {
  granted: boolean
  readonly wake: () => void
}

/** First come, first served: a released lock goes to the one who waited longest, never to whoever asks first. */
export const make = (): Lock => {
  const waiting = new Set<Ticket>()
  let held = false
  const release = (): void => {
    const [next] = waiting
    held = next !== undefined
    if (next === undefined) return
    waiting.delete(next)
    next.granted = true
    next.wake()
  }
  return {
    isFree: () => !held,
    join: (wake) => {
      const ticket: Ticket = { granted: !held, wake }
      if (held) waiting.add(ticket)
      held = true
      return ticket
    },
    release,
    leave: (ticket) => {
      if (!waiting.delete(ticket)) release()
    }
  }
}

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Waits for the lock; for use in an uninterruptible region whose mask is `restore`. An interrupt that comes
 * between the grant and the resumption of the fiber gives the lock back, hence the handler outside `restore`.
 */
export const take = (lock: Lock, restore: Restore): Effect.Effect<void> =>
  Effect.suspend(() => {
    let wake = constVoid
    const ticket = lock.join(() => wake())
    if (ticket.granted) return Effect.void
    const turn = Effect.async<void>((resume) => {
      wake = () => resume(Effect.void)
      if (ticket.granted) wake()
    })
    return Effect.onError(restore(turn), () => Effect.sync(() => lock.leave(ticket)))
  })

export const under = <A, E, R>(lock: Lock, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(take(lock, restore), Effect.ensuring(restore(effect), Effect.sync(lock.release)))
  )
