/**
 * Histories of webhooks as data: what happens to the store of endpoints and deliveries, in numbers that mean the same to
 * every store. As {@link History} for jobs.
 */
import { random } from "../../../../test/support/Random.ts"
import type { Draws } from "./History.ts"
import { draws, shorter } from "./History.ts"

/** The end of an attempt; `retry` is due again after so many milliseconds. */
export type Ending =
  | { readonly end: "delivered" | "exhausted" }
  | { readonly end: "retry"; readonly afterMs: number }
  /** The endpoint is disabled, as by an answer of 410. */
  | { readonly end: "gone"; readonly afterMs: number }

/** Endpoints, accounts and workers are told by their numbers, attempts by how many were claimed since. */
export type Step =
  | {
      readonly do: "create"
      readonly endpoint: number
      readonly events: ReadonlyArray<string>
      readonly perSecond: number | null
    }
  | {
      readonly do: "change"
      readonly endpoint: number
      readonly enabled?: boolean
      readonly events?: ReadonlyArray<string>
      readonly perSecond?: number | null
    }
  | { readonly do: "remove" | "rotate" | "test"; readonly endpoint: number }
  /** So many events in one commit. */
  | { readonly do: "tell"; readonly account: number; readonly events: number; readonly granted: boolean }
  | {
      readonly do: "exchange"
      readonly settle: ReadonlyArray<readonly [back: number, ending: Ending]>
      readonly claim: {
        readonly worker: number
        readonly limit: number
        readonly full: ReadonlyArray<number>
        readonly room: number
      } | null
    }
  /** By a count that may be another one than the worker's; null = by none. */
  | { readonly do: "rescue"; readonly worker: number; readonly beats: number | null }
  | { readonly do: "beat"; readonly worker: number; readonly beats: number }
  /** A delivery of the endpoint, by how many were made since. */
  | { readonly do: "replay"; readonly endpoint: number; readonly back: number }
  | { readonly do: "replayFailed" | "replayMissing"; readonly endpoint: number; readonly sinceMs: number }
  | { readonly do: "makeDue" }
  | { readonly do: "clock"; readonly ms: number }

export type WebhookHistory = ReadonlyArray<Step>

export const endpoints = 5
export const accounts = 2
/** Endpoints belong to the accounts in turn. */
export const accountOf = (endpoint: number): number => endpoint % accounts

const subscriptions: readonly [ReadonlyArray<string>, ...ReadonlyArray<ReadonlyArray<string>>] = [
  ["*"],
  ["*"],
  ["consent.*"],
  ["consent.granted"],
  ["consent.revoked", "webhook.*"],
  ["job.*"]
]

const paces: readonly [number | null, ...ReadonlyArray<number | null>] = [null, null, null, 1, 2, 40]

const ending = ({ often, one }: Draws): Ending => {
  if (often(0.4)) return { end: "delivered" }
  const afterMs = one([0, 1, 5000, 60_000, 86_400_000])
  if (often(0.15)) return { end: "gone", afterMs }
  return often(0.2) ? { end: "exhausted" } : { end: "retry", afterMs }
}

const exchange = (drawn: Draws): Step => {
  const { below, often, one, some } = drawn
  return {
    do: "exchange",
    settle: some(6, () => [below(often(0.8) ? 5 : 30), ending(drawn)]),
    claim: often(0.15)
      ? null
      : {
          worker: below(3),
          limit: one([0, 1, 2, 3, 5, 16, 512, 512]),
          full: often(0.2) ? [below(endpoints)] : [],
          room: one([1, 2, 16, 512])
        }
  }
}

const change = ({ below, often, one }: Draws): Step => {
  const step = { do: "change", endpoint: below(endpoints) } as const
  if (often(0.6)) return { ...step, enabled: often(0.6) }
  return often(0.5) ? { ...step, perSecond: one(paces) } : { ...step, events: one(subscriptions) }
}

const other = (drawn: Draws): Step => {
  const { below, one } = drawn
  const endpoint = below(endpoints)
  const sinceMs = one([0, 1, 1000, 86_400_000, -1])
  return one<() => Step>([
    () => change(drawn),
    () => change(drawn),
    () => change(drawn),
    () => ({ do: "remove", endpoint }),
    () => ({ do: "rotate", endpoint }),
    () => ({ do: "replay", endpoint, back: below(6) }),
    () => ({ do: "replay", endpoint, back: below(6) }),
    () => ({ do: "replayFailed", endpoint, sinceMs }),
    () => ({ do: "replayFailed", endpoint, sinceMs }),
    () => ({ do: "replayMissing", endpoint, sinceMs }),
    () => ({ do: "replayMissing", endpoint, sinceMs }),
    () => ({ do: "makeDue" })
  ])()
}

const create = ({ one }: Draws, endpoint: number): Step => ({
  do: "create",
  endpoint,
  events: one(subscriptions),
  perSecond: one(paces)
})

/** The history of a seed. */
export const drawnBy = (seed: number): WebhookHistory => {
  const next = random(seed)
  const drawn = draws(next)
  const { below, often, one } = drawn
  const steps: Array<Step> = []
  for (let endpoint = 0; endpoint < endpoints; endpoint++) if (often(0.6)) steps.push(create(drawn, endpoint))
  const length = steps.length + 6 + below(22)
  while (steps.length < length) {
    const draw = next()
    if (draw < 0.18)
      steps.push({ do: "tell", account: below(accounts), events: 1 + below(4), granted: often(0.7) })
    else if (draw < 0.24) steps.push({ do: "test", endpoint: below(endpoints) })
    else if (draw < 0.62) steps.push(exchange(drawn))
    else if (draw < 0.67) steps.push({ do: "rescue", worker: below(3), beats: one([null, null, 0, 1, 2]) })
    else if (draw < 0.69) steps.push({ do: "beat", worker: below(3), beats: 1 + below(2) })
    else if (draw < 0.8)
      steps.push({
        do: "clock",
        ms: one([1, 20, 500, 5000, 60_000, 86_400_000, 432_000_000, -1000, -3_600_000])
      })
    else if (draw < 0.84) steps.push(create(drawn, below(endpoints)))
    else steps.push(other(drawn))
  }
  return steps
}

/** Steps that do less. */
export const lesser = function* (step: Step): Generator<Step> {
  switch (step.do) {
    case "create":
      if (step.perSecond !== null) yield { ...step, perSecond: null }
      if (step.events[0] !== "*") yield { ...step, events: ["*"] }
      return
    case "tell":
      for (let events = 1; events < step.events; events++) yield { ...step, events }
      return
    case "exchange": {
      const { claim, settle } = step
      if (claim !== null && settle.length > 0) yield { ...step, claim: null }
      for (const fewer of shorter(settle)) yield { ...step, settle: fewer }
      if (claim === null) return
      if (claim.full.length > 0) yield { ...step, claim: { ...claim, full: [] } }
      if (claim.worker > 0) yield { ...step, claim: { ...claim, worker: 0 } }
      for (const limit of [1, 2, 3]) if (limit < claim.limit) yield { ...step, claim: { ...claim, limit } }
      if (claim.room < 512) yield { ...step, claim: { ...claim, room: 512 } }
      return
    }
    case "clock":
      for (const ms of [1, 1000]) if (ms < step.ms) yield { ...step, ms }
  }
}
