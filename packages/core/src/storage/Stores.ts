/** All stores of one backend; they are swapped together, because events and state commit together. */
import type { AccountStore } from "./AccountStore.ts"
import type { ApiKeyStore } from "./ApiKeyStore.ts"
import type { AuditStore } from "./AuditStore.ts"
import type { ConsentStore } from "./ConsentStore.ts"
import type { ErasureStore } from "./ErasureStore.ts"
import type { HappeningStore } from "./HappeningStore.ts"
import type { HealthStore } from "./HealthStore.ts"
import type { InboundStore } from "./InboundStore.ts"
import type { JobStore } from "./JobStore.ts"
import type { KeyringStore } from "./KeyringStore.ts"
import type { OperatorStore } from "./OperatorStore.ts"
import type { RateCardStore } from "./RateCardStore.ts"
import type { RateLimitStore } from "./RateLimitStore.ts"
import type { RestoreStore } from "./RestoreStore.ts"
import type { RetentionStore } from "./RetentionStore.ts"
import type { RetryPlanStore } from "./RetryPlanStore.ts"
import type { SessionStore } from "./SessionStore.ts"
import type { SizeStore } from "./SizeStore.ts"
import type { TemplateStore } from "./TemplateStore.ts"
import type { Transactions } from "./Transactions.ts"
import type { WebhookStore } from "./WebhookStore.ts"

export type Stores =
  | AccountStore
  | ApiKeyStore
  | AuditStore
  | ConsentStore
  | ErasureStore
  | HappeningStore
  | HealthStore
  | InboundStore
  | JobStore
  | KeyringStore
  | OperatorStore
  | RateCardStore
  | RateLimitStore
  | RestoreStore
  | RetentionStore
  | RetryPlanStore
  | SessionStore
  | SizeStore
  | TemplateStore
  | Transactions
  | WebhookStore
