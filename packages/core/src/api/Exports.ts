/** Exports: what is kept of accounts, as a line for each, however many there are. */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ClientTexts, Reference } from "../adapter.ts"
import * as Address from "../domain/Address.ts"
import type { Admin } from "../index.ts"
import { Consent, Ids, Job, Person, Recipient } from "../index.ts"
import { codec, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Events from "./Events.ts"
import * as Examples from "./Examples.ts"
import * as Lines from "./Lines.ts"
import { exportForOperator } from "./Operation.ts"
import { about, checkPeriods, TimeText, timeOf, Uuid, word } from "./Parameters.ts"
import * as Texts from "./Texts.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const format = optional(
  Schema.Literal(...Lines.formats).annotations({
    description:
      '`ndjson` when absent: an object on each line, and a last one with `ok` (`{"ok":true,"rows":2}`), without which it is not whole. `csv`: a header row; an apostrophe keeps a spreadsheet from taking a cell for a formula; what breaks off ends with the connection.'
  })
)

const ofAccount = optional(about(Uuid, "All accounts when absent."))

const kind = Schema.Literal(...Job.kinds)

const resultRow = struct(
  {
    account_id: Wire.Id,
    session_id: Wire.Id,
    job_id: Wire.Id,
    kind,
    ...ClientTexts.job.told,
    message_id: Wire.Id,
    ...Texts.recipient,
    ...ClientTexts.recipient.told,
    status: Wire.RecipientStatus,
    error_code: Wire.NullableText,
    error_message: Wire.NullableText,
    attempts: Wire.Count,
    market: Wire.NullableText,
    currency: Wire.Text,
    unit_price: Wire.NullableAmount,
    created_at: Wire.Time,
    updated_at: Wire.Time,
    sent_at: Wire.NullableTime,
    delivered_at: Wire.NullableTime,
    read_at: Wire.NullableTime
  },
  "ExportedResult"
)

const flatResult = ({
  job,
  result: { address, failure, index, price, ...result }
}: Admin.ExportedResult) => ({
  ...result,
  ...Address.personOf(address),
  accountId: job.accountId,
  sessionId: job.sessionId,
  jobId: job.id,
  kind: job.content.kind,
  ...ClientTexts.job.of(job),
  messageId: Ids.messageId(job.id, index),
  errorCode: failure?.code ?? null,
  errorMessage: failure?.message ?? null,
  currency: job.currency,
  unitPrice: price,
  createdAt: job.createdAt
})

const consentRow = struct(
  {
    /** The person whom the record holds for: a phone, or else a platform's user id. */
    phone: Texts.NullablePhone,
    user_id: Texts.NullableUserId,
    purpose: Schema.Literal(...Consent.scopes),
    status: Schema.Literal(...Consent.statuses),
    source: Wire.Text,
    proof: Wire.NullableText,
    occurred_at: Wire.Time,
    reported_at: Wire.NullableTime,
    recorded_at: Wire.Time,
    consent_id: Wire.Id,
    account_id: Wire.Id
  },
  "ExportedConsent"
)

const flatConsent = ({ accountId, filing, record }: Admin.ExportedConsent) => ({
  ...record,
  ...Person.ofKey(filing.person),
  consentId: record.id,
  accountId
})

const { at, ids, later, phone } = Examples

export const admin = [
  exportForOperator(
    Endpoint.get("exportResults", "/admin/v1/export/results").setUrlParams(
      Schema.Struct({
        format,
        account_id: ofAccount,
        session_id: optional(Uuid),
        job_id: optional(Uuid),
        kind: optional(
          kind.annotations({ description: "Only template sends, or only direct messages; both when absent." })
        ),
        reference: optional(Reference.Reference),
        status: optional(
          Schema.Literal(...Recipient.statuses).annotations({ description: "Only results of this status." })
        ),
        code: optional(word("Only failures with this code.")),
        created_after: optional(TimeText),
        created_before: optional(TimeText)
      })
    ),
    codec(resultRow.schema, (found: Admin.ExportedResult, prefix) => resultRow.of(flatResult(found), prefix)),
    {
      account_id: ids.account,
      session_id: ids.session,
      job_id: ids.job,
      kind: "template",
      reference: null,
      message_id: ids.message,
      phone,
      user_id: null,
      ...ClientTexts.recipient.examples,
      status: "delivered",
      error_code: null,
      error_message: null,
      attempts: 1,
      market: "34",
      currency: "EUR",
      unit_price: "0.0250",
      created_at: at,
      updated_at: later,
      sent_at: at,
      delivered_at: later,
      read_at: null
    },
    {
      summary: "Export results of sends",
      description:
        "A line for each recipient that matches every parameter, account by account, of template sends and then of direct messages, the newest job first. Jobs that are accepted meanwhile are not among them; a recipient is as it was when its page was read. The times are of the job.",
      refusals: ["not_found"],
      command: {
        name: "export results",
        description: "Export results, a line for each recipient that matches every flag, newest job first."
      }
    },
    ({ admin }, { query }) =>
      Effect.zipRight(
        checkPeriods(query, ["created_after", "created_before"]),
        admin.exports.results({
          accountId: query.account_id,
          sessionId: query.session_id,
          jobId: query.job_id,
          kind: query.kind,
          reference: query.reference,
          status: query.status,
          code: query.code,
          createdAfter: timeOf(query.created_after),
          createdBefore: timeOf(query.created_before)
        })
      )
  ),
  exportForOperator(
    Endpoint.get("exportConsents", "/admin/v1/export/consents").setUrlParams(
      Schema.Struct({
        format,
        account_id: ofAccount,
        status: optional(
          Schema.Literal(...Consent.statuses).annotations({ description: "Only records of this status." })
        ),
        purpose: optional(
          Schema.Literal(...Consent.scopes).annotations({
            description: "Only records of this purpose; `all` are those of all purposes."
          })
        ),
        recorded_after: optional(TimeText),
        recorded_before: optional(TimeText)
      })
    ),
    codec(consentRow.schema, (found: Admin.ExportedConsent, prefix) =>
      consentRow.of(flatConsent(found), prefix)
    ),
    {
      phone,
      user_id: null,
      purpose: "utility",
      status: "granted",
      source: "checkout form",
      proof: "order A-17",
      occurred_at: at,
      reported_at: null,
      recorded_at: at,
      consent_id: ids.consent,
      account_id: ids.account
    },
    {
      summary: "Export consents",
      description:
        "A line for each record and each name that it holds for, person by person, in the order in which they count. A person whose page was read already may have newer records. The command line imports them again.",
      refusals: ["not_found"],
      command: {
        name: "export consents",
        description: "Export consent records, person by person, in the order in which they count."
      }
    },
    ({ admin }, { query }) =>
      Effect.zipRight(
        checkPeriods(query, ["recorded_after", "recorded_before"]),
        admin.exports.consents({
          accountId: query.account_id,
          status: query.status,
          purpose: query.purpose,
          recordedAfter: timeOf(query.recorded_after),
          recordedBefore: timeOf(query.recorded_before)
        })
      )
  ),
  exportForOperator(
    Endpoint.get("exportEvents", "/admin/v1/export/events").setUrlParams(
      Schema.Struct({ format, ...Events.filter })
    ),
    Events.derivedEvent,
    Events.example,
    {
      summary: "Export events",
      description:
        "A line for each event that matches every parameter: first what has its time over all accounts, newest first, and then, job by job, how it ended and what became of its recipients. Each job of which something changed since `after` is read. What nobody keeps, such as texts of people, is in no export; a webhook tells it.",
      refusals: ["not_found"],
      command: {
        name: "export events",
        description: "Export what happened, and job by job what became of recipients."
      }
    },
    ({ admin }, { query }) => Effect.flatMap(Events.asked(query), (filter) => admin.events.export(filter))
  )
]
