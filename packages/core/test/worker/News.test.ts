/** News of templates and accounts that come with a hook (contract.md §11). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../src/domain/Instant.ts"
import { withoutEnd } from "../../src/domain/session/Session.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import type * as SessionSender from "../../src/sender/SessionSender.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { EqualFailures } from "../../src/worker/EqualFailures.ts"
import * as Inbound from "../../src/worker/Inbound.ts"
import * as PlatformUpdates from "../../src/worker/PlatformUpdates.ts"
import * as UnreadHooks from "../../src/worker/UnreadHooks.ts"
import { owner } from "../StorageSuite/Setup.ts"

/** A session of a platform that has this number. */
const numbered = (number: string | null): SessionSender.Resolve => {
  const sender = {
    provider: "sandbox",
    deduplicates: true,
    send: () => Effect.never,
    hasNumber: (_: unknown, asked: string) => Effect.succeed(number === null ? null : number === asked)
  }
  return (session) =>
    Effect.succeed(
      session === null
        ? undefined
        : { sender, config: {}, connection: session, retryForMs: null, closedMarkets: [] }
    )
}

const hearing = (resolve: SessionSender.Resolve) =>
  Effect.gen(function* () {
    const who = yield* owner
    const { accountId, sessionId } = who
    const session = yield* (yield* SessionStore).find(sessionId)
    if (session === null) return yield* Effect.dieMessage("no session")
    const templates = yield* TemplateStore
    const contents = [Fixtures.template({ name: "promo_br", language: "pt_BR" })]
    yield* templates.importAll({ accountId, sessionId, contents, now: Time.at(0) })
    const news = yield* PlatformUpdates.make(yield* UnreadHooks.make, resolve)
    const tell = (some: object) =>
      news.templates(session, [
        {
          news: { name: "promo_br", language: "pt-BR", ...some },
          origin: { field: "templates", reason: "the session has no such template", text: "{}", isCut: false }
        }
      ])
    const template = templates.findNamed({ sessionId, name: "promo_br", language: "pt_BR" })
    const unread = Effect.flatMap(InboundStore, (store) =>
      Effect.map(store.unread({ sessionId, page: { limit: 10, after: null } }), ({ items }) =>
        items.map(({ reason }) => reason)
      )
    )
    return { session, news, tell, template, unread }
  })

const heard = hearing(numbered(null))

const sandbox: Sender.Sender = {
  provider: "sandbox",
  deduplicates: true,
  send: () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))
}

describe("a hook's content", () => {
  it.effect(
    "wakes whoever claims with news, with a text refused for its window, and with other receipts only while its session fails",
    () =>
      Effect.gen(function* () {
        const { session } = yield* heard
        const inbound = yield* Inbound.make
        const { sends } = yield* Signals
        let notices = 0
        sends.listen(() => {
          notices += 1
        })
        const receipt = {
          messageId: null,
          providerId: "m1",
          status: "delivered",
          at: Time.at(0),
          failure: null
        } as const
        const content = {
          reports: [receipt],
          messages: [],
          preferences: [],
          templates: [],
          session: [],
          unread: []
        }
        yield* inbound.content(session, content)
        expect(notices).toBe(0)
        yield* inbound.content({ ...session, failing: {} }, content)
        expect(notices).toBe(1)
        yield* inbound.content(session, {
          ...content,
          session: [{ kind: "account_update", news: {}, at: null, disconnects: null }]
        })
        expect(notices).toBe(2)
        const failure = { code: "window_closed", provider_code: "131047", message: "", permanent: true }
        yield* inbound.content(session, { ...content, reports: [{ ...receipt, status: "failed", failure }] })
        expect(notices).toBe(3)
      }).pipe(
        Effect.provide(
          Layer.mergeAll(
            Layer.provideMerge(EqualFailures.layer, Memory.layer),
            SecretBox.layerRandom,
            Sender.layer(sandbox),
            Signals.layer
          )
        )
      )
  )
})

describe("news of a template", () => {
  it.effect("reach it under the platform's spelling of its language", () =>
    Effect.gen(function* () {
      const { tell, template, unread } = yield* heard
      yield* tell({ status: "paused" })
      yield* tell({ quality: "red" })
      expect(yield* template).toMatchObject({ status: "paused", quality: "red" })
      expect(yield* unread).toEqual([])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("change its category once the change is complete, and to one that is known", () =>
    Effect.gen(function* () {
      const { tell, template, unread } = yield* heard
      yield* tell({ correctCategory: "marketing" })
      expect(yield* template).toMatchObject({ category: "utility", correctCategory: "marketing" })
      yield* tell({ category: "marketing", correctCategory: null })
      expect(yield* template).toMatchObject({ category: "marketing" })
      yield* tell({ category: "unheard_of" })
      expect(yield* template).toMatchObject({ category: "marketing" })
      expect(yield* unread).toEqual(["a category that is not known"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that the session lacks are unread, and one of another content is fetched", () =>
    Effect.gen(function* () {
      const { tell, unread } = yield* heard
      yield* tell({ name: "other", status: "paused" })
      yield* tell({ isChanged: true })
      expect(yield* unread).toEqual(["the session has no such template"])
      const due = yield* (yield* TemplateStore).claimChecks({ now: Time.at(0), limit: 10 })
      expect(due.map(({ template }) => template.name)).toEqual(["promo_br"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a restriction", () => {
  const restricting = (number?: string) => ({
    kind: "account_update",
    news: { event: "ACCOUNT_RESTRICTION" },
    at: null,
    disconnects: null,
    restricts: { templates: withoutEnd },
    ...(number === undefined ? {} : { number })
  })

  for (const [what, own, named, reason] of [
    ["of the session's number blocks it", "34600000001", "34600000001", "platform_restriction"],
    ["of another number of the account blocks nothing", "34600000001", "34600000002", null],
    ["of all numbers blocks it", "34600000001", undefined, "platform_restriction"],
    ["of a number that cannot be told now blocks it", null, "34600000002", "platform_restriction"]
  ] as const)
    it.effect(what, () =>
      Effect.gen(function* () {
        const { news, session } = yield* hearing(numbered(own))
        yield* news.session(session, [restricting(named)])
        expect(yield* (yield* SessionStore).find(session.id)).toMatchObject({
          state: "connected",
          blockReason: reason
        })
      }).pipe(Effect.provide(Memory.layer))
    )
})
