/** Hosts whose clocks are wrong, or are set while they run: nothing waits longer than 30 s for it (docs/adr/0021). */
import { Instant } from "@sendwright/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { describe, expect, it } from "vitest"
import * as Engine from "../../packages/core/src/engine/Engine.ts"
import * as SecretBox from "../../packages/core/src/secret/SecretBox.ts"
import * as Sender from "../../packages/core/src/sender/Sender.ts"
import { JobStore } from "../../packages/core/src/storage/JobStore.ts"
import { StoreTime } from "../../packages/core/src/storage/StoreTime.ts"
import * as Memory from "../../packages/core/src/storage/sqlite/Memory.ts"
import * as SqliteHandle from "../../packages/core/src/storage/sqlite/OverHandle.ts"
import { WebhookStore } from "../../packages/core/src/storage/WebhookStore.ts"
import * as AddressPolicy from "../../packages/core/src/webhook/AddressPolicy.ts"
import { WebhookTransport } from "../../packages/core/src/webhook/WebhookTransport.ts"
import * as Worker from "../../packages/core/src/worker/Worker.ts"
import * as Time from "./Time.ts"
import { template } from "./World.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const skews = [5 * minute, -5 * minute, hour, -hour, day, -day]

const busy = { code: "busy", provider_code: null, message: "Not now.", permanent: false }

/** It takes each message at the second attempt. */
const sender = (): Sender.Sender => {
  const seen = new Set<string>()
  return {
    provider: "sandbox",
    deduplicates: true,
    send: ({ messageId }) =>
      Effect.sync(() => {
        if (seen.has(messageId))
          return Sender.SendResult.Accepted({ providerId: messageId, status: "accepted" })
        seen.add(messageId)
        return Sender.SendResult.Transient({ failure: busy, retryAfterMs: null })
      })
  }
}

/** It takes each event at the second attempt. */
const transport = () => {
  const seen = new Set<string>()
  return Layer.succeed(WebhookTransport, {
    post: ({ body }) =>
      Effect.sync(() => {
        const status = seen.has(body) ? 200 : 500
        seen.add(body)
        return { _tag: "Answered", status, retryAfter: null, excerpt: "" } as const
      })
  })
}

interface Scenario {
  /** By how much the clocks of the host that accepts and of the one that sends are wrong at first. */
  readonly accepting: number
  readonly sending: number
  /** True when they ask the store for its time; otherwise both are one host, with its clock. */
  readonly shared: boolean
  /** By how much they are wrong from so many milliseconds after the send. */
  readonly later?: { readonly afterMs: number; readonly accepting: number; readonly sending: number }
  /** True when somebody who has half of the recipients and deliveries in hand is dead. */
  readonly bereaved?: boolean
}

const patience = 5 * minute

/** How long a send takes until every recipient has its message and every event its receiver, in milliseconds. */
const took = async (scenario: Scenario): Promise<number> => {
  const time = Time.make(1_700_000_000_000)
  const scope = Effect.runSync(Scope.make())
  const database = Memory.open()
  const stores = Effect.runSync(
    Layer.buildWithScope(SqliteHandle.layer({ database, migrate: true }), scope).pipe(
      Effect.withClock(time.clock)
    )
  )
  const asked = scenario.shared
    ? Effect.as(Effect.sleep(10), 0).pipe(Effect.map(time.now), Effect.map(Instant.at))
    : null
  const outside = Layer.mergeAll(
    Sender.layer(sender()),
    transport(),
    AddressPolicy.layer([]),
    SecretBox.layer(Redacted.make(new Uint8Array(32))),
    Layer.succeedContext(stores),
    Layer.succeed(StoreTime, asked)
  )

  const host = (wrongBy: { ms: number }, loops: boolean) => {
    const setting = <A, E>(effect: Effect.Effect<A, E>) =>
      effect.pipe(
        Logger.withMinimumLogLevel(LogLevel.None),
        Effect.withClock(time.clockOf(wrongBy)),
        Effect.withRandom(Random.make("clocks"))
      )
    const engine = Engine.layer().pipe(Layer.provide(outside))
    const layer = loops ? Layer.provideMerge(Worker.layerLoops, engine) : engine
    return {
      start: async () => {
        const built = Effect.runPromise(setting(Layer.buildWithScope(layer, scope)))
        await time.pass(50)
        return Context.get(await built, Engine.Engine)
      },
      run: <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(setting(effect))
    }
  }

  const [accepting, sending] = [{ ms: scenario.accepting }, { ms: scenario.sending }]
  const api = host(accepting, false)
  const { admin, identify, send } = await api.start()
  const sendAll = Effect.gen(function* () {
    const account = yield* admin.accounts.create({ name: "a" })
    const session = yield* admin.sessions.create(account.id, { name: "s", provider: "sandbox" })
    yield* admin.sessions.connect(session.id)
    const { key, secretKey } = yield* admin.keys.issue(session.id, {})
    const {
      templates: [imported]
    } = yield* admin.templates.importAll(session.id, [template("APPROVED")])
    yield* admin.webhooks.create(account.id, { url: "https://example.com/hook", events: ["*"] })
    const phones = Array.from({ length: 6 }, (_, n) => `3460000000${n}`)
    yield* admin.consents.record(
      account.id,
      phones.map((phone) => ({ phone, source: "test" }))
    )
    const caller = yield* identify({ publicKey: key.publicKey, secretKey })
    const recipients = phones.map((phone) => ({ phone, variables: { "body.1": "x" } }))
    const request = { templateId: imported?.templateId ?? 0, recipients }
    return yield* send(caller, { idempotencyKey: "k", request })
  })
  const worker = host(sending, true)
  // One that is there already looks for nothing that a wrong clock may have left behind.
  const isThere = scenario.shared && scenario.bereaved !== true
  if (isThere) await worker.start()
  await api.run(sendAll)
  if (scenario.bereaved === true) {
    const now = Instant.at(time.now() + (scenario.shared ? 10 : scenario.accepting))
    const claim = { worker: "gone", limit: 3, full: [], room: () => 3 }
    const command = { now, settlements: [], claim }
    const taken = await api.run(Context.get(stores, JobStore).settleAndClaim(command))
    expect(taken.claimed[0]?.recipients).toHaveLength(3)
    const held = await api.run(Context.get(stores, WebhookStore).settleAndClaim(command))
    expect(held.claimed).not.toHaveLength(0)
  }
  const began = time.now()
  if (!isThere) await worker.start()

  const isDone = (): boolean =>
    [
      "sendwright_progress WHERE completed_at IS NULL",
      "sendwright_delivery WHERE status <> 'delivered'"
    ].every((waiting) => database.prepare(`SELECT 1 FROM ${waiting} LIMIT 1`).all().length === 0)
  let waited = 0
  while (!isDone() && waited < patience) {
    const { later } = scenario
    if (later !== undefined && waited >= later.afterMs) {
      accepting.ms = later.accepting
      sending.ms = later.sending
    }
    await time.pass(250)
    waited = time.now() - began
  }
  await Promise.all([Effect.runPromise(Scope.close(scope, Exit.void)), time.pass(minute)])
  return waited
}

/** Takes the last of it, since a retry may come sooner where a clock is set. */
const longest = 30 * second

describe("two hosts that ask one database for its time", () => {
  for (const bereaved of [false, true]) {
    const what = bereaved ? "whose third died" : "that live"
    it(`${what}, send and deliver as soon as ever with either clock wrong`, async () => {
      const right = await took({ accepting: 0, sending: 0, shared: true, bereaved })
      expect(right).toBeLessThan(bereaved ? minute : longest)
      if (bereaved) expect(right).toBeGreaterThan(15 * second)
      for (const skew of skews) {
        expect(await took({ accepting: skew, sending: 0, shared: true, bereaved })).toBeLessThanOrEqual(
          right + second
        )
        expect(await took({ accepting: 0, sending: skew, shared: true, bereaved })).toBeLessThanOrEqual(
          right + second
        )
      }
    })
  }

  it("send and deliver as soon as ever when either clock is set meanwhile", async () => {
    const right = await took({ accepting: 0, sending: 0, shared: true })
    for (const skew of skews) {
      for (const afterMs of [0, 500, 2000]) {
        const later = { afterMs, accepting: -skew, sending: skew }
        expect(await took({ accepting: skew, sending: 0, shared: true, later })).toBeLessThanOrEqual(
          right + second
        )
      }
    }
  })
})

describe("a host that has its store to itself", () => {
  for (const bereaved of [false, true]) {
    const what = bereaved ? "after a worker died" : "with every worker alive"
    it(`makes nothing wait longer when its clock is set, ${what}`, async () => {
      const right = await took({ accepting: 0, sending: 0, shared: false, bereaved })
      for (const skew of skews) {
        // Between two runs.
        expect(await took({ accepting: skew, sending: 0, shared: false, bereaved })).toBeLessThan(
          right + longest
        )
        for (const afterMs of [0, 500, 2000]) {
          const later = { afterMs, accepting: skew, sending: skew }
          expect(
            await took({ accepting: 0, sending: 0, shared: false, bereaved, later }),
            `by ${skew} ms after ${afterMs} ms`
          ).toBeLessThan(right + longest)
        }
      }
    })
  }
})
