/** One at a time, in the order in which they came; who waits can be interrupted. */
import * as Effect from "effect/Effect"
import { constVoid } from "effect/Function"

export interface Lock {
  readonly isFree: () => boolean
  /** `onGranted` is called when the turn comes; not when the ticket is granted at once. */
  readonly join: (onGranted: () => void) => Ticket
  readonly release: () => void
  /** Gives up a place in the queue, or the lock itself when it was granted meanwhile. */
  readonly withdraw: (ticket: Ticket) => void
}

export interface Ticket {
  granted: boolean
  readonly onGranted: () => void
}

/** First come, first served: a released lock goes to the one who waited longest, never to whoever asks first. */
export const make = (): Lock => {
  const waiting = new Set<Ticket>()
  let locked = false
  const release = (): void => {
    const [next] = waiting
    locked = next !== undefined
    if (next === undefined) return
    waiting.delete(next)
    next.granted = true
    next.onGranted()
  }
  return {
    isFree: () => !locked,
    join: (onGranted) => {
      const ticket: Ticket = { granted: !locked, onGranted }
      if (locked) waiting.add(ticket)
      locked = true
      return ticket
    },
    release,
    withdraw: (ticket) => {
      if (!waiting.delete(ticket)) release()
    }
  }
}

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Waits for the lock; for use in an uninterruptible region whose mask is `restore`. An interrupt that comes
 * between the grant and the resumption of the fiber gives the lock back, hence the handler outside `restore`.
 */
export const acquire = (lock: Lock, restore: Restore): Effect.Effect<void> =>
  Effect.suspend(() => {
    let onGranted = constVoid
    const ticket = lock.join(() => onGranted())
    if (ticket.granted) return Effect.void
    const granted = Effect.async<void>((resume) => {
      onGranted = () => resume(Effect.void)
      if (ticket.granted) onGranted()
    })
    return Effect.onError(restore(granted), () => Effect.sync(() => lock.withdraw(ticket)))
  })

export const under = <A, E, R>(lock: Lock, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(acquire(lock, restore), Effect.ensuring(restore(effect), Effect.sync(lock.release)))
  )
