/** The operator's side of the engine: one group of operations per aggregate, each in its own file. */
import * as Effect from "effect/Effect"
import * as Accounts from "./admin/Accounts.ts"
import * as ApiKeys from "./admin/ApiKeys.ts"
import * as Consents from "./admin/Consents.ts"
import * as Jobs from "./admin/Jobs.ts"
import * as RateCards from "./admin/RateCards.ts"
import * as Secrets from "./admin/Secrets.ts"
import * as Sessions from "./admin/Sessions.ts"
import * as Templates from "./admin/Templates.ts"
import * as Webhooks from "./admin/Webhooks.ts"

export type { Imported, ImportResult } from "./admin/Templates.ts"

export interface Admin {
  readonly accounts: Accounts.Accounts
  readonly sessions: Sessions.Sessions
  readonly keys: ApiKeys.ApiKeys
  readonly templates: Templates.Templates
  readonly consents: Consents.Consents
  readonly webhooks: Webhooks.Webhooks
  readonly rateCards: RateCards.RateCards
  readonly jobs: Jobs.Jobs
  readonly secrets: Secrets.Secrets
}

export const make = Effect.all({
  accounts: Accounts.make,
  sessions: Sessions.make,
  keys: ApiKeys.make,
  templates: Templates.make,
  consents: Consents.make,
  webhooks: Webhooks.make,
  rateCards: RateCards.make,
  jobs: Jobs.make,
  secrets: Secrets.make
})
