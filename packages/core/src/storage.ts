/**
 * For whoever looks at the store beside the engine, or puts something around its verbs: the tags, which change with the engine
 * from one version to the next.
 */

export * as AccountStore from "./storage/AccountStore.ts"
export * as ApiKeyStore from "./storage/ApiKeyStore.ts"
export * as AuditStore from "./storage/AuditStore.ts"
export * as ConsentStore from "./storage/ConsentStore.ts"
export * as EmbeddedCommits from "./storage/EmbeddedCommits.ts"
export * as ErasureStore from "./storage/ErasureStore.ts"
export * as HappeningStore from "./storage/HappeningStore.ts"
export * as HealthStore from "./storage/HealthStore.ts"
export * as InboundStore from "./storage/InboundStore.ts"
export * as JobStore from "./storage/JobStore.ts"
export * as KeyringStore from "./storage/KeyringStore.ts"
export * as OperatorStore from "./storage/OperatorStore.ts"
export * as Outbox from "./storage/Outbox.ts"
export * as RateCardStore from "./storage/RateCardStore.ts"
export * as RateLimitStore from "./storage/RateLimitStore.ts"
export * as RestoreStore from "./storage/RestoreStore.ts"
export * as RetentionStore from "./storage/RetentionStore.ts"
export * as RetryPlanStore from "./storage/RetryPlanStore.ts"
export * as SessionStore from "./storage/SessionStore.ts"
export * as SizeStore from "./storage/SizeStore.ts"
export * as StoreTime from "./storage/StoreTime.ts"
export * as TemplateStore from "./storage/TemplateStore.ts"
export * as Transactions from "./storage/Transactions.ts"
export * as WebhookStore from "./storage/WebhookStore.ts"
