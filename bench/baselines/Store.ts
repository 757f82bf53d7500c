/**
 * Where the baselines keep what they accept. SQLite by the fastest way we
 * know of writing rows, prepared statements on better-sqlite3, a narrow clustered table and one INSERT for all
 * recipients, with `synchronous = FULL`.
 */
import { randomUUID } from "node:crypto"
import Sqlite from "better-sqlite3"
import { bystanders, phone } from "../Sends.ts"
import type { SendRequest } from "./Checks.ts"

export interface Command {
  readonly key: string
  readonly idempotencyKey: string
  readonly fingerprint: string
  readonly request: SendRequest
}

/** The job, or a status of refusal. */
export type Accepted = { readonly jobId: string; readonly recipients: number } | 403 | 409

export type Accept = (command: Command, answer: (accepted: Accepted) => void) => void

const schema = `
CREATE TABLE consent (key TEXT NOT NULL, phone TEXT NOT NULL, PRIMARY KEY (key, phone)) STRICT, WITHOUT ROWID;
CREATE TABLE usage (key TEXT NOT NULL, day TEXT NOT NULL, recipients INTEGER NOT NULL, PRIMARY KEY (key, day))
  STRICT, WITHOUT ROWID;
CREATE TABLE job (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, idempotency_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL, template INTEGER NOT NULL, status TEXT NOT NULL, recipients INTEGER NOT NULL,
  next_at INTEGER, created_at INTEGER NOT NULL, UNIQUE (key, idempotency_key)) STRICT;
CREATE INDEX job_due ON job (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE recipient (job INTEGER NOT NULL, place INTEGER NOT NULL, phone TEXT NOT NULL, external_id TEXT,
  variables TEXT, status TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER,
  updated_at INTEGER, failure TEXT, provider_id TEXT, PRIMARY KEY (job, place)) STRICT, WITHOUT ROWID;`

/** Opens a database whose commits are synced, which the driver does not do by itself (DEFAULT_WAL_SYNCHRONOUS=1). */
export const open = (filename: string): Sqlite.Database => {
  const db = new Sqlite(filename)
  db.pragma("journal_mode = WAL")
  db.prepare("SELECT count(*) FROM sqlite_schema").get()
  db.pragma("synchronous = FULL")
  if (db.pragma("synchronous", { simple: true }) !== 2) throw new Error("SQLite does not sync its commits.")
  return db
}

/** The recipients of a job in one statement, made once for each number of them. */
const recipientWriter = (db: Sqlite.Database) => {
  const statements = new Map<number, Sqlite.Statement>()
  return (job: number | bigint, recipients: SendRequest["recipients"], now: number): void => {
    const count = recipients.length
    const statement =
      statements.get(count) ??
      db.prepare(
        `INSERT INTO recipient (job, place, phone, external_id, variables, next_at, updated_at)
         VALUES ${Array(count).fill("(?, ?, ?, ?, ?, ?, ?)").join(", ")}`
      )
    statements.set(count, statement)
    const values: Array<string | number | bigint | null> = []
    for (const [place, { external_id = null, phone, variables = {} }] of recipients.entries()) {
      values.push(job, place, phone, external_id, JSON.stringify(Object.values(variables)), now, now)
    }
    statement.run(values)
  }
}

const insertJob = `INSERT INTO job (id, key, idempotency_key, fingerprint, template, status, recipients, next_at, created_at)
  VALUES (?, ?, ?, ?, ?, 'queued', ?, ?, ?) ON CONFLICT DO NOTHING RETURNING seq`

const addUsage = `INSERT INTO usage (key, day, recipients) VALUES (?, ?, ?)
  ON CONFLICT (key, day) DO UPDATE SET recipients = usage.recipients + excluded.recipients`

/** Writes a job, its recipients and the day's usage; null when the Idempotency-Key is taken. Within a transaction. */
export const jobWriter = (db: Sqlite.Database) => {
  db.exec(schema)
  const job = db.prepare(insertJob).pluck()
  const usage = db.prepare(addUsage)
  const recipients = recipientWriter(db)
  return ({ fingerprint, idempotencyKey, key, request }: Command): string | null => {
    const id = randomUUID()
    const now = Date.now()
    const count = request.recipients.length
    const seq = job.get(id, key, idempotencyKey, fingerprint, request.template_id, count, now, now)
    if (typeof seq !== "number") return null
    recipients(seq, request.recipients, now)
    usage.run(key, new Date(now).toISOString().slice(0, 10), count)
    return id
  }
}

/** Writes and nothing else, a transaction for each job. */
export const writer = (filename: string): ((command: Command) => unknown) => {
  const db = open(filename)
  return db.transaction(jobWriter(db)).immediate
}

const openStore = (filename: string, key: string) => {
  const db = open(filename)
  const write = jobWriter(db)
  const consent = db.prepare("INSERT INTO consent (key, phone) VALUES (?, ?)")
  db.transaction(() => {
    for (let n = 0; n < bystanders; n++) consent.run(key, phone(n))
  })()
  const isAllowed = db.prepare("SELECT 1 FROM consent WHERE key = ? AND phone = ?").pluck()
  const findJob = db.prepare<[string, string], { id: string; fingerprint: string; recipients: number }>(
    "SELECT id, fingerprint, recipients FROM job WHERE key = ? AND idempotency_key = ?"
  )
  /** Within a transaction. */
  const accept = (command: Command): Accepted => {
    const { fingerprint, idempotencyKey, key, request } = command
    for (const { phone } of request.recipients) if (isAllowed.get(key, phone) === undefined) return 403
    const jobId = write(command)
    if (jobId !== null) return { jobId, recipients: request.recipients.length }
    const earlier = findJob.get(key, idempotencyKey)
    return earlier?.fingerprint === fingerprint ? { jobId: earlier.id, recipients: earlier.recipients } : 409
  }
  return { db, accept }
}

/** A transaction for each request. */
const direct = (filename: string, key: string): Accept => {
  const { accept, db } = openStore(filename, key)
  const commit = db.transaction(accept).immediate
  return (command, answer) => answer(commit(command))
}

/** One transaction for all requests that came in one turn of the event loop; each is answered after its commit. */
const grouped = (filename: string, key: string): Accept => {
  const { accept, db } = openStore(filename, key)
  const commit = db.transaction((commands: ReadonlyArray<Command>) => commands.map(accept)).immediate
  let waiting: Array<{ readonly command: Command; readonly answer: (accepted: Accepted) => void }> = []
  const flush = (): void => {
    const group = waiting
    waiting = []
    const accepted = commit(group.map(({ command }) => command))
    for (const [place, { answer }] of group.entries()) answer(accepted[place] ?? 409)
  }
  return (command, answer) => {
    if (waiting.length === 0) setImmediate(flush)
    waiting.push({ command, answer })
  }
}

/** By the name that the parts give to a child. */
export const make = (kind: string, filename: string, key: string): Accept =>
  (kind === "grouped" ? grouped : direct)(filename, key)
