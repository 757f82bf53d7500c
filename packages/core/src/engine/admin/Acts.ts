/**
 * How operators' acts are recorded in the audit log: each that has an entry here runs inside `record`. What is not here
 * reads: a test asks every operation of the API that is no GET for its record.
 */
import * as Effect from "effect/Effect"
import type { View } from "../../domain/Audit.ts"
import * as Audit from "../../domain/Audit.ts"
import type { RateCard } from "../../domain/billing/RateCard.ts"
import * as Instant from "../../domain/Instant.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { ApiKeyStore } from "../../storage/ApiKeyStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import { OperatorStore } from "../../storage/OperatorStore.ts"
import { RetryPlanStore } from "../../storage/RetryPlanStore.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { WebhookStore } from "../../storage/WebhookStore.ts"
import { Precondition } from "../Acting.ts"
import type { Admin } from "./Groups.ts"
import type { Recorder, Recording } from "./Recorder.ts"

/** An act's rows are methods, so that an act of any arguments fits one type. */
export interface Act<Args extends ReadonlyArray<unknown> = ReadonlyArray<unknown>, A = unknown> {
  /** The id of the changed object, if it exists before the act. */
  on?(...args: Args): string
  before?(...args: Args): Effect.Effect<View | null, StorageError>
  /** Null where it was a look: a dry run changes nothing, and is not recorded. */
  entry(answer: A, ...args: Args): ReturnType<Recording<A>["entry"]>
}

/** `records` records by itself, because it has several commits or acts outside the database first. */
type Recorded<Operation> = Operation extends (...args: infer Args) => Effect.Effect<infer A, infer _E>
  ? "records" | Act<Args, A>
  : "records"

type Group<Name extends keyof Admin> = {
  readonly [Operation in keyof Admin[Name]]?: Recorded<Admin[Name][Operation]>
}

export type Acts = { readonly [Name in keyof Admin]?: Group<Name> }

const seen =
  <A>(view: (found: A) => View) =>
  <E>(find: Effect.Effect<A | null, E>): Effect.Effect<View | null, E> =>
    Effect.map(find, (found) => (found === null ? null : view(found)))

const first = (id: string): string => id

/** A card has no id before it is there: they are added one after the other. */
const allCards = (): string => "rate-cards"

const card = ({ currency, effectiveFrom, id, prices }: RateCard) => ({
  target: id,
  after: { currency, effective_from: Instant.format(effectiveFrom), prices: prices.length }
})

/** Reads a thing as it is before the act, by its id. */
type Before = (id: string) => Effect.Effect<View | null, StorageError>

const accountActs = (before: Before): Group<"accounts"> => ({
  create: { entry: (made) => ({ target: made.id, after: Audit.account(made) }) },
  change: {
    on: first,
    before,
    entry: (changed) => ({ target: changed.id, after: Audit.account(changed) })
  }
})

const sessionActs = (before: Before): Group<"sessions"> => ({
  create: { entry: (made) => ({ target: made.id, after: Audit.session(made, "set") }) },
  change: {
    on: first,
    before,
    entry: (changed, _, { config }) => ({
      target: changed.id,
      after: Audit.session(changed, config === undefined ? "kept" : "changed")
    })
  },
  connect: "records",
  disconnect: {
    on: first,
    before,
    entry: (changed) => ({ target: changed.id, after: Audit.session(changed) })
  }
})

const keyActs = (before: Before): Group<"keys"> => ({
  issue: { entry: ({ key }) => ({ target: key.publicKey, after: Audit.key(key) }) },
  rotate: {
    on: first,
    before,
    entry: ({ key }) => ({ target: key.publicKey, after: Audit.key(key) })
  },
  revoke: {
    on: first,
    before,
    entry: (found) => ({ target: found.publicKey, after: Audit.key(found) })
  },
  change: {
    on: first,
    before,
    entry: (found) => ({ target: found.publicKey, after: Audit.key(found) })
  }
})

const templateActs: Group<"templates"> = {
  importAll: {
    on: first,
    entry: (imported, sessionId) => ({ target: sessionId, after: Audit.templates(imported) })
  },
  sync: "records"
}

const consentActs: Group<"consents"> = {
  record: "records",
  move: "records",
  recordRefusal: "records",
  dismissRefusal: "records"
}

const webhookActs = (before: Before): Group<"webhooks"> => ({
  create: { entry: ({ endpoint }) => ({ target: endpoint.id, after: Audit.webhook(endpoint) }) },
  change: {
    on: first,
    before,
    entry: (changed) => ({ target: changed.id, after: Audit.webhook(changed) })
  },
  remove: { on: first, before, entry: (_, id) => ({ target: id, after: null }) },
  rotate: {
    on: first,
    before,
    entry: ({ endpoint }) => ({ target: endpoint.id, after: Audit.webhook(endpoint) })
  },
  test: { entry: (deliveryId, id) => ({ target: id, after: { delivery_id: deliveryId } }) },
  replay: {
    entry: ({ endpointId, id, status }) => ({ target: id, after: { webhook_id: endpointId, status } })
  },
  replaySince: "records"
})

const jobActs = (before: Before): Group<"jobs"> => ({
  cancel: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  pause: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  resume: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  change: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  retry: {
    on: first,
    before,
    entry: ({ counts, dryRun, job: found }, _, { codes, phones, statuses } = {}) =>
      dryRun
        ? null
        : {
            target: found.id,
            after: {
              ...Audit.job(found),
              retried: counts,
              statuses,
              codes,
              phones: phones?.slice(0, Audit.listedItems).map(Audit.phone)
            }
          }
  }
})

const operatorActs = (before: Before): Group<"operators"> => ({
  create: { entry: ({ operator }) => ({ target: operator.name, after: Audit.operator(operator) }) },
  rotate: {
    on: first,
    before,
    entry: ({ operator }) => ({ target: operator.name, after: Audit.operator(operator) })
  },
  revoke: {
    on: first,
    before,
    entry: (revoked) => ({ target: revoked.name, after: Audit.operator(revoked) })
  }
})

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const endpoints = yield* WebhookStore
  const jobs = yield* JobStore
  const keys = yield* ApiKeyStore
  const operators = yield* OperatorStore
  const retries = yield* RetryPlanStore
  const sessions = yield* SessionStore

  const account = (id: string) => seen(Audit.account)(accounts.find(id))
  const session = (id: string) => seen(Audit.session)(sessions.find(id))
  const webhook = (id: string) => seen(Audit.webhook)(endpoints.find(id))
  const job = (id: string) => seen(Audit.job)(jobs.find(id))
  const retry = (id: string) => seen(Audit.retryPlan)(retries.find(id))
  const operator = (name: string) => seen(Audit.operator)(operators.find(name))
  const key = (publicKey: string) =>
    Effect.map(keys.identify(publicKey), (found) => (found === null ? null : Audit.key(found.key)))

  const acts: Acts = {
    accounts: accountActs(account),
    sessions: sessionActs(session),
    keys: keyActs(key),
    templates: templateActs,
    consents: consentActs,
    people: { erase: "records", export: "records" },
    webhooks: webhookActs(webhook),
    rateCards: {
      add: { on: allCards, entry: card },
      importList: { on: allCards, entry: ({ card: added }) => card(added) }
    },
    jobs: jobActs(job),
    retries: {
      begin: "records",
      cancel: {
        on: first,
        before: retry,
        entry: (plan) => ({ target: plan.id, after: Audit.retryPlan(plan) })
      }
    },
    restore: { decide: "records" },
    storage: { purge: "records" },
    secrets: { reseal: "records" },
    operators: operatorActs(operator)
  }
  return acts
})

/** The group with every operation that is an act recorded. */
const recordGroup = (
  name: string,
  group: object,
  acts: Readonly<Record<string, "records" | Act>>,
  record: Recorder
): object =>
  new Proxy(group, {
    get: (_, member) => {
      const operation: unknown = Reflect.get(group, member)
      const act = acts[String(member)]
      if (typeof operation !== "function" || typeof act !== "object") return operation
      return (...args: ReadonlyArray<unknown>): unknown => {
        const effect: unknown = Reflect.apply(operation, undefined, args)
        if (!Effect.isEffect(effect)) return effect
        const recording = {
          operation: `${name}.${String(member)}`,
          on: act.on?.(...args),
          before: act.before?.(...args),
          entry: (answer: unknown) => act.entry(answer, ...args)
        }
        const asWanted = Effect.flatten(Precondition)
        return record(recording, Effect.zipRight(asWanted, effect))
      }
    }
  })

export const recording = (admin: Admin, acts: Acts, record: Recorder): Admin => {
  const groups: Readonly<Record<string, object>> = { ...admin }
  const recorded = new Map(
    Object.entries(acts).map(([name, some]) => [name, recordGroup(name, groups[name] ?? {}, some, record)])
  )
  return new Proxy(admin, { get: (_, name) => recorded.get(String(name)) ?? Reflect.get(admin, name) })
}
