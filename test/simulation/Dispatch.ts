/**
 * The dispatcher of one process over platforms that answer as they like, in simulated time: `Dispatcher` and `Bulkhead` as
 * they are, over a store of backlogs that takes 2 ms for a commit.
 */
import type { Instant } from "../../packages/core/src/domain/Instant.ts"
import * as Time from "../../packages/core/src/domain/Instant.ts"

import type { Asking, Ticket } from "../../packages/core/src/worker/Bulkhead.ts"
import { Bulkhead, patienceMs } from "../../packages/core/src/worker/Bulkhead.ts"
import type { Event, Kind, Request } from "../../packages/core/src/worker/Dispatcher.ts"
import * as Dispatcher from "../../packages/core/src/worker/Dispatcher.ts"

export interface Platform {
  /** How long the attempt that begins now takes, in milliseconds. */
  readonly latency: (now: Instant) => number
  /** When messages come: so many together, each time. */
  readonly feed: ReadonlyArray<{ readonly at: Instant; readonly count: number }>
}

const commitMs = 2

/** Events in the order of their times, and of those of one time as they were asked for. */
class Clock {
  now: Instant = Time.at(0)
  #asked = 0
  readonly #heap: Array<{ readonly at: Instant; readonly turn: number; readonly run: () => void }> = []

  after(ms: number, run: () => void): void {
    this.#asked += 1
    this.#heap.push({ at: Time.after(this.now, ms), turn: this.#asked, run })
    for (let child = this.#heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!this.#swapIfBefore(child, parent)) break
      child = parent
    }
  }

  runUntil(end: Instant): void {
    for (let first = this.#heap[0]; first !== undefined && first.at <= end; first = this.#heap[0]) {
      const last = this.#heap.pop()
      if (last !== undefined && last !== first) {
        this.#heap[0] = last
        for (let parent = 0, least = 0; ; parent = least) {
          for (const child of [2 * parent + 1, 2 * parent + 2])
            if (this.#isBefore(child, least)) least = child
          if (least === parent || !this.#swapIfBefore(least, parent)) break
        }
      }
      this.now = first.at
      first.run()
    }
    this.now = end
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]]
    if (one === undefined || other === undefined) return false
    return one.at < other.at || (one.at === other.at && one.turn < other.turn)
  }

  #swapIfBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]]
    if (one === undefined || other === undefined || !this.#isBefore(a, b)) return false
    this.#heap[a] = other
    this.#heap[b] = one
    return true
  }
}

/** A message that was claimed. */
interface Message {
  readonly sessionId: string
  readonly dueAt: Instant
  readonly claimedAt: Instant
}

interface Outcome {
  readonly message: Message
  readonly isReleased: boolean
}

const kind: Kind<Outcome, Message> = {
  settleMs: 25,
  idleMs: 250,
  looksFirst: false,
  plainOf: () => null,
  subjectOf: ({ message }) => message.sessionId,
  released: (claimed) => claimed.map((message) => ({ message, isReleased: true }))
}

export interface Measured {
  /** From when they were due until they began, in milliseconds, in the order in which they began. */
  readonly delays: ReadonlyMap<string, ReadonlyArray<number>>
  readonly begun: number
  readonly commits: number
  readonly most: number
}

const unscathed = { crashCount: 0 }

export const run = (
  platforms: Readonly<Record<string, Platform>>,
  slots: number,
  until: Instant
): Measured => {
  const clock = new Clock()
  const bulkhead = new Bulkhead({ slots, oldAt: 0 })
  const circle = Object.keys(platforms).sort()
  bulkhead.only(circle.length === 1 ? (circle[0] ?? null) : null)
  const backlogs = new Map<string, Array<Instant>>(circle.map((id) => [id, []]))
  const delays = new Map<string, Array<number>>(circle.map((id) => [id, []]))
  const hands = new Map<string, Array<Message>>(circle.map((id) => [id, []]))
  let [begun, commits, most, seed, turn] = [0, 0, 0, 42, 0]
  let outcomes: Array<Outcome> = []
  let since: Instant | null = null
  let asking: Asking | null = null
  let noticed = true
  let state: Dispatcher.State<Outcome, Message> = Dispatcher.make("worker")
  /** Wakes it while it waits. */
  let wake = (): void => {}
  /** A fifth up or down, so that nothing goes in step: the same in each run. */
  const vary = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return 0.8 + (0.4 * seed) / 2 ** 32
  }

  const isIdle = (): boolean => bulkhead.underWay + bulkhead.waiting === 0
  const ended = (outcome: Outcome): void => {
    outcomes.push(outcome)
    const isFirst = since === null
    since ??= clock.now
    if (isFirst || isIdle()) wake()
  }
  const begin = (): void => {
    for (let id = bulkhead.next(clock.now); id !== undefined; id = bulkhead.next(clock.now)) {
      const message = hands.get(id)?.shift()
      if (message === undefined) throw new Error(`${id} has nothing in hand.`)
      start(message, bulkhead.began(id, unscathed, clock.now))
    }
    if (bulkhead.isDry) wake()
  }
  const start = (message: Message, ticket: Ticket): void => {
    const { dueAt, sessionId } = message
    begun += 1
    most = Math.max(most, bulkhead.underWay)
    delays.get(sessionId)?.push(clock.now - dueAt)
    clock.after((platforms[sessionId]?.latency(clock.now) ?? 0) * vary(), () => {
      bulkhead.ended(ticket, clock.now)
      ended({ message, isReleased: false })
      begin()
    })
  }
  const releaseStale = (): void => {
    for (const [id, hand] of hands) {
      const stale = hand.filter(({ claimedAt }) => claimedAt + patienceMs <= clock.now)
      if (stale.length === 0) continue
      hand.splice(0, stale.length)
      bulkhead.released(
        id,
        stale.map(() => unscathed)
      )
      for (const message of stale) ended({ message, isReleased: true })
    }
    begin()
  }
  const staleAt = (): Instant =>
    Time.at(
      Math.min(
        ...[...hands.values()].map(([first]) => (first?.claimedAt ?? Number.POSITIVE_INFINITY) + patienceMs)
      )
    )

  const claim = (claiming: Asking): ReadonlyArray<Message> => {
    const claimed: Array<Message> = []
    let before: number | null = null
    const from = turn
    for (let place = 0; place < circle.length && claimed.length < claiming.limit; place += 1) {
      const id = circle[(from + place) % circle.length] ?? ""
      turn = (from + place + 1) % circle.length
      const backlog = backlogs.get(id) ?? []
      if (backlog.length === 0) continue
      const room = bulkhead.grant(claiming, id, false, before, clock.now)
      const some = backlog.splice(0, Math.min(room, claiming.limit - claimed.length))
      before = some.length
      for (const dueAt of some) claimed.push({ sessionId: id, dueAt, claimedAt: clock.now })
    }
    return claimed
  }

  const step = (event: Event<Outcome, Message>): void => {
    releaseStale()
    const facts = {
      now: clock.now,
      hasRoom: bulkhead.limit(clock.now) > 0,
      mayBring: bulkhead.isDry ? "now" : bulkhead.mayBring(clock.now) ? "withOutcomes" : "nothing",
      since,
      isIdle: isIdle(),
      inUse: new Set<string>(),
      stopping: false,
      graceIsOver: false
    } as const
    const [next, , request] = Dispatcher.next(state, event, facts, kind)
    state = next
    perform(request)
  }
  const woken = (): void => {
    const was = noticed
    noticed = false
    step({ _tag: "Woken", noticed: was })
  }

  const perform = (request: Request<Outcome, Message>): void => {
    switch (request._tag) {
      case "Wait": {
        let isDone = false
        const go = (): void => {
          if (isDone) return
          isDone = true
          wake = () => {}
          clock.after(0, woken)
        }
        wake = go
        if (noticed) {
          go()
          break
        }
        clock.after(
          Math.max(
            0,
            Math.min(request.until ?? Number.POSITIVE_INFINITY, staleAt(), clock.now + 1000) - clock.now
          ),
          go
        )
        break
      }
      case "Look": {
        const isDue = circle.some(
          (id) => bulkhead.admits(id, clock.now) && (backlogs.get(id)?.length ?? 0) > 0
        )
        clock.after(0, () => step({ _tag: "Looked", inMs: isDue ? 0 : null }))
        break
      }
      case "Collect": {
        const settlements = outcomes
        outcomes = []
        since = null
        step({ _tag: "Collected", settlements, lapsed: false })
        break
      }
      case "Commit": {
        commits += 1
        const claiming = request.claims ? bulkhead.ask(bulkhead.limit(clock.now), clock.now) : null
        asking = claiming
        clock.after(commitMs, () => {
          for (const { isReleased, message } of request.settlements)
            if (isReleased) backlogs.get(message.sessionId)?.unshift(message.dueAt)
          const claimed = claiming === null ? [] : claim(claiming)
          if (claiming !== null && claimed.length === 0) bulkhead.over(claiming)
          step({
            _tag: "Stored",
            claimed,
            postponed: [],
            isFull: claiming !== null && claimed.length >= claiming.limit
          })
        })
        break
      }
      case "Begin": {
        const bySession = new Map<string, Array<Message>>()
        for (const message of request.claimed) {
          bySession.set(message.sessionId, [...(bySession.get(message.sessionId) ?? []), message])
          hands.get(message.sessionId)?.push(message)
        }
        if (asking === null) throw new Error("Nothing was claimed.")
        for (const [id, some] of bySession)
          bulkhead.claimed(
            asking,
            id,
            some.map(() => unscathed)
          )
        bulkhead.over(asking)
        begin()
        step({ _tag: "Begun" })
        break
      }
      default:
        throw new Error(`The dispatcher asked for ${request._tag}.`)
    }
  }

  for (const [id, { feed }] of Object.entries(platforms))
    for (const { at, count } of feed)
      clock.after(at, () => {
        for (let i = 0; i < count; i += 1) backlogs.get(id)?.push(at)
        noticed = true
        wake()
      })
  clock.after(0, woken)
  clock.runUntil(until)
  return { delays, begun, commits, most }
}
