/**
 * How each operator's operation is recorded in the audit log: one table, which its type makes complete. Every
 * operation with an entry here runs inside `record`.
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
import type { Admin } from "./Groups.ts"
import type { Recorder } from "./Recorder.ts"

/** An act's rows are methods, so that an act of any arguments fits one type. */
export interface Act<Args extends ReadonlyArray<unknown> = ReadonlyArray<unknown>, A = unknown> {
  /** The id of the changed object, if it exists before the act. */
  on?(...args: Args): string
  before?(...args: Args): Effect.Effect<View | null, StorageError>
  entry(answer: A, ...args: Args): { readonly target: string | null; readonly after: View | null }
}

/**
 * `reads` changes nothing; `records` records by itself, because it has several commits or acts outside the database
 * first.
 */
type Recorded<Operation> = Operation extends (...args: infer Args) => Effect.Effect<infer A, infer _E>
  ? "reads" | "records" | Act<Args, A>
  : "reads" | "records"

export type Acts = {
  readonly [Group in keyof Admin]: {
    readonly [Operation in keyof Admin[Group]]: Recorded<Admin[Group][Operation]>
  }
}

const seen =
  <A>(view: (found: A) => View) =>
  <E>(find: Effect.Effect<A | null, E>): Effect.Effect<View | null, E> =>
    Effect.map(find, (found) => (found === null ? null : view(found)))

const first = (id: string): string => id

const card = ({ currency, effectiveFrom, id, prices }: RateCard) => ({
  target: id,
  after: { currency, effective_from: Instant.format(effectiveFrom), prices: prices.length }
})

/** Reads a thing as it is before the act, by its id. */
type Before = (id: string) => Effect.Effect<View | null, StorageError>

const accountActs = (before: Before): Acts["accounts"] => ({
  create: { entry: (made) => ({ target: made.id, after: Audit.account(made) }) },
  change: {
    on: first,
    before,
    entry: (changed) => ({ target: changed.id, after: Audit.account(changed) })
  },
  find: "reads",
  list: "reads",
  spending: "reads",
  usage: "reads"
})

const sessionActs = (before: Before): Acts["sessions"] => ({
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
  createFaults: "reads",
  changeFaults: "reads",
  disconnect: {
    on: first,
    before,
    entry: (changed) => ({ target: changed.id, after: Audit.session(changed) })
  },
  find: "reads",
  list: "reads",
  all: "reads",
  unreadHooks: "reads"
})

const keyActs = (before: Before): Acts["keys"] => ({
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
  },
  list: "reads"
})

const templateActs: Acts["templates"] = {
  importAll: {
    entry: (imported, sessionId) => ({ target: sessionId, after: Audit.templates(imported) })
  },
  sync: "records",
  list: "reads",
  preview: "reads",
  faults: "reads"
}

const consentActs: Acts["consents"] = {
  record: "records",
  move: "records",
  moveFaults: "reads",
  recordRefusal: "records",
  dismissRefusal: "records",
  find: "reads",
  unattributed: "reads",
  perhapsRefusals: "reads",
  faults: "reads"
}

const webhookActs = (before: Before): Acts["webhooks"] => ({
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
  replaySince: "records",
  find: "reads",
  list: "reads",
  all: "reads",
  delivery: "reads",
  deliveries: "reads",
  allDeliveries: "reads",
  faults: "reads"
})

const jobActs = (before: Before): Acts["jobs"] => ({
  cancel: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  pause: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  resume: { on: first, before, entry: (found) => ({ target: found.id, after: Audit.job(found) }) },
  retry: {
    on: first,
    before,
    entry: ({ counts, dryRun, job: found }, _, { codes, phones, statuses } = {}) => ({
      target: found.id,
      after: {
        ...Audit.job(found),
        retried: counts,
        dry_run: dryRun,
        statuses,
        codes,
        phones: phones?.slice(0, Audit.listedItems).map(Audit.phone)
      }
    })
  },
  list: "reads",
  references: "reads",
  find: "reads",
  messages: "reads",
  timeline: "reads",
  retryFaults: "reads"
})

const operatorActs = (before: Before): Acts["operators"] => ({
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
  },
  list: "reads",
  identify: "reads"
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
    people: { erase: "records", export: "records", erasures: "reads" },
    webhooks: webhookActs(webhook),
    rateCards: {
      add: { entry: card },
      importList: { entry: ({ card: added }) => card(added) },
      list: "reads",
      faults: "reads"
    },
    jobs: jobActs(job),
    retries: {
      begin: "records",
      cancel: {
        on: first,
        before: retry,
        entry: (plan) => ({ target: plan.id, after: Audit.retryPlan(plan) })
      },
      faults: "reads",
      find: "reads",
      list: "reads"
    },
    restore: { decide: "records" },
    storage: { size: "reads", purge: "records" },
    secrets: { reseal: "records" },
    operators: operatorActs(operator),
    audit: { list: "reads" },
    events: { list: "reads", export: "reads" },
    exports: { results: "reads", consents: "reads" },
    overview: { now: "reads", health: "reads" },
    search: { find: "reads" }
  }
  return acts
})

/** The group with every operation that is an act recorded. */
const recordGroup = <Group extends object>(
  name: string,
  group: Group,
  acts: Readonly<Record<string, "reads" | "records" | Act>>,
  record: Recorder
): Group =>
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
        return record(recording, effect)
      }
    }
  })

export const recording = (admin: Admin, acts: Acts, record: Recorder): Admin => ({
  accounts: recordGroup("accounts", admin.accounts, acts.accounts, record),
  sessions: recordGroup("sessions", admin.sessions, acts.sessions, record),
  keys: recordGroup("keys", admin.keys, acts.keys, record),
  templates: recordGroup("templates", admin.templates, acts.templates, record),
  consents: recordGroup("consents", admin.consents, acts.consents, record),
  people: recordGroup("people", admin.people, acts.people, record),
  webhooks: recordGroup("webhooks", admin.webhooks, acts.webhooks, record),
  rateCards: recordGroup("rateCards", admin.rateCards, acts.rateCards, record),
  jobs: recordGroup("jobs", admin.jobs, acts.jobs, record),
  retries: recordGroup("retries", admin.retries, acts.retries, record),
  restore: recordGroup("restore", admin.restore, acts.restore, record),
  storage: recordGroup("storage", admin.storage, acts.storage, record),
  secrets: recordGroup("secrets", admin.secrets, acts.secrets, record),
  operators: recordGroup("operators", admin.operators, acts.operators, record),
  audit: recordGroup("audit", admin.audit, acts.audit, record),
  events: recordGroup("events", admin.events, acts.events, record),
  exports: recordGroup("exports", admin.exports, acts.exports, record),
  overview: recordGroup("overview", admin.overview, acts.overview, record),
  search: recordGroup("search", admin.search, acts.search, record)
})
