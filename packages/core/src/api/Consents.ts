/** Consents of an account's recipients, and what came in and names nobody (contract.md §8). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Admin, PerhapsRefusal } from "../index.ts"
import { Consent as Domain, Errors, Person, Phone, Unattributed } from "../index.ts"
import { codec, computed, list, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forOperator, one, pageOf } from "./Operation.ts"
import { id, Paging, TimeText } from "./Parameters.ts"
import { ActingOperator } from "./Route.ts"
import { NullablePhone, NullableUserId, Phone as PhoneText } from "./Texts.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

export const consentRecord = struct(
  {
    consent_id: computed(Wire.Id, ({ id }: Domain.ConsentRecord) => id),
    /** Null when only the platform's user id is known of the person. */
    phone: NullablePhone,
    user_id: NullableUserId,
    purpose: Schema.Literal(...Domain.scopes),
    status: Schema.Literal("granted", "revoked"),
    source: Wire.Text,
    proof: Wire.NullableText,
    /** The time at which the record counts as said; records are in the order of these times. */
    occurred_at: Wire.Time,
    /** The time that the account or the platform told; null when they told none. */
    reported_at: Wire.NullableTime,
    recorded_at: Wire.Time
  },
  "ConsentRecord"
)

export const verdictStatus = codec(
  Schema.Literal("granted", "revoked", "missing"),
  (verdict: Domain.Verdict) =>
    (({ Granted: "granted", Revoked: "revoked", Missing: "missing" }) as const)[verdict._tag]
)

/** Texts are judged item by item: a wrong one refuses its record, not the request. */
export const NewConsent = Schema.Struct({
  phone: optional(
    Schema.String.annotations({
      description: "Digits including a country calling code that exists, no separators."
    })
  ),
  user_id: optional(
    Schema.String.annotations({
      description: "The platform's id of the person, such as US.1349, beside or instead of the number."
    })
  ),
  status: optional(
    Schema.Literal("granted", "revoked").annotations({ description: "`granted` when absent." })
  ),
  purpose: optional(Schema.Literal(...Domain.scopes).annotations({ description: "`all` when absent." })),
  source: Schema.String.annotations({ description: "Where it was given: 1 to 255 characters, not blank." }),
  proof: optional(Schema.String.annotations({ description: "1 to 2,000 characters, not blank." })),
  occurred_at: optional(Wire.TimeOfItem)
}).annotations({ identifier: "NewConsent" })

/** Of a new record, and of as much of one as can be read. */
const newConsent = <
  Item extends { readonly occurred_at?: string | undefined; readonly user_id?: string | undefined }
>({
  occurred_at: occurredAt,
  user_id: userId,
  ...rest
}: Item) => ({ ...rest, occurredAt, userId })

const ConsentResult = Schema.Struct({
  index: Wire.Count,
  phone: NullablePhone,
  user_id: NullableUserId,
  ok: Schema.Boolean,
  consent_id: optional(Wire.Id),
  /** True where consent stays refused, since the item tells no time. */
  kept_refused: optional(Schema.Boolean),
  errors: optional(Schema.Array(Wire.Fault.schema))
})

const consentResult = (result: Admin.ConsentResult, index: number): typeof ConsentResult.Type =>
  result._tag === "Recorded"
    ? {
        index,
        phone: result.record.phone,
        user_id: result.record.userId,
        ok: true,
        consent_id: result.record.id
      }
    : {
        index,
        phone: result.person.phone,
        user_id: result.person.userId,
        ok: false,
        ...(result._tag === "KeptRefused" ? { kept_refused: true } : {}),
        errors: Wire.faults(result.faults)
      }

const consentResults = codec(
  Schema.Struct({
    ok: Wire.Ok,
    recorded: Wire.Count,
    kept_refused: Wire.Count,
    results: Schema.Array(ConsentResult)
  }),
  (results: ReadonlyArray<Admin.ConsentResult>) => ({
    ...Wire.ok,
    recorded: results.filter(({ _tag }) => _tag === "Recorded").length,
    kept_refused: results.filter(({ _tag }) => _tag === "KeptRefused").length,
    results: results.map(consentResult)
  })
)

type Current = Admin.ConsentState["current"][number]

const state = {
  current: list(
    struct({
      purpose: Schema.Literal(...Domain.purposes),
      status: part(verdictStatus, ({ verdict }: Current) => verdict),
      consent_id: computed(Schema.NullOr(Wire.Id), ({ verdict }: Current) =>
        verdict._tag === "Missing" ? null : verdict.record.id
      )
    })
  ),
  history: list(consentRecord)
}

const consentState = struct({
  ok: Wire.isOk,
  /** As it was asked for. */
  phone: NullablePhone,
  user_id: NullableUserId,
  ...state
})

const movedConsents = struct({
  ok: Wire.isOk,
  from: PhoneText,
  to: PhoneText,
  consents: part(list(consentRecord), ({ records }: Admin.Moved) => records)
})

const WhoseConsents = Schema.Struct({
  phone: optional(
    Schema.String.annotations({
      description: "This, `user_id` or both.",
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

const inbound = {
  id: Wire.Id,
  session_id: Wire.Id,
  message_id: Wire.NullableText,
  text: Wire.Text,
  occurred_at: Wire.Time,
  recorded_at: Wire.Time
}

const unattributed = struct({ ...inbound, kind: Schema.Literal(...Unattributed.kinds) })

const perhapsRefusal = struct({
  ...inbound,
  from: computed(NullablePhone, ({ phone }: PerhapsRefusal.PerhapsRefusal) => phone),
  user_id: NullableUserId
})

const knownPerson = struct(
  {
    phone: NullablePhone,
    user_id: NullableUserId,
    accounts: list(
      struct({
        account_id: Wire.Id,
        ...state,
        windows: list(
          struct({
            session_id: Wire.Id,
            open: Schema.Boolean,
            until: Wire.NullableTime,
            free_until: Wire.NullableTime,
            certain: Schema.Boolean
          })
        ),
        perhaps_refusals: list(perhapsRefusal)
      })
    )
  },
  "KnownPerson"
)

const { at, ids, phone } = Examples

const exampleInbound = { id: ids.unattributed, session_id: ids.session, occurred_at: at, recorded_at: at }

const exampleRefusal = {
  ...exampleInbound,
  message_id: "wamid.HBgLMzQ2MDAwMDAxMDA",
  from: phone,
  user_id: null,
  text: "can you stop the order"
}

export const admin = [
  forOperator(
    Endpoint.post("recordConsents", "/admin/v1/accounts/:id/consents")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          consents: Schema.Array(NewConsent).pipe(Schema.minItems(1), Schema.maxItems(10_000)),
          imported_at: optional(
            TimeText.annotations({
              description:
                "When an import began: items without `occurred_at` are recorded of that time, so that the same request may be repeated."
            })
          )
        })
      )
      // 10,000 of five members, which 1 MiB has room for, have 60,000.
      .setMaximumValues(61_000),
    answer(consentResults, {
      ...Wire.ok,
      recorded: 1,
      kept_refused: 0,
      results: [{ index: 0, phone, user_id: null, ok: true, consent_id: ids.consent }]
    }),
    {
      summary: "Record up to 10,000 consents",
      description:
        "Grants and revocations of phones, item by item: a wrong one is told in `results` and keeps none of the others. An item without `occurred_at` never outranks a refusal by the person's own words, an erasure, or a refusal of the same number in the same list: it is counted as `kept_refused`, and consent stays refused. An operator of the role `support` records revocations alone.",
      request: { consents: [{ phone, purpose: "utility", source: "checkout form", proof: "order A-17" }] },
      command: { name: "consents record", description: "Record the consents of a table." },
      role: "support"
    },
    ({ admin }, { path, payload: { consents, imported_at: importedAt } }) =>
      Effect.gen(function* () {
        const { role } = yield* ActingOperator
        if (role === "support" && consents.some(({ status }) => status !== "revoked"))
          return yield* new Errors.InsufficientRole({ role, needed: "admin" })
        return yield* admin.consents.record(path.id, consents.map(newConsent), importedAt)
      }),
    ({ admin }, { payload: { consents = [] } }) =>
      admin.consents.faults(consents.map((item) => item && newConsent(item)))
  ),
  forOperator(
    Endpoint.post("moveConsents", "/admin/v1/accounts/:id/consents/move")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          from: Schema.String.annotations({ description: "The number that its owner left." }),
          to: Schema.String.annotations({ description: "The number that they have now." }),
          reason: Schema.String.annotations({ description: "For the audit log: 1 to 255 characters." })
        })
      ),
    answer(movedConsents, {
      ...Wire.ok,
      from: phone,
      to: "34600000101",
      consents: [{ ...Examples.consent, phone: "34600000101" }]
    }),
    {
      summary: "Move consent to a person's new number",
      description:
        "Grants for `to` what was granted for `from`, of the same time, and ends it there (`consent.revoked`, source `number_changed`). When a platform says that a number's owner left it, the grant ends by itself, and goes to no other number but in this way. A purpose that either refuses is not moved, and nothing is once the next owner of `from` has consented: record then what the person gave for `to`. A repetition changes nothing.",
      request: { from: phone, to: "34600000101", reason: "told by the customer" },
      command: {
        name: "consents move",
        description: "Move what was granted for a number to its owner's new one: --from, --to, --reason."
      }
    },
    ({ admin }, { path, payload }) => admin.consents.move(path.id, payload),
    ({ admin }, { payload }) => admin.consents.moveFaults(payload)
  ),
  forOperator(
    Endpoint.get("consents", "/admin/v1/accounts/:id/consents").setPath(id).setUrlParams(WhoseConsents),
    answer(consentState, {
      ...Wire.ok,
      phone,
      user_id: null,
      current: [{ purpose: "utility", status: "granted", consent_id: ids.consent }],
      history: [Examples.consent]
    }),
    {
      summary: "Read a person's consents",
      description: "What holds now for each purpose, and all that was recorded. Give `phone` or `user_id`.",
      command: {
        name: "consents show",
        description: "Show the consents of a phone or a user id, and their history."
      }
    },
    ({ admin }, { path, query: { phone, user_id: userId } }) =>
      admin.consents.find(path.id, { phone, userId })
  ),
  forOperator(
    Endpoint.get("person", "/admin/v1/people").setUrlParams(WhoseConsents),
    one("person", knownPerson, {
      phone,
      user_id: null,
      accounts: [
        {
          account_id: ids.account,
          current: [{ purpose: "utility", status: "granted", consent_id: ids.consent }],
          history: [Examples.consent],
          windows: [{ session_id: ids.session, open: true, until: at, free_until: null, certain: true }],
          perhaps_refusals: [exampleRefusal]
        }
      ]
    }),
    {
      summary: "Read what all accounts know of a person",
      description:
        "Of each account that has a consent of the person, or a link to them, 20 at most: what holds now for each purpose, all that was recorded, until when each session's platform takes free text, and their newest texts that may be opt-outs. Give `phone` or `user_id`. Nothing of it is recorded; `GET /admin/v1/people/{who}/export` has all that is known.",
      command: {
        name: "people show",
        description: "Show what all accounts know of a phone or a user id: consents, windows, doubtful texts."
      }
    },
    ({ admin }, { query: { phone, user_id: userId } }) => admin.consents.everywhere({ phone, userId })
  ),
  forOperator(
    Endpoint.get("unattributed", "/admin/v1/accounts/:id/unattributed").setPath(id).setUrlParams(Paging),
    pageOf("unattributed", unattributed, {
      ...exampleInbound,
      kind: "opt_out",
      message_id: null,
      text: "STOP"
    }),
    {
      summary: "List what came in and names nobody",
      description: "Newest first. An opt-out among them is somebody's: find out whose, and record it.",
      command: { name: "consents unattributed", description: "List what came in and names nobody." }
    },
    ({ admin }, { page, path }) => admin.consents.unattributed(path.id, page)
  ),
  forOperator(
    Endpoint.get("perhapsRefusals", "/admin/v1/accounts/:id/perhaps-refusals")
      .setPath(id)
      .setUrlParams(Paging),
    pageOf("perhaps_refusals", perhapsRefusal, exampleRefusal),
    {
      summary: "List texts that may be opt-outs",
      description:
        "Texts that have an opt-out word among others, newest first. They change nothing by themselves and are kept for 30 days, 10,000 of an account; record those that are meant as opt-outs.",
      command: { name: "consents doubtful", description: "List texts that may be opt-outs." }
    },
    ({ admin }, { page, path }) => admin.consents.perhapsRefusals(path.id, page)
  ),
  forOperator(
    Endpoint.post("recordRefusal", "/admin/v1/perhaps-refusals/:id/record").setPath(id),
    one("perhaps_refusal", perhapsRefusal, exampleRefusal),
    {
      summary: "Record a text as an opt-out",
      description:
        "Revokes all consents of who wrote it, by every name that is known of them, as if it had been an opt-out word. It is listed no longer.",
      command: { name: "consents refuse", description: "Record a text as an opt-out." },
      role: "support"
    },
    ({ admin }, { path }) => admin.consents.recordRefusal(path.id)
  ),
  forOperator(
    Endpoint.post("dismissRefusal", "/admin/v1/perhaps-refusals/:id/dismiss").setPath(id),
    one("perhaps_refusal", perhapsRefusal, exampleRefusal),
    {
      summary: "Dismiss a text that is no opt-out",
      description: "It is listed no longer. Nobody's consent changes.",
      command: { name: "consents dismiss", description: "Dismiss a text that is no opt-out." },
      role: "support"
    },
    ({ admin }, { path }) => admin.consents.dismissRefusal(path.id)
  )
]
