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
  -- backlog_at: when it is due first, in the order of seq within its session; null where it has no place in that order.
  backlog_at BIGINT
);
CREATE INDEX sendwright_job_account ON sendwright_job (account, kind, seq);
CREATE INDEX sendwright_job_account_reference ON sendwright_job (account, reference, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_backlog ON sendwright_job (session, (seq + 0)) WHERE backlog_at IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job (account, created_at, recipients) WHERE kind = 'embedded';
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job (public_key, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_job_key ON sendwright_job (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job (public_key, reference, seq) WHERE reference IS NOT NULL;

-- What changes of it, in a narrow row: what is indexed of it changes each time, and then all indexes are written.
-- next_at: when it has work next; null while a worker has some of it in hand and when it may not be dispatched.
-- in_flight: how many of its recipients await an outcome from that worker.
CREATE TABLE sendwright_progress (
  seq BIGINT PRIMARY KEY,
  session TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  pause_reason TEXT,
  queued INTEGER NOT NULL,
  sending INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  sent INTEGER NOT NULL,
  delivered INTEGER NOT NULL,
  read INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  canceled INTEGER NOT NULL,
  unknown INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,
  next_at BIGINT,
  worker TEXT COLLATE "C",
  fence BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  completed_at BIGINT,
  -- Recipients between two places whose own rows tell nothing yet are in hand since then, whatever their own next_at and
  -- fence tell. Null when nothing of the job is in hand, and where each row tells of itself.
  taken_first INTEGER,
  taken_last INTEGER,
  taken_at BIGINT
) WITH (fillfactor=70);
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_paused ON sendwright_progress (session, seq) WHERE status = 'paused';
CREATE INDEX sendwright_progress_worker ON sendwright_progress (worker) WHERE worker IS NOT NULL;

-- The jobs from first to last that a worker took together. open: how many of them have no row yet; the worker is null
-- when none is. version: of its last write. The newest of a session is the cursor of its backlog.
CREATE TABLE sendwright_batch (
  session TEXT COLLATE "C" NOT NULL,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  worker TEXT COLLATE "C",
  open INTEGER NOT NULL,
  at BIGINT NOT NULL,
  version TEXT NOT NULL,
  PRIMARY KEY (session, first)
) WITH (fillfactor=50);
CREATE INDEX sendwright_batch_worker ON sendwright_batch (worker) WHERE worker IS NOT NULL;

-- The sessions that may have a backlog.
CREATE TABLE sendwright_busy (
  session TEXT COLLATE "C" PRIMARY KEY
);

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited; null when none is. A report may overtake the outcome.
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
`
}

/** From the first release on this list only grows (docs/adr/0030). */
export const migrations: ReadonlyArray<Migration> = [first]
