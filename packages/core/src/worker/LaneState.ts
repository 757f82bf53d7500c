/**
 * One lane of the send loop, as data. A lane collects outcomes, stores them and claims its next batch in one commit,
 * attempts the batch, waits for it, adapts the batch size, and collects again:
 *
 *     collect ──▶ settle + claim ──▶ attempt ──▶ wait ──▶ collect …
 *        ▲             │ nothing claimed ─▶ rest (and from there to the claim, where nothing is to be collected)
 *        │             │ refused for its content ─▶ half of it, then half of that ─┐
 *        │             └ failed ─▶ prove the store ─▶ back off                     │
 *        └───────────────────────────────────────┴─────────────────────────────────┘
 *
 * {@link next} decides and performs nothing; `SendLoop` performs what it decides and answers with one event.
 *
 * The rules of a lane, each with the function that has it:
 *
 * - Outcomes are stored with the next claim, in one commit (`store`). `Settling` has the rules of what becomes of them, of
 *   names that are given up, and of outcomes that a store refuses.
 * - A claim asks for the batch size, and at least for the free slots; a young process for what it can begin. Without a free
 *   slot nothing is claimed and the lane waits for one (`store`).
 * - Without room for so many beside what all lanes have claimed the lane waits, too, but for a tenth of a second: a platform that
 *   hangs with full batches must not keep others from theirs. What it has slots for needs no room (`claimOf`).
 * - A lane that rests and has nothing decides on a claim at once when it is woken (`woken`).
 * - A large claim wakes the next lane: there is probably more (`begin`). A lane that claimed nothing rests (`stored`).
 * - Once the grace period has begun nothing is claimed (`store`), and what a commit claimed meanwhile is released
 *   (`begin`). So is a batch that could not be started, before the lane backs off (`next`, NotStarted).
 * - An interrupted lane stops its batches, stores what they brought, and deregisters its names (`next`, Interrupted). A
 *   commit that fails then is made again within the grace period (`notStored`).
 *
 * The rules that a lane does not decide:
 *
 * - `SendLoop`: a commit is never interrupted, only waiting is. What is excluded from claims is excluded from `nextDue`.
 * - `Batch`: consent is asked for again; what cannot be prepared is
 *   released. Every outcome is collected once, and what failures ask of the engine is done before. After a collection
 *   nothing more of the batch begins. A lane waits for a second.
 * - `Attempt`: a sender that breaks costs its own recipient; interrupted attempts are due again or `unknown`.
 * - `FailureActions`: each cause is acted on once for a job and collection.
 * - `BatchSize`, `Bulkhead`: how much, of whom, and whose turn it is.
 * - `Loops`: a step that failed is logged and made again after a second. `Worker`: what a lane does when it rests, and
 *   when a drain ends. `GracePeriod`: one grace period for all. `Heartbeat`, `Rescue`: who lives, and what others left.
 * - `domain/job/Claiming`: sessions in turn, within pace, oldest first, a suspect alone of its session.
 */
import * as Arrays from "effect/Array"
import type * as Cause from "effect/Cause"
import type { Moment } from "../runtime/Moment.ts"
import type { DispatchedJob, Settlement } from "../storage/JobStore.ts"
import { Outcome } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as BatchSize from "./BatchSize.ts"
import * as PlainOutcome from "./PlainOutcome.ts"
import * as Settling from "./Settling.ts"

/** A batch that is not fully collected. */
export interface BatchView {
  readonly id: number
  /** The name under which it was claimed. */
  readonly worker: string
}

/** The batch that the lane waits for, and since when. */
interface Watched {
  readonly batch: number
  readonly since: Moment
}

/** The event that the lane waits for. Each phase but the last has asked for exactly one. */
export type Phase =
  | { readonly _tag: "Resting" }
  | { readonly _tag: "Collecting"; readonly watched: Watched | null }
  | { readonly _tag: "Full" }
  | { readonly _tag: "Storing"; readonly commit: Settling.Commit }
  | { readonly _tag: "Proving"; readonly commit: Settling.Commit; readonly cause: Cause.Cause<StorageError> }
  | { readonly _tag: "Registering" }
  | {
      readonly _tag: "Starting"
      readonly claimed: ReadonlyArray<DispatchedJob>
      readonly since: Moment
    }
  | { readonly _tag: "Watching"; readonly watched: Watched }
  | { readonly _tag: "Pausing" }
  | { readonly _tag: "BackingOff" }
  | { readonly _tag: "Left" }

/** Everything a lane remembers between two steps. */
export interface LaneState extends Settling.Settling<Settlement> {
  readonly phase: Phase
  readonly batches: ReadonlyArray<BatchView>
  /** Recipients that the next claim asks for (`BatchSize`). */
  readonly size: number
  /** The smallest batch, and as many as wake the next lane. */
  readonly least: number
  /** Until when the lane waits for room for a batch of its size; null while it does not. */
  readonly crowdedUntil: Moment | null
}

/** The state of the process when an event arrives. Passed in, so that {@link next} reads no clock and no shared state. */
export interface Facts {
  readonly now: Moment
  /** Attempts that may begin now. */
  readonly free: number
  /** Attempts that may begin now beside all that lanes have in hand. */
  readonly spare: number
  /** Recipients that may be claimed beside what all lanes have in hand. */
  readonly room: number
  /** True of a process that claims no more than it can begin at once. */
  readonly young: boolean
  /** True once the grace period has begun. */
  readonly stopping: boolean
  /** True when nothing is left of it. */
  readonly graceIsOver: boolean
}

export type LaneEvent =
  /** The lane was opened, woken, has waited long enough, or an outcome came. */
  | { readonly _tag: "Ready" }
  /** The outcomes since the last collection; their failure actions are already applied. */
  | {
      readonly _tag: "Collected"
      readonly settlements: ReadonlyArray<Settlement>
      readonly batches: ReadonlyArray<BatchView>
    }
  | { readonly _tag: "Stored"; readonly claimed: ReadonlyArray<DispatchedJob> }
  | Settling.NotStored
  /** Tells whether a heartbeat could be written after a commit failed: then the store works. */
  | { readonly _tag: "Proved"; readonly works: boolean }
  | { readonly _tag: "Registered"; readonly worker: string }
  /** All batches, and the new one to wait for; null when there are only suspects, which wait for their sessions. */
  | { readonly _tag: "Started"; readonly batches: ReadonlyArray<BatchView>; readonly awaited: number | null }
  | { readonly _tag: "NotStarted"; readonly cause: Cause.Cause<StorageError> }
  /** The awaited batch ended, or the lane's patience did. */
  | { readonly _tag: "Waited" }
  | { readonly _tag: "Interrupted" }

/** Performed by the interpreter, and answered with the next event. Exactly one in each step. */
export type LaneRequest =
  | { readonly _tag: "Collect" }
  /** Waits for a slot or for room, so long at the most; null = however long. */
  | { readonly _tag: "AwaitSlot"; readonly forMs: number | null }
  /** One commit: stores the outcomes and, when `limit` is not null, claims up to so many recipients. */
  | {
      readonly _tag: "SettleAndClaim"
      readonly settlements: ReadonlyArray<Settlement>
      readonly worker: string
      readonly limit: number | null
    }
  | { readonly _tag: "Prove" }
  | { readonly _tag: "Register" }
  | {
      readonly _tag: "Attempt"
      readonly claimed: ReadonlyArray<DispatchedJob>
      readonly worker: string
    }
  | { readonly _tag: "AwaitBatch"; readonly batch: number }
  | { readonly _tag: "Rest" }
  /** At a stop: waits for `Settling.pauseMs`. */
  | { readonly _tag: "Pause" }
  | { readonly _tag: "BackOff"; readonly cause: Cause.Cause<StorageError> }
  /** Gives every batch the rest of the grace period, interrupts it then, and collects. */
  | { readonly _tag: "StopBatches" }
  /** Deregisters the lane's names. The last one, which nothing answers. */
  | { readonly _tag: "Leave"; readonly workers: ReadonlyArray<string> }

/** Performed before the request, in their order; nothing answers them. */
export type LaneNotice =
  | { readonly _tag: "Deregister"; readonly workers: ReadonlyArray<string> }
  /** The same for names of which nothing was attempted that they may still have. */
  | { readonly _tag: "GiveBack"; readonly workers: ReadonlyArray<string> }
  | { readonly _tag: "WakeNextLane" }
  | { readonly _tag: "ReportStored"; readonly settled: number; readonly claimed: number }
  | Settling.ReportRefused<Settlement>
  | Settling.ReportUnsettled<Settlement>

export type Transition = readonly [state: LaneState, notices: ReadonlyArray<LaneNotice>, request: LaneRequest]

const none: ReadonlyArray<LaneNotice> = []

const kind: Settling.Kind<Settlement> = { plainOf: PlainOutcome.of, subjectOf: ({ jobId }) => jobId }

export const make = (worker: string, least: number): LaneState => ({
  ...Settling.make(worker),
  phase: { _tag: "Resting" },
  batches: [],
  size: least,
  least,
  crowdedUntil: null
})

/** Due again at no cost: recipients that were claimed and will not be attempted. */
const released = (claimed: ReadonlyArray<DispatchedJob>): ReadonlyArray<Settlement> =>
  claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome: Outcome.Released({ maybeSent: false }) }))
  )

const countOf = (claimed: ReadonlyArray<DispatchedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

const collect = (state: LaneState, watched: Watched | null = null): Transition => [
  { ...state, phase: { _tag: "Collecting", watched } },
  none,
  { _tag: "Collect" }
]

const rest = (state: LaneState): Transition => [
  { ...state, phase: { _tag: "Resting" } },
  none,
  { _tag: "Rest" }
]

const pause = (state: LaneState): Transition => [
  { ...state, phase: { _tag: "Pausing" } },
  none,
  { _tag: "Pause" }
]

const backOff = (state: LaneState, cause: Cause.Cause<StorageError>): Transition => [
  { ...state, phase: { _tag: "BackingOff" } },
  none,
  { _tag: "BackOff", cause }
]

/** Gives names up under which something may be claimed. */
const givingUp = (
  { left }: LaneState,
  names: ReadonlyArray<string>
): readonly [notices: ReadonlyArray<LaneNotice>, attempted: ReadonlyArray<string>] => {
  const [unbegun, attempted] = Arrays.partition(names, (name) => left.includes(name))
  return [unbegun.length === 0 ? none : [{ _tag: "GiveBack", workers: unbegun }], attempted]
}

/** The last transition. */
const endLane = (state: LaneState): Transition => {
  const { batches, doubtful, retired, settlements, worker } = state
  const names = doubtful ? [...retired, worker] : retired
  const isSettled = settlements.length === 0 && batches.length === 0
  const [notices, attempted] = isSettled ? givingUp(state, names) : [none, names]
  return [
    { ...state, settlements: [], batches: [], phase: { _tag: "Left" } },
    notices,
    { _tag: "Leave", workers: doubtful ? attempted : [...attempted, worker] }
  ]
}

const noticing = (first: ReadonlyArray<LaneNotice>, [state, notices, request]: Transition): Transition => [
  state,
  first.length === 0 ? notices : [...first, ...notices],
  request
]

/** What a claim asks for now, and until when it waits for room beside what other lanes claimed; null where nothing is claimed. */
const claimOf = (
  state: LaneState,
  { free, now, room, spare, stopping, young }: Facts
): { readonly limit: number; readonly waitsUntil: Moment | null } | null => {
  const limit = young ? spare : Math.max(state.size, spare)
  if (state.interrupted || stopping || free <= 0 || limit <= 0 || !Settling.mayClaim(state)) return null
  // What is attempted at once is bounded by the slots.
  const fits = limit <= Math.max(room, spare)
  const until = fits ? now : (state.crowdedUntil ?? now + BatchSize.targetMs)
  return { limit, waitsUntil: until > now ? until : null }
}

/** Stores outcomes and claims, as far as there is something of the kind to do. */
const store = (before: LaneState, facts: Facts): Transition => {
  const recalled = Settling.recall<Settlement, LaneState>(before, facts.now)
  const claim = claimOf(recalled, facts)
  const crowdedUntil = claim === null ? null : claim.waitsUntil
  const claims = claim !== null && crowdedUntil === null
  const state = recalled.crowdedUntil === crowdedUntil ? recalled : { ...recalled, crowdedUntil }
  const { doubtful, interrupted, settlements, worker } = state
  if (!claims && settlements.length === 0) {
    if (interrupted) return endLane(state)
    if (facts.stopping) return rest(state)
    const forMs = crowdedUntil === null ? null : crowdedUntil - facts.now
    if (!doubtful) return [{ ...state, phase: { _tag: "Full" } }, none, { _tag: "AwaitSlot", forMs }]
  }
  const some = Settling.portionOf(state)
  return [
    { ...state, phase: { _tag: "Storing", commit: { settling: some.length, claims } } },
    none,
    { _tag: "SettleAndClaim", settlements: some, worker, limit: claims ? claim.limit : null }
  ]
}

/** Attempts what a commit claimed. */
const begin = (
  state: LaneState,
  claimed: ReadonlyArray<DispatchedJob>,
  { now, stopping }: Facts
): Transition => {
  if (stopping || state.interrupted)
    return collect({ ...state, settlements: [...state.settlements, ...released(claimed)] })
  return [
    { ...state, phase: { _tag: "Starting", claimed, since: now } },
    countOf(claimed) >= state.least ? [{ _tag: "WakeNextLane" }] : none,
    { _tag: "Attempt", claimed, worker: state.worker }
  ]
}

/** After a commit that was answered. */
const stored = (
  before: LaneState,
  { commit: { claims, settling } }: Extract<Phase, { readonly _tag: "Storing" }>,
  claimed: ReadonlyArray<DispatchedJob>,
  facts: Facts
): Transition => {
  const inUse = new Set(before.batches.map(({ worker }) => worker))
  const [state, silent] = Settling.stored(before, settling, inUse)
  const isDone = state.settlements.length === 0
  const then = (): Transition => {
    if (countOf(claimed) > 0) return begin(state, claimed, facts)
    if (!isDone) return store(state, facts)
    if (state.interrupted) return endLane(state)
    if (state.doubtful && !facts.stopping)
      return [{ ...state, phase: { _tag: "Registering" } }, none, { _tag: "Register" }]
    // A commit without a claim says nothing of what is due.
    return claims ? rest(state) : collect(state)
  }
  const notices: Array<LaneNotice> = []
  const [givenBack, attempted] = givingUp(state, silent)
  notices.push(...givenBack)
  if (attempted.length > 0) notices.push({ _tag: "Deregister", workers: attempted })
  if (settling > 0 || claimed.length > 0)
    notices.push({ _tag: "ReportStored", settled: settling, claimed: countOf(claimed) })
  return noticing(notices, then())
}

/** After a commit that failed, or whose answer was lost. */
const notStored = (
  before: LaneState,
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
      return noticing(notices, endLane(state))
    case "backOff":
      return backOff(state, cause)
    case "prove":
      return [{ ...state, phase: { _tag: "Proving", commit, cause } }, none, { _tag: "Prove" }]
  }
}

/** After the collection of a batch that was waited for. */
const adapt = (state: LaneState, { since }: Watched, now: Moment): LaneState => {
  const tookMs = now - since
  const size = BatchSize.next(state.size, { recipients: state.settlements.length, tookMs }, state.least)
  return { ...state, size }
}

type Seen<Tag> = Extract<LaneEvent, { readonly _tag: Tag }>

const collected = (before: LaneState, event: Seen<"Collected">, facts: Facts): Transition => {
  const { phase } = before
  const settlements =
    before.settlements.length === 0 ? event.settlements : [...before.settlements, ...event.settlements]
  const state = { ...before, batches: event.batches, settlements }
  const watched = phase._tag === "Collecting" ? phase.watched : null
  return store(watched === null ? state : adapt(state, watched, facts.now), facts)
}

/** After the store was asked whether it works at all. */
const proved = (state: LaneState, { works }: Seen<"Proved">, { now }: Facts): Transition => {
  const { phase } = state
  if (phase._tag !== "Proving") return collect(state)
  if (!works) return backOff(state, phase.cause)
  const [narrowed, notices] = Settling.proved(state, phase.commit, phase.cause, kind, now)
  return noticing(notices, backOff(narrowed, phase.cause))
}

const started = (before: LaneState, { awaited, batches }: Seen<"Started">): Transition => {
  const { phase } = before
  const state = { ...before, batches }
  if (phase._tag !== "Starting" || awaited === null) return collect(state)
  const watched = { batch: awaited, since: phase.since }
  return [{ ...state, phase: { _tag: "Watching", watched } }, none, { _tag: "AwaitBatch", batch: awaited }]
}

/** The settlements of a lane, with those that give back a claim whose attempts did not begin. */
const givenBack = ({ phase, settlements }: LaneState): LaneState["settlements"] =>
  phase._tag === "Starting" ? [...settlements, ...released(phase.claimed)] : settlements

const notStarted = (state: LaneState, { cause }: Seen<"NotStarted">): Transition =>
  state.phase._tag === "Starting"
    ? backOff({ ...state, settlements: givenBack(state) }, cause)
    : collect(state)

/** A lane that rests with nothing to collect and nothing to store decides on a claim at once. */
const woken = (state: LaneState, facts: Facts): Transition =>
  state.phase._tag === "Resting" && state.batches.length === 0 && !Settling.isLoaded(state)
    ? store(state, facts)
    : collect(state)

/** The whole protocol of a lane. Total: an event that the phase has not asked for starts the next collection. */
export const next = (state: LaneState, event: LaneEvent, facts: Facts): Transition => {
  const { phase } = state
  if (phase._tag === "Left") return [state, none, { _tag: "Leave", workers: [] }]
  switch (event._tag) {
    case "Ready":
      return woken(state, facts)
    case "Collected":
      return collected(state, event, facts)
    case "Stored":
      return phase._tag === "Storing" ? stored(state, phase, event.claimed, facts) : collect(state)
    case "NotStored":
      return phase._tag === "Storing" ? notStored(state, phase.commit, event, facts) : collect(state)
    case "Proved":
      return proved(state, event, facts)
    case "Registered":
      return collect(Settling.renamed(state, event.worker))
    case "Started":
      return started(state, event)
    case "NotStarted":
      return notStarted(state, event)
    case "Waited":
      return collect(state, phase._tag === "Watching" ? phase.watched : null)
    case "Interrupted": {
      const settlements = givenBack(state)
      const phase = { _tag: "Collecting", watched: null } as const
      return [
        { ...Settling.recallAll({ ...state, settlements }), interrupted: true, phase },
        none,
        { _tag: "StopBatches" }
      ]
    }
  }
}
