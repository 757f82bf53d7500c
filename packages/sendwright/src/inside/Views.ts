/** What core answers, as the package shows it: camelCase, times as `Date`s, and nothing that is core's own affair. */
import type {
  Timeline as CoreTimeline,
  Engine,
  Estimates,
  Job as Jobs,
  Recipient,
  Search,
  Size,
  Template as Templates,
  When
} from "@sendwright/core"
import { Address, Ids, RetryPlan as RetryPlans } from "@sendwright/core"
import { ClientTexts } from "@sendwright/core/adapter"
import { Templates as Wire } from "@sendwright/core/contract"
import type * as Admin from "../api/Admin.ts"
import type * as Messages from "../api/Messages.ts"
import type * as Overview from "../api/Overview.ts"
import type * as Timelines from "../api/Timelines.ts"
import { shown } from "./Operations.ts"

export const date = (at: number): Date => new Date(at)
export const dateOrNull = (at: number | null): Date | null => (at === null ? null : new Date(at))

const templateShown = shown(Wire.template)

export const template = (found: Templates.Template) => {
  const { templateId, ...rest } = templateShown(found)
  return { ...rest, id: templateId, sessionId: found.sessionId }
}

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
  ...Address.personOf(found.address),
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

const momentOrNull = (moment: When.Moment | null): Messages.Moment | null =>
  typeof moment === "number" ? date(moment) : moment

export const job = (found: Jobs.Job): Messages.Job => ({
  id: found.id,
  accountId: found.accountId,
  sessionId: found.sessionId,
  templateId: templateIdOf(found),
  status: found.status,
  pauseReason: found.pauseReason,
  reference: found.reference,
  priority: found.priority,
  pace: found.perMinute === null ? null : { perMinute: found.perMinute },
  stopWhen: found.stopWhen,
  sendAt: momentOrNull(found.timing?.sendAt ?? null),
  expiresAt: momentOrNull(found.timing?.expiresAt ?? null),
  hours: found.timing?.hours ?? null,
  startsAt: date(found.timing?.startsAt ?? found.createdAt),
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
  endsAt: dateOrNull(found.endsAt),
  limitedBy: found.limitedBy,
  expectedCompletionAt: dateOrNull(found.endsAt)
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
  endsAt,
  limitedBy,
  priority,
  recipients,
  startsAt,
  withoutConsent
}: Estimates.Estimate): Messages.Estimate => ({
  currency,
  total: cost.total,
  complete: cost.complete,
  priority,
  startsAt: date(startsAt),
  endsAt: dateOrNull(endsAt),
  limitedBy,
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

export const window = ({ certain, freeUntil, open, until }: Engine.WindowNow): Messages.Window => ({
  open,
  until: dateOrNull(until),
  freeUntil: dateOrNull(freeUntil),
  certain
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
