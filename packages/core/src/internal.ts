/** Shared by the packages of Sendwright alone: it may change with any release, so no other package imports it. */

export * as Csv from "./domain/Csv.ts"
export * as Json from "./domain/Json.ts"
export * as JsonScan from "./domain/JsonScan.ts"
export * as ClientTexts from "./domain/job/ClientTexts.ts"
export * as Memo from "./domain/Memo.ts"
export * as PublicUrl from "./domain/PublicUrl.ts"
export * as Text from "./domain/Text.ts"
export * as Throttle from "./domain/Throttle.ts"
export * as Url from "./domain/Url.ts"
export * as EventLoopBudget from "./runtime/EventLoopBudget.ts"
