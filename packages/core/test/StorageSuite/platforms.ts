/** What platforms say beyond a recipient: blocks, causes that stop a job, reports by their own ids, repeated news. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ExternalText from "../../src/domain/ExternalText.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Failure } from "../../src/domain/job/Recipient.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import type { TemplateContent } from "../../src/domain/template/Template.ts"
import type { Claimed } from "../../src/domain/template/TemplateCheck.ts"
import { unchecked } from "../../src/domain/template/TemplateCheck.ts"
import type { Report, Settlement } from "../../src/storage/JobStore.ts"
import { earlyReportMs, JobStore, maximumEarlyReports, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, failure, find, listen, now, owner, results } from "./Setup.ts"

const job = Effect.fnUntraced(function* (phones: number) {
  const jobs = yield* JobStore
  const who = yield* owner
  const command = Fixtures.send(who, { phones })
  yield* jobs.accept(command)
  const { jobId } = command
  const take = Effect.fnUntraced(function* (limit: number, outcome: (index: number) => Outcome) {
    const [taken] = yield* claim(limit)
    const settlements = (taken?.recipients ?? []).map(
      ({ index }): Settlement => ({ jobId, fence: taken?.fence ?? -1, index, outcome: outcome(index) })
    )
    return (yield* jobs.settleAndClaim({ now, settlements, claim: null })).settled
  })
  return { ...who, jobs, jobId, take }
})

const accepted = (index: number): Outcome => Outcome.Accepted({ providerId: `p${index}`, status: "accepted" })
const stopping = (): Outcome => Outcome.Failed({ failure, stopsJob: true })

export const suite = (layer: Stored): void => {
  describe("a change of a configuration", () => {
    it.effect("is not made from another one than the session has", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        const before = yield* sessions.find(id)
        const changed = (basedOn: string | undefined, config: string) =>
          sessions.change({ id, change: { config, name: config }, basedOn, now: Time.after(now, 1) })
        expect(yield* changed(before?.config, "first")).toMatchObject({ config: "first" })
        expect(yield* changed(before?.config, "second")).toBe("stale")
        expect(yield* sessions.find(id)).toMatchObject({ config: "first", name: "first" })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("an answer to a connection that the session no longer has", () => {
    it.effect("asks for nothing of the session: it has another configuration, or was connected anew", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        const connection = yield* sessions.find(id)
        if (connection === null) return expect.unreachable()
        const attempted = { connection, since: now }
        const gone = {
          id,
          state: "disconnected",
          reason: "rejected",
          attempted,
          now: Time.after(now, 5)
        } as const
        const blocked = { id, until: Time.after(now, 1000), attempted, now: Time.after(now, 5) }
        const untouched = { state: "connected", blockedUntil: null }
        yield* sessions.change({ id, change: { config: "another" }, now: Time.after(now, 1) })
        expect(yield* sessions.transition(gone)).toMatchObject(untouched)
        expect(yield* sessions.block(blocked)).toMatchObject(untouched)
        yield* sessions.change({ id, change: { config: connection.config }, now: Time.after(now, 2) })
        yield* sessions.transition({ id, state: "disconnected", reason: "operator", now: Time.after(now, 3) })
        expect(yield* sessions.transition(gone)).toMatchObject({ reason: "operator" })
        yield* sessions.transition({ id, state: "connected", reason: null, now: Time.after(now, 4) })
        expect(yield* sessions.transition(gone)).toMatchObject(untouched)
        expect(yield* sessions.block(blocked)).toMatchObject(untouched)
        const again = yield* sessions.find(id)
        if (again === null) return expect.unreachable()
        const since = { connection: again, since: Time.after(now, 5) }
        yield* sessions.change({ id, change: { name: "renamed" }, now: Time.after(now, 5) })
        expect(yield* sessions.block({ ...blocked, attempted: since })).toMatchObject({
          blockedUntil: now + 1000
        })
        expect(yield* sessions.transition({ ...gone, attempted: since })).toMatchObject({
          state: "disconnected"
        })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("what a platform tells late of an attempt", () => {
    it.effect(
      "asks for nothing that was mended since: by a connect, a configuration, the end of a block",
      () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const { sessionId: id } = yield* owner
          const told = (since: Time.Instant) => ({ id, attempted: { since }, now: Time.after(now, 60) })
          const gone = (since: Time.Instant) =>
            Effect.map(
              sessions.transition({ ...told(since), state: "disconnected", reason: "rejected" }),
              (session) => session?.state
            )
          yield* sessions.transition({
            id,
            state: "disconnected",
            reason: "operator",
            now: Time.after(now, 1)
          })
          expect(
            (yield* sessions.transition({
              ...told(Time.after(now, 9)),
              state: "disconnected",
              reason: "rejected"
            }))?.reason
          ).toBe("operator")
          yield* sessions.transition({ id, state: "connected", reason: null, now: Time.after(now, 10) })
          expect(yield* gone(Time.after(now, 9))).toBe("connected")
          // The operator asked the platform again, though it was connected.
          yield* sessions.transition({ id, state: "connected", reason: null, now: Time.after(now, 15) })
          expect(yield* gone(Time.after(now, 14))).toBe("connected")
          yield* sessions.change({ id, change: { config: "another" }, now: Time.after(now, 20) })
          expect(yield* gone(Time.after(now, 19))).toBe("connected")
          yield* sessions.block({ ...told(Time.after(now, 21)), until: Time.after(now, 1000) })
          yield* sessions.change({ id, change: {}, releases: true, now: Time.after(now, 30) })
          const block = (since: Time.Instant) =>
            Effect.map(
              sessions.block({ ...told(since), until: Time.after(now, 1000) }),
              (session) => session?.blockedUntil
            )
          expect(yield* block(Time.after(now, 29))).toBeNull()
          expect(yield* block(Time.after(now, 30))).toBe(now + 1000)
          expect(yield* gone(Time.after(now, 30))).toBe("disconnected")
        }).pipe(Effect.provide(layer))
    )
  })

  describe("a session whose attempts all end with one failure", () => {
    const ended = (some: ReadonlyArray<number>, failure: Failure | null, since = now) =>
      some.map((n) => ({ address: `3460000000${n}`, failure, attempted: { since } }))
    const unlisted = { code: "gateway_refused", provider_code: "no_credit", message: "", permanent: true }
    const six = [0, 1, 2, 3, 4, 5]
    const given = Effect.gen(function* () {
      const sessions = yield* SessionStore
      const { sessionId: id } = yield* owner
      const note = (ends: ReturnType<typeof ended>, way: "answer" | "receipt" = "answer") =>
        Effect.map(sessions.noteEnds({ id, way, ends, now }), (noted) => noted?.after)
      return { id, note, sessions }
    })

    it.effect("is blocked once they are ten, whichever process saw them, and again by the next one", () =>
      Effect.gen(function* () {
        const { id, note, sessions } = yield* given
        expect(yield* note(ended(six, unlisted))).toMatchObject({ blockedUntil: null })
        expect(yield* note(ended([6, 7, 8], unlisted))).toMatchObject({ blockedUntil: null })
        expect(yield* note(ended([9], unlisted))).toMatchObject({
          blockedUntil: Time.after(now, Time.minute),
          blockReason: "same_failure",
          blockCode: "gateway_refused"
        })
        expect(yield* note(ended(six, unlisted))).toMatchObject({ blockedUntil: now + Time.minute })
        yield* sessions.unblock({ now: Time.after(now, Time.minute) })
        expect(yield* sessions.find(id)).toMatchObject({ blockedUntil: null, blockCode: null })
        expect(yield* note(ended([0], unlisted))).toMatchObject({ blockedUntil: now + 2 * Time.minute })
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts anew after a success by the same way, and after it was mended", () =>
      Effect.gen(function* () {
        const { id, note, sessions } = yield* given
        const last = { blockedUntil: null, blockReason: null }
        yield* note(ended(six, unlisted))
        expect(yield* note(ended([0, 1, 2], unlisted), "receipt")).toMatchObject(last)
        expect(yield* note(ended([0], null))).toMatchObject({ failing: { receipt: { count: 3 } } })
        expect(yield* note(ended(six, unlisted))).toMatchObject(last)
        yield* sessions.change({ id, change: { config: "another" }, now: Time.after(now, 1) })
        expect(yield* sessions.find(id)).toMatchObject({ failing: null })
        yield* note(ended(six, unlisted, Time.after(now, 1)))
        yield* sessions.change({ id, change: {}, releases: true, now: Time.after(now, 2) })
        expect(yield* sessions.find(id)).toMatchObject({ failing: null })
        // What was attempted before that says nothing of it.
        expect(yield* note(ended([...six, ...six], unlisted, Time.after(now, 1)))).toMatchObject({
          ...last,
          failing: null
        })
        expect(yield* note(ended([...six, ...six], unlisted, Time.after(now, 2)))).toMatchObject({
          blockReason: "same_failure"
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("stops where ten of one failure came by answers and by receipts together", () =>
      Effect.gen(function* () {
        const { note } = yield* given
        yield* note(ended([0, 1, 2], unlisted), "receipt")
        expect(yield* note(ended(six, unlisted))).toMatchObject({ blockReason: null })
        expect(yield* note(ended([3], unlisted), "receipt")).toMatchObject({ blockReason: "same_failure" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("pauses its jobs, which go on once an operator ends that", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { jobId, jobs, sessionId: id, take } = yield* job(2)
        yield* take(1, accepted)
        yield* sessions.noteEnds({ id, way: "receipt", ends: ended([...six, ...six], unlisted), now })
        expect((yield* jobs.find(jobId))?.pauseReason).toBe("same_failure")
        yield* sessions.change({ id, change: {}, releases: true, now: Time.after(now, 1) })
        expect(yield* jobs.find(jobId)).toMatchObject({ pauseReason: null })
        expect(yield* sessions.noteEnds({ id: "nobody", way: "answer", ends: [], now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "goes on once it is connected again, too, since its platform was asked; a block of that stays",
      () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const { jobId, jobs, sessionId: id, take } = yield* job(2)
          yield* take(1, accepted)
          const connect = (at: Time.Instant) =>
            sessions.transition({ id, state: "connected", reason: null, now: at })
          yield* sessions.noteEnds({ id, way: "receipt", ends: ended([...six, ...six], unlisted), now })
          expect(yield* connect(Time.after(now, 1))).toMatchObject({ blockReason: null, blockedUntil: null })
          expect(yield* jobs.find(jobId)).toMatchObject({ pauseReason: null })
          yield* sessions.block({ id, now, until: Time.after(now, Time.hour) })
          expect(yield* connect(Time.after(now, 2))).toMatchObject({ blockReason: "provider_blocked" })
        }).pipe(Effect.provide(layer))
    )

    it.effect("is probed by one message once the block is over, and goes on once one has gone well", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id, jobs } = yield* job(5)
        const note = (failure: Failure | null, at: Time.Instant) =>
          sessions.noteEnds({ id, way: "answer", ends: ended([...six, ...six], failure), now: at })
        const given = (at: Time.Instant) =>
          Effect.map(claim(5, at), (claimed) => claimed.flatMap(({ recipients }) => recipients).length)
        yield* note(unlisted, now)
        const over = Time.after(now, Time.minute)
        yield* sessions.unblock({ now: over })
        expect(yield* jobs.nextDue(Time.before(over, 1))).toBe(over)
        expect([yield* given(over), yield* given(Time.after(over, 1))]).toEqual([1, 0])
        expect(yield* jobs.nextDue(Time.after(over, 1))).toBe(over + Time.minute)
        // Nobody knows how it ended.
        expect(yield* given(Time.after(over, Time.minute))).toBe(1)
        yield* note(null, Time.after(over, Time.minute + 1))
        expect(yield* given(Time.after(over, Time.minute + 1))).toBe(3)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a session that its platform blocks", () => {
    it.effect("pauses its jobs until the time is over, and they go on by themselves", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId, jobId, jobs, sessionId, take } = yield* job(4)
        yield* take(2, accepted)
        yield* listen(accountId)
        yield* sessions.block({ id: sessionId, until: Time.after(now, 1000), now })
        yield* sessions.block({ id: sessionId, until: Time.after(now, 500), now })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "provider_blocked" })
        expect((yield* sessions.find(sessionId))?.blockedUntil).toBe(now + 1000)
        expect(yield* claim()).toEqual([])
        expect(yield* jobs.nextDue(now)).toBeNull()
        expect(yield* sessions.nextUnblock).toBe(now + 1000)
        expect(yield* sessions.unblock({ now: Time.after(now, 999) })).toEqual([])
        expect(yield* sessions.unblock({ now: Time.after(now, 1000) })).toHaveLength(1)
        expect(yield* sessions.nextUnblock).toBeNull()
        expect(yield* find(jobId)).toMatchObject({ status: "processing", pauseReason: null })
        expect(yield* take(9, accepted)).toBe(2)
        const told = (yield* events(now + 2000))
          .map(({ type }) => type)
          .filter((type) => type.startsWith("job."))
        expect(told.toSorted()).toEqual(["job.completed", "job.paused", "job.processing"])
        expect(yield* sessions.block({ id: "nobody", until: now, now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes nothing of what is accepted meanwhile, and stays paused while it is disconnected", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { jobId, sessionId, take } = yield* job(2)
        yield* take(1, accepted)
        yield* sessions.block({ id: sessionId, until: Time.after(now, 10), now })
        yield* sessions.transition({ id: sessionId, state: "disconnected", reason: "gone", now })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
        yield* sessions.unblock({ now: Time.after(now, 10) })
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
        yield* sessions.transition({ id: sessionId, state: "connected", reason: null, now })
        expect(yield* take(9, accepted)).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("that is disconnected already only has its reason replaced, and tells it nobody", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId, sessionId } = yield* owner
        yield* sessions.transition({ id: sessionId, state: "disconnected", reason: "first", now })
        yield* listen(accountId)
        yield* sessions.transition({ id: sessionId, state: "disconnected", reason: "second", now })
        expect(yield* sessions.find(sessionId)).toMatchObject({ state: "disconnected", reason: "second" })
        expect(yield* events()).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a cause that stops a whole job", () => {
    it.effect("fails all that is not under way, and the job when the platform took none of it", () =>
      Effect.gen(function* () {
        const { accountId, jobId, take } = yield* job(5)
        yield* listen(accountId)
        expect(yield* take(2, stopping)).toBe(2)
        const stopped = yield* find(jobId)
        expect(stopped).toMatchObject({ status: "failed", completedAt: now })
        expect(stopped.counts).toEqual({ ...Recipient.noCounts, failed: 5 })
        expect((yield* results(jobId)).map((each) => each.failure)).toEqual(
          Array.from({ length: 5 }, () => failure)
        )
        expect(yield* claim()).toEqual([])
        const told = (yield* events()).map(({ type }) => type)
        expect(told.filter((type) => type === "recipient.failed")).toHaveLength(5)
        expect(told.at(-1)).toBe("job.failed")
      }).pipe(Effect.provide(layer))
    )

    it.effect("fails those, too, whose attempts were settled beside it and were to be made again", () =>
      Effect.gen(function* () {
        const { accountId, jobId, take } = yield* job(6)
        yield* listen(accountId)
        const { sequence: before = 0 } = (yield* results(jobId))[0] ?? {}
        const outcomes = [
          Outcome.Retry({ at: Time.after(now, 1000), failure, maybeSent: false }),
          Outcome.Released({ maybeSent: false }),
          stopping(),
          Outcome.Released({ maybeSent: true }),
          Outcome.Retry({ at: Time.after(now, 1000), failure, maybeSent: true })
        ]
        expect(yield* take(5, (index) => outcomes[index] ?? stopping())).toBe(5)
        expect(yield* find(jobId)).toMatchObject({
          status: "completed",
          counts: { ...Recipient.noCounts, failed: 4, unknown: 2 }
        })
        const ended = yield* results(jobId)
        expect(ended.map(({ nextAt, status }) => [status, nextAt])).toEqual([
          ["failed", null],
          ["failed", null],
          ["failed", null],
          ["unknown", null],
          ["unknown", null],
          ["failed", null]
        ])
        // Claimed and ended; the second was queued again in between, and the last was not claimed.
        expect(ended.map(({ sequence }) => sequence - before)).toEqual([2, 3, 2, 2, 2, 1])
        expect(yield* claim(250, now + 2000)).toEqual([])
        expect((yield* events()).filter(({ type }) => type.startsWith("recipient."))).toHaveLength(6)
      }).pipe(Effect.provide(layer))
    )

    it.effect("completes a job of which some was taken, and leaves each what it had", () =>
      Effect.gen(function* () {
        const { jobId, take } = yield* job(5)
        yield* take(2, accepted)
        yield* take(1, stopping)
        const stopped = yield* find(jobId)
        expect(stopped.status).toBe("completed")
        expect(stopped.counts).toEqual({ ...Recipient.noCounts, accepted: 2, failed: 3 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is no cause for a recipient that the same window had accepted", () =>
      Effect.gen(function* () {
        const { jobId, take } = yield* job(3)
        yield* take(3, (index) => (index === 1 ? stopping() : accepted(index)))
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual([
          "accepted",
          "failed",
          "accepted"
        ])
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a message that the platform holds", () => {
    it.effect("is accepted with the reason, which a receipt takes away", () =>
      Effect.gen(function* () {
        const { jobId, jobs, sessionId, take } = yield* job(1)
        yield* take(1, () => Outcome.Accepted({ providerId: "held", status: "accepted", held: failure }))
        expect((yield* results(jobId))[0]).toMatchObject({ status: "accepted", failure })
        const report = {
          messageId: null,
          providerId: "held",
          status: "sent",
          at: now,
          failure: null
        } as const
        yield* jobs.receive({ now, sessionId, reports: [report] })
        expect((yield* results(jobId))[0]).toMatchObject({ status: "sent", failure: null })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("reports by the platform's own id", () => {
    const report = (providerId: string): Report => ({
      messageId: null,
      providerId,
      status: "delivered",
      at: now,
      failure: null
    })

    it.effect("are applied to the session's message, and parked while that is not known", () =>
      Effect.gen(function* () {
        const { jobId, jobs, sessionId, take } = yield* job(2)
        // They come before our own commit, and one is of nobody's message.
        const reports = [report("p0"), report("p1"), report("strange")]
        const early = yield* jobs.receive({ now, sessionId, reports })
        expect(early).toMatchObject({ applied: 0, unmatched: reports, met: [] })
        expect((yield* jobs.applyEarlyReports({ now })).applied).toBe(0)
        yield* take(2, accepted)
        expect(yield* jobs.applyEarlyReports({ now: Time.after(now, 5000) })).toMatchObject({
          applied: 2,
          met: [],
          forgotten: new Map()
        })
        expect((yield* jobs.applyEarlyReports({ now: Time.after(now, 5000) })).applied).toBe(0)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["delivered", "delivered"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("of the longest that is kept are found, before and after their message is known", () =>
      Effect.gen(function* () {
        const { jobId, jobs, sessionId, take } = yield* job(2)
        const ids = [0, 1].map((index) => ExternalText.id(`${"😀".repeat(600)}${index}`))
        yield* jobs.receive({ now, sessionId, reports: [report(ids[0] ?? "")] })
        yield* take(2, (index) => Outcome.Accepted({ providerId: ids[index] ?? null, status: "accepted" }))
        expect((yield* jobs.applyEarlyReports({ now })).applied).toBe(1)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["delivered", "accepted"])
        yield* jobs.receive({ now, sessionId, reports: [report(ids[1] ?? "")] })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["delivered", "delivered"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are forgotten, the oldest first, where a session has more than are parked of one", () =>
      Effect.gen(function* () {
        const { jobId, jobs, sessionId, take } = yield* job(2)
        const other = yield* owner
        yield* jobs.receive({ now, sessionId: other.sessionId, reports: [report("p0")] })
        const strange = Array.from({ length: maximumEarlyReports - 1 }, (_, n) => report(`strange ${n}`))
        yield* jobs.receive({ now, sessionId, reports: [report("p0"), ...strange, report("p1")] })
        expect(yield* jobs.applyEarlyReports({ now })).toMatchObject({
          applied: 0,
          met: [],
          forgotten: new Map([[sessionId, 1]])
        })
        yield* take(2, accepted)
        expect(yield* jobs.applyEarlyReports({ now })).toMatchObject({
          applied: 1,
          met: [],
          forgotten: new Map()
        })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["accepted", "delivered"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are another session's nothing, and forgotten after a day", () =>
      Effect.gen(function* () {
        const { jobId, jobs, take } = yield* job(1)
        const other = yield* owner
        yield* take(1, accepted)
        yield* jobs.receive({ now, sessionId: other.sessionId, reports: [report("p0")] })
        expect((yield* jobs.applyEarlyReports({ now })).applied).toBe(0)
        expect((yield* results(jobId))[0]?.status).toBe("accepted")
        expect((yield* jobs.applyEarlyReports({ now: Time.after(now, earlyReportMs) })).applied).toBe(0)
      }).pipe(Effect.provide(layer))
    )

    it.effect("without a session are that message's whose id it is alone", () =>
      Effect.gen(function* () {
        const { jobId, jobs, take } = yield* job(1)
        yield* take(1, accepted)
        expect(yield* jobs.receive({ now, reports: [report("p0"), report("p1")] })).toMatchObject({
          applied: 1,
          unmatched: [report("p1")]
        })
        expect((yield* results(jobId))[0]?.status).toBe("delivered")
        expect((yield* jobs.applyEarlyReports({ now })).applied).toBe(0)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a platform's report on a template", () => {
    const imported = Effect.fnUntraced(function* (status: string, at: Time.Instant) {
      const templates = yield* TemplateStore
      const who = yield* owner
      const { accountId, sessionId } = who
      const [first] = yield* templates.importAll({
        accountId,
        sessionId,
        contents: [Fixtures.template({ status })],
        now: at
      })
      const templateId = first?.templateId ?? 0
      const report = (report: Parameters<typeof templates.report>[0]["report"], now: Time.Instant) =>
        Effect.map(
          templates.report({ accountId, sessionId, templateId, report, now }),
          (heard) => heard?.after
        )
      return { templates, who, templateId, report }
    })

    it.effect("changes its status and rating, tells so, and leaves what it does not name", () =>
      Effect.gen(function* () {
        const { report, templateId, templates, who } = yield* imported("approved", now)
        yield* listen(who.accountId)
        const other = yield* owner
        expect(yield* report({ quality: "red", refusedSince: null }, Time.after(now, 1))).toMatchObject({
          status: "approved",
          quality: "red",
          updatedAt: now + 1
        })
        expect(yield* report({ status: "paused", refusedSince: null }, Time.after(now, 2))).toMatchObject({
          status: "paused",
          quality: "red"
        })
        expect(yield* report({ status: "paused", refusedSince: null }, Time.after(now, 3))).toMatchObject({
          updatedAt: now + 2
        })
        expect((yield* events(now + 10)).map(({ type }) => type)).toEqual(Array(2).fill("template.updated"))
        const foreign = {
          accountId: other.accountId,
          sessionId: other.sessionId,
          templateId,
          now: Time.after(now, 4)
        }
        expect(
          yield* templates.report({ ...foreign, report: { status: "disabled", refusedSince: null } })
        ).toBeNull()
        expect(yield* templates.find({ sessionId: who.sessionId, templateId })).toMatchObject({
          status: "paused"
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("of another content has its jobs wait until it is known, and they go on or are named", () =>
      Effect.gen(function* () {
        const { templateId, templates, who } = yield* imported("approved", now)
        const { accountId, sessionId } = who
        const jobs = yield* JobStore
        const template = Fixtures.template()
        const contentOf = (template: TemplateContent) => ({ kind: "template", templateId, template }) as const
        const other = { ...template, variables: [], bindings: [] }
        const commands = [template, other].map((each) =>
          Fixtures.send(who, { phones: 1, content: contentOf(each) })
        )
        for (const command of commands) yield* jobs.accept(command)
        const ids = commands.map(({ jobId }) => jobId)
        const ask = (at: Time.Instant, refusedSince: Time.Instant | null = null) =>
          templates.askAgain({ sessionId, templateId, refusedSince, now: at })
        let last: Claimed = unchecked
        const taken = (at: Time.Instant) =>
          Effect.map(templates.claimChecks({ now: at, limit: 10 }), (all) =>
            all.map(({ check, template }) => {
              last = check
              return [template.templateId, check.count]
            })
          )
        expect([yield* taken(now), yield* templates.nextCheck]).toEqual([[], null])
        expect([yield* ask(now), yield* ask(Time.after(now, 1))]).toEqual([true, false])
        expect(yield* templates.nextCheck).toBe(now)
        expect(yield* templates.askAgain({ sessionId: "other", templateId, refusedSince: null, now })).toBe(
          false
        )
        expect(yield* claim()).toEqual([])
        for (const id of ids)
          expect(yield* find(id)).toMatchObject({ status: "paused", pauseReason: "template_changed" })
        expect([yield* taken(Time.after(now, 1)), yield* taken(Time.after(now, 2))]).toEqual([
          [[templateId, 1]],
          []
        ])
        // An import alone does not end the wait: it may be older than the news.
        yield* templates.importAll({
          accountId,
          sessionId,
          contents: [{ ...template, quality: "red" }],
          now: Time.after(now, 2)
        })
        expect(yield* find(ids[0] ?? "")).toMatchObject({ pauseReason: "template_changed" })
        const end = (at: Time.Instant) => templates.endCheck({ sessionId, templateId, check: last, now: at })
        expect(yield* end(Time.after(now, 3))).toEqual([ids[1]])
        expect(yield* find(ids[0] ?? "")).toMatchObject({ pauseReason: "template_changed" })
        yield* jobs.abandon({ jobId: ids[1] ?? "", failure, now: Time.after(now, 4) })
        yield* jobs.abandon({ jobId: ids[1] ?? "", failure, now: Time.after(now, 4) })
        expect(yield* find(ids[1] ?? "")).toMatchObject({ status: "failed", counts: { failed: 1 } })
        expect(yield* end(Time.after(now, 5))).toEqual([])
        expect(yield* find(ids[0] ?? "")).toMatchObject({ status: "processing", pauseReason: null })
        expect([
          yield* taken(Time.after(now, Time.day)),
          yield* ask(Time.after(now, 6), Time.after(now, 5))
        ]).toEqual([[], false])
        expect((yield* claim(250, now + 7)).map(({ jobId }) => jobId)).toEqual([ids[0]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is fetched again where there was news of it during the fetch", () =>
      Effect.gen(function* () {
        const { templateId, templates, who } = yield* imported("approved", now)
        const { sessionId } = who
        const content = { kind: "template", templateId, template: Fixtures.template() } as const
        const command = Fixtures.send(who, { phones: 1, content })
        yield* (yield* JobStore).accept(command)
        const ask = (at: Time.Instant, refusedSince: Time.Instant | null = null) =>
          templates.askAgain({ sessionId, templateId, refusedSince, now: at })
        const take = (at: Time.Instant) =>
          Effect.map(templates.claimChecks({ now: at, limit: 10 }), (all) => all.map(({ check }) => check))
        const end = (check: Claimed | undefined, at: Time.Instant) =>
          templates.endCheck({ sessionId, templateId, check: check ?? unchecked, now: at })
        yield* ask(now)
        expect(yield* claim()).toEqual([])
        const [first] = yield* take(now)
        // A message that was refused tells nothing new.
        expect([
          yield* ask(Time.after(now, 1), now),
          yield* ask(Time.after(now, 2)),
          yield* ask(Time.after(now, 3))
        ]).toEqual([false, true, false])
        expect(yield* end(first, Time.after(now, 4))).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({ pauseReason: "template_changed" })
        const [second] = yield* take(Time.after(now, 4))
        expect(second?.count).toBe(1)
        expect(yield* end(first, Time.after(now, 5))).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({ pauseReason: "template_changed" })
        yield* end(second, Time.after(now, 6))
        expect(yield* find(command.jobId)).toMatchObject({ status: "processing", pauseReason: null })
        expect(yield* take(Time.after(now, Time.day))).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts by the platform's time: what is older or repeated changes nothing", () =>
      Effect.gen(function* () {
        const { templateId, templates, who } = yield* imported("pending", now)
        const { accountId, sessionId } = who
        yield* listen(accountId)
        // An import by hand dates nothing, and platforms tell of long before.
        const at = Time.before(now, Time.day)
        const tell = (report: object, at: Time.Instant | null) =>
          templates.report({
            accountId,
            sessionId,
            templateId,
            report: { refusedSince: null, at, ...report },
            now: Time.after(now, 5000)
          })
        const why = { reason: "ABUSIVE_CONTENT", rejectionInfo: null, otherInfo: null, disableInfo: null }
        yield* tell({ status: "approved" }, at)
        expect(yield* tell({ status: "disabled", why }, Time.after(at, 60_000))).toMatchObject({
          before: { status: "approved" },
          after: { status: "disabled", why },
          isOlder: false
        })
        expect(yield* tell({ status: "approved" }, at)).toMatchObject({
          after: { status: "disabled" },
          isOlder: true
        })
        // In the second of the last, too: what was said in it is known.
        yield* tell({ status: "paused" }, Time.after(at, 60_000))
        expect(yield* tell({ status: "disabled" }, Time.after(at, 60_000))).toMatchObject({
          after: { status: "paused" },
          isOlder: false
        })
        // Each part has an order of its own.
        expect(yield* tell({ category: "marketing", quality: "red" }, at)).toMatchObject({
          after: { category: "marketing", quality: "red", status: "paused" }
        })
        expect(yield* tell({ category: "utility" }, Time.before(at, 7_200_000))).toMatchObject({
          after: { category: "marketing" },
          isOlder: true
        })
        // A change of the content is fetched once.
        yield* tell({ isChanged: true }, at)
        const due = (at: Time.Instant) =>
          Effect.map(templates.claimChecks({ now: at, limit: 9 }), (all) => all.length)
        expect(yield* due(Time.after(now, 5000))).toBe(1)
        const [{ check } = { check: unchecked }] = yield* templates.claimChecks({
          now: Time.after(now, Time.hour),
          limit: 9
        })
        yield* templates.endCheck({ sessionId, templateId, check, now: Time.after(now, Time.hour) })
        yield* tell({ isChanged: true }, at)
        expect(yield* due(Time.after(now, 2 * Time.hour))).toBe(0)
        const types = (yield* events(now + 10_000)).map(({ data }) => data["reason"])
        expect(types.slice(0, 2)).toEqual([null, "ABUSIVE_CONTENT"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("stands where a sync was asked for before it, and falls to one asked for since", () =>
      Effect.gen(function* () {
        const { report, templateId, templates, who } = yield* imported("approved", now)
        const { accountId, sessionId } = who
        const at = Time.after(now, 60_000)
        yield* report({ status: "paused", quality: "red", at, refusedSince: null }, at)
        yield* report({ category: "marketing", at, refusedSince: null }, at)
        const sync = (askedAt: Time.Instant | undefined, content: Partial<TemplateContent> = {}) =>
          Effect.map(
            templates.importAll({
              accountId,
              sessionId,
              contents: [Fixtures.template({ status: "approved", quality: "green", ...content })],
              ...(askedAt === undefined ? {} : { askedAt }),
              now: Time.after(at, 9000)
            }),
            ([template]) => template
          )
        expect(yield* sync(Time.before(at, 1000))).toMatchObject({
          status: "paused",
          quality: "red",
          category: "marketing"
        })
        expect(yield* sync(Time.after(at, 2000))).toMatchObject({
          status: "approved",
          quality: "green",
          category: "utility"
        })
        // It counts as said then, though it brought nothing new.
        const late = { status: "disabled", at: Time.after(at, 1000), refusedSince: null }
        expect(yield* report(late, Time.after(at, 9000))).toMatchObject({ status: "approved" })
        expect(yield* sync(Time.after(at, 1000), { status: "paused" })).toMatchObject({ status: "approved" })
        // Who imports by hand has the word.
        expect(yield* sync(undefined, { status: "rejected" })).toMatchObject({ status: "rejected" })
        expect(yield* templates.find({ sessionId, templateId })).toMatchObject({ status: "rejected" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("that it is paused has it asked for again, while its jobs wait for that", () =>
      Effect.gen(function* () {
        const { report, templateId, templates, who } = yield* imported("approved", now)
        const { sessionId } = who
        const content = { kind: "template", templateId, template: Fixtures.template() } as const
        const command = Fixtures.send(who, { phones: 1, content })
        yield* (yield* JobStore).accept(command)
        yield* report({ status: "paused", refusedSince: null }, now)
        const first = Time.after(now, 3 * Time.hour)
        expect(yield* templates.nextCheck).toBe(first)
        expect(yield* templates.claimChecks({ now: Time.at(first - 1), limit: 9 })).toEqual([])
        const [taken] = yield* templates.claimChecks({ now: first, limit: 9 })
        expect(taken?.template.templateId).toBe(templateId)
        expect(yield* claim()).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({ pauseReason: "template_paused" })
        yield* templates.endCheck({
          sessionId,
          templateId,
          check: taken?.check ?? unchecked,
          now: Time.at(first + 1)
        })
        expect(yield* templates.nextCheck).toBe(now + 9 * Time.hour)
        yield* report({ status: "approved", refusedSince: null }, Time.after(first, 2))
        expect(yield* templates.nextCheck).toBeNull()
        expect(yield* find(command.jobId)).toMatchObject({ status: "processing", pauseReason: null })
      }).pipe(Effect.provide(layer))
    )

    it.effect("changes its category, and tells the one that is to come until it has it", () =>
      Effect.gen(function* () {
        const { report, who } = yield* imported("approved", now)
        yield* listen(who.accountId)
        yield* report({ correctCategory: "marketing", refusedSince: null }, Time.after(now, 1))
        yield* report({ correctCategory: "marketing", refusedSince: null }, Time.after(now, 2))
        expect(
          yield* report(
            { category: "marketing", correctCategory: null, refusedSince: null },
            Time.after(now, 3)
          )
        ).toMatchObject({ category: "marketing", updatedAt: now + 3 })
        const bodies = (yield* events(now + 10)).map(({ data }) => data)
        expect(bodies).toMatchObject([
          { category: "utility", correct_category: "marketing" },
          { category: "marketing", correct_category: null }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps its cap on price until an import names another or none", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        const cap = { bid_strategy: "LOWEST_COST_WITH_BID_CAP", bid_amount: 87_000 }
        const put = (some: Partial<TemplateContent>, now: Time.Instant) =>
          Effect.map(
            templates.importAll({ accountId, sessionId, contents: [Fixtures.template(some)], now }),
            ([template]) => template
          )
        const first = yield* put({ maxPrice: cap }, now)
        const templateId = first?.templateId ?? 0
        const kept = Effect.map(templates.find({ sessionId, templateId }), (found) => found?.maxPrice ?? null)
        expect([first?.maxPrice, yield* kept]).toEqual([cap, cap])
        expect(yield* put({ maxPrice: { ...cap } }, Time.after(now, 1))).toMatchObject({ updatedAt: now })
        yield* put({ quality: "red" }, Time.after(now, 2))
        yield* templates.report({
          accountId,
          sessionId,
          templateId,
          report: { status: "paused", refusedSince: null },
          now: Time.after(now, 3)
        })
        expect(yield* kept).toEqual(cap)
        const lower = { ...cap, bid_amount: 50_000 }
        expect(yield* put({ maxPrice: lower }, Time.after(now, 4))).toMatchObject({
          maxPrice: lower,
          updatedAt: now + 4
        })
        expect(yield* kept).toEqual(lower)
        yield* put({ maxPrice: null }, Time.after(now, 5))
        expect(yield* kept).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("finds it by the platform's id, else by its name and language as platforms spell them", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        const contents = [
          Fixtures.template({ name: "promo", language: "pt_BR", platformId: "9" }),
          Fixtures.template({ name: "promo", language: "pt" })
        ]
        yield* templates.importAll({ accountId, sessionId, contents, now })
        const found = (name: string, language: string, platformId: string | null = null) =>
          Effect.map(
            templates.findNamed({ sessionId, name, language, platformId }),
            (template) => template?.language
          )
        expect(yield* found("promo", "pt-BR")).toBe("pt_BR")
        expect(yield* found("PROMO", "PT_br", "10")).toBe("pt_BR")
        expect(yield* found("renamed", "xx", "9")).toBe("pt_BR")
        expect(yield* found("promo", "pt")).toBe("pt")
        expect(yield* found("promo", "en")).toBeUndefined()
        // The id stays where an import says none.
        yield* templates.importAll({
          accountId,
          sessionId,
          contents: [Fixtures.template({ name: "promo", language: "pt_BR", quality: "red" })],
          now
        })
        expect(yield* found("renamed", "xx", "9")).toBe("pt_BR")
      }).pipe(Effect.provide(layer))
    )

    it.effect("resumes the jobs that were paused for it once it is approved", () =>
      Effect.gen(function* () {
        const { report, templateId, who } = yield* imported("paused", now)
        const content = { kind: "template", templateId, template: Fixtures.template() } as const
        const command = Fixtures.send(who, { phones: 1, content })
        yield* (yield* JobStore).accept(command)
        expect(yield* claim()).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({ pauseReason: "template_paused" })
        yield* report({ status: "approved", refusedSince: null }, Time.after(now, 1))
        expect(yield* find(command.jobId)).toMatchObject({ status: "processing", pauseReason: null })
      }).pipe(Effect.provide(layer))
    )

    it.effect("by a refusal is ignored where the template changed after the message was sent", () =>
      Effect.gen(function* () {
        const { report, templates, who } = yield* imported("paused", now)
        const { accountId, sessionId } = who
        const contents = [Fixtures.template()]
        yield* templates.importAll({ accountId, sessionId, contents, now: Time.after(now, 10) })
        const refused = (refusedSince: Time.Instant, at: Time.Instant) =>
          Effect.map(report({ status: "paused", refusedSince }, at), (template) => template?.status)
        expect(yield* refused(Time.after(now, 9), Time.after(now, 10))).toBe("approved")
        expect(yield* refused(Time.after(now, 9), Time.after(now, 20))).toBe("approved")
        // The import's clock is ahead: nobody knows which was first.
        expect(yield* refused(Time.after(now, 8), Time.after(now, 9))).toBe("paused")
        yield* templates.importAll({ accountId, sessionId, contents, now: Time.after(now, 10) })
        expect(yield* refused(Time.after(now, 10), Time.after(now, 20))).toBe("paused")
        expect(
          yield* report({ status: "disabled", refusedSince: Time.after(now, 30) }, Time.after(now, 40))
        ).toMatchObject({
          status: "paused"
        })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("what comes in", () => {
    it.effect("about a template is found by its name and language, whatever its status", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        const content = Fixtures.template({ status: "paused" })
        yield* templates.importAll({ accountId, sessionId, contents: [content], now })
        const { language, name } = content
        expect(yield* templates.findNamed({ sessionId, name, language })).toMatchObject({ status: "paused" })
        expect(yield* templates.findNamed({ sessionId, name, language: "xx" })).toBeNull()
        expect(yield* templates.findNamed({ sessionId: "other", name, language })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })
}
