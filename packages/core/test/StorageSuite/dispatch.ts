import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import * as Session from "../../src/domain/session/Session.ts"
import type { ClaimedJob, DispatchedJob, Settlement } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, everyLost, failure, find, listen, now, owner, results } from "./Setup.ts"

const taken = Outcome.Accepted({ providerId: "p", status: "accepted" })

const outcomes = (job: ClaimedJob, outcome: Outcome): ReadonlyArray<Settlement> =>
  job.recipients.map(({ index }) => ({ jobId: job.jobId, fence: job.fence, index, outcome }))

const settle = Effect.fnUntraced(function* (settlements: ReadonlyArray<Settlement>, at = now) {
  const jobs = yield* JobStore
  return (yield* jobs.settleAndClaim({ now: at, settlements, claim: null })).settled
})

const accept = Effect.fnUntraced(function* (some: Parameters<typeof Fixtures.send>[1] = {}) {
  const who = yield* owner
  const command = Fixtures.send(who, some)
  yield* (yield* JobStore).accept(command)
  return { ...who, jobId: command.jobId, recipients: command.recipients }
})

const only = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedJob>) {
  const [first] = claimed
  return first ?? (yield* Effect.dieMessage("Nothing was claimed."))
})

export const suite = (layer: Stored) => {
  describe("claim", () => {
    it.effect("has the span of the acceptance, and so have the webhooks of its outcome", () =>
      Effect.gen(function* () {
        const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        const who = yield* owner
        yield* listen(who.accountId)
        const jobs = yield* JobStore
        yield* jobs.accept({ ...Fixtures.send(who), traceparent })
        const claimed = yield* only(yield* claim())
        expect(claimed.traceparent).toBe(traceparent)
        expect((yield* find(claimed.jobId)).traceparent).toBe(traceparent)
        yield* settle(outcomes(claimed, taken))
        yield* jobs.accept(Fixtures.send(who))
        const untraced = yield* only(yield* claim())
        expect(untraced.traceparent).toBeNull()
        yield* settle(outcomes(untraced, taken))
        const { claimed: told } = yield* (yield* WebhookStore).settleAndClaim({
          now,
          settlements: [],
          claim: Fixtures.deliveryClaim({ limit: 100 })
        })
        for (const { body, traceparent: kept } of told)
          expect(kept, body).toBe(body.includes(claimed.jobId) ? traceparent : null)
        expect(told.length).toBeGreaterThanOrEqual(4)
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes due recipients, sending, with the attempt counted", () =>
      Effect.gen(function* () {
        const { jobId } = yield* accept({ phones: 3 })
        const job = yield* only(yield* claim())
        expect(job.recipients.map(({ attempts, index }) => [index, attempts])).toEqual([
          [0, 1],
          [1, 1],
          [2, 1]
        ])
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["sending", "sending", "sending"])
        expect((yield* find(jobId)).status).toBe("processing")
      }).pipe(Effect.provide(layer))
    )

    it.effect("never gives a recipient to two workers", () =>
      Effect.gen(function* () {
        yield* accept({ phones: 20 })
        yield* accept({ phones: 20 })
        const claims = yield* Effect.all(
          Array.from({ length: 10 }, (_, worker) => claim(7, now, `worker-${worker}`)),
          { concurrency: "unbounded" }
        )
        const seen = claims
          .flat()
          .flatMap((job) => job.recipients.map(({ index }) => `${job.jobId} ${index}`))
        expect(new Set(seen).size).toBe(seen.length)
        expect(seen.length).toBeGreaterThan(0)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps to its limit, and gives the rest of a job while some of it is in hand", () =>
      Effect.gen(function* () {
        yield* accept({ phones: 10 })
        const job = yield* only(yield* claim(4))
        expect(job.recipients.map(({ index }) => index)).toEqual([0, 1, 2, 3])
        const next = yield* only(yield* claim(4, now, "worker-2"))
        expect(next.recipients.map(({ index }) => index)).toEqual([4, 5, 6, 7])
        expect(next.fence).not.toBe(job.fence)
        expect(yield* settle(outcomes({ ...job, fence: next.fence }, taken))).toBe(0)
        yield* settle(outcomes(next, taken))
        yield* settle(outcomes(job, taken))
        const last = yield* only(yield* claim(250))
        expect(last.recipients.map(({ index }) => index)).toEqual([8, 9])
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves to the next a whole job that does not fit behind a smaller one", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const busy = yield* owner
        for (const phones of [60, 250, 250, 250, 250, 250])
          yield* jobs.accept(Fixtures.send(busy, { phones }))
        const sizes: Array<ReadonlyArray<number>> = []
        for (let turn = 0; turn < 6; turn++)
          sizes.push((yield* claim(250)).map(({ recipients }) => recipients.length))
        expect(sizes).toEqual([[60], [250], [250], [250], [250], [250]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("answers each job with what its messages are sent with, as its session has it", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const some = [yield* accept(), yield* accept({ phones: 3 })]
        const [first] = some
        const ofAll = Effect.map(
          Effect.forEach(some, ({ sessionId }) => sessions.find(sessionId)),
          (found) => found.flatMap((session) => (session === null ? [] : [Session.outbound(session)]))
        )
        const answered = (claimed: ReadonlyArray<DispatchedJob>) =>
          some.flatMap((each) =>
            claimed.filter(({ jobId }) => jobId === each.jobId).map(({ session }) => session)
          )
        const claimed = yield* claim()
        expect(answered(claimed)).toEqual(yield* ofAll)
        yield* sessions.change({
          id: first?.sessionId ?? "",
          change: { config: "another configuration", retryForMs: 7000 },
          now: Time.after(now, 1)
        })
        yield* settle(
          claimed.flatMap((job) =>
            outcomes(job, Outcome.Retry({ at: Time.after(now, 1), failure, maybeSent: false }))
          )
        )
        const again = answered(yield* claim(250, now + 2))
        expect(again).toEqual(yield* ofAll)
        expect(again[0]).toMatchObject({ config: "another configuration", retryForMs: 7000 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes nothing before its time", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* accept()
        const job = yield* only(yield* claim())
        yield* settle(outcomes(job, Outcome.Retry({ at: Time.after(now, 5000), failure, maybeSent: false })))
        expect(yield* claim(250, now + 4999)).toEqual([])
        expect(yield* jobs.nextDue(now)).toBe(now + 5000)
        const again = yield* only(yield* claim(250, now + 5000))
        expect(again.recipients[0]?.attempts).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes sessions in turn, so that none waits for another's backlog", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const busy = yield* owner
        for (let index = 0; index < 100; index++) yield* jobs.accept(Fixtures.send(busy, { phones: 10 }))
        const small = yield* accept({ phones: 250 })
        let settlements: ReadonlyArray<Settlement> = []
        let windows = 0
        while ((yield* find(small.jobId)).status !== "completed" && windows < 50) {
          const { claimed } = yield* jobs.settleAndClaim({
            now,
            settlements,
            claim: { worker: "w", limit: 50 }
          })
          settlements = claimed.flatMap((job) => outcomes(job, taken))
          windows += 1
        }
        // Alone it takes 5 windows and one to hand in the last.
        expect(windows).toBeLessThanOrEqual(12)
      }).pipe(Effect.provide(layer))
    )

    it.effect("passes over the sessions that get nothing now, and knows what is due without them", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const some = [yield* accept(), yield* accept({ now: Time.after(now, 10) }), yield* accept()]
        const [first, second, third] = some.map(({ sessionId }) => sessionId)
        const without = [first, third].flatMap((sessionId) => sessionId ?? [])
        expect(yield* jobs.nextDue(now)).toBe(now)
        expect(yield* jobs.nextDue(now, (id) => !without.includes(id))).toBe(now + 10)
        expect(yield* jobs.nextDue(now, (id) => ![...without, second].includes(id))).toBeNull()
        const taken = (without: ReadonlyArray<string>) =>
          Effect.map(
            jobs.settleAndClaim({
              now: Time.after(now, 10),
              settlements: [],
              claim: { worker: "w", limit: 1, room: ({ id }) => (without.includes(id) ? 0 : 1) }
            }),
            ({ claimed }) => claimed.map(({ sessionId }) => sessionId)
          )
        expect(yield* taken(without)).toEqual([second])
        expect(yield* taken(without)).toEqual([])
        expect([...(yield* taken([])), ...(yield* taken([]))].sort()).toEqual([...without].sort())
      }).pipe(Effect.provide(layer))
    )
  })

  describe("settle", () => {
    it.effect("moves recipients, counts, job and events in one commit", () =>
      Effect.gen(function* () {
        const { accountId, jobId } = yield* accept({ phones: 3 })
        yield* listen(accountId)
        const job = yield* only(yield* claim())
        const [first, second, third] = job.recipients
        const of = (index: number | undefined, outcome: Outcome): Settlement => ({
          jobId,
          fence: job.fence,
          index: index ?? -1,
          outcome
        })
        const settled = yield* settle([
          of(first?.index, taken),
          of(second?.index, Outcome.Failed({ failure })),
          of(third?.index, Outcome.Unknown({ failure }))
        ])
        expect(settled).toBe(3)
        const found = yield* find(jobId)
        expect(found.status).toBe("completed")
        expect(found.completedAt).toBe(now)
        expect(found.counts).toEqual({ ...Recipient.noCounts, accepted: 1, failed: 1, unknown: 1 })
        const [accepted, failed] = yield* results(jobId)
        expect(accepted).toMatchObject({ status: "accepted", providerId: "p", failure: null, nextAt: null })
        expect(failed).toMatchObject({ status: "failed", failure })
        expect((yield* events()).map(({ type }) => type)).toEqual([
          "job.processing",
          "recipient.accepted",
          "recipient.failed",
          "recipient.unknown",
          "job.completed"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves alone whom it does not name, of several jobs at once", () =>
      Effect.gen(function* () {
        const first = yield* accept({ phones: 3 })
        const second = yield* accept({ phones: 1 })
        const settlements = (yield* claim()).flatMap((job) => outcomes(job, taken))
        expect(yield* settle(settlements.filter(({ index }) => index === 0))).toBe(2)
        const statuses = [...(yield* results(first.jobId)), ...(yield* results(second.jobId))]
        expect(statuses.map(({ status }) => status)).toEqual(["accepted", "sending", "sending", "accepted"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("changes nothing when it comes after the rescue", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        const lost = yield* only(yield* claim())
        const late = Time.after(now, 20_000)
        expect(yield* jobs.rescue({ worker: "worker-1", now: late, recoverable: ["sandbox"] })).toBe(1)
        const fresh = yield* only(yield* claim(250, late, "worker-2"))
        expect(yield* settle(outcomes(lost, Outcome.Failed({ failure })), late)).toBe(0)
        expect((yield* results(jobId))[0]?.status).toBe("sending")
        expect(yield* settle(outcomes(fresh, taken), late)).toBe(1)
        expect((yield* results(jobId))[0]?.status).toBe("accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect("costs no attempt when it was never made", () =>
      Effect.gen(function* () {
        yield* accept()
        const job = yield* only(yield* claim())
        yield* settle(outcomes(job, Outcome.Released({ maybeSent: false })))
        const again = yield* only(yield* claim())
        expect(again.recipients[0]?.attempts).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("does not pull down what a report has raised", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        const job = yield* only(yield* claim())
        const messageId = `${jobId.slice(0, -3)}001`
        const report = {
          messageId,
          status: "delivered",
          at: Time.after(now, 1),
          failure: null,
          providerId: "p"
        } as const
        yield* jobs.receive({ now: Time.after(now, 2), reports: [report] })
        expect(yield* settle(outcomes(job, taken), now + 3)).toBe(1)
        expect((yield* results(jobId))[0]).toMatchObject({ status: "delivered", deliveredAt: now + 1 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps the answer of a direct message with its key", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const content = { kind: "direct", text: "Hi", linkPreview: false } as const
        const who = yield* owner
        const command = Fixtures.send(who, { key: "d", content, claim: "me" })
        const accepted = yield* jobs.accept(command)
        const claimed = accepted._tag === "Accepted" ? accepted.claimed : null
        const settlement = {
          jobId: command.jobId,
          fence: claimed?.fence ?? -1,
          index: 0,
          outcome: taken,
          answer: "said"
        }
        expect(yield* settle([settlement])).toBe(1)
        expect((yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "d" }))?.answer).toBe(
          "said"
        )
      }).pipe(Effect.provide(layer))
    )

    const closed = { code: "window_closed", provider_code: "131047", message: "Late.", permanent: true }
    const refused = { _tag: "Failed", failure: closed } as const
    const withOther = {
      kind: "direct",
      text: "Hi",
      linkPreview: false,
      otherwise: {
        templateId: 1,
        template: Fixtures.template(),
        values: ["Ana"],
        market: "*",
        price: "0.0500"
      }
    } as const

    it.effect(
      "makes a refused text due as the template in its place, by its answer or a receipt, and once",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          for (const way of ["answer", "receipt"] as const) {
            const command = Fixtures.send(who, { key: way, content: withOther, claim: "me" })
            const { jobId } = command
            const accepted = yield* jobs.accept(command)
            const claimed = accepted._tag === "Accepted" ? accepted.claimed : null
            expect(claimed?.content).toEqual({ kind: "direct", text: "Hi", linkPreview: false })
            const settlement = { jobId, fence: claimed?.fence ?? -1, index: 0 }
            const first = way === "answer" ? refused : taken
            expect(yield* settle([{ ...settlement, outcome: first, answer: "queued" }], now + 1)).toBe(1)
            const report = {
              messageId: Ids.messageId(jobId, 0),
              status: "failed",
              at: Time.after(now, 2),
              failure: closed,
              providerId: null
            } as const
            yield* jobs.receive({ now: Time.after(now, 2), reports: [report, report] })
            yield* settle([{ ...settlement, outcome: refused }], now + 3)
            expect(yield* find(jobId)).toMatchObject({ counts: { queued: 1, failed: 0 } })
            expect((yield* find(jobId)).estimatedCost).toBe("0.0500")
            expect((yield* find(jobId)).replacedAt).toBe(now + (way === "answer" ? 1 : 2))
            expect((yield* results(jobId))[0]).toMatchObject({
              status: "queued",
              failure: null,
              attempts: 1,
              market: "*",
              price: "0.0500"
            })
            const take = jobs.claimMessage({ jobId, worker: "me", now: Time.after(now, 4) })
            const again = yield* take
            expect(again).toMatchObject({
              content: { kind: "template", templateId: 1 },
              recipients: [{ values: ["Ana"], attempts: 2, maybeSent: false }]
            })
            expect(yield* take).toBeNull()
            const outcome = { ...settlement, fence: again?.fence ?? -1, outcome: taken }
            expect(yield* settle([outcome, outcome], now + 5)).toBe(1)
            yield* jobs.receive({ now: Time.after(now, 6), reports: [report] })
            expect((yield* results(jobId))[0]).toMatchObject({ status: "accepted", failure: null })
            const outcomes = yield* jobs.earlierAttempts({ jobId, index: 0 })
            expect(outcomes.map(({ code, outcome }) => [outcome, code])).toEqual(
              way === "answer"
                ? [["failed", "window_closed"]]
                : [
                    ["accepted", null],
                    ["reported", "window_closed"]
                  ]
            )
          }
        }).pipe(Effect.provide(layer))
    )

    it.effect("waits for the template in the place of a text, and for no other's", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const command = Fixtures.send(who, { content: withOther, claim: "me" })
        const accepted = yield* jobs.accept({ ...command, replacedAt: now })
        const claimed = accepted._tag === "Accepted" ? accepted.claimed : null
        expect(claimed?.content.kind).toBe("template")
        const settlement = { jobId: command.jobId, fence: claimed?.fence ?? -1, index: 0 }
        yield* settle([{ ...settlement, outcome: { _tag: "Released", maybeSent: false } }], now + 1)
        const [again] = yield* claim(10, now + 2)
        expect(again).toMatchObject({ jobId: command.jobId, content: { kind: "template" } })
        expect(yield* jobs.claimMessage({ jobId: "none", worker: "me", now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })

  describe("rescue", () => {
    it.effect("takes back what one worker held, and makes ambiguous what cannot be repeated", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 2 })
        yield* claim(1)
        const late = Time.after(now, 20_000)
        expect(yield* jobs.rescue({ worker: "worker-2", now: late, recoverable: [] })).toBe(0)
        expect(yield* jobs.rescue({ worker: "worker-1", now: late, recoverable: [] })).toBe(1)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["unknown", "queued"])
        expect(yield* claim(250, now + 20_000)).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("parks what ended its worker five times", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        for (let round = 0; round < 5; round++) {
          yield* claim(250, now + round * 1_000_000)
          const late = Time.after(now, round * 1_000_000 + 20_000)
          yield* jobs.rescue({ worker: "worker-1", now: late, recoverable: ["sandbox"] })
        }
        expect((yield* results(jobId))[0]).toMatchObject({
          status: "unknown",
          attempts: 5,
          failure: { code: "poisoned", permanent: false }
        })
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )
  })

  describe("cancel and retry", () => {
    it.effect("cancel a queued job at once", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 2 })
        expect(yield* jobs.cancel({ jobId, now })).toMatchObject({
          _tag: "Canceled",
          job: { status: "canceled" }
        })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["canceled", "canceled"])
        expect(yield* claim()).toEqual([])
        expect(yield* jobs.cancel({ jobId: Fixtures.makeIds().jobId(now), now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("let what is in flight finish", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 3 })
        const job = yield* only(yield* claim(1))
        const canceling = { _tag: "Canceled", job: { status: "canceling", updatedAt: now } }
        expect(yield* jobs.cancel({ jobId, now })).toMatchObject(canceling)
        expect(yield* jobs.cancel({ jobId, now: Time.after(now, 1) })).toMatchObject(canceling)
        yield* settle(outcomes(job, taken))
        const ended = yield* find(jobId)
        expect([ended.status, ended.counts.accepted, ended.counts.canceled]).toEqual(["canceled", 1, 2])
        expect(yield* jobs.cancel({ jobId, now: Time.after(now, 1) })).toEqual({ _tag: "Ended", job: ended })
      }).pipe(Effect.provide(layer))
    )

    it.effect("cancel no job that has completed", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 1 })
        yield* settle(outcomes(yield* only(yield* claim()), taken))
        const ended = yield* find(jobId)
        expect(yield* jobs.cancel({ jobId, now: Time.after(now, 1) })).toEqual({ _tag: "Ended", job: ended })
        expect(yield* find(jobId)).toEqual(ended)
      }).pipe(Effect.provide(layer))
    )

    it.effect("queue the chosen failed and unknown recipients again, and no others", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 3 })
        const job = yield* only(yield* claim())
        const made = [taken, Outcome.Failed({ failure }), Outcome.Unknown({ failure })]
        yield* settle(outcomes(job, taken).map((each, place) => ({ ...each, outcome: made[place] ?? taken })))
        const ended = yield* find(jobId)
        const retry = { jobId, now: Time.after(now, 1), selection: everyLost }
        const counts = { failed: 1, unknown: 1 }
        const sums = expect.objectContaining({
          counts,
          codes: (["failed", "unknown"] as const).map((status) => ({
            code: "broken",
            status,
            recipients: 1
          })),
          permanent: [],
          unknown: []
        })
        const counted = yield* jobs.retry({ ...retry, dryRun: true })
        expect(counted).toEqual({ _tag: "Retried", job: ended, counts, sums })
        expect(yield* find(jobId)).toEqual(ended)
        expect(yield* jobs.retry({ ...retry, selection: {} })).toEqual({
          _tag: "Retried",
          job: ended,
          counts: { failed: 0, unknown: 0 },
          sums: expect.objectContaining({ jobs: 0 })
        })
        expect(yield* jobs.retry(retry)).toMatchObject({
          counts,
          job: { status: "processing", completedAt: null }
        })
        const again = yield* only(yield* claim(250, now + 1))
        expect(again.recipients.map(({ attempts, index }) => [index, attempts])).toEqual([
          [1, 1],
          [2, 1]
        ])
        yield* settle(outcomes(again, taken), now + 2)
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )

    it.effect("queue by default the failed whose failure is not permanent", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, recipients } = yield* accept({ phones: 4 })
        const passing = { ...failure, code: "busy", permanent: false }
        const made = [
          Outcome.Failed({ failure }),
          Outcome.Failed({ failure: passing }),
          Outcome.Unknown({ failure: passing }),
          Outcome.Failed({ failure })
        ]
        const job = yield* only(yield* claim())
        yield* settle(outcomes(job, taken).map((each, place) => ({ ...each, outcome: made[place] ?? taken })))
        const statuses = Effect.map(results(jobId), (all) => all.map(({ status }) => status))
        yield* jobs.retry({ jobId, now, selection: {} })
        expect(yield* statuses).toEqual(["failed", "queued", "unknown", "failed"])
        yield* jobs.retry({ jobId, now, selection: { statuses: ["unknown"] } })
        expect(yield* statuses).toEqual(["failed", "queued", "queued", "failed"])
        yield* jobs.retry({ jobId, now, selection: { phones: [recipients[3]?.address ?? ""] } })
        expect(yield* statuses).toEqual(["failed", "queued", "queued", "queued"])
        yield* jobs.retry({ jobId, now, selection: { codes: ["broken"] } })
        expect(yield* statuses).toEqual(["queued", "queued", "queued", "queued"])
      }).pipe(Effect.provide(layer))
    )
  })
}
