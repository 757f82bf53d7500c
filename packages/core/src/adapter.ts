/**
 * For whoever puts the engine behind a protocol, as our host puts it behind HTTP: what a body may be and what it stands for,
 * text from outside, limits, and a fair share of the event loop.
 */

export * as Idempotency from "./domain/account/Idempotency.ts"
export * as RateLimit from "./domain/account/RateLimit.ts"
export * as Csv from "./domain/Csv.ts"
export * as Diagnosis from "./domain/Diagnosis.ts"
export * as Json from "./domain/Json.ts"
export * as JsonScan from "./domain/JsonScan.ts"
export * as ClientTexts from "./domain/job/ClientTexts.ts"
export * as Reference from "./domain/job/Reference.ts"
export * as Memo from "./domain/Memo.ts"
export * as PublicUrl from "./domain/PublicUrl.ts"
export * as Suggestion from "./domain/Suggestion.ts"
export * as Text from "./domain/Text.ts"
export * as Throttle from "./domain/Throttle.ts"
export * as Url from "./domain/Url.ts"
export * as Reachability from "./engine/Reachability.ts"
export * as EventLoopBudget from "./runtime/EventLoopBudget.ts"
export * as Exposition from "./runtime/Exposition.ts"
export * as Folder from "./runtime/Folder.ts"
export * as Metrics from "./runtime/Metrics.ts"
export * as Moment from "./runtime/Moment.ts"
export * as Timers from "./runtime/Timers.ts"
export * as Readable from "./schema/Readable.ts"
export * as StoreClock from "./worker/StoreClock.ts"
