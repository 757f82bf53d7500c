-- The tables and views of a new SQLite database of this build, each with its indexes. The migrations make them; this file shows
-- what they made. packages/core/test/storage/SchemaDocs.test.ts prints it, and docs/changing.md says how to write it anew.
-- The comments come from the migrations, whose text never changes once it is released.

CREATE TABLE sendwright_account (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  currency TEXT NOT NULL,
  plan TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- How long its rows are kept, in JSON: what differs from the defaults; null where nothing does.
  retention TEXT,
  -- How many messages a person may have, by purpose; null where there is no cap.
  caps TEXT
) STRICT;
CREATE INDEX sendwright_account_retention ON sendwright_account (id) WHERE retention IS NOT NULL;

-- The platform's names of a session: news of it may come to the hook of another one. sealed: the end of the configuration
-- by which they were written.
CREATE TABLE sendwright_address (
  address TEXT NOT NULL,
  session TEXT NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (address, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_address_session ON sendwright_address (session);

CREATE TABLE sendwright_api_key (
  seq INTEGER PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  session TEXT NOT NULL,
  name TEXT,
  permissions TEXT NOT NULL,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;
CREATE INDEX sendwright_api_key_session ON sendwright_api_key (session, seq);

CREATE TABLE sendwright_attempt (
  delivery INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  status INTEGER,
  duration_ms INTEGER NOT NULL,
  reason TEXT,
  excerpt TEXT NOT NULL,
  PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

-- before_act and after_act: what is shown of the target, in JSON.
CREATE TABLE sendwright_audit (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  operator TEXT NOT NULL,
  operation TEXT NOT NULL,
  target TEXT,
  address TEXT,
  request_id TEXT,
  before_act TEXT,
  after_act TEXT
) STRICT;
CREATE INDEX sendwright_audit_at ON sendwright_audit (at);
CREATE INDEX sendwright_audit_operation ON sendwright_audit (operation, seq);
CREATE INDEX sendwright_audit_operator ON sendwright_audit (operator, seq);
CREATE INDEX sendwright_audit_target ON sendwright_audit (target, seq) WHERE target IS NOT NULL;

-- The sessions that may have jobs in their orders, with the priorities of these.
CREATE TABLE sendwright_busy (
  session TEXT NOT NULL,
  priority TEXT NOT NULL,
  PRIMARY KEY (session, priority)
) STRICT, WITHOUT ROWID;

-- Messages that count against an account's caps.
CREATE TABLE sendwright_capped (
  account TEXT NOT NULL,
  person TEXT NOT NULL,
  purpose TEXT NOT NULL,
  message TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (account, person, purpose, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_capped_at ON sendwright_capped (account, at);

-- A claim has the untouched recipients of its session from first to last, keys of theirs both, and those whose rows have its
-- fence. jobs: those of which it has some, in JSON, but for whole ones in their session's order. open: how many outcomes it
-- awaits; the worker is null when it awaits none. place: the last job up to which it took the session's order of the priority.
-- overtaken: 1 once a recipient of it was written without its outcome, or by another process than who claimed it.
CREATE TABLE sendwright_claim (
  fence INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  priority TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  jobs TEXT,
  worker TEXT,
  open INTEGER NOT NULL,
  at INTEGER NOT NULL,
  place INTEGER,
  overtaken INTEGER NOT NULL
) STRICT;
CREATE INDEX sendwright_claim_open ON sendwright_claim (session, last) WHERE worker IS NOT NULL;
CREATE INDEX sendwright_claim_place ON sendwright_claim (session, priority, place);
CREATE INDEX sendwright_claim_worker ON sendwright_claim (worker) WHERE worker IS NOT NULL;

-- seq is the order of recording among the records of one person.
CREATE TABLE sendwright_consent (
  account TEXT NOT NULL,
  -- person: a phone, or a user id with its portfolio. phone and user_id: what else is known of whom the
  -- record is of.
  person TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  purpose TEXT NOT NULL,
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  proof TEXT,
  recorded_at INTEGER NOT NULL,
  phone TEXT,
  user_id TEXT,
  -- What the platform or the account told, and the session whose platform did (null of an account's own records).
  reported_at INTEGER,
  dated_by TEXT,
  PRIMARY KEY (account, person, occurred_at, seq)
) STRICT, WITHOUT ROWID;
-- Whoever revokes thousands of times is asked for the last place with each of them. By the person first: whoever searches
-- for one may not know the account.
CREATE INDEX sendwright_consent_recorded ON sendwright_consent (person, account, seq);
-- Refusals are few, and told by their time.
CREATE INDEX sendwright_consent_refused ON sendwright_consent (recorded_at) WHERE status = 'revoked';
-- The last of each purpose and status is found, however many there are.
CREATE INDEX sendwright_consent_standing ON sendwright_consent (account, person, purpose, status, occurred_at, seq);

-- attempts: all that were made; tries: those of the running schedule.
-- due_at: when it may be taken: at next_at, or at the end of the lease while a worker has it; null when it is over.
CREATE TABLE sendwright_delivery (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  endpoint INTEGER NOT NULL,
  event INTEGER NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  first_attempt_at INTEGER,
  next_at INTEGER,
  due_at INTEGER,
  worker TEXT,
  fence INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
-- By endpoint, so that what waits for a disabled one is passed over as a whole and needs no write to wait.
CREATE INDEX sendwright_delivery_due ON sendwright_delivery (endpoint, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX sendwright_delivery_endpoint ON sendwright_delivery (endpoint, seq);
-- An event goes with its last delivery.
CREATE INDEX sendwright_delivery_event ON sendwright_delivery (event);
-- What was attempted and waits: little, and found without reading a backlog that was not.
CREATE INDEX sendwright_delivery_tried ON sendwright_delivery (endpoint) WHERE tries > 0 AND due_at IS NOT NULL;
-- While a worker has a delivery in hand it has no due_at; the worker says that it lives, or is rescued.
CREATE INDEX sendwright_delivery_worker ON sendwright_delivery (worker) WHERE worker IS NOT NULL;

-- Attempts that their recipients do not tell: those before the last, and one whose first outcome a receipt changed. number: counted
-- anew after an operator's retry. message: what was said then; null once the person was erased.
CREATE TABLE sendwright_earlier_attempt (
  recipient INTEGER NOT NULL,
  at INTEGER NOT NULL,
  number INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT,
  provider_code TEXT,
  message TEXT,
  ms INTEGER,
  process TEXT,
  PRIMARY KEY (recipient, at, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE sendwright_endpoint (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT,
  enabled INTEGER NOT NULL,
  disabled_reason TEXT,
  secrets TEXT NOT NULL,
  failing_since INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deliveries_per_second REAL,
  batch_recipients INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sendwright_endpoint_account ON sendwright_endpoint (account, seq);
-- Those that somebody should look at.
CREATE INDEX sendwright_endpoint_failing ON sendwright_endpoint (seq) WHERE (enabled = 0 OR failing_since IS NOT NULL);

-- Names of people who were erased, as keyed hashes. What was said up to `at` counts for nothing. account: '' for all.
CREATE TABLE sendwright_erased (
  account TEXT NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (account, hash)
) STRICT, WITHOUT ROWID;

-- Acts of erasure, with counts of what went. next_at: when it is swept again; null once it is done.
CREATE TABLE sendwright_erasure (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT,
  reason TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  swept_at INTEGER NOT NULL,
  next_at INTEGER,
  waits_for TEXT NOT NULL,
  counts TEXT NOT NULL
) STRICT;
CREATE INDEX sendwright_erasure_next ON sendwright_erasure (next_at) WHERE next_at IS NOT NULL;

-- Sealed: the key of the hashes, and the names of people whose erasure goes on.
CREATE TABLE sendwright_erasure_secret (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  sealed TEXT NOT NULL
) STRICT;

CREATE TABLE sendwright_event (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  account TEXT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  traceparent TEXT,
  created_at INTEGER NOT NULL
) STRICT;

-- What no other row keeps, the newest of it (docs/night.md). subject: the id of what it happened to.
CREATE TABLE sendwright_happening (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  account TEXT,
  session TEXT,
  subject TEXT,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX sendwright_happening_at ON sendwright_happening (at, seq);
CREATE INDEX sendwright_happening_session ON sendwright_happening (session, at, seq) WHERE session IS NOT NULL;

-- What came in and was told, so that it is told once.
CREATE TABLE sendwright_inbound (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_inbound_at ON sendwright_inbound (at);

-- What stays of a job as it was accepted.
CREATE TABLE sendwright_job (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  session TEXT NOT NULL,
  public_key TEXT NOT NULL,
  kind TEXT NOT NULL,
  template INTEGER,
  snapshot INTEGER NOT NULL,
  currency TEXT NOT NULL,
  estimated_cost TEXT,
  idempotency_key TEXT,
  fingerprint TEXT,
  answer TEXT,
  recipients INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- The client's own name for it. Indexed only where there is one, so that a send without costs nothing.
  reference TEXT,
  -- Of the request that brought it.
  request_id TEXT,
  -- The span that it was accepted in, by W3C's header: its attempts and webhooks are told below that.
  traceparent TEXT,
  -- The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.
  -- The newest job tells, and when its API key's last send was accepted: no row is written by every accept.
  day_total INTEGER,
  -- A job has a row in sendwright_progress once something became of it.
  -- due_at: when it is due first, in the order of seq within its session and priority; null where it has no place in that order.
  due_at INTEGER,
  -- What goes first in its session: an order each.
  priority TEXT NOT NULL,
  -- Its own pace.
  per_minute INTEGER,
  -- The failures that pause it.
  stop_when TEXT
) STRICT;
CREATE INDEX sendwright_job_account ON sendwright_job (account, kind, seq);
-- By the reference first: whoever asks for one may not know the account.
CREATE INDEX sendwright_job_account_reference ON sendwright_job (reference, account, seq) WHERE reference IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job (account, created_at, recipients) WHERE kind = 'embedded';
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job (idempotency_key, public_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_job_key ON sendwright_job (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job (public_key, reference, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_order ON sendwright_job (session, priority, (seq + 0)) WHERE due_at IS NOT NULL;
-- Request ids of ours tell their time, by which their jobs are found; a client's own ones do not.
CREATE INDEX sendwright_job_request ON sendwright_job (request_id, seq) WHERE request_id IS NOT NULL AND (length(request_id) <> 36 OR substr(request_id, 15, 1) <> '7');
-- The direct messages that a text is kept for.
CREATE INDEX sendwright_job_text ON sendwright_job (snapshot) WHERE kind = 'direct';

-- The master keys that processes have to be given, in the order in which they were added.
CREATE TABLE sendwright_master_key (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  added_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;

CREATE TABLE sendwright_migration (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  compatible_from INTEGER NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sendwright_operator (
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  -- 1 where people's numbers are masked in all that it reads.
  mask_phones INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;

CREATE TABLE sendwright_owner (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  token TEXT NOT NULL
) STRICT;

-- arrival: when the next message would find the session idle, in milliseconds with fractions.
CREATE TABLE sendwright_pace (
  -- Sessions and webhook endpoints.
  paced TEXT PRIMARY KEY,
  arrival REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- next_at: not before it the session's next message to the phone.
CREATE TABLE sendwright_pair (
  session TEXT NOT NULL,
  phone TEXT NOT NULL,
  next_at INTEGER NOT NULL,
  PRIMARY KEY (session, phone)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_pair_next ON sendwright_pair (session, next_at);

-- Reports of which only the platform's id is known, and not yet of which message that is.
CREATE TABLE sendwright_parked (
  seq INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  report TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX sendwright_parked_at ON sendwright_parked (at);
-- Only the newest of a session are kept.
CREATE INDEX sendwright_parked_session ON sendwright_parked (session, seq);

-- Texts that have an opt-out word among others, until an operator records them as opt-outs. portfolio: the scope of user_id.
CREATE TABLE sendwright_perhaps_refusal (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  session TEXT NOT NULL,
  portfolio TEXT NOT NULL,
  phone TEXT,
  user_id TEXT,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  reported_at INTEGER,
  recorded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sendwright_perhaps_refusal_account ON sendwright_perhaps_refusal (account, seq);

-- What is known of one key of a person leads to another. told: both were told together.
CREATE TABLE sendwright_person_link (
  account TEXT NOT NULL,
  person TEXT NOT NULL,
  other TEXT NOT NULL,
  told INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (account, person, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_person_link_person ON sendwright_person_link (person, account);

-- Empty but for the moment of a probe.
CREATE TABLE sendwright_probe (
  content BLOB NOT NULL
) STRICT;

-- What changes of a job, once more became of it than that a claim has it. counts: its recipients by status, in JSON, those
-- that are not 0. next_at: when it has work next; null while nothing of it waits, and when it may not be dispatched.
CREATE TABLE sendwright_progress (
  seq INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  status TEXT NOT NULL,
  pause_reason TEXT,
  counts TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  completed_at INTEGER,
  next_at INTEGER,
  -- When its recipients' variables and its text were forgotten.
  content_expired_at INTEGER,
  -- How many of its recipients are failed or unknown.
  failures INTEGER NOT NULL DEFAULT 0,
  -- The job's.
  priority TEXT NOT NULL,
  -- Of a job that failures pause, in JSON: how many of its first outcomes failed for good, and when the first had come.
  firsts TEXT,
  -- Of a job with a pace of its own, as in sendwright_pace, but in whole milliseconds.
  arrival INTEGER,
  -- When its recipients may be sent, in JSON; null of a job that was asked for without a time.
  timing TEXT,
  -- Since when a direct message goes as its template.
  replaced_at INTEGER,
  -- The next time at which some of its recipients may expire.
  expires_at INTEGER
) STRICT;
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, priority, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_expiring ON sendwright_progress (expires_at) WHERE expires_at IS NOT NULL;
-- Of lists of jobs, by an expression, as the order of jobs: a statement takes no other for it.
CREATE INDEX sendwright_progress_failing ON sendwright_progress ((seq + 0)) WHERE failures > 0;
CREATE INDEX sendwright_progress_failures ON sendwright_progress (completed_at, seq) WHERE failures > 0;
CREATE INDEX sendwright_progress_going ON sendwright_progress (session, status, seq)
  WHERE status IN ('queued', 'processing', 'paused');

-- A row while nothing is sent, since the store was restored: all that is open up to last_job was so before. What an operator
-- opens in parts has come to the job opened, with these counts; the way on of the first part is that of all.
CREATE TABLE sendwright_quarantine (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  last_job INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  counts TEXT NOT NULL,
  way TEXT
) STRICT;

CREATE TABLE sendwright_rate_card (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  currency TEXT NOT NULL,
  effective_from INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  prices TEXT NOT NULL
) STRICT;
CREATE INDEX sendwright_rate_card_currency ON sendwright_rate_card (currency, effective_from, seq);

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited. A report may overtake the outcome. Null when none is; 0 when it never was,
-- of a recipient that no claim has by its range since its job has no place in its session's order.
-- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
CREATE TABLE sendwright_recipient (
  seq INTEGER PRIMARY KEY,
  -- A phone, or a user id with its portfolio (as a key of sendwright_person_link), or the phone and behind it the user id.
  phone TEXT NOT NULL,
  -- The times and the zone that it has of its own, in JSON.
  timing TEXT,
  external_id TEXT,
  variables TEXT NOT NULL,
  market TEXT,
  price TEXT,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  lost INTEGER NOT NULL DEFAULT 0,
  uncertain INTEGER NOT NULL DEFAULT 0,
  sequence INTEGER NOT NULL,
  next_at INTEGER,
  fence INTEGER,
  updated_at INTEGER NOT NULL,
  failure TEXT,
  provider_id TEXT,
  sent_at INTEGER,
  delivered_at INTEGER,
  read_at INTEGER,
  pricing TEXT,
  -- The time of the first attempt, once that is to be repeated.
  retrying_since INTEGER,
  -- When an operator had it sent again; null when nobody did.
  requeued_at INTEGER,
  -- When the attempt ended by which the platform has it or it has failed; null as long as updated_at is that.
  attempted_at INTEGER
) STRICT;
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient (provider_id) WHERE provider_id IS NOT NULL;

-- Retries of many jobs. wanted: which jobs and recipients, in JSON. place: the last job that it has dealt with. expected, sums:
-- what it would do when it began, and what it has done.
CREATE TABLE sendwright_retry_plan (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- Null of one that is about several.
  account TEXT,
  operator TEXT,
  wanted TEXT NOT NULL,
  status TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ended_at INTEGER,
  place INTEGER,
  expected TEXT NOT NULL,
  sums TEXT NOT NULL,
  idempotency_key TEXT,
  fingerprint TEXT
) STRICT;
CREATE UNIQUE INDEX sendwright_retry_plan_idempotency ON sendwright_retry_plan (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_retry_plan_running ON sendwright_retry_plan ((seq + 0)) WHERE ended_at IS NULL;

-- Who was sent what, by text: a segment has the phones and searched texts of 100,000 recipients, in the order of acceptance.
-- last: the key of its last recipient. written: how many of its rows are; null once it is whole (docs/adr/0041).
CREATE TABLE sendwright_segment (
  id INTEGER PRIMARY KEY,
  last INTEGER NOT NULL,
  written INTEGER
) STRICT;

CREATE TABLE sendwright_segment_key (
  segment INTEGER NOT NULL,
  key TEXT NOT NULL,
  recipient INTEGER NOT NULL,
  PRIMARY KEY (segment, key, recipient)
) STRICT, WITHOUT ROWID;

CREATE TABLE sendwright_session (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  config TEXT NOT NULL,
  pacing TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  -- mended_at: a connect, a new configuration, or a block that its operator ended. failing: the one failure that its last attempts ended
  -- with, by the answers of sends and by receipts, in JSON.
  connected_since INTEGER,
  mended_at INTEGER,
  failing TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- block_reason: why, while there is a block; block_code: the failure, where one failure is why. replies_blocked_until: the
  -- end of a restriction on direct messages. told: what the platform said last of its standing and its restrictions, and when,
  -- in JSON.
  blocked_until INTEGER,
  block_reason TEXT,
  block_code TEXT,
  replies_blocked_until INTEGER,
  told TEXT,
  -- Null: the words that come with Sendwright.
  keywords TEXT,
  -- unavailable_since, probe_at, probe_interval: a platform that does not answer. retry_for: for how long
  -- a transient error is tried again, null by what is sent. All in milliseconds.
  unavailable_since INTEGER,
  probe_at INTEGER,
  probe_interval INTEGER,
  retry_for INTEGER,
  -- Markets that are closed for a category, in JSON; null = those of the provider.
  closed_markets TEXT,
  -- The hours in which its messages go, by their purpose, in JSON; null for all hours.
  quiet_hours TEXT
) STRICT;
CREATE INDEX sendwright_session_account ON sendwright_session (account, seq);
CREATE INDEX sendwright_session_blocked ON sendwright_session (blocked_until) WHERE blocked_until IS NOT NULL;
CREATE INDEX sendwright_session_down ON sendwright_session (seq)
  WHERE (state <> 'connected' OR blocked_until IS NOT NULL OR unavailable_since IS NOT NULL);
CREATE INDEX sendwright_session_unavailable ON sendwright_session (unavailable_since) WHERE unavailable_since IS NOT NULL;

-- The size at the begin of each UTC day.
CREATE TABLE sendwright_size (
  day INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT;

-- Contents of jobs, each kept once.
CREATE TABLE sendwright_snapshot (
  seq INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;

-- The store's id and its count of starts and commits, which the file beside it has, too.
CREATE TABLE sendwright_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store TEXT NOT NULL,
  commits INTEGER NOT NULL
) STRICT;

-- What became of recipients, counted by processes. minute: its first moment. code: a failure's, else empty.
CREATE TABLE sendwright_tally (
  minute INTEGER NOT NULL,
  session TEXT NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (minute, session, outcome, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE sendwright_template (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  language TEXT NOT NULL,
  category TEXT NOT NULL,
  status TEXT NOT NULL,
  content TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  -- platform_id: the platform's own id. check_at: when the platform is asked for it next, since it may be another there than
  -- here; its jobs wait until then. checks: how often it was asked without an answer. checked_at: when it answered last.
  platform_id TEXT,
  check_at INTEGER,
  checks INTEGER NOT NULL DEFAULT 0,
  checked_at INTEGER,
  -- paused_at: since when it is paused. recheck_at: when the platform is asked whether it still is. told: what the platform said
  -- last of each part, and when, in JSON.
  paused_at INTEGER,
  recheck_at INTEGER,
  told TEXT,
  UNIQUE (session, name, language)
) STRICT;
CREATE INDEX sendwright_template_check ON sendwright_template (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX sendwright_template_platform ON sendwright_template (session, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX sendwright_template_recheck ON sendwright_template (recheck_at) WHERE recheck_at IS NOT NULL;
CREATE INDEX sendwright_template_session ON sendwright_template (session, id);

-- What came in and names nobody.
CREATE TABLE sendwright_unattributed (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  account TEXT NOT NULL,
  session TEXT NOT NULL,
  kind TEXT NOT NULL,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sendwright_unattributed_account ON sendwright_unattributed (account, seq);

-- Parts of hooks that nobody understood, numbered from 1 within their session.
CREATE TABLE sendwright_unread_hook (
  session TEXT NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  field TEXT NOT NULL,
  reason TEXT NOT NULL,
  content TEXT NOT NULL,
  is_cut INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_unread_hook_received ON sendwright_unread_hook (received_at);

-- Until when a session may answer a person with free text, by each of their names, and until when free of charge.
CREATE TABLE sendwright_window (
  session TEXT NOT NULL,
  person TEXT NOT NULL,
  open_until INTEGER NOT NULL,
  free_until INTEGER,
  closed_at INTEGER,
  aside_at INTEGER,
  PRIMARY KEY (session, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX sendwright_window_answered ON sendwright_window (session, aside_at) WHERE open_until = 0;
CREATE INDEX sendwright_window_aside ON sendwright_window (session) WHERE aside_at IS NOT NULL;
CREATE INDEX sendwright_window_open ON sendwright_window (session, open_until);

-- The last count with which each worker said that it lives.
CREATE TABLE sendwright_worker (
  id TEXT PRIMARY KEY,
  beats INTEGER NOT NULL,
  -- dispatches_at: when it last said that it lives, of a process that takes by itself what is due.
  dispatches_at INTEGER,
  -- What its process is, and when it said so last.
  version TEXT,
  role TEXT,
  slots INTEGER,
  started_at INTEGER,
  said_at INTEGER
) STRICT, WITHOUT ROWID;

-- For people: each job as it is, of which the tables tell in parts. Times are in UTC.
CREATE VIEW sendwright_jobs AS
SELECT job.id, job.account, job.session, CASE job.kind WHEN 'embedded' THEN 'template' ELSE job.kind END AS kind, job.reference, job.priority,
  coalesce(progress.status, CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'processing' END) AS status,
  progress.pause_reason, job.recipients,
  coalesce(progress.counts, json_object(CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'sending' END, job.recipients)) AS counts,
  strftime('%Y-%m-%d %H:%M:%f', job.created_at / 1000.0, 'unixepoch') AS created, strftime('%Y-%m-%d %H:%M:%f', coalesce(progress.updated_at, claim.at, job.created_at) / 1000.0, 'unixepoch') AS updated,
  strftime('%Y-%m-%d %H:%M:%f', progress.completed_at / 1000.0, 'unixepoch') AS completed,
  strftime('%Y-%m-%d %H:%M:%f', CASE WHEN progress.seq IS NOT NULL THEN progress.next_at WHEN claim.fence IS NULL THEN job.due_at END / 1000.0, 'unixepoch') AS due
FROM sendwright_job AS job LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
  LEFT JOIN sendwright_claim AS claim ON progress.seq IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND job.seq * 4096 BETWEEN claim.first AND claim.last;

-- For people: each recipient as it is. is_in_flight: 1 while the outcome of an attempt is awaited.
CREATE VIEW sendwright_recipients AS
SELECT recipient.seq, job.id AS job, recipient.seq & 4095 AS place, recipient.phone, recipient.external_id,
  CASE WHEN claim.fence IS NULL THEN recipient.status ELSE 'sending' END AS status,
  CASE WHEN coalesce(recipient.fence, claim.fence, 0) = 0 THEN 0 ELSE 1 END AS is_in_flight,
  CASE WHEN claim.fence IS NULL THEN recipient.attempts ELSE 1 END AS attempts, recipient.failure, recipient.provider_id,
  strftime('%Y-%m-%d %H:%M:%f', CASE WHEN claim.fence IS NULL THEN recipient.next_at END / 1000.0, 'unixepoch') AS due,
  strftime('%Y-%m-%d %H:%M:%f', coalesce(claim.at, recipient.updated_at) / 1000.0, 'unixepoch') AS updated, strftime('%Y-%m-%d %H:%M:%f', recipient.sent_at / 1000.0, 'unixepoch') AS sent,
  strftime('%Y-%m-%d %H:%M:%f', recipient.delivered_at / 1000.0, 'unixepoch') AS delivered, strftime('%Y-%m-%d %H:%M:%f', recipient.read_at / 1000.0, 'unixepoch') AS read
FROM sendwright_job AS job
  JOIN sendwright_recipient AS recipient ON recipient.seq BETWEEN job.seq * 4096 AND job.seq * 4096 + 4095
  LEFT JOIN sendwright_claim AS claim ON recipient.sequence = 0 AND recipient.status = 'queued'
    AND recipient.next_at = recipient.updated_at AND recipient.fence IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND recipient.seq BETWEEN claim.first AND claim.last;
