/** The erasure of a person (docs/adr/0040): all that is kept of them goes, and counts, money and refusals stay. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Counts, Part, Sought } from "../../src/domain/Erasure.ts"
import * as Erasure from "../../src/domain/Erasure.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as ClientTexts from "../../src/domain/job/ClientTexts.ts"
import * as Person from "../../src/domain/Person.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { ErasureStore } from "../../src/storage/ErasureStore.ts"
import { HappeningStore } from "../../src/storage/HappeningStore.ts"
import type { InboundItem } from "../../src/storage/InboundStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { KeyringStore } from "../../src/storage/KeyringStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, failure, find, listen, now, owner, results } from "./Setup.ts"

const [phone, other] = ["34600000000", "34600000001"]
const userId = "ES.1%_2"
const portfolio = "p"

const names: ReadonlyArray<Erasure.Name> = [
  { kind: "phone", text: phone, token: Erasure.tokenOf("aa") },
  { kind: "user", text: userId, token: Erasure.tokenOf("bb") }
]
const ofAll: Erasure.Names = { given: names, ofAccounts: {} }
const everywhere: Sought = { names: ofAll, accounts: null }

const erasureOf = (id: string, some: Partial<Erasure.Erasure> = {}): Erasure.Erasure => ({
  id,
  accountId: null,
  reason: "asked",
  begunAt: now,
  sweptAt: now,
  nextAt: Time.after(now, 60_000),
  waitsFor: null,
  counts: Erasure.noCounts,
  ...some
})

const begin = Effect.fnUntraced(function* (
  { accountId }: Owner,
  id = "erasure-1",
  some: Partial<Erasure.Erasure> = {}
) {
  const erasure = erasureOf(id, some)
  const marks = Erasure.marksOf(ofAll, erasure.accountId)
  const command = { erasure, marks, sealed: "sealed", sought: everywhere, accounts: [accountId] }
  return yield* (yield* ErasureStore).begin(command)
})

const erase = Effect.fnUntraced(function* (part: Part, sought = everywhere) {
  const store = yield* ErasureStore
  let counts: Counts = Erasure.noCounts
  let after: string | null = null
  do {
    const slice: { readonly counts: Counts; readonly next: string | null } = yield* store.erase({
      erasureId: "erasure-1",
      part,
      after,
      sought,
      now: Time.after(now, 5)
    })
    counts = Erasure.add(counts, slice.counts)
    after = slice.next
  } while (after !== null)
  return counts
})

const eraseAll = Effect.gen(function* () {
  let counts: Counts = Erasure.noCounts
  for (const part of Erasure.parts) counts = Erasure.add(counts, yield* erase(part))
  return counts
})

const findAll = Effect.fnUntraced(function* (part: Part, sought = everywhere) {
  const { found } = yield* (yield* ErasureStore).find({ part, after: null, sought })
  return found
})

const accept = Effect.fnUntraced(function* (who: Owner, some: Parameters<typeof Fixtures.send>[1] = {}) {
  const command = Fixtures.send(who, { phones: 2, ...some })
  yield* (yield* JobStore).accept(command)
  return command
})

const recipient = (phone: string) => ({
  address: phone,
  externalId: "customer-7",
  values: ["Ana"],
  market: "ES",
  price: "0.0100"
})

const direct = { kind: "direct", text: "Hello Ana", linkPreview: false } as const

const nothing: InboundItem = { id: null, identity: null, message: null, word: null, unattributed: null }
const identity: Person.IdentityReport = { person: { phone, userId }, formerly: null }

const receive = Effect.fnUntraced(function* (
  { accountId, sessionId }: Owner,
  items: ReadonlyArray<InboundItem>
) {
  yield* (yield* InboundStore).receive({ accountId, sessionId, portfolio, items, now })
})

const message: InboundItem = {
  ...nothing,
  identity,
  message: Fixtures.received({ id: "in-1", person: { phone, userId }, text: "I am Ana", at: now })
}

export const suite = (layer: Stored): void => {
  describe("erasing a person", () => {
    it.effect("cancels what waits for them, and leaves the counts and the others", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const { jobId } = yield* accept(who)
        yield* begin(who)
        expect(yield* erase("recipients")).toMatchObject({ recipients: 1, canceled: 1, inFlight: 0 })
        const [theirs, others] = yield* results(jobId)
        expect(theirs).toMatchObject({
          address: "erased:aa",
          externalId: null,
          values: [""],
          status: "canceled",
          price: "0.0100",
          market: "*"
        })
        expect(others).toMatchObject({ address: other, values: ["Name 1"], status: "queued" })
        expect((yield* find(jobId)).counts).toMatchObject({ queued: 1, canceled: 1 })
        expect(
          (yield* claim()).flatMap(({ recipients }) => recipients).map(({ address: phone }) => phone)
        ).toEqual([other])
        expect(yield* erase("recipients")).toEqual(Erasure.noCounts)
        // A sweep that is broken off here has told what went.
        const [listed] = (yield* (yield* ErasureStore).list({ limit: 1, after: null })).items
        expect(listed?.counts).toEqual({ ...Erasure.noCounts, recipients: 1, canceled: 1 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes whatever a client says of them, which results, events and exports tell before", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const { examples, of, ofBody, toBody } = ClientTexts.recipient
        const texts = ofBody(examples)
        const recipients = [{ address: phone, ...texts, values: ["Ana"], market: null, price: null }]
        const { jobId } = yield* accept(who, { recipients })
        expect((yield* results(jobId))[0]).toMatchObject(texts)
        const [claimed] = yield* claim(1)
        const outcome = Outcome.Accepted({ providerId: "wamid.1", status: "accepted" })
        const settlement = { jobId, fence: claimed?.fence ?? 0, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        const told = (yield* events()).filter(({ type }) => type === "recipient.accepted")
        expect(told).toMatchObject([{ data: examples }])
        expect(yield* findAll("recipients")).toMatchObject([examples])
        yield* eraseAll
        expect((yield* results(jobId))[0]).toMatchObject(of({}))
        expect(yield* findAll("recipients")).toEqual([])
        expect(Object.values(toBody(texts))).toEqual(Object.values(examples))
      }).pipe(Effect.provide(layer))
    )

    it.effect("ends a job of nobody else", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const { jobId } = yield* accept(who, { phones: 1 })
        yield* erase("recipients")
        expect(yield* find(jobId)).toMatchObject({ status: "canceled", counts: { canceled: 1, queued: 0 } })
      }).pipe(Effect.provide(layer))
    )

    it.effect("waits for the outcome of an attempt that is under way", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const { jobId } = yield* accept(who)
        const [claimed] = yield* claim(1)
        expect(yield* erase("recipients")).toMatchObject({ recipients: 0, inFlight: 1 })
        expect((yield* results(jobId))[0]).toMatchObject({ address: phone, status: "sending" })
        const outcome = Outcome.Accepted({ providerId: "wamid.1", status: "accepted" })
        const fence = claimed?.fence ?? 0
        yield* jobs.settleAndClaim({
          now,
          settlements: [{ jobId, fence, index: 0, outcome }],
          claim: null
        })
        expect(yield* erase("recipients")).toMatchObject({ recipients: 1, canceled: 0, inFlight: 0 })
        expect((yield* results(jobId))[0]).toMatchObject({
          address: "erased:aa",
          status: "accepted",
          providerId: null
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells a late receipt without them, and learns nobody's name from it", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const { jobId } = yield* accept(who)
        const [claimed] = yield* claim(1)
        const fence = claimed?.fence ?? 0
        const outcome = Outcome.Accepted({ providerId: "wamid.1", status: "accepted" })
        yield* jobs.settleAndClaim({
          now,
          settlements: [{ jobId, fence, index: 0, outcome }],
          claim: null
        })
        yield* eraseAll
        yield* events()
        const report: Report = {
          messageId: Ids.messageId(jobId, 0),
          status: "delivered",
          at: now,
          failure: null,
          providerId: null,
          named: { phone, userId }
        }
        const { applied, met } = yield* jobs.receive({
          now: Time.after(now, 9),
          sessionId: who.sessionId,
          reports: [report]
        })
        expect([applied, met]).toEqual([1, []])
        const told = yield* events(now + 10)
        expect(told.map(({ data, type }) => [type, data["phone"]])).toEqual([
          ["recipient.delivered", "erased:aa"]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("retries nobody who was erased", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const { jobId } = yield* accept(who)
        const [claimed] = yield* claim(2)
        const failure = {
          code: "broken",
          provider_code: null,
          message: `No such number ${phone}`,
          permanent: true
        }
        const settlement = { jobId, fence: claimed?.fence ?? 0, outcome: Outcome.Failed({ failure }) }
        const settlements = [0, 1].map((index) => ({ ...settlement, index }))
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        yield* erase("recipients")
        expect((yield* results(jobId))[0]?.failure).toEqual({
          ...failure,
          message: "No such number erased:aa"
        })
        const selection = { statuses: ["failed"], codes: ["broken"] } as const
        const retried = yield* jobs.retry({ jobId, now, selection })
        expect(retried).toMatchObject({ counts: { failed: 1 } })
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes the text of a direct message that nobody else got, and its answer", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const send = (to: string, key: string) =>
          accept(who, {
            phones: 1,
            key,
            recipients: [recipient(to)],
            content: direct,
            claim: "w",
            reference: `for ${to}`,
            requestId: `request-${to}`
          })
        const theirs = yield* send(phone, `to-${phone}`)
        const same = yield* send(other, "other")
        yield* jobs.rescue({ worker: "w", now, recoverable: [] })
        yield* erase("recipients")
        yield* erase("jobs")
        expect((yield* find(theirs.jobId)).content).toEqual({ ...direct, text: "" })
        const after = yield* find(theirs.jobId)
        expect([after.reference, after.requestId]).toEqual(["for erased:aa", "request-erased:aa"])
        expect(after.idempotencyKey).toMatch(/^to-erased:aa:[0-9]+$/)
        expect((yield* find(same.jobId)).requestId).toBe(`request-${other}`)
        expect((yield* find(same.jobId)).content).toEqual(direct)
        const { publicKey } = who
        expect(yield* jobs.findByIdempotencyKey({ publicKey, key: `to-${phone}` })).toBe(null)
        expect(yield* jobs.findByIdempotencyKey({ publicKey, key: "other" })).toMatchObject({
          fingerprint: "same"
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes them from events and from what receivers answered, and nobody else", () =>
      Effect.gen(function* () {
        const webhooks = yield* WebhookStore
        const who = yield* owner
        const endpoint = yield* listen(who.accountId)
        yield* receive(who, [
          message,
          {
            ...message,
            identity: { person: { phone: other, userId: null }, formerly: null },
            message: Fixtures.received({
              id: "in-2",
              person: { phone: other, userId: null },
              text: `Ask +${phone}`,
              at: now
            })
          }
        ])
        const { claimed } = yield* webhooks.settleAndClaim({
          now: Time.after(now, 1),
          settlements: [],
          claim: Fixtures.deliveryClaim({ limit: 1 })
        })
        const [first] = claimed
        const deliveryId = first?.deliveryId ?? ""
        yield* webhooks.settleAndClaim({
          now: Time.after(now, 2),
          claim: null,
          settlements: [
            {
              deliveryId,
              fence: first?.fence ?? 0,
              attempt: {
                at: Time.after(now, 1),
                status: 500,
                durationMs: 1,
                reason: null,
                excerpt: "Ana is unknown"
              },
              next: Time.after(now, 3),
              disable: null
            }
          ]
        })
        expect(yield* findAll("attempts")).toMatchObject([{ status: 500, excerpt: "Ana is unknown" }])
        const counts = yield* eraseAll
        expect(counts).toMatchObject({ events: 2, attempts: 1 })
        expect(yield* findAll("attempts")).toEqual([])
        const told = yield* events(now + 10)
        expect(
          told.map(({ data }) => [data["from"], data["user_id"], data["text"], data["content"]])
        ).toEqual([
          [other, null, "Ask +erased:aa", { body: "Ask +erased:aa" }],
          ["erased:aa", null, "", null]
        ])
        expect(endpoint.accountId).toBe(who.accountId)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps that consent was given and withdrawn, under the hash and without its proof", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const store = yield* ErasureStore
        const who = yield* owner
        const { accountId } = who
        yield* receive(who, [{ ...nothing, identity }])
        const granted = Fixtures.consent(phone, { proof: "signed by Ana", source: `form ${phone}` })
        yield* consents.record({ accountId, records: [granted] })
        yield* consents.record({
          accountId,
          records: [
            Fixtures.consent(phone, {
              status: "revoked",
              occurredAt: Time.after(now, 1),
              recordedAt: Time.after(now, 1)
            })
          ]
        })
        expect(yield* store.keys({ accountId, phones: [phone], userIds: [] })).toEqual([
          phone,
          Person.keyOfUser(userId, portfolio)
        ])
        expect((yield* begin(who)).consents).toBe(3)
        yield* eraseAll
        expect(yield* consents.history({ accountId, phone })).toEqual([])
        expect(yield* consents.history({ accountId, userId })).toEqual([])
        const kept = yield* consents.history({ accountId, phone: "erased:aa" })
        expect(kept.map(({ proof, source, status, userId }) => [status, source, proof, userId])).toEqual([
          ["granted", "form erased:aa", null, null],
          ["revoked", "test", null, null]
        ])
        expect(yield* store.keys({ accountId, phones: [phone], userIds: [] })).toEqual([phone])
        const refused = yield* consents.refusals({ accountId, phones: [phone], purpose: "marketing" })
        expect(refused.get(0)?._tag).toBe("Missing")
      }).pipe(Effect.provide(layer))
    )

    it.effect("files a second erasure behind the first", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const who = yield* owner
        const { accountId } = who
        for (const id of ["erasure-1", "erasure-2"]) {
          yield* consents.record({ accountId, records: [Fixtures.consent(phone, { source: id })] })
          yield* begin(who, id)
        }
        const kept = yield* consents.history({ accountId, phone: "erased:aa" })
        expect(kept.map(({ source }) => source)).toEqual(["erasure-1", "erasure-2"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes texts, doubtful refusals, hooks, early reports, happenings and the audit log", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const jobs = yield* JobStore
        const who = yield* owner
        const { accountId, sessionId } = who
        const named = { accountId, sessionId, messageId: null, occurredAt: now, recordedAt: now }
        yield* receive(who, [
          { ...nothing, unattributed: { ...named, id: "u", kind: "message", text: `I am ${phone}` } },
          {
            ...nothing,
            perhapsRefusal: { ...named, id: "r", phone, userId, text: "can you stop", reportedAt: null }
          }
        ])
        const part = { id: "h", field: "odd", reason: "odd", isCut: true, receivedAt: now }
        yield* inbound.retainUnread({
          sessionId,
          parts: [{ ...part, content: `{"wa_id":"${phone}","na` }]
        })
        yield* jobs.receive({
          now,
          sessionId,
          reports: [
            {
              messageId: null,
              providerId: "wamid.9",
              status: "delivered",
              at: now,
              failure: null,
              named: { phone, userId }
            }
          ]
        })
        const entry = Fixtures.auditEntry({ target: `to ${phone}`, after: { phone } })
        yield* (yield* AuditStore).append({ entry, retainSince: Time.at(0) })
        const happenings = yield* HappeningStore
        yield* happenings.note({
          at: now,
          type: "webhook.disabled",
          accountId,
          sessionId: null,
          subject: "endpoint-1",
          data: { url: `https://receiver.example/hooks?of=${phone}`, reason: null }
        })
        expect(yield* eraseAll).toMatchObject({
          texts: 1,
          refusals: 1,
          unread: 1,
          reports: 1,
          audit: 1,
          happenings: 1
        })
        expect(
          yield* happenings.between({ accountId, from: now, to: Time.after(now, 1), limit: 1 })
        ).toMatchObject([{ data: { url: "https://receiver.example/hooks?of=erased:aa", reason: null } }])
        const page = { limit: 10, after: null }
        expect((yield* inbound.unattributed({ accountId, page })).items.map(({ text }) => text)).toEqual([
          "I am erased:aa"
        ])
        expect((yield* inbound.perhapsRefusals({ accountId, page })).items).toEqual([])
        expect((yield* inbound.unread({ sessionId, page })).items).toEqual([])
        const { items } = yield* (yield* AuditStore).list({ page })
        expect(items[0]).toMatchObject({ target: "to erased:aa", after: { phone: "erased:aa" } })
        expect(yield* eraseAll).toEqual(Erasure.noCounts)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "takes an early report of theirs with the platform's id, and what mentions them from others'",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          const { sessionId } = who
          const report = (providerId: string, some: Partial<Report> = {}): Report => ({
            messageId: null,
            providerId,
            status: "delivered",
            at: now,
            failure: null,
            ...some
          })
          const failure = { code: "broken", provider_code: null, message: `Not ${phone}`, permanent: true }
          const early = [
            report("wamid.named", { named: { phone, userId: null } }),
            report(`gateway-${phone}`),
            report("wamid.of-other", { named: { phone: other, userId: null }, status: "failed", failure })
          ]
          yield* jobs.receive({ now, sessionId, reports: early })
          expect(yield* erase("reports")).toMatchObject({ reports: 3 })
          expect(yield* erase("reports")).toEqual(Erasure.noCounts)
          const ofOther: Sought = {
            names: { given: [{ kind: "phone", text: other, token: Erasure.tokenOf("cc") }], ofAccounts: {} },
            accounts: null
          }
          expect(yield* findAll("reports", ofOther)).toMatchObject([
            { providerId: "wamid.of-other", failure: { message: "Not erased:aa" } }
          ])

          // One that came before our own commit, and is not applied yet.
          const { jobId } = yield* accept(who)
          const [claimed] = yield* claim(1)
          yield* jobs.receive({ now, sessionId, reports: [report("wamid.1")] })
          const outcome = Outcome.Accepted({ providerId: "wamid.1", status: "accepted" })
          const settlement = { jobId, fence: claimed?.fence ?? 0, index: 0, outcome }
          yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
          yield* erase("recipients")
          yield* jobs.receive({ now, sessionId, reports: [report("wamid.1")] })
          yield* jobs.applyEarlyReports({ now })
          expect((yield* results(jobId))[0]).toMatchObject({ address: "erased:aa", status: "accepted" })
        }).pipe(Effect.provide(layer))
    )

    it.effect("takes in each account what that account ties to them, and nothing of it in another", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const store = yield* ErasureStore
        const [one, two] = [yield* owner, yield* owner]
        const [first, second] = [yield* accept(one), yield* accept(two)]
        for (const { accountId } of [one, two]) {
          yield* listen(accountId)
          yield* consents.record({ accountId, records: [Fixtures.consent(phone), Fixtures.consent(other)] })
        }
        const tied = { kind: "phone", text: other, token: Erasure.tokenOf("cc") } as const
        const sought: Sought = {
          names: { given: names, ofAccounts: { [one.accountId]: [...names, tied] } },
          accounts: null
        }
        const erasure = erasureOf("erasure-1")
        yield* store.begin({
          erasure,
          marks: Erasure.marksOf(sought.names, null),
          sealed: "sealed",
          sought,
          accounts: [one.accountId, two.accountId]
        })
        expect(yield* findAll("events", sought)).toHaveLength(3)
        expect(yield* findAll("recipients", sought)).toHaveLength(3)
        for (const part of Erasure.parts) yield* erase(part, sought)
        expect((yield* results(first.jobId)).map(({ address: phone }) => phone)).toEqual([
          "erased:aa",
          "erased:cc"
        ])
        expect((yield* results(second.jobId)).map(({ address: phone }) => phone)).toEqual([
          "erased:aa",
          other
        ])
        const asked = { phones: [other], purpose: "marketing" } as const
        expect((yield* consents.refusals({ accountId: one.accountId, ...asked })).size).toBe(1)
        expect((yield* consents.refusals({ accountId: two.accountId, ...asked })).size).toBe(0)
        const erased = ({ accountId }: Owner) =>
          Effect.map(
            store.erased({
              accountId,
              names: new Map([
                ["aa", phone],
                ["cc", other]
              ])
            }),
            (found) => [...found.keys()]
          )
        expect([(yield* erased(one)).toSorted(), yield* erased(two)]).toEqual([["aa", "cc"], ["aa"]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("looks through one account alone where it is named", () =>
      Effect.gen(function* () {
        const [one, two] = [yield* owner, yield* owner]
        const [first, second] = [yield* accept(one), yield* accept(two)]
        const sought = { names: ofAll, accounts: new Set([one.accountId]) }
        expect(yield* erase("recipients", sought)).toMatchObject({ recipients: 1 })
        expect((yield* results(first.jobId))[0]?.address).toBe("erased:aa")
        expect((yield* results(second.jobId))[0]?.address).toBe(phone)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is remembered by hashes, for the account or for all", () =>
      Effect.gen(function* () {
        const store = yield* ErasureStore
        const consents = yield* ConsentStore
        const [one, two] = [yield* owner, yield* owner]
        const asked = new Map([["aa", phone]])
        const erased = (accountId: string) => store.erased({ accountId, names: asked })
        expect(yield* erased(one.accountId)).toEqual(new Map())
        yield* begin(one, "of one", { accountId: one.accountId })
        expect(yield* erased(one.accountId)).toEqual(new Map([["aa", { at: now, isKnownAgain: false }]]))
        expect(yield* erased(two.accountId)).toEqual(new Map())
        yield* begin(one, "of all", { sweptAt: Time.after(now, 9) })
        expect((yield* erased(two.accountId)).get("aa")?.at).toBe(now + 9)
        expect((yield* erased(one.accountId)).get("aa")?.at).toBe(now + 9)
        yield* consents.record({ accountId: one.accountId, records: [Fixtures.consent(phone)] })
        expect((yield* erased(one.accountId)).get("aa")?.isKnownAgain).toBe(true)
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes on until it is done, and then its sealed names go", () =>
      Effect.gen(function* () {
        const store = yield* ErasureStore
        const who = yield* owner
        yield* begin(who)
        expect(yield* store.due(now)).toEqual([])
        const due = yield* store.due(Time.after(now, 60_000))
        expect(due).toEqual([{ ...erasureOf("erasure-1"), sealed: "sealed" }])
        const done = erasureOf("erasure-1", {
          nextAt: null,
          sweptAt: Time.after(now, 60_001),
          waitsFor: ["3/7"]
        })
        yield* store.save({ erasure: done, marks: Erasure.marksOf(ofAll, null) })
        expect(yield* store.due(Time.at(Number.MAX_SAFE_INTEGER))).toEqual([])
        expect((yield* store.list({ limit: 10, after: null })).items).toEqual([done])
        expect(
          (yield* store.erased({ accountId: who.accountId, names: new Map([["bb", phone]]) })).get("bb")?.at
        ).toBe(now + 60_001)
        expect(yield* store.wipe).toBe(null)
      }).pipe(Effect.provide(layer))
    )

    it.effect("hashes by the key that was there first, which is sealed anew with the others", () =>
      Effect.gen(function* () {
        const store = yield* ErasureStore
        const keyring = yield* KeyringStore
        expect(yield* store.hashKey("first")).toBe("first")
        expect(yield* store.hashKey("second")).toBe("first")
        const page = { limit: 10, after: null }
        for (const { id, kind, sealed } of (yield* keyring.sealed("erasure", page)).items) {
          const resealing = { kind, id, from: sealed[0] ?? "", to: "anew" }
          expect(yield* keyring.reseal([resealing])).toBe(1)
          expect(yield* store.hashKey("third")).toBe("anew")
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("shows before all that it would take", () =>
      Effect.gen(function* () {
        const who = yield* owner
        yield* listen(who.accountId)
        yield* accept(who)
        yield* receive(who, [{ ...nothing, identity }, message])
        yield* (yield* ConsentStore).record({ accountId: who.accountId, records: [Fixtures.consent(phone)] })
        expect(yield* findAll("recipients")).toMatchObject([
          { phone, external_id: "r0", variables: ["Name 0"], template: "greeting", status: "queued" }
        ])
        const [first] = yield* claim()
        const outcome = Outcome.Retry({ at: Time.after(now, 9), failure, maybeSent: false })
        const settlements = [{ jobId: first?.jobId ?? "", fence: first?.fence ?? 0, index: 0, outcome }]
        yield* (yield* JobStore).settleAndClaim({ now: Time.after(now, 2), settlements, claim: null })
        const { code, message: words, provider_code } = failure
        const error = { code, provider_code, message: words }
        expect(yield* findAll("recipients")).toMatchObject([
          { earlier_attempts: [{ at: Time.format(Time.after(now, 2)), outcome: "retried", error }] }
        ])
        expect((yield* findAll("events")).map((event) => event["type"])).toEqual([
          "message.received",
          "consent.granted"
        ])
        expect(yield* findAll("consents")).toMatchObject([{ phone, status: "granted", source: "test" }])
        expect(yield* findAll("links")).toMatchObject([
          { phone: null, user_id: userId },
          { phone, user_id: null }
        ])
      }).pipe(Effect.provide(layer))
    )
  })
}
