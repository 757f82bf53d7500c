/** Jobs over all accounts, by every filter of the operator's list, and what is told beside them (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import { stuckAfterMs } from "../../src/domain/job/Job.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { HappeningStore } from "../../src/storage/HappeningStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import type { AcceptedQuery, ListJobs } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner, tell } from "./Setup.ts"

const page = { limit: 25, after: null }

const failure = (code: string) => ({ code, provider_code: "1", message: "It broke.", permanent: true })

const sent = Effect.fnUntraced(function* (
  who: Owner,
  at: Time.Instant,
  some: Parameters<typeof Fixtures.send>[1] = {}
) {
  const command = Fixtures.send(who, { now: at, ...some })
  yield* (yield* JobStore).accept(command)
  return command.jobId
})

const list = Effect.fnUntraced(function* (query: Partial<ListJobs>) {
  const { items } = yield* (yield* JobStore).list({ by: {}, kind: "template", page, ...query })
  return items.map(({ id }) => id)
})

export const suite = (layer: Stored): void => {
  describe("lists over accounts", () => {
    it.effect("are of sessions and of those that are down, of endpoints and of those that fail", () =>
      Effect.gen(function* () {
        const [sessions, webhooks] = [yield* SessionStore, yield* WebhookStore]
        const [mine, other] = [yield* owner, yield* owner]
        const down = Fixtures.session(mine.accountId, { state: "disconnected", connectedSince: null })
        yield* sessions.create(down)
        yield* tell(other.sessionId, "OutageBegan", now)
        const ofSessions = (query: Partial<Parameters<typeof sessions.list>[0]>) =>
          Effect.map(sessions.list({ page, ...query }), ({ items }) => items.map(({ id }) => id))
        expect((yield* ofSessions({})).slice(0, 3)).toEqual([down.id, other.sessionId, mine.sessionId])
        expect(yield* ofSessions({ isDown: true })).toEqual([down.id, other.sessionId])
        expect(yield* ofSessions({ isDown: true, accountId: other.accountId })).toEqual([other.sessionId])

        const fine = Fixtures.endpoint(mine.accountId)
        const failing = Fixtures.endpoint(other.accountId, { failingSince: now })
        const disabled = Fixtures.endpoint(other.accountId, { enabled: false, disabledReason: "It was." })
        for (const each of [fine, failing, disabled]) yield* webhooks.create(each)
        const ofEndpoints = (query: Partial<Parameters<typeof webhooks.list>[0]>) =>
          Effect.map(webhooks.list({ page, ...query }), ({ items }) => items.map(({ id }) => id))
        expect((yield* ofEndpoints({})).slice(0, 3)).toEqual([disabled.id, failing.id, fine.id])
        expect(yield* ofEndpoints({ isFailing: true })).toEqual([disabled.id, failing.id])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are of deliveries by endpoint, status, type and time, each with its payload", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const [first, second] = [Fixtures.endpoint(accountId), Fixtures.endpoint(accountId)]
        for (const each of [first, second]) yield* store.create(each)
        const send = (endpointId: string, at: Time.Instant) =>
          store.send({ endpointId, draft: Event.webhookTest(endpointId), now: at })
        const early = (yield* send(first.id, now)) ?? ""
        const late = (yield* send(second.id, Time.after(now, 10))) ?? ""
        const find = (query: Partial<Parameters<typeof store.deliveries>[0]>) =>
          Effect.map(store.deliveries({ page, ...query }), ({ items }) =>
            items.map(({ endpointId, id }) => [endpointId, id])
          )
        expect((yield* find({})).slice(0, 2)).toEqual([
          [second.id, late],
          [first.id, early]
        ])
        expect(yield* find({ endpointId: first.id })).toEqual([[first.id, early]])
        expect(yield* find({ endpointId: first.id, status: "delivered" })).toEqual([])
        expect(yield* find({ endpointId: second.id, type: "webhook.test" })).toEqual([[second.id, late]])
        expect(yield* find({ endpointId: second.id, type: "job.completed" })).toEqual([])
        expect((yield* find({ since: Time.after(now, 1), status: "pending" })).at(0)).toEqual([
          second.id,
          late
        ])
        expect(yield* find({ since: Time.after(now, 11) })).toEqual([])
        expect((yield* find({ before: Time.after(now, 10) })).at(0)).toEqual([first.id, early])
        expect(yield* find({ endpointId: second.id, before: Time.after(now, 10) })).toEqual([])
        expect(yield* store.countDeliveries({ endpointId: second.id })).toEqual({ count: 1, isExact: true })
        expect(yield* store.countDeliveries({ endpointId: second.id, status: "delivered" })).toEqual({
          count: 0,
          isExact: true
        })
        expect(JSON.parse((yield* store.payload(late)) ?? "{}")).toMatchObject({ type: "webhook.test" })
        expect(yield* store.payload("nobody")).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("are of deliveries that tell of a job with its messages, or of one message", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const who = yield* owner
        const endpoint = Fixtures.endpoint(who.accountId, { events: ["*"] })
        yield* store.create(endpoint)
        const jobs = yield* JobStore
        const told = yield* sent(who, now, { phones: 2 })
        const [claimed] = (yield* claim(250, now + 1, "worker-telling")).filter(({ jobId }) => jobId === told)
        const outcome = Outcome.Failed({ failure: failure("broken") })
        yield* jobs.settleAndClaim({
          now: Time.after(now, 2),
          claim: null,
          settlements: [{ jobId: told, fence: claimed?.fence ?? -1, index: 0, outcome }]
        })
        const other = yield* sent(who, Time.after(now, 3))
        yield* jobs.cancel({ jobId: other, now: Time.after(now, 4) })
        const find = (about: string) =>
          Effect.map(store.deliveries({ endpointId: endpoint.id, about, page }), ({ items }) =>
            items.map(({ eventType }) => eventType).sort()
          )
        const all = yield* Effect.map(
          store.deliveries({ endpointId: endpoint.id, page }),
          ({ items }) => items
        )
        const ofOther = yield* find(other)
        expect(ofOther.length).toBeGreaterThan(0)
        expect((yield* find(told)).length + ofOther.length).toBe(all.length)
        expect(yield* find(Ids.messageId(told, 0))).toEqual(["recipient.failed"])
        expect(yield* find(Ids.messageId(told, 7))).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are of keys and of templates of all sessions", () =>
      Effect.gen(function* () {
        const [keys, templates] = [yield* ApiKeyStore, yield* TemplateStore]
        const [mine, other] = [yield* owner, yield* owner]
        const { items } = yield* keys.list({ page })
        expect(items.slice(0, 2).map(({ publicKey }) => publicKey)).toEqual([other.publicKey, mine.publicKey])
        const made: Array<number> = []
        for (const [who, status] of [
          [mine, "approved"],
          [other, "paused"],
          [mine, "paused"]
        ] as const) {
          const contents = [Fixtures.template({ name: `${status}-${made.length}`, status })]
          const [template] = yield* templates.importAll({ ...who, contents, now })
          made.push(template?.templateId ?? 0)
        }
        const [first = 0, second, third] = made
        const find = (query: Partial<Parameters<typeof templates.list>[0]>) =>
          Effect.map(templates.list({ page: { limit: 25, after: first - 1 }, ...query }), ({ items }) =>
            items.map(({ templateId }) => templateId)
          )
        expect(yield* find({})).toEqual([first, second, third])
        expect(yield* find({ status: "paused" })).toEqual([second, third])
        expect(yield* find({ status: "paused", sessionId: mine.sessionId })).toEqual([third])
        const page1 = yield* templates.list({ page: { limit: 2, after: first - 1 } })
        expect(yield* find({ page: { limit: 2, after: page1.next } })).toEqual([third])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are of templates of any status", () =>
      Effect.gen(function* () {
        const store = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        const contents = ["approved", "paused", "deleted"].map((status) =>
          Fixtures.template({ name: status, status })
        )
        const [approved, paused, deleted] = yield* store.importAll({
          accountId,
          sessionId,
          contents,
          now
        })
        const find = (status?: string) =>
          Effect.map(store.list({ sessionId, status, page }), ({ items }) => items)
        expect(yield* find()).toEqual([approved, paused, deleted])
        expect(yield* find("paused")).toEqual([paused])
        expect(yield* store.find({ templateId: paused?.templateId ?? 0 })).toEqual(paused)
        expect(yield* store.find({ templateId: 123_456 })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })

  describe("jobs over accounts", () => {
    it.effect("are found by account, session, key, template and reference, and by several together", () =>
      Effect.gen(function* () {
        const [mine, other] = [yield* owner, yield* owner]
        const templates = yield* TemplateStore
        const [, greeting] = yield* templates.importAll({
          accountId: mine.accountId,
          sessionId: mine.sessionId,
          contents: [Fixtures.template({ name: "first" }), Fixtures.template()],
          now
        })
        const templateId = greeting?.templateId ?? 0
        const content = { kind: "template", templateId, template: Fixtures.template() } as const
        const reference = `spring-${mine.accountId}`
        const first = yield* sent(mine, now, { reference, content })
        const second = yield* sent(other, Time.after(now, 1), { reference })
        // As the process sends that owns the engine.
        const third = yield* sent({ ...mine, publicKey: mine.sessionId }, Time.after(now, 2))
        yield* sent(mine, Time.after(now, 3), { content: { kind: "direct", text: "Hi", linkPreview: false } })
        expect((yield* list({})).slice(0, 3)).toEqual([third, second, first])
        expect(yield* list({ by: { accountId: mine.accountId } })).toEqual([third, first])
        expect(yield* list({ by: { sessionId: mine.sessionId } })).toEqual([third, first])
        expect(yield* list({ by: { publicKey: other.publicKey } })).toEqual([second])
        expect(yield* list({ reference })).toEqual([second, first])
        expect(yield* list({ reference, by: { accountId: other.accountId } })).toEqual([second])
        expect(yield* list({ reference, by: { sessionId: mine.sessionId } })).toEqual([first])
        expect(yield* list({ templateId })).toEqual([first])
        expect(yield* list({ templateId: templateId + 1000 })).toEqual([])
        expect(yield* list({ by: { accountId: other.accountId, sessionId: mine.sessionId } })).toEqual([])
        expect(yield* list({ by: { accountId: mine.accountId, publicKey: mine.sessionId } })).toEqual([third])
        const pages = yield* (yield* JobStore).list({
          by: { sessionId: mine.sessionId },
          kind: "template",
          page: { limit: 1, after: null }
        })
        expect(pages.items.map(({ id }) => id)).toEqual([third])
        expect(
          yield* list({ by: { sessionId: mine.sessionId }, page: { limit: 1, after: pages.next } })
        ).toEqual([first])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are found by what became of them: failed, unknown, waiting, and when they were done", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const by = { accountId: who.accountId }
        const broken = yield* sent(who, now, { phones: 4 })
        const [claimed] = yield* claim(250, now + 1, "worker-looking")
        const ofIt = claimed?.jobId === broken ? claimed : undefined
        const outcomes = [
          Outcome.Failed({ failure: failure("broken") }),
          Outcome.Failed({ failure: failure("broken") }),
          Outcome.Unknown({ failure: failure("timeout") }),
          Outcome.Accepted({ providerId: null, status: "sent" })
        ]
        yield* jobs.settleAndClaim({
          now: Time.after(now, 5),
          claim: null,
          settlements: outcomes.map((outcome, index) => ({
            jobId: broken,
            fence: ofIt?.fence ?? -1,
            index,
            outcome
          }))
        })
        const waiting = yield* sent(who, Time.after(now, 10), {
          key: "of the caller",
          requestId: "request-1"
        })
        expect(yield* list({ by, has: "failed" })).toEqual([broken])
        expect(yield* list({ by, has: "unknown" })).toEqual([broken])
        expect(yield* list({ by, has: "waiting" })).toEqual([waiting])
        expect(yield* list({ by, status: "completed" })).toEqual([broken])
        const count = (some: Partial<ListJobs>) => jobs.count({ by, kind: "template", ...some })
        expect(yield* count({})).toEqual({ count: 2, isExact: true })
        expect(yield* count({ has: "waiting" })).toEqual({ count: 1, isExact: true })
        expect(yield* list({ by, completedAfter: Time.after(now, 5) })).toEqual([broken])
        expect(yield* list({ by, completedAfter: Time.after(now, 6) })).toEqual([])
        expect(yield* list({ by, completedBefore: Time.after(now, 5) })).toEqual([])
        expect(yield* list({ by, completedBefore: Time.after(now, 6) })).toEqual([broken])
        expect(yield* list({ by, createdAfter: Time.after(now, 10) })).toEqual([waiting])
        expect(yield* list({ by, createdBefore: Time.after(now, 10) })).toEqual([broken])
        const { items } = yield* jobs.list({ by, kind: "template", page })
        const facts = yield* jobs.facts(items)
        expect(facts.get(broken)).toMatchObject({
          accountName: "Account",
          sessionName: "Session",
          failures: [
            { code: "broken", status: "failed", recipients: 2 },
            { code: "timeout", status: "unknown", recipients: 1 }
          ]
        })
        expect(facts.get(waiting)).toMatchObject({ failures: [] })
        expect(items.find(({ id }) => id === waiting)).toMatchObject({
          idempotencyKey: "of the caller",
          requestId: "request-1"
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("of one reference are summed, as far as they have come, by account", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const [mine, other] = [yield* owner, yield* owner]
        const reference = `campaign-${mine.accountId}`
        yield* sent(mine, now, { reference, phones: 2 })
        const canceled = yield* sent(mine, Time.after(now, 1), { reference, phones: 3 })
        yield* jobs.cancel({ jobId: canceled, now: Time.after(now, 2) })
        const newest = yield* sent(mine, Time.after(now, 3), { reference })
        yield* sent(mine, Time.after(now, 4))
        yield* jobs.accept(
          Fixtures.send(mine, { reference, content: { kind: "direct", text: "Hi", linkPreview: false } })
        )
        const others = yield* sent(other, Time.after(now, 5), { reference })
        expect(yield* list({ reference, isNewestOfReference: true })).toEqual([others, newest])
        expect(yield* jobs.sum({ accountId: mine.accountId, reference })).toMatchObject({
          jobs: 3,
          isExact: true,
          recipients: 6,
          counts: { queued: 3, canceled: 3 },
          createdAt: now,
          lastAt: now + 3,
          completedAt: null
        })
        yield* jobs.cancel({ jobId: others, now: Time.after(now, 9) })
        expect(yield* jobs.sum({ accountId: other.accountId, reference })).toMatchObject({
          jobs: 1,
          counts: { canceled: 1 },
          completedAt: now + 9
        })
        expect(yield* jobs.sum({ accountId: other.accountId, reference: "none" })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("are stuck when they are paused, or nothing of their session moves, for ten minutes", () =>
      Effect.gen(function* () {
        const [jobs, sessions] = [yield* JobStore, yield* SessionStore]
        const [idle, moving] = [yield* owner, yield* owner]
        const left = yield* sent(idle, now)
        yield* jobs.cancel({ jobId: yield* sent(idle, now), now })
        const behind = yield* sent(moving, now, { phones: 2 })
        const later = Time.after(now, stuckAfterMs)
        const stuck = (who: Owner, at: Time.Instant) =>
          list({ by: { accountId: who.accountId }, stuckSince: Time.before(at, stuckAfterMs) })
        expect(yield* stuck(idle, Time.before(later, 1))).toEqual([])
        expect(yield* stuck(idle, later)).toEqual([left])
        expect(yield* stuck(moving, later)).toEqual([behind])
        // Another of its session is being sent: it waits for its turn.
        const next = yield* sent(moving, later)
        const { claimed } = yield* jobs.settleAndClaim({
          now: later,
          settlements: [],
          claim: { worker: "worker-moving", limit: 1000 }
        })
        expect(claimed.map(({ jobId }) => jobId)).toContain(next)
        expect(yield* stuck(moving, Time.after(later, 1))).toEqual([])
        expect(yield* stuck(moving, Time.after(later, stuckAfterMs))).toEqual([next, behind])
        const at = Time.after(later, 2 * stuckAfterMs)
        const paused = yield* sent(moving, at)
        yield* jobs.settleAndClaim({
          now: at,
          settlements: [],
          claim: { worker: "worker-moving", limit: 1000 }
        })
        yield* sessions.transition({
          id: moving.sessionId,
          state: "disconnected",
          reason: "operator",
          now: Time.after(at, 1)
        })
        expect(yield* stuck(moving, Time.after(at, stuckAfterMs + 1))).toContain(paused)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are stuck while their platform is out for ten minutes, although probes change them", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = yield* sent(who, now, { phones: 2 })
        const second = yield* sent(who, now)
        yield* tell(who.sessionId, "OutageBegan", Time.after(now, 1))
        const stuck = (at: Time.Instant) =>
          list({ by: { accountId: who.accountId }, stuckSince: Time.before(at, stuckAfterMs) })
        // A claim pauses what is in order, takes one as a probe, and the probe fails.
        const probe = Effect.fnUntraced(function* (at: Time.Instant) {
          const { claimed } = yield* jobs.settleAndClaim({
            now: at,
            settlements: [],
            claim: { worker: "worker-probing", limit: 10 }
          })
          const outcome = Outcome.Retry({
            at: Time.after(at, 1000),
            failure: failure("provider_unavailable"),
            maybeSent: false
          })
          yield* jobs.settleAndClaim({
            now: at,
            settlements: claimed.flatMap(({ fence, jobId, recipients }) =>
              recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
            ),
            news: [{ sessionId: who.sessionId, what: "ProbeFailed" }],
            claim: null
          })
          return claimed.map(({ jobId }) => jobId)
        })
        expect(yield* probe(Time.after(now, 2000))).toHaveLength(1)
        const later = Time.after(now, 1 + stuckAfterMs)
        expect(yield* probe(Time.before(later, 1))).toHaveLength(1)
        expect(yield* stuck(Time.before(later, 1))).toEqual([])
        const young = yield* sent(who, later)
        expect(yield* stuck(later)).toEqual([second, first])
        yield* tell(who.sessionId, "OutageEnded", Time.after(later, 1))
        expect(yield* stuck(Time.after(later, 2))).not.toContain(young)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("what is told by its time", () => {
    it.effect("is a job by its acceptance, the newest first, of one account, session or kind, too", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const [mine, other] = [yield* owner, yield* owner]
        const content = { kind: "direct", text: "Hi", linkPreview: false } as const
        const first = yield* sent(mine, Time.after(now, 1))
        const second = yield* sent(other, Time.after(now, 2))
        const third = yield* sent(mine, Time.after(now, 3), { content })
        const between = (query: Partial<AcceptedQuery>) =>
          Effect.map(
            jobs.acceptedBetween({ from: now, to: Time.after(now, 9), limit: 9, ...query }),
            ({ items, lookedTo }) => [lookedTo, items.map(({ id }) => id)]
          )
        expect(yield* between({})).toEqual([null, [third, second, first]])
        expect(yield* between({ limit: 2 })).toEqual([null, [third, second]])
        expect(yield* between({ from: Time.after(now, 2), to: Time.after(now, 3) })).toEqual([null, [second]])
        expect(yield* between({ accountId: mine.accountId })).toEqual([null, [third, first]])
        expect(yield* between({ sessionId: other.sessionId })).toEqual([null, [second]])
        expect(yield* between({ kind: "direct" })).toEqual([null, [third]])
        expect(yield* between({ kind: "template", accountId: mine.accountId })).toEqual([null, [first]])
        expect(yield* between({ from: Time.at(0), to: Time.at(Number.MAX_SAFE_INTEGER), limit: 1 })).toEqual([
          null,
          [third]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is a refusal by its recording, once, whatever names its person has", () =>
      Effect.gen(function* () {
        const [consents, inbound] = [yield* ConsentStore, yield* InboundStore]
        const [mine, other] = [yield* owner, yield* owner]
        const [phone, userId] = ["34600000000", "ES.12"]
        const identity = { person: { phone, userId }, formerly: null }
        const nothing = { id: null, message: null, word: null, unattributed: null }
        const { accountId, sessionId } = mine
        yield* inbound.receive({
          accountId,
          sessionId,
          portfolio: "p",
          items: [{ ...nothing, identity }],
          now
        })
        const record = (who: Owner, status: "granted" | "revoked", at: Time.Instant) =>
          consents.record({
            accountId: who.accountId,
            records: [Fixtures.consent(phone, { status, occurredAt: at, recordedAt: at })]
          })
        yield* record(mine, "granted", Time.after(now, 1))
        const [first] = yield* record(mine, "revoked", Time.after(now, 2))
        const [second] = yield* record(other, "revoked", Time.after(now, 3))
        const between = (query: Partial<Parameters<typeof consents.revoked>[0]>) =>
          Effect.map(
            consents.revoked({ from: now, to: Time.after(now, 9), limit: 9, ...query }),
            ({ items }) => items.map(({ accountId, record: { id } }) => [accountId, id])
          )
        expect(yield* between({})).toEqual([
          [other.accountId, second?.id],
          [accountId, first?.id]
        ])
        expect(yield* between({ accountId })).toEqual([[accountId, first?.id]])
        expect(yield* between({ from: Time.after(now, 3) })).toEqual([[other.accountId, second?.id]])
        // Whoever is given fewer than it asked for is told where the rest begins.
        let [to, found]: [number, Array<unknown>] = [now + 9, []]
        for (let reads = 0; reads < 9; reads += 1) {
          const { items, lookedTo } = yield* consents.revoked({ from: now, to: Time.at(to), limit: 1 })
          found = [...found, ...items.map(({ record: { id } }) => id)]
          const last = items.at(-1)?.record.recordedAt ?? lookedTo
          if (last === null) break
          to = last
        }
        expect(found).toEqual([second?.id, first?.id])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is an act of an operator, and a happening of some types", () =>
      Effect.gen(function* () {
        const [audit, happenings] = [yield* AuditStore, yield* HappeningStore]
        const { sessionId } = yield* owner
        for (const at of [now + 1, now + 2, now + 3])
          yield* audit.append({
            entry: Fixtures.auditEntry({ at: Time.at(at), target: `act ${at - now}` }),
            retainSince: Time.at(0)
          })
        const acts = (query: {
          readonly from: Time.Instant
          readonly to: Time.Instant
          readonly limit: number
        }) => Effect.map(audit.between(query), (found) => found.map(({ target }) => target))
        expect(yield* acts({ from: now, to: Time.after(now, 3), limit: 9 })).toEqual(["act 2", "act 1"])
        expect(yield* acts({ from: Time.after(now, 2), to: Time.after(now, 9), limit: 1 })).toEqual(["act 3"])
        yield* tell(sessionId, "OutageBegan", Time.after(now, 1))
        yield* tell(sessionId, "OutageEnded", Time.after(now, 2))
        const between = { from: now, to: Time.after(now, 9), limit: 9, sessionId }
        const found = yield* happenings.between({ ...between, types: ["session.available"] })
        expect(found.map(({ type }) => type)).toEqual(["session.available"])
        expect(yield* happenings.between(between)).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("recipients that are alike", () => {
    it.effect("are counted together, with the phone of what was billed in another category", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const jobId = yield* sent(who, now, { phones: 5 })
        const claimed = (yield* claim()).filter((each) => each.jobId === jobId)
        yield* jobs.settleAndClaim({
          now,
          claim: null,
          settlements: claimed.flatMap(({ fence, recipients }) =>
            recipients.slice(0, 4).map(({ index }) => ({
              ...{ jobId, fence, index },
              outcome: Outcome.Accepted({ providerId: null, status: "sent" })
            }))
          )
        })
        const report = (index: number, category: string, free = false) => ({
          ...{ messageId: Ids.messageId(jobId, index), status: "delivered" as const, at: now },
          ...{ failure: null, providerId: null, pricing: { category, free } }
        })
        const reports = [report(0, "utility"), report(1, "utility"), report(2, "marketing")]
        yield* jobs.receive({ now, reports })
        const found = yield* jobs.charges([
          { id: jobId, category: "utility" },
          { id: "none", category: null }
        ])
        const merged = new Map<string, number>()
        for (const { recipients, ...charge } of found.get(jobId) ?? []) {
          const name = JSON.stringify(charge, Object.keys(charge).sort())
          merged.set(name, (merged.get(name) ?? 0) + recipients)
        }
        const sums = [...merged].map(([name, count]) => [JSON.parse(name), count] as const)
        const of = (phone: string | null, status: string) =>
          sums.filter(([each]) => each.address === phone && each.status === status)
        expect(of(null, "delivered")).toMatchObject([
          [{ isDelivered: true, price: "0.0100", market: "*" }, 2]
        ])
        expect(of("34600000002", "delivered")).toMatchObject([[{ isDelivered: true }, 1]])
        expect(of(null, "sent")).toMatchObject([[{ isDelivered: false }, 1]])
        expect(sums.reduce((sum, [, count]) => sum + count, 0)).toBe(5)
        expect(found.get("none") ?? []).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })
}
