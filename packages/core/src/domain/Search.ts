/**
 * Search (contract.md §12): what a text may stand for. It is decided here alone, and each meaning is a read of an index, so
 * that a search costs the same however much there is.
 */
import * as Schema from "effect/Schema"
import * as ExternalText from "./ExternalText.ts"
import * as Ids from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import { maximumLength as longestReference } from "./job/Reference.ts"
import * as Person from "./Person.ts"
import * as Phone from "./Phone.ts"
import * as Text from "./Text.ts"

export const kinds = [
  "message",
  "job",
  "person",
  "delivery",
  "webhook",
  "session",
  "key",
  "template"
] as const
export type Kind = (typeof kinds)[number]

/** In code points, without spaces around. */
export const shortest = 3
/** A platform's ids are the longest of what is found. */
export const longest = ExternalText.longest.id

/** A text that can be searched for. */
export const Query = Schema.String.pipe(
  Schema.filter((text) => !Text.isLonger(text, longest) && Text.length(text.trim()) >= shortest, {
    description: `${shortest} to ${longest} characters`,
    jsonSchema: { minLength: shortest, maxLength: longest }
  }),
  Schema.filter((text) => !Text.isBlank(text) && Text.isLine(text), {
    description: "well-formed text that is not blank and has no control characters"
  })
)

/** A request that an id of ours names was accepted at its time, or while its body was read and its turn came. */
const longestRequestMs = 30 * Time.second

/** The things of jobs and of their recipients that a text may name; null, or none, where it cannot. */
export interface OfJobs {
  /** Phones and searched texts of recipients. */
  readonly recipients: ReadonlyArray<string>
  /** The platform's id of a message. */
  readonly providerId: string | null
  readonly jobId: string | null
  readonly message: { readonly jobId: string; readonly index: number } | null
  readonly reference: string | null
  readonly idempotencyKey: string | null
  /** The id of a request that a client chose. */
  readonly requestId: string | null
  /** The id of a request that is ours: its job's id lies between two others. */
  readonly request: { readonly id: string; readonly from: string; readonly before: string } | null
}

export const nothing: OfJobs = {
  recipients: [],
  providerId: null,
  jobId: null,
  message: null,
  reference: null,
  idempotencyKey: null,
  requestId: null,
  request: null
}

/** All that a text may name. */
export interface Meanings {
  readonly jobs: OfJobs
  /** In all ways to write it as far as they can be guessed. */
  readonly phones: ReadonlyArray<string>
  readonly userIds: ReadonlyArray<string>
  /** The id of a session, a webhook or a delivery. */
  readonly id: string | null
  readonly publicKey: string | null
  readonly templateId: number | null
  /** A platform's name for a session. */
  readonly address: string
}

const publicKeyForm = /^pk_[0-9A-Za-z]{22}$/
const visible = /^[\x21-\x7e]{1,128}$/
const templateIdForm = /^[1-9][0-9]{2,14}$/

/** The version of a UUID stands behind its second hyphen. */
export const isTimed = (requestId: string): boolean => requestId.length === 36 && requestId[14] === "7"

const requestOf = (text: string): OfJobs["request"] => {
  if (!isTimed(text) || !Ids.isUuid(text.toLowerCase())) return null
  const at = Ids.madeAt(text)
  return { id: text, from: Ids.since(at), before: Ids.since(Time.after(at, longestRequestMs)) }
}

const within = (text: string, form: RegExp): string | null => (form.test(text) ? text : null)

export const meaningsOf = (given: string): Meanings => {
  const text = given.trim()
  const lower = text.toLowerCase()
  const id = Ids.isUuid(lower) ? lower : null
  const message = Ids.parseMessageId(lower) ?? null
  const phone = Person.read(text, null)?.phone ?? null
  const phones = phone === null ? [] : Phone.forms(phone)
  return {
    jobs: {
      recipients: [...new Set([...phones, text])],
      providerId: ExternalText.id(text),
      jobId: id !== null && message === null ? id : null,
      message,
      reference: Text.isLonger(text, longestReference) ? null : text,
      idempotencyKey: within(text, visible),
      requestId: isTimed(text) ? null : within(text, visible),
      request: requestOf(text)
    },
    phones,
    userIds: id === null && Person.userIdForm.test(text) ? [text] : [],
    id,
    publicKey: within(text, publicKeyForm),
    templateId: templateIdForm.test(text) ? Number(text) : null,
    address: text
  }
}

/** The same with other names of the person, as far as they are known. */
export const withNames = (jobs: OfJobs, names: ReadonlyArray<string>): OfJobs => ({
  ...jobs,
  recipients: [...new Set([...jobs.recipients, ...names])]
})

/** Something that is found. */
export interface Result {
  readonly kind: Kind
  readonly id: string
  /** For people: what it is, and to whom or where. */
  readonly title: string
  /** By the words of its kind; null of a person. */
  readonly status: string | null
  readonly accountId: string
  readonly at: Instant
  /** The id of the thing that it lies in: the session of a key. */
  readonly parentId: string | null
}
