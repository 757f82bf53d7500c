/** Where sessions live. A change of state, its event and the pause of its running jobs are one commit. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { OwnedSession } from "../domain/overview/StoreReadings.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Way } from "../domain/session/SameFailure.ts"
import type { Announced, Attempted, End, Provider, Session, State } from "../domain/session/Session.ts"
import type { StorageError } from "./StorageError.ts"

/** `available`: the platform answers, as far as is known. `granted`: this message probes it. `refused`: it is not to be asked. */
export type ProbeAnswer = "available" | "granted" | "refused"

export class SessionStore extends Context.Tag("@sendwright/core/storage/SessionStore")<
  SessionStore,
  {
    readonly create: (session: Session) => Effect.Effect<void, StorageError>
    readonly find: (id: string) => Effect.Effect<Session | null, StorageError>
    /** Newest first, of all accounts where it names none. */
    readonly list: (query: {
      readonly accountId?: string | undefined
      /** Only sessions over which nothing may be sent now (`Session.obstacle`). */
      readonly isDown?: true | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<Session>, StorageError>
    /**
     * Sessions with their accounts, `most` at most: those whose platform does not answer or blocks them, those that are named,
     * the others over which nothing may be sent now, and then the newest.
     */
    readonly inNeedFirst: (query: {
      readonly ids: ReadonlyArray<string>
      readonly most: number
    }) => Effect.Effect<ReadonlyArray<OwnedSession>, StorageError>
    /** A provider's sessions of all accounts, newest first. */
    readonly ofProvider: (query: {
      readonly provider: Provider
      readonly page: Page
    }) => Effect.Effect<Paged<Session>, StorageError>
    /**
     * Replaces the given fields. Null when there is no such session; `stale`, with nothing changed, when its configuration is
     * another one than the change was made from.
     */
    readonly change: (command: {
      readonly id: string
      readonly change: Partial<
        Pick<
          Session,
          "name" | "pacing" | "retryForMs" | "closedMarkets" | "quietHours" | "keywords" | "config"
        >
      >
      /** True when its block ends, too, and the platform's restrictions (`Session.released`). */
      readonly releases?: boolean
      /** The configuration that a new one was made from. */
      readonly basedOn?: Session["config"] | undefined
      readonly now: Instant
    }) => Effect.Effect<Session | "stale" | null, StorageError>
    /**
     * Moves the session to a state and appends `session.connected` or `session.disconnected`; one that is there already
     * only has its reason replaced. Leaving `connected` pauses its processing jobs (`session_disconnected`, with
     * `job.paused`); `connected` resumes what was paused for that reason (with `job.processing`). Both end an outage.
     * Answers the session as it is then, or null when there is none.
     */
    readonly transition: (command: {
      readonly id: string
      readonly state: State
      readonly reason: string | null
      /** Where it is given the session stays as it is unless this is still its connection (`Session.isAbout`). */
      readonly attempted?: Attempted | undefined
      readonly now: Instant
    }) => Effect.Effect<Session | null, StorageError>
    /**
     * The platform takes nothing more from the session until a time: its processing jobs pause (`Session.block`). Null when
     * there is no such session.
     */
    readonly block: (command: {
      readonly id: string
      readonly until: Instant
      /** As in `transition`. */
      readonly attempted?: Attempted | undefined
      readonly now: Instant
    }) => Effect.Effect<Session | null, StorageError>
    /**
     * Notes how attempts of the session ended, in their order, and blocks it where all end the same (`Session.afterEnds`).
     * Answers it before and after, or null when there is none.
     */
    readonly noteEnds: (command: {
      readonly id: string
      readonly way: Way
      readonly ends: ReadonlyArray<End>
      readonly now: Instant
    }) => Effect.Effect<{ readonly before: Session; readonly after: Session } | null, StorageError>
    /** Ends the blocks that are over (`Session.blockIsOver`), and what was paused for them goes on; answers whose. */
    readonly unblock: (command: {
      readonly now: Instant
    }) => Effect.Effect<ReadonlyArray<string>, StorageError>
    /** When the next block ends; null while none is. */
    readonly nextUnblock: Effect.Effect<Instant | null, StorageError>
    /**
     * Asks for the probe on behalf of a message that no claim gives out (`Circuit.mayProbeDirectly`); of many who ask one is
     * granted it.
     */
    readonly acquireProbe: (command: {
      readonly id: string
      readonly now: Instant
    }) => Effect.Effect<ProbeAnswer, StorageError>
    /**
     * The platform's news of the session: appends `session.updated`, and disconnects, connects or blocks the session as they
     * say (`Session.announced`). Answers it before and after, or null when there is none. `isOlder`: something newer was told.
     */
    readonly announce: (
      command: Announced & {
        readonly id: string
        readonly kind: string
        /** The platform's object, bounded and well-formed. */
        readonly news: unknown
        readonly now: Instant
      }
    ) => Effect.Effect<
      { readonly before: Session; readonly after: Session; readonly isOlder: boolean } | null,
      StorageError
    >
    /**
     * Writes by which names of its platform the session is found, in the place of all others. Where the session has
     * another configuration by now nothing is written.
     */
    readonly address: (command: {
      readonly id: string
      /** The sealed configuration that has the names. */
      readonly config: string
      readonly addresses: ReadonlyArray<string>
    }) => Effect.Effect<void, StorageError>
    /** The sessions that have one of the addresses, of whichever account, by their ids. */
    readonly addressed: (query: {
      readonly addresses: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<Session>, StorageError>
    /**
     * Sessions of the providers whose addresses were not written, or by another configuration: by their ids, `limit` at
     * most.
     */
    readonly unaddressed: (query: {
      readonly providers: ReadonlyArray<string>
      readonly after: string
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Session>, StorageError>
    /** The numbers of sessions that may not send now, of whatever cause, and of those among them that nobody meant so. */
    readonly countDown: Effect.Effect<{ readonly unavailable: number; readonly missed: number }, StorageError>
    /** The id of the session that is connected where that is one alone; null where there are several, and none. */
    readonly onlyConnected: Effect.Effect<string | null, StorageError>
  }
>() {}
