/**
 * Performs what {@link Bulkhead} decides: what was claimed waits here, by session, and each attempt begins when it is its
 * session's turn. The only place where attempts run.
 */

import * as Arrays from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Address } from "../domain/Address.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Transitions from "../domain/job/Transitions.ts"
import * as Metrics from "../runtime/Metrics.ts"
import type { Moment } from "../runtime/Moment.ts"
import type { DispatchedJob, Settlement } from "../storage/JobStore.ts"
import { processOf } from "../storage/JobStore.ts"
import type { Attempted, Attempts, ClaimedRecipient } from "./Attempt.ts"
import type { Bulkhead, Ticket } from "./Bulkhead.ts"
import { patienceMs } from "./Bulkhead.ts"
import * as Measured from "./Measured.ts"

/** Runs attempts in a fiber that nobody's end interrupts, as soon as the caller waits for something. */
export type Fork = (attempts: Effect.Effect<void>) => Fiber.RuntimeFiber<void>

/** The recipients of a job that one claim brought, from the begin of their attempts to their collection. */
export interface Batch {
  readonly inFlight: InFlight
  readonly job: DispatchedJob
  readonly attempts: Attempts
  /** The name under which it was claimed. */
  readonly worker: string
  /** Not later than its first attempt. */
  readonly since: Instant
  readonly enteredAt: Moment
}

interface Waiting {
  readonly batch: Batch
  /** True of a suspect, which waits until its session has nothing else under way. */
  readonly isSuspect: boolean
  /** The next of its queue. */
  place: number
}

/** An attempt under way. */
interface Begun {
  readonly batch: Batch
  readonly recipient: ClaimedRecipient
  readonly ticket: Ticket
  readonly beganAt: Moment
}

/** An outcome, with what it asks of the engine beside. */
export interface Ended {
  readonly batch: Batch
  /** Null of one that was not attempted. */
  readonly address: Address | null
  readonly settlement: Settlement
  readonly actionable: Attempted["actionable"]
}

/** The acts that the outcomes of a job ask of the engine. */
export interface Asked {
  readonly batch: Batch
  readonly failures: ReadonlyArray<Failure>
}

/** The recipients that one dispatcher has claimed and not stored: in hand, under way, or ended. */
export class InFlight {
  readonly #wake: () => void
  readonly #idle = Effect.unsafeMakeLatch(true)
  readonly #names = new Map<string, number>()
  #ended: Array<Ended> = []
  #since: Moment | null = null
  #open = 0
  /** Sessions for which something is done that an answer asks for: their outcomes wait for it. */
  readonly #acting = new Set<string>()
  #isClosed = false

  /** @param wake called when the first outcome came after a collection, and with the last */
  constructor(wake: () => void) {
    this.#wake = wake
  }

  /** True when nothing is in hand or under way, and nothing is done for a session. */
  get isIdle(): boolean {
    return this.#open === 0 && this.#acting.size === 0
  }

  isActing(sessionId: string): boolean {
    return this.#acting.has(sessionId)
  }

  readonly awaitIdle: Effect.Effect<void> = this.#idle.await

  /** When the first of the outcomes came that are not collected; null while there is none. */
  get since(): Moment | null {
    return this.#since
  }

  /** The names of which something is not collected. */
  get inUse(): ReadonlySet<string> {
    return new Set(this.#names.keys())
  }

  wake(): void {
    this.#wake()
  }

  add({ job, worker }: Batch): void {
    const count = job.recipients.length
    this.#names.set(worker, (this.#names.get(worker) ?? 0) + count)
    this.#open += count
    this.#idle.unsafeClose()
  }

  end(ended: Ended, now: Moment): void {
    this.#ended.push(ended)
    this.#open -= 1
    const isFirst = this.#since === null && !this.isActing(ended.batch.job.sessionId)
    if (isFirst) this.#since = now
    this.#tell(isFirst)
  }

  #tell(isFirst: boolean): void {
    if (this.isIdle) this.#idle.unsafeOpen()
    if (isFirst || this.isIdle) this.#wake()
  }

  /** The outcomes since the last time, but for those that wait for what is done for their session. */
  collect(): ReadonlyArray<Ended> {
    const [ended, waiting] = Arrays.partition(this.#ended, ({ batch }) => this.isActing(batch.job.sessionId))
    this.#ended = waiting
    this.#since = null
    for (const { batch } of ended) {
      const left = (this.#names.get(batch.worker) ?? 0) - 1
      if (left > 0) this.#names.set(batch.worker, left)
      else this.#names.delete(batch.worker)
    }
    return ended
  }

  /**
   * What outcomes ask of the engine, by session. Until {@link acted} is called for a session none of its outcomes is collected.
   */
  act(): ReadonlyMap<string, ReadonlyArray<Asked>> {
    const found = new Map<string, Map<Batch, Array<Failure>>>()
    for (const [place, ended] of this.#ended.entries()) {
      const { actionable } = ended
      const { sessionId } = ended.batch.job
      if (actionable === null || this.#isClosed || this.isActing(sessionId)) continue
      const ofSession: Map<Batch, Array<Failure>> = found.get(sessionId) ?? new Map()
      found.set(sessionId, ofSession)
      const failures = ofSession.get(ended.batch)
      if (failures === undefined) ofSession.set(ended.batch, [actionable])
      else failures.push(actionable)
      this.#ended[place] = { ...ended, actionable: null }
    }
    for (const sessionId of found.keys()) this.#acting.add(sessionId)
    if (found.size > 0) this.#idle.unsafeClose()
    return new Map(
      [...found].map(([sessionId, asked]) => [
        sessionId,
        [...asked].map(([batch, failures]) => ({ batch, failures }))
      ])
    )
  }

  /** What the session's outcomes have asked for is done, or could not be. */
  acted(sessionId: string, now: Moment): void {
    this.#acting.delete(sessionId)
    const isFirst = this.#since === null && this.#ended.length > 0
    if (isFirst) this.#since = now
    this.#tell(isFirst)
  }

  /** Nothing is done for a session any more: all outcomes are collected. */
  close(): void {
    this.#isClosed = true
    this.#acting.clear()
  }
}

export class AttemptQueue {
  readonly #bulkhead: Bulkhead
  readonly #now: () => Moment
  readonly #fork: Fork
  readonly #measured = Metrics.ofAttempts()
  readonly #sessions = new Map<string, Array<Waiting>>()
  readonly #running = new Set<{
    readonly fiber: Fiber.RuntimeFiber<void>
    readonly current: () => Begun | undefined
  }>()

  constructor(bulkhead: Bulkhead, now: () => Moment, fork: Fork) {
    this.#bulkhead = bulkhead
    this.#now = now
    this.#fork = fork
  }

  /** A batch that was claimed waits for its turn; the bulkhead has counted it. A suspect goes before others of its session. */
  enter(batch: Batch): void {
    const { attempts, inFlight, job } = batch
    inFlight.add(batch)
    for (const settlement of attempts.settled)
      inFlight.end({ batch, address: null, settlement, actionable: null }, this.#now())
    if (attempts.queue.length === 0) return
    const isSuspect = attempts.queue.some(Transitions.isSuspect)
    const waiting = { batch, isSuspect, place: 0 }
    const queue = this.#sessions.get(job.sessionId)
    if (queue === undefined) this.#sessions.set(job.sessionId, [waiting])
    else if (isSuspect) queue.unshift(waiting)
    else queue.push(waiting)
  }

  /** Begins what may begin. */
  begin(): void {
    for (let begun = this.#next(); begun !== undefined; begun = this.#next()) this.#launch(begun)
  }

  /** Gives back what waits of these. */
  release(which: (waiting: Waiting) => boolean): void {
    let some = false
    for (const queue of [...this.#sessions.values()])
      for (const waiting of queue.filter(which)) {
        this.#drop(waiting)
        some = true
      }
    if (some) this.begin()
  }

  /** Gives back what has waited for too long. */
  releaseStale(): void {
    const now = this.#now()
    const { staleAt } = this
    if (staleAt !== null && staleAt <= now)
      this.release(({ batch, isSuspect }) => !isSuspect && batch.enteredAt + patienceMs <= now)
  }

  /** When something will have waited for too long; null while nothing waits. */
  get staleAt(): Moment | null {
    let first = Number.POSITIVE_INFINITY
    for (const queue of this.#sessions.values()) {
      const oldest = queue.find(({ isSuspect }) => !isSuspect)
      if (oldest !== undefined) first = Math.min(first, oldest.batch.enteredAt)
    }
    return Number.isFinite(first) ? first + patienceMs : null
  }

  /** Interrupts what is under way of a dispatcher, and returns when it has ended. */
  interrupt(inFlight: InFlight): Effect.Effect<void> {
    return Effect.suspend(() =>
      Fiber.interruptAll(
        [...this.#running].flatMap(({ current, fiber }) =>
          current()?.batch.inFlight === inFlight ? fiber : []
        )
      )
    )
  }

  /** The attempt whose turn it is. */
  #next(): Begun | undefined {
    const now = this.#now()
    for (;;) {
      const sessionId = this.#bulkhead.next(now)
      const waiting = sessionId === undefined ? undefined : this.#sessions.get(sessionId)?.[0]
      if (sessionId === undefined || waiting === undefined) return undefined
      const { batch, place } = waiting
      const recipient = batch.attempts.queue[place]
      if (recipient === undefined || !batch.attempts.goesOn()) {
        // The session's platform does not answer any more.
        this.#drop(waiting)
        continue
      }
      waiting.place += 1
      if (waiting.place === batch.attempts.queue.length) this.#remove(waiting)
      const ticket = this.#bulkhead.began(sessionId, recipient, now)
      if (this.#bulkhead.isDry) batch.inFlight.wake()
      this.#measured.queued(batch.since + (now - batch.enteredAt) - recipient.dueAt)
      return { batch, recipient, ticket, beganAt: now }
    }
  }

  #drop(waiting: Waiting): void {
    const { batch, place } = waiting
    const { attempts, inFlight, job } = batch
    const dropped = attempts.queue.slice(place)
    this.#remove(waiting)
    this.#bulkhead.released(job.sessionId, dropped)
    for (const recipient of dropped)
      inFlight.end(
        { batch, address: null, settlement: attempts.release(recipient), actionable: null },
        this.#now()
      )
  }

  #remove(waiting: Waiting): void {
    const { sessionId } = waiting.batch.job
    const queue = this.#sessions.get(sessionId) ?? []
    if (queue.length <= 1) this.#sessions.delete(sessionId)
    else queue.splice(queue.indexOf(waiting), 1)
  }

  #end(
    { batch, beganAt, recipient, ticket }: Begun,
    settled: Settlement,
    actionable: Attempted["actionable"]
  ): void {
    const now = this.#now()
    Measured.ended(this.#measured, settled.outcome, now - beganAt)
    this.#bulkhead.ended(ticket, now)
    const tried = { ms: Math.round(now - beganAt), process: processOf(batch.worker) }
    const settlement = { ...settled, tried }
    batch.inFlight.end({ batch, address: recipient.address, settlement, actionable }, now)
  }

  /** A fiber makes one attempt after the other for as long as one may begin. */
  #launch(first: Begun): void {
    let current: Begun | undefined = first
    const ended = (begun: Begun, attempted: Attempted): void => {
      const settlement = begun.batch.attempts.settle(begun.recipient, attempted)
      current = undefined
      this.#end(begun, settlement, attempted.actionable)
      current = this.#next()
      this.begin()
    }
    const attempts: Effect.Effect<void> = Effect.suspend(() =>
      Effect.whileLoop({
        while: () => current !== undefined,
        body: () => {
          const { batch, recipient } = current ?? first
          return batch.attempts.begin(recipient)
        },
        step: (attempted) => {
          if (current !== undefined) ended(current, attempted)
        }
      })
    ).pipe(
      // Nothing is wrapped around each: a sender that breaks ends the loop, and costs its own recipient.
      Effect.catchAllDefect((defect) => {
        const begun = current
        if (begun === undefined) return Effect.die(defect)
        return Effect.flatMap(begun.batch.attempts.broken(begun.recipient, defect), (attempted) => {
          ended(begun, attempted)
          return attempts
        })
      })
    )
    const fiber = this.#fork(attempts)
    const running = { fiber, current: () => current }
    this.#running.add(running)
    // Whatever ended it, also before it began.
    fiber.addObserver(() => {
      this.#running.delete(running)
      if (current === undefined) return
      this.#end(current, current.batch.attempts.interrupt(current.recipient), null)
      this.begin()
    })
  }
}
