/**
 * The way of outcomes into a store, as data, for every loop that settles what it claims: of messages and
 * of webhook deliveries. A loop's state has these fields and others beside them.
 *
 * - Outcomes stay with the loop until a commit that had them was answered (`stored`); to store one twice changes nothing,
 *   since its fence is spent.
 * - A failed commit may have been made: what it claimed is unknown to the loop, which claims nothing more under that name
 *   (`mayClaim`). It first makes a commit without a claim, and takes a new name when that was answered: one for each
 *   outage, however long (`renamed`). The old name stays alive while something runs under it and outcomes are to be
 *   stored; then it is deregistered (`giveUp`). What it still has was not begun, and is given back; but the rescue gets it
 *   where an outcome could not be stored (`unsettled`).
 * - Of outcomes that a working store refuses those at fault are found by halves, stored without text from outside, and at
 *   last reported and left to the rescue (`narrow`). A store that is down refuses nothing: nothing is halved or cut.
 * - An outcome that the store postpones, since an open transaction has its session, goes with a later commit (`postponed`).
 * - An outcome that the store may take later is never cut: somebody else has locked its row. It is set aside (`setAside`),
 *   and the loop goes on claiming. Every half minute one of those is stored again; once that succeeds, all are (`recall`).
 * - At a stop a commit that fails is made again, by halves, for as long as the grace lasts (`failed`). What is left then is
 *   reported.
 */
import * as Cause from "effect/Cause"
import type { Moment } from "../runtime/Moment.ts"
import { StorageError } from "../storage/StorageError.ts"
import { largest } from "./Bulkhead.ts"
import * as Isolate from "./Isolate.ts"

export interface Settling<S> {
  /** The name under which the loop claims. What was claimed under a name that is not alive is rescued. */
  readonly worker: string
  /** True when a commit that claimed under this name failed and may have been made all the same. */
  readonly doubtful: boolean
  /** Names that were given up for that, and are not deregistered yet. */
  readonly retired: ReadonlyArray<string>
  /** Names under which something was attempted of which no outcome can be stored. */
  readonly unsettled: ReadonlyArray<string>
  /** Outcomes that are not stored yet, the oldest first. */
  readonly settlements: ReadonlyArray<S>
  /** The number of settlements in one commit while those are found that the store refuses; null when it has all. */
  readonly portion: number | null
  /** Refusals in a row by a store that works, as its heartbeat shows. */
  readonly refusals: number
  /** True when the store took some of the settlements since it refused others. */
  readonly acceptsOthers: boolean
  /** Settlements that the store postponed. */
  readonly postponed: ReadonlyArray<S>
  /** When they are stored again. */
  readonly postponedUntil: Moment
  /** Settlements that the store may take later. */
  readonly aside: ReadonlyArray<S>
  /** When one of them is stored again. */
  readonly asideUntil: Moment
  /** True while the first settlement is one that was set aside. */
  readonly recalling: boolean
  /** True once the loop was interrupted. */
  readonly interrupted: boolean
}

/** A commit that was asked for. */
export interface Commit {
  /** The number of the loop's settlements that it has, from the first on. */
  readonly settling: number
  readonly claims: boolean
}

/** The event of a commit that failed, or whose answer was lost. */
export interface NotStored {
  readonly _tag: "NotStored"
  readonly cause: Cause.Cause<StorageError>
  /** True when the store says that it does not take what it was given, or broke over it. */
  readonly refused: boolean
  /** True when the commit may have been made all the same. */
  readonly doubtful: boolean
}

/** Nothing is claimed and there is nothing to store. Why the store did not hear of this process is logged where it came up. */
export const unheard: NotStored = {
  _tag: "NotStored",
  cause: Cause.fail(
    new StorageError({ operation: "JobStore.heartbeat", cause: "It is not stored that this process lives." })
  ),
  refused: false,
  doubtful: false
}

/** `toRescue`: nothing of it can be stored, and its recipient is left to the rescue. */
export interface ReportRefused<S> {
  readonly _tag: "ReportRefused"
  readonly settlement: S
  readonly cause: Cause.Cause<StorageError>
  readonly toRescue: boolean
}

/** The loop ends with outcomes that are not stored; their recipients are left to the rescue. */
export interface ReportUnsettled<S> {
  readonly _tag: "ReportUnsettled"
  readonly settlements: ReadonlyArray<S>
  readonly cause: Cause.Cause<StorageError>
}

export interface Kind<S> {
  /** The nearest settlement of which nobody outside wrote a part; null when there is none that differs. */
  readonly plainOf: (settlement: S) => S | null
  /** Settlements of the same subject change the same row. */
  readonly subjectOf: (settlement: S) => string
}

/** Refusals in a row after which a working store counts as refusing what it is given, not as failing. */
const certain = 2
/** The same for a settlement alone while nothing shows that the store takes any. A loop tries once a second. */
const certainAlone = 30
/** The time until one of the settlements that were set aside is stored again, in milliseconds. */
const asideMs = 30_000
/** The time until what the store postponed is stored again, in milliseconds: each time it waits for a moment, and all claims with it. */
const postponedMs = 2000
/** With so many set aside or postponed a loop claims nothing more. One batch must not reach it: of one that is tried first all may be. */
const mostAside = 2 * largest
/** The commits in a row that may fail at a stop, where attempts have used up the grace. */
const triesAtEnd = 3

export const make = (worker: string): Settling<never> => ({
  worker,
  doubtful: false,
  retired: [],
  unsettled: [],
  settlements: [],
  portion: null,
  refusals: 0,
  acceptsOthers: false,
  postponed: [],
  postponedUntil: 0,
  aside: [],
  asideUntil: 0,
  recalling: false,
  interrupted: false
})

/** How long a loop that stops waits before it makes a commit again, in milliseconds. */
export const pauseMs = 1000

/** The settlements of the next commit. */
export const portionOf = <S>({ portion, settlements }: Settling<S>): ReadonlyArray<S> =>
  portion === null ? settlements : settlements.slice(0, portion)

/** True when the next commit may claim under the loop's name. */
export const mayClaim = (state: Settling<unknown>): boolean => state.portion === null && mayClaimApart(state)

/** The same for a commit without outcomes. */
export const mayClaimApart = ({ aside, doubtful, interrupted, postponed }: Settling<unknown>): boolean =>
  !doubtful && !interrupted && aside.length + postponed.length < mostAside

/** True while there is something to store, now or later. */
export const isLoaded = ({ aside, postponed, settlements }: Settling<unknown>): boolean =>
  settlements.length > 0 || postponed.length > 0 || aside.length > 0

/** When what waits is stored again; null when nothing waits. */
export const storesAt = ({
  aside,
  asideUntil,
  postponed,
  postponedUntil
}: Settling<unknown>): Moment | null => {
  const times = [...(aside.length > 0 ? [asideUntil] : []), ...(postponed.length > 0 ? [postponedUntil] : [])]
  return times.length === 0 ? null : Math.min(...times)
}

/** Before a commit: what was postponed is stored again when it is time. The first that was set aside is, too, alone. */
export const recall = <S, T extends Settling<S>>(before: T, now: Moment): T => {
  const isTime = before.postponed.length > 0 && before.portion === null && now >= before.postponedUntil
  const state: T = isTime
    ? { ...before, settlements: [...before.postponed, ...before.settlements], postponed: [] }
    : before
  const [first, ...aside] = state.aside
  if (first === undefined || state.portion !== null || now < state.asideUntil) return state
  return { ...state, settlements: [first, ...state.settlements], aside, portion: 1, recalling: true }
}

const recallAside = <S, T extends Settling<S>>(state: T): T => ({
  ...state,
  settlements: [...state.settlements, ...state.aside],
  aside: [],
  recalling: false
})

/** At a stop nothing waits for its time. */
export const recallAll = <S, T extends Settling<S>>(state: T): T =>
  recallAside<S, T>({
    ...state,
    settlements: [...state.settlements, ...state.postponed],
    postponed: []
  })

/**
 * Gives up the retired names under which nothing runs, once nothing is to be stored.
 *
 * @param inUse the names under which something runs
 * @returns the names that are deregistered now
 */
export const giveUp = <T extends Settling<unknown>>(
  state: T,
  inUse: ReadonlySet<string>
): readonly [state: T, silent: ReadonlyArray<string>] => {
  const { retired } = state
  if (retired.length === 0 || isLoaded(state)) return [state, []]
  const silent = retired.filter((worker) => !inUse.has(worker))
  return silent.length === 0
    ? [state, silent]
    : [{ ...state, retired: retired.filter((worker) => inUse.has(worker)) }, silent]
}

/**
 * After a commit that was answered; as {@link giveUp}.
 *
 * @param postponed the settlements that it did not store, since somebody else has their session locked
 */
export const stored = <S, T extends Settling<S>>(
  before: T,
  settling: number,
  postponed: ReadonlyArray<S>,
  { inUse, now }: { readonly inUse: ReadonlySet<string>; readonly now: Moment }
): readonly [state: T, silent: ReadonlyArray<string>] => {
  // A claim apart tells nothing of outcomes.
  if (settling === 0 && before.settlements.length > 0) return [before, []]
  const { acceptsOthers, portion, recalling } = before
  if (recalling && postponed.length > 0)
    return [setAside<S, T>(before, before.settlements.slice(0, 1), now), []]
  const settlements = settling === 0 ? before.settlements : before.settlements.slice(settling)
  const isDone = settlements.length === 0
  const state = {
    ...before,
    settlements,
    portion: isDone || recalling || portion === null ? null : portion * 2,
    // At a stop they count as tries.
    refusals: postponed.length > 0 ? before.refusals : 0,
    acceptsOthers: !isDone && (acceptsOthers || settling > postponed.length),
    ...(postponed.length > 0 && {
      postponed: [...before.postponed, ...postponed],
      // Others that are postponed later do not put them off.
      postponedUntil: before.postponed.length > 0 ? before.postponedUntil : now + postponedMs
    })
  }
  return giveUp(recalling ? recallAside<S, T>(state) : state, inUse)
}

/** The event of a commit at a stop that stored all but what somebody else has locked. */
export const locked: NotStored = {
  _tag: "NotStored",
  cause: Cause.fail(
    new StorageError({
      operation: "JobStore.settleAndClaim",
      cause: "Another transaction keeps the session's jobs locked.",
      fault: "collision"
    })
  ),
  refused: false,
  doubtful: false
}

/** The loop has a new name, and gives up the one that it had. */
export const renamed = <T extends Settling<unknown>>(state: T, worker: string): T => ({
  ...state,
  worker,
  retired: [...state.retired, state.worker],
  doubtful: false
})

/** The others are stored without those that the store may take later, and the loop claims again. */
const setAside = <S, T extends Settling<S>>(state: T, later: ReadonlyArray<S>, now: Moment): T => ({
  ...state,
  settlements: state.settlements.filter((each) => !later.includes(each)),
  aside: [...state.aside, ...later],
  asideUntil: state.aside.length > 0 && !state.recalling ? state.asideUntil : now + asideMs,
  portion: null,
  refusals: 0,
  acceptsOthers: false,
  recalling: false
})

/** Settlements that are refused are stored apart from the claim, then by halves, then without text from outside, then not at all. */
const narrow = <S, T extends Settling<S>>(
  state: T,
  { claims, settling }: Commit,
  cause: Cause.Cause<StorageError>,
  isCertain: boolean,
  { plainOf, subjectOf }: Kind<S>,
  now: Moment
): readonly [T, ReadonlyArray<ReportRefused<S>>] => {
  const [first, ...others] = state.settlements
  if (first === undefined) return [state, []]
  const passes = Isolate.isPassing(cause)
  if (passes && state.recalling) return [setAside<S, T>(state, [first], now), []]
  if (!isCertain && state.refusals < certain) return [state, []]
  if (claims) return [{ ...state, portion: settling }, []]
  if (settling > 1) return [{ ...state, portion: Math.ceil(settling / 2) }, []]
  if (passes) {
    const sameRow = others.filter((each) => subjectOf(each) === subjectOf(first))
    // Nothing shows that the store takes the others: which of them it takes is found when one is recalled.
    return [setAside<S, T>(state, [...(state.acceptsOthers ? sameRow : others), first], now), []]
  }
  if (!isCertain && state.refusals < (state.acceptsOthers ? certain : certainAlone))
    // The others show whether it is this one or the store.
    return [
      state.acceptsOthers
        ? state
        : { ...state, settlements: [...others, first], portion: 1, recalling: false },
      []
    ]
  return replaceFirst(state, first, others, cause, plainOf)
}

/** The store refuses the first settlement for good: it is stored without text from outside, or else left out. */
const replaceFirst = <S, T extends Settling<S>>(
  state: T,
  first: S,
  others: ReadonlyArray<S>,
  cause: Cause.Cause<StorageError>,
  plainOf: Kind<S>["plainOf"]
): readonly [T, ReadonlyArray<ReportRefused<S>>] => {
  const plain = plainOf(first)
  const report = { _tag: "ReportRefused", settlement: first, cause, toRescue: plain === null } as const
  const portion = plain === null && others.length === 0 ? null : 1
  // The worker's name is given up, so that what was claimed under it is rescued.
  const doubtful = state.doubtful || plain === null
  const settlements = plain === null ? others : [plain, ...others]
  // Which of the names it was is not known.
  const unsettled = plain === null ? [...state.retired, state.worker] : state.unsettled
  return [{ ...state, settlements, portion, refusals: 0, doubtful, unsettled, recalling: false }, [report]]
}

/** At a stop nobody proves first whether it is the store: half is stored, and at last one after the other. */
const halve = <S, T extends Settling<S>>(state: T, settling: number): T => {
  if (settling > 1) return { ...state, portion: Math.ceil(settling / 2) }
  const [first, ...others] = state.settlements
  return first === undefined ? state : { ...state, settlements: [...others, first], portion: 1 }
}

/**
 * The next step of a loop after a commit that failed: it stores again, at once or after a pause, proves the store, backs off, or
 * leaves.
 */
export type AfterFailure = "store" | "pause" | "prove" | "backOff" | "leave"

export const failed = <S, T extends Settling<S>>(
  before: T,
  commit: Commit,
  { cause, doubtful, refused }: NotStored,
  kind: Kind<S>,
  { graceIsOver, now }: { readonly graceIsOver: boolean; readonly now: Moment }
): readonly [T, ReadonlyArray<ReportRefused<S> | ReportUnsettled<S>>, AfterFailure] => {
  const state = { ...before, doubtful: before.doubtful || (commit.claims && doubtful) }
  if (refused && commit.settling > 0) return [...narrow(state, commit, cause, true, kind, now), "store"]
  if (state.interrupted) {
    const { settlements } = state
    const refusals = state.refusals + 1
    if (settlements.length > 0 && (!graceIsOver || refusals < triesAtEnd))
      return [halve({ ...state, refusals }, commit.settling), [], "pause"]
    return [state, settlements.length === 0 ? [] : [{ _tag: "ReportUnsettled", settlements, cause }], "leave"]
  }
  return [state, [], commit.settling === 0 ? "backOff" : "prove"]
}

/** After a heartbeat was written though a commit had failed: the store works, and may have refused what it was given. */
export const proved = <S, T extends Settling<S>>(
  state: T,
  commit: Commit,
  cause: Cause.Cause<StorageError>,
  kind: Kind<S>,
  now: Moment
): readonly [T, ReadonlyArray<ReportRefused<S>>] =>
  narrow({ ...state, refusals: state.refusals + 1 }, commit, cause, false, kind, now)
