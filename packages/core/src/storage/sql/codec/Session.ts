/** The columns of `sendwright_session`. */

import * as Keywords from "../../../domain/consent/Keywords.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { ClosedMarket } from "../../../domain/session/ClosedMarkets.ts"
import type * as SameFailure from "../../../domain/session/SameFailure.ts"
import type { Session } from "../../../domain/session/Session.ts"
import * as Sessions from "../../../domain/session/Session.ts"
import * as Told from "../../../domain/Told.ts"
import type { Column } from "../Columns.ts"
import {
  instant,
  instantOrNull,
  integerOrNull,
  json,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import type { Row, SqlValue } from "../Program.ts"

/** An outage that is over has no beginning in its row, but its end and its length in the place of the next probe's. */
interface OutageRow {
  readonly unavailableSince: Instant | null
  readonly probeAt: Instant | null
  readonly probeInterval: number | null
}

type Outages = Pick<Session, "lastOutage" | "outage">

interface SessionRow extends Omit<Session, keyof Outages>, OutageRow {}

const ofTold = nullable(json<Told.Told>("told"))

/** Of most sessions nothing was told. */
const told: Column<Told.Told> = {
  ...ofTold,
  read: (row) => ofTold.read(row) ?? Told.nothing,
  write: (known) => ofTold.write(known === Told.nothing ? null : known)
}

const ofKeywords = nullable(json<Keywords.Keywords>("keywords"))

/** Most sessions have no words of their own; they are read with every request. */
const keywords: Column<Keywords.Keywords> = {
  ...ofKeywords,
  read: (row) => {
    const stored = ofKeywords.read(row)
    return stored === null ? Keywords.standard : Keywords.stored(stored)
  },
  write: (words) => ofKeywords.write(words.optOut === null && words.optIn === null ? null : words)
}

export const sessions = table<SessionRow>({
  id: text("id"),
  accountId: text("account"),
  name: text("name"),
  provider: text("provider"),
  config: text("config"),
  pacing: json("pacing"),
  retryForMs: integerOrNull("retry_for"),
  closedMarkets: nullable(json<ReadonlyArray<ClosedMarket>>("closed_markets")),
  keywords,
  state: word("state", Sessions.states),
  reason: textOrNull("reason"),
  blockedUntil: instantOrNull("blocked_until"),
  blockReason: nullable(word("block_reason", Sessions.blockReasons)),
  blockCode: textOrNull("block_code"),
  repliesBlockedUntil: instantOrNull("replies_blocked_until"),
  told,
  unavailableSince: instantOrNull("unavailable_since"),
  probeAt: instantOrNull("probe_at"),
  probeInterval: integerOrNull("probe_interval"),
  connectedSince: instantOrNull("connected_since"),
  mendedAt: instantOrNull("mended_at"),
  failing: nullable(json<SameFailure.Failing>("failing")),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at")
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
