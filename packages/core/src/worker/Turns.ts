/**
 * Performs what {@link Bulkhead} decides: the attempts of all batches of a process wait here, by session, and each begins
 * when it is its session's turn, in a fiber of its own batch.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import type { Moment } from "../runtime/Moment.ts"
import type { Attempted, Attempts, RecipientAttempt } from "./Attempt.ts"
import type { Bulkhead, Ticket } from "./Bulkhead.ts"

/** Runs attempts in a fiber that nobody's end interrupts, as soon as the caller waits for something. */
export type Fork = (attempts: Effect.Effect<void>) => Fiber.RuntimeFiber<void>

/** One job's attempts in a batch that wait for their turns. */
interface Waiting {
  readonly runner: Runner
  readonly attempts: Attempts
  /** The next of its queue. */
  place: number
}

/** An attempt under way. */
interface Begun {
  readonly attempts: Attempts
  readonly attempt: RecipientAttempt
  readonly ticket: Ticket
}

export class Turns {
  private readonly bulkhead: Bulkhead
  private readonly now: () => Moment
  private readonly freed: () => void
  private readonly sessions = new Map<string, Array<Waiting>>()

  /** @param freed called when an attempt ended or what was in hand is given back */
  constructor(bulkhead: Bulkhead, now: () => Moment, freed: () => void) {
    this.bulkhead = bulkhead
    this.now = now
    this.freed = freed
  }

  /** What was claimed of a session and counted by the bulkhead waits for its turn; a suspect goes before others. */
  enter(sessionId: string, runner: Runner, attempts: Attempts, isFirst: boolean): void {
    if (attempts.queue.length === 0) return
    const waiting = { runner, attempts, place: 0 }
    const queue = this.sessions.get(sessionId)
    if (queue === undefined) this.sessions.set(sessionId, [waiting])
    else if (isFirst) queue.unshift(waiting)
    else queue.push(waiting)
    runner.waits += attempts.queue.length
  }

  /** Nothing more of the batch begins. */
  withdraw(runner: Runner): void {
    if (runner.waits === 0) return
    for (const [sessionId, queue] of this.sessions)
      for (const waiting of queue.filter((each) => each.runner === runner)) this.drop(sessionId, waiting)
    this.freed()
  }

  /** The attempt of this batch that begins now. When it is another's turn, that one is woken. */
  next(runner: Runner): Begun | undefined {
    const now = this.now()
    const first = this.first(now)
    if (first === undefined) return undefined
    const [sessionId, waiting] = first
    if (waiting.runner !== runner) {
      waiting.runner.wake()
      return undefined
    }
    const { attempts } = waiting
    const attempt = attempts.queue[waiting.place]
    if (attempt === undefined) return undefined
    waiting.place += 1
    runner.waits -= 1
    runner.hasBegun = true
    if (waiting.place === attempts.queue.length) this.remove(sessionId, waiting)
    return { attempts, attempt, ticket: this.bulkhead.began(sessionId, attempt.recipient, now) }
  }

  /** True when {@link next} has one for the batch. When it is another's turn, that one is woken. */
  hasNext(runner: Runner): boolean {
    const first = this.first(this.now())
    if (first === undefined) return false
    if (first[1].runner === runner) return true
    first[1].runner.wake()
    return false
  }

  ended(ticket: Ticket): void {
    this.bulkhead.ended(ticket, this.now())
    this.freed()
  }

  /** The session whose turn it is, and what of it begins. */
  private first(now: Moment): readonly [sessionId: string, waiting: Waiting] | undefined {
    for (;;) {
      const sessionId = this.bulkhead.next(now)
      const waiting = sessionId === undefined ? undefined : this.sessions.get(sessionId)?.[0]
      if (sessionId === undefined || waiting === undefined) return undefined
      if (waiting.attempts.goesOn()) return [sessionId, waiting]
      // Its platform does not answer any more.
      this.drop(sessionId, waiting)
    }
  }

  private drop(sessionId: string, waiting: Waiting): void {
    const { attempts, place, runner } = waiting
    const dropped = attempts.queue.slice(place)
    this.remove(sessionId, waiting)
    this.bulkhead.released(
      sessionId,
      dropped.map(({ recipient }) => recipient)
    )
    runner.waits -= dropped.length
    runner.lookForEnd()
  }

  private remove(sessionId: string, waiting: Waiting): void {
    const queue = this.sessions.get(sessionId)
    if (queue === undefined) return
    if (queue.length === 1) this.sessions.delete(sessionId)
    else queue.splice(queue.indexOf(waiting), 1)
  }
}

/** Makes the attempts of one batch, in as many fibers as they have turns at the same time. */
export class Runner {
  /** Attempts that wait for their turns; `Turns` counts them. */
  waits = 0
  private readonly turns: Turns
  private readonly fork: Fork
  private readonly answered: () => void
  private readonly fibers = new Set<Fiber.RuntimeFiber<void>>()
  private readonly observers = new Set<() => void>()
  private isWoken = false
  /** True once an attempt of it has begun. */
  hasBegun = false

  /** @param answered called when one was recorded */
  constructor(turns: Turns, fork: Fork, answered: () => void) {
    this.turns = turns
    this.fork = fork
    this.answered = answered
  }

  /** True when nothing of it waits or is under way. */
  hasEnded(): boolean {
    return this.waits === 0 && this.fibers.size === 0
  }

  /** Calls once it has ended; the answer forgets the call. */
  onEnd(observer: () => void): () => void {
    this.observers.add(observer)
    return () => {
      this.observers.delete(observer)
    }
  }

  lookForEnd(): void {
    if (this.hasEnded()) for (const observe of [...this.observers]) observe()
  }

  readonly end: Effect.Effect<void> = Effect.async((resume) => {
    if (this.hasEnded()) return resume(Effect.void)
    const forget = this.onEnd(() => {
      forget()
      resume(Effect.void)
    })
    return Effect.sync(forget)
  })

  /** Interrupts what is under way, and returns when it has ended. */
  readonly interrupt: Effect.Effect<void> = Effect.suspend(() => Fiber.interruptAll([...this.fibers]))

  /** It may be the turn of one of its attempts. */
  wake(): void {
    if (this.isWoken || this.waits === 0) return
    this.isWoken = true
    this.launch(this.grow)
  }

  /** A fiber goes on until it has to wait, and only then another begins: one is enough for who answers at once. */
  private readonly grow: Effect.Effect<void> = Effect.suspend(() => {
    const mayBegin = (): boolean => {
      const may = this.turns.hasNext(this)
      if (!may) this.isWoken = false
      return may
    }
    if (this.waits <= 1) {
      this.isWoken = false
      return this.pull
    }
    return Effect.whileLoop({
      while: mayBegin,
      body: () => {
        this.launch(this.pull)
        return Effect.yieldNow()
      },
      step: constVoid
    })
  })

  /** One after the other. Nothing is wrapped around each: a sender that breaks ends the loop. */
  private readonly pull: Effect.Effect<void> = Effect.suspend(() => {
    let current = this.turns.next(this)
    const record = ({ attempt, attempts, ticket }: Begun, attempted: Attempted): void => {
      attempts.record(attempt, attempted)
      current = undefined
      this.turns.ended(ticket)
      this.answered()
      current = this.turns.next(this)
    }
    const loop: Effect.Effect<void> = Effect.suspend(() =>
      Effect.whileLoop({
        while: () => current !== undefined,
        body: () =>
          current === undefined
            ? Effect.dieMessage("A recipient was attempted after the last.")
            : current.attempts.begin(current.attempt),
        step: (attempted) => {
          if (current !== undefined) record(current, attempted)
        }
      })
    ).pipe(
      Effect.catchAllDefect((defect) => {
        if (current === undefined) return Effect.die(defect)
        const begun = current
        return Effect.flatMap(begun.attempts.broken(begun.attempt, defect), (attempted) => {
          record(begun, attempted)
          return loop
        })
      })
    )
    if (current === undefined) return Effect.void
    return Effect.ensuring(
      loop,
      Effect.sync(() => {
        if (current === undefined) return
        this.turns.ended(current.ticket)
        // The slot may be another batch's.
        this.turns.hasNext(this)
      })
    )
  })

  private launch(effect: Effect.Effect<void>): void {
    const fiber = this.fork(effect)
    this.fibers.add(fiber)
    fiber.addObserver(() => {
      this.fibers.delete(fiber)
      this.lookForEnd()
    })
  }
}
