/**
 * All stores over one SQLite database, whichever driver runs its statements.
 *
 * Rate limits are kept in process memory: one process owns the file, so memory is as exact, and a disk sync for
 * every authenticated request would cost more than the request. A restart gives each key a full allowance.
 */
import * as Layer from "effect/Layer"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import * as AccountStore from "../sql/AccountStore.ts"
import * as ApiKeyStore from "../sql/ApiKeyStore.ts"
import * as AuditStore from "../sql/AuditStore.ts"
import * as ConsentStore from "../sql/ConsentStore.ts"
import type { Database } from "../sql/Database.ts"
import * as ErasureStore from "../sql/ErasureStore.ts"
import * as Happenings from "../sql/Happenings.ts"
import * as InboundStore from "../sql/InboundStore.ts"
import * as JobStore from "../sql/JobStore.ts"
import * as KeyringStore from "../sql/KeyringStore.ts"
import * as OperatorStore from "../sql/OperatorStore.ts"
import * as RateCardStore from "../sql/RateCardStore.ts"
import * as RestoreStore from "../sql/RestoreStore.ts"
import * as RetentionStore from "../sql/RetentionStore.ts"
import * as RetryPlanStore from "../sql/RetryPlanStore.ts"
import * as SessionStore from "../sql/SessionStore.ts"
import * as SizeStore from "../sql/SizeStore.ts"
import * as TemplateStore from "../sql/TemplateStore.ts"
import * as Transactions from "../sql/Transactions.ts"
import * as WebhookStore from "../sql/WebhookStore.ts"
import * as HealthStore from "./HealthStore.ts"
import * as RateLimitStore from "./RateLimitStore.ts"

export const layer: Layer.Layer<Stores, StorageError, Database> = Layer.mergeAll(
  AccountStore.layer,
  ApiKeyStore.layer,
  AuditStore.layer,
  ConsentStore.layer,
  ErasureStore.layer,
  Happenings.layer,
  HealthStore.layer,
  InboundStore.layer,
  JobStore.layer,
  KeyringStore.layer(false),
  OperatorStore.layer,
  RateCardStore.layer,
  RateLimitStore.layer,
  RestoreStore.layer,
  RetentionStore.layer,
  RetryPlanStore.layer,
  SessionStore.layer,
  SizeStore.layer,
  TemplateStore.layer,
  Transactions.layer,
  WebhookStore.layer
)
