/**
 * What callers may give, checked where it comes in: who writes JavaScript has no compiler that does. A member that an input
 * does not have is a fault, as in the REST API. What a value may be beyond its type is core's to say.
 */
import { types } from "node:util"
import { Address, Fault, Phone, RequestDecoder, Requests, Search } from "@sendwright/core"
import { ClientTexts } from "@sendwright/core/adapter"
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import type * as Admin from "../api/Admin.ts"
import type * as Messages from "../api/Messages.ts"
import type { Hook, PlatformOptions, Report, SandboxOptions } from "../api/Sender.ts"
import type { Signal, Store } from "../api/Sendwright.ts"
import type * as Templates from "../api/Templates.ts"
import type * as Testing from "../api/Testing.ts"
import * as Failures from "./Failures.ts"

const {
  Array: list,
  Boolean: Flag,
  Literal: oneOf,
  Number: Count,
  String: Text,
  optional,
  Struct: object
} = Schema
const isDate = (value: unknown): value is Date => value instanceof Date && !Number.isNaN(value.getTime())
const Time = Schema.declare(isDate, { title: "a `Date`" })

/** Reads an input, or throws with every fault of it; `name` is what the whole is called. */
const input = <A>(
  schema: Schema.Schema<A>,
  { code, name }: { readonly code?: string; readonly name?: string } = {}
): ((given: unknown) => A) => {
  const decode = RequestDecoder.decoder(schema, name === undefined ? [] : [name])
  return (given) => {
    const read = decode(given)
    if (read._tag === "Left") throw Failures.invalid(read.left, code)
    return read.right
  }
}

const timesChange = input(Schema.typeSchema(Requests.TimesChange))

/** As the engine takes them. */
export const otherTimes = (given: unknown): Requests.TimesChange => timesChange(Requests.timesChange(given))

export const byId = input(object({ id: Text }))
export const usage = input<Admin.UsageInput>(
  object({
    id: Text,
    by: oneOf("day", "template", "market", "session"),
    from: optional(Time),
    to: optional(Time)
  })
)
export const templateQuery = input<Templates.TemplateQuery>(
  object({
    category: optional(oneOf("marketing", "utility", "authentication")),
    language: optional(Text),
    name: optional(Text)
  })
)

const purpose = oneOf("all", "marketing", "utility", "authentication", "direct")
const consent = object({
  phone: optional(Text),
  userId: optional(Text),
  source: Text,
  status: optional(oneOf("granted", "revoked")),
  purpose: optional(purpose),
  proof: optional(Text),
  occurredAt: optional(Time)
})
export const consents = input<{
  readonly accountId: string
  readonly consents: ReadonlyArray<Admin.ConsentInput>
  readonly importedAt?: Date | undefined
}>(object({ accountId: Text, consents: list(consent), importedAt: optional(Time) }))
const whichPerson = { phone: optional(Text), userId: optional(Text), accountId: optional(Text) }
export const whom = input<Admin.WhichPerson>(object(whichPerson))
const jobQuery = {
  status: optional(oneOf("queued", "processing", "paused", "canceling", "canceled", "completed", "failed")),
  reference: optional(Text),
  createdAfter: optional(Time),
  createdBefore: optional(Time)
}
export const jobs = input<Messages.JobQuery>(object(jobQuery))
const retries = {
  statuses: optional(list(oneOf("failed", "unknown"))),
  codes: optional(list(Text)),
  phones: optional(list(Text)),
  dryRun: optional(Flag)
}
export const retry = input<Messages.Retry>(object(retries))
const failure = object({ code: Text, providerCode: Schema.NullOr(Text), message: Text, permanent: Flag })
export const reports = input<ReadonlyArray<Report>>(
  list(
    object({
      messageId: optional(Schema.NullOr(Text)),
      providerId: optional(Schema.NullOr(Text)),
      status: oneOf("accepted", "sent", "delivered", "read", "failed"),
      at: optional(Time),
      error: optional(failure)
    })
  )
)

// Messages ----------------------------------------------------------------------------------------------------------

/** Core says what is wrong with these values. What only this package knows, and what it does not know, is refused here. */
const anything = optional(Schema.Unknown)
const nameOrId = object({
  template: anything,
  language: optional(Text),
  to: anything,
  variables: anything,
  currency: anything,
  reference: anything,
  priority: anything,
  pace: anything,
  stopWhen: anything,
  sendAt: anything,
  expiresAt: anything,
  hours: anything,
  idempotencyKey: optional(Text)
})
const sendOf = input(nameOrId)
/** @param text of each */
const recipientTexts = <A>(text: A): Readonly<Record<keyof Messages.RecipientTexts, A>> =>
  Records.map(ClientTexts.recipient.of({}), () => text)

const recipientMembers = {
  phone: anything,
  userId: anything,
  variables: anything,
  sendAt: anything,
  expiresAt: anything,
  timeZone: anything,
  ...recipientTexts(anything)
}

/** A number is digits, and a user id begins with letters and a period. */
const namedBy = (text: string) => (Address.userIdForm.test(text) ? { userId: text } : { phone: text })

/** A phone or user id, or whatever else stands for a recipient, as core takes recipients. */
const recipientOf = (given: unknown): unknown => (typeof given === "string" ? namedBy(given) : given)

/** The recipients that `to` names, one by one; a value that is no list is one. */
const recipientsOf = (to: unknown): unknown => {
  if (to === undefined) return undefined
  return Array.isArray(to) ? Array.from(to, recipientOf) : [recipientOf(to)]
}

/** The faults of the members that recipients have; of most there are none, which is seen without making a decoder. */
const recipientFaults = (to: unknown): ReadonlyArray<Fault.Fault> =>
  (Array.isArray(to) ? Array.from<unknown>(to) : [to]).flatMap((each, place) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return []
    if (Object.keys(each).every((name) => Object.hasOwn(recipientMembers, name))) return []
    const path = Array.isArray(to) ? ["to", place] : ["to"]
    const read = RequestDecoder.decoder(object(recipientMembers), path)(each)
    return read._tag === "Left" ? read.left : []
  })

export const sessionId = input(Text, { name: "sessionId" })
export const sought = input(Search.Query, { name: "text" })

/** A send, or what an estimate is asked for, by its members, and its recipients one by one. */
export const send = (given: unknown): typeof nameOrId.Type & { readonly recipients: unknown } => {
  const message = sendOf(given)
  const faults = [...recipientFaults(message.to)]
  if (message.language !== undefined && typeof message.template === "number") {
    const text = "A template's id says its language: leave `language` out, or give the template's name."
    faults.push(Fault.make(["language"], "invalid_value", text))
  }
  if (faults.length > 0) throw Failures.invalid(faults.slice(0, Fault.maximum))
  return { ...message, recipients: recipientsOf(message.to) }
}
const directMessage = object({
  to: anything,
  text: anything,
  linkPreview: anything,
  buttons: anything,
  media: anything,
  location: anything,
  replyTo: anything,
  otherwise: optional(object({ templateId: anything, variables: anything })),
  reference: anything,
  idempotencyKey: optional(Text)
})
const directOf = input(directMessage)

const onePerson = RequestDecoder.decoder(object({ phone: anything, userId: anything }))

/** A direct message, and the names of the one whom it goes to. */
export const direct = (
  given: unknown
): typeof directMessage.Type & { readonly phone?: unknown; readonly userId?: unknown } => {
  const message = directOf(given)
  const { to } = message
  if (Array.isArray(to) && to.length !== 1) {
    const text = `A direct message goes to one person: \`to\` has ${to.length}.`
    throw Failures.invalid([Fault.make(["to"], "invalid_value", text)])
  }
  const one: unknown = Array.isArray(to) ? to[0] : to
  if (typeof one === "string") return { ...message, ...namedBy(one) }
  if (typeof one !== "object" || one === null || Array.isArray(one)) return { ...message, phone: one }
  const read = onePerson(one)
  if (read._tag === "Right") return { ...message, ...read.right }
  const within = Array.isArray(to) ? ["to", 0] : ["to"]
  throw Failures.invalid(read.left.map((fault) => ({ ...fault, path: [...within, ...fault.path] })))
}

const isRecord = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const Texts = Schema.declare(isRecord, { title: "an object" })
export const hook = input<Hook>(
  object({
    provider: Text,
    sessionId: Text,
    method: oneOf("GET", "POST"),
    headers: Texts,
    query: optional(Texts),
    body: optional(Schema.declare(types.isUint8Array, { title: "bytes (a `Uint8Array`)" }))
  })
)

const isSignal = (value: unknown): value is Signal =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value
export const reading = input(
  object({ signal: optional(Schema.declare(isSignal, { title: "an `AbortSignal`" })) })
)
export const stopping = input(object({ graceMs: optional(Count) }))

// What senders take -------------------------------------------------------------------------------------------------

const ofOptions = { code: "invalid_options" }
const Milliseconds = Schema.Number.pipe(Schema.nonNegative())
export const sandbox = input<SandboxOptions>(
  object({ latencyMs: optional(Milliseconds), receiptDelayMs: optional(Milliseconds) }),
  ofOptions
)
export const platform = input<PlatformOptions>(
  object({ connections: optional(Schema.Int.pipe(Schema.positive())) }),
  ofOptions
)

// The test kit ------------------------------------------------------------------------------------------------------

const textOf = input(Text, { name: "phone" })

/** A phone as everything here writes it, so that one that is written otherwise is told apart from nobody. */
export const phone = (given: unknown): string => {
  const text = textOf(given)
  const fault = Phone.check(text)
  if (fault === undefined) return text
  throw Failures.invalid([Fault.make(["phone"], "recipient_invalid", fault)])
}

/** The phone or the user id that somebody is known by. */
export const name = (given: unknown): string => {
  const text = textOf(given)
  return Address.read(text) === undefined ? phone(text) : text
}

/** The person whom a name stands for. */
export const named = (name: string) => Address.read(name) ?? { phone: name, userId: null }

export const testText = input(Text, { name: "text" })
const digits = { description: 'the digits of an error code, such as "131049"' }
export const errorCode = input(Text.pipe(Schema.filter((text) => /^\d+$/.test(text), digits)), {
  name: "code"
})

const NumberOfTimes = Schema.Int.pipe(Schema.nonNegative())
export const times = input(NumberOfTimes, { name: "times" })
const Pattern = Schema.declare(types.isRegExp, { title: "a regular expression" })
export const expected = input<Testing.Expected>(
  object({
    template: optional(Text),
    text: optional(Schema.Union(Text, Pattern)),
    times: optional(NumberOfTimes)
  }),
  { name: "expected" }
)

const isPerson = (value: unknown): value is Testing.Person =>
  typeof value === "object" && value !== null && "inbox" in value && "story" in value
export const testPerson = input(Schema.declare(isPerson, { title: "`t.person(phone)`" }), { name: "person" })
const isKit = (value: unknown): value is Testing.TestSendwright =>
  typeof value === "object" && value !== null && "platform" in value && "person" in value
export const testKit = input(Schema.declare(isKit, { title: "what `createTestSendwright` answered" }), {
  name: "t"
})

/** The people whom a send of the kit names; the session looks at everything else of it. */
export const addressees = (given: Testing.TestMessage): ReadonlyArray<string> => {
  const { recipients } = send(given)
  const each: ReadonlyArray<unknown> = Array.isArray(recipients) ? recipients : []
  return each.flatMap((recipient) => {
    if (typeof recipient !== "object" || recipient === null) return []
    const { phone, userId } = { phone: undefined, userId: undefined, ...recipient }
    const name: unknown = phone ?? userId
    return typeof name === "string" ? [name] : []
  })
}
const isStore = (value: unknown): value is Store =>
  typeof value === "object" && value !== null && "name" in value
const TestStore = Schema.declare(isStore, { title: "`memory()`, `sqlite(…)` or `postgres(…)`" })
export const testOptions = input<Testing.TestOptions>(
  object({
    now: optional(Time),
    store: optional(TestStore),
    patienceMs: optional(Schema.Number.pipe(Schema.positive()))
  }),
  ofOptions
)
