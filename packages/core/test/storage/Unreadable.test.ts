/** A job whose stored content cannot be read costs only itself, over each SQL store. */

import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../../test/support/Postgres.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Content } from "../../src/domain/job/Job.ts"
import { JobStore, unreadableMs } from "../../src/storage/JobStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { events, everyLost, failure, listen, now, owner, results } from "../StorageSuite/Setup.ts"

const damage = Effect.fnUntraced(function* (content: Content, body = "{") {
  const sql = yield* SqlClient
  yield* sql`UPDATE sendwright_snapshot SET body = ${body} WHERE body = ${JSON.stringify(content)}`
})

/** None has the form of a content. */
const bodies = ["", "null", "5", "[]", "{}", '{"kind":"x"}', '{"kind":"template","templateId":7}']

const suite = (name: string, stores: Layer.Layer<Stores | SqlClient, unknown>) =>
  describe(`a job whose content cannot be read (${name})`, () => {
    it.effect("is put off and told of, and those before and behind it are claimed", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sql = yield* SqlClient
        const who = yield* owner
        // A process keeps what it has read once.
        const text = `Damaged in ${name}`
        const first = Fixtures.send(who)
        const damaged = Fixtures.send(who, { content: { kind: "direct", text, linkPreview: false } })
        const last = Fixtures.send(who)
        const ofAnother = Fixtures.send(yield* owner)
        for (const command of [damaged, first, last, ofAnother]) yield* jobs.accept(command)
        yield* damage(damaged.content)
        const claim = (at: Time.Instant) =>
          Effect.map(
            jobs.settleAndClaim({ now: at, settlements: [], claim: { worker: "w", limit: 10 } }),
            ({ claimed, unreadable }) => [
              claimed.map(({ jobId }) => jobId).sort(),
              unreadable.map(({ jobId }) => jobId)
            ]
          )
        const others = [first, last, ofAnother].map(({ jobId }) => jobId).sort()
        expect(yield* claim(now)).toEqual([others, [damaged.jobId]])
        expect(yield* claim(Time.after(now, 1))).toEqual([[], []])
        expect(yield* jobs.nextDue(Time.after(now, 1))).toBe(now + unreadableMs)
        // It is looked at again, and sent once it is mended.
        expect(yield* claim(Time.after(now, unreadableMs))).toEqual([[], [damaged.jobId]])
        yield* sql`UPDATE sendwright_snapshot SET body = ${JSON.stringify(damaged.content)} WHERE body = '{'`
        const [mended] = (yield* jobs.settleAndClaim({
          now: Time.after(now, 2 * unreadableMs),
          settlements: [],
          claim: { worker: "w", limit: 10 }
        })).claimed
        expect(mended).toMatchObject({ jobId: damaged.jobId, content: damaged.content })
      }).pipe(Effect.provide(stores))
    )

    const template = (name: string): Content => ({
      kind: "template",
      templateId: 7,
      template: Fixtures.template({ name })
    })

    it.effect("keeps nobody else's waiting, whatever stands in the place of its content", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const damaged = bodies.map((_, at) => Fixtures.send(who, { content: template(`${name} ${at}`) }))
        const others = [Fixtures.send(who), Fixtures.send(yield* owner)]
        for (const command of [...damaged, ...others]) yield* jobs.accept(command)
        for (const [at, { content }] of damaged.entries()) yield* damage(content, bodies[at])
        const { claimed, unreadable } = yield* jobs.settleAndClaim({
          now,
          settlements: [],
          claim: { worker: "w", limit: 20 }
        })
        const idsOf = (some: ReadonlyArray<{ readonly jobId: string }>) =>
          some.map(({ jobId }) => jobId).sort()
        expect([idsOf(claimed), idsOf(unreadable)]).toEqual([idsOf(others), idsOf(damaged)])
      }).pipe(Effect.provide(stores))
    )

    it.effect("is listed and found among others, and says what it still knows of its content", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const others = [Fixtures.send(who), Fixtures.send(who)] as const
        const damaged = Fixtures.send(who, { content: template(`listed_${name}`), reference: "order-7" })
        for (const command of [others[0], damaged, others[1]]) yield* jobs.accept(command)
        yield* damage(damaged.content)
        const { items } = yield* jobs.list({
          by: { accountId: who.accountId },
          kind: "template",
          page: { limit: 10, after: null }
        })
        const content = { kind: "template", templateId: 7, cause: expect.any(Error) }
        expect(items.map(({ content, id }) => [id, content])).toEqual([
          [others[1].jobId, others[1].content],
          [damaged.jobId, content],
          [others[0].jobId, others[0].content]
        ])
        const known = { status: "queued", reference: "order-7", content }
        expect(yield* jobs.find(damaged.jobId)).toMatchObject(known)
        expect(yield* results(damaged.jobId)).toMatchObject([{ status: "queued" }])
      }).pipe(Effect.provide(stores))
    )

    it.effect("is canceled with its recipients, and its event tells so", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const damaged = Fixtures.send(who, { content: template(`canceled_${name}`), phones: 2 })
        yield* jobs.accept(damaged)
        yield* damage(damaged.content)
        const { jobId } = damaged
        expect(yield* jobs.cancel({ jobId, now })).toMatchObject({
          _tag: "Canceled",
          job: { status: "canceled", counts: { queued: 0, canceled: 2 } }
        })
        expect(yield* results(jobId)).toMatchObject([{ status: "canceled" }, { status: "canceled" }])
        expect(yield* events()).toMatchObject([
          { type: "job.canceled", data: { job_id: jobId, template_id: 7 } }
        ])
        expect(yield* jobs.cancel({ jobId, now })).toMatchObject({ _tag: "Ended" })
      }).pipe(Effect.provide(stores))
    )

    it.effect("is rescued from a dead worker with its other jobs, settled by a report and retried", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const direct = (text: string): Content => ({ kind: "direct", text, linkPreview: false })
        const [damaged, other] = [
          Fixtures.send(who, { content: direct(`rescued ${name}`), claim: "w" }),
          Fixtures.send(who, { content: direct(`other ${name}`), claim: "w" })
        ]
        for (const command of [damaged, other]) yield* jobs.accept(command)
        yield* damage(damaged.content)
        expect(yield* jobs.rescue({ worker: "w", now, recoverable: [] })).toBe(2)
        const report = {
          messageId: Ids.messageId(damaged.jobId, 0),
          status: "failed",
          at: now,
          failure,
          providerId: null
        } as const
        expect(yield* jobs.receive({ now, reports: [report] })).toMatchObject({
          applied: 1,
          unmatched: [],
          refused: [],
          ended: expect.any(Array),
          met: []
        })
        expect(yield* results(damaged.jobId)).toMatchObject([{ status: "failed" }])
        expect((yield* events()).map(({ type }) => type)).toEqual(["message.failed"])
        const { jobId } = damaged
        expect(yield* jobs.retry({ jobId, now, selection: everyLost })).toMatchObject({
          _tag: "Retried",
          job: { status: "queued", counts: { queued: 1 } }
        })
      }).pipe(Effect.provide(stores))
    )
  })

suite("SQLite", Sqlite.layer({ filename: ":memory:" }))
suite(
  "PostgreSQL",
  Layer.unwrapScoped(Effect.map(freshDatabase, (url) => Postgres.layer({ url: Redacted.make(url) })))
)
