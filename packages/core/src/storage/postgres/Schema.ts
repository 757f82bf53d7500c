/**
 * The tables: those of SQLite in PostgreSQL's words. Texts that are compared or ordered do so byte by byte
 * (`COLLATE "C"`), as they do there.
 * Tables whose rows change often leave room in their pages, so that a change stays in its page and touches no
 * index. Times are milliseconds since 1970.
 */
import type { Migration } from "../sql/Migrations.ts"

const first: Migration = {
  id: 1,
  name: "first release",
  statements: `
CREATE TABLE sendwright_account (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  name TEXT NOT NULL,
  currency TEXT NOT NULL,
  plan TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

CREATE TABLE sendwright_session (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  account TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  config TEXT NOT NULL,
  pacing TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  connected_since BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  blocked_until BIGINT,
  -- Null: the words that come with Sendwright.
  keywords TEXT,
  -- unavailable_since, probe_at, probe_interval: a platform that does not answer. retry_for: for how long
  -- a transient error is tried again, null by what is sent. All in milliseconds.
  unavailable_since BIGINT,
  probe_at BIGINT,
  probe_interval BIGINT,
  retry_for BIGINT,
  -- Markets that are closed for a category, in JSON; null = those of the provider.
  closed_markets TEXT
);
CREATE INDEX sendwright_session_account ON sendwright_session (account, seq);
CREATE INDEX sendwright_session_blocked ON sendwright_session (blocked_until) WHERE blocked_until IS NOT NULL;
CREATE INDEX sendwright_session_unavailable ON sendwright_session (unavailable_since) WHERE unavailable_since IS NOT NULL;

-- The platform's names of a session: news of it may come to the hook of another one. sealed: the end of the configuration
-- by which they were written.
CREATE TABLE sendwright_address (
  address TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (address, session)
);
CREATE INDEX sendwright_address_session ON sendwright_address (session);

CREATE TABLE sendwright_api_key (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  public_key TEXT COLLATE "C" NOT NULL UNIQUE,
  session TEXT COLLATE "C" NOT NULL,
  name TEXT,
  permissions TEXT NOT NULL,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT
) WITH (fillfactor=70);
CREATE INDEX sendwright_api_key_session ON sendwright_api_key (session, seq);

CREATE TABLE sendwright_template (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  language TEXT NOT NULL,
  category TEXT NOT NULL,
  status TEXT NOT NULL,
  content TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- platform_id: the platform's own id. check_at: when the platform is asked for it next, since it may be another there than
  -- here; its jobs wait until then. checks: how often it was asked without an answer. checked_at: when it answered last.
  platform_id TEXT,
  check_at BIGINT,
  checks BIGINT NOT NULL DEFAULT 0,
  checked_at BIGINT,
  UNIQUE (session, name, language)
);
CREATE INDEX sendwright_template_check ON sendwright_template (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX sendwright_template_platform ON sendwright_template (session, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX sendwright_template_session ON sendwright_template (session, id);

-- seq is the order of recording among the records of one person.
CREATE TABLE sendwright_consent (
  account TEXT COLLATE "C" NOT NULL,
  -- person: a phone, or a user id with its portfolio. phone and user_id: what else is known of whom the
  -- record is of.
  person TEXT COLLATE "C" NOT NULL,
  occurred_at BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  purpose TEXT NOT NULL,
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  proof TEXT,
  recorded_at BIGINT NOT NULL,
  phone TEXT,
  user_id TEXT,
  -- What the platform or the account told, and the session whose platform did (null of an account's own records).
  reported_at BIGINT,
  dated_by TEXT,
  PRIMARY KEY (account, person, occurred_at, seq)
);
-- Whoever revokes thousands of times is asked for the last place with each of them.
CREATE INDEX sendwright_consent_recorded ON sendwright_consent (account, person, seq);
-- Who may have lost a consent since a job was accepted.
CREATE INDEX sendwright_consent_revoked ON sendwright_consent (account, person) WHERE status = 'revoked';
-- The last of each purpose and status is found, however many there are.
CREATE INDEX sendwright_consent_standing ON sendwright_consent (account, person, purpose, status, occurred_at, seq);

-- What is known of one key of a person leads to another. told: both were told together.
CREATE TABLE sendwright_person_link (
  account TEXT COLLATE "C" NOT NULL,
  person TEXT COLLATE "C" NOT NULL,
  other TEXT COLLATE "C" NOT NULL,
  told INTEGER NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (account, person, other)
);

-- Texts that have an opt-out word among others, until an operator records them as opt-outs. portfolio: the scope of user_id.
CREATE TABLE sendwright_perhaps_refusal (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  portfolio TEXT NOT NULL,
  phone TEXT,
  user_id TEXT,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at BIGINT NOT NULL,
  reported_at BIGINT,
  recorded_at BIGINT NOT NULL
);
CREATE INDEX sendwright_perhaps_refusal_account ON sendwright_perhaps_refusal (account, seq);

-- What came in and names nobody.
CREATE TABLE sendwright_unattributed (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at BIGINT NOT NULL,
  recorded_at BIGINT NOT NULL
);
CREATE INDEX sendwright_unattributed_account ON sendwright_unattributed (account, seq);

-- Parts of hooks that nobody understood, numbered from 1 within their session.
CREATE TABLE sendwright_unread_hook (
  session TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  id TEXT NOT NULL,
  field TEXT NOT NULL,
  reason TEXT NOT NULL,
  content TEXT NOT NULL,
  is_cut BIGINT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (session, number)
);
CREATE INDEX sendwright_unread_hook_received ON sendwright_unread_hook (received_at);

CREATE TABLE sendwright_rate_card (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  currency TEXT NOT NULL,
  effective_from BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  prices TEXT NOT NULL
);
CREATE INDEX sendwright_rate_card_currency ON sendwright_rate_card (currency, effective_from, seq);

-- Contents of jobs, each kept once.
CREATE TABLE sendwright_snapshot (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest TEXT COLLATE "C" NOT NULL UNIQUE,
  body TEXT NOT NULL
);

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

-- The last count with which each worker said that it lives.
CREATE TABLE sendwright_worker (
  id TEXT COLLATE "C" PRIMARY KEY,
  beats BIGINT NOT NULL,
  -- dispatches_at: when it last said that it lives, of a process that takes by itself what is due.
  dispatches_at BIGINT
) WITH (fillfactor=50);

-- arrival: when the next message would find the session idle, in milliseconds with fractions.
CREATE TABLE sendwright_pace (
  -- Sessions and webhook endpoints.
  paced TEXT COLLATE "C" PRIMARY KEY,
  arrival DOUBLE PRECISION NOT NULL
) WITH (fillfactor=50);

-- next_at: not before it the session's next message to the phone.
CREATE TABLE sendwright_pair (
  session TEXT COLLATE "C" NOT NULL,
  phone TEXT COLLATE "C" NOT NULL,
  next_at BIGINT NOT NULL,
  PRIMARY KEY (session, phone)
);
CREATE INDEX sendwright_pair_next ON sendwright_pair (session, next_at);

-- arrival: when the key's next request would find its allowance whole, in milliseconds with fractions.
-- Every request writes it, and a crash may give each key one burst again: not worth waiting for the disk.
CREATE UNLOGGED TABLE sendwright_rate (
  key TEXT COLLATE "C" PRIMARY KEY,
  arrival DOUBLE PRECISION NOT NULL
) WITH (fillfactor=50);

-- Reports of which only the platform's id is known, and not yet of which message that is.
CREATE TABLE sendwright_parked (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session TEXT COLLATE "C" NOT NULL,
  provider_id TEXT NOT NULL,
  report TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX sendwright_parked_at ON sendwright_parked (at);
-- Only the newest of a session are kept.
CREATE INDEX sendwright_parked_session ON sendwright_parked (session, seq);

-- What came in and was told, so that it is told once.
CREATE TABLE sendwright_inbound (
  id TEXT COLLATE "C" PRIMARY KEY,
  at BIGINT NOT NULL
);
CREATE INDEX sendwright_inbound_at ON sendwright_inbound (at);

CREATE TABLE sendwright_endpoint (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  account TEXT COLLATE "C" NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT,
  enabled INTEGER NOT NULL,
  disabled_reason TEXT,
  secrets TEXT NOT NULL,
  failing_since BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deliveries_per_second DOUBLE PRECISION,
  batch_recipients INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sendwright_endpoint_account ON sendwright_endpoint (account, seq);

CREATE TABLE sendwright_event (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- attempts: all that were made; tries: those of the running schedule.
-- due_at: when it may be taken: at next_at, or at the end of the lease while a worker has it; null when it is over.
CREATE TABLE sendwright_delivery (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  endpoint BIGINT NOT NULL,
  event BIGINT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  first_attempt_at BIGINT,
  next_at BIGINT,
  due_at BIGINT,
  worker TEXT COLLATE "C",
  fence BIGINT NOT NULL,
  created_at BIGINT NOT NULL
) WITH (fillfactor=70);
-- By endpoint, so that what waits for a disabled one is passed over as a whole and needs no write to wait.
CREATE INDEX sendwright_delivery_due ON sendwright_delivery (endpoint, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX sendwright_delivery_endpoint ON sendwright_delivery (endpoint, seq);
-- What was attempted and waits: little, and found without reading a backlog that was not.
CREATE INDEX sendwright_delivery_tried ON sendwright_delivery (endpoint) WHERE tries > 0 AND due_at IS NOT NULL;
-- While a worker has a delivery in hand it has no due_at; the worker says that it lives, or is rescued.
CREATE INDEX sendwright_delivery_worker ON sendwright_delivery (worker) WHERE worker IS NOT NULL;

CREATE TABLE sendwright_attempt (
  delivery BIGINT NOT NULL,
  number INTEGER NOT NULL,
  at BIGINT NOT NULL,
  status INTEGER,
  duration_ms BIGINT NOT NULL,
  reason TEXT,
  excerpt TEXT NOT NULL,
  PRIMARY KEY (delivery, number)
);

-- The master keys that processes have to be given, in the order in which they were added.
CREATE TABLE sendwright_master_key (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  added_at BIGINT NOT NULL,
  retired_at BIGINT
);

-- One row, which probes write.
CREATE TABLE sendwright_probe (probes BIGINT NOT NULL);
INSERT INTO sendwright_probe (probes) VALUES (0);

CREATE TABLE sendwright_operator (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL UNIQUE,
  role TEXT NOT NULL,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT
);

-- before_act and after_act: what is shown of the target, in JSON.
CREATE TABLE sendwright_audit (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  operator TEXT COLLATE "C" NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C",
  address TEXT,
  request_id TEXT,
  before_act TEXT,
  after_act TEXT
);
CREATE INDEX sendwright_audit_at ON sendwright_audit (at);
CREATE INDEX sendwright_audit_operation ON sendwright_audit (operation, seq);
CREATE INDEX sendwright_audit_operator ON sendwright_audit (operator, seq);
CREATE INDEX sendwright_audit_target ON sendwright_audit (target, seq) WHERE target IS NOT NULL;

-- A row while nothing is sent, since the store was restored: all that is open up to last_job was so before. What an operator
-- opens in parts has come to the job opened, with these counts.
CREATE TABLE sendwright_quarantine (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  reason TEXT COLLATE "C" NOT NULL,
  since BIGINT NOT NULL,
  last_job BIGINT NOT NULL,
  opened BIGINT NOT NULL,
  counts TEXT COLLATE "C" NOT NULL
);

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
