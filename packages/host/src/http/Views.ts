/** How domain values look on the wire. */
import type {
  Account,
  Admin,
  ApiKey,
  Audit,
  Consent,
  Engine,
  Estimates,
  Fault,
  Job,
  Operator,
  RateCard,
  Readiness,
  Secrets,
  Unattributed,
  Webhook
} from "@sendwright/core"
import { Errors, Fault as Faults, Ids, Instant, type Page, Session, Template } from "@sendwright/core"
import * as Either from "effect/Either"
import type * as Schemas from "../api/Schemas.ts"

type View<S extends { readonly Type: unknown }> = S["Type"]

const time = Instant.format
const timeOrNull = Instant.formatOrNull

/** The cursor of a list's next page, from its position. */
type Cursor = (next: number | null) => string | null

export const connection = (
  { account, key, session }: Engine.Caller,
  recipients: number
): View<typeof Schemas.Connection> => ({
  ok: true,
  authenticated: true,
  connected: true,
  session: {
    id: session.id,
    name: session.name,
    provider: session.provider,
    state: session.state,
    connected_since: timeOrNull(session.connectedSince),
    unavailable_since: timeOrNull(session.outage?.since ?? null)
  },
  permissions: key.permissions,
  limits: {
    requests_per_minute: account.plan.requests_per_minute,
    minimum_wait_ms: account.plan.minimum_wait_ms,
    recipients_per_request: recipients
  }
})

export const templates = (
  page: Page.Paged<Template.Template>,
  cursor: Cursor
): View<typeof Schemas.Templates> => ({
  ok: true,
  templates: page.items.map(Template.toWire),
  next_cursor: cursor(page.next)
})

const importResult = (
  result: Admin.ImportResult,
  index: number
): View<typeof Schemas.ImportedTemplates>["results"][number] => {
  if (result._tag === "Refused") {
    const { faults, language, name } = result
    return { index, name, language, status: "refused", errors: faults.map(fault) }
  }
  const { language, name, sendable, templateId, unsendableReason } = result.template
  return {
    index,
    name,
    language,
    status: "imported",
    template_id: templateId,
    sendable,
    unsendable_reason: unsendableReason
  }
}

export const importedTemplates = ({
  results,
  templates
}: Admin.Imported): View<typeof Schemas.ImportedTemplates> => ({
  ok: true,
  imported: templates.length,
  templates: templates.map(Template.toWire),
  results: results.map(importResult)
})

/** Those that were refused are told as skipped, too. */
export const syncedTemplates = (imported: Admin.Imported): View<typeof Schemas.SyncedTemplates> => ({
  ...importedTemplates(imported),
  skipped: imported.results.flatMap((result) =>
    result._tag === "Refused"
      ? [
          {
            name: result.name ?? "",
            language: result.language ?? "",
            reason: result.faults.map(({ message }) => message).join(" ")
          }
        ]
      : []
  )
})

export const consentRecord = (record: Consent.ConsentRecord) => ({
  consent_id: record.id,
  phone: record.phone,
  user_id: record.userId,
  purpose: record.purpose,
  status: record.status,
  source: record.source,
  proof: record.proof,
  occurred_at: time(record.occurredAt),
  recorded_at: time(record.recordedAt)
})

export const unattributed = (found: Unattributed.Unattributed) => ({
  id: found.id,
  session_id: found.sessionId,
  kind: found.kind,
  message_id: found.messageId,
  text: found.text,
  occurred_at: time(found.occurredAt),
  recorded_at: time(found.recordedAt)
})

export const verdictStatus = (verdict: Consent.Verdict) =>
  (({ Granted: "granted", Revoked: "revoked", Missing: "missing" }) as const)[verdict._tag]

const explanation = (each: Estimates.Explanation) => ({
  phone: each.phone,
  external_id: each.externalId,
  variables: each.variables,
  rendered: each.rendered,
  market: each.market,
  unit_price: each.unitPrice,
  consent: {
    status: verdictStatus(each.consent),
    record: each.consent._tag === "Missing" ? null : consentRecord(each.consent.record)
  }
})

export const estimate = (found: Estimates.Estimate): View<typeof Schemas.Estimate> => ({
  ok: true,
  estimate: {
    binding: false,
    currency: found.currency,
    total: found.cost.total,
    complete: found.cost.complete,
    recipients: found.recipients,
    billable_recipients: found.cost.billableRecipients,
    rate_card:
      found.rateCard === null
        ? null
        : { id: found.rateCard.id, effective_from: time(found.rateCard.effectiveFrom) },
    breakdown: found.cost.breakdown.map(({ category, market, recipients, subtotal, unitPrice }) => ({
      market,
      category,
      recipients,
      unit_price: unitPrice,
      subtotal
    })),
    unpriced: found.cost.unpriced,
    without_consent: found.withoutConsent,
    ...(found.explanations === null ? {} : { recipients_explained: found.explanations.map(explanation) })
  }
})

const links = (jobId: string) => ({ status: `/api/v1/template-messages/${jobId}` })

export const acknowledgement = ({
  jobId,
  recipients
}: Engine.Acknowledgement): View<typeof Schemas.Acknowledgement> => ({
  ok: true,
  job_id: jobId,
  status: "queued",
  recipients,
  links: links(jobId)
})

export const job = (found: Job.Job): View<typeof Schemas.ListedJob> => ({
  job_id: found.id,
  status: found.status,
  template_id: found.content.kind === "template" ? found.content.templateId : 0,
  reference: found.reference,
  recipients: found.recipients,
  counts: found.counts,
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt),
  completed_at: timeOrNull(found.completedAt),
  links: links(found.id)
})

export const jobs = (page: Page.Paged<Job.Job>, cursor: Cursor): View<typeof Schemas.Jobs> => ({
  ok: true,
  jobs: page.items.map(job),
  next_cursor: cursor(page.next)
})

const result =
  (jobId: string) =>
  (each: Job.RecipientResult): View<typeof Schemas.Result> => ({
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

export const jobDetail = (found: Engine.JobDetail, cursor: Cursor): View<typeof Schemas.JobDetail> => {
  const { content } = found.job
  const named = content.kind === "template" ? content.template : { name: "", language: "" }
  return {
    ok: true,
    job: {
      ...job(found.job),
      template: {
        template_id: content.kind === "template" ? content.templateId : 0,
        name: named.name,
        language: named.language
      },
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

export const directMessage = ({ job, recipient }: Engine.Message): View<typeof Schemas.DirectMessage> => ({
  ok: true,
  message: {
    messageId: Ids.messageId(job.id, recipient.index),
    to: recipient.phone,
    status: recipient.status,
    outcome: recipient.status === "unknown" ? "unknown" : null,
    error: recipient.failure,
    reference: job.reference,
    createdAt: time(job.createdAt),
    updatedAt: time(recipient.updatedAt),
    sentAt: timeOrNull(recipient.sentAt),
    deliveredAt: timeOrNull(recipient.deliveredAt),
    readAt: timeOrNull(recipient.readAt)
  }
})

export const direct = (sent: Engine.DirectAcknowledgement): View<typeof Schemas.DirectAcknowledgement> => ({
  ok: true,
  messageId: sent.messageId,
  to: sent.to,
  status: sent.status,
  createdAt: time(sent.createdAt)
})

// The admin API ----------------------------------------------------------------------------------------------------

export const account = (found: Account.Account) => ({
  id: found.id,
  name: found.name,
  currency: found.currency,
  plan: found.plan,
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

/** Without its configuration, which holds secrets. */
export const session = (found: Session.Session) => ({
  id: found.id,
  account_id: found.accountId,
  name: found.name,
  provider: found.provider,
  pacing: found.pacing,
  retry_for: Session.retryFor(found),
  keywords: found.keywords,
  state: found.state,
  reason: found.reason,
  blocked_until: timeOrNull(found.blockedUntil),
  unavailable_since: timeOrNull(found.outage?.since ?? null),
  next_probe_at: timeOrNull(found.outage?.probeAt ?? null),
  connected_since: timeOrNull(found.connectedSince),
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

/** Without its secrets' hashes. */
/** When a secret was made and until when it is accepted; null while it is the newest. */
const secret = ({ createdAt, expiresAt }: Pick<ApiKey.Secret, "createdAt" | "expiresAt">) => ({
  created_at: time(createdAt),
  expires_at: timeOrNull(expiresAt)
})

export const key = (found: ApiKey.ApiKey) => ({
  public_key: found.publicKey,
  session_id: found.sessionId,
  name: found.name,
  permissions: found.permissions,
  status: found.status,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  last_used_at: timeOrNull(found.lastUsedAt)
})

export const webhook = (found: Webhook.Endpoint) => ({
  id: found.id,
  account_id: found.accountId,
  url: found.url,
  events: found.events,
  description: found.description,
  enabled: found.enabled,
  disabled_reason: found.disabledReason,
  failing_since: timeOrNull(found.failingSince),
  deliveries_per_second: found.deliveriesPerSecond,
  batch_recipients: found.batchRecipients,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

export const delivery = (found: Webhook.Delivery) => ({
  id: found.id,
  event_id: found.eventId,
  event_type: found.eventType,
  status: found.status,
  next_attempt_at: timeOrNull(found.nextAt),
  created_at: time(found.createdAt),
  attempts: found.attempts.map(({ at, durationMs, excerpt, number, reason, status }) => ({
    number,
    at: time(at),
    status,
    duration_ms: durationMs,
    reason,
    response: excerpt
  }))
})

export const rateCard = (found: RateCard.RateCard) => ({
  id: found.id,
  currency: found.currency,
  effective_from: time(found.effectiveFrom),
  created_at: time(found.createdAt),
  prices: found.prices.map(({ category, market, prefixes, price }) => ({
    market,
    ...(prefixes === null ? {} : { prefixes }),
    category,
    price
  }))
})

export const message = ({ job, recipient }: Engine.Message) => ({
  message_id: Ids.messageId(job.id, recipient.index),
  session_id: job.sessionId,
  to: recipient.phone,
  status: recipient.status,
  error: recipient.failure,
  reference: job.reference,
  attempts: recipient.attempts,
  created_at: time(job.createdAt),
  updated_at: time(recipient.updatedAt),
  sent_at: timeOrNull(recipient.sentAt),
  delivered_at: timeOrNull(recipient.deliveredAt),
  read_at: timeOrNull(recipient.readAt)
})

export const fault = (found: Fault.Fault) => ({
  pointer: Faults.pointer(found),
  code: found.code,
  message: found.message
})

/** The filters of a job list; each of their times was checked with the shape. */
export const jobFilter = (query: {
  readonly status?: Job.Status | undefined
  readonly reference?: string | undefined
  readonly created_after?: string | undefined
  readonly created_before?: string | undefined
}): Either.Either<
  {
    readonly status: Job.Status | undefined
    readonly reference: string | undefined
    readonly createdAfter: Instant.Instant | undefined
    readonly createdBefore: Instant.Instant | undefined
  },
  Errors.InvalidRequest
> => {
  const createdAfter = query.created_after === undefined ? undefined : Instant.parse(query.created_after)
  const createdBefore = query.created_before === undefined ? undefined : Instant.parse(query.created_before)
  return createdAfter !== undefined && createdBefore !== undefined && createdAfter > createdBefore
    ? Either.left(new Errors.InvalidRequest({ faults: [endsBeforeItBegins] }))
    : Either.right({ status: query.status, reference: query.reference, createdAfter, createdBefore })
}

const endsBeforeItBegins = Faults.make(
  ["query", "created_after"],
  "invalid_value",
  "`created_after` must not be later than `created_before`."
)

/** The operator's next step. */
const afterReseal = ({ apiKeys, olderKeys, operators, unreadable }: Secrets.Resealed): string => {
  const lost = unreadable.session + unreadable.webhook
  const first =
    lost === 0
      ? ""
      : `${lost} secret(s) are under no key that was given: give their key, too, or set them anew. `
  if (apiKeys > 0) {
    return `${first}${apiKeys} API key(s) still need an older master key; each moves when it is next used. Rotate or revoke those that are not used (--list names them), and repeat this.`
  }
  if (operators > 0) {
    return `${first}${operators} operator(s) still need an older master key; each moves when it is next used. Rotate or revoke those that are not used, and repeat this.`
  }
  return olderKeys.length > 0
    ? `${first}The current master key is too new to give up an older one: repeat this in half a minute.`
    : `${first}Nothing needs an older master key: leave it out of SECRET_KEY.`
}

export const resealed = (found: Secrets.Resealed, isListed: boolean): View<typeof Schemas.Resealed> => ({
  ok: true,
  secrets: {
    key: found.key,
    resealed: { sessions: found.resealed.session, webhooks: found.resealed.webhook },
    unreadable: { sessions: found.unreadable.session, webhooks: found.unreadable.webhook },
    retired: found.retired,
    older_keys: found.olderKeys,
    api_keys_left: found.apiKeys,
    operators_left: found.operators,
    detail: afterReseal(found)
  },
  ...(isListed
    ? {
        api_keys: found.dependents.map(({ apiKey, keys }) => ({
          public_key: apiKey.publicKey,
          session_id: apiKey.sessionId,
          name: apiKey.name,
          status: apiKey.status,
          last_used_at: timeOrNull(apiKey.lastUsedAt),
          older_keys: keys
        }))
      }
    : {})
})

export const operator = (found: Operator.Operator) => ({
  name: found.name,
  role: found.role,
  status: found.status,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  last_used_at: timeOrNull(found.lastUsedAt)
})

export const auditEntry = (found: Audit.Entry) => ({
  id: found.id,
  at: time(found.at),
  operator: found.operator,
  operation: found.operation,
  target: found.target,
  address: found.address,
  request_id: found.requestId,
  before: found.before,
  after: found.after
})

export const checks = (found: ReadonlyArray<Readiness.Check>) =>
  found.map(({ fault, name }) => ({ name, ok: fault === null, detail: fault }))
