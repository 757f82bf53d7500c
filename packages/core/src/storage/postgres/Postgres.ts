/** All stores in a PostgreSQL database that any number of processes share, and the standard SQL client over it. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Layer from "effect/Layer"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import type { StoreTime } from "../StoreTime.ts"
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
import * as RestoreStore from "../sql/RestoreStore.ts"
import * as SessionStore from "../sql/SessionStore.ts"
import * as TemplateStore from "../sql/TemplateStore.ts"
import * as Transactions from "../sql/Transactions.ts"
import * as WebhookStore from "../sql/WebhookStore.ts"
import * as Database from "./Database.ts"
import * as HealthStore from "./HealthStore.ts"
import * as RateLimitStore from "./RateLimitStore.ts"
import { migrations } from "./Schema.ts"

export { type Queryable, within } from "./Within.ts"

export type Options = Database.Options

/**
 * Connects, brings the database to this build's schema and answers the stores over it. Processes may start
 * together: one migrates, the others wait. A store's verb that is called inside `sql.withTransaction` belongs to
 * that transaction.
 */
export const layer = (
  options: Options
): Layer.Layer<Stores | StoreTime | SqlClient | PgClient, StorageError | MigrationError> =>
  Layer.mergeAll(
    AccountStore.layer,
    ApiKeyStore.layer,
    AuditStore.layer,
    ConsentStore.layer,
    HealthStore.layer,
    InboundStore.layer,
    JobStore.layer,
    KeyringStore.layer(true),
    OperatorStore.layer,
    RateCardStore.layer,
    RateLimitStore.layer,
    RestoreStore.layer,
    SessionStore.layer,
    TemplateStore.layer,
    Transactions.layer,
    WebhookStore.layer
  ).pipe(Layer.provideMerge(Database.layer({ ...options, migrations, watchesInstance: true })))
