/**
 * The audit log: which operator did what, to what, when and from where, with the target before and after. An entry is
 * written in the commit of its act. It contains no secret, and only the last four digits of a phone number.
 */
import type { Account } from "./account/Account.ts"
import type { ApiKey, Secret } from "./account/ApiKey.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { Job } from "./job/Job.ts"
import type { Plan, Wanted } from "./job/RetryPlan.ts"
import type { Operator } from "./Operator.ts"
import type { Page } from "./Page.ts"
import * as Phone from "./Phone.ts"
import type { Session } from "./session/Session.ts"
import * as Sessions from "./session/Session.ts"
import type { Template } from "./template/Template.ts"
import * as Url from "./Url.ts"
import type { Endpoint } from "./webhook/Webhook.ts"

/** The operator who acts. */
export interface Actor {
  /** The operator's name. Other actors have a name that no operator can have, such as `cli:ana`. */
  readonly operator: string
  readonly address: string | null
  readonly requestId: string | null
}

/** The fields that are shown of a thing, by wire names. */
export type View = Readonly<Record<string, unknown>>

export interface Entry extends Actor {
  readonly id: string
  readonly at: Instant
  /** Such as `accounts.create`. */
  readonly operation: string
  /** The id of what it was done to; null where there is no single one. */
  readonly target: string | null
  /** Null when nothing was there before, or when an act only adds. */
  readonly before: View | null
  /** Null where nothing is left. */
  readonly after: View | null
}

/** Entries match every member that is there. */
export interface Query {
  readonly operator?: string | undefined
  readonly operation?: string | undefined
  readonly target?: string | undefined
  /** Inclusive. */
  readonly from?: Instant | undefined
  /** Exclusive. */
  readonly to?: Instant | undefined
  readonly page: Page
}

/** How long an entry is stored by default: a year and a month. */
export const defaultRetentionMs = 400 * Time.day

/** The most expired entries that are deleted with a new one, so that no act waits for a long deletion. */
export const prunedAtOnce = 100

/** The most items of an act that are listed singly. Larger acts are logged as counts. */
export const listedItems = 25

/** Shows a phone number by its last four digits, which identify it to an operator and to nobody else. */
export const phone = (digits: string): string => `…${digits.slice(-4)}`

/** A text that people chose, in which a number may stand. */
export const free = Phone.shorten

/** A receiver's URL for all operators, for over a year: without query and user, which often are secrets. */
const url = (text: string): string => {
  const parsed = Url.parse(text)
  if (parsed === undefined) return free(text)
  const { host, pathname, protocol, search } = parsed
  return free(`${protocol}//${host}${pathname}${search === "" ? "" : "?…"}`)
}

const time = (instant: Instant | null) => (instant === null ? null : Time.format(instant))

const secrets = (stored: ReadonlyArray<Pick<Secret, "createdAt" | "expiresAt">>) =>
  stored.map(({ createdAt, expiresAt }) => ({ created_at: time(createdAt), expires_at: time(expiresAt) }))

/** Settings whose names are in camelCase in process. */
const byWireNames = (found: object): View =>
  Object.fromEntries(
    Object.entries(found).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
      value
    ])
  )

export const account = ({ currency, name, plan, retention }: Account): View => ({
  name: free(name),
  currency,
  plan: byWireNames(plan),
  retention: byWireNames(retention)
})

/** @param config whether the configuration was replaced; nothing else of it is shown */
export const session = (found: Session, config: "kept" | "set" | "changed" = "kept"): View => ({
  account_id: found.accountId,
  name: free(found.name),
  provider: found.provider,
  state: found.state,
  pacing: byWireNames(found.pacing),
  retry_for: Sessions.retryFor(found),
  closed_markets:
    found.closedMarkets?.map(({ category, prefixes }) => ({ category, prefixes: prefixes.length })) ?? null,
  quiet_hours: found.quietHours,
  keywords: byWireNames(found.keywords),
  config
})

export const key = (found: ApiKey): View => ({
  session_id: found.sessionId,
  name: found.name === null ? null : free(found.name),
  permissions: found.permissions,
  status: found.status,
  secrets: secrets(found.secrets)
})

export const webhook = (found: Endpoint): View => ({
  account_id: found.accountId,
  url: url(found.url),
  events: found.events,
  description: found.description === null ? null : free(found.description),
  enabled: found.enabled,
  deliveries_per_second: found.deliveriesPerSecond,
  batch_recipients: found.batchRecipients,
  secrets: secrets(found.secrets)
})

export const job = ({ accountId, counts, status }: Job): View => ({ account_id: accountId, status, counts })

/** The jobs and recipients that are retried together. */
const retryWanted = ({ filter, selection }: Wanted): View => {
  const times = ["createdAfter", "createdBefore", "completedAfter", "completedBefore"] as const
  const told = Object.fromEntries(
    times.flatMap((name) => (filter[name] === undefined ? [] : [[name, Time.format(filter[name])]]))
  )
  const reference = filter.reference === undefined ? {} : { reference: free(filter.reference) }
  return { filter: byWireNames({ ...filter, ...told, ...reference, ...selection }) }
}

export const retryPlan = (plan: Plan): View => ({
  ...retryWanted(plan),
  status: plan.status,
  jobs: plan.sums.jobs,
  counts: plan.sums.counts,
  expected: {
    jobs: plan.expected.jobs,
    recipients: plan.expected.recipients,
    is_exact: plan.expected.isExact
  }
})

export const operator = (found: Operator): View => ({
  role: found.role,
  mask_phones: found.masksPhones,
  status: found.status,
  secrets: secrets(found.secrets)
})

/** An import, of the platform's own or by an operator. */
export const templates = ({
  results,
  templates
}: {
  readonly templates: ReadonlyArray<Pick<Template, "language" | "name" | "status" | "templateId">>
  readonly results: ReadonlyArray<unknown>
}): View => {
  const counts = { imported: templates.length, refused: results.length - templates.length }
  if (results.length > listedItems) return counts
  const listed = templates.map(({ language, name, status, templateId }) => ({
    template_id: templateId,
    name: free(name),
    language,
    status
  }))
  return { ...counts, templates: listed }
}
