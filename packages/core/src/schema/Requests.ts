/**
 * The bodies of contract.md §A2.3, §2.4 and §2.8, exactly, and the requests in process that become them. Schemas here
 * hold the shape (types, what is required, bounds); rules that need more than the field itself are elsewhere.
 */

import * as Schema from "effect/Schema"
import * as Address from "../domain/Address.ts"
import type { Fault } from "../domain/Fault.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import * as Direct from "../domain/job/Direct.ts"
import { Pace } from "../domain/job/Pace.ts"
import { Priority } from "../domain/job/Priority.ts"
import * as StopWhen from "../domain/job/StopWhen.ts"
import * as Phone from "../domain/Phone.ts"
import * as Template from "../domain/template/Template.ts"
import * as ParseResult from "../effect/ParseResult.ts"
import * as Times from "./Times.ts"

const isRecord = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === "object" && input !== null && !Array.isArray(input)

export const maximumRecipients = 250
/** In one object: as many as a template may ask for. */
export const maximumVariables = Template.maximumVariables

/** A loop, since it runs for every recipient. */
const isFewStrings = (
  input: Readonly<Record<string, unknown>>
): input is Readonly<Record<string, string>> => {
  let count = 0
  for (const name in input) {
    count += 1
    if (count > maximumVariables || typeof input[name] !== "string") return false
  }
  return true
}

export const isVariables = (input: unknown): input is Readonly<Record<string, string>> =>
  isRecord(input) && isFewStrings(input)

/**
 * An object of strings, as it was received. `Schema.Record` would silently drop an own `__proto__`, and an unknown
 * name must be refused.
 */
const Variables: Schema.Schema<Readonly<Record<string, string>>> = Schema.declare(
  [],
  {
    decode: () => (input, _, ast) => {
      if (!isRecord(input)) return ParseResult.fail(new ParseResult.Type(ast, input))
      if (isFewStrings(input)) return ParseResult.succeed(input)
      const [first, ...rest] = Object.entries(input)
        .filter(([, value]) => typeof value !== "string")
        .map(
          ([name, value]) =>
            new ParseResult.Pointer(name, input, new ParseResult.Type(Schema.String.ast, value))
        )
      return ParseResult.fail(
        first === undefined
          ? new ParseResult.Type(ast, input)
          : new ParseResult.Composite(ast, input, [first, ...rest])
      )
    },
    encode: () => (input, _, ast) =>
      isVariables(input) ? ParseResult.succeed(input) : ParseResult.fail(new ParseResult.Type(ast, input))
  },
  {
    description:
      "Values by variable name: `header.1`, `header.media`, `header.filename`, `body.1`, …, `button.0.1`.",
    jsonSchema: { type: "object", additionalProperties: { type: "string" }, maxProperties: maximumVariables }
  }
)

/** JSON Schema takes 1e300 for an integer, too. */
const safeInteger = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

const PhoneText = Schema.String.annotations({
  description:
    "Digits including a country calling code that exists, no separators. Left out where only `user_id` is known.",
  jsonSchema: { pattern: Phone.form.source }
})

const UserIdText = Schema.String.annotations({
  description:
    "The platform's id of the person, such as US.1349, beside or instead of the number. It is of the session's portfolio.",
  jsonSchema: { pattern: Address.userIdForm.source }
})

/** The members are in the order that `Idempotency` compares, so a request in that order need not be copied. */
export const Recipient = Schema.Struct({
  expires_at: Schema.optional(Times.Moment.annotations({ description: "Its own, instead of the send's." })),
  ...ClientTexts.recipient.requested,
  phone: Schema.optional(PhoneText),
  send_at: Schema.optional(Times.Moment.annotations({ description: "Its own, instead of the send's." })),
  time_zone: Schema.optional(
    Times.Zone.annotations({
      jsonSchema: {
        description: "Where the recipient is, where you know it better than the country of its number tells."
      }
    })
  ),
  user_id: Schema.optional(UserIdText),
  variables: Schema.optional(Variables)
}).annotations({ identifier: "Recipient" })

/** When the recipients of a send may be sent. */
const times = {
  send_at: Times.Moment.annotations({
    description:
      "When it is sent: an instant, or a local time and its zone, at most 366 days ahead. With the `time_zone` `recipient` it is that time at each recipient's place. What lies in the past is now."
  }),
  expires_at: Times.Moment.annotations({
    description: "After it nobody is sent anything any more: who is left is `skipped` as `expired`."
  }),
  hours: Times.Hours
}

/** Other times of a job; null takes one away. */
export const TimesChange = Schema.Struct({
  send_at: Schema.optional(times.send_at),
  expires_at: Schema.optional(Schema.NullOr(times.expires_at)),
  hours: Schema.optional(Schema.NullOr(times.hours))
}).annotations({ identifier: "TimesChange" })
export type TimesChange = typeof TimesChange.Type

export const TemplateMessageRequest = Schema.Struct({
  template_id: Schema.Int.annotations({ description: "Id of the template.", jsonSchema: safeInteger }),
  currency: Schema.optional(
    Schema.String.annotations({ description: "ISO 4217 code; the account's when absent." })
  ),
  variables: Schema.optional(Variables),
  ...ClientTexts.job.requested,
  priority: Schema.optional(
    Priority.annotations({
      description:
        "What goes first within the session; without one it follows the template's category: authentication high, utility normal, marketing low. What is lower keeps a tenth of the session's pace."
    })
  ),
  pace: Schema.optional(Pace),
  stop_when: Schema.optional(StopWhen.StopWhen),
  send_at: Schema.optional(times.send_at),
  expires_at: Schema.optional(times.expires_at),
  hours: Schema.optional(times.hours),
  recipients: Schema.Array(Recipient).pipe(Schema.minItems(1), Schema.maxItems(maximumRecipients))
}).annotations({ identifier: "TemplateMessageRequest" })
export type TemplateMessageRequest = typeof TemplateMessageRequest.Type

/** A moment in process. */
export type Moment = Date | { readonly local: string; readonly timeZone: string }

/** A recipient of a {@link TemplateMessage}. */
export interface TemplateRecipient
  extends Omit<
      typeof Recipient.Type,
      keyof typeof ClientTexts.recipient.requested | "expires_at" | "send_at" | "time_zone" | "user_id"
    >,
    Readonly<Partial<Record<keyof ClientTexts.RecipientTexts | "userId", string | undefined>>> {
  readonly sendAt?: Moment | undefined
  readonly expiresAt?: Moment | undefined
  readonly timeZone?: string | undefined
}

/**
 * A send or an estimate in process: the contract's body with its names in camelCase. It becomes that body before
 * anything is checked, so an Idempotency-Key stands for one request however it came. The faults of a refusal point into
 * the body, too (`/template_id`, `/recipients/0/external_id`), and have one form wherever they are shown.
 */
export interface TemplateMessage
  extends Omit<
    TemplateMessageRequest,
    "expires_at" | "pace" | "recipients" | "send_at" | "stop_when" | "template_id"
  > {
  readonly templateId: number
  readonly pace?: { readonly perMinute: number } | undefined
  readonly stopWhen?:
    | (Omit<StopWhen.StopWhen, "over"> & { readonly over?: StopWhen.StopWhen["over"] })
    | undefined
  readonly sendAt?: Moment | undefined
  readonly expiresAt?: Moment | undefined
  readonly recipients: ReadonlyArray<TemplateRecipient>
}

const momentBody = (given: unknown): unknown => {
  if (given instanceof Date) return Number.isNaN(given.getTime()) ? String(given) : given.toISOString()
  if (!isRecord(given)) return given
  const { timeZone, ...rest } = given
  return timeZone === undefined ? rest : { ...rest, time_zone: timeZone }
}

const timesBody = (given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const { expiresAt, sendAt, timeZone, ...rest } = given
  return {
    ...rest,
    ...(expiresAt === undefined ? {} : { expires_at: momentBody(expiresAt) }),
    ...(sendAt === undefined ? {} : { send_at: momentBody(sendAt) }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone })
  }
}

/** The contract's body of a change of times in process, as far as a caller without types gives one. */
export const timesChange = (given: unknown): unknown => (isRecord(given) ? defined(timesBody(given)) : given)

const recipientBody = (given: unknown): unknown => {
  if (!isRecord(given)) return given
  const renamed = timesBody(ClientTexts.recipient.renamed(given))
  if (!("userId" in renamed)) return renamed
  const { userId, ...rest } = renamed
  return userId === undefined ? rest : { ...rest, user_id: userId }
}

/** An undefined member is none, as in JSON. */
const defined = (body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))

/** An object with its names of the contract, as far as it is one; others stay, and are refused. */
const renamed = (given: unknown, names: Readonly<Record<string, string>>): unknown =>
  isRecord(given)
    ? defined(Object.fromEntries(Object.entries(given).map(([name, value]) => [names[name] ?? name, value])))
    : given

/** Too long a list is refused for its length, whatever its items are. */
const recipientBodies = (given: unknown): unknown =>
  Array.isArray(given) && given.length <= maximumRecipients ? Array.from(given, recipientBody) : given

/** The contract's body of a request in process, as far as a caller without types gives one. */
export const templateBody = (given: unknown): unknown => {
  if (!isRecord(given)) return given
  const { pace, recipients, stopWhen, templateId, ...rest } = timesBody(ClientTexts.job.renamed(given))
  return defined({
    template_id: templateId,
    ...rest,
    pace: renamed(pace, { perMinute: "per_minute" }),
    stop_when: renamed(stopWhen, { failedPercent: "failed_percent", ofFirst: "of_first" }),
    recipients: recipientBodies(recipients)
  })
}

export const DirectMessageRequest = Schema.Struct({
  to: Schema.optional(PhoneText),
  user_id: Schema.optional(UserIdText),
  message: Schema.optional(
    Schema.String.annotations({
      description:
        "Well-formed text without NUL that is not blank; at most 1,024 characters with buttons. A message has this, `media` or a `location`.",
      jsonSchema: { minLength: 1, maxLength: Direct.maximumText }
    })
  ),
  media: Schema.optional(
    Schema.Struct({
      type: Schema.Literal(...Direct.mediaTypes),
      url: Schema.String.annotations({ description: "https, of a public host: the platform fetches it." }),
      caption: Schema.optional(
        Schema.String.annotations({ description: "At most 1,024 characters; none of audio and stickers." })
      ),
      filename: Schema.optional(Schema.String.annotations({ description: "Of a document alone." }))
    })
  ),
  location: Schema.optional(
    Schema.Struct({
      latitude: Schema.Number.annotations({ jsonSchema: { minimum: -90, maximum: 90 } }),
      longitude: Schema.Number.annotations({ jsonSchema: { minimum: -180, maximum: 180 } }),
      name: Schema.optional(Schema.String),
      address: Schema.optional(Schema.String)
    })
  ),
  buttons: Schema.optional(
    Schema.Array(
      Schema.Struct({
        id: Schema.String.annotations({
          description: "Comes back as the `payload` of the message that pressing it sends.",
          jsonSchema: { minLength: 1, maxLength: 256 }
        }),
        title: Schema.String.annotations({
          description: "Other than those of the other buttons.",
          jsonSchema: { minLength: 1, maxLength: 20 }
        })
      })
    ).pipe(Schema.minItems(1), Schema.maxItems(Direct.maximumButtons))
  ),
  reply_to: Schema.optional(
    Schema.String.annotations({
      description:
        "The platform's id of the message of theirs that this answers, as `message.received` tells it."
    })
  ),
  otherwise: Schema.optional(
    Schema.Struct({
      template_id: TemplateMessageRequest.fields.template_id,
      variables: TemplateMessageRequest.fields.variables
    }).annotations({
      description:
        "The template that goes in the place of the `message` where the person's window is closed: never both. It is checked as a send's is."
    })
  ),
  linkPreview: Schema.optional(
    Schema.Boolean.annotations({ description: "Whether a link preview is made; false when absent." })
  ),
  ...ClientTexts.job.requested
}).annotations({ identifier: "DirectMessageRequest" })
export type DirectMessageRequest = typeof DirectMessageRequest.Type

/** The body of an {@link Unchecked} request whose text could not be read. */
export const unreadable: unique symbol = Symbol.for("@sendwright/core/schema/Requests/unreadable")

/** Registered, as another copy of this module in the process may have made what is looked at. */
export const unchecked: unique symbol = Symbol.for("@sendwright/core/schema/Requests/Unchecked")

/**
 * A body that has not been checked yet. The message operations accept it in place of a typed request, because the
 * whole body decides their answer: the order of checks puts some of its faults before the idempotency key and some
 * after it, and a refusal lists every fault.
 */
export class Unchecked {
  static is(request: unknown): request is Unchecked {
    return typeof request === "object" && request !== null && unchecked in request
  }
  readonly [unchecked] = true
  readonly body: unknown
  /** Of the rest of the request, and of the body's text: with one of them it is refused, and the refusal lists all. */
  readonly faults: ReadonlyArray<Fault>
  constructor(body: unknown, faults: ReadonlyArray<Fault> = []) {
    this.body = body
    this.faults = faults
  }
}
