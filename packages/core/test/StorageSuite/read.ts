import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, failure, find, listen, now, owner } from "./Setup.ts"

export const suite = (layer: Stored) =>
  describe("reading", () => {
    it.effect("lists a key's jobs newest first, each once, while more are accepted", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* Effect.forEach(
          FastCheck.sample(
            FastCheck.tuple(FastCheck.integer({ min: 1, max: 12 }), FastCheck.integer({ min: 1, max: 5 })),
            12
          ),
          ([rows, limit]) =>
            Effect.gen(function* () {
              const who = yield* owner
              const accepted: Array<string> = []
              const more = Effect.suspend(() => {
                const command = Fixtures.send(who)
                accepted.push(command.jobId)
                return jobs.accept(command)
              })
              yield* Effect.replicateEffect(more, rows)
              const expected = [...accepted].reverse()
              const seen: Array<string> = []
              let after: number | null = null
              for (;;) {
                const page: { readonly limit: number; readonly after: number | null } = { limit, after }
                const { items, next } = yield* jobs.list({
                  by: { publicKey: who.publicKey },
                  kind: "template",
                  page
                })
                seen.push(...items.map(({ id }) => id))
                yield* more
                if (next === null) break
                after = next
              }
              expect(seen).toEqual(expected)
            })
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("finds jobs by their reference, of a key and of an account", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const reference = "Órder 7 🧾"
        const named = [Fixtures.send(who, { reference }), Fixtures.send(who, { reference, claim: "w" })]
        const others = [
          Fixtures.send(who),
          Fixtures.send(who, { reference: "order 8" }),
          Fixtures.send(yield* owner, { reference })
        ]
        for (const command of [...named, ...others]) yield* jobs.accept(command)
        expect((yield* find(named[0]?.jobId ?? "")).reference).toBe(reference)
        expect((yield* find(others[0]?.jobId ?? "")).reference).toBeNull()
        for (const by of [{ publicKey: who.publicKey }, { accountId: who.accountId }]) {
          const list = (after: number | null) =>
            jobs.list({ by, kind: "template", reference, page: { limit: 1, after } })
          const first = yield* list(null)
          expect(first.items.map(({ id }) => id)).toEqual([named[1]?.jobId])
          const rest = yield* list(first.next)
          expect(rest.items.map(({ id, reference }) => [id, reference])).toEqual([
            [named[0]?.jobId, reference]
          ])
          expect(rest.next).toBeNull()
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells a job's reference in every event of it", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const content = { kind: "direct", text: "Hi", linkPreview: true } as const
        const job = Fixtures.send(who, { reference: "job", phones: 2 })
        const message = Fixtures.send(who, { reference: "message", content })
        yield* jobs.accept(job)
        yield* jobs.accept(message)
        for (const { fence, jobId, recipients } of yield* claim()) {
          const outcome = Outcome.Unknown({ failure })
          const settlements = recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
          yield* jobs.settleAndClaim({ now, settlements, claim: null })
          const messageId = Ids.messageId(jobId, 0)
          const report = { messageId, status: "sent", at: now, failure: null, providerId: null } as const
          yield* jobs.receive({ now, reports: [report] })
        }
        const told = (yield* events()).map(({ data, type }) => `${type} ${data["reference"]}`)
        expect(told.toSorted()).toEqual([
          "job.completed job",
          "job.processing job",
          "message.sent message",
          "recipient.sent job",
          "recipient.unknown job",
          "recipient.unknown job"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("filters by kind, status, time and account", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const other = yield* owner
        const content = { kind: "direct", text: "Hi", linkPreview: true } as const
        const early = Fixtures.send(who, { now: Time.before(now, 10) })
        const late = Fixtures.send(who, { now: Time.after(now, 10) })
        const direct = Fixtures.send(who, { content })
        for (const command of [early, late, direct, Fixtures.send(other)]) yield* jobs.accept(command)
        yield* jobs.cancel({ jobId: early.jobId, now })
        const list = (some: Partial<Parameters<typeof jobs.list>[0]>) =>
          Effect.map(
            jobs.list({
              by: { publicKey: who.publicKey },
              kind: "template",
              page: { limit: 100, after: null },
              ...some
            }),
            ({ items }) => items.map(({ id }) => id)
          )
        expect(yield* list({})).toEqual([late.jobId, early.jobId])
        expect(yield* list({ by: { accountId: who.accountId } })).toEqual([late.jobId, early.jobId])
        expect(yield* list({ kind: "direct" })).toEqual([direct.jobId])
        expect(yield* list({ status: "canceled" })).toEqual([early.jobId])
        expect(
          yield* list({ createdAfter: Time.before(now, 10), createdBefore: Time.after(now, 10) })
        ).toEqual([early.jobId])
        expect((yield* jobs.find(direct.jobId))?.content).toEqual(content)
      }).pipe(Effect.provide(layer))
    )

    it.effect("pages and filters results in their order", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner, { phones: 5 })
        yield* jobs.accept(command)
        const { jobId } = command
        const first = yield* jobs.results({ jobId, page: { limit: 2, after: null } })
        expect([first.items.map(({ index }) => index), first.next]).toEqual([[0, 1], 1])
        const rest = yield* jobs.results({ jobId, page: { limit: 3, after: 1 } })
        expect([rest.items.map(({ index }) => index), rest.next]).toEqual([[2, 3, 4], null])
        const none = yield* jobs.results({ jobId, status: "failed", page: { limit: 3, after: null } })
        expect(none).toEqual({ items: [], next: null })
      }).pipe(Effect.provide(layer))
    )
  })
