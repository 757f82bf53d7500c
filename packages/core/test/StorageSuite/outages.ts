/** A platform that does not answer (contract.md §10): its session's jobs wait, and one message at a time probes it. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Care } from "../../src/domain/job/Claiming.ts"
import { careless } from "../../src/domain/job/Claiming.ts"
import * as QuietHours from "../../src/domain/session/QuietHours.ts"
import type { ClaimedJob, Settlement } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, everyLost, failure, find, listen, now, owner, results, tell } from "./Setup.ts"

const second = 1000
const minute = 60 * second

const accept = Effect.fnUntraced(function* (who: Owner, phones: number, at = now) {
  const command = Fixtures.send(who, { phones, now: at })
  yield* (yield* JobStore).accept(command)
  return command.jobId
})

const settlementsOf = (claimed: ReadonlyArray<ClaimedJob>, outcome: Outcome): ReadonlyArray<Settlement> =>
  claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
  )

const settle = Effect.fnUntraced(function* (
  claimed: ReadonlyArray<ClaimedJob>,
  outcome: Outcome,
  at: Time.Instant
) {
  const settlements = settlementsOf(claimed, outcome)
  yield* (yield* JobStore).settleAndClaim({ now: at, settlements, claim: null })
})

const accepted = Outcome.Accepted({ providerId: null, status: "accepted" })
const released = Outcome.Released({ maybeSent: false })

/** A session with a job under way of which one recipient was accepted, whose platform has stopped to answer. */
const outage = Effect.fnUntraced(function* (phones: number) {
  const sessions = yield* SessionStore
  const who = yield* owner
  const jobId = yield* accept(who, phones)
  yield* settle(yield* claim(1), accepted, now)
  yield* listen(who.accountId)
  const { sessionId: id } = who
  yield* tell(id, "OutageBegan", now)
  return { who, id, jobId, sessions }
})

const counted = (claimed: ReadonlyArray<ClaimedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

const paused = { status: "paused", pauseReason: "platform_unavailable" }
const processing = { status: "processing", pauseReason: null }

/** The types of the events that came since, but for those of recipients. */
const told = (at: Time.Instant) =>
  Effect.map(events(at), (all) =>
    all
      .map(({ type }) => type)
      .filter((type) => !type.startsWith("recipient."))
      .toSorted()
  )

export const suite = (layer: Stored): void => {
  describe("a session whose platform does not answer", () => {
    for (const [who, deaths, care] of [
      ["survived a death", 1, { survivors: 0 }],
      ["is a suspect", 2, { survivors: 54, suspects: 0 }]
    ] as const)
      it.effect(`is probed by a later claim where the first that is due ${who} and has to wait`, () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const known = yield* owner
          const { sessionId } = known
          yield* accept(known, 2)
          for (let death = 0; death < deaths; death++) {
            yield* claim(1)
            yield* jobs.rescue({ worker: "worker-1", now, recoverable: ["sandbox"] })
          }
          yield* tell(sessionId, "OutageBegan", Time.after(now, minute))
          const probe = (some: Partial<Care>) =>
            Effect.map(
              jobs.settleAndClaim({
                now: Time.after(now, minute + 5 * second),
                settlements: [],
                claim: { worker: "careful", limit: 10, care: { ...careless, ...some } }
              }),
              ({ claimed }) => counted(claimed)
            )
          expect(yield* probe(care)).toBe(0)
          expect(yield* probe({})).toBe(1)
        }).pipe(Effect.provide(layer))
      )

    it.effect("is known before anybody is due who waits for it, in the commit of their outcomes", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const jobId = yield* accept(who, 5)
        const claimed = yield* claim(3)
        const { claimed: given, turned } = yield* jobs.settleAndClaim({
          now,
          settlements: settlementsOf(claimed, released),
          news: [{ sessionId: who.sessionId, what: "OutageBegan" }],
          claim: { worker: "worker-2", limit: 10 }
        })
        expect(turned).toEqual([who.sessionId])
        expect(given).toEqual([])
        expect(yield* find(jobId)).toMatchObject({ ...paused, counts: { queued: 5, sending: 0 } })
        expect(counted(yield* claim(10, now + second))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("pauses its jobs with the reason in one commit with its event, once", () =>
      Effect.gen(function* () {
        const { id, jobId, sessions } = yield* outage(3)
        expect(yield* tell(id, "OutageBegan", Time.after(now, 500))).toBe(false)
        expect(yield* tell("nobody", "OutageBegan", now)).toBe(false)
        expect(yield* find(jobId)).toMatchObject(paused)
        expect(yield* sessions.find(id)).toMatchObject({
          state: "connected",
          outage: { since: now, probeAt: now + second, intervalMs: second }
        })
        expect(yield* sessions.countDown).toEqual({ unavailable: 1, missed: 1 })
        const all = yield* events(now + 1)
        expect(all.map(({ type }) => type).toSorted()).toEqual(["job.paused", "session.unavailable"])
        expect(all.find(({ type }) => type === "session.unavailable")?.data).toMatchObject({
          session_id: id,
          state: "connected",
          unavailable_since: new Date(now).toISOString()
        })
        expect(all.find(({ type }) => type === "job.paused")?.data["pause_reason"]).toBe(
          "platform_unavailable"
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("is claimed nothing of before its probe is due, and looked for then", () =>
      Effect.gen(function* () {
        yield* outage(3)
        const jobs = yield* JobStore
        expect(yield* claim(250, now + second - 1)).toEqual([])
        expect(yield* jobs.nextDue(now)).toBe(now + second)
      }).pipe(Effect.provide(layer))
    )

    it.effect("gives one recipient as its probe, and no other while that may be under way", () =>
      Effect.gen(function* () {
        const { jobId, who } = yield* outage(5)
        const other = yield* accept(who, 1)
        const jobs = yield* JobStore
        const probe = yield* claim(250, now + second)
        expect(probe).toMatchObject([{ jobId, probe: true, recipients: [{ attempts: 1 }] }])
        expect(yield* claim(250, now + second, "another")).toEqual([])
        expect(yield* find(jobId)).toMatchObject(paused)
        // Its worker may be frozen: a minute later the next may go.
        expect(yield* jobs.nextDue(Time.after(now, second))).toBe(now + second + minute)
        expect(yield* claim(250, now + minute, "another")).toEqual([])
        const next = yield* claim(250, now + second + minute, "another")
        expect(next).toMatchObject([{ jobId: other, probe: true, recipients: [{ attempts: 1 }] }])
      }).pipe(Effect.provide(layer))
    )

    it.effect("gives the next probe after twice the time each, and costs its recipients no attempt", () =>
      Effect.gen(function* () {
        const { id, jobId } = yield* outage(3)
        const jobs = yield* JobStore
        const times: Array<number> = []
        let at = now
        for (let probe = 0; probe < 8; probe++) {
          const due = (yield* jobs.nextDue(at)) ?? Time.at(0)
          times.push((due - at) / second)
          at = due
          const claimed = yield* claim(250, at)
          expect([counted(claimed), claimed[0]?.probe]).toEqual([1, true])
          yield* tell(id, "ProbeFailed", at)
          yield* settle(claimed, released, at)
          expect(yield* find(jobId)).toMatchObject(paused)
        }
        expect(times).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
        const attempts = (yield* results(jobId)).map(({ attempts, status }) => [status, attempts])
        expect(attempts.filter(([status]) => status !== "accepted").every(([, count]) => count === 0)).toBe(
          true
        )
        expect(yield* told(Time.after(at, 1))).toEqual(["job.paused", "session.unavailable"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("gives another probe at once when one asked nobody", () =>
      Effect.gen(function* () {
        const { id } = yield* outage(3)
        const claimed = yield* claim(250, now + second)
        yield* tell(id, "ProbeUnused", Time.after(now, second))
        yield* settle(claimed, Outcome.Skipped({ failure }), Time.after(now, second))
        expect(counted(yield* claim(250, now + second))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes on with all its jobs once it is available, told once", () =>
      Effect.gen(function* () {
        const { id, jobId, sessions } = yield* outage(3)
        const probe = yield* claim(250, now + second)
        expect(yield* tell(id, "OutageEnded", Time.after(now, second))).toBe(true)
        expect(yield* tell(id, "OutageEnded", Time.after(now, second))).toBe(false)
        yield* settle(probe, accepted, Time.after(now, second))
        expect(yield* find(jobId)).toMatchObject(processing)
        expect((yield* sessions.find(id))?.outage).toBeNull()
        const rest = yield* claim(250, now + second)
        expect([counted(rest), rest[0]?.probe]).toEqual([1, false])
        expect(yield* told(Time.after(now, 2 * second))).toEqual([
          "job.paused",
          "job.processing",
          "session.available",
          "session.unavailable"
        ])
        // Late words on a probe of an outage that is over change nothing.
        yield* tell(id, "ProbeFailed", Time.after(now, minute))
        expect(yield* sessions.acquireProbe({ id, now: Time.after(now, minute) })).toBe("available")
        expect((yield* sessions.find(id))?.outage).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes new jobs, which wait, and pause when one of them is the probe", () =>
      Effect.gen(function* () {
        const who = yield* owner
        yield* listen(who.accountId)
        const { sessionId: id } = who
        yield* tell(id, "OutageBegan", now)
        const jobId = yield* accept(who, 2, now + 10)
        expect(yield* claim(250, now + second - 1)).toEqual([])
        expect((yield* find(jobId)).status).toBe("queued")
        const probe = yield* claim(250, now + second)
        expect(counted(probe)).toBe(1)
        expect(yield* find(jobId)).toMatchObject(paused)
        yield* settle(probe, released, Time.after(now, second))
        expect(yield* find(jobId)).toMatchObject(paused)
        yield* tell(id, "OutageEnded", Time.after(now, 2 * second))
        expect(yield* find(jobId)).toMatchObject(processing)
        expect(counted(yield* claim(250, now + 2 * second))).toBe(2)
        expect(yield* told(Time.after(now, 3 * second))).toEqual([
          "job.paused",
          "job.processing",
          "session.available",
          "session.unavailable"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("completes a job whose last recipient was the probe", () =>
      Effect.gen(function* () {
        const { id, jobId } = yield* outage(2)
        const probe = yield* claim(250, now + second)
        yield* settle(probe, accepted, Time.after(now, second))
        expect(yield* find(jobId)).toMatchObject({ status: "completed", pauseReason: null })
        yield* tell(id, "OutageEnded", Time.after(now, second))
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )

    it.effect("holds up no other session, and takes its turn among them", () =>
      Effect.gen(function* () {
        yield* outage(3)
        const other = yield* owner
        const jobId = yield* accept(other, 4)
        const claimed = yield* claim(250, now + second)
        expect(claimed.map(({ probe, recipients }) => [probe, recipients.length]).toSorted()).toEqual([
          [false, 4],
          [true, 1]
        ])
        expect((yield* find(jobId)).status).toBe("processing")
      }).pipe(Effect.provide(layer))
    )

    it.effect("is probed within its pace, and that of its phones", () =>
      Effect.gen(function* () {
        const { id, sessions } = yield* outage(3)
        const pacing = { messagesPerSecond: 0.1, pairIntervalMs: 5 * minute }
        yield* sessions.change({ id, change: { pacing }, now })
        const probe = yield* claim(250, now + second)
        expect(counted(probe)).toBe(1)
        yield* tell(id, "ProbeFailed", Time.after(now, second))
        yield* settle(probe, released, Time.after(now, second))
        expect(yield* claim(250, now + 3 * second)).toEqual([])
        const next = yield* claim(250, now + 11 * second)
        expect(counted(next)).toBe(1)
        expect(next[0]?.recipients[0]?.address).not.toBe(probe[0]?.recipients[0]?.address)
      }).pipe(Effect.provide(layer))
    )

    it.effect("gives a probe to one of many messages that ask for it", () =>
      Effect.gen(function* () {
        const { id, sessions } = yield* outage(2)
        expect(yield* sessions.acquireProbe({ id, now: Time.after(now, 1) })).toBe("refused")
        const asked = Array.from({ length: 8 }, () =>
          sessions.acquireProbe({ id, now: Time.after(now, second) })
        )
        const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
        expect(answers.filter((answer) => answer === "granted")).toHaveLength(1)
        expect(answers.filter((answer) => answer === "refused")).toHaveLength(7)
        expect(yield* claim(250, now + second)).toEqual([])
        expect(yield* sessions.acquireProbe({ id: "nobody", now })).toBe("available")
      }).pipe(Effect.provide(layer))
    )

    it.effect("gives a probe to one of many claims at a time", () =>
      Effect.gen(function* () {
        yield* outage(9)
        const workers = Array.from({ length: 6 }, (_, place) => claim(250, now + second, `worker-${place}`))
        const claimed = yield* Effect.all(workers, { concurrency: "unbounded" })
        expect(counted(claimed.flat())).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is probed by one recipient of one job after the other, whoever is not answered for", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const ids = [yield* accept(who, 3), yield* accept(who, 2), yield* accept(who, 1)]
        const { sessionId: id } = who
        yield* tell(id, "OutageBegan", now)
        const asked: Array<string> = []
        for (let at = now + minute; asked.length < 12; at += minute) {
          const [probe] = yield* claim(250, at)
          asked.push(`${ids.indexOf(probe?.jobId ?? "")}.${probe?.recipients[0]?.index}`)
          yield* settle(probe === undefined ? [] : [probe], released, Time.after(Time.at(at), second))
          yield* tell(id, "ProbeFailed", Time.after(Time.at(at), second))
        }
        expect(asked.slice(0, 9)).toEqual(["0.0", "1.0", "2.0", "0.1", "1.1", "2.0", "0.2", "1.0", "2.0"])
        // Nor does a job that comes later wait for all of them.
        ids.push(yield* accept(who, 1, now + 12 * minute))
        const next: Array<number> = []
        for (let at = now + 13 * minute; next.length < 4; at += minute) {
          const probe = yield* claim(250, at)
          next.push(ids.indexOf(probe[0]?.jobId ?? ""))
          yield* settle(probe, released, Time.after(Time.at(at), second))
          yield* tell(id, "ProbeFailed", Time.after(Time.at(at), second))
        }
        expect(next).toContain(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not probed twice by clocks that are a second apart", () =>
      Effect.gen(function* () {
        const { id, sessions } = yield* outage(3)
        expect(counted(yield* claim(250, now + second))).toBe(1)
        for (const behind of [1, 500, second]) {
          expect(yield* claim(250, now + second - behind, "another")).toEqual([])
          expect(yield* sessions.acquireProbe({ id, now: Time.after(now, second - behind) })).toBe("refused")
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("is given to a direct message before its time every other time", () =>
      Effect.gen(function* () {
        const { id, sessions } = yield* outage(3)
        const granted = Effect.fnUntraced(function* (endedAt: Time.Instant) {
          yield* tell(id, "OutageEnded", endedAt)
          yield* tell(id, "OutageBegan", Time.before(endedAt, 2 * second))
          const probe = yield* claim(250, endedAt)
          expect(yield* sessions.acquireProbe({ id, now: endedAt })).toBe("refused")
          yield* settle(probe, released, endedAt)
          yield* tell(id, "ProbeFailed", endedAt)
          return yield* sessions.acquireProbe({ id, now: Time.at(endedAt + second) })
        })
        const at = Time.after(now, minute - (now % 2))
        expect([yield* granted(at), yield* granted(Time.after(at, 5 * minute + 1))]).toEqual([
          "refused",
          "granted"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes nothing of the time for which its recipients are tried again", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const { sessionId: id } = who
        const jobId = yield* accept(who, 3)
        const tried = yield* claim(250)
        yield* settle(tried, Outcome.Retry({ at: Time.after(now, second), failure, maybeSent: false }), now)
        yield* tell(id, "OutageBegan", Time.after(now, minute))
        const probe = yield* claim(250, now + 2 * minute)
        expect(probe).toMatchObject([{ jobId, recipients: [{ attempts: 2, firstAttemptAt: now + minute }] }])
        yield* settle(probe, released, Time.after(now, 3 * minute))
        yield* tell(id, "ProbeFailed", Time.after(now, 3 * minute))
        yield* tell(id, "OutageEnded", Time.after(now, 601 * minute))
        const first = (yield* claim(250, now + 602 * minute)).flatMap(({ recipients }) => recipients)
        // Each was tried for a minute before it and for one behind it.
        expect(first.map(({ firstAttemptAt }) => (firstAttemptAt - now) / minute)).toEqual([600, 600, 600])
        expect(first.map(({ attempts }) => attempts)).toEqual([2, 2, 2])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is probed by a clock that runs behind the one that wrote its times", () =>
      Effect.gen(function* () {
        const who = yield* owner
        yield* accept(who, 1, now - 2 * 60 * minute)
        yield* tell(who.sessionId, "OutageBegan", now)
        expect(counted(yield* claim(250, now - 60 * minute))).toBe(1)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("during an outage", () => {
    it.effect("a job is canceled like any other, and its probe with it when that was released", () =>
      Effect.gen(function* () {
        const { jobId } = yield* outage(4)
        const jobs = yield* JobStore
        const probe = yield* claim(250, now + second)
        yield* jobs.cancel({ jobId, now: Time.after(now, second) })
        expect((yield* find(jobId)).status).toBe("canceling")
        yield* settle(probe, released, Time.after(now, second))
        expect(yield* find(jobId)).toMatchObject({
          status: "canceled",
          pauseReason: null,
          counts: { accepted: 1, canceled: 3 }
        })
        expect(yield* claim(250, now + minute * 5)).toEqual([])
        expect(yield* jobs.nextDue(Time.after(now, minute * 5))).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("recipients that are queued again wait with the others", () =>
      Effect.gen(function* () {
        const { id, jobId } = yield* outage(3)
        const jobs = yield* JobStore
        const probe = yield* claim(250, now + second)
        yield* settle(probe, Outcome.Failed({ failure }), Time.after(now, second))
        yield* jobs.retry({ jobId, now: Time.after(now, second), selection: everyLost })
        expect(yield* find(jobId)).toMatchObject({ ...paused, counts: { failed: 0, queued: 2 } })
        expect(yield* claim(250, now + 2 * second)).toEqual([])
        yield* tell(id, "OutageEnded", Time.after(now, 2 * second))
        expect(counted(yield* claim(250, now + 2 * second))).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("a session that is disconnected is not probed, and starts afresh when it is connected", () =>
      Effect.gen(function* () {
        const { id, jobId, sessions } = yield* outage(3)
        const jobs = yield* JobStore
        yield* sessions.transition({ id, state: "disconnected", reason: "operator", now: Time.after(now, 1) })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
        // Its end is in the data of `session.disconnected`. What ends late does not begin it anew.
        expect((yield* sessions.find(id))?.outage).toBeNull()
        // Its operator meant it.
        expect(yield* sessions.countDown).toEqual({ unavailable: 1, missed: 0 })
        yield* sessions.transition({
          id,
          state: "disconnected",
          reason: "token expired",
          now: Time.after(now, 1)
        })
        expect(yield* sessions.countDown).toEqual({ unavailable: 1, missed: 1 })
        expect(yield* tell(id, "OutageBegan", Time.after(now, 2))).toBe(false)
        expect((yield* sessions.find(id))?.outage).toBeNull()
        expect(yield* claim(250, now + minute)).toEqual([])
        expect(yield* jobs.nextDue(Time.after(now, minute))).toBeNull()
        yield* sessions.transition({ id, state: "connected", reason: null, now: Time.after(now, minute) })
        expect(yield* find(jobId)).toMatchObject(processing)
        expect((yield* sessions.find(id))?.outage).toBeNull()
        expect(counted(yield* claim(250, now + minute))).toBe(2)
        expect(yield* told(Time.after(now, 2 * minute))).toEqual([
          "job.paused",
          "job.processing",
          "session.connected",
          "session.disconnected",
          "session.unavailable"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("an operator's connect ends it", () =>
      Effect.gen(function* () {
        const { id, jobId, sessions } = yield* outage(3)
        yield* sessions.transition({ id, state: "connected", reason: null, now: Time.after(now, 1) })
        expect((yield* sessions.find(id))?.outage).toBeNull()
        expect(yield* find(jobId)).toMatchObject(processing)
        expect(yield* told(Time.after(now, 2))).toEqual([
          "job.paused",
          "job.processing",
          "session.available",
          "session.unavailable"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("a block by the platform counts first, and the probes go on after it", () =>
      Effect.gen(function* () {
        const { id, jobId, sessions } = yield* outage(3)
        yield* sessions.block({ id, until: Time.after(now, minute), now: Time.after(now, 1) })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "provider_blocked" })
        expect(yield* claim(250, now + 2 * second)).toEqual([])
        yield* sessions.unblock({ now: Time.after(now, minute) })
        expect(yield* find(jobId)).toMatchObject(paused)
        expect(counted(yield* claim(250, now + minute))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("a template that is paused probes nothing, and waits for the platform when it is back", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const who = yield* owner
        const { accountId, sessionId } = who
        const importAs = (status: string) =>
          templates.importAll({ accountId, sessionId, contents: [Fixtures.template({ status })], now })
        const [template] = yield* importAs("approved")
        const content = {
          kind: "template" as const,
          templateId: template?.templateId ?? 0,
          template: Fixtures.template()
        }
        const command = Fixtures.send(who, { phones: 2, content })
        yield* (yield* JobStore).accept(command)
        yield* settle(yield* claim(1), accepted, now)
        yield* tell(sessionId, "OutageBegan", now)
        yield* importAs("paused")
        expect(yield* claim(250, now + second)).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({ status: "paused", pauseReason: "template_paused" })
        // No probe was used up.
        yield* importAs("approved")
        expect(yield* find(command.jobId)).toMatchObject(paused)
        expect(counted(yield* claim(250, now + second))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("a worker that dies with the probe leaves it to the rescue, and the next probe comes", () =>
      Effect.gen(function* () {
        const { jobId } = yield* outage(2)
        const jobs = yield* JobStore
        yield* claim(250, now + second, "gone")
        yield* jobs.rescue({ worker: "gone", now: Time.after(now, 20 * second), recoverable: ["sandbox"] })
        expect(yield* find(jobId)).toMatchObject(paused)
        expect(yield* claim(250, now + 20 * second)).toEqual([])
        expect(counted(yield* claim(250, now + second + minute))).toBe(1)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a recipient that is tried again", () => {
    it.effect("keeps the time of its first attempt, and gets a new one when it is queued again", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* JobStore
        const jobId = yield* accept(who, 1)
        const again = (at: Time.Instant) => Outcome.Retry({ at, failure, maybeSent: false })
        const first = yield* claim(1, now + 5)
        expect(first[0]?.recipients[0]?.firstAttemptAt).toBe(now + 5)
        yield* settle(first, again(Time.after(now, 100)), Time.after(now, 50))
        const second = yield* claim(1, now + 100)
        expect(second[0]?.recipients[0]).toMatchObject({ attempts: 2, firstAttemptAt: now + 5 })
        yield* settle(second, again(Time.after(now, 200)), Time.after(now, 150))
        const third = yield* claim(1, now + 200)
        expect(third[0]?.recipients[0]).toMatchObject({ attempts: 3, firstAttemptAt: now + 5 })
        yield* settle(third, Outcome.Failed({ failure }), Time.after(now, 250))
        yield* jobs.retry({ jobId, now: Time.after(now, 300), selection: everyLost })
        const fourth = yield* claim(1, now + 400)
        expect(fourth[0]?.recipients[0]).toMatchObject({ attempts: 1, firstAttemptAt: now + 400 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is tried for as long as its session says", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        expect((yield* sessions.find(id))?.retryForMs).toBeNull()
        yield* sessions.change({ id, change: { retryForMs: 90_000 }, now })
        expect((yield* sessions.find(id))?.retryForMs).toBe(90_000)
        yield* sessions.change({ id, change: { retryForMs: null }, now })
        expect((yield* sessions.find(id))?.retryForMs).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes in the hours that its session allows", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        expect((yield* sessions.find(id))?.quietHours).toEqual(QuietHours.none)
        const hours = { from: "09:00", to: "20:00", days: [1, 7], outside: "skip" } as const
        for (const quietHours of [{ ...QuietHours.none, marketing: hours }, QuietHours.none]) {
          yield* sessions.change({ id, change: { quietHours }, now })
          expect((yield* sessions.find(id))?.quietHours).toEqual(quietHours)
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes to the markets that its session leaves open", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        expect((yield* sessions.find(id))?.closedMarkets).toBeNull()
        for (const closedMarkets of [
          [],
          [{ category: "marketing" as const, prefixes: ["1201", "34"] }],
          null
        ]) {
          yield* sessions.change({ id, change: { closedMarkets }, now })
          expect((yield* sessions.find(id))?.closedMarkets).toEqual(closedMarkets)
        }
      }).pipe(Effect.provide(layer))
    )
  })
}
