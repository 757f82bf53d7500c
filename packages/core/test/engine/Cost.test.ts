/** What sends cost, counted in statements and commits: a regression that no slow machine hides and none makes up. */

import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { vi } from "vitest"
import { greeting } from "../../../../test/support/Template.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Template } from "../../src/domain/template/Template.ts"
import { mostWaiting } from "../../src/engine/DirectInFlight.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import type { Program } from "../../src/storage/Program.ts"
import { Database } from "../../src/storage/sql/Database.ts"
import * as Sqlite from "../../src/storage/sqlite/Database.ts"
import { migrations } from "../../src/storage/sqlite/Schema.ts"
import * as Stores from "../../src/storage/sqlite/Stores.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Worker from "../../src/worker/Worker.ts"

/** What the sources import of `node:crypto` by name, until the scope ends. */
const spied = Effect.acquireRelease(
  Effect.sync(() => {
    const spies = {
      hmac: vi.spyOn(crypto, "createHmac"),
      timingSafeEqual: vi.spyOn(crypto, "timingSafeEqual")
    }
    syncBuiltinESMExports()
    return spies
  }),
  ({ hmac, timingSafeEqual }) =>
    Effect.sync(() => {
      hmac.mockRestore()
      timingSafeEqual.mockRestore()
      syncBuiltinESMExports()
    })
)

const counts = { reads: 0, statements: 0, rows: 0, writes: 0 }

const counted = <A>(kind: "reads" | "writes", verb: () => Program<A>) =>
  function* (): Program<A> {
    counts[kind] += 1
    const program = verb()
    let step = program.next()
    while (step.done !== true) {
      counts.statements += 1
      const answer = yield step.value
      counts.rows += answer.rows.length
      step = program.next(answer)
    }
    return step.value
  }

const counting = Layer.effect(
  Database,
  Effect.map(Database, (db) => ({
    ...db,
    write: (operation, verb) => db.write(operation, counted("writes", verb)),
    work: (operation, verb) => db.work(operation, counted("writes", verb)),
    look: (operation, verb) => db.look(operation, counted("reads", verb)),
    read: (operation, verb) => db.read(operation, counted("reads", verb))
  }))
).pipe(Layer.provide(Sqlite.layer({ filename: ":memory:", migrations })))

const stores = Stores.layer.pipe(Layer.provide(counting))

const sender: Sender.Sender = {
  provider: "sandbox",
  deduplicates: true,
  send: () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))
}

const engine = (sender: Sender.Sender) =>
  Engine.layer().pipe(
    Layer.provide(RecordingTransport.layer),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(AddressPolicy.layer([]))
  )

const below = Layer.merge(stores, SecretBox.layerRandom)

const layer = Layer.provideMerge(engine(sender), below)

const left = Effect.unsafeMakeLatch()

/** Answers after ten seconds, which is before anybody loses patience. */
const slow = engine({
  ...sender,
  send: (message) => Effect.zipRight(left.open, Effect.delay(sender.send(message), "10 seconds"))
})

const phones = Array.from({ length: 250 }, (_, n) => `346${String(n).padStart(8, "0")}`)

const bodyFor = (template: Template | undefined, recipients: number) => ({
  templateId: template?.templateId ?? 0,
  recipients: phones.slice(0, recipients).map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
})

const tenant = Effect.gen(function* () {
  const { admin, identify, send } = yield* Engine.Engine
  const plan = { minimumWaitMs: 0, requestsPerMinute: 1_000_000, dailyTemplateRecipients: null }
  const account = yield* admin.accounts.create({ name: "Shop", plan })
  const session = yield* admin.sessions.create(account.id, { name: "Shop", provider: "sandbox" })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [greeting])
  yield* admin.consents.record(
    account.id,
    phones.map((phone) => ({ phone, source: "form" }))
  )
  const credentials = { publicKey: key.publicKey, secretKey }
  let sends = 0
  return (recipients: number) =>
    Effect.flatMap(identify(credentials), (caller) => {
      sends += 1
      return send(caller, { idempotencyKey: `send-${sends}`, request: bodyFor(template, recipients) })
    })
})

/** A direct message that is under way for ten seconds, and its request, to be repeated in this process and in another. */
const underWay = Effect.gen(function* () {
  const here = yield* Engine.Engine
  const there = Context.get(yield* Layer.build(Layer.fresh(slow)), Engine.Engine)
  const account = yield* here.admin.accounts.create({ name: "Shop" })
  const session = yield* here.admin.sessions.create(account.id, { name: "Shop", provider: "sandbox" })
  const { key, secretKey } = yield* here.admin.keys.issue(session.id, {})
  yield* here.admin.consents.record(account.id, [{ phone: "34600000100", source: "form" }])
  const caller = yield* here.identify({ publicKey: key.publicKey, secretKey })
  const request = { to: "34600000100", message: "Hello" }
  const ask = (engine: typeof here) => engine.sendDirect(caller, { idempotencyKey: "one", request })
  yield* left.close
  const first = yield* Effect.forkDaemon(ask(here))
  yield* left.await
  /** So many requests at once; returns when each has looked whether its key is in use. */
  const repeat = (engine: typeof here, count: number) =>
    Effect.gen(function* () {
      counts.reads = 0
      const asked = Effect.all(
        Array.from({ length: count }, () => Effect.either(ask(engine))),
        { concurrency: count }
      )
      const fiber = yield* Effect.fork(asked)
      yield* Effect.repeat(Effect.yieldNow(), { until: () => counts.reads >= count })
      yield* TestClock.adjust("1 millis")
      return fiber
    })
  return { first, here, repeat, there }
})

const during = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    Object.assign(counts, { reads: 0, statements: 0, rows: 0, writes: 0 })
    return Effect.map(effect, () => ({ ...counts }))
  })

describe("the cost", () => {
  it.effect("of accepting is one commit, and statements that hardly grow with the recipients", () =>
    Effect.gen(function* () {
      const send = yield* tenant
      yield* send(1)
      const one = yield* during(send(1))
      expect(one.writes).toBe(1)
      expect(one.statements).toBeLessThanOrEqual(10)
      const many = yield* during(send(250))
      expect(many.writes).toBe(1)
      // The rows of recipients go in fifties; and one look-up finds those of equal values who are one person.
      expect(many.statements).toBe(one.statements + 5)
    }).pipe(Effect.provide(layer))
  )

  it.effect("of looking at a caller is nothing when it was just identified, else a statement a second", () =>
    Effect.gen(function* () {
      const { admin, authorize, identify } = yield* Engine.Engine
      const { id } = yield* admin.accounts.create({ name: "Shop" })
      const session = yield* admin.sessions.create(id, { name: "Shop", provider: "sandbox" })
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const caller = yield* identify({ publicKey: key.publicKey, secretKey })
      const statements = Effect.map(during(authorize(caller, "messages:send")), (cost) => cost.statements)
      expect(yield* statements).toBe(0)
      for (let second = 0; second < 3; second++) {
        yield* TestClock.adjust("1 second")
        expect([yield* statements, yield* statements]).toEqual([1, 0])
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "of refusing a caller is the same reads, hashes and comparisons for an unknown key as for a wrong secret",
    () =>
      Effect.gen(function* () {
        const { admin, identify } = yield* Engine.Engine
        const { id } = yield* admin.accounts.create({ name: "Shop" })
        const session = yield* admin.sessions.create(id, { name: "Shop", provider: "sandbox" })
        const issue = () => admin.keys.issue(session.id, {})
        const [key, rotated, inactive, revoked] = yield* Effect.all([issue(), issue(), issue(), issue()])
        yield* admin.keys.rotate(rotated.key.publicKey, {})
        yield* admin.keys.rotate(rotated.key.publicKey, {})
        yield* admin.keys.change(inactive.key.publicKey, { status: "inactive" })
        yield* admin.keys.revoke(revoked.key.publicKey)
        const work = Effect.fnUntraced(function* (publicKey: string, secretKey: string) {
          const { hmac, timingSafeEqual } = yield* spied
          const cost = yield* during(Effect.flip(identify({ publicKey, secretKey })))
          return { ...cost, hashes: hmac.mock.calls.length, comparisons: timingSafeEqual.mock.calls.length }
        }, Effect.scoped)
        const secretKey = `${key.secretKey.slice(0, -1)}~`
        const ofUnknown = yield* work(`${key.key.publicKey.slice(0, -1)}~`, secretKey)
        expect(ofUnknown).toEqual({ reads: 1, statements: 1, rows: 1, writes: 0, hashes: 1, comparisons: 3 })
        for (const { key: wrong } of [key, rotated, inactive, revoked]) {
          expect(yield* work(wrong.publicKey, secretKey)).toEqual(ofUnknown)
        }
        expect(yield* work(revoked.key.publicKey, revoked.secretKey)).toEqual(ofUnknown)
      }).pipe(Effect.provide(layer))
  )

  it.effect("of waiting for a direct message is one look for all who repeat it, once it has ended", () =>
    Effect.gen(function* () {
      const { first, here, repeat } = yield* underWay
      const repeating = yield* repeat(here, 30)
      expect((yield* during(TestClock.adjust("9 seconds"))).reads).toBe(0)
      expect((yield* during(TestClock.adjust("1 second"))).reads).toBe(1)
      const answer = { ...(yield* Fiber.join(first)), replayed: true }
      expect((yield* Fiber.join(repeating)).map(Either.getOrNull)).toEqual(Array(30).fill(answer))
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(slow, below)))
  )

  it.effect("of waiting for one of another process is a look at growing intervals, shared by all", () =>
    Effect.gen(function* () {
      const { first, repeat, there } = yield* underWay
      const repeating = yield* repeat(there, 30)
      expect((yield* during(TestClock.adjust("1550 millis"))).reads).toBe(5)
      expect((yield* during(TestClock.adjust("8 seconds"))).reads).toBe(8)
      yield* TestClock.adjust("1 second")
      const answer = { ...(yield* Fiber.join(first)), replayed: true }
      expect((yield* Fiber.join(repeating)).map(Either.getOrNull)).toEqual(Array(30).fill(answer))
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(slow, below)))
  )

  it.effect(
    "of waiting for a direct message ends with the last who waits, and few of a key wait at once",
    () =>
      Effect.gen(function* () {
        const { repeat, there } = yield* underWay
        const waiting = yield* repeat(there, mostWaiting)
        const refused = yield* Fiber.join(yield* repeat(there, 3))
        expect(refused.map(Either.flip).map(Either.getOrNull)).toMatchObject(
          Array(3).fill({ _tag: "Overloaded", waitingFor: "outcome", retryAfterMs: 1000 })
        )
        yield* Fiber.interrupt(waiting)
        expect((yield* during(TestClock.adjust("5 seconds"))).reads).toBe(0)
        const again = yield* repeat(there, mostWaiting)
        yield* TestClock.adjust("6 seconds")
        expect((yield* Fiber.join(again)).every(Either.isRight)).toBe(true)
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(slow, below)))
  )

  it.effect("of draining 1,000 recipients is few commits, however many jobs they are in", () =>
    Effect.gen(function* () {
      const { drain } = yield* Engine.Engine
      // A young process claims only what it can begin at once.
      yield* TestClock.adjust("30 seconds")
      const send = yield* tenant
      const jobsOf = (recipients: number) =>
        Effect.gen(function* () {
          for (let job = 0; job < 1000 / recipients; job++) yield* send(recipients)
          return yield* during(drain)
        })
      // The first windows are small: it has to show that the platform is quick.
      yield* jobsOf(250)
      const large = yield* jobsOf(250)
      const small = yield* jobsOf(1)
      for (const { statements, writes } of [large, small]) {
        expect(writes).toBeLessThanOrEqual(24)
        expect(statements).toBeLessThanOrEqual(1000 * 0.25)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "of claiming the only job that waits is one look for jobs, where it waits, and no other that finds nothing",
    () =>
      Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        const send = yield* tenant
        yield* send(1)
        yield* drain
        yield* send(1)
        // Two rounds of a drain, each with a look at connected sessions, at processes that may have died, at templates to be fetched,
        // at retries of many jobs, at what is due and at what is left over; the attempt's own row; what expired;
        // and a look whether recipients are to be written down.
        const { statements, writes } = yield* during(drain)
        expect({ statements, writes }).toEqual({ statements: 41, writes: 7 })
      }).pipe(Effect.provide(layer))
  )

  it.effect("of 1,000 reports is ten commits, so that none keeps the event loop for long", () =>
    Effect.gen(function* () {
      const { receive } = yield* Engine.Engine
      const reports = phones.flatMap((phone) =>
        Array.from({ length: 4 }, (_, index) => ({
          messageId: null,
          providerId: `${phone}-${index}`,
          status: "delivered" as const,
          at: Time.at(0),
          failure: null
        }))
      )
      expect((yield* during(receive(reports))).writes).toBe(10)
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "of 1,000 texts of a hook, 100 of them opt-outs, is eleven commits, and of their repetition as many that write nothing",
    () =>
      Effect.gen(function* () {
        const inbound = (yield* Worker.Worker).inbound
        const { admin } = yield* Engine.Engine
        const account = yield* admin.accounts.create({ name: "Shop" })
        const session = yield* admin.sessions.create(account.id, { name: "Shop", provider: "sandbox" })
        const messages = Array.from({ length: 1000 }, (_, n) => ({
          id: `m${n}`,
          from: `346${String(n).padStart(8, "0")}`,
          text: n % 10 === 0 ? "STOP" : "Hello",
          at: Time.at(0)
        }))
        const content = { reports: [], messages, preferences: [], templates: [], session: [], unread: [] }
        const first = yield* during(inbound.content(session, content))
        expect(first.writes).toBe(11)
        const again = yield* during(inbound.content(session, content))
        expect(again.writes).toBe(11)
        expect(again.statements).toBeLessThanOrEqual(50)
      }).pipe(Effect.provide(layer))
  )
})
