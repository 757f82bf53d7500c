/** Nodes that work on one PostgreSQL at the same moment: READ COMMITTED gives nothing away twice, and nobody waits in a circle. */

import * as SqlClient from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { connection, migratedDatabase } from "../../../../../test/support/Postgres.ts"
import * as Time from "../../../src/domain/Instant.ts"
import type { Pacing as PacingOf } from "../../../src/domain/session/Pacing.ts"
import * as Pacing from "../../../src/domain/session/Pacing.ts"
import { ConsentStore } from "../../../src/storage/ConsentStore.ts"
import type { ClaimedJob, Report } from "../../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../../src/storage/JobStore.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import { SessionStore } from "../../../src/storage/SessionStore.ts"
import type { Stores } from "../../../src/storage/Stores.ts"
import { TemplateStore } from "../../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../../src/storage/WebhookStore.ts"
import type { Owner } from "../../../src/testing/Fixtures.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { listen, owner } from "../../StorageSuite/Setup.ts"

const { now } = Fixtures

/** Two nodes with what a test needs of the first, and a connection that has no part in either. */
const nodes = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const node = Layer.build(Postgres.layer({ url: Redacted.make(url) }))
  const first = yield* node
  const both = [first, yield* node].map((each) => Context.get(each, JobStore))
  const other = yield* connection(url)
  const query = (text: string, ...parameters: ReadonlyArray<string>) =>
    Effect.promise(() => client(text, parameters))
  const client = async (text: string, parameters: ReadonlyArray<string>) =>
    (await other.query<Readonly<Record<string, unknown>>>(text, [...parameters])).rows
  return { first, both, jobs: Context.get(first, JobStore), query }
})

const pacedSession = (node: Context.Context<SessionStore>, who: Owner, pacing: PacingOf) =>
  Effect.gen(function* () {
    const session = Fixtures.session(who.accountId, { pacing })
    yield* Context.get(node, SessionStore).create(session)
    return { ...who, sessionId: session.id }
  })

/** Two sessions of one account that have no pace, in the order in which a first claim serves them. */
const unpacedPair = (node: Context.Context<Stores>) =>
  Effect.gen(function* () {
    const who = yield* Effect.provide(owner, node)
    const unpaced = { messagesPerSecond: null, pairIntervalMs: null }
    const pair = [yield* pacedSession(node, who, unpaced), yield* pacedSession(node, who, unpaced)] as const
    const [a, b] = pair
    return a.sessionId < b.sessionId ? pair : ([b, a] as const)
  })

const claimBy = (worker: string, limit = 16, at = now) => ({
  now: at,
  settlements: [],
  claim: { worker, limit }
})

const countOf = (claimed: ReadonlyArray<ClaimedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

const acceptances = (claimed: ReadonlyArray<ClaimedJob>) =>
  claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({
      jobId,
      fence,
      index,
      outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
    }))
  )

/** Locks the pacing of a session or an endpoint, as another node does that serves it at this moment. */
const lockPacing = "SELECT pg_advisory_xact_lock(hashtextextended('sendwright pace ' || $1, 0))"

/** Locks a session's jobs, as an embedder's transaction that cancels one of them does. */
const lockJobs = "SELECT pg_advisory_xact_lock(hashtextextended('sendwright jobs ' || $1, 0))"

/** Locks what is known of an account's people, as a transaction does that records a consent. */
const lockPeople = "SELECT pg_advisory_xact_lock(hashtextextended('sendwright consents ' || $1, 0))"

/** Answers a row for each lock of this kind that somebody waits for in this database. */
const lockWaits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

describe("two nodes that claim simultaneously", () => {
  const limits = [
    ["pace", { messagesPerSecond: 10, pairIntervalMs: null }],
    ["interval between two messages to a phone", { messagesPerSecond: null, pairIntervalMs: 1000 }]
  ] as const
  for (const [limit, pacing] of limits) {
    it.scopedLive(`pass over a session whose ${limit} the other has in hand, and wait for nobody`, () =>
      Effect.gen(function* () {
        const { first, jobs, query } = yield* nodes
        const who = yield* Effect.provide(owner, first)
        const paced = [yield* pacedSession(first, who, pacing), yield* pacedSession(first, who, pacing)]
        for (const each of paced) yield* jobs.accept(Fixtures.send(each))
        const [held = who, free = who] = paced
        yield* query("BEGIN")
        yield* query(lockPacing, held.sessionId)
        const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
        expect(claimed.map(({ sessionId }) => sessionId)).toEqual([free.sessionId])
        yield* query("COMMIT")
        const after = yield* jobs.settleAndClaim(claimBy("worker"))
        expect(after.claimed.map(({ sessionId }) => sessionId)).toEqual([held.sessionId])
      })
    )
  }

  it.scopedLive("pass over a session whose jobs stay locked, and keep their commit", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const each = yield* unpacedPair(first)
      const [held, free] = each
      // The one that was served is last in the next claim's turn, which so waits for the other.
      yield* jobs.accept(Fixtures.send(free))
      const earlier = yield* jobs.settleAndClaim(claimBy("worker"))
      for (const session of each) yield* jobs.accept(Fixtures.send(session))
      yield* query("BEGIN")
      yield* query(lockJobs, held.sessionId)
      const settlements = acceptances(earlier.claimed)
      const { claimed, settled } = yield* jobs.settleAndClaim({ ...claimBy("worker"), settlements })
      expect(settled).toBe(countOf(earlier.claimed))
      expect(claimed.map(({ sessionId }) => sessionId)).toEqual([free.sessionId])
      yield* query("COMMIT")
      const after = yield* jobs.settleAndClaim(claimBy("worker"))
      expect(after.claimed.map(({ sessionId }) => sessionId)).toEqual([held.sessionId])
    })
  )

  it.scopedLive("store outcomes beside those of a session whose jobs stay locked, and these later", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const [held, free] = yield* unpacedPair(first)
      for (const session of [held, free]) yield* jobs.accept(Fixtures.send(session))
      const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
      const settlements = acceptances(claimed)
      const isHeld = ({ jobId }: { readonly jobId: string }) =>
        claimed.some((each) => each.jobId === jobId && each.sessionId === held.sessionId)
      yield* query("BEGIN")
      yield* query(lockJobs, held.sessionId)
      const beside = yield* jobs.settleAndClaim({ now, settlements, claim: null })
      expect(beside.postponed).toEqual(settlements.filter(isHeld))
      expect(beside.settled).toBe(settlements.length - beside.postponed.length)
      yield* query("COMMIT")
      const later = yield* jobs.settleAndClaim({ now, settlements: beside.postponed, claim: null })
      expect([later.settled, later.postponed]).toEqual([beside.postponed.length, []])
    })
  )

  it.scopedLive("rescue what nobody has locked, and the rest later", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const [held, free] = yield* unpacedPair(first)
      for (const session of [held, free]) yield* jobs.accept(Fixtures.send(session))
      const { claimed } = yield* jobs.settleAndClaim(claimBy("dead"))
      const countOfSession = ({ sessionId }: { readonly sessionId: string }) =>
        countOf(claimed.filter((job) => job.sessionId === sessionId))
      const rescue = Effect.suspend(() => jobs.rescue({ worker: "dead", now, recoverable: ["sandbox"] }))
      yield* query("BEGIN")
      yield* query(lockJobs, held.sessionId)
      expect(yield* rescue).toBe(countOfSession(free))
      expect((yield* jobs.workers).map(({ worker }) => worker)).toContain("dead")
      yield* query("COMMIT")
      expect(yield* rescue).toBe(countOfSession(held))
      expect((yield* jobs.workers).map(({ worker }) => worker)).not.toContain("dead")
    })
  )

  it.scopedLive("unblock a session beside one whose jobs stay locked", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const sessions = Context.get(first, SessionStore)
      const pair = yield* unpacedPair(first)
      const [held] = pair
      for (const session of pair) yield* jobs.accept(Fixtures.send(session))
      yield* jobs.settleAndClaim(claimBy("worker", 1))
      yield* jobs.settleAndClaim(claimBy("worker", 1))
      for (const session of pair) {
        yield* sessions.block({ id: session.sessionId, until: Time.after(now, 10), now })
      }
      const states = Effect.forEach(pair, ({ sessionId }) =>
        Effect.map(sessions.find(sessionId), (session) => session?.blockedUntil ?? null)
      )
      yield* query("BEGIN")
      yield* query(lockJobs, held.sessionId)
      yield* sessions.unblock({ now: Time.after(now, 10) })
      expect(yield* states).toEqual([now + 10, null])
      yield* query("COMMIT")
      yield* sessions.unblock({ now: Time.after(now, 10) })
      expect(yield* states).toEqual([null, null])
    })
  )

  it.scopedLive(
    "hear of an outage beside outcomes of a session whose jobs stay locked, but not of one's own",
    () =>
      Effect.gen(function* () {
        const { first, jobs, query } = yield* nodes
        const [held, free] = yield* unpacedPair(first)
        for (const session of [held, free]) yield* jobs.accept(Fixtures.send(session))
        const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
        const news = [held, free].map(({ sessionId }) => ({ sessionId, what: "OutageBegan" as const }))
        yield* query("BEGIN")
        yield* query(lockJobs, held.sessionId)
        const told = yield* jobs.settleAndClaim({ now, settlements: acceptances(claimed), news, claim: null })
        expect([told.turned, told.unheard]).toEqual([[free.sessionId], [held.sessionId]])
        yield* query("COMMIT")
        const later = yield* jobs.settleAndClaim({
          now,
          settlements: [],
          news: news.slice(0, 1),
          claim: null
        })
        expect([later.turned, later.unheard]).toEqual([[held.sessionId], []])
      })
  )

  it.scopedLive("store no outcome whose word on a person has to wait, and all others", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const [session] = yield* unpacedPair(first)
      yield* jobs.accept(Fixtures.send(session))
      const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
      const [one, ...others] = acceptances(claimed)
      if (one === undefined) throw new Error("Nothing was claimed")
      const stops = { ...one, inbound: { ...session, portfolio: "", items: [] } }
      yield* query("BEGIN")
      yield* query(lockPeople, session.accountId)
      const beside = yield* jobs.settleAndClaim({ now, settlements: [stops, ...others], claim: null })
      expect([beside.settled, beside.postponed]).toEqual([others.length, [stops]])
      yield* query("COMMIT")
      expect((yield* jobs.settleAndClaim({ now, settlements: beside.postponed, claim: null })).settled).toBe(
        1
      )
    })
  )

  it.scopedLive("send by what a session was given while they waited for its jobs", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      yield* jobs.accept(Fixtures.send(who))
      yield* query("BEGIN")
      yield* query(lockJobs, who.sessionId)
      const claiming = yield* Effect.fork(jobs.settleAndClaim(claimBy("worker")))
      const isWaiting = Effect.map(query(lockWaits), (rows) => rows.length > 0)
      yield* Effect.repeat(isWaiting, { until: (waits) => waits })
      const change = { config: "a new configuration" }
      yield* Context.get(first, SessionStore).change({ id: who.sessionId, change, now: Time.after(now, 1) })
      yield* query("COMMIT")
      const { claimed } = yield* Fiber.join(claiming)
      expect(claimed.map(({ session }) => session.config)).toEqual([change.config])
    })
  )

  it.scopedLive("pass over a session whose jobs are locked behind one that they were given", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const each = yield* unpacedPair(first)
      const [free, held] = each
      for (const session of each) yield* jobs.accept(Fixtures.send(session))
      yield* query("BEGIN")
      yield* query(lockJobs, held.sessionId)
      const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
      expect(claimed.map(({ sessionId }) => sessionId)).toEqual([free.sessionId])
      yield* query("COMMIT")
      const after = yield* jobs.settleAndClaim(claimBy("worker"))
      expect(after.claimed.map(({ sessionId }) => sessionId)).toEqual([held.sessionId])
    })
  )

  it.scopedLive("pause no job for a template that is being approved at this moment", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      const templates = Context.get(first, TemplateStore)
      const contents = [Fixtures.template({ status: "paused" })]
      const [template] = yield* templates.importAll({ ...who, contents, now })
      const command = Fixtures.send(who)
      const { content } = command
      if (template === undefined || content.kind !== "template") throw new Error("There is no template")
      const { templateId } = template
      yield* jobs.accept({ ...command, content: { ...content, templateId } })
      yield* query("BEGIN")
      // As the import does that finds no job to resume.
      yield* query("UPDATE sendwright_template SET status = 'approved' WHERE id = $1", String(templateId))
      expect((yield* jobs.settleAndClaim(claimBy("worker"))).claimed).toEqual([])
      yield* query("COMMIT")
      expect((yield* jobs.settleAndClaim(claimBy("worker"))).claimed).toHaveLength(1)
      expect((yield* jobs.find(command.jobId))?.status).toBe("processing")
    })
  )

  it.scopedLive("resume a job by its session as it is once whoever connects that has committed", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      const templates = Context.get(first, TemplateStore)
      const become = (status: string) =>
        templates.importAll({ ...who, contents: [Fixtures.template({ status })], now })
      const [template] = yield* become("paused")
      const command = Fixtures.send(who)
      const { content } = command
      if (template === undefined || content.kind !== "template") throw new Error("There is no template")
      yield* jobs.accept({ ...command, content: { ...content, templateId: template.templateId } })
      expect((yield* jobs.settleAndClaim(claimBy("worker"))).claimed).toEqual([])
      yield* Context.get(first, SessionStore).transition({
        id: who.sessionId,
        state: "disconnected",
        reason: "gone",
        now
      })
      yield* query("BEGIN")
      // As one does who connects it: the job stays paused for its template.
      yield* query(
        "UPDATE sendwright_session SET state = 'connected', reason = NULL WHERE id = $1",
        who.sessionId
      )
      const importing = yield* Effect.fork(become("approved"))
      const waiting = query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      )
      yield* Effect.race(
        Effect.repeat(waiting, {
          until: (found) => found.length > 0,
          schedule: Schedule.spaced("5 millis")
        }),
        Fiber.join(importing)
      )
      yield* query("COMMIT")
      yield* Fiber.join(importing)
      expect(yield* jobs.find(command.jobId)).toMatchObject({ status: "processing", pauseReason: null })
    })
  )

  it.scopedLive("look no more at jobs that were cancelled while they waited, once that is tidied up", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      const sends = Array.from({ length: 4 }, () => Fixtures.send(who))
      for (const send of sends) yield* jobs.accept(send)
      const cancel = (place: number) => jobs.cancel({ jobId: sends[place]?.jobId ?? "", now })
      const cursor = Effect.map(
        query(
          `SELECT (SELECT count(*) FROM sendwright_job WHERE seq <= claim.place)::int AS behind
             FROM sendwright_claim AS claim WHERE session = $1 AND place IS NOT NULL ORDER BY place`,
          who.sessionId
        ),
        (rows) => rows.map((row) => row["behind"])
      )
      yield* cancel(0)
      yield* cancel(1)
      yield* cancel(3)
      yield* jobs.applyEarlyReports({ now })
      expect(yield* cursor).toEqual([2])
      yield* jobs.applyEarlyReports({ now })
      expect(yield* cursor).toEqual([2])
      const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
      expect(claimed.map(({ jobId }) => jobId)).toEqual([sends[2]?.jobId])
      yield* jobs.applyEarlyReports({ now })
      // The one that is in hand, and the last.
      expect(yield* cursor).toEqual([3, 4])
      expect(yield* jobs.nextDue(now)).toBeNull()
    })
  )

  it.scopedLive("walk over no session that has been idle for a while, however many there are", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      yield* jobs.accept(Fixtures.send(who))
      yield* query(
        "INSERT INTO sendwright_busy SELECT 'idle ' || n, 'normal' FROM generate_series(1, 500) AS n"
      )
      yield* jobs.applyEarlyReports({ now })
      const busy = yield* query("SELECT session FROM sendwright_busy")
      expect(busy.map(({ session }) => session)).toEqual([who.sessionId])
    })
  )

  it.scopedLive("settle what the other has not touched of a claim that it has", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const [, second = jobs] = both
      const who = yield* Effect.provide(owner, first)
      const sends = [Fixtures.send(who), Fixtures.send(who), Fixtures.send(who)]
      for (const send of sends) yield* jobs.accept(send)
      const { claimed } = yield* jobs.settleAndClaim(claimBy("worker", 3))
      const outcome = (place: number) => ({
        now,
        settlements: claimed.slice(place, place + 1).map(({ fence, jobId }) => ({
          jobId,
          fence,
          index: 0,
          outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
        })),
        claim: null
      })
      yield* second.cancel({ jobId: claimed[1]?.jobId ?? "", now })
      expect((yield* jobs.settleAndClaim(outcome(0))).settled).toBe(1)
      expect((yield* jobs.settleAndClaim(outcome(1))).settled).toBe(1)
      expect((yield* jobs.settleAndClaim(outcome(2))).settled).toBe(1)
    })
  )

  it.scopedLive("are given each job of a session's backlog once, and leave none", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      const sends = Array.from({ length: 120 }, () => Fixtures.send(who))
      for (const send of sends) yield* jobs.accept(send)
      const asked = Array.from({ length: 6 }, () => both).flat()
      const answers = yield* Effect.forEach(
        asked,
        ({ settleAndClaim }, place) => settleAndClaim(claimBy(`worker-${place}`, 10)),
        { concurrency: "unbounded" }
      )
      const given = answers.map(({ claimed }) => claimed.map(({ jobId }) => jobId))
      // Who claims at the same moment waits for the other instead of going away with nothing.
      expect(given.map(({ length }) => length)).toEqual(asked.map(() => 10))
      expect(given.flat().sort()).toEqual(sends.map(({ jobId }) => jobId).sort())
    })
  )

  it.scopedLive("skip nothing that an embedder's open transaction has accepted before others", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const [, second = jobs] = both
      const who = yield* Effect.provide(owner, first)
      const [early, late] = [Fixtures.send(who), Fixtures.send(who)]
      const accepted = yield* Deferred.make<void>()
      const commits = yield* Deferred.make<void>()
      const open = yield* Effect.fork(
        Context.get(first, SqlClient.SqlClient).withTransaction(
          Effect.zipRight(
            jobs.accept(early),
            Effect.zipRight(Deferred.succeed(accepted, undefined), Deferred.await(commits))
          )
        )
      )
      yield* Deferred.await(accepted)
      const waiting = yield* Effect.fork(second.accept(late))
      expect((yield* second.settleAndClaim(claimBy("worker-1"))).claimed).toEqual([])
      yield* Deferred.succeed(commits, undefined)
      yield* Effect.all([Fiber.join(open), Fiber.join(waiting)])
      const { claimed } = yield* second.settleAndClaim(claimBy("worker-1"))
      expect(claimed.map(({ jobId }) => jobId)).toEqual([early.jobId, late.jobId])
    })
  )

  it.scopedLive("are given a session's pace once, whoever of them asks", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const perSecond = 100
      const pacing = { messagesPerSecond: perSecond, pairIntervalMs: null }
      const who = yield* pacedSession(first, yield* Effect.provide(owner, first), pacing)
      for (let job = 0; job < 120; job++) yield* jobs.accept(Fixtures.send(who))
      let arrival: number | null = null
      for (let at = now; at < now + 1000; at = Time.after(at, 100)) {
        const asked = Array.from({ length: 3 }, () => both).flat()
        const answers = yield* Effect.forEach(
          asked,
          ({ settleAndClaim }, place) => settleAndClaim(claimBy(`worker-${place}`, 4, at)),
          { concurrency: "unbounded" }
        )
        const given = answers.reduce((sum, { claimed }) => sum + countOf(claimed), 0)
        const granted: ReturnType<typeof Pacing.grant> = Pacing.grant(arrival, perSecond, 1000, at)
        expect(given).toBeGreaterThan(0)
        expect(given).toBeLessThanOrEqual(granted.granted)
        arrival = Pacing.grant(arrival, perSecond, given, at).arrival
      }
    })
  )

  it.scopedLive("send one phone one message in its interval", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const pacing = { messagesPerSecond: null, pairIntervalMs: 1000 }
      const who = yield* pacedSession(first, yield* Effect.provide(owner, first), pacing)
      for (let job = 0; job < 40; job++) yield* jobs.accept(Fixtures.send(who, { phones: 5 }))
      for (let at = now; at < now + 6000; at = Time.after(at, 1000)) {
        const answers = yield* Effect.forEach(
          Array.from({ length: 3 }, () => both).flat(),
          ({ settleAndClaim }, place) => settleAndClaim(claimBy(`worker-${place}`, 5, at)),
          { concurrency: "unbounded" }
        )
        const phones = answers
          .flatMap(({ claimed }) => claimed)
          .flatMap(({ recipients }) => recipients.map(({ address: phone }) => phone))
        expect([phones.length, new Set(phones).size]).toEqual([5, 5])
      }
    })
  )

  it.scopedLive("have no recipient together, and all of them in the end", () =>
    Effect.gen(function* () {
      const { both, first, jobs } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      for (let job = 0; job < 40; job++) yield* jobs.accept(Fixtures.send(who, { phones: 3 }))
      const taken: Array<string> = []
      yield* Effect.forEach(
        both,
        ({ settleAndClaim }, place) =>
          Effect.gen(function* () {
            for (let empty = 0; empty < 5; ) {
              const { claimed } = yield* settleAndClaim(claimBy(`worker-${place}`, 7))
              empty = claimed.length === 0 ? empty + 1 : 0
              for (const { jobId, recipients } of claimed)
                for (const { index } of recipients) taken.push(`${jobId} ${index}`)
              const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
                recipients.map(({ index }) => {
                  const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
                  return { jobId, fence, index, outcome }
                })
              )
              const { settled } = yield* settleAndClaim({ now, settlements, claim: null })
              expect(settled).toBe(settlements.length)
            }
          }),
        { concurrency: "unbounded" }
      )
      expect([taken.length, new Set(taken).size]).toEqual([120, 120])
    })
  )
})

describe("two nodes that accept simultaneously", () => {
  it.scopedLive("accept one send for an Idempotency-Key, and replay it to the other", () =>
    Effect.gen(function* () {
      const { both, first } = yield* nodes
      const who = yield* Effect.provide(owner, first)
      for (let key = 0; key < 10; key++) {
        const answers = yield* Effect.forEach(
          both,
          ({ accept }) => accept(Fixtures.send(who, { key: `key ${key}` })),
          { concurrency: "unbounded" }
        )
        expect(answers.map(({ _tag }) => _tag).sort()).toEqual(["Accepted", "Replayed"])
      }
    })
  )
})

describe("a node that takes up early reports", () => {
  it.scopedLive(
    "locks the jobs of all sessions in one order, so that none waits for another in a circle",
    () =>
      Effect.gen(function* () {
        const { first, jobs, query } = yield* nodes
        const who = yield* Effect.provide(owner, first)
        const pacing = Pacing.unpaced
        const sessions = [yield* pacedSession(first, who, pacing), yield* pacedSession(first, who, pacing)]
        const sends = sessions
          .map((each) => Fixtures.send(each))
          .sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1))
        for (const send of sends) yield* jobs.accept(send)
        const { claimed } = yield* jobs.settleAndClaim(claimBy("worker"))
        // The report on the job whose session is locked last is the older one.
        for (const { jobId, sessionId } of sends.toReversed()) {
          const report: Report = {
            messageId: null,
            status: "delivered",
            at: Time.after(now, 1),
            failure: null,
            providerId: jobId
          }
          yield* jobs.receive({ now: Time.after(now, 1), sessionId, reports: [report] })
        }
        const settlements = claimed.map(({ fence, jobId }) => {
          const outcome = Outcome.Accepted({ providerId: jobId, status: "accepted" })
          return { jobId, fence, index: 0, outcome }
        })
        yield* jobs.settleAndClaim({ now: Time.after(now, 2), settlements, claim: null })

        const [low = "", high = ""] = sends.map(({ sessionId }) => sessionId).sort()
        const lock = `${lockJobs.replace("SELECT pg_advisory", "SELECT pg_try_advisory")} AS locked`
        yield* query("BEGIN")
        expect(yield* query(lock, low)).toEqual([{ locked: true }])
        const taking = yield* Effect.fork(jobs.applyEarlyReports({ now: Time.after(now, 3) }))
        const waiting = query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        yield* Effect.repeat(waiting, {
          until: (found) => found.length > 0,
          schedule: Schedule.spaced("5 millis")
        })
        expect(yield* query(lock, high)).toEqual([{ locked: true }])
        yield* query("COMMIT")
        expect((yield* Fiber.join(taking)).applied).toBe(2)
      })
  )
})

describe("a node that delivers webhooks", () => {
  it.scopedLive("passes over an endpoint whose pace another node has in hand, and waits for nobody", () =>
    Effect.gen(function* () {
      const { first, jobs, query } = yield* nodes
      yield* Effect.gen(function* () {
        const webhooks = yield* WebhookStore
        const who = yield* owner
        const endpoint = Fixtures.endpoint(who.accountId, { deliveriesPerSecond: 10 })
        yield* webhooks.create(endpoint)
        const free = yield* listen(who.accountId)
        yield* jobs.accept(Fixtures.send(who))
        yield* jobs.settleAndClaim(claimBy("worker"))
        const deliveries = { now: Time.after(now, 1), settlements: [], claim: Fixtures.deliveryClaim() }
        const endpoints = Effect.map(webhooks.settleAndClaim(deliveries), ({ claimed }) => [
          ...new Set(claimed.map(({ endpoint }) => endpoint.id))
        ])
        yield* query("BEGIN")
        yield* query(lockPacing, endpoint.id)
        expect(yield* endpoints).toEqual([free.id])
        yield* query("COMMIT")
        expect(yield* endpoints).toEqual([endpoint.id])
      }).pipe(Effect.provide(first))
    })
  )
})

describe("a node that takes back the deliveries of a dead worker", () => {
  /** A worker of another node with a delivery in hand and this count, and its rescue by this count. */
  const bereaved = (beats: number) =>
    Effect.gen(function* () {
      const { both, first, jobs, query } = yield* nodes
      const [, other = jobs] = both
      const webhooks = Context.get(first, WebhookStore)
      yield* Effect.gen(function* () {
        const { accountId } = yield* owner
        yield* listen(accountId)
        yield* (yield* ConsentStore).record({ accountId, records: [Fixtures.consent("5511987654321")] })
        const claim = Fixtures.deliveryClaim({ worker: "w" })
        expect((yield* webhooks.settleAndClaim({ now, settlements: [], claim })).claimed).toHaveLength(1)
      }).pipe(Effect.provide(first))
      const heartbeat = (worker: string, beats: number) =>
        other.heartbeat({ workers: [worker], beats, dispatchesAt: null })
      if (beats > 0) yield* heartbeat("w", beats)
      // A transaction that is open does not see who connects during it.
      yield* heartbeat("connected", 1)
      const waiting = query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      )
      const untilWaiting = (count: number) =>
        Effect.repeat(waiting, {
          until: (found) => found.length === count,
          schedule: Schedule.spaced("5 millis")
        })
      return { query, heartbeat, untilWaiting, rescue: webhooks.rescue({ worker: "w", beats, now }) }
    })

  for (const beats of [0, 3]) {
    it.scopedLive(`lets no heartbeat pass before its commit, where the last count was ${beats}`, () =>
      Effect.gen(function* () {
        const { heartbeat, query, rescue, untilWaiting } = yield* bereaved(beats)
        yield* query("BEGIN")
        yield* query("SELECT seq FROM sendwright_delivery FOR UPDATE")
        const rescuing = yield* Effect.fork(rescue)
        yield* untilWaiting(1)
        const saying = yield* Effect.fork(heartbeat("w", beats + 1))
        yield* untilWaiting(2)
        yield* query("COMMIT")
        expect(yield* Fiber.join(rescuing)).toBe(1)
        yield* Fiber.join(saying)
        const [row] = yield* query("SELECT beats::int FROM sendwright_worker WHERE id = 'w'")
        expect(row).toEqual({ beats: beats + 1 })
      })
    )
  }

  it.scopedLive("leaves them to a worker whose heartbeat is committed while it waits for that", () =>
    Effect.gen(function* () {
      const { query, rescue, untilWaiting } = yield* bereaved(3)
      yield* query("BEGIN")
      yield* query("UPDATE sendwright_worker SET beats = 4 WHERE id = 'w'")
      const rescuing = yield* Effect.fork(rescue)
      yield* untilWaiting(1)
      yield* query("COMMIT")
      expect(yield* Fiber.join(rescuing)).toBe(0)
    })
  )
})
