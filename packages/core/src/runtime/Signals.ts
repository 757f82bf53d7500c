/**
 * Tells the loops of this process that there is something to do, right before or after the commit that makes it so.
 * Polling is only the safety net: for what is due later, and for what another process committed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Moment from "./Moment.ts"

export interface Signal {
  /** Wakes one of those who wait, the one that came last: to wake all for one send is to look for it in vain with the rest. */
  readonly notify: Effect.Effect<void>
  /** Returns at the next notice, at once when one came that found nobody, and after so many milliseconds at the latest. */
  readonly wait: (ms: number) => Effect.Effect<void>
}

interface Waiter {
  readonly until: Moment.Moment
  readonly resume: () => void
}

interface Alarm {
  readonly at: Moment.Moment
  readonly fiber: Fiber.Fiber<void>
}

/**
 * One alarm for all who wait, and it outlives them: a timer for each wait would be a fiber, or two, for each send. Those
 * who wait are in an array, since the nodes of Effect's queues point to their successors even when they are taken out:
 * once one is old, everything that those who waited after it had in hand survives the scavenger.
 */
const signal: Effect.Effect<Signal, never, Scope.Scope> = Effect.gen(function* () {
  const scope = yield* Effect.scope
  let waiting: ReadonlyArray<Waiter> = []
  let noticed = false
  let alarm: Alarm | undefined

  const ring = Effect.flatMap(Moment.now, (now) => {
    alarm = undefined
    const due = waiting.filter(({ until }) => until <= now)
    waiting = waiting.filter(({ until }) => until > now)
    for (const { resume } of due) resume()
    return waiting.length === 0 ? Effect.void : set(Math.min(...waiting.map(({ until }) => until)), now)
  })

  const set = (at: Moment.Moment, now: Moment.Moment): Effect.Effect<void> =>
    Effect.gen(function* () {
      if (alarm !== undefined) yield* Fiber.interruptFork(alarm.fiber)
      const fiber = yield* Effect.forkIn(Effect.zipRight(Effect.sleep(at - now), ring), scope)
      alarm = { at, fiber }
    })

  const noticeOr = (until: Moment.Moment) =>
    Effect.async<void>((resume) => {
      // Looked at where it is waited for: what comes in between would find nobody, and be missed.
      if (noticed) {
        noticed = false
        return resume(Effect.void)
      }
      const waiter = { until, resume: () => resume(Effect.void) }
      waiting = [...waiting, waiter]
      return Effect.sync(() => {
        waiting = waiting.filter((other) => other !== waiter)
      })
    })

  return {
    notify: Effect.sync(() => {
      const last = waiting.at(-1)
      waiting = waiting.slice(0, -1)
      if (last === undefined) noticed = true
      else last.resume()
    }),
    wait: (ms) =>
      Effect.flatMap(Moment.now, (now) => {
        const until = now + ms
        const isSet = alarm !== undefined && alarm.at <= until
        return isSet ? noticeOr(until) : Effect.zipRight(set(until, now), noticeOr(until))
      })
  }
})

export class Signals extends Context.Tag("@sendwright/core/runtime/Signals")<
  Signals,
  {
    /** There is something to dispatch. A lane that finds more than it takes tells the next one. */
    readonly sends: Signal
    readonly deliveries: Signal
    /** A claim has told of jobs whose limits are to be taken. */
    readonly limits: Signal
    /** An attempt was made: a platform that is asked for news may have some. */
    readonly attempts: Signal
  }
>() {
  static readonly layer: Layer.Layer<Signals> = Layer.scoped(
    Signals,
    Effect.all({ sends: signal, deliveries: signal, limits: signal, attempts: signal })
  )
}
