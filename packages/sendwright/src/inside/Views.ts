/** What core answers, as the package shows it: camelCase, times as `Date`s, and nothing that is core's own affair. */
import type {
  Account as Accounts,
  ApiKey as ApiKeys,
  Audit,
  Consent,
  Timeline as CoreTimeline,
  Engine,
  Erasure as Erasures,
  Estimates,
  Job as Jobs,
  Operator as Operators,
  PerhapsRefusal as PerhapsRefusals,
  RateCard as RateCards,
  Recipient,
  Search,
  Session as Sessions,
  Size,
  Template as Templates,
  Unattributed as Unattributeds,
  UnreadHook as UnreadHooks,
  Webhook as Webhooks
} from "@sendwright/core"
import { Ids, RetryPlan as RetryPlans, Session } from "@sendwright/core"
import { ClientTexts } from "@sendwright/core/adapter"
import type * as Admin from "../api/Admin.ts"
import type * as Messages from "../api/Messages.ts"
import type * as Overview from "../api/Overview.ts"
import type * as Template from "../api/Templates.ts"
import type * as Timelines from "../api/Timelines.ts"

export const date = (at: number): Date => new Date(at)
export const dateOrNull = (at: number | null): Date | null => (at === null ? null : new Date(at))

export const account = ({
  createdAt,
  currency,
  id,
  name,
  plan,
  retention,
  updatedAt
}: Accounts.Account): Admin.Account => ({
  id,
  name,
  currency,
  plan,
  retention,
  createdAt: date(createdAt),
  updatedAt: date(updatedAt)
})

export const session = (found: Sessions.Session): Admin.SessionRecord => ({
  id: found.id,
  accountId: found.accountId,
  name: found.name,
  provider: found.provider,
  state: found.state,
  reason: found.reason,
  pacing: found.pacing,
  retryFor: Session.retryFor(found),
  closedMarkets: found.closedMarkets,
  keywords: found.keywords,
  unavailableSince: dateOrNull(found.outage?.since ?? null),
  blockedUntil: dateOrNull(found.blockedUntil),
  blockReason: found.blockReason,
  blockCode: found.blockCode,
  repliesBlockedUntil: dateOrNull(found.repliesBlockedUntil),
  connectedSince: dateOrNull(found.connectedSince),
  createdAt: date(found.createdAt),
  updatedAt: date(found.updatedAt)
})

export const unreadHook = ({ receivedAt, ...found }: UnreadHooks.UnreadHook): Admin.UnreadHook => ({
  ...found,
  receivedAt: date(receivedAt)
})

export const apiKey = (found: ApiKeys.ApiKey): Admin.ApiKey => ({
  publicKey: found.publicKey,
  sessionId: found.sessionId,
  name: found.name,
  permissions: found.permissions,
  status: found.status,
  createdAt: date(found.createdAt),
  lastUsedAt: dateOrNull(found.lastUsedAt)
})

const variable = ({ key, name, required, type }: Templates.Variable): Template.Variable => ({
  key,
  name,
  type,
  required
})

const component = (found: Templates.Component): Template.Component =>
  found.type === "buttons"
    ? { type: found.type, buttons: found.buttons.map(({ text, type, url }) => ({ type, text, url })) }
    : found

export const template = (found: Templates.Template): Template.Template => ({
  id: found.templateId,
  sessionId: found.sessionId,
  name: found.name,
  language: found.language,
  category: found.category,
  status: found.status,
  components: found.components.map(component),
  variables: found.variables.map(variable),
  sendable: found.sendable,
  unsendableReason: found.unsendableReason,
  quality: found.quality,
  reason: found.why?.reason ?? null,
  rejectionInfo: found.why?.rejectionInfo ?? null,
  otherInfo: found.why?.otherInfo ?? null,
  disableInfo: found.why?.disableInfo ?? null,
  updatedAt: date(found.updatedAt)
})

export const consent = (found: Consent.ConsentRecord): Admin.ConsentRecord => ({
  id: found.id,
  phone: found.phone,
  userId: found.userId,
  purpose: found.purpose,
  status: found.status,
  source: found.source,
  proof: found.proof,
  occurredAt: date(found.occurredAt),
  recordedAt: date(found.recordedAt)
})

export const unattributed = (found: Unattributeds.Unattributed): Admin.Unattributed => ({
  id: found.id,
  sessionId: found.sessionId,
  kind: found.kind,
  messageId: found.messageId,
  text: found.text,
  occurredAt: date(found.occurredAt)
})

export const perhapsRefusal = (found: PerhapsRefusals.PerhapsRefusal): Admin.PerhapsRefusal => ({
  id: found.id,
  sessionId: found.sessionId,
  phone: found.phone,
  userId: found.userId,
  messageId: found.messageId,
  text: found.text,
  occurredAt: date(found.occurredAt)
})

export const erasureCounts = ({
  attempts,
  audit,
  pairs: _,
  reports,
  refusals,
  texts,
  unread,
  ...counts
}: Erasures.Counts): Admin.ErasureCounts => ({
  ...counts,
  deliveryAnswers: attempts,
  doubtfulTexts: refusals,
  unattributedTexts: texts,
  unreadHooks: unread,
  earlyReports: reports,
  auditEntries: audit
})

export const erasure = ({ begunAt, counts, nextAt, sweptAt, ...found }: Erasures.Erasure): Admin.Erasure => ({
  ...found,
  isDone: nextAt === null,
  begunAt: date(begunAt),
  sweptAt: date(sweptAt),
  counts: erasureCounts(counts)
})

export const webhook = (found: Webhooks.Endpoint): Admin.Webhook => ({
  id: found.id,
  accountId: found.accountId,
  url: found.url,
  events: found.events,
  description: found.description,
  enabled: found.enabled,
  disabledReason: found.disabledReason,
  failingSince: dateOrNull(found.failingSince),
  deliveriesPerSecond: found.deliveriesPerSecond,
  batchRecipients: found.batchRecipients,
  createdAt: date(found.createdAt),
  updatedAt: date(found.updatedAt)
})

export const delivery = (found: Webhooks.Delivery): Admin.Delivery => ({
  id: found.id,
  webhookId: found.endpointId,
  eventId: found.eventId,
  eventType: found.eventType,
  status: found.status,
  attempts: found.attempts.map(({ at, ...attempt }) => ({ ...attempt, at: date(at) })),
  nextAt: dateOrNull(found.nextAt),
  createdAt: date(found.createdAt)
})

export const rateCard = ({ createdAt, effectiveFrom, ...found }: RateCards.RateCard): Admin.RateCard => ({
  ...found,
  effectiveFrom: date(effectiveFrom),
  createdAt: date(createdAt)
})

export const operator = (found: Operators.Operator): Admin.Operator => ({
  name: found.name,
  role: found.role,
  masksPhones: found.masksPhones,
  status: found.status,
  createdAt: date(found.createdAt),
  lastUsedAt: dateOrNull(found.lastUsedAt)
})

export const auditEntry = ({ at, ...entry }: Audit.Entry): Admin.AuditEntry => ({ ...entry, at: date(at) })

const failure = (found: Recipient.Failure | null): Messages.Failure | null =>
  found === null
    ? null
    : {
        code: found.code,
        providerCode: found.provider_code,
        message: found.message,
        permanent: found.permanent
      }

const progress = (jobId: string, found: Jobs.RecipientResult): Messages.Progress => ({
  messageId: Ids.messageId(jobId, found.index),
  phone: found.phone,
  status: found.status,
  error: failure(found.failure),
  attempts: found.attempts,
  updatedAt: date(found.updatedAt),
  sentAt: dateOrNull(found.sentAt),
  deliveredAt: dateOrNull(found.deliveredAt),
  readAt: dateOrNull(found.readAt)
})

export const result = (jobId: string, found: Jobs.RecipientResult): Messages.Result => ({
  ...progress(jobId, found),
  ...ClientTexts.recipient.of(found)
})

export const message = ({
  actualCost,
  job: { id, reference },
  recipient
}: Engine.Message): Messages.DirectResult => ({
  ...progress(id, recipient),
  reference,
  actualCost
})

const templateIdOf = ({ content }: Jobs.Job): number => (content.kind === "template" ? content.templateId : 0)

export const job = (found: Jobs.Job): Messages.Job => ({
  id: found.id,
  accountId: found.accountId,
  sessionId: found.sessionId,
  templateId: templateIdOf(found),
  status: found.status,
  pauseReason: found.pauseReason,
  reference: found.reference,
  priority: found.priority,
  recipients: found.recipients,
  counts: found.counts,
  currency: found.currency,
  estimatedCost: found.estimatedCost,
  createdAt: date(found.createdAt),
  updatedAt: date(found.updatedAt),
  completedAt: dateOrNull(found.completedAt),
  contentExpiredAt: dateOrNull(found.contentExpiredAt)
})

export const jobDetail = (
  found: Engine.JobDetail,
  results: ReadonlyArray<Messages.Result>
): Messages.JobDetail => ({
  ...job(found.job),
  template: { id: templateIdOf(found.job), name: found.template.name, language: found.template.language },
  results,
  actualCost: found.actualCost,
  waitingFor:
    found.waitingFor === null
      ? null
      : { limiter: found.waitingFor.limiter, until: dateOrNull(found.waitingFor.until) },
  expectedCompletionAt: dateOrNull(found.expectedCompletionAt)
})

export const found = ({ at, parentId: _, ...result }: Search.Result): Messages.Found => ({
  ...result,
  at: date(at)
})

export const retrySums = ({ again: _, foreign: __, ...sums }: RetryPlans.Sums): Admin.RetrySums => sums

export const retryOfJobs = ({
  begunAt,
  endedAt,
  filter,
  place: _,
  selection,
  sums,
  updatedAt,
  ...plan
}: RetryPlans.Plan): Admin.RetryOfJobs => {
  const { completedAfter, completedBefore, createdAfter, createdBefore, ...rest } = filter
  const dateOf = (at: number | undefined) => (at === undefined ? undefined : date(at))
  return {
    ...plan,
    filter: {
      ...rest,
      ...selection,
      createdAfter: dateOf(createdAfter),
      createdBefore: dateOf(createdBefore),
      completedAfter: dateOf(completedAfter),
      completedBefore: dateOf(completedBefore)
    },
    sums: retrySums(sums),
    why: RetryPlans.whyNobodyOf({ selection, status: plan.status, sums }),
    begunAt: date(begunAt),
    updatedAt: date(updatedAt),
    endedAt: dateOrNull(endedAt)
  }
}

export const storageSize = ({ fullAt, oldest, ...size }: Size.Size): Overview.StorageSize => ({
  ...size,
  fullAt: dateOrNull(fullAt),
  oldest: { events: dateOrNull(oldest.events), results: dateOrNull(oldest.results) }
})

export const estimate = ({
  cost,
  currency,
  priority,
  recipients,
  withoutConsent
}: Estimates.Estimate): Messages.Estimate => ({
  currency,
  total: cost.total,
  complete: cost.complete,
  priority,
  recipients,
  billableRecipients: cost.billableRecipients,
  withoutConsent,
  breakdown: cost.breakdown,
  unpriced: cost.unpriced,
  undeliverable: cost.undeliverable
})

const told = ({ about: _, at, until, ...entry }: CoreTimeline.Entry): Timelines.TimelineEntry => ({
  ...entry,
  at: date(at),
  ...(until === undefined ? {} : { until: dateOrNull(until) })
})

export const timeline = ({ message, next, timeline }: CoreTimeline.Story): Timelines.Timeline => {
  const { failure: refused, ...rest } = message
  const { content, template } = rest
  return {
    message: {
      ...rest,
      error: failure(refused),
      template:
        template === null
          ? null
          : { id: template.templateId, name: template.name, language: template.language },
      contentExpiredAt: dateOrNull(message.contentExpiredAt),
      content: { ...content, buttons: content.buttons.map(({ text, type, url }) => ({ type, text, url })) }
    },
    timeline: timeline.map(told),
    next
  }
}
