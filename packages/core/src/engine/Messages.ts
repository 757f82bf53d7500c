/** Reading direct messages: a caller's own, and an account's for the operator. */
import * as Effect from "effect/Effect"
import * as RateCard from "../domain/billing/RateCard.ts"
import { NotFound } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Content, Job, RecipientResult } from "../domain/job/Job.ts"
import { isReadable, outgoing } from "../domain/job/Job.ts"
import type { Page } from "../domain/Page.ts"
import * as Search from "../domain/Search.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RateCardStore } from "../storage/RateCardStore.ts"
import type { Caller, Message } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

const categoryOf = (content: Content): RateCard.Category =>
  content.kind === "direct" ? "service" : content.template.category

export const make = Effect.gen(function* () {
  const cards = yield* RateCardStore
  const jobs = yield* JobStore

  /** Of one message, by the category that its receipt names; "0" until it was delivered. */
  const costOf = Effect.fnUntraced(function* (
    { content, createdAt, currency, estimatedCost, replacedAt }: Job,
    recipient: RecipientResult
  ) {
    const { deliveredAt, readAt } = recipient
    if (estimatedCost === null) return null
    if (deliveredAt === null && readAt === null) return "0"
    const goes = isReadable(content) ? categoryOf(outgoing({ replacedAt }, content).content) : null
    const { pricing } = recipient
    const isOtherwise = pricing !== null && pricing.category !== goes
    const card = isOtherwise ? yield* cards.inForce({ currency, now: createdAt }) : null
    return RateCard.cost(recipient, goes, card)
  })

  const ofJob = Effect.fnUntraced(function* (job: Job) {
    const { items } = yield* jobs.results({ jobId: job.id, page: { limit: 1, after: null } })
    return yield* Effect.forEach(items, (recipient) =>
      Effect.map(costOf(job, recipient), (actualCost): Message => ({ job, recipient, actualCost }))
    )
  })

  /** Another key's message, and the id of a template's recipient, are refused like an id that does not exist. */
  const find = Effect.fnUntraced(function* (caller: Caller, messageId: string) {
    const place = Ids.parseMessageId(messageId)
    const job = place?.index === 0 ? yield* jobs.find(place.jobId) : null
    if (job !== null && job.publicKey === caller.key.publicKey && job.content.kind === "direct") {
      const [message] = yield* ofJob(job)
      if (message !== undefined) return message
    }
    return yield* new NotFound({ what: "message" })
  })

  /** Of all accounts, to a number. */
  const found = Effect.fnUntraced(function* (phone: string, page: Page) {
    const { recipients } = Search.meaningsOf(phone).jobs
    const sought = { ...Search.nothing, recipients }
    const { items, next } = yield* jobs.search({ sought, kind: "direct", page })
    return { items: items.map(({ job }) => job), next }
  })

  const list = Effect.fnUntraced(function* ({
    accountId,
    page,
    phone
  }: {
    readonly accountId: string
    readonly phone?: string | undefined
    readonly page: Page
  }) {
    const { items, next } =
      phone === undefined
        ? yield* jobs.list({ by: { accountId }, kind: "direct", page })
        : yield* found(phone, page)
    const theirs = items.filter((job) => job.accountId === accountId)
    return { items: (yield* Effect.forEach(theirs, ofJob)).flat(), next }
  })

  return { costOf, find: spanIfTraced("Engine.message", find), list }
})
