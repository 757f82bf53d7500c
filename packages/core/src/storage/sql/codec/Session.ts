/** The columns of `sendwright_session`. */

import * as Keywords from "../../../domain/consent/Keywords.ts"
import * as FieldVersions from "../../../domain/FieldVersions.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { ClosedMarket } from "../../../domain/session/ClosedMarkets.ts"
import * as QuietHours from "../../../domain/session/QuietHours.ts"
import type * as SameFailure from "../../../domain/session/SameFailure.ts"
import type { Session } from "../../../domain/session/Session.ts"
import * as Sessions from "../../../domain/session/Session.ts"
import type { Row, SqlValue } from "../../Program.ts"
import type { Column } from "../Columns.ts"
import {
  exact,
  instant,
  instantOrNull,
  integerOrNull,
  json,
  noted,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import { impersonal } from "../Personal.ts"

/** An outage that is over has no beginning in its row, but its end and its length in the place of the next probe's. */
interface OutageRow {
  readonly unavailableSince: Instant | null
  readonly probeAt: Instant | null
  readonly probeInterval: number | null
}

type Outages = Pick<Session, "lastOutage" | "outage">

interface SessionRow extends Omit<Session, keyof Outages>, OutageRow {}

const ofTold = nullable(json<FieldVersions.FieldVersions>("told", impersonal))

/** Of most sessions nothing was told. */
const told: Column<FieldVersions.FieldVersions, null> = {
  ...ofTold,
  read: (row) => ofTold.read(row) ?? FieldVersions.nothing,
  write: (known) => ofTold.write(known === FieldVersions.nothing ? null : known)
}

const ofKeywords = nullable(json<Keywords.Keywords>("keywords", impersonal))

/** Most sessions have no words of their own; they are read with every request. */
const keywords: Column<Keywords.Keywords, null> = {
  ...ofKeywords,
  read: (row) => {
    const stored = ofKeywords.read(row)
    return stored === null ? Keywords.standard : Keywords.stored(stored)
  },
  write: (words) => ofKeywords.write(words.optOut === null && words.optIn === null ? null : words)
}

const ofQuietHours = nullable(json<QuietHours.QuietHours>("quiet_hours", impersonal))

/** Null where there are none. */
const quietHours: Column<QuietHours.QuietHours, null> = {
  ...ofQuietHours,
  read: (row) => ofQuietHours.read(row) ?? QuietHours.none,
  write: (hours) => ofQuietHours.write(Object.values(hours).some((each) => each !== null) ? hours : null)
}

export const sessions = table("sendwright_session", { kept: "registered" })<SessionRow>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  accountId: exact("account", impersonal),
  name: text("name", impersonal),
  provider: text("provider", impersonal),
  config: text("config", impersonal),
  pacing: json("pacing", impersonal),
  state: word("state", impersonal, Sessions.states),
  reason: textOrNull("reason", impersonal),
  connectedSince: noted(
    "mended_at: a connect, a new configuration, or a block that its operator ended. failing: the one failure that its last attempts ended\nwith, by the answers of sends and by receipts, in JSON.",
    instantOrNull("connected_since", impersonal)
  ),
  mendedAt: instantOrNull("mended_at", impersonal),
  failing: nullable(json<SameFailure.Failing>("failing", impersonal)),
  createdAt: instant("created_at", impersonal),
  updatedAt: instant("updated_at", impersonal),
  blockedUntil: noted(
    "block_reason: why, while there is a block; block_code: the failure, where one failure is why. replies_blocked_until: the\nend of a restriction on direct messages. told: what the platform said last of its standing and its restrictions, and when,\nin JSON.",
    instantOrNull("blocked_until", impersonal)
  ),
  blockReason: nullable(word("block_reason", impersonal, Sessions.blockReasons)),
  blockCode: textOrNull("block_code", impersonal),
  repliesBlockedUntil: instantOrNull("replies_blocked_until", impersonal),
  told,
  keywords: noted("Null: the words that come with Sendwright.", keywords),
  unavailableSince: noted(
    "unavailable_since, probe_at, probe_interval: a platform that does not answer. retry_for: for how long\na transient error is tried again, null by what is sent. All in milliseconds.",
    instantOrNull("unavailable_since", impersonal)
  ),
  probeAt: instantOrNull("probe_at", impersonal),
  probeInterval: integerOrNull("probe_interval", impersonal),
  retryForMs: integerOrNull("retry_for", impersonal),
  closedMarkets: noted(
    "Markets that are closed for a category, in JSON; null = those of the provider.",
    nullable(json<ReadonlyArray<ClosedMarket>>("closed_markets", impersonal))
  ),
  quietHours: noted(
    "The hours in which its messages go, by their purpose, in JSON; null for all hours.",
    quietHours
  )
})

export const identity = sessions.only("id", "provider")

export const block = sessions.only("blockedUntil", "blockReason", "blockCode")

/** The columns of `Session.Outbound`. */
export const outbound = sessions.only(
  "id",
  "provider",
  "config",
  "retryForMs",
  "closedMarkets",
  "quietHours",
  "connectedSince",
  "failing"
)

export const failing = sessions.only("failing")

export const outages = sessions.only("unavailableSince", "probeAt", "probeInterval")

const toOutageRow = ({ lastOutage, outage }: Outages): OutageRow =>
  outage !== null
    ? { unavailableSince: outage.since, probeAt: outage.probeAt, probeInterval: outage.intervalMs }
    : lastOutage !== null
      ? {
          unavailableSince: null,
          probeAt: lastOutage.until,
          probeInterval: lastOutage.until - lastOutage.since
        }
      : { unavailableSince: null, probeAt: null, probeInterval: null }

const ofOutageRow = ({ probeAt, probeInterval, unavailableSince: since }: OutageRow): Outages => {
  if (probeAt === null || probeInterval === null) {
    if (since === null) return { outage: null, lastOutage: null }
    throw new TypeError("An outage has no next probe")
  }
  return since === null
    ? { outage: null, lastOutage: { since: Time.before(probeAt, probeInterval), until: probeAt } }
    : { outage: { since, probeAt, intervalMs: probeInterval }, lastOutage: null }
}

export const writeOutages = (session: Outages): ReadonlyArray<SqlValue> => outages.write(toOutageRow(session))

export const readOutages = (row: Row): Outages => ofOutageRow(outages.read(row))

export const toSessionRow = (session: Session): SessionRow => ({ ...session, ...toOutageRow(session) })

export const writeSession = (session: Session): ReadonlyArray<SqlValue> =>
  sessions.write(toSessionRow(session))

const rest = sessions.without("unavailableSince", "probeAt", "probeInterval")

export const readSession = (row: Row): Session => ({ ...rest.read(row), ...readOutages(row) })
