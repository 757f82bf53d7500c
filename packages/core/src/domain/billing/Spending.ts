/** Recipients and their money of an account, summed by day, template, market or session. */
import type { Address } from "../Address.ts"
import * as Time from "../Instant.ts"
import type { Job } from "../job/Job.ts"
import { isReadable } from "../job/Job.ts"
import type { Pricing, Status } from "../job/Recipient.ts"
import * as Money from "./Money.ts"
import type { RateCard } from "./RateCard.ts"
import * as RateCards from "./RateCard.ts"

export const groupings = ["day", "template", "market", "session"] as const
export type Grouping = (typeof groupings)[number]

/** Recipients of a job that are alike. */
export interface Charge {
  readonly status: Status
  readonly market: string | null
  readonly price: string | null
  readonly pricing: Pricing | null
  /** The number of one that the platform billed in another category than it was sent in; null of the others. */
  readonly address: Address | null
  readonly isDelivered: boolean
  readonly recipients: number
}

/** Recipients by what they have come to. Those in flight wait, too. */
export const noCounts = {
  waiting: 0,
  accepted: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  unknown: 0
}
type Counts = Readonly<Record<keyof typeof noCounts, number>>

const standingOf = (status: Status): keyof Counts =>
  status === "queued" || status === "sending" ? "waiting" : status

/** The members that a sum is not of are null. */
export interface Key {
  readonly day: string | null
  readonly templateId: number | null
  readonly template: string | null
  readonly market: string | null
  readonly sessionId: string | null
}

export interface Sum extends Key {
  readonly currency: string
  readonly recipients: number
  readonly counts: Counts
  /** The sum of all that was accepted with a price; null when nothing has one. */
  readonly estimated: string | null
  /** The sum of what was delivered by now, as job details have it. */
  readonly actual: string | null
}

/** A sum while it grows: how many recipients have each price. */
interface Growing {
  readonly key: Key
  readonly currency: string
  recipients: number
  readonly counts: typeof noCounts
  readonly estimated: Map<string, number>
  readonly actual: Map<string, number>
}

const noKey: Key = { day: null, templateId: null, template: null, market: null, sessionId: null }

const keyOf = (by: Grouping, { content, createdAt, sessionId }: Job, { market }: Charge): Key => {
  switch (by) {
    case "day":
      return { ...noKey, day: Time.utcDay(createdAt) }
    case "session":
      return { ...noKey, sessionId }
    case "market":
      return { ...noKey, market }
    case "template": {
      if (content.kind === "direct") return noKey
      const template = isReadable(content) ? content.template.name : null
      return { ...noKey, templateId: content.templateId, template }
    }
  }
}

/** The category that a job's messages were sent in; null where that cannot be read, and of direct messages. */
export const categoryOf = ({ content }: Job) =>
  content.kind === "template" && isReadable(content) ? content.template.category : null

const addTo = (prices: Map<string, number>, price: string | null, recipients: number): void => {
  if (price !== null) prices.set(price, (prices.get(price) ?? 0) + recipients)
}

const totalOf = (prices: ReadonlyMap<string, number>): string | null =>
  prices.size === 0 ? null : Money.total([...prices].map(([price, count]) => Money.times(price, count)))

const nameOf = ({ currency, day, market, sessionId, templateId }: Key & { readonly currency: string }) =>
  JSON.stringify([day, templateId, market, sessionId, currency])

/** Sums that grow job by job. */
export const summing = (by: Grouping) => {
  const sums = new Map<string, Growing>()
  return {
    /** @param card that priced the job's send; needed where something was billed in another category */
    add: (job: Job, charges: ReadonlyArray<Charge>, card: RateCard | null): void => {
      const { currency } = job
      const category = categoryOf(job)
      for (const charge of charges) {
        const key = keyOf(by, job, charge)
        const name = nameOf({ ...key, currency })
        const sum = sums.get(name) ?? {
          ...{ key, currency, recipients: 0, counts: { ...noCounts } },
          ...{ estimated: new Map<string, number>(), actual: new Map<string, number>() }
        }
        sums.set(name, sum)
        const { address, isDelivered, price, pricing, recipients, status } = charge
        sum.recipients += recipients
        sum.counts[standingOf(status)] += recipients
        addTo(sum.estimated, price, recipients)
        if (isDelivered)
          addTo(
            sum.actual,
            RateCards.cost({ address: address ?? "", price, pricing }, category, card),
            recipients
          )
      }
    },
    /** By their keys; the newest day first. */
    sums: (): ReadonlyArray<Sum> =>
      [...sums]
        .sort(([a], [b]) => (by === "day" ? (a < b ? 1 : -1) : a < b ? -1 : 1))
        .map(([, { actual, estimated, key, ...sum }]) => ({
          ...key,
          ...sum,
          estimated: totalOf(estimated),
          actual: estimated.size === 0 ? null : (totalOf(actual) ?? "0")
        }))
  }
}
