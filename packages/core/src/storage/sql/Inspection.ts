/**
 * Looks at a database without opening it as a process does, for whoever asks how the database is: nothing is migrated, taken or
 * written.
 */

import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Remembered } from "../../domain/Keyring.ts"
import type { Quarantine } from "../../domain/Restore.ts"
import type { Program } from "../Program.ts"
import { all, get } from "../Program.ts"
import { remembered } from "./KeyringStore.ts"
import type { Eyes, Plan } from "./MigrationPlan.ts"
import { plan } from "./MigrationPlan.ts"
import type { Migration } from "./Migrations.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import { instant, instantOrNull, integer, text } from "./RowReader.ts"

/** A connected session, with its configuration as it is sealed. */
export interface SeenSession {
  readonly id: string
  readonly provider: string
  readonly config: string
  /** Since when its platform is out. */
  readonly unavailableSince: Instant | null
}

/** An enabled receiver of webhooks. */
export interface SeenEndpoint {
  readonly id: string
  readonly url: string
  readonly failingSince: Instant | null
}

/** The first of a list, and how many there are. */
export interface Some<A> {
  readonly first: ReadonlyArray<A>
  readonly all: number
}

/** How many jobs there are, at a guess that costs nothing, and how many of them are of the last days. */
export interface Growth {
  readonly jobs: number
  readonly recent: number
  /** In days, of which `recent` tells: 7, or as many as there are jobs. */
  readonly days: number
}

export interface Inspection {
  readonly plan: Plan
  /** Null of a database without this build's schema. */
  readonly content: Content | null
}

export interface Content {
  readonly keys: ReadonlyArray<Remembered>
  readonly quarantine: Quarantine | null
  readonly sessions: Some<SeenSession>
  readonly endpoints: Some<SeenEndpoint>
  /** When the last job was accepted. */
  readonly lastJobAt: Instant | null
  readonly growth: Growth
}

/** How many of a list are looked at. */
export const mostListed = 100

const sessions = "FROM sendwright_session WHERE state = 'connected'"
const endpoints = "FROM sendwright_endpoint WHERE enabled = 1"

function* some<A>(
  columns: string,
  from: string,
  of: (row: Parameters<typeof text>[0]) => A
): Program<Some<A>> {
  const rows = yield* all(`SELECT ${columns} ${from} ORDER BY seq DESC LIMIT ${mostListed}`)
  return {
    first: rows.map(of),
    all: integer((yield* get(`SELECT count(*) AS count ${from}`)) ?? {}, "count")
  }
}

const ends = "SELECT coalesce(min(seq), 0) AS first, coalesce(max(seq), 0) AS last FROM sendwright_job"
const next = "SELECT seq, created_at FROM sendwright_job WHERE seq >= ? ORDER BY seq LIMIT 1"

/** The time of the first job at a place or behind it. */
function* timeAt(place: number): Program<Instant | null> {
  const row = yield* get(next, place)
  return row === undefined ? null : instant(row, "created_at")
}

const week = 7 * Time.day

/** Jobs lie in the order of their acceptance: where a week ago is, is found by halving. */
function* growthBy(now: Instant): Program<Growth & { readonly lastJobAt: Instant | null }> {
  const row = (yield* get(ends)) ?? {}
  const [oldest, last] = [integer(row, "first"), integer(row, "last")]
  const [begun, lastJobAt] = [yield* timeAt(oldest), yield* timeAt(last)]
  if (begun === null || lastJobAt === null) return { jobs: 0, recent: 0, days: 1, lastJobAt: null }
  const days = Math.min(7, Math.max(1, (now - begun) / Time.day))
  let [from, to] = [oldest, last + 1]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    if (((yield* timeAt(middle)) ?? now) < now - week) from = middle + 1
    else to = middle
  }
  return { jobs: last - oldest + 1, recent: last + 1 - from, days, lastJobAt }
}

function* content(now: Instant): Program<Content> {
  const { lastJobAt, ...growth } = yield* growthBy(now)
  return {
    keys: yield* remembered(),
    quarantine: yield* QuarantineRows.read(),
    sessions: yield* some("id, provider, config, unavailable_since", sessions, (row) => ({
      id: text(row, "id"),
      provider: text(row, "provider"),
      config: text(row, "config"),
      unavailableSince: instantOrNull(row, "unavailable_since")
    })),
    endpoints: yield* some("id, url, failing_since", endpoints, (row) => ({
      id: text(row, "id"),
      url: text(row, "url"),
      failingSince: instantOrNull(row, "failing_since")
    })),
    lastJobAt,
    growth
  }
}

/** Throws `MigrationError` where the database is not one that this build works with. */
export function* inspect(
  migrations: ReadonlyArray<Migration>,
  eyes: Eyes,
  now: Instant
): Program<Inspection> {
  const planned = yield* plan(migrations, eyes)
  return { plan: planned, content: planned.pending.length === 0 ? yield* content(now) : null }
}
