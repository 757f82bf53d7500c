/** Jobs: read and canceled with an API key (contract.md §A2.5 to §2.7), and by operators (contract.md §8). */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ClientTexts, Pace, Reference, StopWhen } from "../adapter.ts"
import * as Address from "../domain/Address.ts"
import * as End from "../domain/job/End.ts"
import * as When from "../domain/job/When.ts"
import * as Either from "../effect/Either.ts"
import type { Engine, Page } from "../index.ts"
import {
  Admin,
  Job as Domain,
  Errors,
  EventData,
  Fault,
  Ids,
  Priority,
  Recipient,
  Requests
} from "../index.ts"
import * as Times from "../schema/Times.ts"
import { computed, list, nullOr, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { type Answer, answer, forKey, forOperator, one, pageOf } from "./Operation.ts"
import {
  checkPeriods,
  id,
  limit,
  OwnerKey,
  paging,
  TimeText,
  timeOf,
  Uuid,
  WholeNumber,
  word
} from "./Parameters.ts"
import * as Retries from "./Retries.ts"
import * as Texts from "./Texts.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

/** The path that the server is asked. */
export const links = (jobId: string, prefix: string) => ({
  status: `${prefix}/api/v1/template-messages/${jobId}`
})

const templateIdOf = ({ content }: Domain.Job): number =>
  content.kind === "template" ? content.templateId : 0

const timingOf = ({ timing }: Domain.Job): When.Timing | null => timing

/** When a job may be sent, as it was accepted or changed last. */
const timed = {
  send_at: computed(
    Schema.NullOr(Times.Moment).annotations({ description: "null: it was not asked for at a time." }),
    (job: Domain.Job) => When.told(timingOf(job)?.sendAt ?? null)
  ),
  expires_at: computed(Schema.NullOr(Times.Moment), (job: Domain.Job) =>
    When.told(timingOf(job)?.expiresAt ?? null)
  ),
  hours: computed(Schema.NullOr(Times.Hours), (job: Domain.Job) =>
    Times.toldHours(timingOf(job)?.hours ?? null)
  ),
  starts_at: computed(
    Wire.Time.schema.annotations({ description: "When the first of its recipients is due." }),
    (job: Domain.Job, prefix) => Wire.Time.of(timingOf(job)?.startsAt ?? job.createdAt, prefix)
  )
}

const listed = {
  job_id: computed(Wire.Id, ({ id }: Domain.Job) => id),
  status: Schema.Literal(...Domain.statuses),
  template_id: computed(Wire.Count, templateIdOf),
  ...ClientTexts.job.told,
  priority: Priority.Priority.annotations({ description: "What goes first within its session." }),
  pace: computed(Schema.NullOr(Pace.Pace), Pace.told),
  stop_when: computed(Schema.NullOr(StopWhen.StopWhen), StopWhen.told),
  ...timed,
  recipients: Wire.Count,
  counts: EventData.Counts,
  pause_reason: Wire.NullableText.annotations({ description: "Why it is paused; null unless it is." }),
  currency: Wire.Text,
  estimated_cost: Wire.NullableAmount,
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

/** The fields of a job that an operator sees in addition to those that the job's API key sees. */
const ofOperator = {
  account_id: Wire.Id,
  account: computed(Wire.NullableText, ({ accountName }: Pick<Admin.ToldJob, "accountName">) => accountName),
  session_id: Wire.Id,
  session: computed(Wire.NullableText, ({ sessionName }: Pick<Admin.ToldJob, "sessionName">) => sessionName),
  key: computed(Wire.Text, ({ publicKey }: Domain.Job) => publicKey),
  idempotency_key: Wire.NullableText,
  request_id: Wire.NullableText.annotations({ description: "The `X-Request-Id` of the send." }),
  failures: Schema.Array(
    Schema.Struct({ code: Wire.Text, status: Wire.RecipientStatus, recipients: Wire.Count })
  ).annotations({
    description: "Why recipients failed, were skipped or are unknown, most of them first."
  })
}

const toldJob = struct({ ...listed, ...ofOperator }, "ToldJob")

const referenceSum = struct(
  {
    account_id: Wire.Id,
    reference: Wire.Text,
    jobs: Wire.Count,
    is_exact: Schema.Boolean.annotations({
      description: "false where there are more jobs than are summed: these are the newest."
    }),
    recipients: Wire.Count,
    counts: EventData.Counts,
    created_at: Wire.Time,
    last_at: Wire.Time,
    completed_at: Wire.NullableTime
  },
  "ReferenceSum"
)

const result = struct(
  {
    ...Texts.recipient,
    ...ClientTexts.recipient.told,
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
      "`schedule` or `hours` `until` the first of those is due who were not attempted, `pace`, `retry`, `client` while that holds the job (`pause`) or its failures do (`stop_when`), `session`, `template`, `content` when that was damaged in the store and cannot be read, `platform` while that does not answer (`until` it is asked again), `restore` while the store was restored from a backup and nothing is sent, or `worker` when no process that sends was alive for 15 seconds."
  }),
  until: Wire.NullableTime
})

const detailedMembers = {
  ...listed,
  template: struct({ template_id: Wire.Count, name: Wire.Text, language: Wire.Text }),
  actual_cost: Wire.NullableAmount,
  waiting_for: nullOr(waitingFor),
  ends_at: Wire.describedTime(
    "When the last of its recipients is expected to go, by its times, its hours, and the pace of its session and its own; null where nothing limits it, and once it has left dispatch. Other jobs and retries may make it later."
  ),
  limited_by: Schema.NullOr(Schema.Literal(...End.limiters)).annotations({
    description: "What `ends_at` comes from; null with it."
  }),
  expected_completion_at: computed(
    Wire.NullableTime.schema.annotations({ description: "The same as `ends_at`." }),
    ({ endsAt }: End.End, prefix) => Wire.NullableTime.of(endsAt, prefix)
  ),
  results: list(result),
  next_cursor: Wire.NextCursor
}

const detailed = struct(detailedMembers)
const toldDetailed = struct({ ...detailedMembers, ...ofOperator })

const JobDetail = Schema.Struct({ ok: Wire.Ok, job: detailed.schema }).annotations({
  identifier: "JobDetail"
})
const ToldJobDetail = Schema.Struct({ ok: Wire.Ok, job: toldDetailed.schema }).annotations({
  identifier: "ToldJobDetail"
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

const created = ["created_after", "created_before"] as const

/** Which jobs are on the page of a list. */
const filter = (
  { created_after, created_before, reference, status }: Omit<typeof Filter.Type, "cursor" | "limit">,
  page: Page.Page
): Engine.JobQuery => ({
  status,
  reference,
  createdAfter: timeOf(created_after),
  createdBefore: timeOf(created_before),
  page
})

const AdminFields = {
  status: Filter.fields.status,
  reference: Filter.fields.reference,
  created_after: Filter.fields.created_after,
  created_before: Filter.fields.created_before,
  account_id: optional(Uuid),
  session_id: optional(Uuid),
  template_id: optional(WholeNumber),
  key: optional(OwnerKey),
  has: optional(
    Schema.Literal("failed", "unknown", "waiting").annotations({
      description:
        "Only jobs of which some recipients are so; `waiting` are those that are queued or in flight."
    })
  ),
  stuck: optional(
    Schema.Literal("true").annotations({
      description:
        "Only jobs of which nothing became for ten minutes, though something of them is left: paused ones, those of whose session nothing was sent either, and those whose platform is out for as long."
    })
  ),
  completed_after: optional(TimeText),
  completed_before: optional(TimeText)
}

const CountedFilter = Schema.Struct(AdminFields)

const AdminFilter = Schema.Struct({
  ...paging,
  ...AdminFields,
  code: optional(
    word(
      "Only jobs of which some recipients failed with this code or are unknown for it, such as `recipient_not_on_platform`."
    )
  ),
  group: optional(
    Schema.Literal("reference").annotations({
      description:
        "The jobs of each account and reference together, by the newest of them, of which the times are. With `account_id`, `reference`, `created_after` and `created_before` alone."
    })
  )
})

const ungrouped = [
  "code",
  "completed_after",
  "completed_before",
  "has",
  "key",
  "session_id",
  "status",
  "stuck"
] as const

/** The same of an operator's list. */
const adminFilter = (
  query: Omit<typeof AdminFilter.Type, "cursor" | "limit">,
  page: Page.Page
): Either.Either<Admin.AdminJobQuery, Errors.InvalidRequest> => {
  const alone =
    query.group === undefined
      ? []
      : [...ungrouped, "template_id" as const].filter((name) => query[name] !== undefined)
  if (alone.length > 0)
    return Either.left(
      new Errors.InvalidRequest({
        faults: alone.map((name) =>
          Fault.make(
            ["query", name],
            "invalid_value",
            `\`${name}\` cannot be asked for together with \`group\`.`
          )
        )
      })
    )
  return Either.map(checkPeriods(query, created, ["completed_after", "completed_before"]), () => ({
    ...filter(query, page),
    accountId: query.account_id,
    sessionId: query.session_id,
    publicKey: query.key,
    templateId: query.template_id,
    has: query.has,
    isStuck: query.stuck === "true",
    completedAfter: timeOf(query.completed_after),
    completedBefore: timeOf(query.completed_before),
    code: query.code
  }))
}

const mostResults = 250
const mostPeople = 1000

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

const PhoneOrUserId = Schema.String.annotations({ description: "A phone, or a user id such as US.1349." })

const Retry = Schema.Struct({
  ...Retries.selected,
  phones: optional(Schema.Array(PhoneOrUserId).pipe(Schema.minItems(1), Schema.maxItems(250))),
  dry_run: optional(Schema.Boolean)
})

const example = Examples.job

const detailOf = (
  { job, results, template, ...found }: Engine.JobDetail,
  cursor: (next: number | null) => string | null
) => ({
  ...job,
  ...found,
  template: { ...template, templateId: templateIdOf(job) },
  results: results.items.map((each) => {
    const { phone, userId } = Address.personOf(each.address)
    return { ...each, phone, userId, messageId: Ids.messageId(job.id, each.index) }
  }),
  nextCursor: cursor(results.next)
})

/** A job with a page of its results. */
const detail: Answer<typeof JobDetail, Engine.JobDetail> = {
  schema: JobDetail,
  of: (found, { cursor, prefix }) => ({ ...Wire.ok, job: detailed.of(detailOf(found, cursor), prefix) }),
  example: {
    ...Wire.ok,
    job: {
      ...example,
      template: {
        template_id: Examples.template.template_id,
        name: Examples.template.name,
        language: Examples.template.language
      },
      actual_cost: "0.0250",
      waiting_for: null,
      ends_at: null,
      limited_by: null,
      expected_completion_at: null,
      results: [
        {
          phone: Examples.phone,
          user_id: null,
          ...ClientTexts.recipient.examples,
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

const toldExample = {
  account_id: Examples.ids.account,
  account: "My shop",
  session_id: Examples.ids.session,
  session: Examples.session.name,
  key: Examples.publicKey,
  idempotency_key: "order-A-17",
  request_id: Examples.ids.request,
  failures: []
} as const

const toldDetail: Answer<typeof ToldJobDetail, Admin.ToldDetail> = {
  schema: ToldJobDetail,
  of: ({ facts, ...found }, { cursor, prefix }) => ({
    ...Wire.ok,
    job: toldDetailed.of({ ...detailOf(found, cursor), ...facts }, prefix)
  }),
  example: { ...Wire.ok, job: { ...detail.example.job, ...toldExample } }
}

/** Jobs, or those of each reference together. */
type Found =
  | { readonly jobs: Admin.Looked<Admin.ToldJob> }
  | { readonly references: Page.Paged<Admin.ReferenceSum> }

const looked_at = Schema.NullOr(Wire.Count).annotations({
  description:
    "A number when the page is empty though there are more jobs: so many were looked at, and none of them is asked for. Go on with `next_cursor`."
})

const FoundJobs = Schema.Union(
  Schema.Struct({ ok: Wire.Ok, jobs: Schema.Array(toldJob.schema), next_cursor: Wire.NextCursor, looked_at }),
  Schema.Struct({
    ok: Wire.Ok,
    references: Schema.Array(referenceSum.schema),
    next_cursor: Wire.NextCursor,
    looked_at
  })
)

const lookedAt = ({ items, lookedAt = Admin.mostLookedAt, next }: Admin.Looked<unknown>) =>
  items.length === 0 && next !== null ? lookedAt : null

const found: Answer<typeof FoundJobs, Found> = {
  schema: FoundJobs,
  of: (found, { cursor, prefix }) =>
    "jobs" in found
      ? {
          ...Wire.ok,
          jobs: found.jobs.items.map((each) => toldJob.of(each, prefix)),
          next_cursor: cursor(found.jobs.next),
          looked_at: lookedAt(found.jobs)
        }
      : {
          ...Wire.ok,
          references: found.references.items.map((each) => referenceSum.of(each, prefix)),
          next_cursor: cursor(found.references.next),
          looked_at: lookedAt(found.references)
        },
  example: { ...Wire.ok, jobs: [{ ...example, ...toldExample }], next_cursor: null, looked_at: null }
}

const schedule = struct(
  {
    at: Wire.Time,
    is_exact: Schema.Boolean.annotations({
      description: "false where more jobs wait than were read: these are the oldest."
    }),
    hours: list(
      struct({
        at: Wire.Time,
        recipients: Wire.Count,
        countries: list(
          struct({
            country: Wire.NullableText.annotations({
              description:
                "Two letters, such as BR; null where the number's first digits do not tell one country."
            }),
            calling_code: Wire.NullableText.annotations({ description: "null of people without a number." }),
            recipients: Wire.Count
          })
        )
      })
    )
  },
  "Schedule"
)

const overlap = struct(
  {
    recipients: computed(Wire.Count, ({ people }: Admin.Overlap) => people.length),
    is_exact: Schema.Boolean.annotations({
      description:
        "false where a campaign has more recipients than were read, which are of its newest jobs; where one of them was erased; and where the account is older than its results are kept."
    }),
    people: computed(
      Schema.Array(
        Schema.Struct({
          ...Texts.recipient,
          message_id: Wire.Id,
          status: Wire.RecipientStatus,
          other_message_id: Wire.Id,
          other_status: Wire.RecipientStatus
        })
      ).annotations({
        description: "At most the first thousand of them, with the newest message of each campaign."
      }),
      ({ people }: Admin.Overlap) =>
        people.slice(0, mostPeople).map(({ first, second }) => {
          const { phone, userId } = Address.personOf(first.address)
          return {
            phone,
            user_id: userId,
            message_id: Ids.messageId(first.jobId, first.index),
            status: first.status,
            other_message_id: Ids.messageId(second.jobId, second.index),
            other_status: second.status
          }
        })
    )
  },
  "Overlap"
)

const held = one("job", job, { ...example, status: "paused", completed_at: null })
const goingOn = one("job", job, { ...example, status: "processing", completed_at: null })

const holdText =
  "Nobody of it is attempted until it is resumed (`pause_reason`: `client`), whatever else ends meanwhile. What is in flight finishes. A repetition changes nothing."
const resumeText =
  "It goes on where it was paused by its client. What else keeps it, such as its session or its template, keeps it on."

const changed = one("job", job, { ...example, status: "queued", completed_at: null })
const changeText =
  "Of those whom nobody attempted yet; what is absent stays, and null takes an expiry or hours away. No quota is counted again."
const changeRequest = { send_at: "2026-12-24T08:00:00Z", expires_at: "2026-12-24T12:00:00Z" }

const canceling = one("job", job, { ...example, status: "canceling", completed_at: null })

const retried = struct({
  ok: Wire.isOk,
  job,
  retried: computed(Wire.Count, ({ counts }: Admin.Retried) => counts.failed + counts.unknown),
  counts: Schema.Struct({ failed: Wire.Count, unknown: Wire.Count }),
  dry_run: Schema.Boolean,
  counted: part(Retries.sums, ({ sums }: Admin.Retried) => sums)
})

const jobId = Schema.Struct({ jobId: Uuid })

export const versioned = [
  forKey(
    Endpoint.get("jobs", "/api/v1/template-messages").setUrlParams(Filter),
    "jobs:read",
    pageOf("jobs", job, example),
    {
      summary: "List this key's jobs, newest first",
      description: "Jobs of other keys are not told, not even of the same session."
    },
    (engine, caller, { page, query }) =>
      Effect.zipRight(checkPeriods(query, created), engine.jobs(caller, filter(query, page)))
  ),
  forKey(
    Endpoint.get("job", "/api/v1/template-messages/:jobId").setPath(jobId).setUrlParams(ResultFilter),
    "jobs:read",
    detail,
    {
      summary: "Read a job and its result per recipient",
      description: "Results come in pages of up to 250. Another key's job is not found."
    },
    (engine, caller, { page, path, query }) => engine.job(caller, path.jobId, resultFilter(query, page))
  ),
  forKey(
    Endpoint.patch("change", "/api/v1/template-messages/:jobId")
      .setPath(jobId)
      .setPayload(Requests.TimesChange),
    "messages:send",
    changed,
    {
      summary: "Change when a job is sent",
      description: changeText,
      request: changeRequest,
      refusals: ["job_ended"]
    },
    (engine, caller, { path, payload }) => engine.change(caller, path.jobId, payload)
  ),
  forKey(
    Endpoint.post("pause", "/api/v1/template-messages/:jobId/pause").setPath(jobId),
    "messages:send",
    held,
    { summary: "Hold a job", description: holdText, refusals: ["job_ended"] },
    (engine, caller, { path }) => engine.pause(caller, path.jobId)
  ),
  forKey(
    Endpoint.post("resume", "/api/v1/template-messages/:jobId/resume").setPath(jobId),
    "messages:send",
    goingOn,
    { summary: "Let a held job go on", description: resumeText, refusals: ["job_ended"] },
    (engine, caller, { path }) => engine.resume(caller, path.jobId)
  ),
  forKey(
    Endpoint.post("cancel", "/api/v1/template-messages/:jobId/cancel").setPath(jobId),
    "messages:send",
    canceling,
    {
      summary: "Cancel what of a job was not sent",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      status: 202,
      refusals: ["job_ended"]
    },
    (engine, caller, { path }) => engine.cancel(caller, path.jobId)
  )
]

export const admin = [
  forOperator(
    Endpoint.get("adminJobs", "/admin/v1/jobs").setUrlParams(AdminFilter),
    found,
    {
      summary: "List jobs of all accounts",
      description:
        "Newest first, by every filter together. With `group=reference` the answer has `references` in the place of `jobs`, each with the sums of its jobs.",
      refusals: ["not_found"],
      command: {
        name: "jobs list",
        description: "List jobs of all accounts, by what became of them.",
        columns: ["id", "status", "account", "recipients", "counts.failed", "failures", "reference"]
      }
    },
    ({ admin }, { page, query }) =>
      Effect.flatMap(adminFilter(query, page), (wanted) =>
        query.group === undefined
          ? Effect.map(admin.jobs.list(wanted), (jobs): Found => ({ jobs }))
          : Effect.map(admin.jobs.references(wanted), (references): Found => ({ references }))
      )
  ),
  forOperator(
    Endpoint.get("countJobs", "/admin/v1/counts/jobs").setUrlParams(CountedFilter),
    answer(Wire.Counted, { ...Wire.ok, count: 3, is_exact: true }),
    {
      summary: "Count jobs of all accounts",
      description: "As many as one look at the newest thousands tells, by the filters of the list.",
      refusals: ["not_found"],
      command: { name: "jobs count", description: "Count jobs of all accounts, by the same filters." }
    },
    ({ admin }, { query }) => Effect.flatMap(adminFilter(query, { limit: 1, after: null }), admin.jobs.count)
  ),
  forOperator(
    Endpoint.get("schedule", "/admin/v1/schedule").setUrlParams(
      Schema.Struct({ reference: optional(Reference.Reference) })
    ),
    one("schedule", schedule, {
      at: Examples.at,
      is_exact: true,
      hours: [
        {
          at: Examples.later,
          recipients: 120,
          countries: [{ country: "BR", calling_code: "55", recipients: 120 }]
        }
      ]
    }),
    {
      summary: "Count who starts when, by hour and country",
      description:
        "Recipients who wait for their time, or for hours in which they may go: how many are due in which hour, and in which countries, the soonest hour first. Hours without anybody are left out. What is paused starts at no time, and is not counted.",
      command: {
        name: "jobs schedule",
        description: "Count who starts in which hour, and in which countries.",
        columns: ["at", "recipients", "countries"]
      }
    },
    ({ admin }, { query }) => admin.jobs.schedule(query)
  ),
  forOperator(
    Endpoint.get("overlap", "/admin/v1/accounts/:id/overlap")
      .setPath(id)
      .setUrlParams(Schema.Struct({ reference: Reference.Reference, other: Reference.Reference })),
    one("overlap", overlap, {
      recipients: 1,
      is_exact: true,
      people: [
        {
          phone: Examples.phone,
          user_id: null,
          message_id: Examples.ids.message,
          status: "read",
          other_message_id: "01995d4e-8f00-7c3a-b6d2-4e5f6a7b8002",
          other_status: "delivered"
        }
      ]
    }),
    {
      summary: "Tell who got both of two campaigns",
      description:
        "The people of whom the platform accepted a message of jobs with `reference` and one of jobs with `other`, by any name that both have. Of each campaign the newest 50,000 recipients are read.",
      refusals: ["not_found"],
      command: {
        name: "jobs overlap",
        description: "Tell who got both of two campaigns.",
        columns: ["phone", "user_id", "status", "other_status"]
      }
    },
    ({ admin }, { path, query }) => admin.jobs.overlap({ accountId: path.id, ...query })
  ),
  forOperator(
    Endpoint.get("adminJob", "/admin/v1/jobs/:id").setPath(id).setUrlParams(ResultFilter),
    toldDetail,
    {
      summary: "Read any account's job",
      description: "With its result per recipient, in pages of up to 250.",
      command: {
        name: "jobs show",
        description: "Show a job and its recipients.",
        columns: ["phone", "status", "error.code", "attempts", "sent_at", "delivered_at"]
      }
    },
    ({ admin }, { page, path, query }) => admin.jobs.find(path.id, resultFilter(query, page))
  ),
  forOperator(
    Endpoint.post("cancelJob", "/admin/v1/jobs/:id/cancel").setPath(id),
    canceling,
    {
      summary: "Cancel any account's job",
      description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
      refusals: ["job_ended"],
      command: { name: "jobs cancel", description: "Cancel what of a job was not sent." },
      role: "support"
    },
    ({ admin }, { path }) => admin.jobs.cancel(path.id)
  ),
  forOperator(
    Endpoint.patch("changeJob", "/admin/v1/jobs/:id").setPath(id).setPayload(Requests.TimesChange),
    changed,
    {
      summary: "Change when any account's job is sent",
      description: changeText,
      request: changeRequest,
      refusals: ["job_ended"],
      command: { name: "jobs change", description: "Change when a job is sent, expires, or in which hours." }
    },
    ({ admin }, { path, payload }) => admin.jobs.change(path.id, payload)
  ),
  forOperator(
    Endpoint.post("pauseJob", "/admin/v1/jobs/:id/pause").setPath(id),
    held,
    {
      summary: "Hold any account's job",
      description: holdText,
      refusals: ["job_ended"],
      command: { name: "jobs pause", description: "Hold a job until it is resumed." },
      role: "support"
    },
    ({ admin }, { path }) => admin.jobs.pause(path.id)
  ),
  forOperator(
    Endpoint.post("resumeJob", "/admin/v1/jobs/:id/resume").setPath(id),
    goingOn,
    {
      summary: "Let any account's held job go on",
      description: resumeText,
      refusals: ["job_ended"],
      command: { name: "jobs resume", description: "Let a job go on that was paused by hand." },
      role: "support"
    },
    ({ admin }, { path }) => admin.jobs.resume(path.id)
  ),
  forOperator(
    Endpoint.post("retryJob", "/admin/v1/jobs/:id/retry").setPath(id).setPayload(Retry),
    answer(retried, {
      ...Wire.ok,
      job: example,
      retried: 0,
      counts: { failed: 0, unknown: 0 },
      dry_run: true,
      counted: Retries.nobodyExample
    }),
    {
      summary: "Send a job's failed recipients again",
      description:
        "Chooses the recipients that match every member. `statuses` is by default `failed`; a recipient that is `unknown` is chosen only when it is named there, and may get the message twice. A failure that is permanent is chosen only by its code in `codes` or its phone or user id in `phones`. With `dry_run` nothing changes: `retried` and `counts` tell how many it would be. `counted` tells who by their codes, who is left and what it costs, and `why` where it is nobody.",
      request: { statuses: ["failed"], dry_run: true },
      refusals: ["job_ended", "content_expired"],
      role: "support",
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
