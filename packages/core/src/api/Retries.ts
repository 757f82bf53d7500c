/** Retries of many jobs: counted, begun, followed and canceled (contract.md §12). */
import * as Schema from "effect/Schema"
import type { Readable } from "../adapter.ts"
import { Reference } from "../adapter.ts"
import type { Admin } from "../index.ts"
import { Job, RetryPlan, RetrySelection } from "../index.ts"
import { codec, computed, list, nullOr, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one, pageOf, replayed } from "./Operation.ts"
import { IdempotencyKey, id, OwnerKey, Paging, TimeText, timeOf, Uuid } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const FailureCode = Schema.String.annotations({
  jsonSchema: { minLength: 1, maxLength: RetrySelection.maximumCodeLength }
})

/** The recipients that are retried, as far as one job and many have them alike. */
export const selected = {
  statuses: optional(
    Schema.Array(Schema.Literal(...RetrySelection.statuses)).pipe(Schema.minItems(1), Schema.maxItems(2))
  ),
  codes: optional(Schema.Array(FailureCode).pipe(Schema.minItems(1), Schema.maxItems(50)))
}

const Jobs = Schema.Struct({
  job_id: optional(Uuid),
  account_id: optional(Uuid),
  session_id: optional(Uuid),
  template_id: optional(Schema.Int.pipe(Schema.between(1, Number.MAX_SAFE_INTEGER))),
  key: optional(OwnerKey),
  reference: optional(Reference.Reference),
  status: optional(Schema.Literal(...Job.statuses)),
  created_after: optional(TimeText),
  created_before: optional(TimeText),
  completed_after: optional(TimeText),
  completed_before: optional(TimeText)
})

const Filter = Schema.Struct({ ...Jobs.fields, ...selected })

const Request = Schema.Struct({ filter: Filter, dry_run: optional(Schema.Boolean) })

const filterOf = (given: Readable.Readable<typeof Jobs.Type>): RetryPlan.Filter => ({
  jobId: given.job_id,
  accountId: given.account_id,
  sessionId: given.session_id,
  templateId: given.template_id,
  publicKey: given.key,
  reference: given.reference,
  status: given.status,
  createdAfter: timeOf(given.created_after),
  createdBefore: timeOf(given.created_before),
  completedAfter: timeOf(given.completed_after),
  completedBefore: timeOf(given.completed_before)
})

const byCode = Schema.Array(
  Schema.Struct({ code: Wire.Text, status: Wire.RecipientStatus, recipients: Wire.Count })
)

const some = { jobs: Wire.Count, recipients: Wire.Count, job_id: Wire.Id }

/** How many are retried, how many are left, what it costs, and why it is nobody: of one job and of many. */
export const sums = struct({
  jobs: Wire.Count,
  recipients: computed(Wire.Count, RetryPlan.recipientsOf),
  counts: Schema.Struct({ failed: Wire.Count, unknown: Wire.Count }),
  codes: byCode,
  left: computed(
    Schema.Struct({ unknown: byCode, permanent: byCode, changed: Wire.Count }).annotations({
      description:
        "Who is not retried: `unknown` and `permanent` ones that nobody named, and who `changed` after it began, since an operator retried them, or a report came."
    }),
    ({ changed, permanent, unknown }: RetryPlan.Sums) => ({ unknown, permanent, changed })
  ),
  refused: list(struct({ reason: Schema.Literal(...RetryPlan.reasons), ...some })),
  waiting: list(struct({ limiter: Schema.Literal(...RetryPlan.limiters), ...some })),
  estimates: computed(
    Schema.Array(
      Schema.Struct({ currency: Wire.Text, total: Wire.NullableAmount, complete: Schema.Boolean })
    ).annotations({
      description: "By the prices of the acceptance, if each of them is delivered. One for each currency."
    }),
    ({ costs }: RetryPlan.Sums) =>
      costs.map(({ currency, isComplete, total }) => ({ currency, total, complete: isComplete }))
  ),
  why: computed(
    Wire.NullableText.annotations({
      description:
        "Why it is nobody, such as those whom another operator sent again at the same time; null where it is somebody, and while it goes on."
    }),
    RetryPlan.whyNobody
  )
})

const told = struct({
  job_id: nullOr(codec(Wire.Id, (found: string) => found)),
  account_id: nullOr(codec(Wire.Id, (found: string) => found)),
  session_id: nullOr(codec(Wire.Id, (found: string) => found)),
  template_id: Schema.NullOr(Wire.Count),
  key: Wire.NullableText,
  reference: Wire.NullableText,
  status: Schema.NullOr(Schema.Literal(...Job.statuses)),
  created_after: Wire.NullableTime,
  created_before: Wire.NullableTime,
  completed_after: Wire.NullableTime,
  completed_before: Wire.NullableTime,
  statuses: Schema.NullOr(Schema.Array(Schema.Literal(...RetrySelection.statuses))),
  codes: Schema.NullOr(Schema.Array(Wire.Text))
})

const filterTold = codec(told.schema, ({ filter, selection }: RetryPlan.Wanted, prefix) =>
  told.of(
    {
      jobId: filter.jobId ?? null,
      accountId: filter.accountId ?? null,
      sessionId: filter.sessionId ?? null,
      templateId: filter.templateId ?? null,
      key: filter.publicKey ?? null,
      reference: filter.reference ?? null,
      status: filter.status ?? null,
      createdAfter: filter.createdAfter ?? null,
      createdBefore: filter.createdBefore ?? null,
      completedAfter: filter.completedAfter ?? null,
      completedBefore: filter.completedBefore ?? null,
      statuses: selection.statuses ?? null,
      codes: selection.codes ?? null
    },
    prefix
  )
)

const retry = struct(
  {
    retry_id: computed(Wire.Id, ({ id }: RetryPlan.Plan) => id),
    status: Schema.Literal(...RetryPlan.statuses),
    operator: Wire.NullableText,
    filter: computed(filterTold.schema, (plan: RetryPlan.Plan, prefix) => filterTold.of(plan, prefix)),
    expected: computed(
      Schema.Struct({ jobs: Wire.Count, recipients: Wire.Count, is_exact: Schema.Boolean }).annotations({
        description: "What was counted when it began; `is_exact` is false where there were more."
      }),
      ({ expected: { isExact, jobs, recipients } }: RetryPlan.Plan) => ({
        jobs,
        recipients,
        is_exact: isExact
      })
    ),
    done: computed(
      sums.schema.annotations({ description: "What it has retried until now, and what it has left." }),
      (plan: RetryPlan.Plan, prefix) => ({
        ...sums.of(plan.sums, prefix),
        why: RetryPlan.whyNobodyOf(plan)
      })
    ),
    begun_at: Wire.Time,
    updated_at: Wire.Time,
    ended_at: Wire.NullableTime
  },
  "Retry"
)

const begun = struct({
  ok: Wire.isOk,
  dry_run: Schema.Boolean,
  retry: computed(
    Schema.NullOr(retry.schema).annotations({ description: "null of a dry run." }),
    ({ plan }: Admin.BegunRetry, prefix) => (plan === null ? null : retry.of(plan, prefix))
  ),
  is_exact: Schema.Boolean.annotations({
    description: "false where there are more jobs than were counted; a retry takes them, too."
  }),
  counted: computed(sums.schema, (found: Admin.BegunRetry, prefix) => sums.of(found.sums, prefix))
})

const doneExample: typeof sums.schema.Type = {
  jobs: 2,
  recipients: 31,
  counts: { failed: 31, unknown: 0 },
  codes: [{ code: "rate_limited", status: "failed", recipients: 31 }],
  left: {
    unknown: [{ code: "outcome_unknown", status: "unknown", recipients: 3 }],
    permanent: [{ code: "not_on_platform", status: "failed", recipients: 12 }],
    changed: 0
  },
  refused: [{ reason: "content_expired", jobs: 1, recipients: 4, job_id: Examples.ids.job }],
  waiting: [],
  estimates: [{ currency: "EUR", total: "0.7750", complete: true }],
  why: null
}

export const nobodyExample: typeof sums.schema.Type = {
  ...doneExample,
  jobs: 0,
  recipients: 0,
  counts: { failed: 0, unknown: 0 },
  codes: [],
  left: { ...doneExample.left, unknown: [] },
  refused: [],
  estimates: [],
  why: "12 are permanent: they go again only where `codes` names their code."
}

const example: typeof retry.schema.Type = {
  retry_id: Examples.ids.retry,
  status: "completed",
  operator: "ana",
  filter: {
    job_id: null,
    account_id: null,
    session_id: null,
    template_id: null,
    key: null,
    reference: "spring",
    status: null,
    created_after: null,
    created_before: null,
    completed_after: null,
    completed_before: null,
    statuses: null,
    codes: null
  },
  expected: { jobs: 2, recipients: 31, is_exact: true },
  done: doneExample,
  begun_at: Examples.at,
  updated_at: Examples.later,
  ended_at: Examples.later
}

export const admin = [
  forOperator(
    Endpoint.post("retryJobs", "/admin/v1/jobs/retry")
      .setHeaders(Schema.Struct({ "idempotency-key": optional(IdempotencyKey) }))
      .setPayload(Request),
    replayed(begun, {
      ...Wire.ok,
      dry_run: true,
      retry: null,
      is_exact: true,
      counted: doneExample
    }),
    {
      summary: "Send the failed recipients of many jobs again",
      description:
        "Takes the jobs with failures that pass the filter, which has to name something of them, or the one that `job_id` names, and of these the recipients that the retry of one job takes: by default those who failed, and not permanently; `unknown` ones only where `statuses` names them, permanent failures only by their code in `codes`. With `dry_run` nothing changes, and `counted` tells who it would be, and `why` where it is nobody. Otherwise a retry begins that workers carry out, job by job; it goes on after a crash and takes each recipient once: who fails anew after it began is not taken again. What a job is refused for is told in `refused` and holds up no other; `waiting` tells of whom something was retried that waits for its session or template. `GET /admin/v1/retries/{id}` tells how far it is. With an optional `Idempotency-Key` the same request answers the same retry.",
      request: { filter: { reference: "spring" }, dry_run: true },
      refusals: ["not_found", "idempotency_conflict"],
      isIdempotent: true,
      role: "support",
      command: {
        name: "retries begin",
        description:
          "Send to the failed recipients of all jobs that match the flags again: of those whose failure is not permanent, unless --codes names it. --statuses unknown names those who may have the message already: they may get it twice. --dry-run true only counts, by code, with an estimate."
      }
    },
    ({ admin }, { idempotencyKey, payload: { dry_run: dryRun, filter } }) =>
      admin.retries.begin({
        filter: filterOf(filter),
        selection: { codes: filter.codes, statuses: filter.statuses },
        dryRun,
        idempotencyKey
      }),
    ({ admin }, { payload: { filter = {} } }) =>
      admin.retries.faults({
        filter: filterOf(filter),
        selection: { codes: filter.codes, statuses: filter.statuses }
      })
  ),
  forOperator(
    Endpoint.get("retries", "/admin/v1/retries").setUrlParams(Paging),
    pageOf("retries", retry, example),
    {
      summary: "List the retries of many jobs",
      description: "Newest first, with how far each is.",
      command: { name: "retries list", description: "List the retries of many jobs, with how far each is." }
    },
    ({ admin }, { page }) => admin.retries.list(page)
  ),
  forOperator(
    Endpoint.get("retry", "/admin/v1/retries/:id").setPath(id),
    one("retry", retry, example),
    {
      summary: "Read how far a retry of many jobs is",
      description: "`done` grows until its `status` is `completed` or `canceled`.",
      command: { name: "retries show", description: "Show how far a retry of many jobs is." }
    },
    ({ admin }, { path }) => admin.retries.find(path.id)
  ),
  forOperator(
    Endpoint.post("cancelRetry", "/admin/v1/retries/:id/cancel").setPath(id),
    one("retry", retry, { ...example, status: "canceled" }),
    {
      summary: "Cancel a retry of many jobs",
      description:
        "What it has retried is sent: cancel those jobs. A retry that has ended is answered as it is.",
      role: "support",
      command: {
        name: "retries cancel",
        description: "End a retry of many jobs. What it has retried is sent."
      }
    },
    ({ admin }, { path }) => admin.retries.cancel(path.id)
  )
]
