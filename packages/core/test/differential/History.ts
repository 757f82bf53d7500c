/**
 * Histories as data: what happens to a store of jobs, in numbers that mean the same to every store. A history is drawn
 * by a seed, and made smaller while it still shows what it shows.
 */

import type { Random } from "../../../../test/support/Random.ts"
import { random } from "../../../../test/support/Random.ts"
import * as Priority from "../../src/domain/job/Priority.ts"
import type { Reported } from "../../src/domain/job/Recipient.ts"
import type { RetrySelection } from "../../src/domain/job/RetrySelection.ts"
import type { State } from "../../src/domain/session/Session.ts"

/** What becomes of an attempt; `retry` is due again after so many milliseconds. */
export type Ending =
  | { readonly end: "accepted" | "sent"; readonly providerId: boolean }
  | { readonly end: "failed"; readonly stopsJob: boolean }
  | { readonly end: "unknown" | "skipped" }
  | { readonly end: "retry"; readonly afterMs: number; readonly maybeSent: boolean }
  | { readonly end: "released"; readonly maybeSent: boolean }

/** Jobs, sessions, phones, keys, templates and workers are told by their numbers, attempts by how many were claimed since. */
export type Step =
  | {
      readonly do: "accept"
      readonly job: number
      readonly session: number
      readonly kind: "template" | "direct"
      readonly priority: Priority.Priority
      readonly phones: ReadonlyArray<number>
      /** Who claims it in the same commit. */
      readonly claim: number | null
      readonly key: number | null
      readonly fingerprint: number
      readonly dailyLimit: number | null
      readonly minimumWaitMs: number
      /** In the embedder's transaction. */
      readonly isEmbedded: boolean
    }
  | {
      readonly do: "exchange"
      readonly settle: ReadonlyArray<readonly [back: number, ending: Ending]>
      readonly claim: {
        readonly worker: number
        readonly limit: number
        readonly without: ReadonlyArray<number>
        /** Of a young process, where it is not null: so many over whom a worker died. */
        readonly young: number | null
      } | null
    }
  | { readonly do: "rescue"; readonly worker: number; readonly recoverable: boolean }
  | { readonly do: "giveBack"; readonly worker: number }
  | {
      readonly do: "receive"
      readonly reports: ReadonlyArray<{
        readonly job: number
        readonly index: number
        readonly status: Reported
        /** Only the platform's id is known, and of which session it is. */
        readonly byPlatform: number | null
      }>
    }
  | { readonly do: "unpark" | "unblock" | "makeDue" }
  | { readonly do: "cancel"; readonly job: number }
  | { readonly do: "hold"; readonly job: number; readonly isHeld: boolean }
  | {
      readonly do: "retry"
      readonly job: number
      readonly selection: RetrySelection
      readonly dryRun: boolean
    }
  | { readonly do: "transition"; readonly session: number; readonly state: State }
  | { readonly do: "block"; readonly session: number; readonly ms: number }
  | { readonly do: "unavailable" | "available" | "takeProbe"; readonly session: number }
  | { readonly do: "returnProbe"; readonly session: number; readonly attempted: boolean }
  | { readonly do: "template"; readonly session: number; readonly approved: boolean }
  | {
      readonly do: "pace"
      readonly session: number
      readonly messagesPerSecond: number | null
      readonly pairMs: number | null
    }
  | { readonly do: "beat"; readonly workers: ReadonlyArray<number>; readonly beats: number }
  | { readonly do: "clock"; readonly ms: number }
  /** A week later, in slices of so many rows. */
  | { readonly do: "purge"; readonly limit: number }

export type History = ReadonlyArray<Step>

export const sessions = 3

export const draws = (next: Random) => {
  const below = (count: number): number => Math.floor(next() * count)
  const one = <A>(items: readonly [A, ...ReadonlyArray<A>]): A => items[below(items.length)] ?? items[0]
  const often = (part: number): boolean => next() < part
  const some = <A>(most: number, item: () => A): ReadonlyArray<A> =>
    Array.from({ length: below(most + 1) }, item)
  return { below, one, often, some }
}

export type Draws = ReturnType<typeof draws>

const ending = ({ often, one }: Draws): Ending =>
  one<() => Ending>([
    () => ({ end: "accepted", providerId: often(0.7) }),
    () => ({ end: "accepted", providerId: true }),
    () => ({ end: "sent", providerId: often(0.7) }),
    () => ({ end: "failed", stopsJob: often(0.2) }),
    () => ({ end: "unknown" }),
    () => ({ end: "skipped" }),
    () => ({ end: "retry", afterMs: one([0, 1, 1000, 60_000]), maybeSent: often(0.4) }),
    () => ({ end: "released", maybeSent: often(0.3) })
  ])()

const selections: readonly [RetrySelection, ...ReadonlyArray<RetrySelection>] = [
  {},
  { statuses: ["failed", "unknown"], codes: ["broken", "outcome_unknown", "poisoned"] },
  { statuses: ["unknown"] },
  { codes: ["broken"] }
]

const accept = ({ below, often, one, some }: Draws, job: number): Step => {
  const kind = often(0.15) ? "direct" : "template"
  const phones = kind === "direct" ? [below(6)] : [below(6), ...some(one([0, 2, 6]), () => below(6))]
  const claim = kind === "direct" || often(0.1) ? below(3) : null
  return {
    do: "accept",
    job,
    session: below(sessions),
    kind,
    priority: Priority.all[often(0.6) ? 1 : below(3)] ?? "normal",
    phones,
    claim,
    isEmbedded: claim === null && often(0.2),
    key: often(0.3) ? below(3) : null,
    fingerprint: often(0.8) ? 0 : 1,
    dailyLimit: often(0.1) ? 10 : null,
    minimumWaitMs: often(0.1) ? 500 : 0
  }
}

const exchange = (drawn: Draws): Step => {
  const { below, often, one, some } = drawn
  return {
    do: "exchange",
    settle: some(6, () => [below(often(0.8) ? 6 : 40), ending(drawn)]),
    claim: often(0.15)
      ? null
      : {
          worker: below(3),
          limit: one([1, 2, 3, 5, 16, 250]),
          without: often(0.1) ? [below(sessions)] : [],
          young: often(0.3) ? below(3) : null
        }
  }
}

const receive = ({ below, often, one }: Draws, jobs: number): Step => ({
  do: "receive",
  reports: Array.from({ length: 1 + below(3) }, () => ({
    job: below(jobs),
    index: below(4),
    status: one<Reported>(["accepted", "sent", "delivered", "read", "failed"]),
    byPlatform: often(0.4) ? below(sessions) : null
  }))
})

const pace = ({ below, one }: Draws): Step => ({
  do: "pace",
  session: below(sessions),
  messagesPerSecond: one([null, null, 1, 40, 1000]),
  pairMs: one([null, 1000, 60_000])
})

const other = (drawn: Draws, jobs: number): Step => {
  const { below, often, one, some } = drawn
  return one<() => Step>([
    () => ({ do: "cancel", job: below(jobs) }),
    () => ({ do: "hold", job: below(jobs), isHeld: often(0.5) }),
    () => ({ do: "retry", job: below(jobs), selection: one(selections), dryRun: often(0.1) }),
    () => ({ do: "retry", job: below(jobs), selection: one(selections), dryRun: false }),
    () => ({
      do: "transition",
      session: below(sessions),
      state: one<State>(["connected", "connected", "disconnected", "connecting"])
    }),
    () => ({ do: "block", session: below(sessions), ms: one([1, 1000, 60_000]) }),
    () => ({ do: "unblock" }),
    () => ({ do: "unavailable", session: below(sessions) }),
    () => ({ do: "available", session: below(sessions) }),
    () => ({ do: "takeProbe", session: below(sessions) }),
    () => ({ do: "returnProbe", session: below(sessions), attempted: often(0.7) }),
    () => ({ do: "template", session: below(sessions), approved: often(0.6) }),
    () => pace(drawn),
    () => ({ do: "beat", workers: some(3, () => below(3)), beats: below(5) }),
    () => ({ do: "makeDue" }),
    () => ({ do: "purge", limit: one([1, 3, 100]) }),
    () => ({ do: "unpark" })
  ])()
}

/** A worker that takes some and dies, and most often another one: what they had is a poison suspect then. */
const deaths = ({ below, often }: Draws, limit: number): ReadonlyArray<Step> => {
  const worker = below(3)
  const claim = { worker, limit, without: [], young: null }
  const death: ReadonlyArray<Step> = [
    { do: "exchange", settle: [], claim },
    { do: "rescue", worker, recoverable: true }
  ]
  return often(0.3) ? death : [...death, ...death]
}

/** A platform that stops to answer, and what its probes come to. */
const outage = (drawn: Draws): ReadonlyArray<Step> => {
  const { below, often, one } = drawn
  const session = below(sessions)
  const probe = (): ReadonlyArray<Step> => [
    { do: "clock", ms: one([1000, 2000, 60_000]) },
    {
      do: "exchange",
      settle: [],
      claim: { worker: below(3), limit: one([1, 16]), without: [], young: null }
    },
    ...(often(0.7) ? [{ do: "returnProbe", session, attempted: often(0.8) } as const] : []),
    { do: "exchange", settle: [[0, ending(drawn)]], claim: null }
  ]
  return [
    { do: "unavailable", session },
    ...(often(0.8) ? probe() : []),
    ...(often(0.4) ? probe() : []),
    ...(often(0.5) ? [{ do: "available", session } as const] : [])
  ]
}

/** The history of a seed. */
export const drawnBy = (seed: number): History => {
  const next = random(seed)
  const drawn = draws(next)
  const steps: Array<Step> = []
  let jobs = 0
  const send = (): void => {
    steps.push(accept(drawn, jobs))
    jobs += 1
  }
  if (drawn.often(0.5)) steps.push(pace(drawn))
  if (drawn.often(0.3)) {
    // While nobody else has anything, so that both take the same.
    send()
    steps.push(...deaths(drawn, 1 + drawn.below(2)))
  }
  for (const count = 1 + drawn.below(4); jobs < count; ) send()
  const length = steps.length + 4 + drawn.below(14)
  while (steps.length < length) {
    const draw = next()
    if (draw < 0.14) send()
    else if (draw < 0.52) steps.push(exchange(drawn))
    else if (draw < 0.6) steps.push(...deaths(drawn, drawn.one([1, 1, 2, 5])))
    else if (draw < 0.63) steps.push(...outage(drawn))
    else if (draw < 0.66) steps.push({ do: "giveBack", worker: drawn.below(3) })
    else if (draw < 0.68) steps.push({ do: "rescue", worker: drawn.below(3), recoverable: drawn.often(0.7) })
    else if (draw < 0.73) steps.push(receive(drawn, jobs))
    else if (draw < 0.84)
      steps.push({ do: "clock", ms: drawn.one([1, 20, 500, 1000, 60_000, 86_400_000, -1000, -3_600_000]) })
    else steps.push(other(drawn, jobs))
  }
  return steps
}

/** Lists with a part left out: halves first, then single items. */
export const shorter = function* <A>(items: ReadonlyArray<A>): Generator<ReadonlyArray<A>> {
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size > 1 ? Math.ceil(size / 2) : 0) {
    for (let from = 0; from < items.length; from += size)
      yield [...items.slice(0, from), ...items.slice(from + size)]
  }
}

/** Steps that do less. */
export const lesser = function* (step: Step): Generator<Step> {
  switch (step.do) {
    case "accept": {
      for (const phones of shorter(step.phones)) if (phones.length > 0) yield { ...step, phones }
      if (step.key !== null) yield { ...step, key: null }
      if (step.dailyLimit !== null) yield { ...step, dailyLimit: null }
      if (step.minimumWaitMs > 0) yield { ...step, minimumWaitMs: 0 }
      if (step.claim !== null && step.kind === "template") yield { ...step, claim: null }
      if (step.isEmbedded) yield { ...step, isEmbedded: false }
      if (step.session > 0) yield { ...step, session: 0 }
      if (step.priority !== "normal") yield { ...step, priority: "normal" }
      return
    }
    case "exchange": {
      const { claim, settle } = step
      if (claim !== null && settle.length > 0) yield { ...step, claim: null }
      for (const fewer of shorter(settle)) yield { ...step, settle: fewer }
      if (claim === null) return
      if (claim.without.length > 0) yield { ...step, claim: { ...claim, without: [] } }
      if (claim.young !== null) yield { ...step, claim: { ...claim, young: null } }
      for (const limit of [1, 2, 3, 16])
        if (limit < claim.limit) yield { ...step, claim: { ...claim, limit } }
      if (claim.worker > 0) yield { ...step, claim: { ...claim, worker: 0 } }
      return
    }
    case "receive":
      for (const reports of shorter(step.reports)) if (reports.length > 0) yield { ...step, reports }
      return
    case "beat":
      for (const workers of shorter(step.workers)) yield { ...step, workers }
      return
    case "clock":
      for (const ms of [1, 1000]) if (ms < step.ms) yield { ...step, ms }
  }
}

/** Histories that are smaller in one place. */
const smaller = function* <S>(
  history: ReadonlyArray<S>,
  lesser: (step: S) => Iterable<S>
): Generator<ReadonlyArray<S>> {
  yield* shorter(history)
  for (const [place, step] of history.entries()) {
    for (const less of lesser(step)) yield history.with(place, less)
  }
}

/** The smallest history that is found to show still what this one shows. */
export const shrink = async <S>(
  history: ReadonlyArray<S>,
  lesser: (step: S) => Iterable<S>,
  shows: (history: ReadonlyArray<S>) => Promise<boolean>
): Promise<ReadonlyArray<S>> => {
  for (const next of smaller(history, lesser)) if (await shows(next)) return shrink(next, lesser, shows)
  return history
}

/** One step a line, as it is written in a test. */
export const print = (history: ReadonlyArray<unknown>): string =>
  history.map((step) => JSON.stringify(step)).join(",\n")
