/**
 * The timers of Node as they were when this was loaded, and Effect's clock and scheduler by them: the fakes of a test runner are
 * for what is tested, and would stop the engine beside it.
 */
import * as timers from "node:timers"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"

export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval } = timers
const { setTimeout } = timers

/** The longest timer of Node, in milliseconds. */
export const longestMs = 2 ** 31 - 1

export const after = (ms: number, step: () => void): NodeJS.Timeout =>
  setTimeout(step, Math.min(ms, longestMs))

/** @param keeps whether a sleep keeps the process from ending */
const clockOf = (keeps: boolean): Clock.Clock => {
  const live = Clock.make()
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => live.unsafeCurrentTimeMillis(),
    unsafeCurrentTimeNanos: () => live.unsafeCurrentTimeNanos(),
    currentTimeMillis: live.currentTimeMillis,
    currentTimeNanos: live.currentTimeNanos,
    sleep: (duration) =>
      Effect.async((resume) => {
        const ms = Duration.toMillis(duration)
        if (ms > longestMs) return
        const timer = setTimeout(() => resume(Effect.void), ms)
        if (!keeps) timer.unref()
        return Effect.sync(() => clearTimeout(timer))
      })
  }
}

/** The machine's clock. */
export const clock = clockOf(true)

/** The same, by which a sleep keeps no process from ending. */
export const idleClock = clockOf(false)

/** After so many steps in a row others have their turn, as with Effect's own. */
const mostAtOnce = 2048

const runnerOf = Scheduler.SchedulerRunner.cached((depth, drain) => {
  if (depth >= mostAtOnce) setTimeout(() => drain(0), 0)
  else void Promise.resolve().then(() => drain(depth + 1))
})

export const scheduler: Scheduler.Scheduler = {
  shouldYield: (fiber) => Scheduler.defaultScheduler.shouldYield(fiber),
  scheduleTask: (task, priority, fiber) => runnerOf(fiber).scheduleTask(task, priority)
}
