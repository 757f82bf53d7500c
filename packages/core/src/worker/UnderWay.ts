/**
 * A window from its first attempt to its last outcome. A lane waits for it only for so long, so that one slow answer holds
 * up neither the outcomes beside it nor what comes next: nothing more of the window begins then, and what is under way
 * is handed in when it ends.
 */
import * as Arrays from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import type { Deadlines } from "../loop/Deadlines.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import type * as Consequences from "./Consequences.ts"
import * as Dispatch from "./Dispatch.ts"
import type { Grace } from "./Grace.ts"
import type { Shares } from "./Shares.ts"

/** How long a lane waits, in milliseconds. */
export const patienceMs = 1000

/** A job's part of the window. */
export interface Part {
  readonly job: ClaimedJob
  readonly attempts: Dispatch.Attempts
}

export interface UnderWay {
  /** Whether it has its permit: until then nobody keeps it waiting but others. */
  readonly hasBegun: () => boolean
  /** Returns when all is answered, or when the patience is over. */
  readonly wait: Effect.Effect<void>
  readonly awaitEnd: Effect.Effect<void>
  /** Returns when there is more to collect. */
  readonly awaitNext: Effect.Effect<void>
  /**
   * What was had since the last time, once the engine was told what the failures ask of it. Nothing more of the window
   * begins after it, unless none of it has.
   */
  readonly collect: Effect.Effect<ReadonlyArray<Settlement>>
  /** How many are still to be collected. */
  readonly left: () => number
  /** Gives it the grace to end, and interrupts it then. */
  readonly stop: Effect.Effect<void>
}

export const start = (
  parts: ReadonlyArray<Part>,
  options: {
    /** Recipients that are attempted side by side. */
    readonly slots: number
    /** Waits for what must not be attempted beside it. */
    readonly permitted: (attempts: Effect.Effect<void>) => Effect.Effect<void>
    readonly deadlines: Deadlines
    readonly draw: Consequences.Draw
    readonly grace: Grace
    readonly shares: Shares
  }
): Effect.Effect<UnderWay> =>
  Effect.gen(function* () {
    const { deadlines, draw, grace, permitted, shares, slots } = options
    let begun = false
    let goesOn = true
    /** Whether somebody was answered whose outcome is not collected. */
    let isFresh = false
    let tell = constVoid
    const run = Effect.suspend(() => {
      begun = true
      return Dispatch.run(
        parts.map(({ attempts }) => attempts),
        slots,
        {
          goesOn: () => goesOn,
          answered: () => {
            isFresh = true
            tell()
          }
        }
      )
    })
    // A child would be interrupted with the lane at once.
    const fiber = yield* Effect.forkDaemon(Effect.interruptible(permitted(run)))

    /** Slots by session, as they were told. */
    const inHand = new Map<string, number>()
    const share = (): void => {
      const left = new Map<string, number>()
      for (const { attempts, job } of parts)
        left.set(job.sessionId, (left.get(job.sessionId) ?? 0) + attempts.left())
      for (const [sessionId, count] of left) {
        const now = Math.min(slots, count)
        shares.hold(sessionId, now - (inHand.get(sessionId) ?? 0))
        inHand.set(sessionId, now)
      }
    }
    share()

    let judged = false
    /** Only by what was waited for, and was attempted. */
    const judge = (): void => {
      if (judged) return
      judged = true
      const attempted = parts.filter(({ attempts }) => attempts.recipients.length > 0)
      for (const sessionId of new Set(attempted.map(({ job }) => job.sessionId)))
        shares.judge(sessionId, (inHand.get(sessionId) ?? 0) > 0)
    }

    return {
      hasBegun: () => begun,
      wait: Effect.async((resume) => {
        let cancel = constVoid
        const end = (): void => {
          cancel()
          resume(Effect.void)
        }
        if (fiber.unsafePoll() === null) cancel = deadlines(patienceMs, end)
        fiber.addObserver(end)
        return Effect.sync(() => {
          cancel()
          fiber.removeObserver(end)
        })
      }),
      awaitEnd: Effect.asVoid(Fiber.await(fiber)),
      awaitNext: Effect.async((resume) => {
        if (isFresh) return resume(Effect.void)
        const forget = (): void => {
          tell = constVoid
          fiber.removeObserver(next)
        }
        const next = (): void => {
          forget()
          resume(Effect.void)
        }
        tell = next
        fiber.addObserver(next)
        return Effect.sync(forget)
      }),
      collect: Effect.suspend(() => {
        const hasEnded = fiber.unsafePoll() !== null
        if (!begun && !hasEnded) return Effect.succeed([])
        goesOn = false
        isFresh = false
        // Whatever ended it: nothing of it is under way any more.
        if (hasEnded) for (const { attempts } of parts) attempts.abandon()
        const settlements = Arrays.flatMap(parts, ({ attempts }) => attempts.settlements())
        const asked = parts
          .map(({ attempts, job }) => ({ job, consequences: attempts.consequences() }))
          .filter(({ consequences }) => consequences.length > 0)
        share()
        judge()
        // Before the outcomes are handed in: what waits for a pause must not be due before that is there.
        const told = Effect.forEach(
          asked,
          ({ consequences, job }) =>
            Effect.catchAllCause(draw(job, consequences), (cause) =>
              Effect.logError(`What failures of job ${job.jobId} ask for could not be done`, cause)
            ),
          { discard: true }
        )
        return Effect.as(told, settlements)
      }),
      left: () => parts.reduce((sum, { attempts }) => sum + attempts.left(), 0),
      stop: Effect.zipRight(grace.within(Fiber.await(fiber)), Effect.asVoid(Fiber.interrupt(fiber)))
    }
  })
