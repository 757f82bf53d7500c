/**
 * A process that can die between any two steps: whatever it asks of a store or a platform passes a gate. Of a dead
 * one nothing passes any more, nothing is undone and nothing tidied up. A frozen one goes on later, as a process
 * does after its machine was suspended.
 */

import { Instant } from "@sendwright/core"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { RandomBytes } from "../../packages/core/src/domain/Ids.ts"
import * as Engine from "../../packages/core/src/engine/Engine.ts"
import * as SecretBox from "../../packages/core/src/secret/SecretBox.ts"
import { Senders } from "../../packages/core/src/sender/Sender.ts"
import { AccountStore } from "../../packages/core/src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../packages/core/src/storage/ApiKeyStore.ts"
import { AuditStore } from "../../packages/core/src/storage/AuditStore.ts"
import { ConsentStore } from "../../packages/core/src/storage/ConsentStore.ts"
import { ErasureStore } from "../../packages/core/src/storage/ErasureStore.ts"
import { HappeningStore } from "../../packages/core/src/storage/HappeningStore.ts"
import { HealthStore } from "../../packages/core/src/storage/HealthStore.ts"
import { InboundStore } from "../../packages/core/src/storage/InboundStore.ts"
import { JobStore } from "../../packages/core/src/storage/JobStore.ts"
import { KeyringStore } from "../../packages/core/src/storage/KeyringStore.ts"
import { OperatorStore } from "../../packages/core/src/storage/OperatorStore.ts"
import { RateCardStore } from "../../packages/core/src/storage/RateCardStore.ts"
import { RateLimitStore } from "../../packages/core/src/storage/RateLimitStore.ts"
import { RestoreStore } from "../../packages/core/src/storage/RestoreStore.ts"
import { RetentionStore } from "../../packages/core/src/storage/RetentionStore.ts"
import { RetryPlanStore } from "../../packages/core/src/storage/RetryPlanStore.ts"
import { SessionStore } from "../../packages/core/src/storage/SessionStore.ts"
import { SizeStore } from "../../packages/core/src/storage/SizeStore.ts"
import { StorageError } from "../../packages/core/src/storage/StorageError.ts"
import type { Stores } from "../../packages/core/src/storage/Stores.ts"
import { StoreTime } from "../../packages/core/src/storage/StoreTime.ts"
import { TemplateStore } from "../../packages/core/src/storage/TemplateStore.ts"
import { Transactions } from "../../packages/core/src/storage/Transactions.ts"
import { WebhookStore } from "../../packages/core/src/storage/WebhookStore.ts"
import * as AddressPolicy from "../../packages/core/src/webhook/AddressPolicy.ts"
import { WebhookTransport } from "../../packages/core/src/webhook/WebhookTransport.ts"
import type { Random as Draws } from "../support/Random.ts"
import type { Platform } from "./Platform.ts"
import { providers } from "./Platform.ts"
import type { Time } from "./Time.ts"

export interface Machine {
  readonly engine: Context.Tag.Service<Engine.Engine>
  readonly isAlive: () => boolean
  readonly isFree: () => boolean
  /** Starts work of it, which goes on while time passes. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<Exit.Exit<A, E>>
  readonly crash: () => void
  readonly freeze: (ms: number) => void
}

export interface Surroundings {
  readonly time: Time
  readonly draws: Draws
  readonly bytes: (count: number) => Uint8Array
  readonly stores: Context.Context<Stores>
  readonly platform: Platform
  readonly post: (url: string, body: string) => number
  /** By how many milliseconds its clock is wrong: it asks the store for its time. Null = its clock is the store's. */
  readonly wrongBy: number | null
  /** While false, nothing crashes by itself and no store fails. */
  readonly faulty: () => boolean
}

/**
 * `counted` waits in the process for something to write, and asks no database. `hashKey` is asked at the start, where a process that
 * dies has done nothing yet.
 */
const ungated: ReadonlySet<string | symbol> = new Set(["counted", "hashKey"])

export const start = async (surroundings: Surroundings): Promise<Machine> => {
  const { bytes, draws, faulty, platform, post, stores, time, wrongBy } = surroundings
  const wrong = time.clockOf({ ms: wrongBy ?? 0 })
  let alive = true
  let frozenUntil = 0
  let busy = 0

  const crash = (): void => {
    alive = false
  }

  const pass: Effect.Effect<void> = Effect.suspend(() => {
    if (!alive) return Effect.never
    const left = frozenUntil - time.now()
    return left > 0 ? Effect.zipRight(Effect.sleep(left), pass) : Effect.void
  })

  /** A call of a store: it takes a moment before and after its commit, and either may be the last that is heard. */
  const gate = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageError, R> =>
    Effect.gen(function* () {
      yield* pass
      if (faulty() && draws() < 0.3) yield* Effect.zipRight(Effect.sleep(draws() * 50), pass)
      const draw = faulty() ? draws() : 1
      if (draw < 0.004) {
        crash()
        return yield* Effect.never
      }
      if (draw < 0.01) return yield* new StorageError({ operation: "simulated", cause: "before the commit" })
      // The store is not the process: its sleepers wake when the process that asked is dead.
      const value = yield* Effect.withClock(time.outside(effect), wrong)
      if (draw < 0.014) {
        crash()
        return yield* Effect.never
      }
      if (draw < 0.02) return yield* new StorageError({ operation: "simulated", cause: "after the commit" })
      yield* pass
      return value
    })

  const guarded = <S extends object>(service: S): S =>
    new Proxy(service, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (ungated.has(name)) return value
        if (Effect.isEffect(value)) return gate(value)
        if (typeof value !== "function") return value
        return (...parameters: ReadonlyArray<unknown>): unknown => {
          const answer: unknown = Reflect.apply(value, target, parameters)
          return Effect.isEffect(answer) ? gate(answer) : answer
        }
      }
    })

  const store = <Id, S extends object>(tag: Context.Tag<Id, S>) =>
    Layer.succeed(tag, guarded(Context.get(stores as Context.Context<Id | Stores>, tag)))

  const all = Layer.mergeAll(
    store(AccountStore),
    store(ApiKeyStore),
    store(AuditStore),
    store(ConsentStore),
    store(ErasureStore),
    store(HappeningStore),
    store(InboundStore),
    store(JobStore),
    store(OperatorStore),
    store(RateCardStore),
    store(RateLimitStore),
    store(RetentionStore),
    store(RetryPlanStore),
    store(SessionStore),
    store(SizeStore),
    store(TemplateStore),
    store(WebhookStore),
    Layer.succeed(Transactions, Context.get(stores, Transactions)),
    // Asked at the start alone, where a process that dies has done nothing yet.
    Layer.succeed(HealthStore, Context.get(stores, HealthStore)),
    Layer.succeed(KeyringStore, Context.get(stores, KeyringStore)),
    // Nothing is restored here.
    Layer.succeed(RestoreStore, Context.get(stores, RestoreStore))
  )

  const senders = Layer.succeed(
    Senders,
    new Map(
      providers.map((provider) => {
        const sender = platform.sender(provider)
        const { lookUp } = sender
        const gated = {
          ...sender,
          send: (message: Parameters<typeof sender.send>[0]) =>
            Effect.zipRight(pass, Effect.zipLeft(sender.send(message), pass)),
          ...(lookUp === undefined
            ? {}
            : {
                lookUp: (message: Parameters<typeof lookUp>[0]) =>
                  Effect.zipRight(pass, Effect.zipLeft(lookUp(message), pass))
              })
        }
        return [provider, gated] as const
      })
    )
  )

  const transport = Layer.succeed(WebhookTransport, {
    post: ({ body, url }) =>
      Effect.gen(function* () {
        yield* pass
        yield* Effect.sleep(draws() * 300)
        const status = post(url, body)
        yield* pass
        return status === 0
          ? { _tag: "Unanswered" as const, reason: "timeout" as const, status: null }
          : { _tag: "Answered" as const, status, retryAfter: null, excerpt: "" }
      })
  })

  const layer = Engine.layer({ concurrency: 8 }).pipe(
    Layer.provide([
      all,
      senders,
      transport,
      AddressPolicy.layer([]),
      SecretBox.layer(Redacted.make(new Uint8Array(32))),
      Layer.succeed(RandomBytes, bytes),
      Layer.succeed(
        StoreTime,
        wrongBy === null ? null : Effect.zipRight(pass, Effect.map(Effect.sync(time.now), Instant.at))
      )
    ])
  )

  const clock: Clock.Clock = {
    ...wrong,
    // Who sleeps in a process that is dead does not wake.
    sleep: (duration) =>
      Effect.zipRight(
        wrong.sleep(duration),
        Effect.suspend(() => (alive ? Effect.void : Effect.never))
      )
  }

  const setting = <A, E>(effect: Effect.Effect<A, E>) =>
    effect.pipe(
      Logger.withMinimumLogLevel(LogLevel.None),
      Effect.withClock(clock),
      Effect.withRandom(Random.make(Math.floor(draws() * 2 ** 31)))
    )

  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(setting(Layer.buildWithScope(layer, scope)))

  return {
    engine: Context.get(context, Engine.Engine),
    isAlive: () => alive,
    isFree: () => alive && busy === 0,
    crash,
    freeze: (ms) => {
      frozenUntil = time.now() + ms
    },
    run: async (effect) => {
      busy += 1
      const exit = await Effect.runPromiseExit(setting(effect))
      busy -= 1
      return exit
    }
  }
}
