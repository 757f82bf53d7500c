/** What accounts keep no longer goes, in slices, and nothing that is open goes with it (docs/adr/0039-retention.md). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { changed } from "../../src/domain/Change.ts"
import type { Standing } from "../../src/domain/consent/Consent.ts"
import * as Consent from "../../src/domain/consent/Consent.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Retention from "../../src/domain/Retention.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { RestoreStore } from "../../src/storage/RestoreStore.ts"
import { RetentionStore } from "../../src/storage/RetentionStore.ts"
import { SizeStore } from "../../src/storage/SizeStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, everyLost, failure, find, listen, now, owner, purgeAll, purgeWalk, results } from "./Setup.ts"

const { day } = Time
const accepted = Outcome.Accepted({ providerId: null, status: "accepted" })
const failed = Outcome.Failed({ failure })
const direct = { kind: "direct", text: "Your code is 1234", linkPreview: false } as const

const accept = Effect.fnUntraced(function* (
  who: Owner,
  some: Parameters<typeof Fixtures.send>[1] & { readonly phones?: number } = {}
) {
  const command = Fixtures.send(who, some)
  expect(yield* (yield* JobStore).accept(command)).toMatchObject({ _tag: "Accepted" })
  return command.jobId
})

/** Ends all that waits, with one outcome. */
const settleAll = Effect.fnUntraced(function* (outcome: Outcome = accepted, at = now) {
  const jobs = yield* JobStore
  for (;;) {
    const claimed = yield* claim(1000, at)
    if (claimed.length === 0) return
    const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
      recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
    )
    yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
  }
})

/** A job that has ended, and a newer one behind it: the newest of all is never deleted. */
const ended = Effect.gen(function* () {
  const who = yield* owner
  const jobId = yield* accept(who, { phones: 3, key: "k" })
  yield* settleAll()
  yield* accept(who, { now: Time.after(now, 400 * day) })
  return { who, jobId }
})

const keep = Effect.fnUntraced(function* (accountId: string, change: Retention.RetentionChange) {
  const retention = changed(Retention.defaults, change)
  yield* (yield* AccountStore).change({ id: accountId, change: { retention }, now })
})

const rowsOf = (shares: ReadonlyArray<Retention.Share>) => shares.map(({ kind, rows }) => [kind, rows])

const page = { limit: 100, after: null }

const deliveries = Effect.fnUntraced(function* (endpointId: string) {
  return (yield* (yield* WebhookStore).deliveries({ endpointId, page })).items.map(({ id }) => id)
})

/** Delivers what waits, with one answer. */
const deliverAll = Effect.fnUntraced(function* (next: "delivered" | null, at: Time.Instant) {
  const webhooks = yield* WebhookStore
  const { claimed } = yield* webhooks.settleAndClaim({
    now: at,
    settlements: [],
    claim: Fixtures.deliveryClaim()
  })
  const settlements = claimed.map(({ deliveryId, fence }) => ({
    deliveryId,
    fence,
    attempt: { at, status: next === null ? 500 : 200, durationMs: 1, reason: null, excerpt: "" },
    next,
    disable: null
  }))
  yield* webhooks.settleAndClaim({ now: at, settlements, claim: null })
})

export const suite = (layer: Stored): void => {
  describe("results", () => {
    it.effect("go with their job and its Idempotency-Key, after 400 days", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, who } = yield* ended
        const key = { publicKey: who.publicKey, key: "k" }
        expect(yield* purgeWalk("jobs", Time.after(now, 400 * day - 1))).toEqual([])
        expect(yield* results(jobId)).toHaveLength(3)
        expect(yield* jobs.findByIdempotencyKey(key)).toMatchObject({ jobId })
        const gone = yield* purgeWalk("jobs", Time.after(now, 400 * day))
        expect(gone).toMatchObject([{ accountId: who.accountId, kind: "results", days: 400, rows: 4 }])
        expect(yield* jobs.find(jobId)).toBe(null)
        expect(yield* results(jobId)).toEqual([])
        expect(yield* jobs.findByIdempotencyKey(key)).toBe(null)
        expect(yield* jobs.accept(Fixtures.send(who, { key: "k" }))).toMatchObject({ _tag: "Accepted" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("stay while anything of them is open, and go once it has ended", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const untouched = yield* accept(who, { phones: 2 })
        const partly = yield* accept(who, { phones: 2 })
        const [, second] = yield* claim(3)
        const settlements = [{ jobId: partly, fence: second?.fence ?? 0, index: 0, outcome: accepted }]
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        yield* jobs.cancel({ jobId: untouched, now })
        yield* accept(who, { now: Time.after(now, 500 * day) })
        // The first is canceled and its recipients are under way; of the second one waits.
        expect(yield* purgeAll(Time.after(now, 500 * day))).toEqual([])
        expect([yield* results(untouched), yield* results(partly)]).toMatchObject([
          { length: 2 },
          { length: 2 }
        ])
        yield* jobs.giveBack({ worker: "worker-1", now: Time.after(now, 500 * day) })
        yield* settleAll(failed, now + 500 * day)
        expect(yield* purgeAll(Time.after(now, 600 * day))).toMatchObject([{ kind: "contents" }])
        expect(yield* purgeWalk("jobs", Time.after(now, 900 * day))).toMatchObject([{ rows: 6 }])
        expect(yield* jobs.find(partly)).toBe(null)
      }).pipe(Effect.provide(layer))
    )

    it.effect("stay of a job that an operator has opened again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const jobId = yield* accept(who, { phones: 2 })
        yield* settleAll(failed)
        yield* jobs.retry({ jobId, now: Time.after(now, 80 * day), selection: everyLost })
        yield* accept(who, { now: Time.after(now, 500 * day) })
        expect(yield* purgeAll(Time.after(now, 500 * day))).toEqual([])
        expect((yield* results(jobId)).map(({ values }) => values)).toEqual([["Name 0"], ["Name 1"]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are kept as long as each account says", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const [short, long, ever] = [yield* owner, yield* owner, yield* owner]
        yield* keep(short.accountId, { resultsDays: 7 })
        yield* keep(ever.accountId, { resultsDays: null, contentsDays: null })
        const ids = [yield* accept(short), yield* accept(long), yield* accept(ever)]
        yield* settleAll()
        yield* accept(long, { now: Time.after(now, 9 * day) })
        const kept = Effect.forEach(ids, (id) => Effect.map(jobs.find(id), (job) => job !== null))
        yield* purgeAll(Time.after(now, 7 * day - 1))
        expect(yield* kept).toEqual([true, true, true])
        yield* purgeAll(Time.after(now, 7 * day))
        expect(yield* kept).toEqual([false, true, true])
        yield* purgeAll(Time.after(now, 1000 * day))
        expect(yield* kept).toEqual([false, false, true])
        expect((yield* results(ids[2] ?? ""))[0]?.values).toEqual(["Name 0"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("of the newest job stay: they tell what was sent that day", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = yield* accept(who)
        yield* settleAll()
        yield* purgeAll(Time.after(now, 500 * day))
        expect(yield* jobs.find(first)).not.toBe(null)
        const second = yield* accept(who, { now: Time.after(now, 500 * day) })
        expect((yield* claim(10, now + 500 * day)).map(({ jobId }) => jobId)).toEqual([second])
        yield* purgeAll(Time.after(now, 500 * day))
        expect(yield* jobs.find(first)).toBe(null)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "go in slices: who stops between two has deleted whole jobs alone, and who goes on the rest",
      () =>
        Effect.gen(function* () {
          const store = yield* RetentionStore
          const jobs = yield* JobStore
          const who = yield* owner
          const ids: Array<string> = []
          for (let place = 0; place < 7; place += 1) ids.push(yield* accept(who, { phones: 3 }))
          yield* settleAll()
          yield* accept(who, { now: Time.after(now, 500 * day) })
          const left = Effect.gen(function* () {
            const counts: Array<number> = []
            for (const id of ids) {
              const job = yield* jobs.find(id)
              const found = yield* results(id)
              expect(found).toHaveLength(job?.recipients ?? 0)
              counts.push(found.length)
            }
            return counts
          })
          const slice = { walk: "jobs", after: null, now: Time.after(now, 500 * day) } as const
          expect(yield* store.purge({ ...slice, limit: 8 })).toMatchObject({
            shares: [{ rows: 8 }],
            kept: null
          })
          expect(yield* left).toEqual([0, 0, 3, 3, 3, 3, 3])
          // A job goes whole, however small the slice is.
          expect(yield* store.purge({ ...slice, limit: 1 })).toMatchObject({ shares: [{ rows: 4 }] })
          expect(yield* left).toEqual([0, 0, 0, 3, 3, 3, 3])
          expect(yield* purgeWalk("jobs", Time.after(now, 500 * day), 5)).toMatchObject([{ rows: 16 }])
          expect(yield* left).toEqual([0, 0, 0, 0, 0, 0, 0])
        }).pipe(Effect.provide(layer))
    )
  })

  describe("contents", () => {
    it.effect("go after 90 days: the results stay, and tell since when", () =>
      Effect.gen(function* () {
        const { jobId } = yield* ended
        const before = yield* results(jobId)
        yield* purgeAll(Time.after(now, 90 * day - 1))
        expect(yield* find(jobId)).toMatchObject({ contentExpiredAt: null })
        expect((yield* results(jobId))[0]?.values).toEqual(["Name 0"])
        const at = Time.after(now, 90 * day)
        const gone = yield* purgeAll(at)
        expect(gone).toMatchObject([{ kind: "contents", days: 90, rows: 3 }])
        // Of three, each `["Name 0"]`.
        expect(gone[0]?.bytes).toBe(30)
        expect(yield* find(jobId)).toMatchObject({ contentExpiredAt: at, status: "completed" })
        expect(yield* results(jobId)).toEqual(before.map((each) => ({ ...each, values: [] })))
        expect(yield* purgeAll(at)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that are gone cannot be sent again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const jobId = yield* accept(who, { phones: 2 })
        yield* settleAll(failed)
        const retry = (at: Time.Instant) => jobs.retry({ jobId, now: at, selection: everyLost, dryRun: true })
        expect(yield* retry(Time.after(now, 90 * day))).toMatchObject({
          _tag: "Retried",
          counts: { failed: 2 }
        })
        yield* purgeAll(Time.after(now, 90 * day))
        expect(yield* retry(Time.after(now, 90 * day))).toMatchObject({ _tag: "Expired" })
        const command = { jobId, now: Time.after(now, 90 * day), selection: everyLost }
        expect(yield* jobs.retry(command)).toMatchObject({ _tag: "Expired" })
        expect(yield* claim(10, now + 91 * day)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that are gone still have their reports, and their Idempotency-Key answers as before", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const jobId = yield* accept(who, { key: "k" })
        yield* settleAll()
        const key = { publicKey: who.publicKey, key: "k" }
        const before = yield* jobs.findByIdempotencyKey(key)
        const at = Time.after(now, 100 * day)
        yield* purgeAll(at)
        expect(yield* jobs.findByIdempotencyKey(key)).toEqual(before)
        const messageId = Ids.messageId(jobId, 0)
        const reports = [{ messageId, providerId: null, status: "delivered", at, failure: null } as const]
        yield* jobs.receive({ now: at, reports })
        expect((yield* results(jobId))[0]).toMatchObject({ status: "delivered", values: [] })
        expect(yield* find(jobId)).toMatchObject({ contentExpiredAt: at, counts: { delivered: 1 } })
      }).pipe(Effect.provide(layer))
    )

    it.effect("of a direct message are its text, which goes where no other message has it", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const old = yield* accept(who, { content: direct })
        yield* settleAll()
        const at = Time.after(now, 90 * day)
        const young = yield* accept(who, { content: direct, now: at })
        yield* purgeAll(at)
        expect((yield* find(old)).content).toEqual({ kind: "direct", text: "", linkPreview: false })
        expect((yield* find(young)).content).toEqual(direct)
        const [claimed] = yield* claim(10, at)
        expect(claimed).toMatchObject({ jobId: young, content: direct })
        yield* purgeAll(Time.after(at, day))
        const again = yield* accept(who, { content: direct, now: Time.after(at, day) })
        yield* purgeAll(Time.after(at, 2 * day))
        expect((yield* find(young)).content).toEqual(direct)
        expect((yield* find(again)).content).toEqual(direct)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are also the texts of people that nobody acted on", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const { accountId, sessionId } = yield* owner
        const item = (id: string, at: Time.Instant) => ({
          id,
          identity: null,
          message: null,
          word: null,
          unattributed: {
            ...{ id, accountId, sessionId, kind: "opt_out" as const, messageId: id, text: "Hello" },
            ...{ occurredAt: at, recordedAt: at }
          },
          perhapsRefusal: {
            ...{ id: `p-${id}`, accountId, sessionId, phone: "34600111222", userId: null, messageId: id },
            ...{ text: "can you stop the order", occurredAt: at, reportedAt: null, recordedAt: at }
          }
        })
        for (const [id, at] of [["a", now] as const, ["b", now + day] as const])
          yield* inbound.receive({
            accountId,
            sessionId,
            portfolio: "p",
            items: [item(id, Time.at(at))],
            now: Time.at(at)
          })
        expect(rowsOf(yield* purgeAll(Time.after(now, 90 * day)))).toEqual([["contents", 2]])
        const found = yield* inbound.unattributed({ accountId, page })
        const refusals = yield* inbound.perhapsRefusals({ accountId, page })
        expect([found, refusals]).toMatchObject([{ items: [{ id: "b" }] }, { items: [{ id: "p-b" }] }])
        expect(yield* inbound.perhapsRefusal("p-a")).toBe(null)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("deliveries", () => {
    const some = Effect.gen(function* () {
      const webhooks = yield* WebhookStore
      const { accountId } = yield* owner
      const endpoint = yield* listen(accountId)
      const send = (at: Time.Instant) =>
        webhooks.send({
          endpointId: endpoint.id,
          draft: Event.webhookTest(endpoint.id),
          now: at
        })
      return { accountId, endpoint, send, webhooks }
    })

    it.effect("go with their event and their attempts after 30 days, once none of them waits", () =>
      Effect.gen(function* () {
        const { endpoint, send, webhooks } = yield* some
        const [first, second] = [yield* send(now), yield* send(Time.after(now, 1))]
        yield* deliverAll("delivered", Time.after(now, 1))
        const waiting = yield* send(Time.after(now, 2))
        const young = yield* send(Time.after(now, day))
        expect(yield* purgeAll(Time.after(now, 30 * day - 1))).toEqual([])
        expect(rowsOf(yield* purgeAll(Time.after(now, 30 * day)))).toEqual([["deliveries", 2]])
        expect(yield* deliveries(endpoint.id)).toEqual([young, waiting, second])
        expect(yield* webhooks.findDelivery(first ?? "")).toBe(null)
        yield* purgeAll(Time.after(now, 60 * day))
        expect(yield* deliveries(endpoint.id)).toEqual([young, waiting])
        yield* deliverAll(null, Time.after(now, 60 * day))
        yield* purgeAll(Time.after(now, 60 * day))
        expect(yield* deliveries(endpoint.id)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("wait for an endpoint that is disabled, however long", () =>
      Effect.gen(function* () {
        const { accountId, endpoint, send, webhooks } = yield* some
        const other = yield* listen(accountId)
        const id = yield* send(now)
        yield* webhooks.change({
          id: endpoint.id,
          change: { enabled: false, disabledReason: null },
          now: Time.after(now, 1)
        })
        yield* purgeAll(Time.after(now, 1000 * day))
        expect(yield* deliveries(endpoint.id)).toEqual([id])
        expect(yield* deliveries(other.id)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that an operator sends again wait again", () =>
      Effect.gen(function* () {
        const { endpoint, send, webhooks } = yield* some
        const id = yield* send(now)
        yield* deliverAll(null, now)
        yield* webhooks.replay({ deliveryId: id ?? "", now: Time.after(now, 40 * day) })
        yield* purgeAll(Time.after(now, 40 * day))
        expect(yield* deliveries(endpoint.id)).toEqual([id])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("unread hooks", () => {
    it.effect("go after 30 days, as the account of their session says", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const [who, other] = [yield* owner, yield* owner]
        yield* keep(other.accountId, { unreadHooksDays: 3 })
        const part = (id: string, receivedAt: Time.Instant) => ({
          ...{ id, field: "new", reason: "It is new.", content: "{}", isCut: false },
          receivedAt
        })
        const both = [who.sessionId, other.sessionId]
        for (const sessionId of both)
          yield* inbound.retainUnread({ sessionId, parts: [part("a", now), part("b", Time.after(now, day))] })
        const listed = Effect.forEach(both, (sessionId) =>
          Effect.map(inbound.unread({ sessionId, page }), ({ items }) => items.map(({ id }) => id))
        )
        yield* purgeAll(Time.after(now, 3 * day))
        expect(yield* listed).toEqual([["b", "a"], ["b"]])
        yield* purgeAll(Time.after(now, 30 * day))
        expect(yield* listed).toEqual([["b"], []])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("consents", () => {
    const phone = "34600111222"
    const record = (purpose: Consent.Scope, status: Consent.Status, at: Time.Instant) =>
      Fixtures.consent(phone, { purpose, status, occurredAt: at, recordedAt: at })
    const verdicts = (history: ReadonlyArray<Standing>) =>
      Consent.purposes.map((purpose) => Consent.decide(history, purpose)._tag)

    it.effect("stay for ever, unless the account says otherwise", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId } = yield* owner
        const records = [record("all", "granted", now), record("all", "granted", Time.after(now, 1))]
        yield* consents.record({ accountId, records })
        yield* purgeAll(Time.after(now, 30_000 * day))
        expect(yield* consents.history({ accountId, phone })).toHaveLength(2)
        yield* keep(accountId, { consentsDays: 10 })
        expect(rowsOf(yield* purgeAll(Time.after(now, 10 * day)))).toEqual([["consents", 1]])
        expect(yield* consents.history({ accountId, phone })).toMatchObject([{ occurredAt: now + 1 }])
      }).pipe(Effect.provide(layer))
    )

    it.effect("never go that decide, and no refusal goes, so that no old grant counts again", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId } = yield* owner
        yield* keep(accountId, { consentsDays: 1 })
        const said = [
          record("all", "granted", now),
          record("marketing", "revoked", Time.after(now, 1)),
          record("marketing", "granted", Time.after(now, 2)),
          record("marketing", "revoked", Time.after(now, 3)),
          record("utility", "granted", Time.after(now, 4)),
          record("all", "granted", Time.after(now, 1))
        ]
        yield* consents.record({ accountId, records: said })
        const before = yield* consents.history({ accountId, phone })
        expect(rowsOf(yield* purgeAll(Time.after(now, 100 * day), 2))).toEqual([["consents", 1]])
        const left = yield* consents.history({ accountId, phone })
        expect(left).toEqual(before.filter((_, place) => place !== 0))
        expect(verdicts(left)).toEqual(verdicts(before))
        const phones = [phone]
        expect((yield* consents.refusals({ accountId, phones, purpose: "marketing" })).size).toBe(1)
        expect((yield* consents.refusals({ accountId, phones, purpose: "direct" })).size).toBe(0)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("the size", () => {
    it.effect("is noted once a day, and days are forgotten in time", () =>
      Effect.gen(function* () {
        const store = yield* SizeStore
        expect(yield* store.firstSince(Time.at(0))).toBe(null)
        yield* store.note({ noted: { at: now, bytes: 5_000_000_000 }, before: Time.at(0) })
        yield* store.note({ noted: { at: now, bytes: 6 }, before: Time.at(0) })
        yield* store.note({ noted: { at: Time.after(now, day), bytes: 7 }, before: now })
        expect(yield* store.firstSince(Time.at(0))).toEqual({ at: now, bytes: 5_000_000_000 })
        expect(yield* store.firstSince(Time.after(now, 1))).toEqual({ at: now + day, bytes: 7 })
        yield* store.note({ noted: { at: Time.after(now, 2 * day), bytes: 8 }, before: Time.after(now, 1) })
        expect(yield* store.firstSince(Time.at(0))).toEqual({ at: now + day, bytes: 7 })
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is of a store that has a newest time of its own: of a day before, or of what was written",
      () =>
        Effect.gen(function* () {
          const store = yield* SizeStore
          const newest = store.newest(Time.after(now, day))
          expect(yield* newest).toBe(null)
          yield* store.note({ noted: { at: Time.before(now, day), bytes: 1 }, before: Time.at(0) })
          yield* store.note({ noted: { at: Time.after(now, day), bytes: 1 }, before: Time.at(0) })
          expect(yield* newest).toBe(now - day)
          const who = yield* owner
          yield* accept(who)
          yield* accept(who, { now: Time.before(now, 2 * day) })
          expect(yield* newest).toBe(now - day)
          yield* accept(who, { now: Time.after(now, 2 * day) })
          yield* accept(who, { now: Time.after(now, 1) })
          expect(yield* newest).toBe(now + 1)
          yield* listen(who.accountId)
          yield* settleAll(accepted, Time.after(now, 5))
          expect(yield* newest).toBe(now + 5)
        }).pipe(Effect.provide(layer))
    )

    it.effect("is measured, with the age of what is kept", () =>
      Effect.gen(function* () {
        const store = yield* SizeStore
        expect(yield* store.oldest).toEqual({ events: null, results: null })
        const { who } = yield* ended
        yield* listen(who.accountId)
        yield* accept(who, { now: Time.after(now, day) })
        const { bytes, kind } = yield* store.measure
        if (kind !== "memory") expect(bytes).toBeGreaterThan(10_000)
        expect(yield* store.oldest).toMatchObject({ results: now })
        expect(yield* store.shrink({ pages: 10 })).toMatchObject({ hasMore: false })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a purge", () => {
    it.effect("is counted before it is made, whose and how much", () =>
      Effect.gen(function* () {
        const store = yield* RetentionStore
        const { jobId, who } = yield* ended
        const jobs = { walk: "jobs", after: null, limit: 100, now: Time.after(now, 400 * day) } as const
        const { shares } = yield* store.count(jobs)
        expect(shares).toMatchObject([{ accountId: who.accountId, kind: "results", days: 400, rows: 4 }])
        const contents = yield* store.count({ ...jobs, walk: "jobContents" })
        expect(contents.shares).toMatchObject([{ kind: "contents", rows: 3, bytes: 30 }])
        expect(yield* results(jobId)).toHaveLength(3)
        expect(yield* store.purge(jobs)).toMatchObject({ shares })
      }).pipe(Effect.provide(layer))
    )

    it.effect("does nothing while the store is held", () =>
      Effect.gen(function* () {
        const store = yield* RetentionStore
        const { jobId } = yield* ended
        yield* (yield* RestoreStore).place({ now })
        const slice = { walk: "jobs", after: null, limit: 100, now: Time.after(now, 400 * day) } as const
        expect(yield* store.purge(slice)).toEqual({ _tag: "Busy" })
        expect(yield* results(jobId)).toHaveLength(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("says where a later one begins: before the first row that stayed", () =>
      Effect.gen(function* () {
        const store = yield* RetentionStore
        const who = yield* owner
        const open = yield* accept(who)
        yield* (yield* JobStore).cancel({ jobId: open, now })
        const waiting = yield* accept(who)
        yield* accept(who, { now: Time.after(now, 500 * day) })
        const slice = { walk: "jobs", after: null, limit: 100, now: Time.after(now, 500 * day) } as const
        const first = yield* store.purge(slice)
        expect(first).toMatchObject({ shares: [{ rows: 2 }], next: null })
        const kept = first._tag === "Purged" && first.kept !== null ? first.kept : []
        yield* (yield* JobStore).cancel({ jobId: waiting, now })
        const again = yield* store.purge({ ...slice, after: Retention.before(kept) })
        expect(again).toMatchObject({ shares: [{ rows: 2 }], kept: null })
        expect(yield* (yield* JobStore).find(waiting)).toBe(null)
      }).pipe(Effect.provide(layer))
    )
  })
}
