/** The protocol of the webhook loop, row by row: what it does at an event, and what it remembers then. */
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as FastCheck from "effect/FastCheck"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Facts, Phase, WebhookEvent } from "../../src/worker/WebhookState.ts"
import * as WebhookState from "../../src/worker/WebhookState.ts"

const cause = Cause.fail(new StorageError({ operation: "exchange", cause: "lost" }))
const facts: Facts = { now: 0, slots: 16, stopping: false, graceIsOver: false }
const stopping = { stopping: true }
const full = { slots: 0 }

const settlement = (place: number, excerpt = "words of the receiver"): DeliverySettlement => ({
  deliveryId: `d${place}`,
  fence: 1,
  attempt: { at: 0, status: 500, durationMs: 1, reason: "status", excerpt },
  next: 5000,
  disable: null
})
const [s0, s1] = [settlement(0), settlement(1)]
const endpoint = Fixtures.endpoint("account")
const delivery = (place: number): ClaimedDelivery => ({
  deliveryId: `d${place}`,
  fence: 1,
  endpoint,
  eventId: `e${place}`,
  body: "{}",
  attempts: 0,
  firstAttemptAt: null
})

const ready: WebhookEvent = { _tag: "Ready" }
const started: WebhookEvent = { _tag: "Started" }
const interrupted: WebhookEvent = { _tag: "Interrupted" }
const collected = (
  settlements: ReadonlyArray<DeliverySettlement> = [],
  ...inUse: ReadonlyArray<string>
): WebhookEvent => ({ _tag: "Collected", settlements, inUse: new Set(inUse), left: false })
const looked = (inMs: number | null): WebhookEvent => ({ _tag: "Looked", inMs })
const stored = (...places: ReadonlyArray<number>): WebhookEvent => ({
  _tag: "Stored",
  claimed: places.map(delivery)
})
const failed: WebhookEvent = { _tag: "NotStored", cause, refused: false, doubtful: true }
const refused: WebhookEvent = { _tag: "NotStored", cause, refused: true, doubtful: false }
const works: WebhookEvent = { _tag: "Proved", works: true }
const down: WebhookEvent = { _tag: "Proved", works: false }
const registered: WebhookEvent = { _tag: "Registered", worker: "w2" }
/** The events as a store would tell them: it gives each name once. */
const named = (events: ReadonlyArray<readonly [WebhookEvent, Facts]>) => {
  let names = 1
  return events.map(
    ([event, facts]) =>
      [event._tag === "Registered" ? { ...event, worker: `w${++names}` } : event, facts] as const
  )
}

const collecting: Phase = { _tag: "Collecting", isEmpty: false }
const afterNothing: Phase = { _tag: "Collecting", isEmpty: true }
const looking: Phase = { _tag: "Looking", isEmpty: false }
const storing = (settling = 0, claims = true): Partial<WebhookState.WebhookState> => ({
  phase: { _tag: "Storing", commit: { settling, claims } }
})
const proving = (settling: number, claims = false): Partial<WebhookState.WebhookState> => ({
  phase: { _tag: "Proving", commit: { settling, claims }, cause }
})

interface Row {
  readonly title: string
  readonly from: Partial<WebhookState.WebhookState>
  readonly event: WebhookEvent
  readonly facts?: Partial<Facts>
  /** The tags of its notices and its request. */
  readonly does: string
  /** Of the request. */
  readonly with?: object
  readonly becomes?: object
}

const rows: ReadonlyArray<Row> = [
  { title: "that is ready collects", from: {}, event: ready, does: "Collect" },
  {
    title: "stores answers and claims in the same commit",
    from: { phase: collecting },
    event: collected([s0], "w1"),
    does: "SettleAndClaim",
    with: { settlements: [s0], worker: "w1", limit: 16 },
    becomes: { settlements: [s0] }
  },
  {
    title: "without a free slot stores its answers all the same",
    from: { phase: collecting },
    event: collected([s0]),
    facts: full,
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null }
  },
  {
    title: "claims beside an answer that is set aside",
    from: { phase: collecting, aside: [s0], asideUntil: 31_000 },
    event: collected([s1]),
    facts: { now: 30_999 },
    does: "SettleAndClaim",
    with: { settlements: [s1], limit: 16 }
  },
  {
    title: "stores it again after half a minute, though no other answer came",
    from: { phase: collecting, aside: [s0, s1], asideUntil: 31_000 },
    event: collected(),
    facts: { now: 31_000 },
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null },
    becomes: { aside: [s1], recalling: true }
  },
  {
    title: "gives up its name for deliveries that may be another's by now",
    from: { phase: collecting },
    event: { _tag: "Collected", settlements: [], inUse: new Set(), left: true },
    does: "SettleAndClaim",
    with: { settlements: [], limit: null },
    becomes: { doubtful: true }
  },
  {
    title: "without an answer looks before it claims",
    from: { phase: collecting },
    event: collected(),
    does: "Look"
  },
  {
    title: "without a free slot rests until an answer wakes it",
    from: { phase: collecting },
    event: collected(),
    facts: full,
    does: "Rest",
    with: { inMs: null }
  },
  {
    title: "claims what is due now",
    from: { phase: looking },
    event: looked(0),
    does: "SettleAndClaim",
    with: { settlements: [], limit: 16 }
  },
  {
    title: "rests until something is due",
    from: { phase: looking },
    event: looked(700),
    does: "Rest",
    with: { inMs: 700 },
    becomes: { phase: { _tag: "Resting" } }
  },
  {
    title: "rests when nothing waits",
    from: { phase: looking },
    event: looked(null),
    does: "Rest",
    with: { inMs: null }
  },
  {
    title: "attempts what it claimed",
    from: { ...storing(1), settlements: [s0] },
    event: stored(5, 6),
    does: "Attempt",
    with: { claimed: [delivery(5), delivery(6)], worker: "w1" },
    becomes: { phase: { _tag: "Starting" }, settlements: [], inUse: new Set(["w1"]) }
  },
  {
    title: "waits for none of its attempts",
    from: { phase: { _tag: "Starting" } },
    event: started,
    does: "Collect"
  },
  {
    title: "leaves to the rescue what it could not begin",
    from: { phase: { _tag: "Starting" } },
    event: ready,
    does: "Collect",
    becomes: { doubtful: true }
  },
  {
    title: "collects again after a claim that brought nothing",
    from: storing(),
    event: stored(),
    does: "Collect",
    becomes: { phase: { _tag: "Collecting", isEmpty: true } }
  },
  {
    title: "does not claim again what the last claim did not bring, though it is due",
    from: { phase: { _tag: "Looking", isEmpty: true } },
    event: looked(0),
    does: "Rest",
    with: { inMs: 0 }
  },
  {
    title: "claims with the answers that came meanwhile, though the last claim brought nothing",
    from: { phase: afterNothing },
    event: collected([s0]),
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: 16 }
  },
  {
    title: "claims nothing once the grace period has begun",
    from: { phase: collecting },
    event: collected([s0]),
    facts: stopping,
    does: "SettleAndClaim",
    with: { limit: null }
  },
  {
    title: "rests in the grace period while nothing is answered",
    from: { phase: collecting },
    event: collected(),
    facts: stopping,
    does: "Rest"
  },
  {
    title: "attempts what a commit claimed though the grace period has begun",
    from: storing(),
    event: stored(5),
    facts: stopping,
    does: "Attempt"
  },
  {
    title: "keeps what a failed commit had, and asks whether the store works",
    from: { ...storing(1), settlements: [s0] },
    event: failed,
    does: "Prove",
    becomes: { settlements: [s0], doubtful: true }
  },
  {
    title: "backs off after a failed claim alone",
    from: storing(),
    event: failed,
    does: "BackOff",
    with: { cause },
    becomes: { doubtful: true }
  },
  {
    title: "claims nothing more under a doubtful name, and makes a commit to see the store work",
    from: { phase: collecting, doubtful: true },
    event: collected(),
    does: "SettleAndClaim",
    with: { settlements: [], limit: null }
  },
  {
    title: "backs off while the store is down, and halves nothing",
    from: { ...proving(2), settlements: [s0, s1] },
    event: down,
    does: "BackOff",
    becomes: { settlements: [s0, s1], portion: null, refusals: 0 }
  },
  {
    title: "halves what a working store refused twice without saying so",
    from: { ...proving(2), settlements: [s0, s1], refusals: 1 },
    event: works,
    does: "BackOff",
    becomes: { portion: 1 }
  },
  {
    title: "takes a new name when a commit was answered",
    from: { ...storing(0, false), doubtful: true },
    event: stored(),
    does: "Register"
  },
  {
    title: "gives up the doubtful name",
    from: { phase: { _tag: "Registering" }, doubtful: true },
    event: registered,
    does: "Collect",
    becomes: { worker: "w2", retired: ["w1"], doubtful: false }
  },
  {
    title: "keeps a name alive that was given up while something is under way under it",
    from: { ...storing(1), settlements: [s0], retired: ["w0"], inUse: new Set(["w0"]) },
    event: stored(),
    does: "Collect",
    becomes: { retired: ["w0"] }
  },
  {
    title: "deregisters a name that was given up when nothing is under way under it",
    from: { ...storing(1), settlements: [s0], retired: ["w0"] },
    event: stored(),
    does: "Deregister Collect",
    becomes: { retired: [] }
  },
  {
    title: "deregisters it without a commit, when there is nothing to store",
    from: { phase: collecting, retired: ["w0"], inUse: new Set(["w0"]) },
    event: collected(),
    does: "Deregister Look",
    becomes: { retired: [] }
  },
  {
    title: "stores refused answers apart from the claim, at once",
    from: { ...storing(2), settlements: [s0, s1] },
    event: refused,
    does: "SettleAndClaim",
    with: { settlements: [s0, s1], limit: null }
  },
  {
    title: "stores them by halves",
    from: { ...storing(2, false), settlements: [s0, s1], portion: 2 },
    event: refused,
    does: "SettleAndClaim",
    with: { settlements: [s0] }
  },
  {
    title: "stores without the receiver's words what is refused alone, and says so",
    from: { ...storing(1, false), settlements: [s0, s1], portion: 1 },
    event: refused,
    does: "ReportRefused SettleAndClaim",
    with: { settlements: [settlement(0, "")] }
  },
  {
    title: "leaves to the rescue what is refused in every form, and goes on with the others",
    from: { ...storing(1, false), settlements: [settlement(0, ""), s1], portion: 1 },
    event: refused,
    does: "ReportRefused SettleAndClaim",
    with: { settlements: [s1] },
    becomes: { doubtful: true }
  },
  {
    title: "that is interrupted stops its deliveries",
    from: { settlements: [s0] },
    event: interrupted,
    does: "StopDeliveries",
    becomes: { interrupted: true, settlements: [s0] }
  },
  {
    title: "that leaves stores what its last attempts brought, without a claim",
    from: { phase: collecting, interrupted: true, settlements: [s0] },
    event: collected([s1]),
    does: "SettleAndClaim",
    with: { settlements: [s0, s1], limit: null }
  },
  {
    title: "that leaves deregisters its names when all is stored",
    from: {
      ...storing(1, false),
      interrupted: true,
      settlements: [s0],
      retired: ["w0"],
      inUse: new Set(["w0"])
    },
    event: stored(),
    does: "Leave",
    with: { workers: ["w0", "w1"] },
    becomes: { phase: { _tag: "Left" } }
  },
  {
    title: "that leaves makes a commit that failed again while the grace lasts",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], refusals: 9 },
    event: failed,
    facts: stopping,
    does: "Pause"
  },
  {
    title: "that leaves says what it could not store, when the grace is over",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], refusals: 2 },
    event: failed,
    facts: { stopping: true, graceIsOver: true },
    does: "ReportUnsettled Leave"
  },
  {
    title: "that has left does nothing more",
    from: { phase: { _tag: "Left" } },
    event: ready,
    does: "Leave",
    with: { workers: [] }
  }
]

describe("the webhook loop", () => {
  for (const { becomes = {}, does, event, facts: some, from, title, with: last } of rows) {
    it(title, () => {
      const state = { ...WebhookState.make("w1"), ...from }
      const [after, notices, request] = WebhookState.next(state, event, { ...facts, ...some })
      expect([...notices, request].map(({ _tag }) => _tag).join(" ")).toBe(does)
      if (last !== undefined) expect(request).toMatchObject(last)
      expect(after).toMatchObject(becomes)
    })
  }
})

describe("the webhook loop, whatever comes in whatever order,", () => {
  it("loses no answer and no delivery, claims nothing that it must not, and gives up no name too soon", () => {
    let place = 0
    const names = FastCheck.subarray(["w1", "w2", "w3", "w4"])
    const fresh = FastCheck.tuple(FastCheck.nat(5), names).map(([count, inUse]) =>
      collected(
        Array.from({ length: count }, () => settlement(place++)),
        ...inUse
      )
    )
    const event = FastCheck.oneof(
      fresh,
      FastCheck.constantFrom<WebhookEvent>(
        ready,
        started,
        looked(0),
        looked(5),
        looked(null),
        stored(),
        stored(1, 2),
        failed,
        refused,
        works,
        down,
        registered,
        interrupted
      )
    )
    const someFacts = FastCheck.record({
      now: FastCheck.nat(100_000),
      slots: FastCheck.nat(3),
      stopping: FastCheck.boolean(),
      graceIsOver: FastCheck.boolean()
    })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(event, someFacts), { maxLength: 60 }), (events) => {
        let state = WebhookState.make("w1")
        for (const [each, facts] of named(events)) {
          const [after, notices, request] = WebhookState.next(state, each, facts)
          if (state.phase._tag === "Left") continue
          const isAnswered = each._tag === "Stored" && state.phase._tag === "Storing"
          const settling = state.phase._tag === "Storing" ? state.phase.commit.settling : 0
          const known = [...state.settlements, ...(each._tag === "Collected" ? each.settlements : [])]
          const accounted = new Set(
            [
              ...(isAnswered ? state.settlements.slice(0, settling) : []),
              ...after.settlements,
              ...notices.flatMap((notice) => {
                if (notice._tag === "ReportUnsettled") return notice.settlements
                return notice._tag === "ReportRefused" && notice.left ? [notice.settlement] : []
              })
            ].map(({ deliveryId }) => deliveryId)
          )
          expect(known.filter(({ deliveryId }) => !accounted.has(deliveryId))).toEqual([])
          // What was claimed is attempted, or left to the rescue with its name.
          if (isAnswered && each.claimed.length > 0) expect(request._tag).toBe("Attempt")
          if (state.phase._tag === "Starting" && each._tag === "Ready") expect(after.doubtful).toBe(true)
          if (request._tag === "SettleAndClaim" && request.limit !== null) {
            expect([after.doubtful, after.interrupted, facts.stopping]).toEqual([false, false, false])
            expect(request.limit).toBeGreaterThan(0)
          }
          for (const notice of notices) {
            if (notice._tag !== "Deregister") continue
            expect(after.settlements).toEqual([])
            for (const worker of notice.workers) expect(after.inUse.has(worker)).toBe(false)
          }
          state = after
        }
      }),
      { numRuns: 300 }
    )
  })

  it("stores, cuts or reports every answer, also those that the store refuses for ever", () => {
    /** A store that refuses some answers, for ever or until they are cut, and that is down at times. */
    const world = FastCheck.record({
      bad: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 4 }),
      poison: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 2 }),
      says: FastCheck.boolean(),
      outage: FastCheck.nat(40)
    })
    FastCheck.assert(
      FastCheck.property(world, ({ bad, outage, poison, says }) => {
        let state = WebhookState.make("w1")
        let event: WebhookEvent = ready
        let isBrought = false
        const settled = new Map<string, string>()
        const reported: Array<string> = []
        const idsOf = (places: ReadonlyArray<number>) => places.map((each) => `d${each}`)
        const refuses = ({ attempt, deliveryId }: DeliverySettlement) =>
          idsOf(poison).includes(deliveryId) || (idsOf(bad).includes(deliveryId) && attempt.excerpt !== "")
        for (let step = 0; step < 2000; step++) {
          const [after, notices, request] = WebhookState.next(state, event, facts)
          state = after
          for (const notice of notices)
            if (notice._tag === "ReportRefused" && notice.left) reported.push(notice.settlement.deliveryId)
          if (request._tag === "Rest" && isBrought) break
          switch (request._tag) {
            case "Collect":
              event = collected(isBrought ? [] : Array.from({ length: 20 }, (_, place) => settlement(place)))
              isBrought = true
              break
            case "SettleAndClaim":
              if (step < outage) event = failed
              else if (request.settlements.some(refuses)) event = says ? refused : failed
              else {
                for (const { attempt, deliveryId } of request.settlements)
                  settled.set(deliveryId, attempt.excerpt)
                event = stored()
              }
              break
            case "Look":
              event = looked(null)
              break
            case "Prove":
              event = step < outage ? down : works
              break
            case "Register":
              event = registered
              break
            default:
              event = ready
          }
        }
        expect(state.settlements).toEqual([])
        for (let place = 0; place < 20; place++) {
          const whole = bad.includes(place) ? "" : s0.attempt.excerpt
          expect(settled.get(`d${place}`)).toBe(poison.includes(place) ? undefined : whole)
        }
        expect(reported.sort()).toEqual(idsOf(poison).sort())
      }),
      { numRuns: 40 }
    )
  })
})
