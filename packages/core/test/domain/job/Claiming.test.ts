/** The dispatcher's decisions (contract.md §4), without any store. */

import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../../src/domain/Instant.ts"
import type { TurnOutcome, WaitingSession } from "../../../src/domain/job/Claiming.ts"
import * as Claiming from "../../../src/domain/job/Claiming.ts"
import type { RecipientResult } from "../../../src/domain/job/Job.ts"
import * as Job from "../../../src/domain/job/Job.ts"
import * as Retry from "../../../src/domain/Retry.ts"

const now = Time.at(1_900_000_000_000)

const recipient = (index: number, some: Partial<RecipientResult> = {}): RecipientResult => ({
  ...Job.newRecipient(
    { address: `3460000000${index}`, externalId: null, values: [], market: null, price: null },
    index,
    now
  ),
  ...some
})

const suspect = (index: number) => recipient(index, { crashCount: Retry.suspectDeaths })
const survivor = (index: number) => recipient(index, { crashCount: 1 })
const old = Claiming.careless
const young: Claiming.Care = {
  survivors: 1,
  suspects: 0,
  youngForMs: 20_000,
  survivorsWait: false,
  suspectsWait: false
}

const recipients = (count: number) => Array.from({ length: count }, (_, index) => recipient(index))

const never = Time.at(Number.POSITIVE_INFINITY)

const session = (some: Partial<WaitingSession> = {}): WaitingSession => ({
  id: "session",
  provider: "sandbox",
  pacing: { messagesPerSecond: null, pairIntervalMs: null },
  state: "connected",
  blockedUntil: null,
  blockReason: null,
  failing: null,
  outage: null,
  lastOutage: null,
  dueAt: { high: never, normal: now, low: never },
  arrival: null,
  ...some
})

/** A claim over the sessions in the circle behind `after`: each has its turn until `looked` had it. */
const walk = (
  circle: ReadonlyArray<string>,
  after: string,
  looked: number,
  outcomeOf: (session: string, place: number) => TurnOutcome
) => {
  const next = circle.findIndex((id) => id > after)
  const start = Math.max(next, 0)
  let turn = Claiming.beginTurn(after)
  for (let place = 0; place < looked; place++) {
    const id = circle[(start + place) % circle.length] ?? ""
    turn = Claiming.afterTurn(turn, id, outcomeOf(id, place))
  }
  return Claiming.nextAfter(turn, looked === circle.length)
}

describe("a session's turn", () => {
  const circle = ["a", "b", "c", "d", "e"]

  it("is over once a claim has considered the session, whether it got recipients or not", () => {
    expect(walk(circle, "", 3, () => "passed")).toBe("c")
    expect(walk(circle, "c", 3, () => "served")).toBe("a")
  })

  it("begins anew where all have had theirs", () => {
    expect(walk(circle, "c", 5, () => "served")).toBe(Claiming.noSession)
    expect(walk(circle, "c", 5, (id) => (id === "e" ? "putOff" : "served"))).toBe("d")
  })

  it("comes first in the next claim when this claim's limits put it off", () => {
    expect(walk(circle, "", 4, (id) => (id === "b" ? "putOff" : "served"))).toBe("a")
    expect(walk(circle, "", 4, (id) => (id === "b" || id === "c" ? "putOff" : "served"))).toBe("a")
  })

  it.prop(
    "comes within as many claims as there are sessions, whoever is put off behind one that was served",
    {
      looked: FastCheck.integer({ min: 1, max: 5 }),
      atRisk: FastCheck.array(FastCheck.boolean(), { minLength: 5, maxLength: 5 })
    },
    ({ atRisk, looked }) => {
      const served = new Set<string>()
      let after = ""
      for (let claim = 0; claim < circle.length; claim++) {
        let used = false
        after = walk(circle, after, looked, (id) => {
          const isAtRisk = atRisk[circle.indexOf(id)] === true
          if (isAtRisk && used) return "putOff"
          used ||= isAtRisk
          served.add(id)
          return "served"
        })
      }
      expect([...served].sort()).toEqual(circle)
    }
  )
})

describe("a session is ready", () => {
  it("when its first job is due and its pace has room", () => {
    expect(
      Claiming.readyAt(session({ dueAt: { high: never, normal: never, low: Time.after(now, 5) } }), now)
    ).toBe(now + 5)
    const pacing = { messagesPerSecond: 1, pairIntervalMs: null }
    expect(Claiming.readyAt(session({ pacing }), now)).toBe(now)
    expect(Claiming.readyAt(session({ pacing, arrival: now + 1000 }), now)).toBe(now + 1000)
    expect(
      Claiming.readyAt(
        session({
          pacing,
          arrival: now + 1000,
          dueAt: { high: Time.after(now, 3000), normal: never, low: never }
        }),
        now
      )
    ).toBe(now + 3000)
  })

  it("at no time while it is not connected or its platform blocks it", () => {
    expect(Claiming.readyAt(session({ state: "connecting" }), now)).toBeNull()
    expect(Claiming.readyAt(session({ blockedUntil: Time.after(now, 1) }), now)).toBeNull()
  })
})

describe("a claim's budget", () => {
  it("is spent by all sessions; who survived a death and who is a suspect never go in one claim", () => {
    const budget = { left: 30, care: { ...old, survivors: 3 } }
    expect(Claiming.spend(budget, recipients(10))).toEqual({ left: 20, care: { ...old, survivors: 3 } })
    expect(Claiming.spend(budget, [recipient(0), survivor(1), survivor(2)])).toEqual({
      left: 27,
      care: { ...old, survivors: 1, suspects: 0 }
    })
    expect(Claiming.spend(budget, [suspect(0)])).toEqual({
      left: 29,
      care: { ...old, survivors: 0, suspects: 0 }
    })
  })

  it("is filled to the last place where it is small, and ends with a job where it is large", () => {
    expect(Claiming.jobsThatFit([5, 5, 5], 0, 12)).toBe(3)
    expect(Claiming.jobsThatFit([60, 60, 200], 0, 250)).toBe(2)
    expect(Claiming.jobsThatFit([130, 60, 200], 0, 250)).toBe(2)
    expect(Claiming.jobsThatFit([104, 250], 0, 250)).toBe(1)
    expect(Claiming.jobsThatFit([250], 104, 250)).toBe(0)
    expect(Claiming.jobsThatFit([4000], 0, 250)).toBe(1)
    expect(Claiming.jobsThatFit([4000], 100, 250)).toBe(1)
    expect(Claiming.jobsThatFit([4000], 150, 250)).toBe(0)
    expect(Claiming.goesOn(11, 12)).toBe(true)
    expect(Claiming.goesOn(12, 12)).toBe(false)
    expect(Claiming.goesOn(124, 250)).toBe(true)
    expect(Claiming.goesOn(125, 250)).toBe(false)
    expect(Claiming.goesOn(0, 0)).toBe(false)
  })
})

describe("of a session's due jobs", () => {
  const job = (name: string, due: ReadonlyArray<RecipientResult>, approved = true) => ({
    name,
    approved,
    due
  })
  const namesOf = (jobs: ReadonlyArray<{ readonly name: string }>) => jobs.map(({ name }) => name)
  const chosenOf = ({ chosen }: Claiming.Choice<ReturnType<typeof job>>) =>
    chosen.map(({ of, recipients }) => [of.name, recipients.map(({ index }) => index)])

  it("those whose template is not approved pause, and keep nobody back", () => {
    const choice = Claiming.choose([job("a", [], false), job("b", recipients(2))], 10, true, old, now)
    expect(namesOf(choice.paused)).toEqual(["a"])
    expect(chosenOf(choice)).toEqual([["b", [0, 1]]])
    expect(choice.isLast).toBe(false)
  })

  it("those behind the limit wait, and those that have nobody due are to have their time written anew", () => {
    const full = Claiming.choose([job("a", recipients(2)), job("b", [])], 2, true, old, now)
    expect([chosenOf(full), full.mistimed]).toEqual([[["a", [0, 1]]], []])
    const wrong = Claiming.choose([job("a", []), job("b", recipients(2))], 10, true, old, now)
    expect([chosenOf(wrong), namesOf(wrong.mistimed)]).toEqual([[["b", [0, 1]]], ["a"]])
  })

  it("a poison suspect is taken alone, and only by a claim that has nothing of the session yet", () => {
    const alone = Claiming.choose(
      [job("a", [suspect(0), recipient(1)]), job("b", recipients(2))],
      10,
      true,
      old,
      now
    )
    expect([chosenOf(alone), alone.isLast]).toEqual([[["a", [0]]], true])
    const later = Claiming.choose([job("a", [suspect(0)])], 10, false, old, now)
    expect([chosenOf(later), later.isLast]).toEqual([[], true])
    const behind = Claiming.choose([job("a", recipients(2)), job("b", [suspect(0)])], 10, true, old, now)
    expect([chosenOf(behind), behind.isLast]).toEqual([[["a", [0, 1]]], true])
    const within = Claiming.choose([job("a", [recipient(0), suspect(1), recipient(2)])], 10, true, old, now)
    expect([chosenOf(within), within.isLast]).toEqual([[["a", [0]]], true])
  })

  const putOffOf = ({ putOff }: Claiming.Choice<ReturnType<typeof job>>) =>
    putOff.map(({ of, recipients }) => [of.name, recipients.map(({ nextAt }) => (nextAt ?? 0) - now)])

  it("those over whom workers died are put off where they may not go, and keep nobody back", () => {
    const jobs = [job("a", [suspect(0), survivor(1), recipient(2)]), job("b", [suspect(0), survivor(1)])]
    const first = Claiming.choose(jobs, 10, true, young, now)
    expect([chosenOf(first), putOffOf(first), first.isLast]).toEqual([
      [["a", [1, 2]]],
      [
        ["a", [20_000]],
        ["b", [20_000, 100]]
      ],
      false
    ])
    const beside = Claiming.choose(jobs, 10, true, { ...young, survivors: 0, youngForMs: 0 }, now)
    expect([chosenOf(beside), putOffOf(beside)]).toEqual([
      [["a", [2]]],
      [
        ["a", [1000, 100]],
        ["b", [2000, 200]]
      ]
    ])
  })

  it("those who survived a death wait for the next claim where they are more than begin at once", () => {
    const jobs = [job("a", [survivor(0), survivor(1), survivor(2), recipient(3)])]
    const choice = Claiming.choose(jobs, 10, true, { ...old, survivors: 2 }, now)
    expect([chosenOf(choice), choice.putOff, choice.isLast]).toEqual([[["a", [0, 1]]], [], true])
  })
})

describe("two messages to one phone", () => {
  const interval = 6000
  const to = (index: number, phone: string) => recipient(index, { address: phone })

  it("are kept apart, and whoever waits is due when the phone may have the next", () => {
    const times = new Map([["1", Time.after(now, 1000)]])
    const { deferred, ready } = Claiming.spaceApart(
      [to(0, "1"), to(1, "2"), to(2, "2"), to(3, "3")],
      times,
      interval,
      now,
      new Map()
    )
    expect(ready.map(({ index }) => index)).toEqual([1, 3])
    expect(deferred.map(({ index, nextAt }) => [index, nextAt])).toEqual([
      [0, now + 1000],
      [2, now + interval]
    ])
    expect(deferred.every(({ updatedAt }) => updatedAt === now)).toBe(true)
  })

  it("are kept apart by the last of all numbers of one person", () => {
    const numbers = new Map([
      ["1", ["1", "2"]],
      ["2", ["2", "1"]],
      ["3", ["3", "4"]]
    ])
    const times = new Map([["4", Time.after(now, 1000)]])
    const both = [to(0, "1"), to(1, "2"), to(2, "3")]
    const { deferred, ready } = Claiming.spaceApart(both, times, interval, now, numbers)
    expect(ready.map(({ index }) => index)).toEqual([0])
    expect(deferred.map(({ index, nextAt }) => [index, nextAt])).toEqual([
      [1, now + interval],
      [2, now + 1000]
    ])
  })

  it("are not kept apart by a time further ahead than the interval, which a wrong clock wrote", () => {
    const times = new Map([["1", Time.after(now, interval + 1)]])
    expect(Claiming.spaceApart([to(0, "1")], times, interval, now, new Map()).ready).toHaveLength(1)
  })
})
