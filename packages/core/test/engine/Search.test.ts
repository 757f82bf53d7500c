/** contract.md §12, "search": an operator finds anything by what names it, and a key what is its own. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import type { Permission } from "../../src/domain/account/ApiKey.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

const [ana, ben] = ["34600001234", "34600005678"]
const page = { limit: 25, after: null }

const shop = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  yield* TestClock.setTime(1_764_158_400_000)
  const made = yield* prepare(engine, [ana, ben])
  const { caller, templateId } = made
  const sessionId = caller.session.id
  const keyOf = Effect.fnUntraced(function* (permissions?: ReadonlyArray<Permission>) {
    const { key, secretKey } = yield* engine.admin.keys.issue(sessionId, { permissions })
    return yield* engine.identify({ publicKey: key.publicKey, secretKey })
  })
  const send = (who: Engine.Caller, idempotencyKey: string, phones = [ana], reference?: string) =>
    engine.send(who, {
      idempotencyKey,
      request: {
        templateId,
        reference,
        recipients: phones.map((phone) => ({ phone, variables: { "body.1": "Ana", "body.2": "now" } }))
      }
    })
  const find = (text: string) =>
    Effect.map(engine.admin.search.find({ text, page }), ({ items }) =>
      items.map(({ id, kind }) => [kind, id])
    )
  const findOwn = Effect.fnUntraced(function* (who: Engine.Caller, text: string, limit = 25) {
    const searching = yield* Effect.fork(engine.search(who, { text, page: { limit, after: null } }))
    yield* TestClock.adjust("1 second")
    return yield* Fiber.join(searching)
  })
  return { ...made, engine, find, findOwn, keyOf, send, sessionId }
})

describe("an operator's search", () => {
  it.effect("finds a person, the messages to them, and what names a job, the newest first", () =>
    Effect.gen(function* () {
      const { accountId, caller, engine, find, send } = yield* shop
      yield* TestClock.adjust("1 second")
      const first = yield* send(caller, "order-1", [ana, ben], "spring")
      yield* TestClock.adjust("1 second")
      const second = yield* send(caller, "order-2")
      const to = (jobId: string, place: number) => `${jobId.slice(0, -1)}${place}`
      const { items } = yield* engine.admin.search.find({ text: "+34 600 00 12 34", page })
      expect(items.map(({ id, kind, status, title }) => [kind, id, title, status])).toEqual([
        ["message", to(second.jobId, 1), "order_shipped to +34600001234", "queued"],
        ["message", to(first.jobId, 1), "order_shipped to +34600001234", "queued"],
        ["person", ana, "+34600001234", null]
      ])
      expect(new Set(items.map((each) => each.accountId))).toEqual(new Set([accountId]))
      expect(yield* find("spring")).toEqual([["job", first.jobId]])
      expect(yield* find("order-2")).toEqual([["job", second.jobId]])
      expect(yield* find(first.jobId)).toEqual([["job", first.jobId]])
      expect(yield* find(to(first.jobId, 2))).toEqual([["message", to(first.jobId, 2)]])
      expect(yield* find("34600009999")).toEqual([])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("finds the messages to a person whom a platform knows by an id", () =>
    Effect.gen(function* () {
      const { accountId, caller, find, send, sessionId } = yield* shop
      const { jobId } = yield* send(caller, "order-1")
      yield* (yield* InboundStore).receive({
        ...{ accountId, sessionId, portfolio: "p", now: Time.at(1_764_158_400_000) },
        items: [
          {
            ...{ id: null, message: null, word: null, unattributed: null },
            identity: { person: { phone: ana, userId: "ES.77" }, formerly: null }
          }
        ]
      })
      expect(new Set(yield* find("ES.77"))).toEqual(
        new Set([
          ["message", `${jobId.slice(0, -1)}1`],
          ["person", "ES.77"]
        ])
      )
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("finds a webhook, a delivery, a session, a key and a template by their ids", () =>
    Effect.gen(function* () {
      const { accountId, engine, find, keyOf, sessionId } = yield* shop
      const { admin } = engine
      const { endpoint } = yield* admin.webhooks.create(accountId, { url: "https://shop.example/hooks" })
      const delivery = yield* admin.webhooks.test(endpoint.id)
      const { key } = yield* keyOf()
      expect(yield* find(endpoint.id)).toEqual([["webhook", endpoint.id]])
      expect(yield* find(delivery.toUpperCase())).toEqual([["delivery", delivery]])
      expect(yield* find(sessionId)).toEqual([["session", sessionId]])
      expect(yield* find(key.publicKey)).toEqual([["key", key.publicKey]])
      const names = Array.from({ length: 120 }, (_, index) => `template_${index}`)
      const { templates } = yield* admin.templates.importAll(
        sessionId,
        names.map((name) => ({
          ...{ name, language: "en", category: "UTILITY", status: "APPROVED" },
          components: [{ type: "BODY", text: "Hello" }]
        }))
      )
      const id = String(templates.at(-1)?.templateId)
      expect(yield* find(id)).toEqual([["template", id]])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("goes on page by page, without repeating what came first", () =>
    Effect.gen(function* () {
      const { caller, engine, send } = yield* shop
      for (let order = 0; order < 5; order++) yield* send(caller, `order-${order}`)
      const found: Array<string> = []
      let after: number | null = null
      do {
        const { items, next }: Effect.Effect.Success<ReturnType<typeof engine.admin.search.find>> =
          yield* engine.admin.search.find({ text: ana, page: { limit: 2, after } })
        found.push(...items.map(({ kind }) => kind))
        after = next
      } while (after !== null)
      expect(found.filter((kind) => kind === "message")).toHaveLength(5)
      expect(found.filter((kind) => kind === "person")).toHaveLength(1)
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("finds nothing of a person who was erased", () =>
    Effect.gen(function* () {
      const { caller, engine, find, send } = yield* shop
      const { jobId } = yield* send(caller, "order-1")
      yield* engine.drain
      yield* engine.admin.people.erase({ phone: ana, reason: "asked for it" })
      expect(yield* find(ana)).toEqual([])
      expect(yield* find("order-1")).toEqual([["job", jobId]])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a text that is too short", () =>
    Effect.gen(function* () {
      const { engine } = yield* shop
      const refused = yield* Effect.flip(engine.admin.search.find({ text: "ab", page }))
      expect(refused).toMatchObject({ _tag: "InvalidRequest", faults: [{ path: ["q"] }] })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a key's search", () => {
  it.effect("finds its own jobs and messages, and nothing of others, by whatever names it", () =>
    Effect.gen(function* () {
      const { accountId, engine, findOwn, keyOf, send, sessionId } = yield* shop
      const [mine, other] = [yield* keyOf(), yield* keyOf()]
      const own = yield* send(mine, "order-1", [ana], "spring")
      const theirs = yield* send(other, "order-2", [ana, ben], "spring")
      yield* send(other, "order-1", [ben])
      const { endpoint } = yield* engine.admin.webhooks.create(accountId, {
        url: "https://shop.example/hooks"
      })
      const message = `${own.jobId.slice(0, -1)}1`
      const found = (text: string) =>
        Effect.map(findOwn(mine, text), ({ items, next }) => [items.map(({ id }) => id), next])
      expect(yield* found(ana)).toEqual([[message], null])
      expect(yield* found("spring")).toEqual([[own.jobId], null])
      expect(yield* found("order-1")).toEqual([[own.jobId], null])
      for (const text of [
        ...[ben, "order-2", theirs.jobId, `${theirs.jobId.slice(0, -1)}1`],
        ...[endpoint.id, sessionId, mine.key.publicKey, other.key.publicKey]
      ])
        expect([text, yield* found(text)]).toEqual([text, [[], null]])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("takes a time that tells nothing of others", () =>
    Effect.gen(function* () {
      const { engine, keyOf } = yield* shop
      const who = yield* keyOf()
      yield* TestClock.adjust("2 seconds")
      const searching = yield* Effect.fork(engine.search(who, { text: ana, page }))
      yield* TestClock.adjust("49 millis")
      expect(yield* Fiber.poll(searching)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(searching)).items).toEqual([])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("finds direct messages where it may read them", () =>
    Effect.gen(function* () {
      const { engine, findOwn, keyOf } = yield* shop
      const who = yield* keyOf()
      const request = { to: ana, message: "Hello" }
      const { messageId } = yield* engine.sendDirect(who, { idempotencyKey: undefined, request })
      expect((yield* findOwn(who, ana)).items).toMatchObject([
        { kind: "message", id: messageId, title: "Direct message to +34600001234" }
      ])
      yield* engine.admin.keys.change(who.key.publicKey, { permissions: ["jobs:read"] })
      yield* TestClock.adjust("1 hour")
      expect((yield* findOwn(who, ana)).items).toEqual([])
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
