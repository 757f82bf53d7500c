/** All that rows tell of a message, for its story (contract.md §12). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Timeline from "../../src/domain/job/Timeline.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, listen, now, owner, tell } from "./Setup.ts"

const accepted = Outcome.Accepted({ providerId: "wamid.1", status: "accepted" })

const rowsOf = Effect.fnUntraced(function* (
  jobId: string,
  some: { readonly index?: number; readonly publicKey?: string; readonly at?: Time.Instant } = {}
) {
  const { at = now + Time.day, index = 0, publicKey } = some
  return yield* (yield* JobStore).timeline({ jobId, index, publicKey, now: Time.at(at) })
})

const found = Effect.fnUntraced(function* (...query: Parameters<typeof rowsOf>) {
  return (yield* rowsOf(...query)) ?? (yield* Effect.dieMessage("There is no such message."))
})

/** Claims and settles all that is due. */
const attempt = Effect.fnUntraced(function* (outcome: Outcome, at: Time.Instant) {
  const settlements = (yield* claim(250, at)).flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome, tried: { ms: 7, process: "process-1" } }))
  )
  yield* (yield* JobStore).settleAndClaim({ now: at, settlements, claim: null })
})

const report = Effect.fnUntraced(function* (
  jobId: string,
  index: number,
  at: Time.Instant,
  cameAt: Time.Instant
) {
  const messageId = Ids.messageId(jobId, index)
  const reports = [{ messageId, status: "delivered" as const, at, failure: null, providerId: "wamid.1" }]
  yield* (yield* JobStore).receive({ now: cameAt, reports })
})

export const suite = (layer: Stored): void => {
  describe("the rows of a message", () => {
    it.effect("are its job, its recipient and whose they are, and nobody else's", () =>
      Effect.gen(function* () {
        const [mine, other] = [yield* owner, yield* owner]
        const command = Fixtures.send(mine, { phones: 2, requestId: "request-1" })
        yield* (yield* JobStore).accept(command)
        const rows = yield* found(command.jobId, { index: 1, publicKey: mine.publicKey })
        expect(rows).toMatchObject({
          job: { id: command.jobId, requestId: "request-1" },
          recipient: { index: 1, address: "34600000001", status: "queued" },
          account: { id: mine.accountId },
          session: { id: mine.sessionId },
          earlier: [],
          acts: [],
          deliveries: [],
          replies: [],
          cut: []
        })
        expect(yield* rowsOf(command.jobId, { publicKey: other.publicKey })).toBeNull()
        expect(yield* rowsOf(command.jobId, { index: 2 })).toBeNull()
        expect(yield* rowsOf(Ids.make((length) => new Uint8Array(length)).jobId(now))).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("are its attempts, in their order, of a job for itself", () =>
      Effect.gen(function* () {
        const command = Fixtures.send(yield* owner)
        yield* (yield* JobStore).accept(command)
        yield* attempt(
          Outcome.Retry({ at: Time.after(now, 10), failure, maybeSent: false }),
          Time.after(now, 3)
        )
        yield* attempt(
          Outcome.Retry({ at: Time.after(now, 30), failure, maybeSent: false }),
          Time.after(now, 20)
        )
        yield* attempt(accepted, Time.after(now, 40))
        const { earlier, recipient } = yield* found(command.jobId)
        expect(
          earlier.map(({ at, ms, number, outcome, process }) => [number, at - now, outcome, ms, process])
        ).toEqual([
          [1, 3, "retried", 7, "process-1"],
          [2, 20, "retried", 7, "process-1"],
          [3, 40, "accepted", 7, "process-1"]
        ])
        expect(recipient).toMatchObject({ attempts: 3, status: "accepted" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("are the consent that decided then, whatever was recorded since, and the words since", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId, ...rest } = yield* owner
        const command = Fixtures.send({ accountId, ...rest }, { now: Time.after(now, 100) })
        const phone = command.recipients[0]?.address ?? ""
        const record = (some: Parameters<typeof Fixtures.consent>[1]) =>
          consents.record({ accountId, records: [Fixtures.consent(phone, some)] })
        yield* record({
          status: "revoked",
          occurredAt: Time.before(now, 5),
          recordedAt: Time.before(now, 5),
          source: "old"
        })
        yield* record({ occurredAt: now, recordedAt: now, source: "checkout" })
        yield* record({
          purpose: "marketing",
          occurredAt: Time.after(now, 1),
          recordedAt: Time.after(now, 1),
          source: "other purpose"
        })
        yield* (yield* JobStore).accept(command)
        yield* record({
          purpose: "utility",
          occurredAt: Time.after(now, 150),
          recordedAt: Time.after(now, 150),
          source: "form"
        })
        yield* attempt(accepted, Time.after(now, 200))
        yield* record({
          status: "revoked",
          occurredAt: Time.after(now, 300),
          recordedAt: Time.after(now, 300),
          source: "inbound-message"
        })
        const { decisions, words } = yield* found(command.jobId)
        expect(decisions.map(({ at, record }) => [at - now, record?.source])).toEqual([
          [100, "checkout"],
          [200, "form"]
        ])
        expect(words.map(({ recordedAt, source }) => [recordedAt - now, source])).toEqual([
          [300, "inbound-message"]
        ])
        const without = Fixtures.send({ accountId, ...rest }, { phones: 2 })
        yield* (yield* JobStore).accept(without)
        expect((yield* found(without.jobId, { index: 1 })).decisions).toEqual([{ at: now, record: null }])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are what happened to its session until it was sent, and what operators did to its job", () =>
      Effect.gen(function* () {
        const [audit, sessions] = [yield* AuditStore, yield* SessionStore]
        const who = yield* owner
        yield* tell(who.sessionId, "OutageBegan", Time.after(now, 1))
        const command = Fixtures.send(who, { now: Time.after(now, 2) })
        yield* (yield* JobStore).accept(command)
        yield* tell(who.sessionId, "OutageEnded", Time.after(now, 5))
        yield* attempt(accepted, Time.after(now, 9))
        yield* sessions.transition({
          id: who.sessionId,
          state: "disconnected",
          reason: "logged_out",
          now: Time.after(now, 11)
        })
        for (const [operation, target] of [
          ["jobs.retry", command.jobId],
          ["jobs.retry", "another"]
        ] as const)
          yield* audit.append({ entry: Fixtures.auditEntry({ operation, target }), retainSince: Time.at(0) })
        const { acts, happenings } = yield* found(command.jobId)
        expect(happenings.map(({ at, type }) => [at - now, type])).toEqual([
          [1, "session.unavailable"],
          [5, "session.available"]
        ])
        expect(acts.map(({ operation, target }) => [operation, target])).toEqual([
          ["jobs.retry", command.jobId]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are the deliveries that tell of it, of its account's receivers, each with its attempts", () =>
      Effect.gen(function* () {
        const [jobs, webhooks] = [yield* JobStore, yield* WebhookStore]
        const [mine, other] = [yield* owner, yield* owner]
        const [endpoint] = [yield* listen(mine.accountId), yield* listen(other.accountId)]
        const batching = Fixtures.endpoint(mine.accountId, { batchRecipients: true, events: ["recipient.*"] })
        yield* webhooks.create(batching)
        const command = Fixtures.send(mine, { phones: 3 })
        yield* jobs.accept(command)
        yield* jobs.accept(Fixtures.send(other, { phones: 3 }))
        yield* attempt(accepted, Time.after(now, 5))
        // Told an hour after the platform's own time.
        yield* report(command.jobId, 1, Time.after(now, 7000), Time.after(now, Time.hour))
        yield* report(command.jobId, 2, Time.after(now, 7000), Time.after(now, Time.hour))
        const { claimed } = yield* webhooks.settleAndClaim({
          now: Time.after(now, Time.hour),
          settlements: [],
          claim: Fixtures.deliveryClaim({ full: [batching.id] })
        })
        yield* webhooks.settleAndClaim({
          now: Time.after(now, Time.hour),
          settlements: claimed.map(({ deliveryId, fence }) => ({
            deliveryId,
            fence,
            attempt: {
              at: Time.after(now, Time.hour),
              status: 503,
              durationMs: 31,
              reason: "status",
              excerpt: "No"
            },
            next: Time.after(now, 2 * Time.hour),
            disable: null
          })),
          claim: null
        })
        const told = (deliveries: ReadonlyArray<Timeline.ToldDelivery>) =>
          deliveries
            .map(({ attempts, createdAt, endpoint: { id }, eventType }) => [
              createdAt - now,
              eventType,
              id === batching.id ? "batches" : id === endpoint.id ? "single" : id,
              attempts.map(({ durationMs, status }) => [status, durationMs])
            ])
            .sort()
        const answered = [[503, 31]]
        const rows = yield* found(command.jobId, { index: 1, at: Time.after(now, 2 * Time.hour) })
        expect(told(rows.deliveries)).toEqual(
          [
            [5, "recipient.batch", "batches", []],
            [5, "recipient.accepted", "single", answered],
            [Time.hour, "recipient.batch", "batches", []],
            [Time.hour, "recipient.delivered", "single", answered]
          ].sort()
        )
        expect(rows.deliveries[0]?.attempts[0] ?? {}).not.toHaveProperty("excerpt")
        expect(told((yield* found(command.jobId, { index: 0 })).deliveries)).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are the texts that came from the number soon after", () =>
      Effect.gen(function* () {
        const who = yield* owner
        yield* listen(who.accountId)
        const command = Fixtures.send(who)
        yield* (yield* JobStore).accept(command)
        yield* attempt(accepted, Time.after(now, 5))
        yield* report(command.jobId, 0, Time.after(now, 1000), Time.after(now, 1200))
        const reply = (phone: string, id: string) => ({
          id,
          identity: null,
          word: null,
          message: Fixtures.received({
            id,
            person: { phone, userId: null },
            text: `From ${phone}`,
            at: Time.after(now, 2000)
          }),
          unattributed: null
        })
        const phone = command.recipients[0]?.address ?? ""
        yield* (yield* InboundStore).receive({
          ...who,
          portfolio: "",
          now: Time.after(now, 2000),
          items: [reply(phone, "m-1"), reply("34699999999", "m-2")]
        })
        const { deliveries, replies } = yield* found(command.jobId)
        expect(replies).toEqual([{ at: now + 2000, text: `From ${phone}` }])
        expect(deliveries.map(({ eventType }) => eventType).sort()).toEqual([
          "recipient.accepted",
          "recipient.delivered"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are a story", () =>
      Effect.gen(function* () {
        const command = Fixtures.send(yield* owner)
        yield* (yield* JobStore).accept(command)
        yield* attempt(accepted, Time.after(now, 5))
        const rows = yield* found(command.jobId)
        const story = Timeline.story(rows, {
          now: Time.after(now, 9),
          waiting: null,
          actual: null,
          isOperator: true,
          readsDirect: true
        })
        expect(story.timeline.map(({ kind }) => kind)).toEqual(["accepted", "consent", "attempt"])
      }).pipe(Effect.provide(layer))
    )
  })
}
