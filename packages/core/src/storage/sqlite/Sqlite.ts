/** All stores in one SQLite file, and the standard SQL client over the same connection. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqliteClient } from "@effect/sql-sqlite-node/SqliteClient"
import * as Layer from "effect/Layer"
import * as RateLimitStore from "../memory/RateLimitStore.ts"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import * as AccountStore from "../sql/AccountStore.ts"
import * as ApiKeyStore from "../sql/ApiKeyStore.ts"
import * as AuditStore from "../sql/AuditStore.ts"
import * as ConsentStore from "../sql/ConsentStore.ts"
import * as InboundStore from "../sql/InboundStore.ts"
import * as JobStore from "../sql/JobStore.ts"
import * as KeyringStore from "../sql/KeyringStore.ts"
import type { MigrationError } from "../sql/Migrations.ts"
import * as OperatorStore from "../sql/OperatorStore.ts"
import * as RateCardStore from "../sql/RateCardStore.ts"
import * as SessionStore from "../sql/SessionStore.ts"
import * as TemplateStore from "../sql/TemplateStore.ts"
import * as Transactions from "../sql/Transactions.ts"
import * as WebhookStore from "../sql/WebhookStore.ts"
import * as Database from "./Database.ts"
import * as HealthStore from "./HealthStore.ts"
import { migrations } from "./Schema.ts"

export interface Options {
  /** A path, whose folder is created, or `:memory:`. */
  readonly filename: string
}

/**
 * Opens the file, brings it to this build's schema and answers the stores over it. A store's verb that is called
 * inside `sql.withTransaction` belongs to that transaction.
 *
 * Rate limits are kept in process memory: one process owns the file, so memory is as exact, and a disk sync for
 * every authenticated request would cost more than the request. A restart gives each key a full allowance.
 */
export const layer = (
  options: Options
): Layer.Layer<Stores | SqlClient | SqliteClient, StorageError | MigrationError> =>
  Layer.mergeAll(
    AccountStore.layer,
    ApiKeyStore.layer,
    AuditStore.layer,
    ConsentStore.layer,
    HealthStore.layer,
    InboundStore.layer,
    JobStore.layer,
    KeyringStore.layer(false),
    OperatorStore.layer,
    RateCardStore.layer,
    RateLimitStore.layer,
    SessionStore.layer,
    TemplateStore.layer,
    Transactions.layer,
    WebhookStore.layer
  ).pipe(Layer.provideMerge(Database.layer({ filename: options.filename, migrations })))
