/**
 * The webhook loop, as data. It collects answers, stores them and claims due deliveries in one commit, begins their
 * attempts, and collects again; it waits for none of them, so a slow receiver holds up nobody (`EndpointLimits`):
 *
 *     collect ──▶ settle + claim ──▶ attempt ──▶ collect …
 *        │               │ nothing claimed ─▶ look when the next is due ─▶ rest
 *        │               │ refused for its content ─▶ half of it, then half of that ─┐
 *        │               └ failed ─▶ prove the store ─▶ back off                     │
 *        └ nothing answered ─▶ look: due now ─▶ claim; later ─▶ rest                 │
 *                ▲───────────────────────────────────────────────────────────────────┘
 *
 * {@link next} decides and performs nothing; `WebhookLoop` performs what it decides and answers with one event.
 *
 * The rules of the loop, each with the function that has it:
 *
 * - Answers are stored with the next claim, in one commit (`store`). `Settling` has the rules of what becomes of them, of
 *   names that are given up, and of answers that a store refuses.
 * - The loop is woken by every commit that may have told something, and most tell nobody anything: without an answer it
 *   looks what is due before it claims (`decide`). What a claim does not bring though it is due another process has in
 *   hand, or a rate holds it back; the loop rests then instead of claiming again (`looked`).
 * - Without a free slot nothing is claimed, and the loop rests until an answer wakes it (`decide`).
 * - Once the grace period has begun nothing is claimed (`decide`). What a commit claimed meanwhile is attempted: nothing
 *   else would make it due again before a rescue.
 * - Attempts that could not be begun are left to the rescue: the name is given up (`next`, Ready). So are those that may be
 *   another's by now, since the store heard nothing of this process for a while (`collected`).
 * - An interrupted loop gives what is under way a little of the grace period, stores what it brought, and deregisters its
 *   names (`next`, Interrupted). What is under way then is due again, and comes twice if it arrived.
 */
import type * as Cause from "effect/Cause"
import type { Moment } from "../runtime/Moment.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import * as Settling from "./Settling.ts"

/** The event that the loop waits for. Each phase but the last has asked for exactly one. */
export type Phase =
  | { readonly _tag: "Resting" }
  /** `isEmpty`: the last claim brought nothing. */
  | { readonly _tag: "Collecting"; readonly isEmpty: boolean }
  | { readonly _tag: "Looking"; readonly isEmpty: boolean }
  | { readonly _tag: "Storing"; readonly commit: Settling.Commit }
  | {
      readonly _tag: "Proving"
      readonly commit: Settling.Commit
      readonly cause: Cause.Cause<StorageError>
    }
  | { readonly _tag: "Registering" }
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Pausing" }
  | { readonly _tag: "BackingOff" }
  | { readonly _tag: "Left" }

/** Everything the loop remembers between two steps. */
export interface WebhookState extends Settling.Settling<DeliverySettlement> {
  readonly phase: Phase
  /** The names under which deliveries are under way, or were when the loop looked last. */
  readonly inUse: ReadonlySet<string>
}

/** The state of the process when an event arrives. */
export interface Facts {
  readonly now: Moment
  /** Deliveries that may be under way beside those that are. */
  readonly slots: number
  /** True once the grace period has begun. */
  readonly stopping: boolean
  /** True when nothing is left of it. */
  readonly graceIsOver: boolean
}

export type WebhookEvent =
  /** The loop was opened, woken, or has waited long enough. */
  | { readonly _tag: "Ready" }
  /** The answers since the last collection, and the names under which deliveries are still under way. */
  | {
      readonly _tag: "Collected"
      readonly settlements: ReadonlyArray<DeliverySettlement>
      readonly inUse: ReadonlySet<string>
      /** True when some were not attempted, since a rescue may have taken them back. */
      readonly left: boolean
    }
  /** The time until something may be claimed for a receiver that may have it; null when nothing waits. */
  | { readonly _tag: "Looked"; readonly inMs: number | null }
  | { readonly _tag: "Stored"; readonly claimed: ReadonlyArray<ClaimedDelivery> }
  | Settling.NotStored
  /** Tells whether a heartbeat could be written after a commit failed: then the store works. */
  | { readonly _tag: "Proved"; readonly works: boolean }
  | { readonly _tag: "Registered"; readonly worker: string }
  | { readonly _tag: "Started" }
  | { readonly _tag: "Interrupted" }

/** Performed by the interpreter, and answered with the next event. Exactly one in each step. */
export type WebhookRequest =
  | { readonly _tag: "Collect" }
  | { readonly _tag: "Look" }
  /** One commit: stores the answers and, when `limit` is not null, claims up to so many deliveries. */
  | {
      readonly _tag: "SettleAndClaim"
      readonly settlements: ReadonlyArray<DeliverySettlement>
      readonly worker: string
      readonly limit: number | null
    }
  | {
      readonly _tag: "Attempt"
      readonly claimed: ReadonlyArray<ClaimedDelivery>
      readonly worker: string
    }
  | { readonly _tag: "Prove" }
  | { readonly _tag: "Register" }
  /** Waits for a notice, and no longer than this; null = until it is time to look anyway. */
  | { readonly _tag: "Rest"; readonly inMs: number | null }
  /** At a stop: waits for `Settling.pauseMs`. */
  | { readonly _tag: "Pause" }
  | { readonly _tag: "BackOff"; readonly cause: Cause.Cause<StorageError> }
  /** Gives what is under way a little of the grace period, and collects. */
  | { readonly _tag: "StopDeliveries" }
  /** Deregisters the loop's names. The last one, which nothing answers. */
  | { readonly _tag: "Leave"; readonly workers: ReadonlyArray<string> }

/** Performed before the request, in their order; nothing answers them. */
export type WebhookNotice =
  | { readonly _tag: "Deregister"; readonly workers: ReadonlyArray<string> }
  | Settling.ReportRefused<DeliverySettlement>
  | Settling.ReportUnsettled<DeliverySettlement>

export type Transition = readonly [
  state: WebhookState,
  notices: ReadonlyArray<WebhookNotice>,
  request: WebhookRequest
]

const none: ReadonlyArray<WebhookNotice> = []
const noName: ReadonlySet<string> = new Set()

export const make = (worker: string): WebhookState => ({
  ...Settling.make(worker),
  phase: { _tag: "Resting" },
  inUse: noName
})

/** Of an attempt, the excerpt is what a receiver wrote. */
const plainOf = (settlement: DeliverySettlement): DeliverySettlement | null =>
  settlement.attempt.excerpt === ""
    ? null
    : { ...settlement, attempt: { ...settlement.attempt, excerpt: "" } }

const kind: Settling.Kind<DeliverySettlement> = { plainOf, subjectOf: ({ deliveryId }) => deliveryId }

const collect = (state: WebhookState, isEmpty = false): Transition => [
  { ...state, phase: { _tag: "Collecting", isEmpty } },
  none,
  { _tag: "Collect" }
]

const rest = (state: WebhookState, inMs: number | null): Transition => [
  { ...state, phase: { _tag: "Resting" } },
  none,
  { _tag: "Rest", inMs }
]

const pause = (state: WebhookState): Transition => [
  { ...state, phase: { _tag: "Pausing" } },
  none,
  { _tag: "Pause" }
]

const backOff = (state: WebhookState, cause: Cause.Cause<StorageError>): Transition => [
  { ...state, phase: { _tag: "BackingOff" } },
  none,
  { _tag: "BackOff", cause }
]

/** The last transition. */
const endLoop = (state: WebhookState): Transition => [
  { ...state, settlements: [], phase: { _tag: "Left" } },
  none,
  { _tag: "Leave", workers: [...state.retired, state.worker] }
]

const noticing = (first: ReadonlyArray<WebhookNotice>, [state, notices, request]: Transition): Transition => [
  state,
  first.length === 0 ? notices : [...first, ...notices],
  request
]

const deregistering = (workers: ReadonlyArray<string>, transition: Transition): Transition =>
  noticing(workers.length === 0 ? none : [{ _tag: "Deregister", workers }], transition)

/** Stores answers, and claims when that is possible. */
const store = (state: WebhookState, { slots, stopping }: Facts): Transition => {
  const claims = !stopping && slots > 0 && Settling.mayClaim(state)
  const settlements = Settling.portionOf(state)
  return [
    { ...state, phase: { _tag: "Storing", commit: { settling: settlements.length, claims } } },
    none,
    { _tag: "SettleAndClaim", settlements, worker: state.worker, limit: claims ? slots : null }
  ]
}

/** After a collection. */
const decide = (before: WebhookState, isEmpty: boolean, facts: Facts): Transition => {
  const state = Settling.recall(before, facts.now)
  const { doubtful, interrupted, settlements } = state
  if (settlements.length > 0) return store(state, facts)
  if (interrupted) return endLoop(state)
  if (facts.stopping) return rest(state, null)
  if (doubtful) return store(state, facts)
  if (facts.slots <= 0) return rest(state, null)
  return [{ ...state, phase: { _tag: "Looking", isEmpty } }, none, { _tag: "Look" }]
}

const looked = (state: WebhookState, isEmpty: boolean, inMs: number | null, facts: Facts): Transition =>
  inMs === null || inMs > 0 || isEmpty || facts.stopping || facts.slots <= 0
    ? rest(state, inMs)
    : store(state, facts)

/** After a commit that was answered. */
const stored = (
  before: WebhookState,
  { claims, settling }: Settling.Commit,
  claimed: ReadonlyArray<ClaimedDelivery>,
  facts: Facts
): Transition => {
  const [state, silent] = Settling.stored(before, settling, before.inUse)
  const then = (): Transition => {
    const { worker } = state
    if (claimed.length > 0) {
      const inUse = new Set([...state.inUse, worker])
      const request = { _tag: "Attempt", claimed, worker } as const
      return [{ ...state, inUse, phase: { _tag: "Starting" } }, none, request]
    }
    if (state.settlements.length > 0) return store(state, facts)
    if (state.interrupted) return endLoop(state)
    if (state.doubtful && !facts.stopping)
      return [{ ...state, phase: { _tag: "Registering" } }, none, { _tag: "Register" }]
    return collect(state, claims)
  }
  return deregistering(silent, then())
}

/** After a commit that failed, or whose answer was lost. */
const notStored = (
  before: WebhookState,
  commit: Settling.Commit,
  event: Settling.NotStored,
  facts: Facts
): Transition => {
  const [state, notices, then] = Settling.failed(before, commit, event, kind, facts)
  const { cause } = event
  switch (then) {
    case "store":
      return noticing(notices, store(state, facts))
    case "pause":
      return noticing(notices, pause(state))
    case "leave":
      return noticing(notices, endLoop(state))
    case "backOff":
      return backOff(state, cause)
    case "prove":
      return [{ ...state, phase: { _tag: "Proving", commit, cause } }, none, { _tag: "Prove" }]
  }
}

type Seen<Tag> = Extract<WebhookEvent, { readonly _tag: Tag }>

const collected = (before: WebhookState, event: Seen<"Collected">, facts: Facts): Transition => {
  const { phase } = before
  const { inUse, left } = event
  const settlements =
    before.settlements.length === 0 ? event.settlements : [...before.settlements, ...event.settlements]
  const isEmpty = phase._tag === "Collecting" && phase.isEmpty
  // A loop with nothing to do makes no commit, and a name must not wait for one.
  const [state, silent] = Settling.release(
    { ...before, settlements, inUse, doubtful: before.doubtful || left },
    inUse
  )
  return deregistering(silent, decide(state, isEmpty, facts))
}

/** After the store was asked whether it works at all. */
const proved = (state: WebhookState, { works }: Seen<"Proved">, { now }: Facts): Transition => {
  const { phase } = state
  if (phase._tag !== "Proving") return collect(state)
  if (!works) return backOff(state, phase.cause)
  const [narrowed, notices] = Settling.proved(state, phase.commit, phase.cause, kind, now)
  return noticing(notices, backOff(narrowed, phase.cause))
}

/** The whole protocol of the loop. Total: an event that the phase has not asked for starts the next collection. */
export const next = (state: WebhookState, event: WebhookEvent, facts: Facts): Transition => {
  const { phase } = state
  if (phase._tag === "Left") return [state, none, { _tag: "Leave", workers: [] }]
  switch (event._tag) {
    case "Ready":
      return collect(phase._tag === "Starting" ? { ...state, doubtful: true } : state)
    case "Collected":
      return collected(state, event, facts)
    case "Looked":
      return phase._tag === "Looking" ? looked(state, phase.isEmpty, event.inMs, facts) : collect(state)
    case "Stored":
      return phase._tag === "Storing" ? stored(state, phase.commit, event.claimed, facts) : collect(state)
    case "NotStored":
      return phase._tag === "Storing" ? notStored(state, phase.commit, event, facts) : collect(state)
    case "Proved":
      return proved(state, event, facts)
    case "Registered":
      return collect(Settling.renamed(state, event.worker))
    case "Started":
      return collect(state)
    case "Interrupted":
      return [
        { ...Settling.recallAll(state), interrupted: true, phase: { _tag: "Collecting", isEmpty: false } },
        none,
        { _tag: "StopDeliveries" }
      ]
  }
}
