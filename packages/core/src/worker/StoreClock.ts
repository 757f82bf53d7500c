/**
 * The one clock of all processes over a store. Instants that one process stores are compared by another, so where the
 * store can be asked for its time everything that the engine does goes by that, and a process's own clock may be as
 * wrong as it likes (docs/adr/0021). Time goes on by the process's monotonic clock between two answers: one that is set
 * while it runs changes nothing.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { StoreTime } from "../storage/StoreTime.ts"

/** How far a process's clock is from its store's. */
export interface ClockHealth {
  /** The store's time less the process's; null while it was never told, 0 where the process's is the store's. */
  readonly differenceMs: number | null
  /** When it was told last, by the store's time; null while it never was. */
  readonly measuredAt: Instant | null
  /** True when the store told nothing for more than 5 s (contract.md §10), or took longer than that to answer. */
  readonly uncertain: boolean
}

export class StoreClock extends Context.Tag("@sendwright/core/storage/StoreClock")<
  StoreClock,
  {
    /** True where the store's time is the process's own. */
    readonly isOwn: boolean
    readonly health: Effect.Effect<ClockHealth>
    /** Runs the effect, and what it forks, by the store's time. Its sleeps are the process's. */
    readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {
  static readonly layer: Layer.Layer<StoreClock> = Layer.scoped(
    this,
    Effect.flatMap(StoreTime, (ask) => (ask === null ? Effect.succeed(own) : measured(ask)))
  )
}

type Service = Context.Tag.Service<StoreClock>

const own: Service = {
  isOwn: true,
  health: Effect.map(Time.now, (now) => ({
    differenceMs: 0,
    measuredAt: now,
    uncertain: false
  })),
  within: (effect) => effect
}

/** How often the store is asked. */
const every = Duration.seconds(2)

/** For so long the last answer is good enough. */
const certainMs = 5 * Time.second

/** A difference that is told to the operator. */
const remarkableMs = Time.second

/** The store's time at a moment of this process. */
export interface Estimate {
  readonly moment: Moment.Moment
  readonly time: number
}

export const timeAt = ({ moment, time }: Estimate, now: Moment.Moment): number => time + (now - moment)

/**
 * The estimate after an answer, which was true at some moment between the question and its arrival. It is moved no
 * further than that proves, so a slow answer moves it little, and time jumps only as far as it was wrong.
 */
export const learn = (
  estimate: Estimate | undefined,
  answer: { readonly asked: Moment.Moment; readonly arrived: Moment.Moment; readonly time: number }
): Estimate => {
  const { arrived, asked, time } = answer
  const latest = time + (arrived - asked)
  const believed = estimate === undefined ? (time + latest) / 2 : timeAt(estimate, arrived)
  return { moment: arrived, time: Math.min(Math.max(believed, time), latest) }
}

const measured = (ask: Effect.Effect<Instant, StorageError>) =>
  Effect.gen(function* () {
    const process = yield* Effect.clock
    let estimate: Estimate | undefined
    /** When the question was asked that was answered last. */
    let asked: Moment.Moment | undefined
    let isRemarkable = false
    const told = Metrics.ofClock()

    const now = (): Instant =>
      estimate === undefined ? Time.unsafeNow(process) : Time.at(timeAt(estimate, Moment.unsafeNow(process)))

    const clock: Clock.Clock = {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: now,
      unsafeCurrentTimeNanos: () => process.unsafeCurrentTimeNanos(),
      currentTimeMillis: Effect.sync(now),
      currentTimeNanos: process.currentTimeNanos,
      sleep: (duration) => process.sleep(duration)
    }

    const difference = (): number => now() - Time.unsafeNow(process)

    const reportDifference = Effect.suspend(() => {
      const ms = difference()
      const was = isRemarkable
      isRemarkable = Math.abs(ms) > remarkableMs
      const report =
        isRemarkable === was
          ? Effect.void
          : isRemarkable
            ? Effect.logWarning(
                `This process's clock is ${Math.abs(ms)} ms ${ms > 0 ? "behind" : "ahead of"} the database's, whose time is used. Set it right: webhook receivers and logs see both.`
              )
            : Effect.logInfo("This process's clock agrees with the database's again")
      told(ms)
      return report
    })

    const measure = Effect.gen(function* () {
      const from = yield* Moment.now
      const time = yield* ask
      const arrived = yield* Moment.now
      estimate = learn(estimate, { asked: from, arrived, time })
      asked = from
      yield* reportDifference
    }).pipe(
      Effect.catchAll((error) => Effect.logDebug("The database's time could not be told", Cause.fail(error))),
      Effect.withClock(process)
    )

    // The first question opens a connection, and a slow answer tells little: the next ones narrow what it told.
    yield* Effect.repeatN(measure, 2)
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(process.sleep(every), measure)))

    const service: Service = {
      isOwn: false,
      health: Effect.sync(() => ({
        differenceMs: estimate === undefined ? null : difference(),
        measuredAt: estimate === undefined ? null : Time.at(estimate.time),
        uncertain: asked === undefined || Moment.unsafeNow(process) - asked > certainMs
      })),
      // Where the caller goes by it already, as the host's requests do, this costs next to nothing.
      within: (effect) =>
        Effect.clockWith((current) => (current === clock ? effect : Effect.withClock(effect, clock)))
    }
    return service
  })
