/**
 * Consent is one question (contract.md §11): it is asked when a send is accepted and again before its attempts, of the
 * records of the store or of a source of the embedder's own.
 */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type * as Sender from "../../src/sender/Sender.ts"
import { ConsentSource } from "../../src/storage/ConsentSource.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { owner, results } from "../StorageSuite/Setup.ts"
import { accepted, acceptOf, embedded, platform, running } from "../worker/Support.ts"

const variables = { "body.1": "Ana", "body.2": "Monday" }
const [ana, ben] = ["34600000001", "34600000002"]

/** Who objects, as an embedder knows it, and whom it was asked for. */
const own = () => {
  const objectors = new Set<string>()
  const asked: Array<string> = []
  const layer = Layer.succeed(ConsentSource, {
    refusals: (_account, people, purpose) =>
      Effect.sync(() => {
        asked.push(purpose)
        const refused = people.flatMap((phone, place) => (objectors.has(phone) ? [place] : []))
        return new Map(refused.map((place) => [place, { _tag: "Missing" } as const]))
      })
  })
  return { asked, layer, objectors }
}

describe("a source of the embedder's own", () => {
  it.scoped("refuses at the acceptance, and before the attempts of what was accepted", () =>
    Effect.gen(function* () {
      const { asked, layer, objectors } = own()
      const { sender, sent } = platform({})
      const context = yield* Layer.build(Layer.provide(embedded(sender), layer))
      yield* Effect.gen(function* () {
        const engine = yield* Engine.Engine
        const phones = [ana, ben]
        const { caller, templateId } = yield* prepare(engine, phones)
        const send = (idempotencyKey: string) =>
          engine.send(caller, {
            idempotencyKey,
            request: { templateId, recipients: phones.map((phone) => ({ phone, variables })) }
          })
        objectors.add(ana)
        expect(yield* Effect.flip(send("1"))).toMatchObject({ _tag: "ConsentRequired" })
        objectors.clear()
        const { jobId } = yield* send("2")
        // The records of the store say yes; the source does not any more.
        objectors.add(ben)
        yield* engine.drain
        expect((yield* results(jobId)).map(({ address: phone, status }) => [phone, status])).toEqual([
          [ana, "accepted"],
          [ben, "skipped"]
        ])
        expect(sent).toHaveLength(1)
        expect(new Set(asked).size).toBe(1)
      }).pipe(Effect.provide(context))
    }).pipe(Effect.provide(Memory.layer))
  )
})

const revoke = Effect.fnUntraced(function* (
  accountId: string,
  jobId: string,
  purpose: "all" | "marketing" = "all"
) {
  const consents = yield* ConsentStore
  const records = (yield* results(jobId)).map(({ address: phone }) =>
    Fixtures.consent(phone, { status: "revoked", purpose, occurredAt: Time.at(1) })
  )
  yield* consents.record({ accountId, records })
})

const statusesOf = (jobId: string) =>
  Effect.map(results(jobId), (all) => [...new Set(all.map(({ status }) => status))])

describe("a message whose template has another category now", () => {
  it.scoped("needs consent for both: as it was accepted, and as it is", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({})
      const context = yield* Layer.build(embedded(sender))
      yield* Effect.gen(function* () {
        const engine = yield* Engine.Engine
        const phones = [ana, ben]
        const { accountId, caller, templateId } = yield* prepare(engine, phones)
        const request = { templateId, recipients: phones.map((phone) => ({ phone, variables })) }
        const { jobId } = yield* engine.send(caller, { idempotencyKey: "1", request })
        const stop = { phone: ben, source: "call centre", status: "revoked", purpose: "marketing" } as const
        yield* engine.admin.consents.record(accountId, [stop])
        const { sessionId } = (yield* (yield* JobStore).find(jobId)) ?? { sessionId: "" }
        const components = [{ type: "BODY", text: "Hello {{1}}, your order arrives {{2}}." }]
        const changed = { name: "order_shipped", language: "en", category: "MARKETING", components }
        yield* engine.admin.templates.importAll(sessionId, [{ ...changed, status: "APPROVED" }])
        yield* engine.drain
        expect((yield* results(jobId)).map(({ address: phone, status }) => [phone, status])).toEqual([
          [ana, "accepted"],
          [ben, "skipped"]
        ])
        expect(sent).toHaveLength(1)
      }).pipe(Effect.provide(context))
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("consent that ends while an attempt waits", () => {
  /** A platform that takes a while to say that it does not have the message. */
  const slowly = (some: Partial<Sender.Sender>) =>
    platform({ lookUp: () => Effect.delay(Effect.succeed(null), "20 seconds"), ...some }, () =>
      Effect.succeed(accepted)
    )

  it.effect("is asked for again after a look-up", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const jobId = yield* acceptOf(who, 1)
      const jobs = yield* JobStore
      // A worker died over it, so that the platform is asked first.
      yield* jobs.settleAndClaim({ now: Time.at(1), settlements: [], claim: { worker: "dead", limit: 1 } })
      yield* jobs.rescue({ worker: "dead", now: Time.at(2), recoverable: ["sandbox"] })
      const { sender, sent } = slowly({})
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        yield* revoke(who.accountId, jobId)
        yield* TestClock.adjust("30 seconds")
      }).pipe(Effect.provide(running(sender)))
      expect(sent).toEqual([])
      expect(yield* statusesOf(jobId)).toEqual(["skipped"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("and cannot be asked for sends nothing, at no cost of an attempt", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const jobId = yield* acceptOf(who, 1)
      const jobs = yield* JobStore
      const store = yield* ConsentStore
      yield* jobs.settleAndClaim({ now: Time.at(1), settlements: [], claim: { worker: "dead", limit: 1 } })
      yield* jobs.rescue({ worker: "dead", now: Time.at(2), recoverable: ["sandbox"] })
      let asked = 0
      const breaking = Layer.succeed(ConsentStore, {
        ...store,
        refusals: (query) => {
          asked += 1
          return asked === 2
            ? Effect.fail(new StorageError({ operation: "ConsentStore.refusals", cause: "It is away." }))
            : store.refusals(query)
        }
      })
      const { sender, sent } = slowly({})
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("30 seconds")
        expect(sent).toEqual([])
        yield* TestClock.adjust("30 seconds")
        expect(sent).toHaveLength(1)
      }).pipe(Effect.provide(Layer.provide(running(sender), breaking)))
      expect(asked).toBe(4)
      const [recipient] = yield* results(jobId)
      expect(recipient).toMatchObject({ status: "accepted", attempts: 2 })
    }).pipe(Effect.provide(Memory.layer))
  )
})
