/**
 * Nobody waits for somebody else's limits: neither behind sessions that may send nothing now, nor behind a crash, nor
 * behind phones that had a message lately.
 */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import type { Claim, ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner, results } from "./Setup.ts"

const recoverable = ["sandbox"] as const

const unpaced = Fixtures.session("").pacing

/** Sessions of one account, in the order of their ids, which is the order of their turns. */
const sessionsOf = Effect.fnUntraced(function* (
  count: number,
  some: (place: number) => Parameters<typeof Fixtures.session>[1] = () => ({})
) {
  const account = Fixtures.account()
  yield* (yield* AccountStore).create(account)
  const sessions = yield* SessionStore
  const ids = Array.from({ length: count }, () => Fixtures.session(account.id).id).sort()
  return yield* Effect.forEach(
    ids,
    (id, place): Effect.Effect<Owner, unknown> =>
      Effect.as(sessions.create(Fixtures.session(account.id, { id, ...some(place) })), {
        accountId: account.id,
        sessionId: id,
        publicKey: `pk_${id}`
      }),
    { concurrency: 16 }
  )
})

const accept = (who: Owner, some: Parameters<typeof Fixtures.send>[1] = {}) =>
  Effect.gen(function* () {
    const command = Fixtures.send(who, some)
    yield* (yield* JobStore).accept(command)
    return command.jobId
  })

/** Claims, and settles all of it as accepted. */
const serve = Effect.fnUntraced(function* (asked: Partial<Claim> = {}, at = now) {
  const jobs = yield* JobStore
  const { claimed } = yield* jobs.settleAndClaim({
    now: at,
    settlements: [],
    claim: { worker: "worker-1", limit: 16, ...asked }
  })
  const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
  const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
  )
  yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
  return claimed
})

const countOf = (claimed: ReadonlyArray<ClaimedJob>, { sessionId }: Owner): number =>
  claimed.reduce((sum, job) => sum + (job.sessionId === sessionId ? job.recipients.length : 0), 0)

/** A recipient over which two workers died: it is due a minute later. */
const suspectOf = Effect.fnUntraced(function* (who: Owner, phones: number) {
  const jobs = yield* JobStore
  const jobId = yield* accept(who, { phones })
  for (let death = 0; death < 2; death++) {
    yield* claim(1)
    yield* jobs.rescue({ worker: "worker-1", now, recoverable })
  }
  return jobId
})

/** Everybody but the last but one may send nothing for more than a minute, and has a message that waits. */
const pacedBefore = (paced: number) =>
  Effect.gen(function* () {
    const pacing = { messagesPerSecond: 0.01, pairIntervalMs: null }
    const sessions = yield* sessionsOf(paced + 1, (place) => ({
      pacing: place === paced - 1 ? unpaced : pacing
    }))
    const free = sessions[paced - 1]
    if (free === undefined) return yield* Effect.dieMessage("There is no session without a pace.")
    const others = sessions.filter((each) => each !== free)
    yield* Effect.forEach(
      others,
      (each) => Effect.zipRight(accept(each, { claim: "direct" }), accept(each)),
      { concurrency: 16 }
    )
    yield* accept(free)
    return { free }
  })

const behindPaced = (paced: number) =>
  Effect.gen(function* () {
    const { free } = yield* pacedBefore(paced)
    let served = 0
    for (let claims = 0; claims < 10 && served === 0; claims++) served += countOf(yield* serve(), free)
    expect(served).toBe(1)
  })

/** Each by its title. */
const cases = {
  "an unpaced session is served within 10 claims behind 20 paced ones that may send nothing": behindPaced(20),

  "an unpaced session is served within 10 claims behind 300 paced ones that may send nothing":
    behindPaced(300),

  "an unpaced session is served within 10 claims behind 2,000 paced ones that may send nothing":
    behindPaced(2000),

  "the next due time tells of an unpaced session behind 300 paced ones, and the next claim begins with it":
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const { free } = yield* pacedBefore(300)
      expect(yield* serve()).toEqual([])
      expect(yield* jobs.nextDue(now)).toBe(now)
      expect(countOf(yield* serve(), free)).toBe(1)
      expect(yield* jobs.nextDue(now)).toBeGreaterThan(now)
    }),

  "one claim serves 250 sessions at the most, and the next goes on behind them": Effect.gen(function* () {
    const sessions = yield* sessionsOf(260)
    yield* Effect.forEach(sessions, (each) => accept(each), { concurrency: 16 })
    const served = []
    for (let claims = 0; claims < 3; claims++)
      served.push(...(yield* serve({ limit: 1000 })).map(({ sessionId }) => sessionId), "end")
    const ids = sessions.map(({ sessionId }) => sessionId)
    expect(served).toEqual([...ids.slice(0, 250), "end", ...ids.slice(250), "end", "end"])
  }),

  "a session gets no more than it has room for, and the others what is left": Effect.gen(function* () {
    const [first, second] = yield* sessionsOf(2)
    if (first === undefined || second === undefined) return
    for (const each of [first, second]) yield* accept(each, { phones: 100 })
    const claimed = yield* serve({ limit: 90, room: ({ id }) => (id === first.sessionId ? 8 : 90) })
    expect([first, second].map((each) => countOf(claimed, each))).toEqual([8, 82])
  }),

  "sessions whose recipients a crash would leave unknown share what may be at risk": Effect.gen(function* () {
    const [first, second, third] = yield* sessionsOf(3, (place) => ({
      provider: place < 2 ? "http" : "sandbox"
    }))
    if (first === undefined || second === undefined || third === undefined) return
    for (const each of [first, second, third]) {
      for (let job = 0; job < 2; job++) yield* accept(each, { phones: 200 })
    }
    const served = [0, 0, 0]
    for (let claims = 0; claims < 12; claims++) {
      let left = 10
      let isHttp = false
      const claimed = yield* serve({
        limit: 30,
        room: ({ provider }, before) => {
          if (isHttp) left -= before ?? 0
          isHttp = provider === "http"
          return isHttp ? left : 30
        }
      })
      for (const [place, each] of [first, second, third].entries())
        served[place] = (served[place] ?? 0) + countOf(claimed, each)
    }
    // 12 claims of 10 at risk, for two; what is not at risk has the rest.
    expect(served).toEqual([60, 60, 240])
  }),

  "a poison suspect has its turn between sessions that have a little to send in each claim": Effect.gen(
    function* () {
      const [first, other, last] = yield* sessionsOf(3)
      if (first === undefined || other === undefined || last === undefined) return
      const suspect = yield* suspectOf(other, 1)
      yield* accept(last)
      yield* serve({ room: ({ id }) => (id === other.sessionId ? 0 : 16) })
      const served: Array<string> = []
      for (let claims = 0; claims < 12; claims++) {
        for (const busy of [first, last]) yield* accept(busy)
        served.push(...(yield* serve({}, now + 60_000)).map(({ jobId }) => jobId))
      }
      expect(served).toContain(suspect)
    }
  ),

  "one claim brings one suspect, and the next session's waits for its end": Effect.gen(function* () {
    const [first, second] = yield* sessionsOf(2)
    if (first === undefined || second === undefined) return
    const jobs = yield* JobStore
    const jobIds = [yield* accept(first, { phones: 1 }), yield* accept(second, { phones: 1 })]
    for (let death = 0; death < 2; death++) {
      yield* claim(2)
      expect(yield* jobs.rescue({ worker: "worker-1", now, recoverable })).toBe(2)
    }
    const at = Time.after(now, 60_000)
    expect(countOf(yield* claim(2, at, "p.1"), first)).toBe(1)
    expect(yield* jobs.rescue({ worker: "p.1", beside: ["p.2"], now: at, recoverable })).toBe(1)
    expect(yield* jobs.workers).toEqual([])
    const deaths = yield* Effect.forEach(jobIds, (jobId) =>
      Effect.map(results(jobId), ([recipient]) => [recipient?.crashCount, (recipient?.nextAt ?? 0) - at])
    )
    expect(deaths).toEqual([
      [3, 5 * 60_000],
      [2, 0]
    ])
  }),

  "a poison suspect is the only one of its session in a claim, and keeps back no other session": Effect.gen(
    function* () {
      const [first, second, third] = yield* sessionsOf(3)
      if (first === undefined || second === undefined || third === undefined) return
      yield* suspectOf(second, 4)
      yield* accept(second, { phones: 3 })
      for (const each of [first, third]) yield* accept(each, { phones: 3 })
      yield* serve({}, now)
      for (const each of [first, second, third])
        yield* accept(each, { phones: 3, now: Time.after(now, 60_000) })
      const claimed = yield* claim(16, now + 60_000)
      expect([first, second, third].map((each) => countOf(claimed, each))).toEqual([3, 1, 3])
      const suspects = claimed.flatMap(({ recipients }) =>
        recipients.filter(({ crashCount }) => crashCount > 0)
      )
      expect(suspects).toHaveLength(1)
    }
  ),

  "recipients whose phones had a message lately leave their places in a claim to others": Effect.gen(
    function* () {
      const jobs = yield* JobStore
      const [who] = yield* sessionsOf(1, () => ({
        pacing: { messagesPerSecond: null, pairIntervalMs: 60_000 }
      }))
      if (who === undefined) return
      yield* accept(who, { phones: 10 })
      expect(countOf(yield* serve(), who)).toBe(10)
      // The first ten of its phones are the same.
      yield* accept(who, { phones: 30 })
      let served = 0
      for (let some = -1; some !== 0; served += some) some = countOf(yield* serve({ limit: 8 }), who)
      expect(served).toBe(20)
      expect(yield* jobs.nextDue(now)).toBe(now + 60_000)
    }
  ),

  "what waits for a session that is blocked is due for nobody": Effect.gen(function* () {
    const jobs = yield* JobStore
    const who = yield* owner
    yield* accept(who)
    yield* (yield* SessionStore).block({ id: who.sessionId, until: Time.after(now, 60_000), now })
    expect(yield* jobs.nextDue(now)).toBeNull()
    expect(yield* claim()).toEqual([])
  })
} satisfies Readonly<Record<string, Effect.Effect<void, unknown, unknown>>>

export const suite = (layer: Stored): void => {
  describe("however others fare", () => {
    for (const [title, test] of Object.entries(cases))
      it.effect(title, () => Effect.provide(test, layer), 120_000)
  })
}
