/** The operator's side of the engine: its operations, recorded in the audit log. */
import * as Effect from "effect/Effect"
import * as Acts from "./admin/Acts.ts"
import * as Groups from "./admin/Groups.ts"
import * as Recorder from "./admin/Recorder.ts"
import type { Check } from "./Readiness.ts"

export type { ReferenceSum } from "../storage/JobStore.ts"
export type { Spending, SpendingQuery, Usage } from "./admin/Accounts.ts"
export { mostSummed } from "./admin/Accounts.ts"
export type { ConsentResult, ConsentState, Moved } from "./admin/Consents.ts"
export type { EventsFilter } from "./admin/Events.ts"
export { mostLookedAt as mostEventsLookedAt } from "./admin/Events.ts"
export type { ExportedConsent, ExportedResult } from "./admin/Exports.ts"
export type { Admin } from "./admin/Groups.ts"
export type { AdminJobQuery, Looked, Overlap, Retried, ToldDetail, ToldJob } from "./admin/Jobs.ts"
export { mostLookedAt } from "./admin/Jobs.ts"
export type { BegunRetry, RetriesCommand } from "./admin/Retries.ts"
export type { Imported, ImportResult, Preview } from "./admin/Templates.ts"
export type { DeliveryDetail } from "./admin/Webhooks.ts"

/** Each act of an operator and its entry in the audit log are one commit, by the table in `admin/Acts.ts`. */
export const make = (readiness: Effect.Effect<ReadonlyArray<Check>>) =>
  Effect.map(
    Effect.all([Groups.make(readiness), Acts.make, Recorder.make]),
    ([admin, acts, record]): Groups.Admin => Acts.recording(admin, acts, record)
  )
