/** Reads what the platform posts to a session's hook (contract.md §W1.8, §1.11, §1.12). */
import { createHmac, timingSafeEqual } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Json from "../../domain/Json.ts"
import type { Failure, Pricing, Reported } from "../../domain/job/Recipient.ts"
import * as FailureCatalogue from "../../domain/session/FailureCatalogue.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import type { Report } from "../../storage/JobStore.ts"
import * as HookBody from "../HookBody.ts"
import type {
  Acquaintance,
  Contact,
  HookContent,
  HookRequest,
  Named,
  Preference,
  SessionNews,
  TemplateNews,
  UnreadPart
} from "../Sender.ts"
import { HookResult } from "../Sender.ts"
import { type Config, decode } from "./Config.ts"
import { failureOf, ofErrors } from "./Failure.ts"
import * as PlatformUpdates from "./PlatformUpdates.ts"

/** Compares with each of the session's secrets in constant time, over the received bytes. */
export const isSigned = ({ body, headers }: HookRequest, config: unknown): boolean => {
  const { app_secret, app_secrets = [] } = decode(config)
  const header = headers["x-hub-signature-256"] ?? ""
  const given = Buffer.from(/^sha256=([0-9a-f]{64})$/.exec(header)?.[1] ?? "", "hex")
  const isBy = (secret: string): boolean => {
    const expected = createHmac("sha256", secret).update(body).digest()
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return [app_secret, ...app_secrets].filter(isBy).length > 0
}

/** Seconds since 1970, as text or number; null for what is no number. */
const timeOf = (value: unknown): Instant | null => {
  if (typeof value === "number") return Time.at(value * Time.second)
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Time.at(Number(value) * Time.second) : null
}

const statuses: ReadonlyMap<string, Reported> = new Map([
  ["sent", "sent"],
  ["delivered", "delivered"],
  ["read", "read"],
  ["played", "read"],
  ["failed", "failed"]
])

interface Found {
  readonly reports: Array<Report>
  readonly messages: Array<HookContent["messages"][number]>
  readonly preferences: Array<Preference>
  readonly people: Array<Acquaintance>
  readonly contacts: Array<Contact>
  readonly templates: Array<TemplateNews>
  readonly session: Array<SessionNews>
  readonly unread: Array<UnreadPart>
}

/** One change of a hook: `field` is the platform's name of its kind, `found` gathers what it brings. */
interface Place {
  readonly field: string
  readonly found: Found
}

const unread = ({ field, found }: Place, reason: string, content: unknown): void => {
  found.unread.push({ field, reason, content })
}

/** The items of a list; what stands in its place and is none is unread. */
const itemsOf = (place: Place, value: unknown, name: string): ReadonlyArray<unknown> => {
  const list = Json.valueAt(value, name) ?? []
  if (Array.isArray(list)) return list
  unread(place, `\`${name}\` is not a list`, list)
  return []
}

/** Messages that others wrote to a person in our place: another app, an agent, or our people by the phone's own app. */
const echoes = ["message_echoes", "smb_message_echoes"] as const

/**
 * Fields and members that are known and not unread (contract.md §W1.13): what others said in our place, the history of a chat,
 * summaries and calls. Echoes, history and calls are read for the window alone.
 */
const notUnread: ReadonlySet<string> = new Set(["conversation_context", "history", "calls", ...echoes])

/** Members of an object that are not looked at. */
const unreadMembers = (place: Place, value: unknown, known: ReadonlySet<string>): void => {
  if (typeof value !== "object" || value === null) return
  for (const [name, member] of Object.entries(value))
    if (!known.has(name) && !notUnread.has(name))
      unread(place, `\`${name.slice(0, 64)}\` is not known`, { [name]: member })
}

/** contract.md §W1.8: `billable` is on its way out, so the type says whether anything is due. */
const pricingOf = (status: unknown): Pricing | undefined => {
  const category = Json.textAt(status, "pricing", "category")
  if (category === undefined) return undefined
  const type = Json.textAt(status, "pricing", "type")
  const billable = Json.valueAt(status, "pricing", "billable")
  return { category, free: type === undefined ? billable === false : type.startsWith("free_") }
}

/** The person has stopped marketing messages, which concerns more than the reported message. */
const optedOut = (status: unknown): Failure | undefined =>
  failuresOf(errorsOf(status)).find(({ code }) => code === "marketing_opted_out")

/** The errors of a status: those of a vendor that writes one alone are a list of one. */
const errorsOf = (status: unknown): ReadonlyArray<unknown> => {
  const errors = Json.valueAt(status, "errors") ?? []
  return Array.isArray(errors) ? errors : [errors]
}

/** The person whom a status is about. In a group the recipient is the group, and the person one of its participants. */
interface StatusRecipient extends Named {
  readonly isOfGroup: boolean
}

const recipientOf = (status: unknown): StatusRecipient => {
  const word = (name: string) => Json.wordAt(status, name) ?? null
  const participant = {
    phone: word("recipient_participant_id"),
    userId: word("recipient_participant_user_id")
  }
  const isOfGroup =
    word("recipient_type") === "group" || participant.phone !== null || participant.userId !== null
  return isOfGroup
    ? { ...participant, isOfGroup }
    : { phone: word("recipient_id"), userId: word("recipient_user_id"), isOfGroup }
}

/**
 * Reads the recipient of a status, even where the rest of it cannot be read. One that can is matched with the number that
 * was asked for once its message is found.
 */
const readRecipient = (
  status: unknown,
  { isOfGroup, phone, userId }: StatusRecipient,
  isReport: boolean,
  found: Found
): void => {
  // A message to a group was asked for by nobody's number.
  const messageId = isOfGroup ? null : (Json.textAt(status, "biz_opaque_callback_data") ?? null)
  const at = timeOf(Json.valueAt(status, "timestamp"))
  if (userId !== null && (phone !== null || !isReport)) found.people.push({ phone, userId, messageId, at })
  const failure = optedOut(status)
  if (failure === undefined) return
  const providerId = Json.textAt(status, "id") ?? null
  found.preferences.push({
    id: providerId === null ? null : `${failure.provider_code} of ${providerId}`,
    phone,
    userId,
    messageId,
    purpose: "marketing",
    status: "revoked",
    at,
    proof: `The platform reported ${failure.provider_code} of message ${providerId}: ${failure.message}`
  })
}

const readStatus = (status: unknown, now: Instant, place: Place): void => {
  const { found } = place
  const providerId = Json.textAt(status, "id")
  const reported = statuses.get(Json.textAt(status, "status") ?? "")
  const recipient = recipientOf(status)
  const { isOfGroup, phone, userId } = recipient
  readRecipient(status, recipient, providerId !== undefined && reported !== undefined, found)
  if (providerId === undefined || reported === undefined) {
    unread(place, "a status without an id or with an unknown status", status)
    return
  }
  const at = timeOf(Json.valueAt(status, "timestamp")) ?? now
  const messageId = Json.textAt(status, "biz_opaque_callback_data") ?? null
  const failure = reported === "failed" ? ofErrors(errorsOf(status)) : null
  const pricing = pricingOf(status)
  const who = isOfGroup || (phone === null && userId === null) ? {} : { named: { phone, userId } }
  const described = { messageId, providerId, status: reported, at, failure, ...who }
  found.reports.push(pricing === undefined ? described : { ...described, pricing })
}

/** The people whom a change has as contacts, found by either name. */
interface Contacts {
  readonly all: ReadonlyArray<Named>
  /** The place of the first with this phone, and with this user id. */
  readonly byPhone: ReadonlyMap<string, number>
  readonly byUserId: ReadonlyMap<string, number>
}

function* contactsOf(value: unknown): Generator<void, Contacts> {
  const all: Array<Named> = []
  const byPhone = new Map<string, number>()
  const byUserId = new Map<string, number>()
  for (const contact of Json.listAt(value, "contacts")) {
    const phone = Json.wordAt(contact, "wa_id") ?? null
    const userId = Json.wordAt(contact, "user_id") ?? null
    if (phone !== null && !byPhone.has(phone)) byPhone.set(phone, all.length)
    if (userId !== null && !byUserId.has(userId)) byUserId.set(userId, all.length)
    if (phone !== null || userId !== null) all.push({ phone, userId })
    yield
  }
  return { all, byPhone, byUserId }
}

/** Adds what the contacts of the same change say. Without a match the only contact counts, if there is only one. */
const among = ({ all, byPhone, byUserId }: Contacts, { phone, userId }: Named): Named => {
  const [only] = all
  if (phone === null && userId === null)
    return only !== undefined && all.length === 1 ? only : { phone, userId }
  const first = Math.min(
    phone === null ? all.length : (byPhone.get(phone) ?? all.length),
    userId === null ? all.length : (byUserId.get(userId) ?? all.length)
  )
  const contact = all[first]
  return { phone: phone ?? contact?.phone ?? null, userId: userId ?? contact?.userId ?? null }
}

/** The payload of a pressed button, or the id of a chosen row. */
const payloadOf = (message: unknown): string | undefined =>
  Json.textAt(message, "button", "payload") ??
  Json.textAt(message, "interactive", "button_reply", "id") ??
  Json.textAt(message, "interactive", "list_reply", "id")

/** A person's text, or the payload of the button that they pressed. */
const ownWordsOf = (message: unknown): string | undefined =>
  Json.textAt(message, "text", "body") ?? payloadOf(message)

/** The label of a pressed button. */
const labelOf = (message: unknown): string | undefined =>
  Json.textAt(message, "button", "text") ??
  Json.textAt(message, "interactive", "button_reply", "title") ??
  Json.textAt(message, "interactive", "list_reply", "title")

const captionOf = (message: unknown): string | undefined =>
  ["image", "video", "document"].map((kind) => Json.textAt(message, kind, "caption")).find(Boolean)

/** A message that was edited, as it reads now; any other as it came. */
const asItReads = (message: unknown): unknown =>
  Json.valueAt(message, "edit", "message") ??
  Json.valueAt(message, "edited", "message") ??
  Json.valueAt(message, "edit") ??
  Json.valueAt(message, "edited") ??
  message

/** The ids in the platform's own text of a change, which ends with them: a name in front of them may be anything. */
const changedIds = (system: unknown): readonly [from: string | null, to: string | null] => {
  const [, from = null, to = null] =
    / changed from (\S{1,256}) to (\S{1,256}?)\.?$/.exec(Json.textAt(system, "body")?.trim() ?? "") ?? []
  return [from, to]
}

/** A changed number, and the user id that changes with it (contract.md §W1.11, §1.13). */
const readSystem = (message: unknown, found: Found): void => {
  const system = Json.valueAt(message, "system")
  const type = Json.textAt(system, "type")
  if (type !== "user_changed_number" && type !== "user_changed_user_id") return
  const [idBefore, idNow] = type === "user_changed_user_id" ? changedIds(system) : [null, null]
  const newUserId = Json.wordAt(system, "user_id") ?? idNow
  const oldUserId = Json.wordAt(system, "previous_user_id") ?? idBefore
  const fromUserId = Json.wordAt(message, "from_user_id") ?? null
  // In such an item the sender's id is the new one if it also names the old one, and otherwise the old one.
  const userId = newUserId ?? (oldUserId === null ? null : fromUserId)
  const phone = Json.wordAt(system, "wa_id") ?? Json.wordAt(system, "new_wa_id") ?? null
  const from = Json.wordAt(message, "from") ?? null
  const former = oldUserId ?? (fromUserId === userId ? null : fromUserId)
  const at = timeOf(Json.valueAt(message, "timestamp"))
  found.people.push({ phone, userId, formerly: { phone: from === phone ? null : from, userId: former }, at })
}

/** A system message may name whom it is about in its own object alone. */
const ofSystem = (message: unknown, sender: Named): Named =>
  sender.phone === null && sender.userId === null
    ? { phone: null, userId: Json.wordAt(message, "system", "user_id") ?? null }
    : sender

/** The number and the user id of whom the platform asked for their number on our behalf (contract.md §W1.12). */
const readContactRequest = (message: unknown, found: Found): void => {
  const cards = Json.listAt(message, "contacts")
  // One of another origin is somebody else's.
  const originOf = (card: unknown) => Json.textAt(card, "origin") ?? Json.textAt(message, "origin")
  const card = cards.find((each) => originOf(each) === "contact_request")
  if (card === undefined) return
  const phone = Json.wordAt(card, "phones", 0, "wa_id") ?? Json.wordAt(card, "phones", 0, "phone") ?? null
  const userId =
    Json.wordAt(card, "user_id") ??
    Json.wordAt(card, "phones", 0, "user_id") ??
    Json.wordAt(message, "from_user_id") ??
    null
  found.people.push({ phone, userId, at: timeOf(Json.valueAt(message, "timestamp")) })
}

/** Reads the news of the sender's identity that a message has by its kind. */
const readIdentity = (type: string | null, message: unknown, found: Found): void => {
  if (type === "system") readSystem(message, found)
  else if (type === "contacts") readContactRequest(message, found)
}

/** The platform's object of a message: that of its kind, or the errors that stand in its place. */
const contentOfMessage = (message: unknown, type: string | null): unknown => {
  const errors = Json.valueAt(message, "errors")
  return (
    (type === null ? undefined : Json.valueAt(message, type)) ?? (errors === undefined ? null : { errors })
  )
}

/** An advertisement brought them. */
const isReferred = (message: unknown): boolean => Json.valueAt(message, "referral") !== undefined

const readMessage = (message: unknown, contacts: Contacts, place: Place, isAside = false): void => {
  const { found } = place
  const id = Json.textAt(message, "id") ?? null
  const said = asItReads(message)
  const ownWords = ownWordsOf(said)
  // None is of media without a caption, and of whatever else has no words.
  const words = ownWords ?? labelOf(said) ?? captionOf(said)
  if (id === null && words === undefined) {
    unread(place, "a message without an id and without words", message)
    return
  }
  const type = Json.textAt(message, "type") ?? null
  readIdentity(type, message, found)
  const sender = {
    phone: Json.wordAt(message, "from") ?? null,
    userId: Json.wordAt(message, "from_user_id") ?? null
  }
  // The contacts are of other messages of the same change then.
  const { phone, userId } = type === "system" ? ofSystem(message, sender) : among(contacts, sender)
  const label = labelOf(message) ?? null
  const at = timeOf(Json.valueAt(message, "timestamp"))
  readErrorsOfMessage(message, at, place)
  found.messages.push({
    id,
    from: phone,
    userId,
    text: words ?? "",
    areOwnWords: ownWords !== undefined,
    label,
    at,
    type,
    payload: payloadOf(message) ?? null,
    content: contentOfMessage(message, type),
    contextId: Json.textAt(message, "context", "id") ?? null,
    groupId: Json.textAt(message, "group_id") ?? null,
    isReferred: isReferred(message),
    isAside
  })
}

const preferenceValues: ReadonlyMap<string, Preference["status"]> = new Map([
  ["stop", "revoked"],
  ["resume", "granted"],
  ["signup", "granted"]
])

const readPreference = (preference: unknown, contacts: Contacts, place: Place): void => {
  const value = Json.textAt(preference, "value")?.trim().toLowerCase() ?? ""
  const status = preferenceValues.get(value)
  if (status === undefined) {
    unread(place, "a user preference with an unknown value", preference)
    return
  }
  const { phone, userId } = among(contacts, {
    phone: Json.wordAt(preference, "wa_id") ?? null,
    userId: Json.wordAt(preference, "user_id") ?? null
  })
  place.found.preferences.push({
    phone,
    userId,
    purpose: "marketing",
    status,
    at: timeOf(Json.valueAt(preference, "timestamp")),
    proof: `The platform's user_preferences: ${Json.textAt(preference, "detail") ?? value}`
  })
}

/** A user id that came in the place of another; vendors hand this on as a field of its own. */
const readUserIdUpdate = (update: unknown, place: Place): void => {
  const [previous, current] = ["previous", "current"].map((name) => Json.textAt(update, "user_id", name))
  if (previous === undefined || current === undefined) {
    unread(place, "a user id update without the ids before and after it", update)
    return
  }
  const phone = Json.wordAt(update, "wa_id") ?? null
  place.found.people.push({ phone, userId: current, formerly: { phone: null, userId: previous } })
}

/** Errors that concern no message: of the account, or of what the platform could not do. */
const readErrors = (value: unknown, at: Instant | null, place: Place): void => {
  const errors = itemsOf(place, value, "errors")
  if (errors.length > 0)
    place.found.session.push({
      kind: "errors",
      news: { errors },
      at,
      disconnects: null,
      failures: failuresOf(errors)
    })
}

const failuresOf = (errors: ReadonlyArray<unknown>): ReadonlyArray<Failure> =>
  errors.flatMap((error) => failureOf(error, null) ?? [])

/** Errors in the place of a message are about that, but for those that concern the account or its number. */
const readErrorsOfMessage = (message: unknown, at: Instant | null, { found }: Place): void => {
  const errors = Json.listAt(message, "errors")
  const failures = failuresOf(errors).filter(FailureCatalogue.concernsOthers)
  if (failures.length > 0)
    found.session.push({ kind: "errors", news: { errors }, at, disconnects: null, failures })
}

/** Members of a change's value that are read, or say only whose it is. */
const envelope = ["messaging_product", "metadata", "contacts"]
const ofMessages: ReadonlySet<string> = new Set([...envelope, "statuses", "messages", "errors"])
const ofStandby: ReadonlySet<string> = new Set([...envelope, "statuses", "messages"])
const ofPreferences: ReadonlySet<string> = new Set([...envelope, "user_preferences"])

/** When a call was taken or made; null of one that the person has not taken. */
const callOf = (call: unknown): Pick<Contact, "at"> | null => {
  const [began, told] = ["start_time", "timestamp"].map((name) => timeOf(Json.valueAt(call, name)))
  const isOurs = Json.textAt(call, "direction") === "BUSINESS_INITIATED"
  return isOurs && began === null ? null : { at: began ?? told ?? null }
}

/** A person's call, answered or not, and one of ours that they took (contract.md §W1.12, §1.13). */
const readCall = (call: unknown, contacts: Contacts, isAside: boolean, { found }: Place): void => {
  const made = callOf(call)
  if (made === null) return
  const side = Json.textAt(call, "direction") === "BUSINESS_INITIATED" ? "to" : "from"
  const named = {
    phone: Json.wordAt(call, side) ?? null,
    userId: Json.wordAt(call, `${side}_user_id`) ?? null
  }
  found.contacts.push({ ...among(contacts, named), kind: "call", isAside, ...made })
}

/** That they took our call is told while it goes on, too. */
const readCallStatus = (status: unknown, { found }: Place): void => {
  if (Json.textAt(status, "status")?.toUpperCase() !== "ACCEPTED") return
  const { phone, userId } = recipientOf(status)
  found.contacts.push({ phone, userId, kind: "call", at: timeOf(Json.valueAt(status, "timestamp")) })
}

/** Reads messages that others wrote to people: they tell that the session has these people. */
function* readEchoes(value: unknown, place: Place): Generator<void> {
  for (const name of echoes)
    for (const echo of Json.listAt(value, name)) {
      const [phone = null, userId = null] = [Json.wordAt(echo, "to"), Json.wordAt(echo, "to_user_id")]
      const at = timeOf(Json.valueAt(echo, "timestamp"))
      yield void place.found.contacts.push({ phone, userId, kind: "answer", at })
    }
  // Chats of the phone's own app come when that has the number, too: one of them tells it.
  const phone = Json.wordAt(value, "history", 0, "threads", 0, "id")
  if (phone !== undefined) place.found.contacts.push({ phone, userId: null, kind: "answer", at: null })
}

/** The fields of what passes beside messages to the session. */
const besideMessages: ReadonlySet<string> = new Set(["calls", "history", ...echoes])

function* readBeside(value: unknown, place: Place): Generator<void> {
  const contacts = yield* readContacts(value, place)
  for (const call of Json.listAt(value, "calls")) yield readCall(call, contacts, false, place)
  for (const status of Json.listAt(value, "statuses")) yield readCallStatus(status, place)
  yield* readEchoes(value, place)
}

/** The people of a value, those among them whom the platform names twice, its statuses and its messages. */
function* readConversation(value: unknown, now: Instant, place: Place, isAside: boolean): Generator<void> {
  const contacts = yield* readContacts(value, place)
  for (const status of itemsOf(place, value, "statuses")) yield readStatus(status, now, place)
  for (const message of itemsOf(place, value, "messages"))
    yield readMessage(message, contacts, place, isAside)
  for (const call of Json.listAt(value, "calls")) yield readCall(call, contacts, isAside, place)
  yield* readEchoes(value, place)
}

function* readContacts(value: unknown, place: Place): Generator<void, Contacts> {
  const contacts = yield* contactsOf(value)
  for (const contact of contacts.all)
    if (contact.phone !== null && contact.userId !== null) place.found.people.push(contact)
  return contacts
}

/** News of a template, or of the account. */
const readNews = (value: object, at: Instant | null, change: unknown, place: Place): void => {
  const { field, found } = place
  const template = PlatformUpdates.templateFields.has(field)
    ? PlatformUpdates.template(field, value, at)
    : undefined
  if (template !== undefined) found.templates.push(template)
  else if (PlatformUpdates.accountFields.has(field))
    found.session.push(PlatformUpdates.account(field, value, at))
  else if (PlatformUpdates.templateFields.has(field))
    unread(place, "news of a template without its name, its language or what is new", value)
  else unread(place, "this kind of news is not known", change)
}

function* readChange(change: unknown, at: Instant | null, now: Instant, found: Found): Generator<void> {
  const value = Json.valueAt(change, "value")
  const place = { field: Json.textAt(change, "field") ?? "", found }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    unread(place, "news without a value", change)
    return
  }
  if (besideMessages.has(place.field)) return yield* readBeside(value, place)
  switch (place.field) {
    case "messages":
      yield* readConversation(value, now, place, false)
      readErrors(value, at, place)
      unreadMembers(place, value, ofMessages)
      return
    case "standby": {
      // The platform's own agent holds the conversation, or a second app does (contract.md §W1.12).
      const aside = Json.valueAt(value, "standby")
      yield* readConversation(aside, now, place, true)
      unreadMembers(place, aside, ofStandby)
      return
    }
    case "user_preferences": {
      const contacts = yield* readContacts(value, place)
      for (const preference of itemsOf(place, value, "user_preferences"))
        yield readPreference(preference, contacts, place)
      unreadMembers(place, value, ofPreferences)
      return
    }
    case "user_id_update": {
      const updates = Json.listAt(value, "user_id_update")
      yield* readContacts(value, place)
      for (const update of updates.length === 0 ? [value] : updates) yield readUserIdUpdate(update, place)
      return
    }
    default:
      readNews(value, at, change, place)
  }
}

/** The platform's names of a session, by which its changes say whose they are. */
export const addressesOf = (given: unknown): ReadonlyArray<string> => {
  const { phone_number_id, portfolio_id, waba_id } = decode(given)
  const accounts = portfolio_id === undefined ? [waba_id] : [waba_id, portfolio_id]
  return [`number ${phone_number_id}`, ...accounts.map((id) => `account ${id}`)]
}

/**
 * Whose a change is: a number's, or an account's if it names no number (contract.md §10). News of partners come under
 * their portfolio and name the account in the value (contract.md §W1.12).
 */
const addressOf = (entry: unknown, change: unknown, own: Config): string => {
  const value = Json.valueAt(change, "value")
  const number =
    Json.valueAt(value, "metadata", "phone_number_id") ??
    Json.valueAt(value, "standby", "metadata", "phone_number_id")
  if (number !== undefined && number !== null) return `number ${String(number).slice(0, 64)}`
  const account = Json.valueAt(value, "waba_info", "waba_id") ?? Json.valueAt(entry, "id")
  // News of one number may name no account (contract.md §W1.13): it is of the account whose hook has it.
  const isNumbers = String(account) === "0" && Json.wordAt(value, "phone_number") !== undefined
  return `account ${isNumbers ? own.waba_id : String(account).slice(0, 64)}`
}

/** Members of an entry that are looked at, or say only whose it is. */
const ofEntry: ReadonlySet<string> = new Set(["id", "time", "changes"])

interface Group {
  readonly found: Found
  readonly parts: Array<UnreadPart>
}

const emptyFound = (): Found => ({
  reports: [],
  messages: [],
  preferences: [],
  people: [],
  contacts: [],
  templates: [],
  session: [],
  unread: []
})

/** Reads the changes one by one, in their order, each for those whom it is about. */
function* contentOf(json: unknown, now: Instant, config: Config): Generator<void, HookContent> {
  const groups = new Map<string, Group>()
  const general = emptyFound()
  for (const entry of Json.listAt(json, "entry")) {
    const place = { field: "entry", found: general }
    unreadMembers(place, entry, ofEntry)
    for (const change of itemsOf(place, entry, "changes")) {
      const field = Json.textAt(change, "field") ?? ""
      if (field === "conversation_context") continue
      const address = addressOf(entry, change, config)
      const group = groups.get(address) ?? { found: emptyFound(), parts: [] }
      groups.set(address, group)
      if (!notUnread.has(field))
        group.parts.push({ field, reason: "no session has this number or account", content: change })
      yield* readChange(change, timeOf(Json.valueAt(entry, "time")), now, group.found)
      yield
    }
  }
  const own = addressesOf(config).flatMap((address) => groups.get(address)?.found ?? [])
  const all = [...own, general]
  return {
    reports: all.flatMap(({ reports }) => reports),
    messages: all.flatMap(({ messages }) => messages),
    preferences: all.flatMap(({ preferences }) => preferences),
    people: all.flatMap(({ people }) => people),
    contacts: all.flatMap(({ contacts }) => contacts),
    templates: all.flatMap(({ templates }) => templates),
    session: all.flatMap(({ session }) => session),
    unread: all.flatMap(({ unread }) => unread),
    addressed: Array.from(groups, ([address, { found, parts }]) => ({ address, content: found, parts }))
  }
}

export const receive = Effect.fnUntraced(function* (request: HookRequest, given: unknown) {
  const { body, method, now, query } = request
  const config = decode(given)
  if (method === "GET") {
    const [token, text] = [Buffer.from(query["hub.verify_token"] ?? ""), query["hub.challenge"] ?? ""]
    const wanted = Buffer.from(config.verify_token)
    const known = token.length === wanted.length && timingSafeEqual(token, wanted)
    return query["hub.mode"] === "subscribe" && known && text !== ""
      ? HookResult.Challenge({ text })
      : HookResult.Forged({ reason: "hub.verify_token is not this session's." })
  }
  if (!isSigned(request, config)) {
    return HookResult.Forged({ reason: "X-Hub-Signature-256 is not by an app secret of this session." })
  }
  const json = yield* HookBody.read(body)
  if (!Array.isArray(Json.valueAt(json, "entry"))) {
    return HookResult.Malformed({
      reason: `The body must be a JSON object ${HookBody.limits}, and with \`entry\`.`
    })
  }
  return HookResult.Content(yield* EventLoopBudget.runInPieces(contentOf(json, now, config)))
})
