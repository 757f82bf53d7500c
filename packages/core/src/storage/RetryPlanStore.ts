/**
 * Retries of many jobs (`domain/job/RetryPlan`). A step retries one job and moves its plan on in the same commit, so that a process
 * that dies between two steps has retried nothing twice, and nothing in vain.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Plan, Recipients, Sums } from "../domain/job/RetryPlan.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

/** An Idempotency-Key, and what it stands for. */
export interface PlanKey {
  readonly key: string
  readonly fingerprint: string
}

export type Added = Data.TaggedEnum<{
  Added: { readonly plan: Plan }
  /** The key stands for a plan already, of the same request or of another one. */
  Replayed: { readonly plan: Plan }
  KeyConflict: { readonly plan: Plan }
}>
export const Added = Data.taggedEnum<Added>()

/** The next job of a plan. */
export interface PlanStep {
  readonly planId: string
  /** Where the plan was when the job was found: where it is no longer there, somebody else has made the step. */
  readonly from: number | null
  /** Null where no job of it was found among those that were looked at. */
  readonly jobId: string | null
  /** With the last step of a plan over many jobs: those that others' retries may have taken out of its list. */
  readonly left: ReadonlyArray<string>
  /** The place behind which it goes on; null behind the last job. */
  readonly to: number | null
  /** The id of the act on the job in the audit log, where its plan has an operator. */
  readonly actId: string
  readonly now: Instant
}

export type Stepped = Data.TaggedEnum<{
  Stepped: { readonly plan: Plan; readonly retried: number }
  /** Somebody else has made the step, or the plan has ended. */
  Moved: Record<never, never>
  /** Somebody has the job locked for longer than a moment, or the store is held after a restore. */
  Busy: Record<never, never>
}>
export const Stepped = Data.taggedEnum<Stepped>()

/** The plans that are carried out beside each other; others wait until one of them has ended. */
export const mostRunning = 100

export class RetryPlanStore extends Context.Tag("@sendwright/core/storage/RetryPlanStore")<
  RetryPlanStore,
  {
    readonly add: (command: {
      readonly plan: Plan
      readonly key: PlanKey | null
    }) => Effect.Effect<Added, StorageError>
    readonly findByKey: (key: PlanKey) => Effect.Effect<Added | null, StorageError>
    readonly find: (id: string) => Effect.Effect<Plan | null, StorageError>
    /** Newest first. */
    readonly list: (page: Page) => Effect.Effect<Paged<Plan>, StorageError>
    /** Plans that have not ended, the oldest {@link mostRunning} of them. */
    readonly running: Effect.Effect<ReadonlyArray<Plan>, StorageError>
    /** Counts what a plan would make of these jobs. Changes nothing, and waits for nobody. */
    readonly count: (query: {
      readonly jobIds: ReadonlyArray<string>
      readonly selection: Recipients
      readonly now: Instant
    }) => Effect.Effect<Sums, StorageError>
    readonly step: (command: PlanStep) => Effect.Effect<Stepped, StorageError>
    /** Null when there is no such plan; one that has ended stays as it is. */
    readonly cancel: (command: {
      readonly id: string
      readonly now: Instant
    }) => Effect.Effect<Plan | null, StorageError>
  }
>() {}
