/** Makes the items that the store applies of what a platform brought: named, dated, cut, and read for consent. */

import { hash } from "node:crypto"
import * as Address from "../domain/Address.ts"
import type { Status } from "../domain/consent/Consent.ts"
import * as Consent from "../domain/consent/Consent.ts"
import * as Keywords from "../domain/consent/Keywords.ts"
import type { PerhapsRefusal } from "../domain/consent/PerhapsRefusal.ts"
import * as ExternalText from "../domain/ExternalText.ts"
import type { Ids } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import * as Person from "../domain/Person.ts"
import type { Session } from "../domain/session/Session.ts"
import * as Window from "../domain/session/Window.ts"
import type { Kind } from "../domain/Unattributed.ts"
import type * as Event from "../domain/webhook/Event.ts"
import type { Acquaintance, Contact, HookContent, Preference } from "../sender/Sender.ts"
import type { InboundItem, Word } from "../storage/InboundStore.ts"

/** `asked`: whom a message of ours was sent to which this one answers. */
export type Message = HookContent["messages"][number] & { readonly asked?: Address.Address }

export interface Brought {
  readonly messages: ReadonlyArray<Message>
  readonly preferences: ReadonlyArray<Preference>
  readonly people: ReadonlyArray<Acquaintance>
  readonly contacts?: ReadonlyArray<Contact>
}

/** Items are remembered by hashes alone: a platform's id may have the person's number in it. */
const hashOf = (value: unknown): string => hash("sha256", JSON.stringify(value), "hex")

/** Of a longer text the rest is never kept, nor does it tell a message apart. Where it may be a keyword it is looked at. */
const longestText = 16 * 1024

/** A blank id names nothing. One that is too long is hashed once, for all that is made of it. */
const idOf = (id: string | null | undefined): string | null =>
  id === null || id === undefined || id.trim() === "" ? null : ExternalText.id(id)

/**
 * The name under which an item is remembered, so that it is applied once; null where it may be applied again. An id is its
 * sender's word alone, so a word on consent is the same only where the person and what it says are. Where it is in doubt
 * whether a revocation is new it counts as new, for one too many does no harm; a grant that is in doubt is a repetition.
 */
const nameOf = (
  session: Session,
  {
    at,
    facts,
    id,
    person,
    status
  }: {
    readonly at: Instant | null
    readonly id: string | null
    readonly person: Person.Person | null
    readonly status: Status | undefined
    /** All else that was told: it tells what came without an id apart. */
    readonly facts: ReadonlyArray<unknown>
  }
): string | null => {
  const named = (id: string): string => `${session.id} ${id}`
  if (status === "revoked") return id === null || at === null ? null : named(hashOf([id, person, status, at]))
  // A message and what it says of consent are two items, so the status tells them apart.
  if (id === null) return named(hashOf(status === undefined ? [...facts, at] : [...facts, at, status]))
  if (status === "granted") return named(hashOf([id, person, status]))
  return named(hashOf(id))
}

/**
 * An opt-out counts wherever it stands; an opt-in only in the person's own words (contract.md §9). A template's button is an
 * opt-out by how it begins. What is said in a group changes no consent (contract.md §11).
 */
const statusOf = (message: Message, { keywords }: Session): Status | undefined => {
  const { areOwnWords = true, groupId = null, payload, text, type } = message
  if (groupId !== null) return undefined
  const label = message.label ?? ""
  const ofText = Keywords.read(text, keywords)
  if (ofText === "revoked" || Keywords.read(label, keywords) === "revoked") return "revoked"
  if (
    type === "button" &&
    [label, payload ?? text].some((each) => Keywords.beginsWithRefusal(each, keywords))
  )
    return "revoked"
  return areOwnWords ? ofText : undefined
}

/** The window that a message to the session alone opens; news of a person is no message of theirs. */
const windowOf = (
  { at, groupId = null, isAside = false, isReferred = false, type }: Message,
  now: Instant
): Window.Window | undefined =>
  groupId === null && type !== "system"
    ? Window.opened(Occurrence.since(at, now), { isAside, isReferred })
    : undefined

const opening = (message: Message, now: Instant): ReadonlyArray<Required<Pick<InboundItem, "window">>> => {
  const window = windowOf(message, now)
  return window === undefined ? [] : [{ window }]
}

const received = (
  message: Message,
  id: string,
  person: Person.Person,
  text: string,
  now: Instant
): Event.Received => {
  const { at, content, contextId, groupId, label, payload, type } = message
  return {
    id,
    person,
    text,
    at: Occurrence.occurredAt(at, now),
    type: type ?? null,
    label:
      label === null || label === undefined ? null : ExternalText.lines(label, ExternalText.longest.words),
    payload: payload ?? null,
    content: content ?? null,
    contextId: contextId ?? null,
    groupId: groupId ?? null,
    windowUntil: windowOf(message, now)?.openUntil ?? null
  }
}

const wordOf = (status: Status, proof: string, at: Instant | null): Word => ({
  purpose: "all",
  status,
  source: Consent.inboundSources.message,
  proof,
  reportedAt: Occurrence.timeOf(at)
})

/** The person, by all names that the platform gave and that we asked for. */
const identityOf = (
  person: Person.Person,
  {
    asked,
    at = null,
    formerly = null
  }: {
    readonly asked?: Address.Address | undefined
    readonly at?: Instant | null | undefined
    readonly formerly?: Person.Person | null
  }
): Person.IdentityReport => {
  const others = (asked === undefined ? [] : Address.keysOf(asked)).filter((key) => {
    const { phone, userId } = Person.ofKey(key)
    return phone === null ? userId !== person.userId : phone !== person.phone
  })
  return {
    person,
    formerly,
    ...(others.length === 0 ? {} : { asked: others }),
    ...(at === null ? {} : { at })
  }
}

/** The author of an answer is at least the person whom our message was sent to. */
const senderOf = ({ asked, from, userId }: Message): Person.Person | null =>
  Person.read(from, userId) ?? (asked === undefined ? null : Address.personOf(asked))

const ofPerson = ({ asked, at, formerly, phone, userId }: Acquaintance): ReadonlyArray<InboundItem> => {
  const person = Person.read(phone, userId)
  const before = formerly === undefined ? null : Person.read(formerly.phone, formerly.userId)
  if (person === null) return []
  const identity = identityOf(person, { asked, at, formerly: before })
  if (!Person.isLinked(identity)) return []
  return [{ id: null, identity, message: null, word: null, unattributed: null }]
}

/** A call opens the window; what others answer tells of them alone. Neither is a message. */
const ofContact = (
  { at, isAside = false, kind, phone, userId }: Contact,
  now: Instant
): ReadonlyArray<InboundItem> => {
  const person = Person.read(phone, userId)
  if (person === null) return []
  const since = Occurrence.since(at, now)
  const window = kind === "call" ? Window.opened(since, { isAside }) : Window.answeredAside(since)
  const identity = identityOf(person, { at })
  return [{ id: null, identity, message: null, word: null, unattributed: null, window }]
}

/** The receipt of a hook, by which its items are named and dated. */
interface Receipt {
  readonly session: Session
  readonly ids: Ids
  readonly now: Instant
}

/** A text that may be meant as an opt-out, and is none by the rules. */
const perhapsRefusal = (
  { ids, now, session }: Receipt,
  { at, groupId = null, label = null, payload = null, text }: Message,
  person: Person.Person,
  read: Pick<Parameters<typeof nameOf>[1], "facts" | "id" | "status"> & { readonly text: string }
): ReadonlyArray<InboundItem> => {
  const isPressed = label !== null || payload !== null
  if (read.status !== undefined || groupId !== null || isPressed) return []
  if (!Keywords.mentionsRefusal(text, session.keywords)) return []
  const { facts, id } = read
  const name = `${session.id} ${hashOf([...(id === null ? [...facts, at] : [id, person]), "perhaps"])}`
  const found: PerhapsRefusal = {
    ...person,
    id: ids.uuid(now),
    accountId: session.accountId,
    sessionId: session.id,
    messageId: id,
    text: read.text,
    occurredAt: Occurrence.occurredAt(at, now),
    reportedAt: Occurrence.timeOf(at),
    recordedAt: now
  }
  return [{ id: name, identity: null, message: null, word: null, unattributed: null, perhapsRefusal: found }]
}

/**
 * The items of one hook, in the order in which they came; those that only say who is who come first. Made one by one,
 * for a hook may bring ten thousand.
 */
export function* make(
  session: Session,
  { contacts = [], messages, people, preferences }: Brought,
  ids: Ids,
  now: Instant
): Generator<void, ReadonlyArray<InboundItem>> {
  const unattributed = (
    kind: Kind,
    messageId: string | null,
    text: string,
    at: Instant | null
  ): Pick<InboundItem, "identity" | "message" | "word" | "unattributed"> => ({
    identity: null,
    message: null,
    word: null,
    unattributed: {
      id: ids.uuid(now),
      accountId: session.accountId,
      sessionId: session.id,
      kind,
      messageId,
      text: ExternalText.lines(text, ExternalText.longest.words),
      occurredAt: Occurrence.occurredAt(at, now),
      recordedAt: now
    }
  })

  /** What was said, and the message itself: one that came aside first is told once it comes to us. */
  const ofText = (message: Message): ReadonlyArray<InboundItem> => {
    const { at, from, isAside = false, label = null, userId = null } = message
    const text = message.text.slice(0, longestText)
    const id = idOf(message.id)
    const person = senderOf(message)
    const status = statusOf(message, session)
    const facts = ["message", from, userId, text, label]
    const name = nameOf(session, { id, at, person, status, facts })
    if (person === null)
      return isAside && status !== "revoked"
        ? []
        : [{ id: name, ...unattributed("message", id, text || (label ?? ""), at) }]
    const cut = ExternalText.lines(text, ExternalText.longest.words)
    const messageId = id ?? ""
    const proof = ExternalText.lines(`Message ${messageId}: ${cut.trim()}`, ExternalText.longest.words)
    const identity = identityOf(person, { asked: message.asked, at })
    const nothing = { identity, message: null, word: null, unattributed: null }
    const word = status === undefined ? null : wordOf(status, proof, at)
    const said = word === null ? [] : [{ ...nothing, id: name, word }]
    const met = Person.isLinked(identity) ? [{ ...nothing, id: null }] : []
    const doubtful = perhapsRefusal({ session, ids, now }, message, person, { id, status, text: cut, facts })
    const opens = opening(message, now)
    // The answer's author is told apart from what they say.
    if (isAside)
      return [...met, ...opens.map((each) => ({ ...nothing, id: null, ...each })), ...said, ...doubtful]
    const itself = nameOf(session, { id, at, person, status: undefined, facts })
    const ofMessage = {
      ...nothing,
      id: itself,
      message: received(message, messageId, person, cut, now),
      ...opens[0]
    }
    return [ofMessage, ...said, ...doubtful]
  }

  const ofPreference = (preference: Preference): InboundItem => {
    const { at, phone, purpose, status, userId } = preference
    const id = idOf(preference.id)
    const person = Person.read(phone, userId)
    const proof = ExternalText.lines(preference.proof, ExternalText.longest.message)
    const facts = ["preference", phone, userId, purpose, status, proof]
    const name = nameOf(session, { id, at, person, status, facts })
    if (person === null)
      return { id: name, ...unattributed(status === "revoked" ? "opt_out" : "opt_in", id, proof, at) }
    return {
      id: name,
      identity: { person, formerly: null },
      message: null,
      word: {
        purpose,
        status,
        source: Consent.inboundSources.platform,
        proof,
        reportedAt: Occurrence.timeOf(at)
      },
      unattributed: null
    }
  }

  const items: Array<InboundItem> = []
  for (const each of people) yield void items.push(...ofPerson(each))
  for (const contact of contacts) yield void items.push(...ofContact(contact, now))
  for (const message of messages) yield void items.push(...ofText(message))
  for (const preference of preferences) yield void items.push(ofPreference(preference))
  return items
}
