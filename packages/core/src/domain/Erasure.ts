/**
 * Erasing a person (docs/adr/0040): all that a store keeps of somebody goes, and a keyed hash of each of their names stays.
 * The hash stands wherever a row needs a name to stay valid, and it still refuses what was said before the erasure.
 */

import * as Struct from "effect/Struct"
import * as Address from "./Address.ts"
import * as Ids from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as ClientTexts from "./job/ClientTexts.ts"
import * as Direct from "./job/Direct.ts"
import type { Job, RecipientResult } from "./job/Job.ts"
import { isReadable } from "./job/Job.ts"
import type { Key } from "./Person.ts"
import * as Person from "./Person.ts"
import { batchType } from "./webhook/EventType.ts"

const prefix = "erased:"

/** The text that stands where a name stood. No phone and no user id's key begins like it. */
export const tokenOf = (hash: string): string => `${prefix}${hash}`

/** True for a name that was erased. */
export const isErased = (name: string): boolean => name.startsWith(prefix)

export const hashOf = (token: string): string => token.slice(prefix.length)

/** A name of the person, as platforms and accounts write it, and its token. */
export interface Name {
  readonly kind: "phone" | "user"
  readonly text: string
  readonly token: string
}

/** A person's names. A link is an account's: what it ties to a person is theirs in that account alone (contract.md §13). */
export interface Names {
  /** The names that were given, which count in every account. */
  readonly given: ReadonlyArray<Name>
  /** By account, where it ties more to them: these, and the given ones. */
  readonly ofAccounts: Readonly<Record<string, ReadonlyArray<Name>>>
}

/** The names in an account; in what is of no account the given ones alone. */
export const namesIn = ({ given, ofAccounts }: Names, accountId: string | null): ReadonlyArray<Name> =>
  (accountId === null ? undefined : ofAccounts[accountId]) ?? given

/** The names of any account, each once. */
export const allNames = ({ given, ofAccounts }: Names): ReadonlyArray<Name> => [
  ...new Map([given, ...Object.values(ofAccounts)].flat().map((name) => [name.token, name])).values()
]

/** A name by its hash, as it is remembered of an account; null = of all. */
export interface Mark {
  readonly accountId: string | null
  readonly hash: string
}

/** The marks that an erasure leaves: of the given names where it was asked for, and of others in their account. */
export const marksOf = ({ given, ofAccounts }: Names, accountId: string | null): ReadonlyArray<Mark> => {
  const marks = (names: ReadonlyArray<Name>, accountId: string | null) =>
    names.map(({ token }): Mark => ({ accountId, hash: hashOf(token) }))
  return [
    ...marks(given, accountId),
    ...Object.entries(ofAccounts).flatMap(([id, names]) => marks(names, id))
  ]
}

/** The person whom an erasure or an export is of. */
export interface Sought {
  readonly names: Names
  /** The accounts that are looked through; null = all. */
  readonly accounts: ReadonlySet<string> | null
}

/** The text that a key is hashed by. A user id is the same person's in each portfolio that gives it out. */
export const hashedOf = (key: Key): string => {
  const { phone, userId } = Person.ofKey(key)
  return phone ?? `@${userId}`
}

/** The parts of a store that are erased, in the order in which they are looked through. */
export const parts = [
  "recipients",
  "jobs",
  "retries",
  "attempts",
  "events",
  "consents",
  "links",
  "pairs",
  "caps",
  "windows",
  "refusals",
  "texts",
  "unread",
  "reports",
  "audit",
  "happenings"
] as const
export type Part = (typeof parts)[number]

/** Reads names in the rows of each account. */
export const redactions = ({ names }: Sought): ((accountId: string | null) => Redaction) => {
  const ofGiven = redaction(names.given)
  const found = new Map<string, Redaction>()
  return (accountId) => {
    if (accountId === null || names.ofAccounts[accountId] === undefined) return ofGiven
    const known = found.get(accountId) ?? redaction(namesIn(names, accountId))
    found.set(accountId, known)
    return known
  }
}

/** The number of each kind, and of the recipients how many were canceled, and how many are in flight yet. */
export type Counts = Readonly<Record<Part | "canceled" | "inFlight", number>>

export const noCounts: Counts = {
  recipients: 0,
  jobs: 0,
  retries: 0,
  attempts: 0,
  events: 0,
  consents: 0,
  links: 0,
  pairs: 0,
  caps: 0,
  windows: 0,
  refusals: 0,
  texts: 0,
  unread: 0,
  reports: 0,
  audit: 0,
  happenings: 0,
  canceled: 0,
  inFlight: 0
}

export const add = (before: Counts, more: Counts): Counts => {
  const sum = { ...before }
  for (const part of [...parts, "canceled", "inFlight"] as const) sum[part] += more[part]
  return sum
}

/** The counts of an erasure with one slice more; only a whole sweep knows how many are in flight. */
export const addSlice = (before: Counts, slice: Counts): Counts => ({
  ...add(before, slice),
  inFlight: before.inFlight
})

/** An erasure, which goes on until nothing of the person is in flight and nothing of before can still be written. */
export interface Erasure {
  readonly id: string
  /** Null = all accounts. */
  readonly accountId: string | null
  readonly reason: string
  readonly begunAt: Instant
  /** The last sweep: what the person said until then counts for nothing. */
  readonly sweptAt: Instant
  /** The time of the next sweep; null once it is done. */
  readonly nextAt: Instant | null
  /** The transactions that it waits for, which were open when it was swept first; null before that. */
  readonly waitsFor: ReadonlyArray<string> | null
  readonly counts: Counts
}

/** For so long a process may still write what it had read or sent before the erasure began. */
export const settlesMs = Time.minute

/** The time between two sweeps. */
const againMs = 30 * Time.second

/** The time when it is looked again for what keeps an erasure. */
export const nextLook = (now: Instant): Instant => Time.after(now, againMs)

/**
 * The time of the next sweep after one that began at a time, left so many in flight, and may have missed what some
 * transactions write; null when it is done.
 */
export const nextSweep = (
  begunAt: Instant,
  sweptAt: Instant,
  inFlight: number,
  waitsFor: ReadonlyArray<string>
): Instant | null => {
  const settledAt = Time.after(begunAt, settlesMs)
  if (sweptAt < settledAt) return settledAt
  return inFlight === 0 && waitsFor.length === 0 ? null : nextLook(sweptAt)
}

/** True when an erasure has taken all that it can see, and waits for transactions alone: nothing is looked through then. */
export const onlyWaits = ({ begunAt, counts, sweptAt }: Erasure, waitsFor: ReadonlyArray<string>): boolean =>
  waitsFor.length > 0 && counts.inFlight === 0 && sweptAt >= begunAt + settlesMs

/** The transactions of an erasure that are open yet: those that are new cannot write what was before it. */
export const stillOpen = (
  waitsFor: ReadonlyArray<string> | null,
  open: ReadonlyArray<string>
): ReadonlyArray<string> => (waitsFor === null ? open : waitsFor.filter((each) => open.includes(each)))

/** True for what was said before the erasure: it is recorded no more, and opens nothing. */
export const isBefore = (saidAt: Instant, erasedAt: Instant | undefined): boolean =>
  erasedAt !== undefined && saidAt <= erasedAt

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

const patternOf = ({ kind, text }: Name): string =>
  kind === "phone"
    ? `(?<![0-9])(?:00)?${escaped(text)}(?![0-9])`
    : `(?<![A-Za-z0-9.])${escaped(text)}(?![A-Za-z0-9])`

type Data = Readonly<Record<string, unknown>>

const isData = (value: unknown): value is Data => typeof value === "object" && value !== null

/** The fields by which data name whom they are about. */
const namedBy = ["phone", "to", "from", "user_id"] as const

/** Texts that a person said, or by which an account calls them. */
const said = [...Struct.keys(ClientTexts.recipient.told), "label", "payload", "content", "context_id"]

export interface Redaction {
  /** True for one of the names. */
  readonly isName: (kind: Name["kind"], given: string | null) => boolean
  /** True for one of the names, or the token of one. */
  readonly isKnown: (given: unknown) => boolean
  /** The token of a key, if it is one of theirs. */
  readonly tokenOf: (key: Key) => string | undefined
  /** The text with a token in place of each name, written as platforms write it. */
  readonly text: (text: string) => string
  /** The same of each text in a value of JSON. */
  readonly value: (value: unknown) => unknown
  /** The same of a text that is JSON; of one that is not, or is cut, the text. */
  readonly json: (text: string) => string
  /** True when the event's data are about the person. */
  readonly isAbout: (body: string) => boolean
  /** An event's body without the person: what is about them loses all that they are known by and said. */
  readonly event: (body: string) => string
}

export const redaction = (names: ReadonlyArray<Name>): Redaction => {
  const tokens = new Map(names.map(({ text, token }) => [text, token]))
  const known = new Set(names.map(({ token }) => token))
  const pattern = new RegExp(names.map(patternOf).join("|") || "(?!)", "g")
  const [any = tokenOf("")] = known

  const text = (given: string): string =>
    given.replaceAll(pattern, (found) => tokens.get(found) ?? tokens.get(found.replace(/^00/, "")) ?? any)

  const value = (given: unknown): unknown => {
    if (typeof given === "string") return text(given)
    if (typeof given === "number") return tokens.get(String(given)) ?? given
    if (Array.isArray(given)) return given.map(value)
    if (!isData(given)) return given
    return Object.fromEntries(Object.entries(given).map(([name, each]) => [text(name), value(each)]))
  }

  const json: Redaction["json"] = (given) => {
    try {
      return JSON.stringify(value(JSON.parse(given)))
    } catch {
      return text(given)
    }
  }

  const isKnown = (given: unknown): boolean =>
    typeof given === "string" && (tokens.has(given) || known.has(given))

  const isOf = (data: Data): boolean => namedBy.some((field) => isKnown(data[field]))

  const ofData = (data: Data): unknown => {
    const { changes } = data
    if (Array.isArray(changes))
      return {
        ...data,
        changes: changes.map((each: unknown) =>
          isData(each) && isData(each["data"]) ? { ...each, data: ofData(each["data"]) } : value(each)
        )
      }
    if (!isOf(data)) return value(data)
    const left: Record<string, unknown> = { ...data }
    for (const field of said) if (field in left) left[field] = null
    if (typeof left["text"] === "string") left["text"] = ""
    // Ids of what came in; the ids of our own messages tell nobody.
    if ("received_at" in left || "refusal_id" in left) left["message_id"] = any
    if (typeof left["user_id"] === "string") left["user_id"] = null
    return value(left)
  }

  const parsed = (body: string): Data | null => {
    try {
      const event: unknown = JSON.parse(body)
      return isData(event) ? event : null
    } catch {
      return null
    }
  }

  return {
    isKnown,
    isName: (kind, given) => names.some((name) => name.kind === kind && name.text === given),
    tokenOf: (key) => {
      const { phone, userId } = Person.ofKey(key)
      return names.find(({ kind, text }) => text === (kind === "phone" ? phone : userId))?.token
    },
    text,
    value,
    json,
    isAbout: (body) => {
      const event = parsed(body)
      const data = event?.["data"]
      if (!isData(data)) return false
      const { changes } = data
      return event?.["type"] === batchType && Array.isArray(changes)
        ? changes.some((each: unknown) => isData(each) && isData(each["data"]) && isOf(each["data"]))
        : isOf(data)
    },
    event: (body) => {
      const event = parsed(body)
      const data = event?.["data"]
      return event === null || !isData(data) ? text(body) : JSON.stringify({ ...event, data: ofData(data) })
    }
  }
}

/** All ways in which a name stands in a column that is searched: as it is, and in JSON. */
export const searched = (names: ReadonlyArray<Name>): ReadonlyArray<string> => [
  ...new Set(names.flatMap(({ text }) => [text, JSON.stringify(text).slice(1, -1)]))
]

/** The names of a person's keys. */
export const namesOf = (keys: ReadonlyArray<Key>, token: (hashed: string) => string): ReadonlyArray<Name> => {
  const found = new Map<string, Name>()
  for (const key of keys) {
    const { phone, userId } = Person.ofKey(key)
    const hashed = hashedOf(key)
    found.set(hashed, {
      kind: phone === null ? "user" : "phone",
      text: phone ?? userId ?? "",
      token: token(hashed)
    })
  }
  return [...found.values()]
}

/** A message as it is shown to whom it is of. */
export const shown = (job: Job, recipient: RecipientResult): Readonly<Record<string, unknown>> => {
  const { content } = job
  const { phone, userId } = Address.personOf(recipient.address)
  const what = !isReadable(content)
    ? {}
    : content.kind === "direct"
      ? Direct.shown(content)
      : {
          template: content.template.name,
          language: content.template.language,
          category: content.template.category,
          variables: recipient.values
        }
  return {
    message_id: Ids.messageId(job.id, recipient.index),
    account_id: job.accountId,
    session_id: job.sessionId,
    phone,
    user_id: userId,
    ...ClientTexts.recipient.toBody(recipient),
    ...ClientTexts.job.toBody(job),
    ...what,
    status: recipient.status,
    error: recipient.failure,
    attempts: recipient.attempts,
    accepted_at: Time.format(job.createdAt),
    updated_at: Time.format(recipient.updatedAt),
    sent_at: Time.formatOrNull(recipient.sentAt),
    delivered_at: Time.formatOrNull(recipient.deliveredAt),
    read_at: Time.formatOrNull(recipient.readAt)
  }
}
