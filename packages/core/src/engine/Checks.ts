/**
 * The order of checks (contract.md §2). The first that refuses answers; what is refused consumes no quota, starts
 * no minimum wait and leaves its Idempotency-Key free.
 *
 *    1. credentials                          401   identify; authorize, when the caller is not of now
 *    2. requests per minute                  429   identify
 *    3. subscription, feature                402   authorize
 *    4. permission                           403   authorize
 *    5. session connected                    409   authorize
 *    6. header and body shape                422   sendShape, directShape, misshapen
 *    7. idempotency: replay, or conflict     409   findByIdempotencyKey
 *    8. template, recipients, variables      422   resolve
 *    9. consent                              403   consent
 *   10. quota                                402   accept (in the commit)
 *   11. minimum wait                         429   accept (in the commit)
 *
 * Each is a function below, but for the last two, which the commit asks (`storage/policy/Acceptance`). `Engine` puts `authorize` before every operation that takes a caller; `Sends` and
 * `DirectMessages` call 6 to 11 from top to bottom.
 */

import * as Effect from "effect/Effect"
import * as Records from "effect/Record"
import * as Struct from "effect/Struct"
import * as Address from "../domain/Address.ts"
import type { Permission } from "../domain/account/ApiKey.ts"
import * as ApiKey from "../domain/account/ApiKey.ts"
import * as Idempotency from "../domain/account/Idempotency.ts"
import * as RateLimit from "../domain/account/RateLimit.ts"
import * as Money from "../domain/billing/Money.ts"
import type { RateCard } from "../domain/billing/RateCard.ts"
import type { Purpose, Refusal } from "../domain/consent/Consent.ts"
import * as Consent from "../domain/consent/Consent.ts"
import {
  ConsentRequired,
  FeatureUnavailable,
  IdempotencyConflict,
  InsufficientPermission,
  InvalidCredentials,
  InvalidRequest,
  MinimumWaitActive,
  NotFound,
  Overloaded,
  RateLimited,
  SessionDisconnected,
  StoreQuarantined,
  SubscriptionInactive
} from "../domain/Errors.ts"
import * as Fault from "../domain/Fault.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Json from "../domain/Json.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import * as Direct from "../domain/job/Direct.ts"
import * as Job from "../domain/job/Job.ts"
import * as StopWhen from "../domain/job/StopWhen.ts"
import * as Keyring from "../domain/Keyring.ts"
import * as Person from "../domain/Person.ts"
import * as Phone from "../domain/Phone.ts"
import * as QuietHours from "../domain/session/QuietHours.ts"
import * as Text from "../domain/Text.ts"
import * as Rendering from "../domain/template/Rendering.ts"
import * as Template from "../domain/template/Template.ts"
import * as Variables from "../domain/template/Variables.ts"
import * as Either from "../effect/Either.ts"
import * as RequestDecoder from "../schema/RequestDecoder.ts"
import type { DirectMessageRequest, TemplateMessageRequest } from "../schema/Requests.ts"
import * as Requests from "../schema/Requests.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { AccountStore } from "../storage/AccountStore.ts"
import type { Identity } from "../storage/ApiKeyStore.ts"
import { ApiKeyStore } from "../storage/ApiKeyStore.ts"
import { ConsentSource } from "../storage/ConsentSource.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type { AcceptResult, AcceptSend, IdempotencyRecord } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RateLimitStore } from "../storage/RateLimitStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { Transactions } from "../storage/Transactions.ts"
import * as Admission from "./Admission.ts"
import type { Caller, Credentials, DirectCommand, SendCommand, Unauthorized } from "./Operations.ts"
import * as Timings from "./Timings.ts"

// 3, 4, 5 ------------------------------------------------------------------------------------------------------

const obstacle = ({ account, key, session }: Caller, permission: Permission | null) => {
  if (account.plan.subscription !== "active") return new SubscriptionInactive()
  const feature = permission === null ? null : ApiKey.featureOf[permission]
  if (feature !== null && !account.plan.features.includes(feature)) return new FeatureUnavailable({ feature })
  if (permission !== null && !key.permissions.includes(permission))
    return new InsufficientPermission({ permission })
  return session.state === "connected"
    ? undefined
    : new SessionDisconnected({ state: session.state, reason: session.reason })
}

/**
 * How long a looked-up caller counts as current, in milliseconds: long enough that a request looks its key up once,
 * short enough that a revocation holds within a second.
 */
const knownForMs = Time.second

// 6 ------------------------------------------------------------------------------------------------------------

const decodeTemplate = RequestDecoder.decoder(Requests.TemplateMessageRequest)
const readDirect = RequestDecoder.decoder(Requests.DirectMessageRequest)

const decodeDirect = (body: unknown): ReturnType<typeof readDirect> =>
  Either.flatMap(readDirect(body), (request) => {
    const mixed = Direct.mixed(request)
    return mixed.length === 0 ? Either.right(request) : Either.left(mixed)
  })

const textNames = Struct.keys(ClientTexts.recipient.requested)

const textFault = (
  name: keyof typeof ClientTexts.recipient.requested,
  text: unknown
): { readonly code: Fault.Code; readonly message: string } | undefined => {
  if (typeof text !== "string") return undefined
  const longest = ClientTexts.recipient.longest[name]
  if (Text.isLonger(text, longest)) {
    const message = `\`${name}\` must be at most ${longest} characters.`
    return { code: "out_of_range", message }
  }
  return Text.isStorable(text)
    ? undefined
    : { code: "recipient_invalid", message: `\`${name}\` must be well-formed text without NUL.` }
}

/** Adds the faults of a recipient that can be found without looking anything up. */
const addRecipientFaults = (
  faults: Fault.Faults,
  index: number,
  recipient: Readable["recipients"][number]
): void => {
  const { phone, user_id: userId } = recipient
  Address.addFaults(faults, { phone, userId }, (name) => ["recipients", index, name])
  for (const name of textNames) {
    const fault = textFault(name, recipient[name])
    if (fault !== undefined) faults.add(["recipients", index, name], fault.code, fault.message)
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nameOf = (value: unknown): string | null | undefined =>
  value === undefined || typeof value === "string" ? value : null

/** The faults of a direct message that can be found without looking anything up. */
const directFaults = (body: unknown): ReadonlyArray<Fault.Fault> => {
  if (!isObject(body)) return []
  const found = new Fault.Faults()
  const names = { phone: nameOf(Json.valueAt(body, "to")), userId: nameOf(Json.valueAt(body, "user_id")) }
  Address.addFaults(found, names, (name) => [name === "phone" ? "to" : name])
  return [...found.list, ...Direct.faults(body)]
}

const keyPath = ["headers", "Idempotency-Key"]

/** The Idempotency-Key that a header names, or why it names none. */
export const readKey = (header: unknown): Either.Either<string, ReadonlyArray<Fault.Fault>> => {
  const key = Idempotency.parseKey(header)
  if (key !== undefined) return Either.right(key)
  const message = "Idempotency-Key must be 1 to 128 visible ASCII characters, bare or in double quotes."
  return Either.left([Fault.make(keyPath, "idempotency_key_invalid", message)])
}

const noKey: ReadonlyArray<Fault.Fault> = [
  Fault.make(
    keyPath,
    "required",
    "The header Idempotency-Key is required: 1 to 128 visible ASCII characters."
  )
]

/** A request that does not have its schema's shape. */
export interface Misshapen {
  readonly body: unknown
  /** The faults that can be found without looking anything up. */
  readonly faults: ReadonlyArray<Fault.Fault>
}

/** A request with its Idempotency-Key, once both have their shape. */
interface Shaped<A, Key> {
  readonly request: A
  readonly key: Key
}

const shape = <A, Key>(
  request: A | Requests.Unchecked,
  decode: (body: unknown) => Either.Either<A, ReadonlyArray<Fault.Fault>>,
  key: Either.Either<Key, ReadonlyArray<Fault.Fault>>
): Either.Either<Shaped<A, Key>, Misshapen> => {
  const [body, given] = Requests.Unchecked.is(request) ? [request.body, request.faults] : [request, []]
  const decoded = body === Requests.unreadable ? Either.left([]) : decode(body)
  if (Either.isRight(decoded) && Either.isRight(key) && given.length === 0)
    return Either.right({ request: decoded.right, key: key.right })
  const faultsOf = (part: Either.Either<unknown, ReadonlyArray<Fault.Fault>>) =>
    Either.isLeft(part) ? part.left : []
  return Either.left({ body, faults: [...faultsOf(key), ...given, ...faultsOf(decoded)] })
}

const invalid = (faults: ReadonlyArray<Fault.Fault>) =>
  Effect.fail(new InvalidRequest({ faults: faults.slice(0, Fault.maximum) }))

const bodyOf = (request: Requests.TemplateMessage | Requests.Unchecked): Requests.Unchecked =>
  Requests.Unchecked.is(request) ? request : new Requests.Unchecked(Requests.templateBody(request))

/** Faults in header or body are refused by `misshapen`. */
export const sendShape = ({
  idempotencyKey: header,
  request
}: SendCommand): Either.Either<Shaped<TemplateMessageRequest, string>, Misshapen> =>
  shape(bodyOf(request), decodeTemplate, header === undefined ? Either.left(noKey) : readKey(header))

/** An estimate takes no Idempotency-Key. */
export const estimateShape = (
  request: Requests.TemplateMessage | Requests.Unchecked
): Either.Either<TemplateMessageRequest, Misshapen> =>
  Either.map(shape(bodyOf(request), decodeTemplate, Either.right(null)), (shaped) => shaped.request)

/** The request when its header and body have their shape, its key null when it has none; otherwise every fault. */
export const directShape = ({
  idempotencyKey: header,
  request
}: DirectCommand): Effect.Effect<Shaped<DirectMessageRequest, string | null>, InvalidRequest> =>
  Either.match(shape(request, decodeDirect, header === undefined ? Either.right(null) : readKey(header)), {
    onLeft: ({ body, faults }) => invalid([...faults, ...directFaults(body)]),
    onRight: (shaped) => Effect.succeed(shaped)
  })

/** A template request, or the readable parts of one that does not have its shape. */
interface Readable {
  readonly template_id: number | undefined
  readonly currency?: string | undefined
  /** Null when they cannot be read, so that no recipient's values are known. */
  readonly variables?: Variables.Values | undefined | null
  readonly recipients: ReadonlyArray<
    Readonly<Partial<Record<(typeof textNames)[number], string | undefined>>> & {
      readonly phone?: string | null | undefined
      readonly user_id?: string | null | undefined
      readonly variables?: Variables.Values | undefined | null
    }
  >
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const variablesOf = (value: unknown): Variables.Values | undefined | null =>
  value === undefined || Requests.isVariables(value) ? value : null

/** Too long a list of recipients is not checked one by one. */
const recipientsOf = (value: unknown): Readable["recipients"] =>
  Array.isArray(value) && value.length <= Requests.maximumRecipients
    ? value.map((recipient: unknown) => ({
        ...Records.map(ClientTexts.recipient.requested, (_, name) => textOf(Json.valueAt(recipient, name))),
        phone: isObject(recipient) ? nameOf(Json.valueAt(recipient, "phone")) : null,
        user_id: isObject(recipient) ? nameOf(Json.valueAt(recipient, "user_id")) : null,
        variables: isObject(recipient) ? variablesOf(recipient["variables"]) : null
      }))
    : []

const readable = (body: unknown): Readable => {
  const templateId = Json.valueAt(body, "template_id")
  return {
    template_id: typeof templateId === "number" && Number.isSafeInteger(templateId) ? templateId : undefined,
    currency: textOf(Json.valueAt(body, "currency")),
    variables: variablesOf(Json.valueAt(body, "variables")),
    recipients: recipientsOf(Json.valueAt(body, "recipients"))
  }
}

// 7 ------------------------------------------------------------------------------------------------------------

const conflict = (record: IdempotencyRecord): IdempotencyConflict =>
  new IdempotencyConflict(
    record.kind === "template"
      ? { jobId: record.jobId, messageId: null }
      : { jobId: null, messageId: Ids.messageId(record.jobId, 0) }
  )

// 8 ------------------------------------------------------------------------------------------------------------

export interface ResolvedRequest {
  readonly template: Template.Template
  readonly currency: string
  /** The rate card that prices the send; null where no card of the currency is in force. */
  readonly card: RateCard | null
  readonly recipients: TemplateMessageRequest["recipients"]
  /** Common to all recipients, as they were given. */
  readonly variables: Variables.Values | undefined
  /** The recipients', in their order. */
  readonly addresses: ReadonlyArray<Address.Address>
  /** Each recipient's, in the order of the template's variables. */
  readonly values: ReadonlyArray<ReadonlyArray<string>>
  readonly times: Timings.Timed
}

const templateFault = (template: Template.Template | null): ReadonlyArray<Fault.Fault> => {
  if (template === null) {
    return [Fault.make(["template_id"], "template_not_found", "This session has no template with this id.")]
  }
  if (template.status !== "approved") {
    const message = `The template is ${template.status}; only approved templates can be sent.`
    return [Fault.make(["template_id"], "template_not_approved", message)]
  }
  if (template.sendable) return []
  const why = template.unsendableReason ?? "It needs what variables cannot express."
  return [Fault.make(["template_id"], "template_unsupported", `The template cannot be sent: ${why}`)]
}

/** A template's fault where that stands in the place of a direct message's text: its variables are those of nobody else. */
const inOtherwise = (fault: Fault.Fault): Fault.Fault => {
  const path = fault.path[0] === "recipients" ? fault.path.slice(2) : fault.path
  return { ...fault, path: ["otherwise", ...path] }
}

const notNamed = "It must be a phone, digits with the country calling code, or a user id such as US.1349."

/** The address that a recipient names, as far as it can be read. */
const addressOf = (
  { phone, user_id: userId }: Readable["recipients"][number],
  portfolio: string
): Address.Address =>
  userId == null || Address.checkUserId(userId) !== undefined
    ? (phone ?? "")
    : Address.addressOf({ phone: phone ?? null, userId }, portfolio)

/** The places of the readable recipients by what each is sent: who is alone with their values gets nothing twice. */
const placesByValues = (
  addresses: ReadonlyArray<Address.Address>,
  values: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<ReadonlyArray<number>> => {
  const groups = new Map<string, Array<number>>()
  for (const [index, address] of addresses.entries()) {
    if (address === "") continue
    const name = JSON.stringify(values[index] ?? [])
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [index])
    else group.push(index)
  }
  return [...groups.values()].filter(({ length }) => length > 1)
}

const named = (address: Address.Address = ""): string => {
  const { phone, userId } = Address.personOf(address)
  return phone ?? userId ?? ""
}

/** Refuses recipients who are one person and have the same values: they would get the same message twice. */
const addDuplicateFaults = (
  faults: Fault.Faults,
  addresses: ReadonlyArray<Address.Address>,
  groups: ReadonlyArray<ReadonlyArray<number>>,
  others: Person.Others
): void => {
  const found: Array<readonly [index: number, message: string]> = []
  for (const group of groups) {
    /** The first of each person, by all that they are known by. */
    const first = new Map<Person.Key, number>()
    for (const index of group) {
      const address = addresses[index] ?? ""
      const all = Person.keysAmong(Address.keysOf(address), others)
      const earlier = all.map((key) => first.get(key)).find((place) => place !== undefined)
      if (earlier === undefined) {
        for (const key of all) first.set(key, index)
        continue
      }
      const message =
        addresses[earlier] === address
          ? `Recipient ${earlier} has the same ${Address.personOf(address).phone === null ? "user id" : "phone"} and the same values.`
          : `Recipient ${earlier} (${named(addresses[earlier])}) and recipient ${index} (${named(address)}) are one person and have the same values.`
      found.push([index, message])
    }
  }
  for (const [index, message] of found.toSorted(([a], [b]) => a - b))
    faults.add(["recipients", index], "recipient_duplicate", message)
}

const ofOtherPortfolio =
  "The user id is of another portfolio than the session's, and means nobody to its platform."

const ofTwoPeople =
  "The platform has told these two names of different people. Give one of them, or the number and the user id of one person."

const needsNumber = "The platform sends a one-time code to numbers alone, and none is known of this user id."

// 9 ------------------------------------------------------------------------------------------------------------

const consentFault = (
  refusal: Refusal,
  purpose: Purpose,
  path: ReadonlyArray<string | number>
): Fault.Fault => Fault.make(path, "consent_required", Consent.refusalText(refusal, purpose))

/** `Retry-After` for a repeated send whose first request is in a transaction that is still open. */
const keyLockedMs = Time.second

/** The outcome of a commit for a send. */
type Recorded = Extract<AcceptResult, { readonly _tag: "Accepted" | "Replayed" }>

/** The checks that look things up, over the stores of this engine. */
export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const box = yield* SecretBox
  const consents = yield* ConsentSource
  const jobs = yield* JobStore
  const admission = Admission.make()
  const keys = yield* ApiKeyStore
  const people = yield* InboundStore
  const limits = yield* RateLimitStore
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore
  const resolveSender = yield* SessionSender.make
  const { isEmbedded } = yield* Transactions

  // 1, 2 -------------------------------------------------------------------------------------------------------

  // The time of last use is useful, but no reason to refuse a request, nor to lock the key until an embedder's
  // transaction ends.
  const touch = ({ lastUsedAt, publicKey }: ApiKey.ApiKey, now: Instant) =>
    ApiKey.wasIdle({ lastUsedAt }, now)
      ? Effect.unlessEffect(keys.touch({ publicKey, now }), isEmbedded).pipe(
          Effect.catchAll((error) => Effect.logDebug(error.message))
        )
      : Effect.void

  const moving = new Set<string>()
  /**
   * Moves the hash of a secret under an older master key to the one in use. Only its presentation allows that, since
   * the secret itself is not stored.
   */
  const moveHash = (publicKey: string, secretKey: string, hashes: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const from = hashes.find(
        (hash) => !Keyring.isUnder(box.inUse(), hash) && box.matches(secretKey, [hash])
      )
      if (from === undefined || moving.has(publicKey)) return Effect.void
      moving.add(publicKey)
      return Effect.unlessEffect(keys.rehash({ publicKey, from, to: box.hash(secretKey) }), isEmbedded).pipe(
        Effect.catchAll((error) => Effect.logWarning(error.message)),
        Effect.ensuring(Effect.sync(() => moving.delete(publicKey)))
      )
    })

  /** Identifies the caller. An unknown key costs the same work as a wrong secret, so that the time reveals nothing. */
  const identify = Effect.fnUntraced(function* (credentials: Credentials) {
    const now = yield* Time.now
    const identity = yield* keys.identify(credentials.publicKey ?? "")
    const hashes = identity === null ? [] : ApiKey.validHashes(identity.key, now)
    const proven = box.matches(credentials.secretKey ?? "", hashes)
    if (identity === null || !proven) return yield* new InvalidCredentials()
    const { publicKey } = identity.key
    const limit = identity.account.plan.requestsPerMinute
    const rate = yield* limits.consume({ key: `requests|${publicKey}`, limit, periodMs: Time.minute, now })
    if (!rate.allowed) {
      const { resetAfterMs, retryAfterMs } = rate
      return yield* new RateLimited({ limit, retryAfterMs, resetAfterMs })
    }
    yield* touch(identity.key, now)
    if (hashes.some((hash) => !Keyring.isUnder(box.inUse(), hash))) {
      yield* moveHash(publicKey, credentials.secretKey ?? "", hashes)
    }
    const { account, key, session } = identity
    const caller: Caller = { account, key, session, rate, knownAt: now }
    return caller
  })

  const identityOf = (sessionId: string): Effect.Effect<Identity | null, StorageError> =>
    Effect.flatMap(sessions.find(sessionId), (session) =>
      session === null
        ? Effect.succeed(null)
        : Effect.map(accounts.find(session.accountId), (account) =>
            account === null ? null : { account, key: ApiKey.ofSession(session), session }
          )
    )

  /** A caller without an API key: nothing is proven, and no requests are counted. */
  const callerOf = Effect.fnUntraced(function* (sessionId: string) {
    const identity = yield* identityOf(sessionId)
    if (identity === null) return yield* new NotFound({ what: "session" })
    const rate = RateLimit.untouched(identity.account.plan.requestsPerMinute)
    const caller: Caller = { ...identity, rate, knownAt: yield* Time.now }
    return caller
  })

  // 1, 3, 4, 5 -------------------------------------------------------------------------------------------------

  /** The latest state of callers that embedders hold on to, so that many operations of one share a look-up. */
  const renewed = new WeakMap<Caller, Caller>()

  const renew = Effect.fnUntraced(function* (cached: Caller, now: Instant) {
    const isOfSession = ApiKey.isOfSession(cached.key)
    const identity = yield* isOfSession ? identityOf(cached.session.id) : keys.identify(cached.key.publicKey)
    if (identity === null || identity.key.status !== "active") return yield* new InvalidCredentials()
    if (!isOfSession) yield* touch(identity.key, now)
    const { account, key, session } = identity
    const caller: Caller = { account, key, session, rate: cached.rate, knownAt: now }
    // A rollback of the transaction may undo what was read inside it.
    if (!(yield* isEmbedded)) renewed.set(cached, caller)
    return caller
  })

  /** The caller as it is now, when it may do what needs the permission; null when nothing is needed. */
  const authorize = (caller: Caller, permission: Permission | null): Effect.Effect<Caller, Unauthorized> =>
    Effect.flatMap(Time.now, (now) => {
      const latest = renewed.get(caller) ?? caller
      const age = now - latest.knownAt
      const current = age >= 0 && age < knownForMs ? Effect.succeed(latest) : renew(caller, now)
      return Effect.flatMap(current, (known) => {
        const found = obstacle(known, permission)
        return found === undefined ? Effect.succeed(known) : Effect.fail(found)
      })
    })

  // 7 ----------------------------------------------------------------------------------------------------------

  /**
   * The earlier request under this key, whose answer is repeated; null when the key is free. The fingerprint is
   * computed only for the comparison, because the body's texts are not bounded yet.
   */
  const findByIdempotencyKey = (caller: Caller, key: string, fingerprint: () => string) =>
    Effect.flatMap(jobs.findByIdempotencyKey({ publicKey: caller.key.publicKey, key }), (found) =>
      found !== null && Idempotency.decide(found, fingerprint()) === "KeyConflict"
        ? Effect.fail(conflict(found))
        : Effect.succeed(found)
    )

  // 8 ----------------------------------------------------------------------------------------------------------

  /** True for the account's own currency, one that the platform bills in, or one with a rate card. */
  const currencyFaults = (
    { account }: Caller,
    currency: string,
    card: RateCard | null
  ): ReadonlyArray<Fault.Fault> => {
    if (currency === account.currency || Money.currencies.includes(currency) || card !== null) return []
    const message = `The currency is not supported. Supported are ${Money.currencies.join(", ")}.`
    return [Fault.make(["currency"], "currency_unsupported", message)]
  }

  /** The people who would get the same message twice, by all that is known of them: one look-up for all. */
  const findDuplicates = Effect.fnUntraced(function* (
    { account }: Caller,
    addresses: ReadonlyArray<Address.Address>,
    values: ReadonlyArray<ReadonlyArray<string>>,
    faults: Fault.Faults
  ) {
    const groups = faults.isFull ? [] : placesByValues(addresses, values)
    if (groups.length === 0) return
    const asked = new Set<Person.Key>()
    for (const place of groups.flat())
      for (const key of Address.keysOf(addresses[place] ?? ""))
        if (Address.isUserId(key) || Phone.check(key) === undefined) asked.add(key)
    const others = yield* people.others({ accountId: account.id, keys: [...asked] })
    addDuplicateFaults(faults, addresses, groups, others)
  })

  const portfolioOf = ({ session }: Caller) =>
    Effect.map(resolveSender(session), (found) => SessionSender.portfolioOf(found, session.id))

  /** The scope of the user ids that a request names; of one that names none it is not looked for. */
  const portfolioFor = (caller: Caller, userIds: ReadonlyArray<string | null | undefined>) =>
    userIds.every((userId) => userId == null) ? Effect.succeed("") : portfolioOf(caller)

  /** The places of user ids that are told of another portfolio, and not of the session's. */
  const foreign = Effect.fnUntraced(function* (
    { account }: Caller,
    addresses: ReadonlyArray<Address.Address>
  ) {
    const found = new Set<number>()
    for (const [place, address] of addresses.entries()) {
      const { userId } = Address.personOf(address)
      if (userId === null) continue
      const known = yield* people.toldOfUser({ accountId: account.id, userId })
      if (known.length > 0 && !Address.keysOf(address).some((key) => known.includes(key))) found.add(place)
    }
    return found
  })

  /** The places of those of whose two names the platform has told that they are not one person's. */
  const mismatched = Effect.fnUntraced(function* (
    { account }: Caller,
    addresses: ReadonlyArray<Address.Address>
  ) {
    const keys = Address.keysOfPairs(addresses)
    if (keys.length === 0) return []
    return Address.placesOfTwo(addresses, yield* people.others({ accountId: account.id, keys }))
  })

  /** The faults of recipients whom the session may not ask for by the given names, by the recipients' places. */
  const misnamed = Effect.fnUntraced(function* (caller: Caller, addresses: ReadonlyArray<Address.Address>) {
    const found = new Map<number, string>()
    for (const place of yield* mismatched(caller, addresses)) found.set(place, ofTwoPeople)
    for (const place of yield* foreign(caller, addresses)) found.set(place, ofOtherPortfolio)
    return found
  })

  /** Refuses those without a number where the platform would, unless it is known of their user id (contract.md §14). */
  const findNumberless = Effect.fnUntraced(function* (
    { account }: Caller,
    addresses: ReadonlyArray<Address.Address>,
    faults: Fault.Faults
  ) {
    const without = [...addresses.entries()].filter(([, address]) => Address.personOf(address).phone === null)
    if (without.length === 0) return
    const others = yield* people.others({ accountId: account.id, keys: without.map(([, key]) => key) })
    for (const [index, address] of without)
      if (Address.withNumber(address, others) === address)
        faults.add(["recipients", index, "user_id"], "recipient_needs_number", needsNumber)
  })

  /** The addresses that recipients name; adds the faults of those that the platform cannot reach. */
  const examineNames = Effect.fnUntraced(function* (
    caller: Caller,
    { recipients }: Readable,
    template: Template.Template | null,
    faults: Fault.Faults
  ) {
    const portfolio = yield* portfolioFor(
      caller,
      recipients.map(({ user_id }) => user_id)
    )
    const addresses = recipients.map((recipient) => addressOf(recipient, portfolio))
    for (const [place, message] of yield* misnamed(caller, addresses))
      faults.add(["recipients", place, "user_id"], "recipient_invalid", message)
    if (template !== null && Template.needsNumber(template)) yield* findNumberless(caller, addresses, faults)
    return addresses
  })

  /** The template, and every recipient's values in the order of its variables; adds the faults of both. */
  const examine = Effect.fnUntraced(function* (
    caller: Caller,
    request: Readable,
    faults: Fault.Faults,
    now: Instant
  ) {
    const { currency = caller.account.currency, recipients, template_id: templateId } = request
    const { card, template } = yield* templates.findWithCard({
      sessionId: caller.session.id,
      templateId: templateId ?? null,
      currency,
      now
    })
    if (templateId !== undefined) faults.addAll(templateFault(template))
    faults.addAll(currencyFaults(caller, currency, card))
    for (const [index, recipient] of recipients.entries()) {
      if (faults.isFull) break
      addRecipientFaults(faults, index, recipient)
    }
    const addresses = yield* examineNames(caller, request, template, faults)
    const values: Array<ReadonlyArray<string>> = []
    if (template === null || !template.sendable || request.variables === null)
      return { addresses, card, template, values }
    const common = Variables.checkCommon(template, request.variables)
    faults.addAll(common)
    const resolveValues = Variables.resolve(template, request.variables)
    for (const [index, { variables }] of recipients.entries()) {
      if (faults.isFull) break
      if (variables === null) {
        values.push([])
        continue
      }
      const { faults: own, values: found } = resolveValues(variables, index)
      values.push(found)
      if (own.length > 0) faults.addAll(own)
      else if (common.length === 0 && !Rendering.surelyFits(template, found))
        faults.addAll(Rendering.check(template, found, ["recipients", index, "variables"]))
    }
    yield* findDuplicates(
      caller,
      addresses.map((address, place) => (recipients[place]?.variables === null ? "" : address)),
      values,
      faults
    )
    return { addresses, card, template, values }
  })

  /** The template and every recipient's values, or every fault of the request. */
  const resolve = Effect.fnUntraced(function* (
    caller: Caller,
    request: TemplateMessageRequest,
    now: Instant
  ) {
    const faults = new Fault.Faults()
    const { addresses, card, template, values } = yield* examine(caller, request, faults, now)
    const quiet = template === null ? null : QuietHours.of(caller.session.quietHours, template.category)
    const times = Timings.read(request, addresses, quiet, now, faults)
    faults.addAll(StopWhen.faults(request))
    if (template === null || faults.list.length > 0) return yield* invalid(faults.list)
    const { currency = caller.account.currency, recipients, variables } = request
    const resolved: ResolvedRequest = {
      template,
      currency,
      card,
      recipients,
      variables,
      addresses,
      values,
      times
    }
    return resolved
  })

  /**
   * Refuses a request without its schema's shape, with the template's faults as far as the body can be read. If the
   * storage does not answer, the request is refused without those.
   */
  const misshapen = Effect.fnUntraced(function* (caller: Caller, { body, faults }: Misshapen, now: Instant) {
    const found = new Fault.Faults(faults)
    if (!found.isFull) yield* Effect.option(examine(caller, readable(body), found, now))
    return yield* invalid(found.list)
  })

  // 9 ----------------------------------------------------------------------------------------------------------

  const consent = ({
    caller,
    addresses,
    path,
    purpose
  }: {
    readonly caller: Caller
    readonly purpose: Purpose
    readonly addresses: ReadonlyArray<Address.Address>
    readonly path: (index: number) => ReadonlyArray<string | number>
  }) =>
    Effect.flatMap(consents.refusals(caller.account.id, addresses, purpose), (refusals) => {
      if (refusals.size === 0) return Effect.void
      const faults = Array.from(refusals, ([index, refusal]) => consentFault(refusal, purpose, path(index)))
      const withdrawn = [...refusals.values()].filter(Consent.isWithdrawn).length
      return Effect.fail(new ConsentRequired({ faults, withdrawn }))
    })

  // 10, 11 -----------------------------------------------------------------------------------------------------

  /**
   * Commits the send, unless too many sends wait for their commit. The store checks key, quota and minimum wait
   * inside the commit. From here on a client that hangs up changes nothing. Inside the embedder's transaction only
   * a send of more than a whole day's quota is refused.
   */
  const accept = <E>(
    command: AcceptSend,
    exhausted: (quota: { readonly limit: number; readonly used: number; readonly resetsAt: Instant }) => E
  ) =>
    Effect.flatMap(
      admission.admit(
        Effect.uninterruptible(
          Effect.flatMap(isEmbedded, (isEmbedded) =>
            jobs.accept(isEmbedded ? { ...command, isEmbedded } : command)
          )
        )
      ),
      (
        result: AcceptResult
      ): Effect.Effect<
        Recorded,
        IdempotencyConflict | MinimumWaitActive | Overloaded | StoreQuarantined | E
      > => {
        switch (result._tag) {
          case "Accepted":
          case "Replayed":
            return Effect.succeed(result)
          case "KeyConflict":
            return Effect.fail(conflict(result.record))
          case "QuotaExhausted":
            return Effect.fail(exhausted(result))
          case "TooSoon":
            return Effect.fail(new MinimumWaitActive({ retryAfterMs: result.retryAt - command.now }))
          case "KeyLocked":
            return Effect.fail(new Overloaded({ waitingFor: "commit", retryAfterMs: keyLockedMs }))
          case "Quarantined":
            return Effect.fail(new StoreQuarantined())
        }
      }
    )

  const addressed = Effect.fnUntraced(function* (
    caller: Caller,
    names: Readable["recipients"][number],
    path: ReadonlyArray<string>
  ) {
    const address = addressOf(names, yield* portfolioFor(caller, [names.user_id]))
    const message = (yield* misnamed(caller, [address])).get(0)
    if (message !== undefined) return yield* invalid([Fault.make(path, "recipient_invalid", message)])
    return address
  })

  /** The person whom a direct message is for, once its names and its text are checked. */
  const direct = Effect.fnUntraced(function* (caller: Caller, request: DirectMessageRequest) {
    const faults = directFaults(request)
    if (faults.length > 0) return yield* invalid(faults)
    const { to: phone, user_id } = request
    return yield* addressed(caller, { phone, user_id }, ["user_id"])
  })

  /** The template that goes in the place of a direct message's text, with its values; undefined where none is asked for. */
  const otherwise = Effect.fnUntraced(function* (
    caller: Caller,
    given: DirectMessageRequest["otherwise"],
    address: Address.Address
  ) {
    if (given === undefined) return undefined
    if (!caller.account.plan.features.includes("templates"))
      return yield* new FeatureUnavailable({ feature: "templates" })
    const { template_id: templateId, variables } = given
    const template = yield* templates.find({ sessionId: caller.session.id, templateId })
    const found = new Fault.Faults(templateFault(template).map(inOtherwise))
    if (template !== null && Template.needsNumber(template)) {
      const numberless = new Fault.Faults()
      yield* findNumberless(caller, [address], numberless)
      for (const { code, message } of numberless.list) found.add(["user_id"], code, message)
    }
    if (template === null || !template.sendable) return yield* invalid(found.list)
    const { faults, values } = Variables.resolve(template, variables)(undefined, 0)
    const own = [...Variables.checkCommon(template, variables), ...faults]
    const all = own.length > 0 ? own : Rendering.check(template, values, ["variables"])
    found.addAll(all.map(inOtherwise))
    if (found.list.length > 0) return yield* invalid(found.list)
    const frozen = Job.contentOf(template)
    return frozen.kind === "template" ? { templateId, template: frozen.template, values } : undefined
  })

  /** The person whom a path names. */
  const person = Effect.fnUntraced(function* (caller: Caller, name: string) {
    const named = Address.read(name)
    const path = ["path", "person"]
    if (named === undefined) return yield* invalid([Fault.make(path, "recipient_invalid", notNamed)])
    return yield* addressed(
      caller,
      { phone: named.phone ?? undefined, user_id: named.userId ?? undefined },
      path
    )
  })

  return {
    direct,
    otherwise,
    person,
    identify,
    callerOf,
    authorize,
    findByIdempotencyKey,
    misshapen,
    resolve,
    consent,
    accept
  }
})

export type Checks = Effect.Effect.Success<typeof make>
