/**
 * The tables: those of SQLite in PostgreSQL's words.
 */
import type { Migration } from "../sql/Migrations.ts"
import { tables } from "../sql/Schema.ts"

const words = {
  key: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  publicKey: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  long: "BIGINT",
  real: "DOUBLE PRECISION",
  exact: 'TEXT COLLATE "C"',
  rows: ({ room }: { readonly room?: number } = {}): string =>
    room === undefined ? "" : ` WITH (fillfactor=${room})`
}

/** A time in words. */
const time = (column: string): string => `to_timestamp(${column} / 1000.0)`

const first: Migration = {
  id: 1,
  name: "first release",
  statements: `${tables(words)}
-- What stays of a job as it was accepted.
CREATE TABLE sendwright_job (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  account TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  public_key TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  template BIGINT,
  snapshot BIGINT NOT NULL,
  currency TEXT NOT NULL,
  estimated_cost TEXT,
  idempotency_key TEXT COLLATE "C",
  fingerprint TEXT,
  answer TEXT,
  recipients INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  -- The client's own name for it. Indexed only where there is one, so that a send without costs nothing.
  reference TEXT COLLATE "C",
  -- The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.
  -- The newest job tells, and when its API key's last send was accepted: no row is written by every accept.
  day_total BIGINT,
  -- A job has a row in sendwright_progress once something became of it.
  -- due_at: when it is due first, in the order of seq within its session; null where it has no place in that order.
  due_at BIGINT
);
CREATE INDEX sendwright_job_account ON sendwright_job (account, kind, seq);
CREATE INDEX sendwright_job_account_reference ON sendwright_job (account, reference, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_order ON sendwright_job (session, (seq + 0)) WHERE due_at IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job (account, created_at, recipients) WHERE kind = 'embedded';
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job (public_key, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_job_key ON sendwright_job (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job (public_key, reference, seq) WHERE reference IS NOT NULL;

-- What changes of a job, once more became of it than that a claim has it. counts: its recipients by status, in JSON, those
-- that are not 0. next_at: when it has work next; null while nothing of it waits, and when it may not be dispatched.
CREATE TABLE sendwright_progress (
  seq BIGINT PRIMARY KEY,
  session TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  pause_reason TEXT,
  counts TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  completed_at BIGINT,
  next_at BIGINT
) WITH (fillfactor=70);
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_going ON sendwright_progress (session, status, seq)
  WHERE status IN ('queued', 'processing', 'paused');

-- A claim has the untouched recipients of its session from first to last, keys of theirs both, and those whose rows have its
-- fence. jobs: those of which it has some, in JSON, but for whole ones in their session's order. open: how many outcomes it
-- awaits; the worker is null when it awaits none. place: the last job up to which it took the session's order.
-- overtaken: 1 once a recipient of it was written without its outcome, or by another process than who claimed it.
CREATE TABLE sendwright_claim (
  fence BIGINT PRIMARY KEY,
  session TEXT COLLATE "C" NOT NULL,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  jobs TEXT,
  worker TEXT COLLATE "C",
  open INTEGER NOT NULL,
  at BIGINT NOT NULL,
  place BIGINT,
  overtaken INTEGER NOT NULL
) WITH (fillfactor=50);
CREATE INDEX sendwright_claim_open ON sendwright_claim (session, last) WHERE worker IS NOT NULL;
CREATE INDEX sendwright_claim_place ON sendwright_claim (session, place);
CREATE INDEX sendwright_claim_worker ON sendwright_claim (worker) WHERE worker IS NOT NULL;

-- The sessions that may have jobs in their order.
CREATE TABLE sendwright_busy (session TEXT COLLATE "C" PRIMARY KEY);

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited. A report may overtake the outcome. Null when none is; 0 when it never was,
-- of a recipient that no claim has by its range since its job has no place in its session's order.
-- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
CREATE TABLE sendwright_recipient (
  seq BIGINT PRIMARY KEY,
  phone TEXT NOT NULL,
  external_id TEXT,
  variables TEXT NOT NULL,
  market TEXT,
  price TEXT,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  lost INTEGER NOT NULL DEFAULT 0,
  uncertain INTEGER NOT NULL DEFAULT 0,
  sequence INTEGER NOT NULL,
  next_at BIGINT,
  fence BIGINT,
  updated_at BIGINT NOT NULL,
  failure TEXT,
  provider_id TEXT,
  sent_at BIGINT,
  delivered_at BIGINT,
  read_at BIGINT,
  pricing TEXT,
  -- The time of the first attempt, once that is to be repeated.
  retrying_since BIGINT,
  -- When an operator had it sent again; null when nobody did.
  requeued_at BIGINT
) WITH (fillfactor=50);
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient (provider_id) WHERE provider_id IS NOT NULL;

-- arrival: when the key's next request would find its allowance whole, in milliseconds with fractions.
-- Every request writes it, and a crash may give each key one burst again: not worth waiting for the disk.
CREATE UNLOGGED TABLE sendwright_rate (
  key TEXT COLLATE "C" PRIMARY KEY,
  arrival DOUBLE PRECISION NOT NULL
) WITH (fillfactor=50);

-- One row, which probes write.
CREATE TABLE sendwright_probe (probes BIGINT NOT NULL);
INSERT INTO sendwright_probe (probes) VALUES (0);

-- Where the database is: what a server tells of itself, as far as a role may read it.
CREATE TABLE sendwright_instance (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  system TEXT COLLATE "C",
  database TEXT COLLATE "C",
  relation TEXT COLLATE "C",
  timeline BIGINT
);

-- For people: each job as it is, of which the tables tell in parts. Times are in UTC.
CREATE VIEW sendwright_jobs AS
SELECT job.id, job.account, job.session, CASE job.kind WHEN 'embedded' THEN 'template' ELSE job.kind END AS kind, job.reference,
  coalesce(progress.status, CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'processing' END) AS status,
  progress.pause_reason, job.recipients,
  coalesce(progress.counts, json_build_object(CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'sending' END, job.recipients)::text) AS counts,
  ${time("job.created_at")} AS created, ${time("coalesce(progress.updated_at, claim.at, job.created_at)")} AS updated,
  ${time("progress.completed_at")} AS completed,
  ${time("CASE WHEN progress.seq IS NOT NULL THEN progress.next_at WHEN claim.fence IS NULL THEN job.due_at END")} AS due
FROM sendwright_job AS job LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
  LEFT JOIN sendwright_claim AS claim ON progress.seq IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND job.seq * 4096 BETWEEN claim.first AND claim.last;

-- For people: each recipient as it is. is_in_flight: 1 while the outcome of an attempt is awaited.
CREATE VIEW sendwright_recipients AS
SELECT recipient.seq, job.id AS job, recipient.seq & 4095 AS place, recipient.phone, recipient.external_id,
  CASE WHEN claim.fence IS NULL THEN recipient.status ELSE 'sending' END AS status,
  CASE WHEN coalesce(recipient.fence, claim.fence, 0) = 0 THEN 0 ELSE 1 END AS is_in_flight,
  CASE WHEN claim.fence IS NULL THEN recipient.attempts ELSE 1 END AS attempts, recipient.failure, recipient.provider_id,
  ${time("CASE WHEN claim.fence IS NULL THEN recipient.next_at END")} AS due,
  ${time("coalesce(claim.at, recipient.updated_at)")} AS updated, ${time("recipient.sent_at")} AS sent,
  ${time("recipient.delivered_at")} AS delivered, ${time("recipient.read_at")} AS read
FROM sendwright_job AS job
  JOIN sendwright_recipient AS recipient ON recipient.seq BETWEEN job.seq * 4096 AND job.seq * 4096 + 4095
  LEFT JOIN sendwright_claim AS claim ON recipient.sequence = 0 AND recipient.status = 'queued'
    AND recipient.next_at = recipient.updated_at AND recipient.fence IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND recipient.seq BETWEEN claim.first AND claim.last;
`
}

/** From the first release on this list only grows (docs/adr/0030). */
export const migrations: ReadonlyArray<Migration> = [first]
