/** Consents of an account's recipients, and what came in and names nobody (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Admin } from "@sendwright/core"
import * as Domain from "@sendwright/core/Consent"
import type * as PerhapsRefusal from "@sendwright/core/PerhapsRefusal"
import * as Person from "@sendwright/core/Person"
import * as Phone from "@sendwright/core/Phone"
import * as Unattributed from "@sendwright/core/Unattributed"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { MaximumValues } from "./MaximumValues.ts"
import { forOperator } from "./Operation.ts"
import { id, Paging, page } from "./Parameters.ts"
import {
  Count,
  Fault,
  fault,
  Id,
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const optional = Schema.optional

export const ConsentRecord = Schema.Struct({
  consent_id: Id,
  /** Null when only the platform's user id is known of the person. */
  phone: NullableText,
  user_id: NullableText,
  purpose: Schema.Literal(...Domain.scopes),
  status: Schema.Literal("granted", "revoked"),
  source: Text,
  proof: NullableText,
  /** When it counts as said, which orders the records. */
  occurred_at: Time,
  /** As the account or the platform told it; null when none was told. */
  reported_at: NullableTime,
  recorded_at: Time
}).annotations({ identifier: "ConsentRecord" })

export const consentRecord = (record: Domain.ConsentRecord): View<typeof ConsentRecord> => ({
  consent_id: record.id,
  phone: record.phone,
  user_id: record.userId,
  purpose: record.purpose,
  status: record.status,
  source: record.source,
  proof: record.proof,
  occurred_at: time(record.occurredAt),
  reported_at: timeOrNull(record.reportedAt),
  recorded_at: time(record.recordedAt)
})

export const VerdictStatus = Schema.Literal("granted", "revoked", "missing")

export const verdictStatus = (verdict: Domain.Verdict): View<typeof VerdictStatus> =>
  (({ Granted: "granted", Revoked: "revoked", Missing: "missing" }) as const)[verdict._tag]

/** Texts are judged item by item: a wrong one refuses its record, not the request. */
export const NewConsent = Schema.Struct({
  phone: Schema.String.annotations({
    description: "Digits including a country calling code that exists, no separators."
  }),
  status: optional(
    Schema.Literal("granted", "revoked").annotations({ description: "`granted` when absent." })
  ),
  purpose: optional(Schema.Literal(...Domain.scopes).annotations({ description: "`all` when absent." })),
  source: Schema.String.annotations({ description: "Where it was given: 1 to 255 characters, not blank." }),
  proof: optional(Schema.String.annotations({ description: "1 to 2,000 characters, not blank." })),
  occurred_at: optional(
    Schema.String.annotations({
      description: "An RFC 3339 date-time that is not in the future; now when absent."
    })
  )
}).annotations({ identifier: "NewConsent" })

const ConsentResults = Schema.Struct({
  ok: Ok,
  recorded: Count,
  results: Schema.Array(
    Schema.Struct({
      index: Count,
      phone: Text,
      ok: Schema.Boolean,
      consent_id: optional(Id),
      errors: optional(Schema.Array(Fault))
    })
  )
})

const consentResults = (results: ReadonlyArray<Admin.ConsentResult>): View<typeof ConsentResults> => ({
  ...ok,
  recorded: results.filter(({ _tag }) => _tag === "Recorded").length,
  results: results.map((result, index) =>
    result._tag === "Recorded"
      ? { index, phone: result.record.phone, ok: true, consent_id: result.record.id }
      : { index, phone: result.phone, ok: false, errors: result.faults.map(fault) }
  )
})

const ConsentState = Schema.Struct({
  ok: Ok,
  /** As it was asked for. */
  phone: NullableText,
  user_id: NullableText,
  current: Schema.Array(
    Schema.Struct({
      purpose: Schema.Literal(...Domain.purposes),
      status: VerdictStatus,
      consent_id: Schema.NullOr(Id)
    })
  ),
  history: Schema.Array(ConsentRecord)
})

const consentState = ({
  current,
  history,
  phone,
  userId
}: Admin.ConsentState): View<typeof ConsentState> => ({
  ...ok,
  phone,
  user_id: userId,
  current: current.map(({ purpose, verdict }) => ({
    purpose,
    status: verdictStatus(verdict),
    consent_id: verdict._tag === "Missing" ? null : verdict.record.id
  })),
  history: history.map(consentRecord)
})

const WhoseConsents = Schema.Struct({
  phone: optional(
    Schema.String.annotations({
      description: "Either this or `user_id`.",
      jsonSchema: { pattern: Phone.form.source }
    })
  ),
  user_id: optional(
    Schema.String.annotations({
      description: "As the platform writes it.",
      jsonSchema: { pattern: Person.userIdForm.source }
    })
  )
})

const whoseConsents = ({ phone, user_id }: typeof WhoseConsents.Type) => ({ phone, userId: user_id })

const UnattributedBody = Schema.Struct({
  id: Id,
  session_id: Id,
  kind: Schema.Literal(...Unattributed.kinds),
  message_id: NullableText,
  text: Text,
  occurred_at: Time,
  recorded_at: Time
})

const unattributed = (found: Unattributed.Unattributed): View<typeof UnattributedBody> => ({
  id: found.id,
  session_id: found.sessionId,
  kind: found.kind,
  message_id: found.messageId,
  text: found.text,
  occurred_at: time(found.occurredAt),
  recorded_at: time(found.recordedAt)
})

const UnattributedList = Schema.Struct({
  ok: Ok,
  unattributed: Schema.Array(UnattributedBody),
  next_cursor: NextCursor
})

const PerhapsRefusalBody = Schema.Struct({
  id: Id,
  session_id: Id,
  message_id: NullableText,
  from: NullableText,
  user_id: NullableText,
  text: Text,
  occurred_at: Time,
  recorded_at: Time
})

const perhapsRefusal = (found: PerhapsRefusal.PerhapsRefusal): View<typeof PerhapsRefusalBody> => ({
  id: found.id,
  session_id: found.sessionId,
  message_id: found.messageId,
  from: found.phone,
  user_id: found.userId,
  text: found.text,
  occurred_at: time(found.occurredAt),
  recorded_at: time(found.recordedAt)
})

const { at, ids, phone } = Examples

const exampleRefusal = {
  id: ids.unattributed,
  session_id: ids.session,
  message_id: "wamid.HBgLMzQ2MDAwMDAxMDA",
  from: phone,
  user_id: null,
  text: "can you stop the order",
  occurred_at: at,
  recorded_at: at
}

export const admin = [
  forOperator(
    HttpApiEndpoint.post("recordConsents", "/admin/v1/accounts/:id/consents")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          consents: Schema.Array(NewConsent).pipe(Schema.minItems(1), Schema.maxItems(10_000))
        })
      )
      .addSuccess(ConsentResults)
      // 10,000 of five members, which 1 MiB has room for, have 60,000.
      .annotate(MaximumValues, 61_000),
    {
      summary: "Record up to 10,000 consents",
      description:
        "Grants and revocations of phones, item by item: a wrong one is told in `results` and keeps none of the others.",
      request: { consents: [{ phone, purpose: "utility", source: "checkout form", proof: "order A-17" }] },
      answer: {
        ...ok,
        recorded: 1,
        results: [{ index: 0, phone, ok: true, consent_id: ids.consent }]
      },
      refusals: ["not_found"],
      command: { name: "consents record", description: "Record up to 10,000 consents." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.consents.record(path.id, payload.consents), (results) =>
          reply(consentResults(results))
        ),
    ({ admin }) =>
      ({ payload: { consents = [] } }) =>
        admin.consents.faults(consents)
  ),
  forOperator(
    HttpApiEndpoint.get("consents", "/admin/v1/accounts/:id/consents")
      .setPath(id)
      .setUrlParams(WhoseConsents)
      .addSuccess(ConsentState),
    {
      summary: "Read a person's consents",
      description: "What holds now for each purpose, and all that was recorded. Give `phone` or `user_id`.",
      answer: {
        ...ok,
        phone,
        user_id: null,
        current: [{ purpose: "utility", status: "granted", consent_id: ids.consent }],
        history: [Examples.consent]
      },
      refusals: ["not_found"],
      command: {
        name: "consents show",
        description: "Show the consents of a phone or a user id, and their history."
      }
    },
    ({ admin }) =>
      ({ path, query }) =>
        Effect.map(admin.consents.find(path.id, whoseConsents(query)), (found) => reply(consentState(found)))
  ),
  forOperator(
    HttpApiEndpoint.get("unattributed", "/admin/v1/accounts/:id/unattributed")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(UnattributedList),
    {
      summary: "List what came in and names nobody",
      description: "Newest first. An opt-out among them is somebody's: find out whose, and record it.",
      answer: {
        ...ok,
        unattributed: [
          {
            id: ids.unattributed,
            session_id: ids.session,
            kind: "opt_out",
            message_id: null,
            text: "STOP",
            occurred_at: at,
            recorded_at: at
          }
        ],
        next_cursor: null
      },
      refusals: ["not_found"],
      command: { name: "consents unattributed", description: "List what came in and names nobody." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.consents.unattributed(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, unattributed: items.map(unattributed), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.get("perhapsRefusals", "/admin/v1/accounts/:id/perhaps-refusals")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(
        Schema.Struct({
          ok: Ok,
          perhaps_refusals: Schema.Array(PerhapsRefusalBody),
          next_cursor: NextCursor
        })
      ),
    {
      summary: "List texts that may be opt-outs",
      description:
        "Texts that have an opt-out word among others, newest first. They change nothing by themselves and are kept for 30 days, 10,000 of an account; record those that are meant as opt-outs.",
      answer: { ...ok, perhaps_refusals: [exampleRefusal], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "consents doubtful", description: "List texts that may be opt-outs." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.consents.perhapsRefusals(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, perhaps_refusals: items.map(perhapsRefusal), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("recordRefusal", "/admin/v1/perhaps-refusals/:id/record")
      .setPath(id)
      .addSuccess(Schema.Struct({ ok: Ok, perhaps_refusal: PerhapsRefusalBody })),
    {
      summary: "Record a text as an opt-out",
      description:
        "Revokes all consents of who wrote it, by every name that is known of them, as if it had been an opt-out word. It is listed no longer.",
      answer: { ...ok, perhaps_refusal: exampleRefusal },
      refusals: ["not_found"],
      command: { name: "consents refuse", description: "Record a text as an opt-out." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.consents.recordRefusal(path.id), (found) =>
          reply({ ...ok, perhaps_refusal: perhapsRefusal(found) })
        )
  )
]
