/** The story of a message: of its own key, and for operators (contract.md §12). */

import * as Schema from "effect/Schema"
import { ClientTexts } from "../adapter.ts"
import * as Jobs from "../domain/job/Job.ts"
import { Priority, Template, Timeline } from "../index.ts"
import { codec, computed, list, nullOr, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { type Answer, forKey, forOperator } from "./Operation.ts"
import { Uuid } from "./Parameters.ts"
import * as Texts from "./Texts.ts"
import * as TimelinePage from "./TimelinePage.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

/** The path of what an entry leads to; of what only operators read there is none for others. */
const pathOf = (about: Timeline.About, isOperator: boolean): string => {
  switch (about.of) {
    case "job":
      return isOperator ? `/admin/v1/jobs/${about.id}` : `/api/v1/template-messages/${about.id}`
    case "session":
      return `/admin/v1/sessions/${about.id}`
    case "delivery":
      return `/admin/v1/deliveries/${about.id}`
    case "deliveries":
      return "/admin/v1/deliveries"
    case "acts":
      return `/admin/v1/audit?target=${about.id}`
    case "consents":
      return `/admin/v1/accounts/${about.id}/consents?${
        about.phone === null
          ? `user_id=${encodeURIComponent(about.userId ?? "")}`
          : `phone=${encodeURIComponent(about.phone)}`
      }`
  }
}

const Entry = Schema.Struct({
  at: Wire.Time.schema,
  kind: Schema.Literal(...Timeline.kinds),
  title: Wire.Text,
  text: Wire.NullableText,
  code: Schema.NullOr(Schema.String).annotations({
    description:
      "A failure's code, or the limiter of a wait. `not_all` where more was there than is told, `expired` where it is kept no longer."
  }),
  ms: Schema.NullOr(Wire.Count).annotations({
    description: "How long it took; null where no row tells: so of the last attempt that was taken."
  }),
  process: Wire.NullableText,
  link: Schema.NullOr(Texts.Link).annotations({
    description: "The path of the API where there is more of it."
  }),
  key: optional(Wire.NullableText),
  request_id: optional(Wire.NullableText),
  address: optional(Wire.NullableAddress),
  until: optional(Wire.NullableTime.schema),
  limiter: optional(Wire.Text),
  number: optional(Schema.NullOr(Wire.Count)),
  outcome: optional(Wire.Text),
  pace: optional(
    Schema.NullOr(Schema.Number).annotations({
      description: "The messages that its session sent a second then; null where it had no pace."
    })
  ),
  endpoint: optional(Wire.Id),
  answer: optional(Schema.NullOr(Wire.Count))
}).annotations({
  identifier: "TimelineEntry",
  description:
    "`accepted` and an operator's act have `request_id` and `address`, `accepted` has `key`; `waited` has `limiter` and `until`, `attempt` has `number`, `outcome` and `pace`, `webhook` has `endpoint` and the status of its `answer`."
})

const entry = (isOperator: boolean) =>
  codec(Entry, (found: Timeline.Entry, prefix): typeof Entry.Type => {
    const { about, at, requestId, until, ...rest } = found
    return {
      ...rest,
      at: Wire.Time.of(at, prefix),
      link: about === null ? null : `${prefix}${pathOf(about, isOperator)}`,
      ...(requestId === undefined ? {} : { request_id: requestId }),
      ...(until === undefined ? {} : { until: Wire.NullableTime.of(until, prefix) })
    }
  })

const message = struct(
  {
    message_id: Wire.Id,
    job_id: Wire.Id,
    ...Texts.recipient,
    status: Wire.RecipientStatus,
    error: computed(Wire.Failure, ({ failure }: Timeline.Message) => failure),
    ...ClientTexts.job.told,
    priority: Priority.Priority,
    ...ClientTexts.recipient.told,
    template: nullOr(
      struct({ template_id: Wire.Count, name: Wire.NullableText, language: Wire.NullableText })
    ),
    sent_as: Schema.NullOr(Schema.Literal(...Jobs.allSentAs)).annotations({
      description: "Of a direct message as what it goes: its text, or the template in the place of that."
    }),
    account_id: Wire.Id,
    account: Wire.NullableText,
    session_id: Wire.Id,
    session: Wire.NullableText,
    currency: Wire.Text,
    estimated: Wire.NullableAmount,
    actual: Wire.NullableAmount,
    content_expired_at: Wire.NullableTime,
    is_erased: Schema.Boolean,
    content: Schema.Struct({
      header: Wire.NullableText,
      body: Wire.NullableText,
      footer: Wire.NullableText,
      buttons: Schema.Array(Template.Button)
    })
  },
  "TimelineMessage"
)

const Next = Schema.Struct({
  action: Schema.Literal("wait", "retry", "cancel"),
  allowed: Schema.Boolean,
  why: Wire.Text
})

const storyOf = (isOperator: boolean) =>
  struct(
    {
      ok: Wire.isOk,
      message,
      timeline: list(entry(isOperator)),
      next: Schema.Array(Next)
    },
    "Timeline"
  )

const { at, ids, later, phone } = Examples

const nothing = { text: null, code: null, ms: null, process: null, link: null } as const

const exampleOf = (isOperator: boolean): Schema.Schema.Type<ReturnType<typeof storyOf>["schema"]> => ({
  ...Wire.ok,
  message: {
    message_id: ids.message,
    job_id: ids.job,
    phone,
    user_id: null,
    status: "delivered",
    error: null,
    ...ClientTexts.job.examples,
    priority: "normal",
    ...ClientTexts.recipient.examples,
    template: {
      template_id: Examples.template.template_id,
      name: Examples.template.name,
      language: Examples.template.language
    },
    sent_as: null,
    account_id: ids.account,
    account: "Shop",
    session_id: ids.session,
    session: Examples.session.name,
    currency: "EUR",
    estimated: "0.0250",
    actual: "0.0250",
    content_expired_at: null,
    is_erased: false,
    content: { header: null, body: "Hello Ana, your order is on its way.", footer: null, buttons: [] }
  },
  timeline: [
    {
      ...nothing,
      at,
      kind: "accepted",
      title: "Accepted",
      text: `By the key ${Examples.publicKey}, in the request ${ids.request}.`,
      link: pathOf({ of: "job", id: ids.job }, isOperator),
      key: Examples.publicKey,
      request_id: ids.request,
      ...(isOperator ? { address: null } : {})
    },
    {
      ...nothing,
      at,
      kind: "attempt",
      title: "Attempt 1: the platform took it",
      number: 1,
      outcome: "accepted",
      pace: null
    },
    { ...nothing, at: later, kind: "receipt", title: "Delivered", text: "The platform bills it as utility." }
  ],
  next: [
    { action: "wait", allowed: true, why: "It arrived, and may still be read." },
    {
      action: "retry",
      allowed: false,
      why: "Only what has failed, or whose outcome is unknown, is sent again."
    },
    { action: "cancel", allowed: false, why: "Its job has ended." }
  ]
})

const answerFor = (isOperator: boolean) => {
  const { of, schema } = storyOf(isOperator)
  const told: Answer<typeof schema, Timeline.Story> = {
    schema,
    example: exampleOf(isOperator),
    of: (found, { prefix }) => of(found, prefix),
    page: { type: "text/markdown", make: TimelinePage.make }
  }
  return told
}

const messageId = Schema.Struct({ messageId: Uuid })

export const versioned = [
  forKey(
    Endpoint.get("timeline", "/api/v1/messages/:messageId/timeline").setPath(messageId),
    "jobs:read",
    answerFor(false),
    {
      summary: "Read the story of a message",
      description:
        "Of a recipient of a template send, or of a direct message: what became of it, what it waited for, each attempt, receipt and webhook, and what may be done now. As text for a ticket for `Accept: text/markdown`. Another key's message is not found."
    },
    (engine, caller, { path }) => engine.timeline(caller, path.messageId)
  )
]

export const admin = [
  forOperator(
    Endpoint.get("adminTimeline", "/admin/v1/messages/:messageId/timeline").setPath(messageId),
    answerFor(true),
    {
      summary: "Read the story of any account's message",
      description:
        "Of a recipient of a template send, or of a direct message: who asked for it, which consent decided, what it waited for and until when, each attempt, receipt and webhook with its answer, and what may be done now, and why what may not. It is derived from what is kept: what no row tells is null. As text for a ticket for `Accept: text/markdown`.",
      command: {
        name: "messages story",
        description: "Tell the story of a message, a recipient's or a direct one, by its id."
      }
    },
    ({ admin }, { path }) => admin.jobs.timeline(path.messageId)
  )
]
