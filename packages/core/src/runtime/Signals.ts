/**
 * Wakes the loops of this process when there is work, right before or after the commit that creates it. Polling is
 * only the safety net: for work that is due later, and for work that another process committed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Moment from "./Moment.ts"

export interface Signal {
  /** Wakes one waiter, the one that came last. If all woke for one send, all but one would look for it in vain. */
  readonly notify: Effect.Effect<void>
  /**
   * Returns at the next notice, immediately if one came while nobody waited, and after `ms` milliseconds at the
   * latest.
   */
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
 * Tasks that are queued already go first, such as an attempt that is to begin. The yield is a microtask: an idle lane's
 * claim must be asked for before the group commit, which is a macrotask (docs/adr/0016).
 */
const afterQueued = Effect.yieldNow()

/**
 * One alarm serves all waiters and outlives them, because a timer for each wait would cost a fiber or two for each
 * send. Waiters are in an array and not in one of Effect's queues: a removed node still points to its successors, so
 * that one old node would keep everything that later waiters reference from being collected.
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
      // Checked when the fiber begins to wait. A notice between an earlier check and the wait would find no waiter and
      // be lost.
      if (noticed) {
        noticed = false
        return resume(afterQueued)
      }
      const waiter = { until, resume: () => resume(afterQueued) }
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
    /** There is something to dispatch. A session lane that finds more than it can claim wakes the next one. */
    readonly sends: Signal
    readonly deliveries: Signal
    /** Outcomes were stored, for which receipts may have come before. */
    readonly outcomes: Signal
    /** An attempt was made, so that a platform that is polled may have news. */
    readonly attempts: Signal
  }
>() {
  static readonly layer: Layer.Layer<Signals> = Layer.scoped(
    Signals,
    Effect.all({ sends: signal, deliveries: signal, outcomes: signal, attempts: signal })
  )
}
