/** Where the templates mirrored from the platform live; (session, name, language) keeps its integer id for ever. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { RateCard } from "../domain/billing/RateCard.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StatusReport, Template, TemplateContent } from "../domain/template/Template.ts"
import type * as TemplateCheck from "../domain/template/TemplateCheck.ts"
import type { StorageError } from "./StorageError.ts"

export class TemplateStore extends Context.Tag("@sendwright/core/storage/TemplateStore")<
  TemplateStore,
  {
    /**
     * Inserts or replaces by (session, name, language), all or none, but for what was told since (`Template.imported`), and appends `template.updated` for each that
     * changed. What did not change keeps its `updatedAt`, and names of variables keep their numbers (`Template.merge`).
     * Answers all of them in the order given.
     */
    readonly importAll: (command: {
      readonly accountId: string
      readonly sessionId: string
      readonly contents: ReadonlyArray<TemplateContent>
      /** When the platform was asked for them; absent of an import by hand. */
      readonly askedAt?: Instant
      readonly now: Instant
    }) => Effect.Effect<ReadonlyArray<Template>, StorageError>
    /**
     * Applies a platform's report to a template as it is at the commit (`Template.reported`), with the same consequences
     * as an import; null when the template is unknown or another session's. One whose content changed is to be fetched.
     */
    readonly report: (command: {
      readonly accountId: string
      readonly sessionId: string
      readonly templateId: number
      readonly report: StatusReport
      readonly now: Instant
    }) => Effect.Effect<
      { readonly before: Template; readonly after: Template; readonly isOlder: boolean } | null,
      StorageError
    >
    /** Of every status, or of one, by ascending id; of all sessions where it names none. */
    readonly list: (query: {
      readonly sessionId?: string | undefined
      readonly status?: string | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<Template>, StorageError>
    /** Whatever its status; null when it is unknown, or another session's than the one that is named. */
    readonly find: (query: {
      readonly sessionId?: string | undefined
      readonly templateId: number
    }) => Effect.Effect<Template | null, StorageError>
    /** The same, with the card that prices a send now (`RateCardStore.inForce`). @param query.templateId null where none is named */
    readonly findWithCard: (query: {
      readonly sessionId: string
      readonly templateId: number | null
      readonly currency: string
      readonly now: Instant
    }) => Effect.Effect<{ readonly template: Template | null; readonly card: RateCard | null }, StorageError>
    /** Whatever its status; by the platform's id, else by name and language as platforms spell them (`Template.find`). */
    readonly findNamed: (query: {
      readonly sessionId: string
      readonly platformId?: string | null
      readonly name: string
      readonly language: string
    }) => Effect.Effect<Template | null, StorageError>
    /** All that the platform has not withdrawn, by ascending id: those that are not `deleted`. */
    readonly listPresent: (query: {
      readonly sessionId: string
      readonly page: Page
    }) => Effect.Effect<Paged<Template>, StorageError>
    /**
     * The template may be another at its platform: it is to be fetched, and its jobs wait (`template_changed`). Answers false
     * where that is so already, or the platform has just answered (`TemplateCheck.asked`).
     */
    readonly askAgain: (command: {
      readonly sessionId: string
      readonly templateId: number
      /** When the message was sent that the platform refused; null when the platform told it by itself. */
      readonly refusedSince: Instant | null
      readonly now: Instant
    }) => Effect.Effect<boolean, StorageError>
    /** Templates that are to be fetched now, each taken in hand (`TemplateCheck.claimed`). */
    readonly claimChecks: (command: {
      readonly now: Instant
      readonly limit: number
    }) => Effect.Effect<
      ReadonlyArray<{ readonly template: Template; readonly check: TemplateCheck.Claimed }>,
      StorageError
    >
    /** When the next template is to be fetched; null when none is. */
    readonly nextCheck: Effect.Effect<Instant | null, StorageError>
    /**
     * The template is known as it is at its platform: the jobs that waited for it go on, or for its approval. Where the
     * content of some does not fit any more (`TemplateCheck.fits`) nothing changes, and their ids are answered.
     * Nor does anything where the check is not as it was taken in hand: there was news meanwhile, or another has it.
     */
    readonly endCheck: (command: {
      readonly sessionId: string
      readonly templateId: number
      readonly check: TemplateCheck.Claimed
      readonly now: Instant
    }) => Effect.Effect<ReadonlyArray<string>, StorageError>
    /** Approved ones only, by ascending id. */
    readonly listApproved: (query: {
      readonly sessionId: string
      readonly category?: string | undefined
      readonly language?: string | undefined
      readonly name?: string | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<Template>, StorageError>
  }
>() {}
