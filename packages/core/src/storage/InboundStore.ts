/**
 * Takes in what platforms tell of people: texts, opt-outs and opt-ins, who is who. An opt-out, the event that tells it
 * and what makes its repetition harmless are one commit (contract.md §10).
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Scope, Status } from "../domain/consent/Consent.ts"
import type { PerhapsRefusal } from "../domain/consent/PerhapsRefusal.ts"
import type { Instant } from "../domain/Instant.ts"
import type { DoubtCount, UnreadCount } from "../domain/overview/StoreReadings.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { IdentityReport, Key, Others } from "../domain/Person.ts"
import type { Heard, Window } from "../domain/session/Window.ts"
import type { Unattributed } from "../domain/Unattributed.ts"
import type { UnreadHook } from "../domain/UnreadHook.ts"
import type * as Event from "../domain/webhook/Event.ts"
import type { StorageError } from "./StorageError.ts"

/** Items of one commit, which others of the account wait for. */
export const maximumItems = 100
/**
 * Of these as many as weigh so much: a word on consent is recorded for all that is known of a person, and who is told by
 * two names may bring two people together. A text by itself weighs nothing.
 */
export const maximumWeight = 100
export const weights = { word: 10, linked: 25 } as const

/** A person's word on consent. */
export interface Word {
  readonly purpose: Scope
  readonly status: Status
  readonly source: string
  readonly proof: string
  /** The platform's time, as `Occurrence.timeOf` reads it; null when it told none. */
  readonly reportedAt: Instant | null
}

export interface InboundItem {
  /** An item with the id of an earlier one within `Occurrence.rememberedMs` changes nothing; null = it may be repeated. */
  readonly id: string | null
  /** Null where nobody is named. */
  readonly identity: IdentityReport | null
  readonly message: Event.Received | null
  readonly word: Word | null
  readonly unattributed: Unattributed | null
  readonly perhapsRefusal?: PerhapsRefusal
  /** The window that the person's message opens. */
  readonly window?: Window
}

/** A value that is kept together with the scope of its user ids. */
export type InPortfolio<A> = A & Pick<Inbound, "portfolio">

/** Items that came of one session. */
export interface Inbound {
  readonly accountId: string
  readonly sessionId: string
  /** The scope of the platform's user ids. */
  readonly portfolio: string
  readonly items: ReadonlyArray<InboundItem>
}

/** The answer to items that were applied. */
export interface Received {
  /** Phones and user ids, as keys, with more links than are kept of one (`Person.maximumLinks`). */
  readonly crowded: ReadonlyArray<Key>
}

export class InboundStore extends Context.Tag("@sendwright/core/storage/InboundStore")<
  InboundStore,
  {
    /**
     * Applies all items in one commit, or none: remembers their ids, appends `message.received`, `inbound.unattributed`
     * and `inbound.perhaps_refusal`, links what was told of one person together, and records what they said of consent, each
     * with its event. An opt-out is recorded for everything that is known of the person; an opt-in for what was told
     * together with it. What is newly linked has the other's opt-outs and opt-ins carried over.
     *
     * @param items at most {@link maximumItems}, of at most {@link maximumWeight}
     */
    readonly receive: (command: Inbound & { readonly now: Instant }) => Effect.Effect<Received, StorageError>
    /**
     * All keys of a person for each of these, where they are more than the one: that one first, then those that the platform
     * told together with it, and the other form of a phone.
     */
    readonly others: (query: {
      readonly accountId: string
      readonly keys: ReadonlyArray<Key>
    }) => Effect.Effect<Others, StorageError>
    /** The keys of a user id of which the platform has told, one for each portfolio. */
    readonly toldOfUser: (query: {
      readonly accountId: string
      readonly userId: string
    }) => Effect.Effect<ReadonlyArray<Key>, StorageError>
    /** The window that the last messages of a person opened, by all names of the person for whom these keys stand. */
    readonly window: (query: {
      readonly accountId: string
      readonly sessionId: string
      readonly keys: ReadonlyArray<Key>
    }) => Effect.Effect<Heard, StorageError>
    /**
     * The windows of a person by the sessions of an account, and the person's newest texts that may be opt-outs: some of each
     * at most.
     */
    readonly heardOf: (query: {
      readonly accountId: string
      readonly keys: ReadonlyArray<Key>
    }) => Effect.Effect<
      {
        readonly windows: ReadonlyArray<Heard & { readonly sessionId: string }>
        readonly words: ReadonlyArray<PerhapsRefusal>
      },
      StorageError
    >
    /** The texts that may be opt-outs and are recorded as none, newest first. */
    readonly perhapsRefusals: (query: {
      readonly accountId: string
      readonly page: Page
    }) => Effect.Effect<Paged<PerhapsRefusal>, StorageError>
    /** With the scope of the person's user id; null when it is not kept, or no longer. */
    readonly perhapsRefusal: (id: string) => Effect.Effect<InPortfolio<PerhapsRefusal> | null, StorageError>
    /** How many are kept of all accounts, up to `most`, the newest, and when the first of these came. */
    readonly countPerhapsRefusals: (query: {
      readonly most: number
    }) => Effect.Effect<DoubtCount | null, StorageError>
    /** Takes a text off the list. */
    readonly forgetPerhapsRefusal: (id: string) => Effect.Effect<void, StorageError>
    /** The items that name nobody, newest first. */
    readonly unattributed: (query: {
      readonly accountId: string
      readonly page: Page
    }) => Effect.Effect<Paged<Unattributed>, StorageError>
    /**
     * Keeps parts of hooks that nobody understood, and forgets the oldest beyond what is kept of a session.
     *
     * @param parts at most `UnreadHook.maximumParts`
     */
    readonly retainUnread: (command: {
      readonly sessionId: string
      readonly parts: ReadonlyArray<UnreadHook>
    }) => Effect.Effect<void, StorageError>
    /** How many parts nobody understood that came since a time, up to `most`, when the first of these came, and of which session. */
    readonly countUnread: (query: {
      readonly since: Instant
      readonly most: number
    }) => Effect.Effect<UnreadCount | null, StorageError>
    /** The session's parts that nobody understood, newest first. */
    readonly unread: (query: {
      readonly sessionId: string
      readonly page: Page
    }) => Effect.Effect<Paged<UnreadHook>, StorageError>
  }
>() {}
