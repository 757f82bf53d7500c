/** Events of all accounts, derived from rows when they are asked for (contract.md §12). */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ClientTexts } from "../adapter.ts"
import * as Either from "../effect/Either.ts"
import { Admin, DerivedEvent as Domain, type Errors, type Page } from "../index.ts"
import { struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { type Answer, forOperator } from "./Operation.ts"
import { about, checkPeriods, paging, TimeText, timeOf, Uuid } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

export const derivedEvent = struct(
  {
    at: Wire.Time,
    type: Schema.Literal(...Domain.types),
    account_id: Schema.NullOr(Wire.Id),
    session_id: Schema.NullOr(Wire.Id),
    job_id: Schema.NullOr(Wire.Id),
    message_id: Schema.NullOr(Wire.Id),
    sequence: Schema.NullOr(Wire.Count).annotations({
      description:
        "Of a recipient: how many events of it there were so far. What you know of it by a lower number is older."
    }),
    subject: Wire.NullableText.annotations({
      description: "The id of what it is of, where no other member has it: a template, a webhook, a process."
    }),
    data: Schema.Record({ key: Schema.String, value: Schema.Unknown })
  },
  "DerivedEvent"
)

/** The parameters by which events are chosen. */
export const filter = {
  account_id: optional(Uuid),
  session_id: optional(Uuid),
  job_id: optional(about(Uuid, "All events of one job and its recipients.")),
  type: optional(
    Schema.Literal(...Domain.types, ...Domain.families).annotations({
      description: "Only events of this type, or of a family such as `session.*`."
    })
  ),
  after: optional(about(TimeText, "Only events at this time or later.")),
  before: optional(about(TimeText, "Only events before this time."))
}

const Filter = Schema.Struct(filter)

/** Which events a query asks for. */
export const asked = (query: typeof Filter.Type): Either.Either<Admin.EventsFilter, Errors.InvalidRequest> =>
  Either.map(checkPeriods(query, ["after", "before"]), () => ({
    accountId: query.account_id,
    sessionId: query.session_id,
    jobId: query.job_id,
    type: query.type,
    after: timeOf(query.after),
    before: timeOf(query.before)
  }))

export const example: typeof derivedEvent.schema.Type = {
  at: Examples.later,
  type: "recipient.delivered",
  account_id: Examples.ids.account,
  session_id: Examples.ids.session,
  job_id: Examples.ids.job,
  message_id: Examples.ids.message,
  sequence: 3,
  subject: null,
  data: { phone: Examples.phone, ...ClientTexts.recipient.examples, attempts: 1, error: null }
}

const Found = Schema.Struct({
  ok: Wire.Ok,
  events: Schema.Array(derivedEvent.schema),
  next_cursor: Wire.NextCursor,
  looked_at: Schema.NullOr(Wire.Count).annotations({
    description:
      "A number when the page is empty though there may be more: so many rows were looked at, and none of them is asked for. Go on with `next_cursor`."
  })
})

const found: Answer<typeof Found, Page.Paged<Domain.DerivedEvent>> = {
  schema: Found,
  of: ({ items, next }, { cursor, prefix }) => ({
    ...Wire.ok,
    events: items.map((each) => derivedEvent.of(each, prefix)),
    next_cursor: cursor(next),
    looked_at: items.length === 0 && next !== null ? Admin.mostEventsLookedAt : null
  }),
  example: { ...Wire.ok, events: [example], next_cursor: null, looked_at: null }
}

export const admin = [
  forOperator(
    Endpoint.get("events", "/admin/v1/events").setUrlParams(Schema.Struct({ ...paging, ...filter })),
    found,
    {
      summary: "List what happened, newest first",
      description:
        "Read from the rows that changed with it, each by its own time: what was accepted, refusals of people, acts of operators, and what no other row keeps: outages, pauses, lost connections, restores, changes of a template's status, and processes that came or went. How jobs ended and what became of recipients is told with `job_id`, of that job: no index has those times, since each send would pay for it.",
      refusals: ["not_found"],
      command: {
        name: "events list",
        description: "List what happened, newest first; with --job-id all that became of a job."
      }
    },
    ({ admin }, { page, query }) =>
      Effect.flatMap(asked(query), (wanted) => admin.events.list({ ...wanted, page }))
  )
]
