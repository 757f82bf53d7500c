/** Jobs: read and canceled with an API key (interface.md §2.5 to §2.7), and by operators (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Admin, Engine, Page } from "@sendwright/core"
import {
  Job as Domain,
  Errors,
  EventData,
  Fault,
  Ids,
  Instant,
  Phone,
  Recipient,
  RetrySelection
} from "@sendwright/core"
import { ClientTexts, Reference } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { computed, list, nullOr, struct } from "./Codec.ts"
import * as Examples from "./Examples.ts"
import { type Answer, answer, forKey, forOperator, one, pageOf } from "./Operation.ts"
import { byAccount, id, limit, paging, TimeText, Uuid } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

/** The path that the server is asked. */
export const links = (jobId: string, prefix: string) => ({
  status: `${prefix}/api/v1/template-messages/${jobId}`
})

const templateIdOf = ({ content }: Domain.Job): number =>
  content.kind === "template" ? content.templateId : 0

const listed = {
  job_id: computed(Wire.Id, ({ id }: Domain.Job) => id),
  status: Schema.Literal(...Domain.statuses),
  template_id: computed(Wire.Count, templateIdOf),
  ...ClientTexts.told,
  recipients: Wire.Count,
  counts: EventData.Counts,
  created_at: Wire.Time,
  updated_at: Wire.Time,
  completed_at: Wire.NullableTime,
  content_expired_at: computed(
    Wire.NullableTime.schema.annotations({
      description:
        "When its recipients' variables were forgotten, as the account's `retention` says; null while they are kept. Nothing of it can be sent again then."
    }),
    ({ contentExpiredAt }: Domain.Job, prefix) => Wire.NullableTime.of(contentExpiredAt, prefix)
  ),
  links: computed(Wire.Links, ({ id }: Domain.Job, prefix) => links(id, prefix))
}

const job = struct(listed, "Job")

const result = struct(
  {
    phone: Wire.Text,
    external_id: Wire.NullableText,
    status: Wire.RecipientStatus,
    error: computed(Wire.Failure, ({ failure }: Domain.RecipientResult) => failure),
    attempts: Wire.Count,
    message_id: Wire.Id,
    /** The market that priced it, and the price that is due once it is delivered; null without a rate card. */
    market: Wire.NullableText,
    unit_price: computed(Wire.NullableAmount, ({ price }: Domain.RecipientResult) => price),
    /** As what the platform billed it, once a receipt said so; it may differ from the template's category. */
    pricing: Schema.NullOr(Schema.Struct({ category: Wire.Text, free: Schema.Boolean })),
    updated_at: Wire.Time,
    sent_at: Wire.NullableTime,
    delivered_at: Wire.NullableTime,
    read_at: Wire.NullableTime
  },
  "Result"
)

const waitingFor = struct({
  limiter: Wire.Text.annotations({
    description:
      "`pace`, `retry`, `session`, `template`, `content` when that was damaged in the store and cannot be read, `platform` while that does not answer (`until` it is asked again), `restore` while the store was restored from a backup and nothing is sent, or `worker` when no process that sends was alive for 15 seconds."
  }),
  until: Wire.NullableTime
})

const detailed = struct({
  ...listed,
  currency: Wire.Text,
  estimated_cost: Wire.NullableAmount,
  pause_reason: Wire.NullableText,
  template: struct({ template_id: Wire.Count, name: Wire.Text, language: Wire.Text }),
  actual_cost: Wire.NullableAmount,
  waiting_for: nullOr(waitingFor),
  expected_completion_at: Wire.NullableTime,
  results: list(result),
  next_cursor: Wire.NextCursor
})

const JobDetail = Schema.Struct({ ok: Wire.Ok, job: detailed.schema }).annotations({
  identifier: "JobDetail"
})

const Filter = Schema.Struct({
  ...paging,
  status: optional(
    Schema.Literal(...Domain.statuses).annotations({ description: "Only jobs of this status." })
  ),
  reference: optional(Reference.Reference),
  created_after: optional(TimeText),
  created_before: optional(TimeText)
})

const endsBeforeItBegins = Fault.make(
  ["query", "created_after"],
  "invalid_value",
  "`created_after` must not be later than `created_before`."
)

/** Which jobs are on the page of a list. Each of its times was checked with the shape. */
const filter = (
  { created_after, created_before, reference, status }: typeof Filter.Type,
  page: Page.Page
): Either.Either<Engine.JobQuery, Errors.InvalidRequest> => {
  const createdAfter = created_after === undefined ? undefined : Instant.parse(created_after)
  const createdBefore = created_before === undefined ? undefined : Instant.parse(created_before)
  return createdAfter !== undefined && createdBefore !== undefined && createdAfter > createdBefore
    ? Either.left(new Errors.InvalidRequest({ faults: [endsBeforeItBegins] }))
    : Either.right({ status, reference, createdAfter, createdBefore, page })
}

const mostResults = 250

const ResultFilter = Schema.Struct({
  limit: limit(mostResults),
  cursor: paging.cursor,
  recipient_status: optional(
    Schema.Literal(...Recipient.statuses).annotations({ description: "Only results of this status." })
  )
})

const resultFilter = (
  { limit = mostResults, recipient_status }: typeof ResultFilter.Type,
  { after }: Page.Page
) => ({ recipientStatus: recipient_status, page: { limit, after } })

const FailureCode = Schema.String.annotations({
  jsonSchema: { minLength: 1, maxLength: RetrySelection.maximumCodeLength }
})
const PhoneNumber = Schema.String.annotations({ jsonSchema: { pattern: Phone.form.source } })

const Retry = Schema.Struct({
  statuses: optional(
    Schema.Array(Schema.Literal(...RetrySelection.statuses)).pipe(Schema.minItems(1), Schema.maxItems(2))
  ),
  codes: optional(Schema.Array(FailureCode).pipe(Schema.minItems(1), Schema.maxItems(50))),
  phones: optional(Schema.Array(PhoneNumber).pipe(Schema.minItems(1), Schema.maxItems(250))),
  dry_run: optional(Schema.Boolean)
})

const example = Examples.job

/** A job with a page of its results. */
const detail: Answer<typeof JobDetail, Engine.JobDetail> = {
  schema: JobDetail,
  of: ({ job, results, template, ...found }, { cursor, prefix }) => ({
    ...Wire.ok,
    job: detailed.of(
      {
        ...job,
        ...found,
        template: { ...template, templateId: templateIdOf(job) },
        results: results.items.map((each) => ({ ...each, messageId: Ids.messageId(job.id, each.index) })),
        nextCursor: cursor(results.next)
      },
      prefix
    )
  }),
  example: {
    ...Wire.ok,
    job: {
      ...example,
      template: {
        template_id: Examples.template.template_id,
        name: Examples.template.name,
        language: Examples.template.language
      },
      currency: "EUR",
      estimated_cost: "0.0250",
      actual_cost: "0.0250",
      pause_reason: null,
      waiting_for: null,
      expected_completion_at: null,
      results: [
        {
          phone: Examples.phone,
          external_id: "customer-9",
          status: "delivered",
          error: null,
          attempts: 1,
          message_id: Examples.ids.message,
          market: "34",
          unit_price: "0.0250",
          pricing: { category: "utility", free: false },
          updated_at: Examples.later,
          sent_at: Examples.at,
          delivered_at: Examples.later,
          read_at: null
        }
      ],
      next_cursor: null
    }
  }
}

const canceling = one("job", job, { ...example, status: "canceling", completed_at: null })

const retried = struct({
  ok: Wire.isOk,
  job,
  retried: computed(Wire.Count, ({ counts }: Admin.Retried) => counts.failed + counts.unknown),
  counts: Schema.Struct({ failed: Wire.Count, unknown: Wire.Count }),
  dry_run: Schema.Boolean
})

const jobId = Schema.Struct({ jobId: Uuid })

export const versioned = [
  forKey(
    HttpApiEndpoint.get("jobs", "/api/v1/template-messages").setUrlParams(Filter),
    "jobs:read",
    pageOf("jobs", job, example),
    {
      summary: "List this key's jobs, newest first",
      description: "Jobs of other keys are not told, not even of the same session."
    },
    (engine, caller, { page, query }) =>
      Effect.flatMap(filter(query, page), (wanted) => engine.jobs(caller, wanted))
  ),
  forKey(
    HttpApiEndpoint.get("job", "/api/v1/template-messages/:jobId").setPath(jobId).setUrlParams(ResultFilter),
    "jobs:read",
    detail,
    {
      summary: "Read a job and its result per recipient",
      description: "Results come in pages of up to 250. Another key's job is not found."
    },
    (engine, caller, { page, path, query }) =>
      engine.job(caller, path.jobId.toLowerCase(), resultFilter(query, page))
  ),
  forKey(
    HttpApiEndpoint.post("cancel", "/api/v1/template-messages/:jobId/cancel").setPath(jobId),
    "messages:send",
    canceling,
    {
      summary: "Cancel what of a job was not sent",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      status: 202,
      refusals: ["job_ended"]
    },
    (engine, caller, { path }) => engine.cancel(caller, path.jobId.toLowerCase())
  )
]

export const admin = [
  forOperator(
    HttpApiEndpoint.get("adminJobs", "/admin/v1/jobs").setUrlParams(
      Schema.Struct({ ...Filter.fields, ...byAccount })
    ),
    pageOf("jobs", job, example),
    {
      summary: "List an account's jobs",
      description: "Those of all its keys, newest first.",
      refusals: ["not_found"],
      command: { name: "jobs list", description: "List an account's jobs." }
    },
    ({ admin }, { page, query }) =>
      Effect.flatMap(filter(query, page), (wanted) => admin.jobs.list(query.account_id, wanted))
  ),
  forOperator(
    HttpApiEndpoint.get("adminJob", "/admin/v1/jobs/:id").setPath(id).setUrlParams(ResultFilter),
    detail,
    {
      summary: "Read any account's job",
      description: "With its result per recipient, in pages of up to 250.",
      command: { name: "jobs show", description: "Show a job and its recipients." }
    },
    ({ admin }, { page, path, query }) => admin.jobs.find(path.id, resultFilter(query, page))
  ),
  forOperator(
    HttpApiEndpoint.post("cancelJob", "/admin/v1/jobs/:id/cancel").setPath(id),
    canceling,
    {
      summary: "Cancel any account's job",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      refusals: ["job_ended"],
      command: { name: "jobs cancel", description: "Cancel what of a job was not sent." }
    },
    ({ admin }, { path }) => admin.jobs.cancel(path.id)
  ),
  forOperator(
    HttpApiEndpoint.post("retryJob", "/admin/v1/jobs/:id/retry").setPath(id).setPayload(Retry),
    answer(retried, {
      ...Wire.ok,
      job: example,
      retried: 0,
      counts: { failed: 0, unknown: 0 },
      dry_run: true
    }),
    {
      summary: "Send a job's failed recipients again",
      description:
        "Chooses the recipients that match every member. `statuses` is by default `failed`; a recipient that is `unknown` is chosen only when it is named there, and may get the message twice. A failure that is permanent is chosen only by its code in `codes` or its phone in `phones`. With `dry_run` nothing changes: `retried` and `counts` tell how many it would be.",
      request: { statuses: ["failed"], dry_run: true },
      refusals: ["job_ended", "content_expired"],
      command: {
        name: "jobs retry",
        description:
          "Send to a job's failed recipients again: those who match every flag, without one those whose failure is not permanent. A permanent failure needs its code or phone. --statuses unknown names those who may have the message already: they may get it twice. --dry-run true only counts."
      }
    },
    ({ admin }, { path, payload: { dry_run: dryRun, ...selection } }) =>
      admin.jobs.retry(path.id, { ...selection, dryRun }),
    ({ admin }, { payload }) => admin.jobs.retryFaults(payload)
  )
]
