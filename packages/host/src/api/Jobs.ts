/** Jobs: read and canceled with an API key (interface.md §2.5 to §2.7), and by operators (decisions.md §8). */

import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Admin, Engine } from "@sendwright/core"
import * as Errors from "@sendwright/core/Errors"
import * as EventData from "@sendwright/core/EventData"
import * as Fault from "@sendwright/core/Fault"
import * as Ids from "@sendwright/core/Ids"
import * as Instant from "@sendwright/core/Instant"
import { ClientTexts } from "@sendwright/core/internal"
import * as Domain from "@sendwright/core/Job"
import type { Paged } from "@sendwright/core/Page"
import * as Phone from "@sendwright/core/Phone"
import * as Recipient from "@sendwright/core/Recipient"
import { Reference } from "@sendwright/core/Reference"
import * as RetrySelection from "@sendwright/core/RetrySelection"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forKey, forOperator } from "./Operation.ts"
import { byAccount, id, limit, page, paging, TimeText, Uuid } from "./Parameters.ts"
import {
  Amount,
  Count,
  type Cursor,
  Failure,
  Id,
  Links,
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  RecipientStatus,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const optional = Schema.optional

const listed = {
  job_id: Id,
  status: Schema.Literal(...Domain.statuses),
  template_id: Count,
  ...ClientTexts.told,
  recipients: Count,
  counts: EventData.Counts,
  created_at: Time,
  updated_at: Time,
  completed_at: NullableTime,
  links: Links
}

const ListedJob = Schema.Struct(listed).annotations({ identifier: "Job" })

/** A path of the contract, as those of the description are: below the server's address, where that has a path, too. */
export const links = (jobId: string) => ({ status: `/api/v1/template-messages/${jobId}` })

const job = (found: Domain.Job): View<typeof ListedJob> => ({
  job_id: found.id,
  status: found.status,
  template_id: found.content.kind === "template" ? found.content.templateId : 0,
  ...ClientTexts.of(found),
  recipients: found.recipients,
  counts: found.counts,
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt),
  completed_at: timeOrNull(found.completedAt),
  links: links(found.id)
})

const Jobs = Schema.Struct({ ok: Ok, jobs: Schema.Array(ListedJob), next_cursor: NextCursor })

const jobs = (found: Paged<Domain.Job>, cursor: Cursor): View<typeof Jobs> => ({
  ok: true,
  jobs: found.items.map(job),
  next_cursor: cursor(found.next)
})

const Result = Schema.Struct({
  phone: Text,
  external_id: NullableText,
  status: RecipientStatus,
  error: Failure,
  attempts: Count,
  message_id: Id,
  /** The market that priced it, and the price that is due once it is delivered; null without a rate card. */
  market: NullableText,
  unit_price: Schema.NullOr(Amount),
  /** As what the platform billed it, once a receipt said so; it may differ from the template's category. */
  pricing: Schema.NullOr(Schema.Struct({ category: Text, free: Schema.Boolean })),
  updated_at: Time,
  sent_at: NullableTime,
  delivered_at: NullableTime,
  read_at: NullableTime
}).annotations({ identifier: "Result" })

const result =
  (jobId: string) =>
  (each: Domain.RecipientResult): View<typeof Result> => ({
    phone: each.phone,
    external_id: each.externalId,
    status: each.status,
    error: each.failure,
    attempts: each.attempts,
    message_id: Ids.messageId(jobId, each.index),
    market: each.market,
    unit_price: each.price,
    pricing: each.pricing,
    updated_at: time(each.updatedAt),
    sent_at: timeOrNull(each.sentAt),
    delivered_at: timeOrNull(each.deliveredAt),
    read_at: timeOrNull(each.readAt)
  })

const JobDetail = Schema.Struct({
  ok: Ok,
  job: Schema.Struct({
    ...listed,
    template: Schema.Struct({ template_id: Count, name: Text, language: Text }),
    currency: Text,
    estimated_cost: Schema.NullOr(Amount),
    actual_cost: Schema.NullOr(Amount),
    pause_reason: NullableText,
    waiting_for: Schema.NullOr(
      Schema.Struct({
        limiter: Text.annotations({
          description:
            "`pace`, `retry`, `session`, `template`, `content` when that was damaged in the store and cannot be read, `platform` while that does not answer (`until` it is asked again), `restore` while the store was restored from a backup and nothing is sent, or `worker` when no process that sends was alive for 15 seconds."
        }),
        until: NullableTime
      })
    ),
    expected_completion_at: NullableTime,
    results: Schema.Array(Result),
    next_cursor: NextCursor
  })
}).annotations({ identifier: "JobDetail" })

const jobDetail = (found: Engine.JobDetail, cursor: Cursor): View<typeof JobDetail> => {
  const listed = job(found.job)
  const { language, name } = found.template
  return {
    ok: true,
    job: {
      ...listed,
      template: { template_id: listed.template_id, name, language },
      currency: found.job.currency,
      estimated_cost: found.job.estimatedCost,
      actual_cost: found.actualCost,
      pause_reason: found.job.pauseReason,
      waiting_for:
        found.waitingFor === null
          ? null
          : { limiter: found.waitingFor.limiter, until: timeOrNull(found.waitingFor.until) },
      expected_completion_at: timeOrNull(found.expectedCompletionAt),
      results: found.results.items.map(result(found.job.id)),
      next_cursor: cursor(found.results.next)
    }
  }
}

const Filter = Schema.Struct({
  ...paging,
  status: optional(
    Schema.Literal(...Domain.statuses).annotations({ description: "Only jobs of this status." })
  ),
  reference: optional(Reference),
  created_after: optional(TimeText),
  created_before: optional(TimeText)
})

const endsBeforeItBegins = Fault.make(
  ["query", "created_after"],
  "invalid_value",
  "`created_after` must not be later than `created_before`."
)

/** The page of a list, and which jobs are on it. Each of its times was checked with the shape. */
const filter = (
  query: typeof Filter.Type,
  after: number | null
): Either.Either<Engine.JobQuery, Errors.InvalidRequest> => {
  const createdAfter = query.created_after === undefined ? undefined : Instant.parse(query.created_after)
  const createdBefore = query.created_before === undefined ? undefined : Instant.parse(query.created_before)
  return createdAfter !== undefined && createdBefore !== undefined && createdAfter > createdBefore
    ? Either.left(new Errors.InvalidRequest({ faults: [endsBeforeItBegins] }))
    : Either.right({
        status: query.status,
        reference: query.reference,
        createdAfter,
        createdBefore,
        page: page(query, after)
      })
}

const mostResults = 250

const ResultFilter = Schema.Struct({
  limit: limit(mostResults),
  cursor: paging.cursor,
  recipient_status: optional(
    Schema.Literal(...Recipient.statuses).annotations({ description: "Only results of this status." })
  )
})

const resultFilter = (query: typeof ResultFilter.Type, after: number | null) => ({
  recipientStatus: query.recipient_status,
  page: page(query, after, mostResults)
})

const ChangedJob = Schema.Struct({ ok: Ok, job: ListedJob })

const RetriedJob = Schema.Struct({
  ok: Ok,
  job: ListedJob,
  retried: Count,
  counts: Schema.Struct({ failed: Count, unknown: Count }),
  dry_run: Schema.Boolean
})

const retriedJob = ({ counts, dryRun, job: retried }: Admin.Retried): View<typeof RetriedJob> => ({
  ...ok,
  job: job(retried),
  retried: counts.failed + counts.unknown,
  counts,
  dry_run: dryRun
})

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

const retry = ({ dry_run: dryRun, ...selection }: typeof Retry.Type) => ({ ...selection, dryRun })

const example = Examples.job
const canceling = { ...example, status: "canceling", completed_at: null } as const

const exampleDetail: View<typeof JobDetail>["job"] = {
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

const jobId = Schema.Struct({ jobId: Uuid })

export const versioned = [
  forKey(
    HttpApiEndpoint.get("jobs", "/api/v1/template-messages").setUrlParams(Filter).addSuccess(Jobs),
    "jobs:read",
    {
      summary: "List this key's jobs, newest first",
      description: "Jobs of other keys are not told, not even of the same session.",
      answer: { ...ok, jobs: [example], next_cursor: null }
    },
    (engine) =>
      (caller) =>
      ({ after, cursor, query }) =>
        filter(query, after).pipe(
          Effect.flatMap((wanted) => engine.jobs(caller, wanted)),
          Effect.map((found) => reply(jobs(found, cursor)))
        )
  ),
  forKey(
    HttpApiEndpoint.get("job", "/api/v1/template-messages/:jobId")
      .setPath(jobId)
      .setUrlParams(ResultFilter)
      .addSuccess(JobDetail),
    "jobs:read",
    {
      summary: "Read a job and its result per recipient",
      description: "Results come in pages of up to 250. Another key's job is not found.",
      answer: { ...ok, job: exampleDetail },
      refusals: ["not_found"]
    },
    (engine) =>
      (caller) =>
      ({ after, cursor, path, query }) =>
        Effect.map(engine.job(caller, path.jobId.toLowerCase(), resultFilter(query, after)), (found) =>
          reply(jobDetail(found, cursor))
        )
  ),
  forKey(
    HttpApiEndpoint.post("cancel", "/api/v1/template-messages/:jobId/cancel")
      .setPath(jobId)
      .addSuccess(ChangedJob, { status: 202 }),
    "messages:send",
    {
      summary: "Cancel what of a job was not sent",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      answer: { ...ok, job: canceling },
      refusals: ["not_found", "job_ended"]
    },
    (engine) =>
      (caller) =>
      ({ path }) =>
        Effect.map(engine.cancel(caller, path.jobId.toLowerCase()), (found) =>
          reply({ ...ok, job: job(found) })
        )
  )
]

export const admin = [
  forOperator(
    HttpApiEndpoint.get("adminJobs", "/admin/v1/jobs")
      .setUrlParams(Schema.Struct({ ...Filter.fields, ...byAccount }))
      .addSuccess(Jobs),
    {
      summary: "List an account's jobs",
      description: "Those of all its keys, newest first.",
      answer: { ...ok, jobs: [example], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "jobs list", description: "List an account's jobs." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        filter(query, after).pipe(
          Effect.flatMap((wanted) => admin.jobs.list(query.account_id, wanted)),
          Effect.map((found) => reply(jobs(found, cursor)))
        )
  ),
  forOperator(
    HttpApiEndpoint.get("adminJob", "/admin/v1/jobs/:id")
      .setPath(id)
      .setUrlParams(ResultFilter)
      .addSuccess(JobDetail),
    {
      summary: "Read any account's job",
      description: "With its result per recipient, in pages of up to 250.",
      answer: { ...ok, job: exampleDetail },
      refusals: ["not_found"],
      command: { name: "jobs show", description: "Show a job and its recipients." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.jobs.find(path.id, resultFilter(query, after)), (found) =>
          reply(jobDetail(found, cursor))
        )
  ),
  forOperator(
    HttpApiEndpoint.post("cancelJob", "/admin/v1/jobs/:id/cancel").setPath(id).addSuccess(ChangedJob),
    {
      summary: "Cancel any account's job",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      answer: { ...ok, job: canceling },
      refusals: ["not_found", "job_ended"],
      command: { name: "jobs cancel", description: "Cancel what of a job was not sent." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.jobs.cancel(path.id), (found) => reply({ ...ok, job: job(found) }))
  ),
  forOperator(
    HttpApiEndpoint.post("retryJob", "/admin/v1/jobs/:id/retry")
      .setPath(id)
      .setPayload(Retry)
      .addSuccess(RetriedJob),
    {
      summary: "Send a job's failed recipients again",
      description:
        "Chooses the recipients that match every member. `statuses` is by default `failed`; a recipient that is `unknown` is chosen only when it is named there, and may get the message twice. A failure that is permanent is chosen only by its code in `codes` or its phone in `phones`. With `dry_run` nothing changes: `retried` and `counts` tell how many it would be.",
      request: { statuses: ["failed"], dry_run: true },
      answer: { ...ok, job: example, retried: 0, counts: { failed: 0, unknown: 0 }, dry_run: true },
      refusals: ["not_found", "job_ended"],
      command: {
        name: "jobs retry",
        description:
          "Send to a job's failed recipients again: those who match every flag, without one those whose failure is not permanent. A permanent failure needs its code or phone. --statuses unknown names those who may have the message already: they may get it twice. --dry-run true only counts."
      }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.jobs.retry(path.id, retry(payload)), (found) => reply(retriedJob(found))),
    ({ admin }) =>
      ({ payload }) =>
        Effect.succeed(admin.jobs.retryFaults(payload))
  )
]
