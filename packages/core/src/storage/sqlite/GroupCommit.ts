/**
 * Group commit. All writes that were queued in one turn of the event loop share one `BEGIN IMMEDIATE … COMMIT` and are
 * answered after it; one that fails is tried again alone, so that it takes no other with it.
 */
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import * as Timers from "../../runtime/Timers.ts"
import type { Lock } from "../sql/Lock.ts"
import type { Transaction } from "./Transaction.ts"

/** Writes of one kind, which have a share of the time beside those of the other. */
export interface Queue {
  waiting: Array<Queued>
  /** How long its writes took, in milliseconds, since another queue waited beside it. */
  spent: number
}

export interface Write {
  /** Runs the verb and returns what answers it. */
  readonly attempt: () => () => void
  readonly fail: (cause: unknown) => void
}

interface Queued extends Write {
  readonly queue: Queue
  alone: boolean
  withdrawn: boolean
}

export interface GroupCommit {
  /** Verbs for which somebody waits. */
  readonly requests: Queue
  readonly work: Queue
  /** Answers what withdraws it, for as long as it is not tried. */
  readonly enqueue: (queue: Queue, write: Write) => () => void
  /** Commits all that is queued, at once. The lock is held. */
  readonly drain: () => void
}

/** Nobody's fault: the file is locked from outside or cannot be written. Trying each would block for each. */
const failAll = (queues: ReadonlyArray<Queue>, cause: unknown): void => {
  for (const { waiting } of queues) {
    for (const write of waiting.splice(0)) write.fail(cause)
  }
}

/** @param lock of the root */
export const make = (transaction: Transaction, lock: Lock): GroupCommit => {
  const requests: Queue = { waiting: [], spent: 0 }
  const work: Queue = { waiting: [], spent: 0 }
  let scheduled = false

  /** Whose turn it is: while both wait, each has half of the time. */
  const queueInTurn = (): Queue | undefined => {
    if (requests.waiting.length > 0 && work.waiting.length > 0) {
      return requests.spent <= work.spent ? requests : work
    }
    requests.spent = 0
    work.spent = 0
    return [requests, work].find(({ waiting }) => waiting.length > 0)
  }

  /** One transaction of as many queued writes as fit before `until`. Every write is answered or queued again. */
  const commitGroup = (until: number): void => {
    const tried: Array<Queued> = []
    const answers: Array<() => void> = []
    try {
      transaction.begin()
    } catch (cause) {
      failAll([requests, work], cause)
      return
    }
    try {
      let began = performance.now()
      for (let queue = queueInTurn(); queue !== undefined; queue = queueInTurn()) {
        const [next] = queue.waiting
        if (next === undefined || (tried.length > 0 && (next.alone || began > until))) break
        queue.waiting.shift()
        if (next.withdrawn) continue
        tried.push(next)
        answers.push(next.attempt())
        const ended = performance.now()
        queue.spent += ended - began
        began = ended
        if (next.alone) break
      }
      transaction.commit()
    } catch (cause) {
      transaction.failed(cause)
      transaction.abandon()
      if (tried.length === 1) tried[0]?.fail(cause)
      else for (const write of tried.reverse()) write.queue.waiting.unshift(write)
      for (const write of tried) write.alone = true
      return
    }
    for (const answer of answers) answer()
  }

  /** The lock is held. */
  const flush = (): void => {
    const until = performance.now() + EventLoopBudget.turnMs
    while (queueInTurn() !== undefined && performance.now() <= until) commitGroup(until)
    scheduled = false
    lock.release()
    schedule()
  }

  /** The lock is held. */
  const flushInTurn = (): void => {
    if (EventLoopBudget.isSpent()) Timers.setImmediate(flushInTurn)
    else flush()
  }

  const schedule = (): void => {
    if (scheduled || queueInTurn() === undefined) return
    scheduled = true
    // While it is free it is not kept from those who read until then.
    const enter = (): void => {
      if (lock.isFree() && EventLoopBudget.isSpent()) Timers.setImmediate(enter)
      else if (lock.join(flushInTurn).granted) flush()
    }
    if (lock.isFree()) Timers.setImmediate(enter)
    else enter()
  }

  return {
    requests,
    work,
    enqueue: (queue, write) => {
      const { attempt, fail } = write
      const queued: Queued = { attempt, fail, queue, alone: false, withdrawn: false }
      queue.waiting.push(queued)
      schedule()
      return () => {
        queued.withdrawn = true
      }
    },
    drain: () => {
      while (queueInTurn() !== undefined) commitGroup(performance.now() + EventLoopBudget.turnMs)
    }
  }
}
