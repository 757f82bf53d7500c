/** Sessions: a connection to a platform, its configuration sealed. */
import * as Effect from "effect/Effect"
import * as Audit from "../../domain/Audit.ts"
import * as Keywords from "../../domain/consent/Keywords.ts"
import type { ForeignTransaction, InsideTransaction, InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as FieldVersions from "../../domain/FieldVersions.ts"
import * as Ids from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Retry from "../../domain/Retry.ts"
import * as ClosedMarkets from "../../domain/session/ClosedMarkets.ts"
import type { Pacing } from "../../domain/session/Pacing.ts"
import { unpaced } from "../../domain/session/Pacing.ts"
import * as QuietHours from "../../domain/session/QuietHours.ts"
import type { Provider, Session } from "../../domain/session/Session.ts"
import { meantReasons } from "../../domain/session/Session.ts"
import type { UnreadHook } from "../../domain/UnreadHook.ts"
import * as Either from "../../effect/Either.ts"
import { Signals } from "../../runtime/Signals.ts"
import type { Readable } from "../../schema/Readable.ts"
import * as RequestDecoder from "../../schema/RequestDecoder.ts"
import * as Times from "../../schema/Times.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import * as Sanitize from "../../sender/Sanitize.ts"
import { isCheckAnswered, Senders } from "../../sender/Sender.ts"
import * as SessionSender from "../../sender/SessionSender.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { InboundStore } from "../../storage/InboundStore.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Addressing from "../../worker/Addressing.ts"
import * as OutsideTransaction from "../../worker/OutsideTransaction.ts"
import { addHoursFault } from "../Timings.ts"
import * as Recorder from "./Recorder.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

/** Fields that are given; the others keep what they were. */
export type PacingChange = { readonly [Field in keyof Pacing]?: Pacing[Field] | undefined }

const withPacing = (pacing: Pacing, change: PacingChange | undefined): Pacing => ({
  messagesPerSecond:
    change?.messagesPerSecond === undefined ? pacing.messagesPerSecond : change.messagesPerSecond,
  pairIntervalMs: change?.pairIntervalMs === undefined ? pacing.pairIntervalMs : change.pairIntervalMs
})

/** Lists that are given; null = the words that come with Sendwright. The others keep what they were. */
export type KeywordsChange = {
  readonly [List in keyof Keywords.Keywords]?: Keywords.Keywords[List] | undefined
}

const withKeywords = (
  { optIn, optOut }: Keywords.Keywords,
  change: KeywordsChange | undefined
): Keywords.Keywords => ({
  optOut: change?.optOut === undefined ? optOut : change.optOut,
  optIn: change?.optIn === undefined ? optIn : change.optIn
})

type Words = ReadonlyArray<string | undefined> | null | undefined

const areRead = (words: Words): words is ReadonlyArray<string> | null | undefined =>
  !words?.includes(undefined)

/** Undefined when a word cannot be read, so that the lists cannot be compared. */
const readableWords = ({ optIn, optOut }: Readable<KeywordsChange>): KeywordsChange | undefined =>
  areRead(optIn) && areRead(optOut) ? { optIn, optOut } : undefined

/** Fields that differ. */
const changeOf = (before: Pacing, after: Pacing): PacingChange => ({
  messagesPerSecond:
    after.messagesPerSecond === before.messagesPerSecond ? undefined : after.messagesPerSecond,
  pairIntervalMs: after.pairIntervalMs === before.pairIntervalMs ? undefined : after.pairIntervalMs
})

export interface NewSession {
  readonly name: string
  readonly provider: Provider
  readonly config?: Readonly<Record<string, unknown>> | undefined
  readonly pacing?: PacingChange | undefined
  /** Seconds for which a transient error is tried again (`Retry.sendWindow`); null = by what is sent. */
  readonly retryFor?: number | null | undefined
  /** null = those of the provider. */
  readonly closedMarkets?: Session["closedMarkets"] | undefined
  /** The hours in which messages of a purpose go; null = all hours. */
  readonly quietHours?: Times.QuietHoursChange | undefined
  readonly keywords?: KeywordsChange | undefined
}

export interface SessionChange {
  readonly name?: string | undefined
  readonly pacing?: PacingChange | undefined
  readonly retryFor?: number | null | undefined
  readonly closedMarkets?: Session["closedMarkets"] | undefined
  readonly quietHours?: Times.QuietHoursChange | undefined
  readonly keywords?: KeywordsChange | undefined
  /** Null ends a block by hand, and what the platform restricts. */
  readonly blockedUntil?: null | undefined
  /**
   * Members of the configuration take the places of the old ones, and null takes one away. If it asks for another pace than before, the pace
   * changes, too.
   */
  readonly config?: Readonly<Record<string, unknown>> | undefined
}

export interface Sessions {
  /** A sandbox session starts connected. */
  readonly create: (
    accountId: string,
    input: NewSession
  ) => Effect.Effect<Session, InvalidRequest | NotFound | StorageError>
  /** Fields that are absent stay. */
  readonly change: (
    id: string,
    input: SessionChange
  ) => Effect.Effect<Session, InvalidRequest | NotFound | StorageError>
  /** The rules that a new session breaks, as far as it can be read. */
  readonly createFaults: (input: Readable<NewSession>) => ReadonlyArray<Fault.Fault>
  /** The rules that a change breaks; none for a session that does not exist. */
  readonly changeFaults: (
    id: string,
    input: Readable<SessionChange>
  ) => Effect.Effect<ReadonlyArray<Fault.Fault>, StorageError>
  readonly find: (id: string) => Effect.Effect<Session, NotFound | StorageError>
  readonly list: (accountId: string, page: Page) => Effect.Effect<Paged<Session>, NotFound | StorageError>
  /** Sessions of all accounts, newest first; with `isDown` only those over which nothing may be sent now. */
  readonly all: (query: {
    readonly accountId?: string | undefined
    readonly isDown?: boolean | undefined
    readonly page: Page
  }) => Effect.Effect<Paged<Session>, StorageError>
  /**
   * Asks the platform first. If it does not know us, the session is disconnected with the reason. If it does not
   * answer, a connected session stays as it is.
   */
  readonly connect: (
    id: string
  ) => Effect.Effect<Session, ForeignTransaction | InsideTransaction | NotFound | StorageError>
  readonly disconnect: (id: string) => Effect.Effect<Session, NotFound | StorageError>
  /** Posts to the session's hook that were not understood, newest first (contract.md §11). */
  readonly unreadHooks: (id: string, page: Page) => Effect.Effect<Paged<UnreadHook>, NotFound | StorageError>
}

/** A configuration with the members of a change in their places. */
const withConfig = (stored: unknown, change: Readable<SessionChange>["config"]) => {
  const members = new Map<string, unknown>(Object.entries(stored ?? {}))
  for (const [name, value] of Object.entries(change ?? {})) {
    if (value === null) members.delete(name)
    else if (value !== undefined) members.set(name, value)
  }
  return Object.fromEntries(members)
}

const milliseconds = (seconds: number | null): number | null =>
  seconds === null ? null : seconds * Time.second

const retryForFaults = (seconds: number | null | undefined): ReadonlyArray<Fault.Fault> => {
  if (seconds === undefined || seconds === null) return []
  const [least, most] = [Retry.shortestSendWindow, Retry.longestSendWindow].map((ms) => ms / Time.second)
  return Number.isInteger(seconds) && seconds >= (least ?? 0) && seconds <= (most ?? 0)
    ? []
    : [
        Fault.make(
          ["retry_for"],
          "out_of_range",
          `\`retry_for\` must be a whole number of seconds from ${least} to ${most} (${Retry.longestSendWindow / Time.day} days), or null: ${Retry.sendWindows.authentication / Time.minute} minutes for authentication templates and ${Retry.sendWindows.other / Time.hour} hours for everything else.`
        )
      ]
}

const decodeHours = RequestDecoder.decoder(Times.Hours)

/** Hours that cannot be read whole are told by the shape of the request. */
const quietHoursFaults = (change: Readable<Times.QuietHoursChange> = {}): ReadonlyArray<Fault.Fault> => {
  const faults = new Fault.Faults()
  for (const [purpose, hours] of Object.entries(change)) {
    const isWhole = hours?.from !== undefined && hours.to !== undefined && !hours.days?.includes(undefined)
    if (!isWhole) continue
    const read = decodeHours(hours)
    if (Either.isRight(read)) addHoursFault(read.right, ["quiet_hours", purpose], faults)
    else
      for (const { code, message, path } of read.left)
        faults.add(["quiet_hours", purpose, ...path], code, message)
  }
  return faults.list
}

const noConfiguration = RequestDecoder.nothing(["config"])

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const box = yield* SecretBox
  const senders = yield* Senders
  const store = yield* SessionStore
  const inbound = yield* InboundStore
  const signals = yield* Signals
  const resolve = yield* SessionSender.make
  const addressing = yield* Addressing.make
  const outside = yield* OutsideTransaction.make
  const record = yield* Recorder.make
  const ids = Ids.make(yield* Ids.RandomBytes)

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const missing = Effect.fail(new NotFound({ what: "session" }))

  const transition = (state: "connected" | "disconnected", reason: string | null) =>
    Effect.fnUntraced(function* (id: string) {
      const now = yield* Time.now
      const session = yield* store.transition({ id, state, reason, now })
      yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      return session ?? (yield* missing)
    })

  /** The configuration as the sender wants it; one that reads none has none. */
  const configurationOf = (
    provider: Provider,
    given: Readable<SessionChange>["config"]
  ): Either.Either<Readonly<Record<string, unknown>>, ReadonlyArray<Fault.Fault>> =>
    senders.has(provider)
      ? (senders.get(provider)?.configure ?? noConfiguration)(given ?? {})
      : Either.right({})

  /** The configuration as it would be; undefined when nothing of it is to change. One that cannot be read counts as empty. */
  const mergedConfig = Effect.fnUntraced(function* (
    session: Session,
    change: Readable<SessionChange>["config"]
  ) {
    if (change === undefined) return undefined
    const before = (yield* resolve(session))?.config
    return { before, after: withConfig(before, change) }
  })

  /** The pace, if the new configuration asks for another one than the old. Settings of the operator stay. */
  const paceAskedBy = (provider: Provider, before: unknown, after: unknown) => {
    const paceOf = senders.get(provider)?.pacing
    return paceOf === undefined || before === undefined ? undefined : changeOf(paceOf(before), paceOf(after))
  }

  const providerFaults = (provider: Provider | undefined): ReadonlyArray<Fault.Fault> => {
    if (provider === undefined || senders.has(provider)) return []
    const available = [...senders.keys()].join(", ")
    const message = `This host has no sender for the provider "${provider}". Available: ${available}.`
    return [Fault.make(["provider"], "invalid_value", message)]
  }

  const configFaults = (provider: Provider, config: Readable<SessionChange>["config"]) => {
    const configured = configurationOf(provider, config)
    return Either.isLeft(configured) ? configured.left : []
  }

  const commonFaults = (
    {
      closedMarkets,
      keywords = {},
      name,
      quietHours,
      retryFor
    }: Readable<Pick<SessionChange, "closedMarkets" | "keywords" | "name" | "quietHours" | "retryFor">>,
    before: Keywords.Keywords
  ): ReadonlyArray<Fault.Fault> => {
    const words = readableWords(keywords)
    return [
      ...(name === undefined ? [] : ValidateName.validateName(name, "name", 255)),
      ...retryForFaults(retryFor),
      ...(closedMarkets ? ClosedMarkets.faults(closedMarkets) : []),
      ...quietHoursFaults(quietHours),
      ...(words === undefined ? [] : Keywords.faults(withKeywords(before, words)))
    ]
  }

  const createFaults: Sessions["createFaults"] = (input) => [
    ...providerFaults(input.provider),
    ...commonFaults(input, Keywords.standard),
    ...(input.provider === undefined ? [] : configFaults(input.provider, input.config))
  ]

  /** @param config as it would be with the change */
  const changeFaultsOf = (
    session: Session,
    input: Readable<SessionChange>,
    config: Readable<SessionChange>["config"]
  ): ReadonlyArray<Fault.Fault> => [
    ...commonFaults(input, session.keywords),
    ...(config === undefined
      ? []
      : [...providerFaults(session.provider), ...configFaults(session.provider, config)])
  ]

  const sessions: Sessions = {
    createFaults,
    changeFaults: Effect.fnUntraced(function* (id, input) {
      const found = yield* store.find(id)
      if (found === null) return []
      return changeFaultsOf(found, input, (yield* mergedConfig(found, input.config))?.after)
    }),
    create: Effect.fnUntraced(function* (accountId, input) {
      const {
        closedMarkets = null,
        config,
        keywords,
        name,
        pacing,
        provider,
        quietHours,
        retryFor = null
      } = input
      yield* account(accountId)
      yield* refuseIf(createFaults(input))
      const stored = Either.getOrElse(configurationOf(provider, config), () => ({}))
      const now = yield* Time.now
      const id = ids.uuid(now)
      const connected = provider === "sandbox"
      const session: Session = {
        id,
        accountId,
        name,
        provider,
        config: box.seal(SessionSender.place(id), JSON.stringify(stored)),
        pacing: withPacing(senders.get(provider)?.pacing?.(stored) ?? unpaced, pacing),
        retryForMs: milliseconds(retryFor),
        closedMarkets,
        quietHours: Times.withQuietHours(QuietHours.none, quietHours),
        keywords: withKeywords(Keywords.standard, keywords),
        state: connected ? "connected" : "disconnected",
        reason: connected ? null : meantReasons.never,
        blockedUntil: null,
        blockReason: null,
        blockCode: null,
        repliesBlockedUntil: null,
        told: FieldVersions.nothing,
        outage: null,
        lastOutage: null,
        connectedSince: connected ? now : null,
        mendedAt: null,
        failing: null,
        createdAt: now,
        updatedAt: now
      }
      yield* store.create(session)
      yield* addressing.write(session)
      return session
    }),
    change: Effect.fnUntraced(function* (id, input) {
      const { blockedUntil, closedMarkets, config, keywords, name, pacing, quietHours, retryFor } = input
      const found = (yield* store.find(id)) ?? (yield* missing)
      const merged = yield* mergedConfig(found, config)
      yield* refuseIf(changeFaultsOf(found, input, merged?.after))
      const stored = merged && Either.getOrUndefined(configurationOf(found.provider, merged.after))
      const asked = stored && paceAskedBy(found.provider, merged?.before, stored)
      const now = yield* Time.now
      const change = {
        name: name ?? found.name,
        pacing: withPacing(withPacing(found.pacing, asked), pacing),
        retryForMs: retryFor === undefined ? found.retryForMs : milliseconds(retryFor),
        closedMarkets: closedMarkets === undefined ? found.closedMarkets : closedMarkets,
        quietHours: Times.withQuietHours(found.quietHours, quietHours),
        keywords: withKeywords(found.keywords, keywords),
        ...(stored === undefined ? {} : { config: box.seal(SessionSender.place(id), JSON.stringify(stored)) })
      }
      const basedOn = stored && found.config
      const changed = yield* store.change({ id, change, basedOn, releases: blockedUntil === null, now })
      if (changed === "stale") return yield* sessions.change(id, input)
      const session = changed ?? (yield* missing)
      if (stored !== undefined) yield* addressing.write(session)
      yield* signals.sends.notify
      return session
    }),
    find: Effect.fnUntraced(function* (id) {
      return (yield* store.find(id)) ?? (yield* missing)
    }),
    list: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      return yield* store.list({ accountId, page })
    }),
    all: ({ accountId, isDown = false, page }) =>
      store.list({ accountId, isDown: isDown ? true : undefined, page }),
    connect: Effect.fnUntraced(function* (id) {
      const found = (yield* store.find(id)) ?? (yield* missing)
      const sessionSender = yield* resolve(found)
      const unknown =
        sessionSender === undefined ? "This process cannot read the session's configuration." : null
      const failure =
        sessionSender?.sender.check === undefined
          ? null
          : yield* sessionSender.sender.check(sessionSender.config)
      const reason =
        unknown ?? (failure === null ? null : Sanitize.failure(failure, sessionSender?.config).message)
      // The check said nothing about a connected session, which stays connected with its outage.
      const isUnheard = failure !== null && !isCheckAnswered(failure) && found.state === "connected"
      return yield* record(
        {
          operation: "sessions.connect",
          on: id,
          before: Effect.map(store.find(id), (session) => Audit.session(session ?? found)),
          entry: (session) => ({ target: id, after: Audit.session(session) })
        },
        isUnheard
          ? Effect.flatMap(store.find(id), (session) =>
              session === null ? missing : Effect.succeed(session)
            )
          : transition(reason === null ? "connected" : "disconnected", reason)(id)
      )
    }, outside("admin.sessions.connect")),
    disconnect: transition("disconnected", meantReasons.operator),
    unreadHooks: Effect.fnUntraced(function* (id, page) {
      const { id: sessionId } = (yield* store.find(id)) ?? (yield* missing)
      return yield* inbound.unread({ sessionId, page })
    })
  }
  return sessions
})
