/** Accounts, sessions, keys, templates, consents, rate cards, rate limits. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Plan from "../../src/domain/account/Plan.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Session from "../../src/domain/session/Session.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import type { FiledConsent } from "../../src/storage/ConsentStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { HealthStore } from "../../src/storage/HealthStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { RateCardStore } from "../../src/storage/RateCardStore.ts"
import { RateLimitStore } from "../../src/storage/RateLimitStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, find, listen, now, owner } from "./Setup.ts"

const page = { limit: 100, after: null }

export const suite = (layer: Stored) => {
  describe("accounts and keys", () => {
    it.effect("are found as they were written, and changed field by field", () =>
      Effect.gen(function* () {
        const accounts = yield* AccountStore
        const account = Fixtures.account({ plan: { ...Plan.defaults, dailyDirectMessages: null } })
        yield* accounts.create(account)
        expect(yield* accounts.find(account.id)).toEqual(account)
        const changed = yield* accounts.change({
          id: account.id,
          change: { name: "New" },
          now: Time.after(now, 1)
        })
        expect(changed).toEqual({ ...account, name: "New", updatedAt: now + 1 })
        expect((yield* accounts.list(page)).items).toEqual([changed])
        expect(yield* accounts.find("nobody")).toBeNull()
        expect(yield* accounts.change({ id: "nobody", change: {}, now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("identify their session and account in one read", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeyStore
        const { accountId, publicKey, sessionId } = yield* owner
        const identity = yield* keys.identify(publicKey)
        expect([identity?.key.publicKey, identity?.session.id, identity?.account.id]).toEqual([
          publicKey,
          sessionId,
          accountId
        ])
        expect(yield* keys.identify("pk_nobody")).toBeNull()
        expect((yield* keys.list({ sessionId, page })).items).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("overlap secrets on rotation, stay revoked, and note their use once a minute", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeyStore
        const { publicKey } = yield* owner
        const rotate = (hash: string, at: Time.Instant, expireOthersAt: Time.Instant) =>
          keys.rotate({
            publicKey,
            secret: { hash, createdAt: at, expiresAt: null },
            expireOthersAt,
            now: at
          })
        yield* rotate("11", now, Time.after(now, 100))
        const overlapping = yield* keys.identify(publicKey)
        expect(overlapping?.key.secrets.map(({ expiresAt, hash }) => [hash, expiresAt])).toEqual([
          ["11", null],
          ["00", now + 100]
        ])
        const later = yield* rotate("22", Time.after(now, 200), Time.after(now, 200))
        expect(later?.secrets.map(({ hash }) => hash)).toEqual(["22"])
        yield* keys.touch({ publicKey, now })
        yield* keys.touch({ publicKey, now: Time.after(now, 59_999) })
        expect((yield* keys.identify(publicKey))?.key.lastUsedAt).toBe(now)
        yield* keys.touch({ publicKey, now: Time.after(now, 60_000) })
        expect((yield* keys.identify(publicKey))?.key.lastUsedAt).toBe(now + 60_000)
        yield* keys.change({ publicKey, change: { status: "revoked" } })
        expect((yield* keys.change({ publicKey, change: { status: "active" } }))?.status).toBe("revoked")
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a rotated API key", () => {
    it.effect("keeps two secrets beside the newest: a further rotation ends the oldest overlap", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeyStore
        const { publicKey } = yield* owner
        const hashes: Array<ReadonlyArray<string>> = []
        for (const hash of ["11", "22", "33", "44"]) {
          const secret = { hash, createdAt: now, expiresAt: null }
          const rotated = yield* keys.rotate({
            publicKey,
            secret,
            expireOthersAt: Time.after(now, 1000),
            now
          })
          hashes.push(rotated?.secrets.map((each) => each.hash) ?? [])
        }
        expect(hashes).toEqual([
          ["11", "00"],
          ["22", "11", "00"],
          ["33", "22", "11"],
          ["44", "33", "22"]
        ])
        expect((yield* keys.identify(publicKey))?.key.secrets).toEqual([
          { hash: "44", createdAt: now, expiresAt: null },
          { hash: "33", createdAt: now, expiresAt: now + 1000 },
          { hash: "22", createdAt: now, expiresAt: now + 1000 }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not told for an unknown one, which is read like any other", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeyStore
        expect(yield* keys.identify("pk_nobody")).toBeNull()
        const { publicKey } = yield* owner
        expect(yield* keys.identify("pk_nobody")).toBeNull()
        expect((yield* keys.identify(publicKey))?.key.publicKey).toBe(publicKey)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("an API key's hash", () => {
    it.effect(
      "moves to another pepper while its secret is the same, and nothing else of the key changes",
      () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeyStore
          const { publicKey } = yield* owner
          const secret = { hash: "11", createdAt: now, expiresAt: null }
          const before = yield* keys.rotate({
            publicKey,
            secret,
            expireOthersAt: Time.after(now, 100),
            now
          })
          yield* keys.rehash({ publicKey, from: "gone", to: "22" })
          expect((yield* keys.identify(publicKey))?.key).toEqual(before)
          yield* keys.rehash({ publicKey, from: "00", to: "33" })
          const after = (yield* keys.identify(publicKey))?.key
          expect(after?.secrets.map(({ expiresAt, hash }) => [hash, expiresAt])).toEqual([
            ["11", null],
            ["33", now + 100]
          ])
          expect({ ...after, secrets: [] }).toEqual({ ...before, secrets: [] })
          yield* keys.rehash({ publicKey: "pk_nobody", from: "00", to: "33" })
        }).pipe(Effect.provide(layer))
    )
  })

  describe("a probe", () => {
    it.effect("of a store that can be written succeeds, again and again", () =>
      Effect.gen(function* () {
        const { probe } = yield* HealthStore
        yield* Effect.zipRight(probe, probe)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("sessions", () => {
    it.effect("change by the given fields, and are paced anew at once", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id, ...who } = yield* owner
        yield* (yield* JobStore).accept(Fixtures.send({ ...who, sessionId: id }, { phones: 100 }))
        const pacing = { messagesPerSecond: 20, pairIntervalMs: null }
        expect(yield* sessions.change({ id, change: { pacing }, now: Time.after(now, 1) })).toMatchObject({
          name: "Session",
          pacing,
          updatedAt: now + 1
        })
        expect((yield* claim(100))[0]?.recipients).toHaveLength(1)
        yield* sessions.change({ id, change: { name: "Renamed" }, now: Time.after(now, 2) })
        expect(yield* sessions.find(id)).toMatchObject({ name: "Renamed", pacing, state: "connected" })
        expect(yield* sessions.change({ id: "nobody", change: {}, now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("pause their running jobs when they go, and resume them when they are back", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sessions = yield* SessionStore
        const who = yield* owner
        const running = Fixtures.send(who, { phones: 2 })
        yield* jobs.accept(running)
        yield* claim(1)
        yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 20_000), recoverable: [] })
        const waiting = Fixtures.send(who)
        yield* jobs.accept(waiting)
        yield* listen(who.accountId)
        const gone = {
          id: who.sessionId,
          state: "disconnected",
          reason: "operator",
          now: Time.after(now, 1)
        } as const
        expect(yield* sessions.transition(gone)).toMatchObject({
          state: "disconnected",
          connectedSince: null
        })
        yield* sessions.transition(gone)
        expect(yield* find(running.jobId)).toMatchObject({
          status: "paused",
          pauseReason: "session_disconnected"
        })
        expect((yield* find(waiting.jobId)).status).toBe("queued")
        expect(yield* claim(250, now + 30_000)).toEqual([])
        const back = { id: who.sessionId, state: "connected", reason: null, now: Time.after(now, 2) } as const
        expect(yield* sessions.transition(back)).toMatchObject({ connectedSince: now + 2 })
        expect(yield* find(running.jobId)).toMatchObject({ status: "processing", pauseReason: null })
        const since = yield* events(now + 10)
        expect(since.map(({ type }) => type).sort()).toEqual([
          "job.paused",
          "job.processing",
          "session.connected",
          "session.disconnected"
        ])
        expect(yield* claim(250, now + 30_000)).toHaveLength(2)
        expect(yield* sessions.transition({ ...back, id: "nobody" })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a platform's news of a session", () => {
    const news = { kind: "account_update", news: { event: "x" }, at: null, disconnects: null }

    it.effect("is told, and disconnects it where nothing more can be sent, with the reason", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId, sessionId: id } = yield* owner
        yield* listen(accountId)
        expect(yield* sessions.announce({ id, ...news, now: Time.after(now, 1) })).toMatchObject({
          after: { state: "connected" }
        })
        const banned = { ...news, disconnects: "Banned." }
        expect(yield* sessions.announce({ id, ...banned, now: Time.after(now, 2) })).toMatchObject({
          after: { state: "disconnected", reason: "Banned.", updatedAt: now + 2 }
        })
        expect(yield* sessions.announce({ id: "nobody", ...news, now })).toBeNull()
        const since = yield* events(now + 10)
        expect(since.map(({ type }) => type)).toEqual([
          "session.updated",
          "session.updated",
          "session.disconnected"
        ])
        expect(since[0]?.data).toEqual({
          account_id: accountId,
          session_id: id,
          kind: "account_update",
          news: { event: "x" }
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("from before it was connected disconnects it no more: platforms repeat it for days", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        const banned = { ...news, disconnects: "Banned." }
        const { connectedSince } = (yield* sessions.find(id)) ?? { connectedSince: null }
        const since = connectedSince ?? Time.at(0)
        const stateAfter = (at: Time.Instant) =>
          Effect.map(
            sessions.announce({ id, ...banned, at, now: Time.after(now, 1) }),
            (found) => found?.after.state
          )
        expect(yield* stateAfter(Time.at(since - 1000))).toBe("connected")
        expect(yield* stateAfter(since)).toBe("disconnected")
        // An operator's reason stays.
        yield* sessions.transition({ id, state: "disconnected", reason: "operator", now: Time.after(now, 2) })
        expect(yield* sessions.announce({ id, ...banned, now: Time.after(now, 3) })).toMatchObject({
          after: { reason: "operator" }
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts by the platform's time: what is older or repeated changes nothing", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId, sessionId: id } = yield* owner
        yield* listen(accountId)
        const at = Time.after(now, 60_000)
        const later = Time.after(now, 600_000)
        const tell = (some: Partial<Parameters<typeof sessions.announce>[0]>) =>
          sessions.announce({ id, ...news, now: later, ...some })
        const banned = { disconnects: "Banned." }
        const reinstated = { reinstates: true }
        expect(yield* tell({ ...banned, at })).toMatchObject({ after: { reason: "Banned." }, isOlder: false })
        expect(yield* tell({ ...reinstated, at: Time.before(at, 1000) })).toMatchObject({
          after: { state: "disconnected" },
          isOlder: true
        })
        expect(yield* tell({ ...reinstated, at: Time.after(at, 2000) })).toMatchObject({
          after: { state: "connected", reason: null }
        })
        expect(yield* tell({ ...banned, at })).toMatchObject({ after: { state: "connected" }, isOlder: true })
        // It is told all the same.
        const told = (yield* events(later + 10)).filter(({ type }) => type === "session.updated")
        expect(told).toHaveLength(4)
        // What the operator ended the platform does not begin again.
        yield* sessions.transition({ id, state: "disconnected", reason: "operator", now: later })
        expect(yield* tell({ ...reinstated, at: Time.after(at, 9000) })).toMatchObject({
          after: { reason: "operator" }
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("that restrict its templates block them until their end, or until they are lifted", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const who = yield* owner
        const { sessionId: id } = who
        const command = Fixtures.send(who)
        yield* (yield* JobStore).accept(command)
        const tell = (restricts: Session.Announced["restricts"], at: Time.Instant) =>
          Effect.map(
            sessions.announce({ id, ...news, at, restricts, now: Time.after(now, 9000) }),
            (found) => found?.after
          )
        const until = Time.after(now, 30_000)
        expect(yield* tell({ templates: until }, now)).toMatchObject({
          state: "connected",
          blockedUntil: until,
          blockReason: "platform_restriction",
          repliesBlockedUntil: null
        })
        expect(yield* claim(10, now + 9000)).toEqual([])
        expect(yield* find(command.jobId)).toMatchObject({
          status: "paused",
          pauseReason: "platform_restriction"
        })
        expect(yield* sessions.nextUnblock).toBe(until)
        expect(yield* sessions.unblock({ now: until })).toEqual([id])
        expect(yield* sessions.find(id)).toMatchObject({ blockedUntil: null, blockReason: null })
        // One that was over when it came blocks nothing, nor does the same once more.
        expect(yield* tell({ templates: Time.after(now, 8000) }, Time.after(now, 1000))).toMatchObject({
          blockedUntil: null
        })
        expect(yield* tell({ templates: until }, now)).toMatchObject({ blockedUntil: null })
        expect(
          yield* tell({ templates: Session.withoutEnd, replies: until }, Time.after(now, 2000))
        ).toMatchObject({
          blockedUntil: Session.withoutEnd,
          repliesBlockedUntil: until
        })
        expect(yield* tell({ templates: null, replies: null }, Time.after(now, 3000))).toMatchObject({
          blockedUntil: null,
          repliesBlockedUntil: null
        })
        expect((yield* claim(10, now + 9000)).map(({ jobId }) => jobId)).toEqual([command.jobId])
      }).pipe(Effect.provide(layer))
    )

    it.effect("end no block by an answer of the platform, and its operator ends all of them", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        yield* sessions.block({ id, until: Time.after(now, 90_000), now })
        const lifted = { templates: null, replies: null }
        yield* sessions.announce({ id, ...news, at: now, restricts: lifted, now })
        expect(yield* sessions.find(id)).toMatchObject({
          blockedUntil: now + 90_000,
          blockReason: "provider_blocked"
        })
        const all = { templates: Session.withoutEnd, replies: Session.withoutEnd }
        yield* sessions.announce({
          id,
          ...news,
          at: Time.after(now, 1000),
          restricts: all,
          now: Time.after(now, 1000)
        })
        expect(yield* sessions.find(id)).toMatchObject({ blockReason: "platform_restriction" })
        const change = { name: "Renamed" }
        expect(
          yield* sessions.change({ id, change, releases: true, now: Time.after(now, 2000) })
        ).toMatchObject({
          name: "Renamed",
          blockedUntil: null,
          blockReason: null,
          repliesBlockedUntil: null
        })
        expect(yield* sessions.find(id)).toMatchObject({ name: "Renamed", blockedUntil: null })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a session's addresses", () => {
    const sealed = (name: string) => `v1.${name.padStart(40, "0")}`
    const made = Effect.fnUntraced(function* (config: string, provider = "whatsapp_cloud") {
      const sessions = yield* SessionStore
      const { accountId } = yield* owner
      const session = Fixtures.session(accountId, { provider, config: sealed(config) })
      yield* sessions.create(session)
      return session
    })
    const idsOf = (sessions: ReadonlyArray<Session.Session>) => sessions.map(({ id }) => id)

    it.effect("find it, whichever account it is of, and those that it had before do not", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const [first, second] = [yield* made("a"), yield* made("b")]
        const addressed = (...addresses: ReadonlyArray<string>) =>
          Effect.map(sessions.addressed({ addresses }), idsOf)
        yield* sessions.address({ ...first, addresses: ["number 1", "account 9", "account 9"] })
        yield* sessions.address({ ...second, addresses: ["number 2", "account 9"] })
        expect(yield* addressed("number 1", "number 3")).toEqual([first.id])
        expect(yield* addressed("account 9", "number 1")).toEqual([first.id, second.id].sort())
        expect(yield* addressed()).toEqual([])
        yield* sessions.address({ ...first, addresses: ["number 3"] })
        expect(yield* addressed("number 1")).toEqual([])
        expect(yield* addressed("number 3")).toEqual([first.id])
        // Of a configuration that was replaced meanwhile.
        yield* sessions.address({ id: first.id, config: sealed("old"), addresses: ["number 1"] })
        expect(yield* addressed("number 1")).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are missing until they are written by the configuration that it has", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const [first, second] = [yield* made("a"), yield* made("b")]
        yield* made("c", "http")
        const unaddressed = (limit = 10, after = "") =>
          Effect.map(sessions.unaddressed({ providers: ["whatsapp_cloud"], after, limit }), idsOf)
        const all = [first.id, second.id].sort()
        expect(yield* unaddressed()).toEqual(all)
        expect(yield* unaddressed(1)).toEqual(all.slice(0, 1))
        expect(yield* unaddressed(10, all[0])).toEqual(all.slice(1))
        yield* sessions.address({ ...first, addresses: ["number 1"] })
        expect(yield* unaddressed()).toEqual([second.id])
        // As an earlier build does, which writes no addresses.
        yield* sessions.change({ id: first.id, change: { config: sealed("d") }, now })
        expect(yield* unaddressed()).toEqual(all)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("templates", () => {
    it.effect("keep their id over imports, and their time when nothing changed", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        yield* listen(accountId)
        const importAll = (
          contents: Parameters<typeof templates.importAll>[0]["contents"],
          at: Time.Instant
        ) => templates.importAll({ accountId, sessionId, contents, now: at })
        const spanish = Fixtures.template({ language: "es" })
        const [first, second] = yield* importAll([Fixtures.template(), spanish], now)
        const [changed, same] = yield* importAll(
          [Fixtures.template({ status: "paused" }), spanish],
          Time.after(now, 5)
        )
        expect([changed?.templateId, same?.templateId]).toEqual([first?.templateId, second?.templateId])
        expect([changed?.updatedAt, same?.updatedAt]).toEqual([now + 5, now])
        expect((yield* events(now + 10)).map(({ type }) => type)).toEqual(Array(3).fill("template.updated"))
        const { items } = yield* templates.listApproved({ sessionId, page })
        expect(items).toEqual([same])
        const present = yield* templates.listPresent({ sessionId, page: { limit: 1, after: null } })
        expect(present.items).toEqual([changed])
        const rest = yield* templates.listPresent({ sessionId, page: { limit: 9, after: present.next } })
        expect([rest.items, rest.next]).toEqual([[same], null])
        const gone = { ...Fixtures.template(), name: "goodbye", status: "deleted" }
        yield* templates.importAll({ accountId, sessionId, contents: [gone], now })
        expect((yield* templates.listPresent({ sessionId, page })).items).toEqual([changed, same])
        const other = yield* owner
        const templateId = second?.templateId ?? 0
        expect(yield* templates.find({ sessionId, templateId })).toEqual(second)
        expect(yield* templates.find({ sessionId: other.sessionId, templateId })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep the numbers of their variables' names, whatever the order they come in", () =>
      Effect.gen(function* () {
        const templates = yield* TemplateStore
        const { accountId, sessionId } = yield* owner
        yield* listen(accountId)
        let at = now
        const importAll = (...versions: ReadonlyArray<ReadonlyArray<string>>) =>
          templates.importAll({
            accountId,
            sessionId,
            contents: versions.map((names) => Fixtures.namedTemplate(names)),
            now: Time.at(at++)
          })
        const numbers = Effect.gen(function* () {
          const found = yield* templates.findNamed({ sessionId, name: "greeting", language: "en" })
          const read = yield* templates.find({ sessionId, templateId: found?.templateId ?? 0 })
          expect(read).toEqual(found)
          return found?.variables.map(({ key, name }) => `${key} ${name}`)
        })
        yield* importAll(["last", "first"])
        expect(yield* numbers).toEqual(["body.1 last", "body.2 first"])
        yield* importAll(["first", "city", "last"])
        expect(yield* numbers).toEqual(["body.1 last", "body.2 first", "body.3 city"])
        yield* importAll(["first"])
        expect(yield* numbers).toEqual(["body.2 first"])
        yield* importAll(["code", "last"], ["day", "code"])
        expect(yield* numbers).toEqual(["body.4 code", "body.5 day"])
        // A platform's hook imports what it changes as it was found.
        const found = yield* templates.findNamed({ sessionId, name: "greeting", language: "en" })
        const contents = found === null ? [] : [{ ...found, status: "paused" }]
        yield* templates.importAll({ accountId, sessionId, contents, now: Time.at(at++) })
        yield* importAll(["day", "city", "last", "first", "code"])
        expect(yield* numbers).toEqual([
          "body.1 last",
          "body.2 first",
          "body.3 city",
          "body.4 code",
          "body.5 day"
        ])
        const [same] = yield* importAll(["day", "city", "last", "first", "code"])
        expect(same?.updatedAt).toBe(at - 2)
        expect(yield* events(at)).toHaveLength(7)
        // Another template's names are its own.
        const other = yield* owner
        const [fresh] = yield* templates.importAll({
          ...other,
          contents: [Fixtures.namedTemplate(["day"])],
          now
        })
        expect(fresh?.variables.map(({ key }) => key)).toEqual(["body.1"])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("consents", () => {
    it.effect("are decided by what occurred last, for each phone in the order asked", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId } = yield* owner
        yield* listen(accountId)
        const records = [
          Fixtures.consent("1", { occurredAt: now }),
          Fixtures.consent("1", { status: "revoked", purpose: "marketing", occurredAt: Time.before(now, 5) }),
          Fixtures.consent("2", { occurredAt: now }),
          Fixtures.consent("2", { status: "revoked", occurredAt: now }),
          Fixtures.consent("3", { purpose: "utility" })
        ]
        yield* consents.record({ accountId, records })
        const asked = { accountId, phones: ["2", "1", "4", "3", "1"], purpose: "marketing" as const }
        const evidence = yield* consents.evidence(asked)
        expect(evidence.map(({ _tag }) => _tag)).toEqual([
          "Revoked",
          "Granted",
          "Missing",
          "Missing",
          "Granted"
        ])
        expect(evidence[1]).toEqual({ _tag: "Granted", record: records[0] })
        const refusals = yield* consents.refusals(asked)
        const { occurredAt, purpose, status } = Fixtures.consent("2", { status: "revoked", occurredAt: now })
        expect([...refusals]).toMatchObject([
          [0, { _tag: "Revoked", record: { occurredAt, purpose, status } }],
          [2, { _tag: "Missing" }],
          [3, { _tag: "Missing" }]
        ])
        // "4" and "3" have revoked nothing, and the first grant of "1" came after its revocation.
        expect(yield* consents.history({ accountId, phone: "1" })).toEqual(records.slice(0, 2))
        const other = yield* owner
        const foreign = yield* consents.refusals({
          accountId: other.accountId,
          phones: ["1"],
          purpose: "direct"
        })
        expect([...foreign]).toEqual([[0, { _tag: "Missing" }]])
        expect((yield* events()).filter(({ type }) => type === "consent.revoked")).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are refused where a revocation decides, or nothing, whatever else is recorded", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId } = yield* owner
        const kinds = (["all", "marketing", "utility"] as const).flatMap((purpose) =>
          (["granted", "revoked"] as const).map((status) => ({ purpose, status }))
        )
        const first = kinds.filter(({ purpose, status }) => purpose !== "utility" && status === "granted")
        const second = first.flatMap((a) => kinds.map((b) => [a, b]))
        const third = second.flatMap((some) => kinds.map((c) => [...some, c]))
        const histories = [...first.map((one) => [one]), ...second, ...third]
        const records = histories.flatMap((history, phone) =>
          history.map((kind, place) =>
            Fixtures.consent(String(phone), {
              ...kind,
              occurredAt: Time.after(now, place - 3),
              recordedAt: now
            })
          )
        )
        yield* consents.record({ accountId, records })
        const phones = [...histories.keys()].map(String)
        for (const purpose of ["marketing", "utility"] as const) {
          const asked = { accountId, phones, purpose }
          const refused = yield* consents.refusals(asked)
          expect(refused.size).toBeGreaterThan(10)
          const tags = [...refused].map(([place, { _tag }]) => [place, _tag])
          const verdicts = [...(yield* consents.evidence(asked)).entries()]
          expect(tags).toEqual(
            verdicts.map(([place, { _tag }]) => [place, _tag]).filter(([, tag]) => tag !== "Granted")
          )
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "are revoked behind a grant recorded before by a clock that is ahead, unless dated themselves",
      () =>
        Effect.gen(function* () {
          const consents = yield* ConsentStore
          const { accountId } = yield* owner
          const granted = ["1", "2"].map((phone) =>
            Fixtures.consent(phone, { occurredAt: Time.after(now, 5), recordedAt: Time.after(now, 5) })
          )
          yield* consents.record({ accountId, records: granted })
          const revoked = Fixtures.consent("1", { status: "revoked" })
          const dated = Fixtures.consent("2", { status: "revoked", occurredAt: Time.before(now, 1) })
          const records = [revoked, dated]
          const recorded = [{ ...revoked, occurredAt: now + 5 }, dated]
          expect(yield* consents.record({ accountId, records })).toEqual(recorded)
          const asked = { accountId, phones: ["1", "2"], purpose: "marketing" as const }
          expect([...(yield* consents.refusals(asked)).keys()]).toEqual([0])
          expect(yield* consents.history({ accountId, phone: "1" })).toEqual([granted[0], recorded[0]])
        }).pipe(Effect.provide(layer))
    )

    it.effect(
      "are read as a whole, page by page: by name, and of each in the order in which they count",
      () =>
        Effect.gen(function* () {
          const consents = yield* ConsentStore
          const { accountId } = yield* owner
          const other = yield* owner
          yield* consents.record({ accountId: other.accountId, records: [Fixtures.consent("5")] })
          const records = ["3", "1", "2", "1", "3", "1"].map((phone, place) =>
            Fixtures.consent(phone, {
              occurredAt: Time.before(now, place % 4),
              reportedAt: Time.before(now, place % 4),
              proof: `${place}`
            })
          )
          yield* consents.record({ accountId, records })
          const read = (limit: number) =>
            Effect.iterate(
              { found: [] as FiledConsent[], after: null as FiledConsent["filing"] | null, isLast: false },
              {
                while: ({ isLast }) => !isLast,
                body: ({ after, found }) =>
                  Effect.map(consents.page({ accountId, after, limit }), (page) => ({
                    found: [...found, ...page],
                    after: page.at(-1)?.filing ?? null,
                    isLast: page.length < limit
                  }))
              }
            )
          const { found } = yield* read(100)
          expect(
            found.map(({ filing, record }) => [filing.person, record.occurredAt - now, record.proof])
          ).toEqual([
            ["1", -3, "3"],
            ["1", -1, "1"],
            ["1", -1, "5"],
            ["2", -2, "2"],
            ["3", 0, "0"],
            ["3", 0, "4"]
          ])
          for (const limit of [1, 2, 3, 6]) expect((yield* read(limit)).found).toEqual(found)
        }).pipe(Effect.provide(layer))
    )

    it.effect("are recorded once when they are told again with their time, whatever came between", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId } = yield* owner
        yield* listen(accountId)
        const told = (phone: string, some: Partial<ReturnType<typeof Fixtures.consent>>, at = now) =>
          Fixtures.consent(phone, {
            reportedAt: Time.before(now, 50),
            occurredAt: Time.before(now, 50),
            recordedAt: at,
            ...some
          })
        const first = [
          told("1", { purpose: "marketing", proof: "form 1" }),
          told("1", {
            purpose: "marketing",
            status: "revoked",
            reportedAt: Time.before(now, 20),
            occurredAt: Time.before(now, 20)
          }),
          told("2", {
            purpose: "utility",
            reportedAt: Time.before(now, 10),
            occurredAt: Time.before(now, 10)
          }),
          // Of all purposes but the one that was granted later.
          told("2", { status: "revoked" })
        ]
        const recorded = yield* consents.record({ accountId, records: first })
        const ids = recorded.map((each) => each?.id)
        const before = yield* Effect.forEach(["1", "2"], (phone) => consents.history({ accountId, phone }))
        const later = first.map((record) => ({
          ...record,
          id: Fixtures.consent("").id,
          recordedAt: Time.after(now, 5)
        }))
        const again = yield* consents.record({ accountId, records: [...later, ...later] })
        expect(again.map((each) => each?.id)).toEqual([...ids, ...ids])
        const after = yield* Effect.forEach(["1", "2"], (phone) => consents.history({ accountId, phone }))
        expect(after).toEqual(before)
        expect(yield* events()).toHaveLength(before.flat().length)

        const others = [
          told("1", { purpose: "marketing", proof: "form 2" }, Time.after(now, 6)),
          told("1", { purpose: "marketing", proof: "form 1", source: "call" }, Time.after(now, 6)),
          told("1", { purpose: "utility", proof: "form 1" }, Time.after(now, 6)),
          told("3", { purpose: "marketing", proof: "form 1" }, Time.after(now, 6)),
          Fixtures.consent("3", { recordedAt: Time.after(now, 6), occurredAt: Time.after(now, 6) }),
          Fixtures.consent("3", { recordedAt: Time.after(now, 6), occurredAt: Time.after(now, 6) })
        ]
        expect(yield* consents.record({ accountId, records: others })).toMatchObject(
          others.map(({ id }) => ({ id }))
        )
        expect(yield* consents.history({ accountId, phone: "3" })).toHaveLength(3)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("rate cards", () => {
    it.effect("are in force from their date, of two the last added", () =>
      Effect.gen(function* () {
        const cards = yield* RateCardStore
        const [old, recent, newer, future] = [
          Fixtures.rateCard({ effectiveFrom: Time.before(now, 10) }),
          Fixtures.rateCard({ effectiveFrom: Time.before(now, 5) }),
          Fixtures.rateCard({
            effectiveFrom: Time.before(now, 5),
            prices: [{ market: "Spain", prefixes: ["34"], category: "utility", price: "1" }]
          }),
          Fixtures.rateCard({ effectiveFrom: Time.after(now, 5) })
        ]
        for (const card of [recent, old, newer, future]) yield* cards.add(card)
        expect(yield* cards.inForce({ currency: "EUR", now })).toEqual(newer)
        expect(yield* cards.inForce({ currency: "EUR", now: Time.after(now, 5) })).toEqual(future)
        expect(yield* cards.inForce({ currency: "EUR", now: Time.before(now, 11) })).toBeNull()
        expect(yield* cards.inForce({ currency: "USD", now })).toBeNull()
        expect((yield* cards.list(page)).items).toEqual([future, newer, old, recent])
      }).pipe(Effect.provide(layer))
    )

    it.effect("come with the template of a send, whether there is one or not", () =>
      Effect.gen(function* () {
        const [cards, templates] = [yield* RateCardStore, yield* TemplateStore]
        const { accountId, sessionId } = yield* owner
        const other = yield* owner
        const card = Fixtures.rateCard({ effectiveFrom: now })
        yield* cards.add(card)
        const contents = [Fixtures.template()]
        const [template] = yield* templates.importAll({ accountId, sessionId, contents, now })
        const templateId = template?.templateId ?? 0
        const asked = { sessionId, templateId, currency: "EUR", now }
        expect(yield* templates.findWithCard(asked)).toEqual({ template, card })
        // As it is read alone, it is the same object: what is worked out of it is kept.
        expect((yield* templates.findWithCard(asked)).template).toBe(
          yield* templates.find({ sessionId, templateId })
        )
        for (const without of [{ templateId: null }, { templateId: 999 }, { sessionId: other.sessionId }])
          expect(yield* templates.findWithCard({ ...asked, ...without })).toEqual({ template: null, card })
        for (const without of [{ currency: "USD" }, { now: Time.before(now, 1) }])
          expect(yield* templates.findWithCard({ ...asked, ...without })).toEqual({ template, card: null })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("rate limits", () => {
    it.effect("let exactly the limit through of parallel requests, per key", () =>
      Effect.gen(function* () {
        const limits = yield* RateLimitStore
        const consume = (key: string, at: Time.Instant) =>
          limits.consume({ key, limit: 10, periodMs: 60_000, now: at })
        const decisions = yield* Effect.all(
          Array.from({ length: 50 }, () => consume("a", now)),
          { concurrency: "unbounded" }
        )
        expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
        expect((yield* consume("b", now)).remaining).toBe(9)
        expect((yield* consume("a", Time.after(now, 5999))).allowed).toBe(false)
        expect((yield* consume("a", Time.after(now, 6000))).allowed).toBe(true)
      }).pipe(Effect.provide(layer))
    )
  })
}
