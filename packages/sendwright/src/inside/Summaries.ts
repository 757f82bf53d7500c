/** The overview and the report of health as an app has them. */
import { type Overview as Core, type Health, Session } from "@sendwright/core"
import type { HealthReport, Overview } from "../api/Overview.ts"
import * as Views from "./Views.ts"

type CoreSession = Core.Overview["sessions"][number]

const session = ({
  account,
  emptyAt,
  failedLastHour,
  oldestAt,
  sentPerSecond,
  session,
  waiting
}: CoreSession): Overview["sessions"][number] => {
  const { reason, since } = Session.situation(session)
  const { id, name, pacing, provider, state } = session
  return {
    id,
    name,
    accountId: account.id,
    account: account.name,
    provider,
    state,
    reason,
    since: Views.date(since),
    waiting,
    oldestAt: Views.dateOrNull(oldestAt),
    sentPerSecond,
    pacePerSecond: pacing.messagesPerSecond,
    failedLastHour,
    emptyAt: Views.dateOrNull(emptyAt)
  }
}

export const overview = (found: Core.Overview): Overview => ({
  ...found,
  at: Views.date(found.at),
  waiting: {
    ...found.waiting,
    oldestAt: Views.dateOrNull(found.waiting.oldestAt),
    by: found.waiting.by.map((each) => ({ ...each, until: Views.dateOrNull(each.until) }))
  },
  minutes: found.minutes.map((minute) => ({ ...minute, at: Views.date(minute.at) })),
  attention: found.attention.map((item) => ({ ...item, since: Views.dateOrNull(item.since) })),
  sessions: found.sessions.map(session),
  processes: found.processes.map((process) => ({
    ...process,
    since: Views.date(process.since),
    seenAt: Views.date(process.seenAt)
  })),
  storage: Views.storageSize(found.storage)
})

export const health = (found: Health.Report): HealthReport => ({
  ...found,
  at: Views.date(found.at),
  lines: found.lines.map((line) => ({ ...line, since: Views.dateOrNull(line.since) }))
})
