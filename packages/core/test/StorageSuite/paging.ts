/** Every list by pages: newest first, each row once, its owner's alone. And what is there already stays. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Time from "../../src/domain/Instant.ts"
import type { Page, Paged } from "../../src/domain/Page.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { RateCardStore } from "../../src/storage/RateCardStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, now, owner } from "./Setup.ts"

/** All rows by pages of two; `between` runs after each page. */
const walk = Effect.fnUntraced(function* <A, E, R>(
  list: (page: Page) => Effect.Effect<Paged<A>, E, R>,
  between: Effect.Effect<unknown, E, R> = Effect.void
) {
  const pages: Array<ReadonlyArray<A>> = []
  let after: number | null = null
  do {
    const { items, next }: Paged<A> = yield* list({ limit: 2, after })
    pages.push(items)
    yield* between
    after = next
  } while (after !== null)
  return pages
})

export const suite = (layer: Stored): void => {
  describe("lists", () => {
    it.effect(
      "of accounts, sessions, keys, endpoints and rate cards are newest first, stable while rows come",
      () =>
        Effect.gen(function* () {
          const [accounts, sessions, keys] = [yield* AccountStore, yield* SessionStore, yield* ApiKeyStore]
          const [webhooks, cards] = [yield* WebhookStore, yield* RateCardStore]
          const rows = <A>(make: () => A) => Array.from({ length: 5 }, make)
          const check = Effect.fnUntraced(function* <A, E>(
            made: ReadonlyArray<A>,
            more: () => A,
            create: (row: A) => Effect.Effect<unknown, E>,
            list: (page: Page) => Effect.Effect<Paged<A>, E>
          ) {
            for (const row of made) yield* create(row)
            const pages = yield* walk(
              list,
              Effect.suspend(() => create(more()))
            )
            const [a, b, c, d, e] = made
            expect(pages).toEqual([[e, d], [c, b], [a]])
          })
          const account = () => Fixtures.account()
          yield* check(rows(account), account, accounts.create, accounts.list)
          const { accountId, sessionId } = yield* owner
          const lonely = Fixtures.account()
          yield* accounts.create(lonely)
          const session = () => Fixtures.session(lonely.id)
          yield* check(rows(session), session, sessions.create, (page) =>
            sessions.list({ accountId: lonely.id, page })
          )
          const provider = `paged-${lonely.id.slice(-8)}`
          const ofProvider = () => Fixtures.session(accountId, { provider })
          yield* check(rows(ofProvider), ofProvider, sessions.create, (page) =>
            sessions.ofProvider({ provider, page })
          )
          const empty = Fixtures.session(accountId)
          yield* sessions.create(empty)
          const key = () => Fixtures.apiKey(empty.id)
          yield* check(rows(key), key, keys.create, (page) => keys.list({ sessionId: empty.id, page }))
          const endpoint = () => Fixtures.endpoint(accountId)
          yield* check(rows(endpoint), endpoint, webhooks.create, (page) =>
            webhooks.list({ accountId, page })
          )
          const card = () => Fixtures.rateCard()
          yield* check(rows(card), card, cards.add, cards.list)
          expect((yield* keys.list({ sessionId, page: { limit: 10, after: null } })).items).toHaveLength(1)
          expect(
            (yield* webhooks.list({ accountId: lonely.id, page: { limit: 10, after: null } })).items
          ).toEqual([])
        }).pipe(Effect.provide(layer))
    )

    it.effect("of deliveries are newest first, an endpoint's alone", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const [endpoint, other] = [Fixtures.endpoint(accountId), Fixtures.endpoint(accountId)]
        for (const each of [endpoint, other]) yield* store.create(each)
        const draft = Event.webhookTest(endpoint.id)
        const send = (at: Time.Instant) => store.send({ endpointId: endpoint.id, draft, now: at })
        const sent = [yield* send(now), yield* send(Time.after(now, 1)), yield* send(Time.after(now, 2))]
        yield* store.send({ endpointId: other.id, draft, now })
        const pages = yield* walk((page) => store.deliveries({ endpointId: endpoint.id, page }))
        expect(pages.flat().map(({ id }) => id)).toEqual([...sent].reverse())
      }).pipe(Effect.provide(layer))
    )

    it.effect("of approved templates are by ascending id, by category, language and name", () =>
      Effect.gen(function* () {
        const store = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        const contents = [
          Fixtures.template({ name: "a" }),
          Fixtures.template({ name: "a", language: "es" }),
          Fixtures.template({ name: "b", category: "marketing" }),
          Fixtures.template({ name: "c", status: "paused" }),
          Fixtures.template({ name: "d" })
        ]
        const imported = yield* store.importAll({ accountId, sessionId, contents, now })
        const [a, spanish, b, , d] = imported
        const list = (some: Partial<Parameters<typeof store.listApproved>[0]>) =>
          Effect.map(
            walk((page) => store.listApproved({ sessionId, page, ...some })),
            (pages) => pages.flat()
          )
        expect(yield* list({})).toEqual([a, spanish, b, d])
        expect(yield* list({ category: "marketing" })).toEqual([b])
        expect(yield* list({ language: "es" })).toEqual([spanish])
        expect(yield* list({ name: "a" })).toEqual([a, spanish])
        expect(yield* list({ name: "a", language: "en", category: "utility" })).toEqual([a])
        // Its content twice in one import is one template.
        const twice = yield* store.importAll({
          accountId,
          sessionId,
          contents: [Fixtures.template({ name: "new" }), Fixtures.template({ name: "new" })],
          now
        })
        expect(new Set(twice.map(({ templateId }) => templateId)).size).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of results are by status, too", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner, { phones: 6 })
        yield* jobs.accept(command)
        const { jobId } = command
        const [job] = yield* claim()
        const settlements = [0, 1, 2, 3, 4, 5].map((index) => ({
          jobId,
          fence: job?.fence ?? -1,
          index,
          outcome:
            index % 2 === 0
              ? Outcome.Failed({ failure })
              : Outcome.Accepted({ providerId: null, status: "sent" })
        }))
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        const pages = yield* walk((page) => jobs.results({ jobId, status: "failed", page }))
        expect(pages.map((page) => page.map(({ index }) => index))).toEqual([[0, 2], [4]])
        expect(yield* jobs.results({ jobId: "nobody", page: { limit: 5, after: null } })).toEqual({
          items: [],
          next: null
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep a row that is created again as it was", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId } = yield* owner
        const session = Fixtures.session(accountId)
        yield* sessions.create(session)
        const again = yield* Effect.exit(sessions.create({ ...session, name: "Another" }))
        expect(Exit.isFailure(again)).toBe(true)
        expect(yield* sessions.find(session.id)).toEqual(session)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of sessions show no reason for being connected", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        yield* sessions.transition({
          id,
          state: "disconnected",
          reason: "logged_out",
          now: Time.after(now, 1)
        })
        expect(yield* sessions.find(id)).toMatchObject({ reason: "logged_out", updatedAt: now + 1 })
        yield* sessions.transition({ id, state: "connected", reason: "operator", now: Time.after(now, 2) })
        expect(yield* sessions.find(id)).toMatchObject({ reason: null, connectedSince: now + 2 })
      }).pipe(Effect.provide(layer))
    )
  })
}
