/**
 * The lanes of one process over platforms that answer as they like, in simulated time: `LaneState` and `Bulkhead` as they
 * are, over a store of backlogs that takes 2 ms for a commit.
 */
import type { Instant } from "../../packages/core/src/domain/Instant.ts"
import type { DispatchedJob, Settlement } from "../../packages/core/src/storage/JobStore.ts"
import { Outcome } from "../../packages/core/src/storage/JobStore.ts"
import { patienceMs } from "../../packages/core/src/worker/Batch.ts"
import type { Asking, Ticket } from "../../packages/core/src/worker/Bulkhead.ts"
import { Bulkhead } from "../../packages/core/src/worker/Bulkhead.ts"
import type { LaneEvent, LaneRequest } from "../../packages/core/src/worker/LaneState.ts"
import * as LaneState from "../../packages/core/src/worker/LaneState.ts"

export interface Platform {
  /** How long the attempt that begins now takes, in milliseconds. */
  readonly latency: (now: Instant) => number
  /** When messages come: so many together, each time. */
  readonly feed: ReadonlyArray<{ readonly at: Instant; readonly count: number }>
}

const commitMs = 2
const lanes = 4
const restMs = 1000

/** Events in the order of their times, and of those of one time as they were asked for. */
class Clock {
  now: Instant = 0
  #asked = 0
  readonly #heap: Array<{ readonly at: Instant; readonly turn: number; readonly run: () => void }> = []

  after(ms: number, run: () => void): void {
    this.#asked += 1
    this.#heap.push({ at: this.now + ms, turn: this.#asked, run })
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

/** A message in the hand of a lane's batch. */
interface InHand {
  readonly job: DispatchedJob
  readonly dueAt: Instant
  readonly batch: Batch
  state: "waits" | "underWay" | "ended" | "settled"
}

interface Batch {
  readonly id: number
  readonly items: Array<InHand>
  onEnd: () => void
}

export interface Measured {
  /** From when they were due until they began, in milliseconds, in the order in which they began. */
  readonly delays: ReadonlyMap<string, ReadonlyArray<number>>
  readonly begun: number
  readonly commits: number
  readonly most: number
}

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
  const hands = new Map<string, Array<InHand>>()
  const resting: Array<() => void> = []
  const waiting = new Set<() => void>()
  let [begun, commits, most, seed, turn, messages] = [0, 0, 0, 42, 0, 0]
  /** A fifth up or down, so that nothing goes in step: the same in each run. */
  const vary = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return 0.8 + (0.4 * seed) / 2 ** 32
  }

  const freed = (): void => {
    for (const look of [...waiting]) look()
    if (bulkhead.hasRoomAgain(clock.now)) resting.pop()?.()
  }
  const begin = (): void => {
    for (let id = bulkhead.next(clock.now); id !== undefined; id = bulkhead.next(clock.now)) {
      const item = hands.get(id)?.shift()
      if (item === undefined) throw new Error(`${id} has nothing in hand.`)
      const ticket = bulkhead.began(id, { crashCount: 0 }, clock.now)
      item.state = "underWay"
      begun += 1
      most = Math.max(most, bulkhead.underWay)
      delays.get(id)?.push(clock.now - item.dueAt)
      const ms = (platforms[id]?.latency(clock.now) ?? 0) * vary()
      clock.after(ms, () => end(item, ticket))
    }
  }
  const end = (item: InHand, ticket: Ticket): void => {
    item.state = "ended"
    bulkhead.ended(ticket, clock.now)
    begin()
    item.batch.onEnd()
    freed()
  }

  const lane = (): void => {
    let state = LaneState.make("worker", slots / lanes)
    let batches: Array<Batch> = []
    let asking: Asking | null = null
    let lastId = 0
    const endClaim = (): void => {
      if (asking === null) return
      bulkhead.over(asking)
      asking = null
      freed()
    }
    const step = (event: LaneEvent): void => {
      if (event._tag !== "Stored" || event.claimed.length === 0) endClaim()
      const { free, room, spare } = bulkhead
      const facts = { now: clock.now, free, room, spare, young: false, stopping: false, graceIsOver: false }
      const [next, notices, request] = LaneState.next(state, event, facts)
      state = next
      if (notices.some(({ _tag }) => _tag === "WakeNextLane")) resting.pop()?.()
      if (request._tag === "SettleAndClaim" && request.limit !== null)
        asking = bulkhead.ask(request.limit, clock.now)
      perform(request)
    }
    /** Goes on at the first of these. */
    const once = (ms: number, on: (go: () => void) => () => void, event: LaneEvent): void => {
      let isDone = false
      const go = (): void => {
        if (isDone) return
        isDone = true
        forget()
        clock.after(0, () => step(event))
      }
      const forget = on(go)
      if (Number.isFinite(ms)) clock.after(ms, go)
    }
    const collect = (): LaneEvent => {
      const settlements: Array<Settlement> = []
      for (const { items } of batches)
        for (const item of items) {
          const { fence, jobId, sessionId } = item.job
          if (item.state === "waits") {
            const hand = hands.get(sessionId) ?? []
            hand.splice(hand.indexOf(item), 1)
            bulkhead.released(sessionId, [{ crashCount: 0 }])
            backlogs.get(sessionId)?.unshift(item.dueAt)
          } else if (item.state !== "ended") continue
          const outcome =
            item.state === "ended"
              ? Outcome.Accepted({ providerId: null, status: "accepted" })
              : Outcome.Released({ maybeSent: false })
          item.state = "settled"
          settlements.push({ jobId, fence, index: 0, outcome })
        }
      batches = batches.filter(({ items }) => items.some(({ state }) => state !== "settled"))
      if (settlements.some(({ outcome }) => outcome._tag === "Released")) freed()
      return { _tag: "Collected", settlements, batches: batches.map(({ id }) => ({ id, worker: "worker" })) }
    }
    const dueTimes = new Map<DispatchedJob, Instant>()
    const claim = (limit: number, claiming: Asking): ReadonlyArray<DispatchedJob> => {
      const claimed: Array<DispatchedJob> = []
      let before: number | null = null
      const from = turn
      for (let place = 0; place < circle.length && claimed.length < limit; place += 1) {
        const id = circle[(from + place) % circle.length] ?? ""
        turn = (from + place + 1) % circle.length
        const backlog = backlogs.get(id) ?? []
        if (backlog.length === 0) continue
        const room = bulkhead.grant(claiming, id, false, before, clock.now)
        const some = backlog.splice(0, Math.min(room, limit - claimed.length))
        before = some.length
        for (const dueAt of some) {
          messages += 1
          const job = jobOf(id, messages)
          dueTimes.set(job, dueAt)
          claimed.push(job)
        }
      }
      return claimed
    }
    const attempt = (claimed: ReadonlyArray<DispatchedJob>): void => {
      lastId += 1
      const batch: Batch = { id: lastId, items: [], onEnd: () => {} }
      for (const job of claimed) {
        const item: InHand = { job, dueAt: dueTimes.get(job) ?? 0, batch, state: "waits" }
        dueTimes.delete(job)
        batch.items.push(item)
        if (asking !== null) bulkhead.claimed(asking, job.sessionId, [{ crashCount: 0 }])
        const hand = hands.get(job.sessionId)
        if (hand === undefined) hands.set(job.sessionId, [item])
        else hand.push(item)
      }
      batches.push(batch)
      endClaim()
      begin()
      step({
        _tag: "Started",
        batches: batches.map(({ id }) => ({ id, worker: "worker" })),
        awaited: batch.id
      })
    }
    const perform = (request: LaneRequest): void => {
      switch (request._tag) {
        case "Collect":
          step(collect())
          break
        case "AwaitSlot":
          once(
            request.forMs ?? Number.POSITIVE_INFINITY,
            (go) => {
              waiting.add(go)
              for (const batch of batches) batch.onEnd = go
              return () => waiting.delete(go)
            },
            { _tag: "Ready" }
          )
          break
        case "SettleAndClaim":
          commits += 1
          clock.after(commitMs, () => {
            const { limit } = request
            step({ _tag: "Stored", claimed: limit === null || asking === null ? [] : claim(limit, asking) })
          })
          break
        case "Attempt":
          attempt(request.claimed)
          break
        case "AwaitBatch": {
          const batch = batches.find(({ id }) => id === request.batch)
          const isOver = (): boolean =>
            batch?.items.every(({ state }) => state === "ended" || state === "settled") ?? true
          once(
            isOver() ? 0 : patienceMs,
            (go) => {
              if (batch !== undefined)
                batch.onEnd = () => {
                  if (isOver()) go()
                }
              return () => {}
            },
            { _tag: "Waited" }
          )
          break
        }
        case "Rest":
          once(
            restMs,
            (go) => {
              resting.push(go)
              return () => {
                const at = resting.indexOf(go)
                if (at >= 0) resting.splice(at, 1)
              }
            },
            { _tag: "Ready" }
          )
          break
        default:
          throw new Error(`A lane asked for ${request._tag}.`)
      }
    }
    clock.after(0, () => step({ _tag: "Ready" }))
  }

  for (const [id, { feed }] of Object.entries(platforms))
    for (const { at, count } of feed)
      clock.after(at, () => {
        for (let i = 0; i < count; i += 1) backlogs.get(id)?.push(at)
        resting.pop()?.()
      })
  for (let place = 0; place < lanes; place += 1) lane()
  clock.runUntil(until)
  return { delays, begun, commits, most }
}

const jobOf = (sessionId: string, number: number): DispatchedJob => ({
  jobId: String(number),
  accountId: "account",
  sessionId,
  session: {
    id: sessionId,
    provider: "sandbox",
    config: "",
    connectedSince: 0,
    retryForMs: null,
    closedMarkets: null
  },
  category: null,
  content: { kind: "direct", text: "Hello", linkPreview: false },
  fence: 1,
  probe: false,
  recipients: [
    { index: 0, phone: "", values: [], attempts: 1, firstAttemptAt: 0, maybeSent: false, crashCount: 0 }
  ]
})
