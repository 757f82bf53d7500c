/**
 * A look at what an address leads to, before anything else is done there (contract.md §13 "Databases"): it has to be PostgreSQL
 * whose advisory locks exclude, and a pooler may share its connections between transactions, so that what a session keeps
 * (prepared statements, LISTEN, settings) is another client's with the next one.
 */
import { randomInt } from "node:crypto"
import type Pg from "pg"
import * as Timers from "../../runtime/Timers.ts"
import * as SqlState from "./SqlState.ts"

export interface Server {
  /** A pooler gives each transaction any connection of the server. One that comes later is found by what it does not know. */
  isShared: boolean
}

/** Why there is no database to work on, in words for who set it up. */
export class Unopened extends Error {}

const mend = "Name a PostgreSQL server in its place, or a SQLite file."

/** Servers that call themselves PostgreSQL, by what else their `version()` has. */
const others: Readonly<Record<string, RegExp>> = {
  "Amazon Redshift": /redshift/i,
  GaussDB: /gaussdb/i,
  Greenplum: /greenplum/i,
  Materialize: /materialize/i,
  QuestDB: /questdb/i,
  RisingWave: /risingwave/i,
  YugabyteDB: /-YB-|yugabyte/i
}

/** The name of a server that is not PostgreSQL; undefined where it is. */
export const otherThanPostgres = (version: string): string | undefined => {
  if (!/^(?:PostgreSQL|EnterpriseDB) \d/.test(version)) return /^\w{1,40}/.exec(version)?.[0] ?? "unknown"
  return Object.keys(others).find((name) => others[name]?.test(version))
}

const askPid = async (client: Pg.Client): Promise<number | undefined> => {
  const { rows } = await client.query<{ readonly pid: number }>("SELECT pg_backend_pid() AS pid")
  return rows[0]?.pid
}

const turns = 4

/**
 * One of them has two transactions in a row at each turn, and the other one between those. Behind a pooler that shares
 * connections one client sees several, or both see one, by whatever rule it takes the next.
 */
const isShared = async (one: Pg.Client, other: Pg.Client): Promise<boolean> => {
  const ofOne = new Set<number | undefined>()
  const ofOther = new Set<number | undefined>()
  for (let turn = 0; turn < turns; turn++) {
    ofOne.add(await askPid(one)).add(await askPid(one))
    ofOther.add(await askPid(other))
  }
  return ofOne.size + ofOther.size > 2 || [...ofOne].some((pid) => ofOther.has(pid))
}

/** For so long an answer is waited for that a pooler with one connection cannot give yet, in milliseconds. */
const patience = 1_000

const inTime = <A>(answer: Promise<A>): Promise<A | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = Timers.after(patience, () => resolve(undefined))
  })
  return Promise.race([answer, late]).finally(() => Timers.clearTimeout(timer))
}

const isListed = `EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted)`

/** No such function; not supported. */
const cannot: ReadonlySet<string> = new Set(["42883", "0A000"])

/** False where a second transaction gets the lock of one that is open, and of a server that has no such locks. */
const excludes = async (one: Pg.Client, other: Pg.Client): Promise<boolean> => {
  const lock = randomInt(2 ** 47)
  const tell = async (client: Pg.Client, expression: string): Promise<boolean | undefined> => {
    const { rows } = await client.query<{ readonly told: boolean }>(`SELECT ${expression} AS told`)
    return rows[0]?.told
  }
  await one.query("BEGIN")
  try {
    await one.query(`SELECT pg_advisory_xact_lock(${lock})`)
    const isGiven = await inTime(tell(other, `pg_try_advisory_xact_lock(${lock})`))
    // A session that has no turn before the transaction ends proves nothing: the server's list has to have the lock.
    return isGiven === undefined ? (await tell(one, isListed)) === true : !isGiven
  } catch (cause) {
    if (cannot.has(SqlState.sqlStateOf(cause))) return false
    throw cause
  } finally {
    await one.query("ROLLBACK")
  }
}

/** Over two connections of nobody else's. Fails with {@link Unopened}. */
export const look = async (one: Pg.Client, other: Pg.Client): Promise<Server> => {
  const { rows } = await one.query<{ readonly version: string }>("SELECT version() AS version")
  const version = rows[0]?.version ?? ""
  const name = otherThanPostgres(version)
  if (name !== undefined)
    throw new Unopened(
      `The server is ${name}, and not PostgreSQL: it does not keep the promises that Sendwright's commits rest on. ${mend}`
    )
  const server = { isShared: await isShared(one, other) }
  if (!(await excludes(one, other)))
    throw new Unopened(
      `The advisory locks of the server (${version.slice(0, 60)}) do not exclude: two transactions had the same one at once, so that two processes could send the same message. ${mend}`
    )
  return server
}
