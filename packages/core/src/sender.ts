/**
 * For whoever writes a sender for a platform of their own (docs/own-sender.md): what the engine asks of it and what it is told, the
 * errors that are known, and what text and addresses from outside may be. The suite that proves a sender is
 * `@sendwright/core/testing/SenderSuite`.
 */
export * as Json from "./domain/Json.ts"
export * as PublicUrl from "./domain/PublicUrl.ts"
export * as FailureCatalogue from "./domain/session/FailureCatalogue.ts"
export * as Text from "./domain/Text.ts"
export * as Rendering from "./domain/template/Rendering.ts"
export * as Variables from "./domain/template/Variables.ts"
export * as PlatformHttp from "./sender/PlatformHttp.ts"
export * as Sender from "./sender/Sender.ts"
