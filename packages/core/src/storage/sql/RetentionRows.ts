/**
 * What retention reads and deletes. Walks go by the keys of their tables, so a page costs its rows alone. Rows that lie side by
 * side go as one range.
 */
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import * as Retention from "../../domain/Retention.ts"
import type { Program, Row, SqlParameter } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import type { RetentionRows, WalkRows } from "../policy/RetentionRows.ts"
import type { DescribedTable } from "./Columns.ts"
import { retention } from "./codec/Account.ts"
import { rows as retryPlans } from "./codec/RetryPlan.ts"
import { unattributedItems } from "./codec/Unattributed.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import * as Contents from "./jobs/Contents.ts"
import { progress } from "./jobs/JobColumns.ts"
import type { StoredJobs } from "./jobs/Jobs.ts"
import * as Segments from "./jobs/Segments.ts"
import { perhapsRefusals } from "./PerhapsRefusalRows.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import { keysOf } from "./RecipientKeys.ts"
import {
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  limited,
  seq,
  text,
  textOrNull
} from "./RowReader.ts"
import { ofJobs } from "./Schema.ts"

type Found = Retention.Found
type Walk = WalkRows

/** Joined to a row for what its account says. @param account as SQL */
const ofAccount = (account: string): string =>
  `LEFT JOIN sendwright_account AS account ON account.id = ${account}`

const after = (query: { readonly after: Retention.Place | null }): number => Number(query.after?.[0] ?? 0)

const seqOf = ({ place }: Found): number => Number(place[0])

/** The first and the last of each run of neighbours. */
const runsOf = (seqs: ReadonlyArray<number>): ReadonlyArray<readonly [first: number, last: number]> => {
  const runs: Array<readonly [number, number]> = []
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last !== undefined && last[1] === seq - 1) runs[runs.length - 1] = [last[0], seq]
    else runs.push([seq, seq])
  }
  return runs
}

/** Runs statements whose parameters are the ends of a range, for each of the ranges. */
function* inRuns(found: ReadonlyArray<Found>, statements: ReadonlyArray<string>): Program<void> {
  for (const [first, last] of runsOf(found.map(seqOf)))
    for (const statement of statements) yield* run(statement, first, last)
}

/** The same for the recipients of jobs. */
function* ofRecipients(found: ReadonlyArray<Found>, statements: ReadonlyArray<string>): Program<void> {
  for (const [first, last] of runsOf(found.map(seqOf)))
    for (const statement of statements) yield* run(statement, keysOf(first)[0], keysOf(last)[1])
}

const noAccount = { accountId: "", retention: Retention.defaults, isDone: false, rows: 1 }

const accounts = `SELECT id, ${retention.name} FROM sendwright_account WHERE retention IS NOT NULL ORDER BY id`

// Events

const open = "delivery.due_at IS NOT NULL OR delivery.worker IS NOT NULL"

const eventPage = `SELECT event.seq, event.account, event.created_at, account.retention, octet_length(event.body) AS bytes,
    (SELECT count(*) FROM sendwright_delivery AS delivery WHERE delivery.event = event.seq) AS deliveries,
    CASE WHEN EXISTS (
      SELECT 1 FROM sendwright_delivery AS delivery WHERE delivery.event = event.seq AND (${open})
    ) THEN 1 ELSE 0 END AS waits
  FROM sendwright_event AS event ${ofAccount("event.account")}
  WHERE event.seq > ? ORDER BY event.seq ${limited}`

// An operator may have one sent again meanwhile: it stays, and so does its event.
const removeEvents = [
  `DELETE FROM sendwright_attempt WHERE delivery IN (
    SELECT seq FROM sendwright_delivery AS delivery WHERE event BETWEEN ? AND ? AND NOT (${open})
  )`,
  `DELETE FROM sendwright_delivery AS delivery WHERE event BETWEEN ? AND ? AND NOT (${open})`,
  `DELETE FROM sendwright_event AS event WHERE seq BETWEEN ? AND ?
    AND NOT EXISTS (SELECT 1 FROM sendwright_delivery AS delivery WHERE delivery.event = event.seq)`
]

const events: Walk = {
  page: function* (query) {
    return (yield* all(eventPage, after(query), query.limit)).map((row): Found => {
      const at = instant(row, "created_at")
      const deliveries = integer(row, "deliveries")
      return {
        place: [seq(row)],
        accountId: text(row, "account"),
        retention: retention.read(row),
        at,
        endedAt: integer(row, "waits") === 1 ? null : at,
        isDone: false,
        rows: 1 + deliveries,
        bytes: integer(row, "bytes") + Retention.eventBytes + deliveries * Retention.deliveryBytes
      }
    })
  },
  remove: (found) => inRuns(found, removeEvents)
}

// Jobs

const jobColumns = `job.seq, job.account, job.session, job.kind, job.snapshot, job.recipients, job.created_at, account.retention,
    progress.status, progress.counts, progress.completed_at, progress.content_expired_at`

const fromJobs = `FROM sendwright_job AS job LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
    ${ofAccount("job.account")}`

/** A found job, with members that the rules of retention do not know. */
interface FoundJob extends Found {
  readonly sessionId: string
  /** Of a direct message whose text is kept: the number of that. */
  readonly text: number | null
}

const isFoundJob = (found: Found): found is FoundJob => "sessionId" in found

const jobOf = (row: Row, isContent: boolean): FoundJob => {
  const status = textOrNull(row, "status")
  const ended = status === null ? null : readEnded(row)
  const expiredAt = integerOrNull(row, "content_expired_at")
  const recipients = integer(row, "recipients")
  const isDirect = text(row, "kind") === "direct"
  return {
    place: [seq(row)],
    accountId: text(row, "account"),
    sessionId: text(row, "session"),
    text: isDirect && expiredAt === null ? integer(row, "snapshot") : null,
    retention: retention.read(row),
    at: instant(row, "created_at"),
    endedAt: ended,
    isDone: isContent && expiredAt !== null,
    rows: isContent ? recipients : recipients + 1,
    bytes: isContent ? 0 : Retention.jobBytes + recipients * Retention.recipientBytes
  }
}

const state = progress.only("status", "counts", "completedAt")

/** Since when nothing of a job is open; null while something is. */
const readEnded = (row: Row): Instant | null => {
  const { completedAt, counts, status } = state.read(row)
  return Jobs.hasEnded(status) && Recipient.countOf(counts, "open") === 0 ? completedAt : null
}

/** Texts that several messages share stay as long as one of them has its own; no new message shares them. */
const retiring = ({ elements }: Dialect) => {
  const retire = `UPDATE sendwright_snapshot SET digest = CAST(? AS text) || seq
    WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from}) AND digest > '${lastRetired}'`
  return function* (found: ReadonlyArray<Found>, now: Instant): Program<void> {
    const texts = found.flatMap((each) => (isFoundJob(each) && each.text !== null ? [each.text] : []))
    if (texts.length > 0)
      yield* run(retire, `${retired}${String(now).padStart(16, "0")}.`, JSON.stringify(texts))
  }
}

/** Before every digest sorts one that tells since when its text is not given to new messages. */
const retired = "!"
const lastRetired = "!~"

const textPage = `SELECT snapshot.seq, snapshot.digest, octet_length(snapshot.body) AS bytes,
    CASE WHEN EXISTS (
      SELECT 1 FROM sendwright_job AS job WHERE job.snapshot = snapshot.seq AND job.kind = 'direct'
    ) THEN 1 ELSE 0 END AS shared
  FROM sendwright_snapshot AS snapshot WHERE snapshot.digest > ? AND snapshot.digest < '${lastRetired}'
  ORDER BY snapshot.digest ${limited}`

const retiredTexts: Walk = {
  page: function* ({ after, limit }) {
    return (yield* all(textPage, after?.[0] ?? retired, limit)).map((row): Found => {
      const digest = text(row, "digest")
      const at = Time.at(Number(digest.slice(retired.length, digest.indexOf("."))))
      return {
        place: [digest, seq(row)],
        ...noAccount,
        at,
        endedAt: integer(row, "shared") === 1 ? null : at,
        bytes: integer(row, "bytes")
      }
    })
  },
  remove: (found) =>
    inRuns(
      found.map((each) => ({ ...each, place: each.place.slice(1) })),
      ["DELETE FROM sendwright_snapshot WHERE seq BETWEEN ? AND ?"]
    )
}

const inboundPage = `SELECT id, at FROM sendwright_inbound WHERE at >= ? AND (at > ? OR id > ?) ORDER BY at, id ${limited}`

const inbound = ({ elements }: Dialect): Walk => ({
  page: function* ({ after, limit }) {
    const [at = 0, id = ""] = after ?? []
    return (yield* all(inboundPage, at, at, id, limit)).map((row): Found => {
      const at = instant(row, "at")
      return { place: [at, text(row, "id"), 0], ...noAccount, at, endedAt: at, bytes: 0 }
    })
  },
  remove: (found) =>
    run(
      `DELETE FROM sendwright_inbound WHERE id IN (SELECT ${elements.value} FROM ${elements.from})`,
      JSON.stringify(found.map(({ place }) => place[1]))
    )
})

/** Whatever is kept of jobs, or of recipients. */
const removing = (of: "jobs" | "recipients"): ReadonlyArray<string> =>
  ofJobs(of).map(({ by, table }) => `DELETE FROM ${table.name} WHERE ${by} BETWEEN ? AND ?`)

const removeRecipients = removing("recipients")
const removeJobs = removing("jobs")

const contents = ofJobs("recipients").flatMap(({ by, table }) =>
  table.ordered.flatMap(({ expired, name }) =>
    expired === undefined ? [] : [{ by, expired, name, of: table.name }]
  )
)

const emptyRecipients = contents.map(
  ({ by, expired, name, of }) =>
    `UPDATE ${of} SET ${name} = '${expired}' WHERE ${by} BETWEEN ? AND ? AND ${name} <> '${expired}'`
)

const noteExpired = "UPDATE sendwright_progress SET content_expired_at = ? WHERE seq BETWEEN ? AND ?"

const emptyText = `UPDATE sendwright_job SET snapshot = ? WHERE seq BETWEEN ? AND ? AND kind = 'direct'`

const weights = contents.map(
  ({ by, name, of }) =>
    `SELECT coalesce(sum(octet_length(${name})), 0) AS bytes FROM ${of} WHERE ${by} BETWEEN ? AND ?`
)
const textWeight = "SELECT octet_length(body) AS bytes FROM sendwright_snapshot WHERE seq = ?"

const jobWalks = (jobs: StoredJobs): { readonly jobs: Walk; readonly jobContents: Walk } => {
  const { dialect } = jobs
  const { elements } = dialect
  const retireTexts = retiring(dialect)
  const contentPage = `SELECT ${jobColumns} ${fromJobs} WHERE job.seq > ? ORDER BY job.seq ${limited}`
  // The newest job tells what its account has sent that day, and its number is never given again while it is there.
  const page = `SELECT ${jobColumns} ${fromJobs}
    WHERE job.seq > ? AND job.seq < (SELECT max(seq) FROM sendwright_job) ORDER BY job.seq ${limited}`
  const again = `SELECT ${jobColumns} ${fromJobs}
    WHERE job.seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY job.seq`

  const locking = (isContent: boolean): NonNullable<Walk["lock"]> =>
    function* (found) {
      const sessions = new Set(found.flatMap((each) => (isFoundJob(each) ? [each.sessionId] : [])))
      const locked = yield* jobs.lockSessionsInTime([...sessions].sort())
      const free = found.filter((each) => isFoundJob(each) && locked.has(each.sessionId))
      const rows = yield* all(again, JSON.stringify(free.map(seqOf)))
      return rows.map((row) => jobOf(row, isContent))
    }

  return {
    jobs: {
      page: function* (query) {
        return (yield* all(page, after(query), query.limit)).map((row) => jobOf(row, false))
      },
      lock: locking(false),
      remove: function* (found, now) {
        yield* ofRecipients(found, removeRecipients)
        yield* Segments.forgetGone()
        yield* inRuns(found, removeJobs)
        yield* retireTexts(found, now)
      }
    },
    jobContents: {
      page: function* (query) {
        return (yield* all(contentPage, after(query), query.limit)).map((row) => jobOf(row, true))
      },
      lock: locking(true),
      weigh: function* (found) {
        const weighed: Array<Found> = []
        for (const each of found) {
          const rows = [
            isFoundJob(each) && each.text !== null ? yield* get(textWeight, each.text) : undefined
          ]
          for (const weight of weights) rows.push(yield* get(weight, ...keysOf(seqOf(each))))
          const bytes = rows.reduce((sum, row) => sum + (row === undefined ? 0 : integer(row, "bytes")), 0)
          weighed.push({ ...each, bytes })
        }
        return weighed
      },
      remove: function* (found, now) {
        const directs = found.filter((each) => isFoundJob(each) && each.text !== null)
        yield* ofRecipients(found, emptyRecipients)
        for (const range of runsOf(found.map(seqOf))) yield* run(noteExpired, now, ...range)
        if (directs.length > 0) {
          const expired = yield* Contents.freeze(Jobs.expiredText)
          for (const range of runsOf(directs.map(seqOf))) yield* run(emptyText, expired, ...range)
        }
        yield* retireTexts(found, now)
      }
    }
  }
}

// Rows that are kept by themselves

/** By the account that a row is about, if it is one. @param weight of a row beside its texts, in bytes */
export const walkOf = ({ kept, name, ordered }: DescribedTable, weight: number): Walk => {
  if (typeof kept === "string" || !("at" in kept))
    throw new TypeError(`No walk goes over ${name} by its times`)
  const { at, endedAt = at } = kept
  const texts = ordered.filter(({ personal }) => personal !== null)
  const bytes = texts.map((column) => `coalesce(octet_length(item.${column.name}), 0)`).join(" + ")
  const page = `SELECT item.seq, coalesce(item.account, '') AS account, item.${at} AS at, item.${endedAt} AS ended_at,
      account.retention, ${bytes} AS bytes
    FROM ${name} AS item ${ofAccount("item.account")} WHERE item.seq > ? ORDER BY item.seq ${limited}`
  return {
    page: function* (query) {
      return (yield* all(page, after(query), query.limit)).map(
        (row): Found => ({
          ...rowOf(row, text(row, "account")),
          place: [seq(row)],
          at: instant(row, "at"),
          endedAt: instantOrNull(row, "ended_at"),
          bytes: integer(row, "bytes") + weight
        })
      )
    },
    remove: (found) => inRuns(found, [`DELETE FROM ${name} WHERE seq BETWEEN ? AND ?`])
  }
}

/** The parts that are alike of rows that are kept by themselves. */
const rowOf = (row: Row, accountId: string): Pick<Found, "accountId" | "isDone" | "retention" | "rows"> => ({
  accountId,
  retention: retention.read(row),
  isDone: false,
  rows: 1
})

const unreadHooks = ({ elements }: Dialect): Walk => {
  const page = `SELECT hook.session, hook.number, hook.received_at, coalesce(session.account, '') AS account,
      account.retention, octet_length(hook.content) AS bytes
    FROM sendwright_unread_hook AS hook LEFT JOIN sendwright_session AS session ON session.id = hook.session
      ${ofAccount("session.account")}
    WHERE hook.received_at >= ? AND (hook.received_at > ? OR (hook.session, hook.number) > (?, ?))
    ORDER BY hook.received_at, hook.session, hook.number ${limited}`
  const remove = `DELETE FROM sendwright_unread_hook
    WHERE session = ? AND number IN (SELECT ${elements.integer} FROM ${elements.from})`
  return {
    page: function* ({ after, limit }) {
      const [at = 0, session = "", number = 0] = after ?? []
      return (yield* all(page, at, at, session, number, limit)).map((row): Found => {
        const at = instant(row, "received_at")
        const bytes = integer(row, "bytes") + Retention.textBytes
        const place = [at, text(row, "session"), integer(row, "number")]
        return { ...rowOf(row, text(row, "account")), place, at, endedAt: at, bytes }
      })
    },
    remove: function* (found) {
      const bySession = new Map<string, Array<number>>()
      for (const { place } of found) {
        const session = String(place[1])
        bySession.set(session, [...(bySession.get(session) ?? []), Number(place[2])])
      }
      for (const [session, numbers] of bySession) yield* run(remove, session, JSON.stringify(numbers))
    }
  }
}

// Grants

const grantPage = `SELECT consent.person, consent.occurred_at, consent.seq, consent.recorded_at,
    CASE WHEN consent.status = 'granted' AND EXISTS (
      SELECT 1 FROM sendwright_consent AS later
      WHERE later.account = consent.account AND later.person = consent.person AND later.purpose = consent.purpose
        AND later.status = 'granted' AND (later.occurred_at, later.seq) > (consent.occurred_at, consent.seq)
    ) THEN 1 ELSE 0 END AS replaced
  FROM sendwright_consent AS consent
  WHERE consent.account = ? AND (consent.person, consent.occurred_at, consent.seq) > (?, ?, ?)
  ORDER BY consent.person, consent.occurred_at, consent.seq ${limited}`

const removeGrant =
  "DELETE FROM sendwright_consent WHERE account = ? AND person = ? AND occurred_at = ? AND seq = ?"

/** Of the accounts that do not keep all consents for ever, one after the other. */
const grants: Walk = {
  page: function* ({ accounts, after, limit }) {
    const found: Array<Found> = []
    const [since = "", ...place] = after ?? []
    for (const { accountId, retention } of accounts) {
      if (retention.consentsDays === null || accountId < String(since)) continue
      const from = accountId === since && place.length === 3 ? place : ["", -Number.MAX_SAFE_INTEGER, 0]
      const rows = yield* all(grantPage, accountId, ...from, limit - found.length)
      found.push(
        ...rows.map((row): Found => {
          const at = instant(row, "recorded_at")
          return {
            place: [accountId, text(row, "person"), integer(row, "occurred_at"), seq(row)],
            accountId,
            retention,
            at,
            endedAt: integer(row, "replaced") === 1 ? at : null,
            isDone: false,
            rows: 1,
            bytes: Retention.consentBytes
          }
        })
      )
      if (found.length >= limit) break
    }
    return found
  },
  remove: function* (found) {
    for (const { place } of found) yield* run(removeGrant, ...(place satisfies ReadonlyArray<SqlParameter>))
  }
}

export const make = (jobs: StoredJobs): RetentionRows => {
  const { dialect } = jobs
  return {
    isQuarantined: function* () {
      return (yield* get(QuarantineRows.isQuarantined)) !== undefined
    },
    tryLock: () => dialect.trySerialize(Events.old),
    accounts: function* () {
      return (yield* all(accounts)).map((row) => ({
        accountId: text(row, "id"),
        retention: retention.read(row)
      }))
    },
    walks: {
      events,
      ...jobWalks(jobs),
      unattributed: walkOf(unattributedItems, Retention.textBytes),
      perhapsRefusals: walkOf(perhapsRefusals, Retention.textBytes),
      retryPlans: walkOf(retryPlans, Retention.retryPlanBytes),
      unreadHooks: unreadHooks(dialect),
      grants,
      texts: retiredTexts,
      inbound: inbound(dialect)
    }
  }
}
