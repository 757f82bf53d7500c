/** Search (contract.md §12): what a text names is found by it, and nothing of others. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Page, Paged } from "../../src/domain/Page.ts"
import * as Search from "../../src/domain/Search.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import type { FoundJob, SearchJobs } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, find, now, owner, results, writeSegment } from "./Setup.ts"

const accept = Effect.fnUntraced(function* (who: Owner, some: Parameters<typeof Fixtures.send>[1] = {}) {
  const command = Fixtures.send(who, some)
  yield* (yield* JobStore).accept(command)
  return command
})

const ids = Ids.make((count) => crypto.getRandomValues(new Uint8Array(count)))

const direct = { kind: "direct", text: "Hi", linkPreview: false } as const

/** The places of what is found, page by page. A job itself has none in it. */
const found = Effect.fnUntraced(function* (
  sought: Partial<Search.OfJobs> | string,
  some: Pick<SearchJobs, "kind" | "publicKey"> & { readonly limit?: number } = {}
) {
  const { limit = 100, ...of } = some
  const meant = typeof sought === "string" ? Search.meaningsOf(sought).jobs : { ...Search.nothing, ...sought }
  const all: Array<readonly [jobId: string, index: number | null]> = []
  let after: number | null = null
  do {
    const page: Page = { limit, after }
    const some: Paged<FoundJob> = yield* (yield* JobStore).search({ sought: meant, ...of, page })
    expect(some.items.length === limit || some.next === null).toBe(true)
    for (const { job, recipient } of some.items) all.push([job.id, recipient?.index ?? null])
    after = some.next
  } while (after !== null)
  return all
})

export const suite = (layer: Stored): void => {
  describe("search", () => {
    it.effect(
      "finds a person's messages by the phone and by the external id, the newest first, page by page",
      () =>
        Effect.gen(function* () {
          const [one, two] = [yield* owner, yield* owner]
          const [first, second] = [yield* accept(one, { phones: 3 }), yield* accept(two, { phones: 2 })]
          const settlements = (yield* claim(1)).flatMap(({ fence, jobId }) => [
            { jobId, fence, index: 0, outcome: Outcome.Accepted({ providerId: "p-1", status: "accepted" }) }
          ])
          yield* (yield* JobStore).settleAndClaim({ now, settlements, claim: null })
          const [phone = "", other = ""] = first.recipients.map((each) => each.address)
          expect(yield* found({ recipients: [phone] }, { limit: 1 })).toEqual([
            [second.jobId, 0],
            [first.jobId, 0]
          ])
          expect(yield* found({ recipients: ["r2"] })).toEqual([[first.jobId, 2]])
          expect(yield* found({ recipients: ["r2", other, "34699999999"] })).toEqual([
            [second.jobId, 1],
            [first.jobId, 2],
            [first.jobId, 1]
          ])
          expect(yield* found({ recipients: ["r9"] })).toEqual([])
          const { publicKey } = first
          expect(yield* found({ recipients: [phone] }, { publicKey })).toEqual([[first.jobId, 0]])
          const { items } = yield* (yield* JobStore).search({
            sought: { ...Search.nothing, recipients: [phone] },
            publicKey,
            page: { limit: 5, after: null }
          })
          expect(items).toEqual([
            { job: yield* find(first.jobId), recipient: (yield* results(first.jobId))[0] }
          ])
        }).pipe(Effect.provide(layer))
    )

    it.effect("finds a job by what the client called it, or its request, and by each id", () =>
      Effect.gen(function* () {
        const [one, two] = [yield* owner, yield* owner]
        const request = ids.uuid(now)
        const late = ids.uuid(Time.before(now, 40_000))
        const named = { reference: "order A-17", key: "order-17", requestId: "request-17" }
        const first = yield* accept(one, { phones: 2, ...named })
        const second = yield* accept(two, { now: Time.after(now, 5), ...named, requestId: request })
        const third = yield* accept(one, { now: Time.after(now, 6), reference: "order-17", requestId: late })
        const message = yield* accept(two, {
          ...{
            now: Time.after(now, 7),
            content: direct,
            reference: "order A-17",
            requestId: request,
            key: null
          }
        })
        expect(yield* found("order A-17")).toEqual([
          [message.jobId, 0],
          [second.jobId, null],
          [first.jobId, null]
        ])
        expect(yield* found(" order-17 ", { limit: 1 })).toEqual([
          [third.jobId, null],
          [second.jobId, null],
          [first.jobId, null]
        ])
        expect(yield* found("request-17")).toEqual([[first.jobId, null]])
        expect(yield* found(request)).toEqual([
          [message.jobId, 0],
          [second.jobId, null]
        ])
        // Its request was made too long before.
        expect(yield* found(late)).toEqual([])
        expect(yield* found(first.jobId.toUpperCase())).toEqual([[first.jobId, null]])
        expect(yield* found(`${first.jobId.slice(0, -1)}2`)).toEqual([[first.jobId, 1]])
        expect(yield* found(`${first.jobId.slice(0, -1)}3`)).toEqual([])
        expect(yield* found(message.jobId)).toEqual([[message.jobId, 0]])
        expect(yield* found("nothing of ours")).toEqual([])

        const [mine, theirs] = [{ publicKey: one.publicKey }, { publicKey: two.publicKey }]
        expect(yield* found("order A-17", mine)).toEqual([[first.jobId, null]])
        expect(yield* found("order-17", theirs)).toEqual([[second.jobId, null]])
        expect(yield* found("request-17", theirs)).toEqual([])
        expect(yield* found(request, mine)).toEqual([])
        for (const id of [first.jobId, `${first.jobId.slice(0, -1)}2`])
          expect(yield* found(id, theirs)).toEqual([])
        expect(yield* found("order A-17", { ...theirs, kind: "template" })).toEqual([[second.jobId, null]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("finds a message by the platform's id", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const { jobId } = yield* accept(who, { phones: 2 })
        const [claimed] = yield* claim()
        const settlements = [0, 1].map((index) => ({
          ...{ jobId, index, fence: claimed?.fence ?? 0 },
          outcome: Outcome.Accepted({ providerId: `wamid.${index}`, status: "accepted" })
        }))
        yield* (yield* JobStore).settleAndClaim({ now, settlements, claim: null })
        expect(yield* found("wamid.1")).toEqual([[jobId, 1]])
        expect(yield* found("wamid.1", { publicKey: who.publicKey })).toEqual([[jobId, 1]])
        expect(yield* found("wamid.1", { publicKey: (yield* owner).publicKey })).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("fills a key's pages whatever others have of the same number", () =>
      Effect.gen(function* () {
        const [mine, others] = [yield* owner, yield* owner]
        const [phone = ""] = Fixtures.send(mine).recipients.map((each) => each.address)
        const sent = [yield* accept(mine)]
        const alike = Array.from({ length: 4000 }, () => ({
          ...Fixtures.send(mine).recipients[0],
          address: phone
        }))
        const many = Fixtures.send(others, { phones: 1 })
        yield* (yield* JobStore).accept({
          ...many,
          recipients: alike.map((each) => ({
            ...many.recipients[0],
            ...each,
            externalId: null,
            values: [],
            market: null,
            price: null
          }))
        })
        sent.unshift(yield* accept(mine))
        const { publicKey } = mine
        const own = sent.map(({ jobId }) => [jobId, 0])
        expect(yield* found({ recipients: [phone] }, { publicKey })).toEqual(own)
        expect(yield* found({ recipients: [phone] }, { publicKey, limit: 1 })).toEqual(own)
        expect(yield* found({ recipients: [phone] })).toHaveLength(4002)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "finds people when they are written down, and behind those",
      () =>
        Effect.gen(function* () {
          const who = yield* owner
          const sent: Array<string> = []
          for (let job = 0; job < 26; job++) sent.unshift((yield* accept(who, { phones: 4000 })).jobId)
          yield* writeSegment
          const ofPhone = sent.map((jobId) => [jobId, 7])
          expect(yield* found({ recipients: ["34600000007"] })).toEqual(ofPhone)
          expect(yield* found({ recipients: ["34600000007"] }, { limit: 3 })).toEqual(ofPhone)
          expect(yield* found({ recipients: ["r3999"] }, { publicKey: who.publicKey, limit: 5 })).toEqual(
            sent.map((jobId) => [jobId, 3999])
          )
        }).pipe(Effect.provide(layer)),
      60_000
    )

    it.effect(
      "tells which accounts know somebody by a number or a platform's id, and when they were told last",
      () =>
        Effect.gen(function* () {
          const consents = yield* ConsentStore
          const [one, two] = [yield* owner, yield* owner]
          const [phone, userId] = ["34600000042", "ES.42"]
          for (const at of [now, now + 3])
            yield* consents.record({
              accountId: one.accountId,
              records: [
                Fixtures.consent(phone, {
                  purpose: "utility",
                  occurredAt: Time.at(at),
                  recordedAt: Time.at(at)
                })
              ]
            })
          yield* (yield* InboundStore).receive({
            ...{
              accountId: two.accountId,
              sessionId: two.sessionId,
              portfolio: "p",
              now: Time.after(now, 9)
            },
            items: [
              {
                ...{ id: null, message: null, word: null, unattributed: null },
                identity: { person: { phone, userId }, formerly: null }
              }
            ]
          })
          const known = (query: {
            readonly phones?: ReadonlyArray<string>
            readonly userIds?: ReadonlyArray<string>
          }) =>
            Effect.map(
              consents.known({ phones: [], userIds: [], ...query }),
              (found) => new Set(found.map(({ accountId, at, person }) => `${accountId} ${person} ${at}`))
            )
          expect(yield* known({ phones: [phone] })).toEqual(
            new Set([`${one.accountId} ${phone} ${now + 3}`, `${two.accountId} ${phone} ${now + 9}`])
          )
          expect(yield* known({ userIds: [userId] })).toEqual(
            new Set([`${two.accountId} @${userId} p ${now + 9}`])
          )
          expect(yield* known({ phones: ["3460000004"], userIds: ["ES.4"] })).toEqual(new Set())
        }).pipe(Effect.provide(layer))
    )
  })
}
