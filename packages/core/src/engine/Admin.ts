/** The operator's side of the engine: one group of operations per aggregate, each in its own file. */
import * as Effect from "effect/Effect"
import * as Accounts from "./admin/Accounts.ts"
import * as Acts from "./admin/Acts.ts"
import * as ApiKeys from "./admin/ApiKeys.ts"
import * as AuditLog from "./admin/AuditLog.ts"
import * as Consents from "./admin/Consents.ts"
import * as Jobs from "./admin/Jobs.ts"
import * as Operators from "./admin/Operators.ts"
import * as RateCards from "./admin/RateCards.ts"
import * as Recorder from "./admin/Recorder.ts"
import * as Restore from "./admin/Restore.ts"
import * as Secrets from "./admin/Secrets.ts"
import * as Sessions from "./admin/Sessions.ts"
import * as Templates from "./admin/Templates.ts"
import * as Webhooks from "./admin/Webhooks.ts"

export type { Usage } from "./admin/Accounts.ts"
export type { ConsentResult, ConsentState } from "./admin/Consents.ts"
export type { Retried } from "./admin/Jobs.ts"
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
  readonly restore: Restore.Restore
  readonly secrets: Secrets.Secrets
  readonly operators: Operators.Operators
  readonly audit: AuditLog.AuditLog
}

const groups = Effect.all({
  accounts: Accounts.make,
  sessions: Sessions.make,
  keys: ApiKeys.make,
  templates: Templates.make,
  consents: Consents.make,
  webhooks: Webhooks.make,
  rateCards: RateCards.make,
  jobs: Jobs.make,
  restore: Restore.make,
  secrets: Secrets.make,
  operators: Operators.make,
  audit: AuditLog.make
})

/** Each act of an operator and its entry in the audit log are one commit, by the table in `admin/Acts.ts`. */
export const make = Effect.map(
  Effect.all([groups, Acts.make, Recorder.make]),
  ([admin, acts, record]): Admin => Acts.recording(admin, acts, record)
)
