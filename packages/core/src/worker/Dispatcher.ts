/**
 * A dispatcher, as data: of messages (`SendLoop`) and of webhook deliveries (`WebhookLoop`). One commit at a time stores
 * outcomes and claims what there is room for. Attempts begin and end beside it, one by one, and it waits for none of them:
 *
 *     wait ──▶ collect ──▶ settle + claim ──▶ begin ──▶ wait …
 *      │ not looked yet: look when something is due
 *                              │ refused for its content ─▶ half of it, then half of that (`Settling`)
 *                              └ failed ─▶ prove the store ─▶ back off
 *
 * {@link next} is pure and total: it reads no clock and no shared state, asks for exactly one thing, and takes an event that
 * was not asked for as one that wakes it. `DispatchLoop` performs what it decides, and answers with one event.
 *
 * - It claims at once when it is told that there is something, when something is due, and when a session ran out of what it
 *   had in hand; and with each commit of outcomes, if a claim may bring something (`decide`).
 * - Outcomes wait for others for {@link Kind.settleMs} after the first of them, unless there is something to claim with them,
 *   or nothing under way that could bring more. `Settling` has the rules of what becomes of them.
 * - After a claim it does not know what is due: it looks once before it waits (`decide`). What a claim did not bring though
 *   it is due, another process has in hand: two claims in a row look for it, and then it waits a little (`looked`).
 * - While those outcomes are looked for that a store refuses, claims go in commits of their own between two tries
 *   (`claimsApart`).
 * - Once the grace period has begun nothing is claimed. What a commit claims meanwhile, and what could not be begun, is given
 *   back, or left to the rescue with its name where it cannot be (`unbegun`).
 * - Interrupted, it waits for what is under way, stores what that brought, and gives up its names (`Interrupted`, `leave`).
 */
import * as Arrays from "effect/Array"
import type * as Cause from "effect/Cause"
import type { Moment } from "../runtime/Moment.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Settling from "./Settling.ts"

/** Beside `Open` the phases that an answer of the store, or of who begins attempts, is for. */
export type Phase<C> =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Storing"; readonly commit: Settling.Commit }
  | { readonly _tag: "Beginning"; readonly claimed: ReadonlyArray<C> }
  | {
      readonly _tag: "Proving"
      readonly commit: Settling.Commit
      readonly cause: Cause.Cause<StorageError>
    }
  | { readonly _tag: "Left" }

/** Everything that a dispatcher remembers between two steps. */
export interface State<S, C> extends Settling.Settling<S> {
  readonly phase: Phase<C>
  /** True when a claim may bring something, as far as anybody told. */
  readonly isHungry: boolean
  /** When something is due; null where nothing is known. */
  readonly dueAt: Moment | null
  /** When it is to be looked for. */
  readonly lookAt: Moment
  /** Claims in a row that brought nothing. */
  readonly emptyClaims: number
  /** True when it is the turn of a claim: between two tries to store outcomes of which the store refuses some. */
  readonly claimsApart: boolean
}

/** The state of the process when an event arrives. */
export interface Facts {
  readonly now: Moment
  /** True when something may be claimed at all. */
  readonly hasRoom: boolean
  /** When somebody who was given too little may have more: at once, or with the next outcomes. */
  readonly mayBring: "now" | "withOutcomes" | "nothing"
  /** When the first of the outcomes came that are not collected; null while there is none. */
  readonly since: Moment | null
  /** True when nothing is in hand or under way. */
  readonly isIdle: boolean
  /** Names under which something is in hand, under way or not collected. */
  readonly inUse: ReadonlySet<string>
  /** True once the grace period has begun. */
  readonly stopping: boolean
  /** True when nothing is left of it. */
  readonly graceIsOver: boolean
}

/** The answer of a commit. */
export interface Exchanged<S, C> {
  readonly postponed: ReadonlyArray<S>
  readonly claimed: ReadonlyArray<C>
  readonly isFull: boolean
}

export type Event<S, C> =
  /** The dispatcher was opened, time has passed, or something came. `noticed`: there may be something to claim. */
  | { readonly _tag: "Woken"; readonly noticed: boolean }
  /** In how long something is due for who may have it now, in milliseconds; null when nothing waits. */
  | { readonly _tag: "Looked"; readonly inMs: number | null }
  /**
   * The outcomes since the last collection; what they ask of the engine is done. `lapsed`: some were not attempted, since a
   * rescue may have taken them back.
   */
  | { readonly _tag: "Collected"; readonly settlements: ReadonlyArray<S>; readonly lapsed: boolean }
  /** `isFull`: a claim brought as much as it may, so there is probably more. `postponed`: these are not stored yet. */
  | ({ readonly _tag: "Stored" } & Exchanged<S, C>)
  | Settling.NotStored
  | { readonly _tag: "Begun" }
  | { readonly _tag: "NotBegun"; readonly cause: Cause.Cause<StorageError> }
  /** Tells whether a heartbeat could be written after a commit failed: then the store works. */
  | { readonly _tag: "Proved"; readonly works: boolean }
  | { readonly _tag: "Registered"; readonly worker: string }
  | { readonly _tag: "Interrupted" }

/** Performed, and answered with the next event. Exactly one in each step. */
export type Request<S, C> =
  | { readonly _tag: "Wait"; readonly until: Moment | null }
  | { readonly _tag: "Look" }
  | { readonly _tag: "Collect" }
  /** One commit: stores outcomes and, when `claims` is true, claims what there is room for. */
  | {
      readonly _tag: "Commit"
      readonly settlements: ReadonlyArray<S>
      readonly worker: string
      readonly claims: boolean
    }
  | { readonly _tag: "Begin"; readonly claimed: ReadonlyArray<C>; readonly worker: string }
  | { readonly _tag: "Prove" }
  | { readonly _tag: "Register" }
  /** At a stop: waits for `Settling.pauseMs`. */
  | { readonly _tag: "Pause" }
  | { readonly _tag: "BackOff"; readonly cause: Cause.Cause<StorageError> }
  /** Nothing begins any more. What is under way has the rest of the grace period; then all is collected. */
  | { readonly _tag: "End" }
  /** Deregisters its names. The last one, which nothing answers. */
  | { readonly _tag: "Leave"; readonly workers: ReadonlyArray<string> }

/** Performed before the request, in their order; nothing answers them. */
export type Notice<S> =
  | { readonly _tag: "Deregister"; readonly workers: ReadonlyArray<string> }
  /** The same for names of which nothing was attempted that they may still have. */
  | { readonly _tag: "GiveBack"; readonly workers: ReadonlyArray<string> }
  | Settling.ReportRefused<S>
  | Settling.ReportUnsettled<S>

export type Transition<S, C> = readonly [
  state: State<S, C>,
  notices: ReadonlyArray<Notice<S>>,
  request: Request<S, C>
]

export interface Kind<S, C> extends Settling.Kind<S> {
  /** So long outcomes wait for others, in milliseconds. */
  readonly settleMs: number
  /** So long what it knows of what is due is believed, in milliseconds: another process may have added to it. */
  readonly idleMs: number
  /** True when most of what wakes it brings nothing: it looks before it claims. */
  readonly looksFirst: boolean
  /** The settlements that give back what was claimed and not begun; null where nothing can be given back. */
  readonly released: (claimed: ReadonlyArray<C>) => ReadonlyArray<S> | null
}

/** How long what is due may be another's to take, in milliseconds. */
export const pauseMs = 20
const patientClaims = 2

export const make = (worker: string): State<never, never> => ({
  ...Settling.make(worker),
  phase: { _tag: "Open" },
  isHungry: false,
  dueAt: null,
  lookAt: 0,
  emptyClaims: 0,
  claimsApart: false
})

type Notices<S> = ReadonlyArray<Notice<S>>

const to = <S, C>(
  state: State<S, C>,
  notices: Notices<S>,
  request: Request<S, C>,
  phase: Phase<C> = { _tag: "Open" }
): Transition<S, C> => [{ ...state, phase }, notices, request]

/** Gives names up under which something may be claimed. */
const givingUp = <S>({ unsettled }: Settling.Settling<S>, names: ReadonlyArray<string>): Notices<S> => {
  const [unbegun, attempted] = Arrays.partition(names, (name) => unsettled.includes(name))
  const notices: Array<Notice<S>> = []
  if (unbegun.length > 0) notices.push({ _tag: "GiveBack", workers: unbegun })
  if (attempted.length > 0) notices.push({ _tag: "Deregister", workers: attempted })
  return notices
}

/** The last transition. Where something is not settled its names are left to the rescue. */
const leave = <S, C>(state: State<S, C>, facts: Facts, notices: Notices<S>): Transition<S, C> => {
  const { doubtful, retired, settlements, unsettled, worker } = state
  const isSettled = settlements.length === 0 && facts.inUse.size === 0
  const names = doubtful ? [...retired, worker] : retired
  const unbegun = isSettled ? names.filter((name) => !unsettled.includes(name)) : []
  const workers = [...retired, worker].filter((name) => !unbegun.includes(name))
  return to(
    { ...state, settlements: [], aside: [] },
    [...notices, ...givingUp(state, unbegun)],
    { _tag: "Leave", workers },
    { _tag: "Left" }
  )
}

interface Appetite {
  readonly mayClaim: boolean
  /** True when it claims now. */
  readonly wants: boolean
  /** The same, if outcomes are stored anyway. One that has nothing more would look next. */
  readonly wantsBeside: boolean
}

const appetiteOf = <S, C>(
  state: State<S, C>,
  { hasRoom, isIdle, mayBring, now, stopping }: Facts
): Appetite => {
  const isFree = state.claimsApart ? Settling.mayClaimApart(state) : Settling.mayClaim(state)
  const mayClaim = hasRoom && !stopping && isFree
  const isDue = state.dueAt !== null && state.dueAt <= now
  const wants = mayClaim && (state.isHungry || isDue || mayBring === "now")
  return { mayClaim, wants, wantsBeside: wants || (mayClaim && (isIdle || mayBring === "withOutcomes")) }
}

/** True when outcomes are worth a commit. */
const isRipe = ({ isIdle, now, since, stopping }: Facts, settleMs: number): boolean =>
  since !== null && (isIdle || stopping || now >= since + settleMs)

const waitsUntil = <S, C>(
  state: State<S, C>,
  { since }: Facts,
  mayClaim: boolean,
  settleMs: number
): Moment | null => {
  const times = [
    since === null ? null : since + settleMs,
    ...(mayClaim ? [state.dueAt, state.lookAt] : []),
    Settling.storesAt(state)
  ].filter((at) => at !== null)
  return times.length === 0 ? null : Math.min(...times)
}

/** The next commit, or what comes before it. */
const decide = <S, C>(
  before: State<S, C>,
  facts: Facts,
  { settleMs }: Kind<S, C>,
  notices: Notices<S> = []
): Transition<S, C> => {
  const state = Settling.recall<S, State<S, C>>(before, facts.now)
  const { interrupted, settlements, worker } = state
  const { mayClaim, wants, wantsBeside } = appetiteOf(state, facts)
  const hasEnded = facts.since !== null
  if (settlements.length === 0 && hasEnded && (wants || isRipe(facts, settleMs)))
    return to(state, notices, { _tag: "Collect" })
  const isDoubted = state.doubtful && !interrupted && !facts.stopping
  if (settlements.length > 0 || wants || isDoubted) {
    const some = state.claimsApart && wantsBeside ? [] : Settling.portionOf(state)
    const phase = { _tag: "Storing", commit: { settling: some.length, claims: wantsBeside } } as const
    const request = { _tag: "Commit", settlements: some, worker, claims: wantsBeside } as const
    return to({ ...state, claimsApart: false }, notices, request, phase)
  }
  if (interrupted) return leave(state, facts, notices)
  if (mayClaim && state.lookAt <= facts.now) return to(state, notices, { _tag: "Look" })
  return to(state, notices, { _tag: "Wait", until: waitsUntil(state, facts, mayClaim, settleMs) })
}

const looked = <S, C>(
  state: State<S, C>,
  inMs: number | null,
  { now }: Facts,
  { idleMs }: Kind<S, C>
): State<S, C> => {
  const isOthers = state.emptyClaims >= patientClaims
  const dueAt = inMs === null ? null : now + Math.max(isOthers ? pauseMs : 0, inMs)
  return { ...state, dueAt, lookAt: now + idleMs }
}

/** Items that were claimed and not begun are given back, or else left to the rescue. */
const unbegun = <S, C>(state: State<S, C>, claimed: ReadonlyArray<C>, kind: Kind<S, C>): State<S, C> => {
  const released = kind.released(claimed)
  return released === null
    ? { ...state, doubtful: true }
    : { ...state, settlements: [...state.settlements, ...released] }
}

/** Without the phase that an event was awaited in which did not come. */
const settled = <S, C>(state: State<S, C>, kind: Kind<S, C>): State<S, C> =>
  state.phase._tag === "Beginning" ? unbegun(state, state.phase.claimed, kind) : state

/** Items that a commit claimed are begun or, where nothing begins any more, given back. */
const entered = <S, C>(
  state: State<S, C>,
  claimed: ReadonlyArray<C>,
  facts: Facts,
  kind: Kind<S, C>,
  notices: Notices<S>
): Transition<S, C> => {
  const { interrupted, worker } = state
  return (facts.stopping || interrupted) && kind.released(claimed) !== null
    ? decide(unbegun(state, claimed, kind), facts, kind, notices)
    : to(state, notices, { _tag: "Begin", claimed, worker }, { _tag: "Beginning", claimed })
}

/** After a commit that was answered. */
const stored = <S, C>(
  before: State<S, C>,
  { claims, settling }: Settling.Commit,
  { claimed, isFull, postponed }: Exchanged<S, C>,
  facts: Facts,
  kind: Kind<S, C>
): Transition<S, C> => {
  const inUse = claimed.length === 0 ? facts.inUse : new Set([...facts.inUse, before.worker])
  const of = { inUse, now: facts.now }
  const [after, silent] = Settling.stored<S, State<S, C>>(before, settling, postponed, of)
  if (after.interrupted && postponed.length > 0) {
    const tried = { settling: postponed.length, claims: false }
    return notStored(Settling.recallAll<S, State<S, C>>(after), tried, Settling.locked, facts, kind)
  }
  const emptyClaims = claimed.length > 0 ? 0 : before.emptyClaims + 1
  // Whatever is due was brought; the first outcome comes before a look is worth it.
  const lookAt = facts.now + (claimed.length > 0 ? kind.settleMs : 0)
  const state = { ...after, dueAt: null, lookAt, ...(claims && { isHungry: isFull, emptyClaims }) }
  const notices = givingUp(state, silent)
  if (claimed.length > 0) return entered(state, claimed, facts, kind, notices)
  const { doubtful, interrupted, settlements } = state
  if (doubtful && !interrupted && !facts.stopping && settlements.length === 0)
    return to(state, notices, { _tag: "Register" })
  return decide(state, facts, kind, notices)
}

/** After a commit that failed, or whose answer was lost. */
const notStored = <S, C>(
  before: State<S, C>,
  commit: Settling.Commit,
  event: Settling.NotStored,
  facts: Facts,
  kind: Kind<S, C>
): Transition<S, C> => {
  const [state, notices, then] = Settling.failed<S, State<S, C>>(before, commit, event, kind, facts)
  const { cause } = event
  switch (then) {
    case "store":
      return decide(state, facts, kind, notices)
    case "pause":
      return to(state, notices, { _tag: "Pause" })
    case "leave":
      return leave(state, facts, notices)
    case "backOff":
      return to(state, notices, { _tag: "BackOff", cause })
    case "prove":
      return to(state, notices, { _tag: "Prove" }, { _tag: "Proving", commit, cause })
  }
}

const collected = <S, C>(
  before: State<S, C>,
  more: ReadonlyArray<S>,
  lapsed: boolean,
  facts: Facts,
  kind: Kind<S, C>
): Transition<S, C> => {
  const settlements = more.length === 0 ? before.settlements : [...before.settlements, ...more]
  // One with nothing to do makes no commit, and a name must not wait for one.
  const [state, silent] = Settling.giveUp<State<S, C>>(
    { ...before, settlements, doubtful: before.doubtful || lapsed },
    facts.inUse
  )
  return decide(state, facts, kind, givingUp(state, silent))
}

/** After the store was asked whether it works at all. */
const proved = <S, C>(
  state: State<S, C>,
  { cause, commit }: Extract<Phase<C>, { readonly _tag: "Proving" }>,
  works: boolean,
  { now }: Facts,
  kind: Kind<S, C>
): Transition<S, C> => {
  const [narrowed, notices] = works
    ? Settling.proved<S, State<S, C>>(state, commit, cause, kind, now)
    : [state, []]
  const claimsApart = narrowed.portion !== null
  return to({ ...narrowed, claimsApart }, notices, { _tag: "BackOff", cause })
}

/** An answer to what the phase has asked for; undefined where the event is none. */
const answered = <S, C>(
  state: State<S, C>,
  event: Event<S, C>,
  facts: Facts,
  kind: Kind<S, C>
): Transition<S, C> | undefined => {
  const { phase } = state
  switch (phase._tag) {
    case "Storing":
      if (event._tag === "Stored") return stored(state, phase.commit, event, facts, kind)
      return event._tag === "NotStored" ? notStored(state, phase.commit, event, facts, kind) : undefined
    case "Beginning":
      if (event._tag === "NotBegun")
        return to(unbegun(state, phase.claimed, kind), [], { _tag: "BackOff", cause: event.cause })
      return event._tag === "Begun" ? decide(state, facts, kind) : undefined
    case "Proving":
      return event._tag === "Proved" ? proved(state, phase, event.works, facts, kind) : undefined
    case "Open":
    case "Left":
      return undefined
  }
}

/** The whole protocol. */
export const next = <S, C>(
  before: State<S, C>,
  event: Event<S, C>,
  facts: Facts,
  kind: Kind<S, C>
): Transition<S, C> => {
  if (before.phase._tag === "Left") return [before, [], { _tag: "Leave", workers: [] }]
  const transition = answered(before, event, facts, kind)
  if (transition !== undefined) return transition
  const state = settled(before, kind)
  switch (event._tag) {
    case "Woken": {
      const told = kind.looksFirst ? { lookAt: facts.now } : { isHungry: true }
      const awake = event.noticed ? { ...state, ...told, emptyClaims: 0 } : state
      return collected(awake, [], false, facts, kind)
    }
    case "Looked":
      return decide(looked(state, event.inMs, facts, kind), facts, kind)
    case "Collected":
      return collected(state, event.settlements, event.lapsed, facts, kind)
    case "Registered":
      return decide(Settling.renamed<State<S, C>>(state, event.worker), facts, kind)
    case "Interrupted":
      return to({ ...Settling.recallAll<S, State<S, C>>(state), interrupted: true }, [], { _tag: "End" })
    case "Begun":
    case "NotBegun":
    case "Proved":
    case "Stored":
    case "NotStored":
      return decide(state, facts, kind)
  }
}
