/**
 * Happenings that no other row keeps: an outage and its end, a block, a session that lost its connection, a template's change of status,
 * an endpoint that was disabled, a restore, a process that came and went. A few rows a day; everything else that happened is
 * derived from the rows that changed with it (contract.md §12).
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { Quarantine } from "./Restore.ts"
import type { Session } from "./session/Session.ts"
import { endOf } from "./session/Session.ts"
import type { Template } from "./template/Template.ts"
import type { Endpoint } from "./webhook/Webhook.ts"
import { failingMs } from "./webhook/Webhook.ts"

export const types = [
  "session.connected",
  "session.disconnected",
  "session.unavailable",
  "session.available",
  "session.blocked",
  "session.unblocked",
  "template.status",
  "webhook.disabled",
  "webhook.recovered",
  "restore.held",
  "restore.opened",
  "process.started",
  "process.stopped",
  "process.lost"
] as const
export type Type = (typeof types)[number]

export interface Happening {
  readonly at: Instant
  readonly type: Type
  /** The account that it is of; null of processes and of the whole store. */
  readonly accountId: string | null
  readonly sessionId: string | null
  /** The id of what it happened to: a session, a template, an endpoint, a process; null of the store. */
  readonly subject: string | null
  readonly data: Readonly<Record<string, string | number | null>>
}

/** So many are kept, the newest: years of them. */
export const kept = 100_000

/** A disconnection also ends an outage and a block, and says so by itself. */
export const ofSession = (before: Session, after: Session, now: Instant): ReadonlyArray<Happening> => {
  const happened = (type: Type, data: Happening["data"]): Happening => ({
    at: now,
    type,
    accountId: after.accountId,
    sessionId: after.id,
    subject: after.id,
    data
  })
  const found: Array<Happening> = []
  if (before.state !== after.state && after.state !== "connecting")
    found.push(
      after.state === "connected"
        ? happened("session.connected", {})
        : happened("session.disconnected", { reason: after.reason })
    )
  const isOver = before.outage !== null && after.outage === null
  if (before.outage === null && after.outage !== null) found.push(happened("session.unavailable", {}))
  if (isOver && after.state === "connected")
    found.push(happened("session.available", { since: Time.format(before.outage.since) }))
  if (before.blockedUntil !== after.blockedUntil)
    found.push(
      after.blockedUntil === null
        ? happened("session.unblocked", {})
        : happened("session.blocked", {
            until: Time.formatOrNull(endOf(after.blockedUntil)),
            reason: after.blockCode ?? after.blockReason
          })
    )
  return found
}

/** Nothing where the status is as it was. @param before null of a template that was not known */
export const ofTemplate = (
  before: Template | null,
  after: Template,
  accountId: string,
  now: Instant
): ReadonlyArray<Happening> =>
  before === null || before.status === after.status
    ? []
    : [
        {
          at: now,
          type: "template.status",
          accountId,
          sessionId: after.sessionId,
          subject: String(after.templateId),
          data: { name: after.name, language: after.language, before: before.status, status: after.status }
        }
      ]

/** An endpoint that its failures disabled. */
export const ofEndpoint = ({ accountId, disabledReason, id, url }: Endpoint, now: Instant): Happening => ({
  at: now,
  type: "webhook.disabled",
  accountId,
  sessionId: null,
  subject: id,
  data: { url, reason: disabledReason }
})

/** An endpoint that has failed for long enough to be told of, and delivers again. Shorter failures are nobody's news. */
export const ofRecovery = (before: Endpoint, after: Endpoint, now: Instant): ReadonlyArray<Happening> => {
  const { failingSince } = before
  return failingSince === null || after.failingSince !== null || now - failingSince < failingMs
    ? []
    : [
        {
          at: now,
          type: "webhook.recovered",
          accountId: after.accountId,
          sessionId: null,
          subject: after.id,
          data: { url: after.url, since: Time.format(failingSince) }
        }
      ]
}

const ofStore = (type: Type, subject: string | null, data: Happening["data"], now: Instant): Happening => ({
  at: now,
  type,
  accountId: null,
  sessionId: null,
  subject,
  data
})

export const held = ({ reason }: Pick<Quarantine, "reason">, now: Instant): Happening =>
  ofStore("restore.held", null, { reason }, now)

export const opened = ({ counts }: Pick<Quarantine, "counts">, now: Instant): Happening =>
  ofStore("restore.opened", null, { ...counts }, now)

export const ofProcess = (
  type: Extract<Type, `process.${string}`>,
  process: string,
  data: Happening["data"],
  now: Instant
): Happening => ofStore(type, process, data, now)
