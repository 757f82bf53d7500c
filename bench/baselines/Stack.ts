/**
 * What a careful author keeps of a send who has no engine: jobs, recipients, consents and webhooks in tables of their own,
 * every commit synced, nothing sent without consent or twice, on SQLite and on PostgreSQL.
 */
import { randomUUID } from "node:crypto"
import Pg from "pg"
import type { SendRequest } from "./Checks.ts"
import type { Accepted, Command } from "./Store.ts"
import * as Store from "./Store.ts"

/** A recipient in hand: nobody else takes it before the lease is over. */
export interface Claimed {
  readonly job: number
  readonly place: number
  readonly id: string
  readonly phone: string
  readonly variables: string
}

export interface Sent {
  readonly job: number
  readonly place: number
  readonly providerId: string
}

export interface Stack {
  readonly consent: (phones: ReadonlyArray<string>) => Promise<void>
  readonly accept: (command: Command) => Promise<Accepted>
  /** Some that are due and whose consent stands. */
  readonly claim: (most: number) => Promise<ReadonlyArray<Claimed>>
  /** Answers the jobs that are complete with them, whose webhooks are written in the same commit. */
  readonly settle: (sent: ReadonlyArray<Sent>) => Promise<ReadonlyArray<string>>
  readonly told: (jobs: ReadonlyArray<string>) => Promise<void>
  /** Receipts by our ids: a job and a place. */
  readonly deliver: (ids: ReadonlyArray<string>) => Promise<void>
}

const leaseMs = 30_000

/** A receipt may come before the outcome is stored. */
const acceptedUnlessTold = "CASE WHEN status = 'sending' THEN 'accepted' ELSE status END"

const onSqlite = (filename: string): Stack => {
  const db = Store.open(filename)
  const write = Store.jobWriter(db)
  db.exec(`CREATE TABLE webhook (job TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE INDEX recipient_due ON recipient (next_at) WHERE next_at IS NOT NULL;
    ALTER TABLE job ADD COLUMN sent INTEGER NOT NULL DEFAULT 0`)
  const insertConsent = db.prepare("INSERT OR IGNORE INTO consent (key, phone) VALUES ('key', ?)")
  const isAllowed = db.prepare("SELECT 1 FROM consent WHERE key = 'key' AND phone = ?").pluck()
  const find = db.prepare<[string, string], { id: string; fingerprint: string; recipients: number }>(
    "SELECT id, fingerprint, recipients FROM job WHERE key = ? AND idempotency_key = ?"
  )
  const accept = db.transaction((command: Command): Accepted => {
    const { fingerprint, idempotencyKey, key, request } = command
    for (const { phone } of request.recipients) if (isAllowed.get(phone) === undefined) return 403
    const jobId = write(command)
    if (jobId !== null) return { jobId, recipients: request.recipients.length }
    const earlier = find.get(key, idempotencyKey)
    return earlier?.fingerprint === fingerprint ? { jobId: earlier.id, recipients: earlier.recipients } : 409
  }).immediate
  const due = db.prepare<
    [number, number],
    Claimed
  >(`SELECT recipient.job, place, job.id, phone, variables FROM recipient
    JOIN job ON job.seq = recipient.job
    WHERE recipient.next_at <= ? AND EXISTS (SELECT 1 FROM consent WHERE consent.key = 'key' AND consent.phone = recipient.phone)
    ORDER BY recipient.next_at LIMIT ?`)
  const take = db.prepare(
    "UPDATE recipient SET status = 'sending', attempts = attempts + 1, next_at = ? WHERE job = ? AND place = ?"
  )
  const claim = db.transaction((most: number) => {
    const now = Date.now()
    const found = due.all(now, most)
    for (const { job, place } of found) take.run(now + leaseMs, job, place)
    return found
  }).immediate
  const end =
    db.prepare(`UPDATE recipient SET status = ${acceptedUnlessTold}, provider_id = ?, next_at = NULL, updated_at = ?
    WHERE job = ? AND place = ? AND next_at IS NOT NULL`)
  const count = db.prepare<[number, number], { id: string; isDone: number }>(
    "UPDATE job SET sent = sent + ? WHERE seq = ? RETURNING id, sent = recipients AS isDone"
  )
  const complete = db.prepare("UPDATE job SET status = 'completed', next_at = NULL WHERE id = ?")
  const webhook = db.prepare("INSERT INTO webhook (job) VALUES (?)")
  const settle = db.transaction((sent: ReadonlyArray<Sent>) => {
    const now = Date.now()
    const ofJob = new Map<number, number>()
    for (const { job, place, providerId } of sent)
      if (end.run(providerId, now, job, place).changes > 0) ofJob.set(job, (ofJob.get(job) ?? 0) + 1)
    const done: Array<string> = []
    for (const [job, some] of ofJob) {
      const counted = count.get(some, job)
      if (counted?.isDone !== 1) continue
      complete.run(counted.id)
      webhook.run(counted.id)
      done.push(counted.id)
    }
    return done
  }).immediate
  const forget = db.prepare("DELETE FROM webhook WHERE job = ?")
  const report = db.prepare(`UPDATE recipient SET status = 'delivered', updated_at = ?
    WHERE job = (SELECT seq FROM job WHERE id = ?) AND place = ?`)
  const each = <A>(use: (item: A) => void) =>
    db.transaction((items: ReadonlyArray<A>) => items.forEach(use)).immediate
  const consentAll = each((phone: string) => insertConsent.run(phone))
  const forgetAll = each((job: string) => forget.run(job))
  const reportAll = each((id: string) => report.run(Date.now(), ...Object.values(partsOf(id))))
  return {
    consent: async (phones) => consentAll(phones),
    accept: async (command) => accept(command),
    claim: async (most) => claim(most),
    settle: async (sent) => settle(sent),
    told: async (jobs) => forgetAll(jobs),
    deliver: async (ids) => reportAll(ids)
  }
}

/** Our id of a message: the job's id, and the recipient's place in it. */
export const idOf = ({ id, place }: Pick<Claimed, "id" | "place">): string => `${id}:${place}`

const partsOf = (messageId: string) => {
  const at = messageId.lastIndexOf(":")
  return { id: messageId.slice(0, at), place: Number(messageId.slice(at + 1)) }
}

const schema = `
CREATE TABLE consent (key TEXT NOT NULL, phone TEXT NOT NULL, PRIMARY KEY (key, phone));
CREATE TABLE usage (key TEXT NOT NULL, day TEXT NOT NULL, recipients INTEGER NOT NULL, PRIMARY KEY (key, day));
CREATE TABLE job (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL,
  idempotency_key TEXT NOT NULL, fingerprint TEXT NOT NULL, template INTEGER NOT NULL, status TEXT NOT NULL, recipients INTEGER NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0, created_at BIGINT NOT NULL, UNIQUE (key, idempotency_key));
CREATE TABLE recipient (job BIGINT NOT NULL, place INTEGER NOT NULL, phone TEXT NOT NULL, external_id TEXT, variables TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0, next_at BIGINT, updated_at BIGINT, provider_id TEXT,
  PRIMARY KEY (job, place)) WITH (fillfactor = 50);
CREATE INDEX recipient_due ON recipient (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE webhook (job TEXT PRIMARY KEY);`

const onPostgres = async (url: string): Promise<Stack> => {
  const pool = new Pg.Pool({ connectionString: url, max: 10 })
  await pool.query(schema)
  const query =
    (name: string, text: string) =>
    (values: ReadonlyArray<unknown>, through: Pg.ClientBase | Pg.Pool = pool) =>
      through.query({ name, text, values: [...values] })
  const within = async <A>(use: (client: Pg.PoolClient) => Promise<A>): Promise<A> => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const answer = await use(client)
      await client.query("COMMIT")
      return answer
    } catch (error) {
      await client.query("ROLLBACK")
      throw error
    } finally {
      client.release()
    }
  }
  const consent = query(
    "consent",
    "INSERT INTO consent SELECT 'key', unnest($1::text[]) ON CONFLICT DO NOTHING"
  )
  const allowed = query(
    "allowed",
    "SELECT count(*)::int AS n FROM consent WHERE key = 'key' AND phone = ANY ($1::text[])"
  )
  const insertJob = query(
    "job",
    `INSERT INTO job (id, key, idempotency_key, fingerprint, template, status, recipients, created_at)
     VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7) ON CONFLICT DO NOTHING RETURNING seq`
  )
  const insertRecipients = query(
    "recipients",
    `INSERT INTO recipient (job, place, phone, external_id, variables, next_at, updated_at)
     SELECT $1::bigint, given.place - 1, given.phone, given.external, given.variables, $2::bigint, $2::bigint
     FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS given (phone, external, variables, place)`
  )
  const addUsage = query(
    "usage",
    `INSERT INTO usage (key, day, recipients) VALUES ($1, $2, $3)
     ON CONFLICT (key, day) DO UPDATE SET recipients = usage.recipients + excluded.recipients`
  )
  const find = query(
    "find",
    "SELECT id, fingerprint, recipients FROM job WHERE key = $1 AND idempotency_key = $2"
  )
  const take = query(
    "take",
    `WITH due AS (
       SELECT job, place FROM recipient WHERE next_at <= $1
         AND EXISTS (SELECT FROM consent WHERE consent.key = 'key' AND consent.phone = recipient.phone)
       ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE recipient SET status = 'sending', attempts = attempts + 1, next_at = $1 + ${leaseMs} FROM due, job
     WHERE recipient.job = due.job AND recipient.place = due.place AND job.seq = due.job
     RETURNING recipient.job::int, recipient.place, job.id, recipient.phone, recipient.variables`
  )
  // Outcomes and receipts lock in one order. One statement, and so one commit: who is still ours, the jobs' counts, the webhooks of those that are complete.
  const end = query(
    "end",
    `WITH locked AS (
       SELECT recipient.job, recipient.place, given.provider
       FROM unnest($2::bigint[], $3::int[], $4::text[]) AS given (job, place, provider) JOIN recipient
         ON recipient.job = given.job AND recipient.place = given.place AND recipient.next_at IS NOT NULL
       ORDER BY recipient.job, recipient.place FOR UPDATE OF recipient
     ), ended AS (
       UPDATE recipient SET status = ${acceptedUnlessTold}, provider_id = locked.provider, next_at = NULL, updated_at = $1
       FROM locked WHERE recipient.job = locked.job AND recipient.place = locked.place RETURNING recipient.job
     ), counted AS (
       UPDATE job SET sent = sent + fresh.n, status = CASE WHEN sent + fresh.n = recipients THEN 'completed' ELSE status END
       FROM (SELECT job, count(*)::int AS n FROM ended GROUP BY job) AS fresh WHERE job.seq = fresh.job RETURNING id, status
     )
     INSERT INTO webhook (job) SELECT id FROM counted WHERE status = 'completed' RETURNING job`
  )
  const forget = query("forget", "DELETE FROM webhook WHERE job = ANY ($1::text[])")
  const report = query(
    "report",
    `WITH locked AS (
       SELECT recipient.job, recipient.place FROM unnest($2::text[], $3::int[]) AS given (id, place) JOIN job ON job.id = given.id
         JOIN recipient ON recipient.job = job.seq AND recipient.place = given.place
       ORDER BY recipient.job, recipient.place FOR UPDATE OF recipient
     )
     UPDATE recipient SET status = 'delivered', updated_at = $1
     FROM locked WHERE recipient.job = locked.job AND recipient.place = locked.place`
  )
  return {
    consent: async (phones) => void (await consent([phones])),
    accept: ({ fingerprint, idempotencyKey, key, request }) =>
      within(async (client): Promise<Accepted> => {
        const { recipients, template_id } = request
        const wanted = new Set(recipients.map(({ phone }) => phone))
        const { rows: consented } = await allowed([[...wanted]], client)
        if (consented[0]?.n !== wanted.size) return 403
        const [id, now, count] = [randomUUID(), Date.now(), recipients.length]
        const inserted = await insertJob(
          [id, key, idempotencyKey, fingerprint, template_id, count, now],
          client
        )
        const [job] = inserted.rows
        if (job === undefined) {
          const [earlier] = (await find([key, idempotencyKey], client)).rows
          return earlier?.fingerprint === fingerprint
            ? { jobId: earlier.id, recipients: earlier.recipients }
            : 409
        }
        await insertRecipients([job.seq, now, ...columnsOf(recipients)], client)
        await addUsage([key, new Date(now).toISOString().slice(0, 10), count], client)
        return { jobId: id, recipients: count }
      }),
    claim: async (most) => (await take([Date.now(), most])).rows,
    settle: async (sent) => {
      const { rows } = await end([
        Date.now(),
        sent.map(({ job }) => job),
        sent.map(({ place }) => place),
        sent.map(({ providerId }) => providerId)
      ])
      return rows.map(({ job }) => String(job))
    },
    told: async (jobs) => void (await forget([jobs])),
    deliver: async (ids) => {
      const parts = ids.map(partsOf)
      await report([Date.now(), parts.map(({ id }) => id), parts.map(({ place }) => place)])
    }
  }
}

const columnsOf = (recipients: SendRequest["recipients"]) => [
  recipients.map(({ phone }) => phone),
  recipients.map(({ external_id = null }) => external_id),
  recipients.map(({ variables = {} }) => JSON.stringify(Object.values(variables)))
]

/** By a file, or a URL of PostgreSQL. */
export const make = async (where: string): Promise<Stack> =>
  where.startsWith("postgres") ? onPostgres(where) : onSqlite(where)
