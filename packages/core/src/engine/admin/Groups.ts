/** The groups of the operator's operations, one per aggregate. */
import * as Effect from "effect/Effect"
import type * as Audit from "../../domain/Audit.ts"
import type { Paged } from "../../domain/Page.ts"
import { AuditStore } from "../../storage/AuditStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import type { Check } from "../Readiness.ts"
import * as Search from "../Search.ts"
import * as Accounts from "./Accounts.ts"
import * as ApiKeys from "./ApiKeys.ts"
import * as Consents from "./Consents.ts"
import * as Events from "./Events.ts"
import * as Exports from "./Exports.ts"
import * as Jobs from "./Jobs.ts"
import * as Operators from "./Operators.ts"
import * as Overview from "./Overview.ts"
import * as People from "./People.ts"
import * as RateCards from "./RateCards.ts"
import * as Restore from "./Restore.ts"
import * as Retries from "./Retries.ts"
import * as Secrets from "./Secrets.ts"
import * as Sessions from "./Sessions.ts"
import * as Storage from "./Storage.ts"
import * as Templates from "./Templates.ts"
import * as Webhooks from "./Webhooks.ts"

/** The acts of operators, for the operator. */
interface AuditLog {
  /** Newest first. */
  readonly list: (query: Audit.Query) => Effect.Effect<Paged<Audit.Entry>, StorageError>
}

/** Finds any account's things by what names them. */
interface Finder {
  /**
   * Newest first. A page has its limit of messages and jobs; what has an id of its own, and people, come beside them with the
   * first.
   */
  readonly find: (query: Search.SearchQuery) => Search.Searching
}

export interface Admin {
  readonly accounts: Accounts.Accounts
  readonly sessions: Sessions.Sessions
  readonly keys: ApiKeys.ApiKeys
  readonly templates: Templates.Templates
  readonly consents: Consents.Consents
  readonly people: People.People
  readonly webhooks: Webhooks.Webhooks
  readonly rateCards: RateCards.RateCards
  readonly jobs: Jobs.Jobs
  readonly retries: Retries.Retries
  readonly restore: Restore.Restore
  readonly storage: Storage.Storage
  readonly secrets: Secrets.Secrets
  readonly operators: Operators.Operators
  readonly audit: AuditLog
  readonly events: Events.Events
  readonly exports: Exports.Exports
  readonly overview: Overview.Overview
  readonly search: Finder
}

export const make = (readiness: Effect.Effect<ReadonlyArray<Check>>) =>
  Effect.all({
    accounts: Accounts.make,
    sessions: Sessions.make,
    keys: ApiKeys.make,
    templates: Templates.make,
    consents: Consents.make,
    people: People.make,
    webhooks: Webhooks.make,
    rateCards: RateCards.make,
    jobs: Jobs.make,
    retries: Retries.make,
    restore: Restore.make,
    storage: Storage.make,
    secrets: Secrets.make,
    operators: Operators.make,
    audit: Effect.map(AuditStore, ({ list }): AuditLog => ({ list })),
    events: Events.make,
    exports: Exports.make,
    overview: Overview.make(readiness),
    search: Effect.map(Search.make, ({ all }): Finder => ({ find: all }))
  })
