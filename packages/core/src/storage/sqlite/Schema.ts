/**
 * The tables. What is large and hot is clustered by small integer keys and carries no index but its own: a job's
 * recipients lie side by side, so that a batch of them is one range. A job's own row is written once, and its state is in
 * `sendwright_progress` (docs/adr/0028).
 */
import type { Migration } from "../sql/Migrations.ts"
import { tables } from "../sql/Schema.ts"

const words = {
  key: "INTEGER PRIMARY KEY",
  publicKey: "INTEGER PRIMARY KEY AUTOINCREMENT",
  long: "INTEGER",
  real: "REAL",
  exact: "TEXT",
  rows: ({ clustered }: { readonly clustered?: true } = {}): string =>
    clustered === true ? " STRICT, WITHOUT ROWID" : " STRICT"
}

const first: Migration = {
  id: 1,
  name: "first release",
  statements: `${tables(words)}
-- What stays of a job. backlog_at: when it is due first, in the order of seq within its session; null where it has no
-- place in that order.
CREATE TABLE sendwright_job (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  session TEXT NOT NULL,
  public_key TEXT NOT NULL,
  kind TEXT NOT NULL,
  template INTEGER,
  snapshot INTEGER NOT NULL,
  -- The client's own name for it. Indexed only where there is one, so that a send without costs nothing.
  reference TEXT,
  currency TEXT NOT NULL,
  estimated_cost TEXT,
  idempotency_key TEXT,
  fingerprint TEXT,
  answer TEXT,
  recipients INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.
  -- The newest job tells, and when its API key's last send was accepted: no row is written by every accept.
  day_total INTEGER,
  backlog_at INTEGER
) STRICT;
CREATE INDEX sendwright_job_account ON sendwright_job (account, kind, seq);
CREATE INDEX sendwright_job_account_reference ON sendwright_job (account, reference, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_backlog ON sendwright_job (session, (seq + 0)) WHERE backlog_at IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job (account, created_at, recipients) WHERE kind = 'embedded';
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job (public_key, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_job_key ON sendwright_job (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job (public_key, reference, seq) WHERE reference IS NOT NULL;

-- What became of a job lies in a row of its own, once something did.
CREATE TABLE sendwright_progress (
  seq INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
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
  next_at INTEGER,
  worker TEXT,
  fence INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  completed_at INTEGER,
  taken_first INTEGER,
  taken_last INTEGER,
  taken_at INTEGER,
  version TEXT NOT NULL
) STRICT;
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, next_at, seq, status) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_paused ON sendwright_progress (session, seq) WHERE status = 'paused';
CREATE INDEX sendwright_progress_worker ON sendwright_progress (worker) WHERE worker IS NOT NULL;

-- The jobs from first to last that a worker took together. open: how many of them have no row yet; the worker is null
-- when none is. version: of its last write. The newest of a session is the cursor of its backlog.
CREATE TABLE sendwright_batch (
  session TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  worker TEXT,
  open INTEGER NOT NULL,
  at INTEGER NOT NULL,
  version TEXT NOT NULL,
  PRIMARY KEY (session, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_batch_worker ON sendwright_batch (worker) WHERE worker IS NOT NULL;

-- The sessions that may have a backlog.
CREATE TABLE sendwright_busy (
  session TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- seq: its job's seq × 4096 + its place, so that the table is clustered by job without a composite key.
-- next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited; null when none is. A report may overtake the outcome.
CREATE TABLE sendwright_recipient (
  seq INTEGER PRIMARY KEY,
  phone TEXT NOT NULL,
  external_id TEXT,
  variables TEXT NOT NULL,
  market TEXT,
  price TEXT,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  next_at INTEGER,
  fence INTEGER,
  updated_at INTEGER NOT NULL,
  failure TEXT,
  provider_id TEXT,
  sent_at INTEGER,
  delivered_at INTEGER,
  read_at INTEGER,
  -- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
  lost INTEGER NOT NULL DEFAULT 0,
  uncertain INTEGER NOT NULL DEFAULT 0,
  pricing TEXT,
  -- The time of the first attempt, once that is to be repeated.
  retrying_since INTEGER,
  -- When an operator had it sent again; null when nobody did.
  requeued_at INTEGER
) STRICT;
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient (provider_id) WHERE provider_id IS NOT NULL;

-- Empty but for the moment of a probe.
CREATE TABLE sendwright_probe (
  content BLOB NOT NULL
) STRICT;

-- The store's id and its count of starts and commits, which the file beside it has, too.
CREATE TABLE sendwright_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store TEXT NOT NULL,
  commits INTEGER NOT NULL
) STRICT;
`
}

/** From the first release on this list only grows (docs/adr/0030). */
export const migrations: ReadonlyArray<Migration> = [first]
