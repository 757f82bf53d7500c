/** What an overview reads of a store: little, however much there is (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, now, owner, tell } from "./Setup.ts"

const unknown = Outcome.Unknown({ failure })

/** Accepts a job whose first recipients end unknown; the others are accepted where they are more. */
const doubtful = Effect.fnUntraced(function* (phones: number, unknowns: number, at = now) {
  const jobs = yield* JobStore
  const command = Fixtures.send(yield* owner, { phones, now: at })
  yield* jobs.accept(command)
  const [claimed] = yield* claim(unknowns, at)
  const settlements = Array.from({ length: unknowns }, (_, index) => ({
    jobId: command.jobId,
    fence: claimed?.fence ?? 0,
    index,
    outcome: unknown
  }))
  yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
  return command.jobId
})

export const suite = (layer: Stored): void => {
  describe("a glance", () => {
    it.effect("has sessions with their accounts, those in need first and then those that are named", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [plain, named, lost, out, halted] = [
          ...(yield* Effect.all([owner, owner, owner, owner, owner]))
        ].map(({ sessionId }) => sessionId)
        const id = (of: string | undefined): string => of ?? ""
        yield* tell(id(out), "OutageBegan", now)
        yield* store.block({ id: id(halted), until: Time.after(now, 9), now })
        yield* store.transition({ id: id(lost), state: "disconnected", reason: "gone", now })
        const read = (ids: ReadonlyArray<string>, most: number) =>
          Effect.map(store.inNeedFirst({ ids, most }), (found) => found.map(({ session }) => session.id))
        expect(yield* read([id(named), "nobody"], 5)).toEqual([out, halted, named, lost, plain])
        expect(yield* read([], 2)).toEqual([out, halted])
        expect(yield* read([id(plain), id(named)], 4)).toEqual([out, halted, plain, named])
        const [first] = yield* store.inNeedFirst({ ids: [], most: 1 })
        expect(first).toMatchObject({ session: { id: out }, account: { id: first?.session.accountId } })
        expect(first?.account.plan.features).toContain("templates")
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts endpoints, those that fail and those that are disabled, with what waits for them", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const none = { healthy: 0, failing: 0, disabled: 0, durations: [], troubled: [] }
        expect(yield* store.standing({ most: 2 })).toEqual(none)
        const make = (some: Parameters<typeof Fixtures.endpoint>[1] = {}) => {
          const endpoint = Fixtures.endpoint(accountId, { events: ["session.*"], ...some })
          return Effect.as(store.create(endpoint), endpoint)
        }
        yield* make()
        const failing = yield* make({ failingSince: Time.before(now, 5) })
        const disabled = yield* make({ enabled: false, disabledReason: "It failed." })
        for (const { id } of [failing, failing, disabled])
          yield* store.send({ endpointId: id, draft: Event.webhookTest(id), now })
        const [claimed] = (yield* store.settleAndClaim({
          now,
          settlements: [],
          claim: Fixtures.deliveryClaim({ limit: 1 })
        })).claimed
        yield* store.settleAndClaim({
          now,
          settlements: [
            {
              deliveryId: claimed?.deliveryId ?? "",
              fence: claimed?.fence ?? 0,
              attempt: { at: now, status: 500, durationMs: 70, reason: "status", excerpt: "" },
              next: Time.after(now, 100),
              disable: null
            }
          ],
          claim: null
        })
        const { troubled, ...counts } = yield* store.standing({ most: 2 })
        expect(counts).toEqual({ healthy: 1, failing: 1, disabled: 1, durations: [70] })
        expect(troubled.map(({ endpoint, last, waiting }) => [endpoint.id, waiting, last])).toEqual([
          [disabled.id, 1, null],
          [failing.id, 2, { status: 500, reason: "status" }]
        ])
        expect((yield* store.standing({ most: 1 })).troubled).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts those of whom nobody knows whether they got it, until somebody does", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const read = jobs.unknowns({ since: Time.before(now, 10), most: 100 })
        expect(yield* read).toEqual({ recipients: 0, jobs: 0, since: null })
        yield* doubtful(2, 2, now - 11)
        expect(yield* read).toEqual({ recipients: 0, jobs: 0, since: null })
        const jobId = yield* doubtful(2, 2, now - 5)
        yield* doubtful(3, 1)
        expect(yield* read).toEqual({ recipients: 3, jobs: 2, since: now - 5 })
        yield* jobs.retry({
          jobId,
          now: Time.after(now, 1),
          selection: { statuses: ["unknown"], codes: ["broken"] }
        })
        expect(yield* read).toEqual({ recipients: 1, jobs: 1, since: now })
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts parts of hooks that were not understood since a time", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const { sessionId } = yield* owner
        const part = (id: string, receivedAt: Time.Instant) => ({
          id,
          field: "new",
          reason: "not known",
          content: "{}",
          isCut: false,
          receivedAt
        })
        expect(yield* inbound.countUnread({ since: now, most: 9 })).toBeNull()
        const parts = [
          part("a", Time.before(now, 1)),
          part("b", Time.after(now, 3)),
          part("c", Time.after(now, 4))
        ]
        yield* inbound.retainUnread({ sessionId, parts })
        expect(yield* inbound.countUnread({ since: now, most: 9 })).toEqual({
          count: 2,
          firstAt: now + 3,
          sessionId
        })
        expect((yield* inbound.countUnread({ since: Time.at(0), most: 2 }))?.count).toBe(2)
      }).pipe(Effect.provide(layer))
    )
  })
}
