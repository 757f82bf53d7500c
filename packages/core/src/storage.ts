/**
 * For whoever writes a store over rows of their own (docs/stores.md): the rules of all stores, as generators over plain row
 * operations, which are the interfaces `JobRows`, `SessionRows` and `WebhookRows`.
 */
export * as InboundSteps from "./storage/InboundSteps.ts"
export * as JobSteps from "./storage/JobSteps.ts"
export * as Outbox from "./storage/Outbox.ts"
export * as Acceptance from "./storage/policy/Acceptance.ts"
export * as Changes from "./storage/policy/Changes.ts"
export * as Claims from "./storage/policy/Claims.ts"
export * as Deliveries from "./storage/policy/Deliveries.ts"
export * as JobRows from "./storage/policy/JobRows.ts"
export * as RestoreRows from "./storage/policy/RestoreRows.ts"
export * as Restores from "./storage/policy/Restores.ts"
export * as SessionRows from "./storage/policy/SessionRows.ts"
export * as Sessions from "./storage/policy/Sessions.ts"
export * as WebhookRows from "./storage/policy/WebhookRows.ts"
