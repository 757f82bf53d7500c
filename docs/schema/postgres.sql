-- The tables and views of a new PostgreSQL database of this build, each with its indexes. The migrations make them; this file shows
-- what they made. packages/core/test/storage/SchemaDocs.test.ts prints it, and docs/changing.md says how to write it anew.
-- The comments come from the migrations, whose text never changes once it is released.

CREATE TABLE sendwright_account (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  currency text NOT NULL,
  plan text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- How long its rows are kept, in JSON: what differs from the defaults; null where nothing does.
  retention text,
  -- How many messages a person may have, by purpose; null where there is no cap.
  caps text,
  CONSTRAINT sendwright_account_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_account_id_key UNIQUE (id)
);
CREATE INDEX sendwright_account_retention ON sendwright_account USING btree (id) WHERE retention IS NOT NULL;

-- The platform's names of a session: news of it may come to the hook of another one. sealed: the end of the configuration
-- by which they were written.
CREATE TABLE sendwright_address (
  address text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  sealed text NOT NULL,
  CONSTRAINT sendwright_address_pkey PRIMARY KEY (address, session)
);
CREATE INDEX sendwright_address_session ON sendwright_address USING btree (session);

CREATE TABLE sendwright_api_key (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  public_key text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  name text,
  permissions text NOT NULL,
  status text NOT NULL,
  secrets text NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint,
  CONSTRAINT sendwright_api_key_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_api_key_public_key_key UNIQUE (public_key)
) WITH (fillfactor=70);
CREATE INDEX sendwright_api_key_session ON sendwright_api_key USING btree (session, seq);

CREATE TABLE sendwright_attempt (
  delivery bigint NOT NULL,
  number integer NOT NULL,
  at bigint NOT NULL,
  status integer,
  duration_ms bigint NOT NULL,
  reason text,
  excerpt text NOT NULL,
  CONSTRAINT sendwright_attempt_pkey PRIMARY KEY (delivery, number)
);

-- before_act and after_act: what is shown of the target, in JSON.
CREATE TABLE sendwright_audit (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text NOT NULL,
  at bigint NOT NULL,
  operator text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  address text,
  request_id text,
  before_act text,
  after_act text,
  CONSTRAINT sendwright_audit_pkey PRIMARY KEY (seq)
);
CREATE INDEX sendwright_audit_at ON sendwright_audit USING btree (at);
CREATE INDEX sendwright_audit_operation ON sendwright_audit USING btree (operation, seq);
CREATE INDEX sendwright_audit_operator ON sendwright_audit USING btree (operator, seq);
CREATE INDEX sendwright_audit_target ON sendwright_audit USING btree (target, seq) WHERE target IS NOT NULL;

-- The sessions that may have jobs in their orders, with the priorities of these.
CREATE TABLE sendwright_busy (
  session text COLLATE "C" NOT NULL,
  priority text COLLATE "C" NOT NULL,
  CONSTRAINT sendwright_busy_pkey PRIMARY KEY (session, priority)
);

-- Messages that count against an account's caps.
CREATE TABLE sendwright_capped (
  account text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT sendwright_capped_pkey PRIMARY KEY (account, person, purpose, message)
);
CREATE INDEX sendwright_capped_at ON sendwright_capped USING btree (account, at);

-- A claim has the untouched recipients of its session from first to last, keys of theirs both, and those whose rows have its
-- fence. jobs: those of which it has some, in JSON, but for whole ones in their session's order. open: how many outcomes it
-- awaits; the worker is null when it awaits none. place: the last job up to which it took the session's order of the priority.
-- overtaken: 1 once a recipient of it was written without its outcome, or by another process than who claimed it.
CREATE TABLE sendwright_claim (
  fence bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  priority text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  jobs text,
  worker text COLLATE "C",
  open integer NOT NULL,
  at bigint NOT NULL,
  place bigint,
  overtaken integer NOT NULL,
  CONSTRAINT sendwright_claim_pkey PRIMARY KEY (fence)
) WITH (fillfactor=50);
CREATE INDEX sendwright_claim_open ON sendwright_claim USING btree (session, last) WHERE worker IS NOT NULL;
CREATE INDEX sendwright_claim_place ON sendwright_claim USING btree (session, priority, place);
CREATE INDEX sendwright_claim_worker ON sendwright_claim USING btree (worker) WHERE worker IS NOT NULL;

-- seq is the order of recording among the records of one person.
CREATE TABLE sendwright_consent (
  account text COLLATE "C" NOT NULL,
  -- person: a phone, or a user id with its portfolio. phone and user_id: what else is known of whom the
  -- record is of.
  person text COLLATE "C" NOT NULL,
  occurred_at bigint NOT NULL,
  seq bigint NOT NULL,
  id text NOT NULL,
  purpose text NOT NULL,
  status text NOT NULL,
  source text NOT NULL,
  proof text,
  recorded_at bigint NOT NULL,
  phone text,
  user_id text,
  -- What the platform or the account told, and the session whose platform did (null of an account's own records).
  reported_at bigint,
  dated_by text,
  CONSTRAINT sendwright_consent_pkey PRIMARY KEY (account, person, occurred_at, seq)
);
-- Whoever revokes thousands of times is asked for the last place with each of them. By the person first: whoever searches
-- for one may not know the account.
CREATE INDEX sendwright_consent_recorded ON sendwright_consent USING btree (person, account, seq);
-- Refusals are few, and told by their time.
CREATE INDEX sendwright_consent_refused ON sendwright_consent USING btree (recorded_at) WHERE status = 'revoked'::text;
-- The last of each purpose and status is found, however many there are.
CREATE INDEX sendwright_consent_standing ON sendwright_consent USING btree (account, person, purpose, status, occurred_at, seq);

-- attempts: all that were made; tries: those of the running schedule.
-- due_at: when it may be taken: at next_at, or at the end of the lease while a worker has it; null when it is over.
CREATE TABLE sendwright_delivery (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  endpoint bigint NOT NULL,
  event bigint NOT NULL,
  status text NOT NULL,
  attempts integer NOT NULL,
  tries integer NOT NULL,
  first_attempt_at bigint,
  next_at bigint,
  due_at bigint,
  worker text COLLATE "C",
  fence bigint NOT NULL,
  created_at bigint NOT NULL,
  CONSTRAINT sendwright_delivery_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_delivery_id_key UNIQUE (id)
) WITH (fillfactor=70);
-- By endpoint, so that what waits for a disabled one is passed over as a whole and needs no write to wait.
CREATE INDEX sendwright_delivery_due ON sendwright_delivery USING btree (endpoint, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX sendwright_delivery_endpoint ON sendwright_delivery USING btree (endpoint, seq);
-- An event goes with its last delivery.
CREATE INDEX sendwright_delivery_event ON sendwright_delivery USING btree (event);
-- What was attempted and waits: little, and found without reading a backlog that was not.
CREATE INDEX sendwright_delivery_tried ON sendwright_delivery USING btree (endpoint) WHERE tries > 0 AND due_at IS NOT NULL;
-- While a worker has a delivery in hand it has no due_at; the worker says that it lives, or is rescued.
CREATE INDEX sendwright_delivery_worker ON sendwright_delivery USING btree (worker) WHERE worker IS NOT NULL;

-- Attempts that their recipients do not tell: those before the last, and one whose first outcome a receipt changed. number: counted
-- anew after an operator's retry. message: what was said then; null once the person was erased.
CREATE TABLE sendwright_earlier_attempt (
  recipient bigint NOT NULL,
  at bigint NOT NULL,
  number integer NOT NULL,
  outcome text NOT NULL,
  code text,
  provider_code text,
  message text,
  ms bigint,
  process text,
  CONSTRAINT sendwright_earlier_attempt_pkey PRIMARY KEY (recipient, at, number)
);

CREATE TABLE sendwright_endpoint (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  url text NOT NULL,
  events text NOT NULL,
  description text,
  enabled integer NOT NULL,
  disabled_reason text,
  secrets text NOT NULL,
  failing_since bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  deliveries_per_second double precision,
  batch_recipients integer DEFAULT 0 NOT NULL,
  CONSTRAINT sendwright_endpoint_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_endpoint_id_key UNIQUE (id)
);
CREATE INDEX sendwright_endpoint_account ON sendwright_endpoint USING btree (account, seq);
-- Those that somebody should look at.
CREATE INDEX sendwright_endpoint_failing ON sendwright_endpoint USING btree (seq) WHERE enabled = 0 OR failing_since IS NOT NULL;

-- Names of people who were erased, as keyed hashes. What was said up to `at` counts for nothing. account: '' for all.
CREATE TABLE sendwright_erased (
  account text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT sendwright_erased_pkey PRIMARY KEY (account, hash)
);

-- Acts of erasure, with counts of what went. next_at: when it is swept again; null once it is done.
CREATE TABLE sendwright_erasure (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  account text COLLATE "C",
  reason text NOT NULL,
  begun_at bigint NOT NULL,
  swept_at bigint NOT NULL,
  next_at bigint,
  waits_for text NOT NULL,
  counts text NOT NULL,
  CONSTRAINT sendwright_erasure_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_erasure_id_key UNIQUE (id)
);
CREATE INDEX sendwright_erasure_next ON sendwright_erasure USING btree (next_at) WHERE next_at IS NOT NULL;

-- Sealed: the key of the hashes, and the names of people whose erasure goes on.
CREATE TABLE sendwright_erasure_secret (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  sealed text NOT NULL,
  CONSTRAINT sendwright_erasure_secret_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_erasure_secret_id_key UNIQUE (id)
);

CREATE TABLE sendwright_event (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  traceparent text,
  created_at bigint NOT NULL,
  CONSTRAINT sendwright_event_pkey PRIMARY KEY (seq)
);

-- What no other row keeps, the newest of it (docs/night.md). subject: the id of what it happened to.
CREATE TABLE sendwright_happening (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  account text COLLATE "C",
  session text COLLATE "C",
  subject text,
  data text NOT NULL,
  CONSTRAINT sendwright_happening_pkey PRIMARY KEY (seq)
);
CREATE INDEX sendwright_happening_at ON sendwright_happening USING btree (at, seq);
CREATE INDEX sendwright_happening_session ON sendwright_happening USING btree (session, at, seq) WHERE session IS NOT NULL;

-- What came in and was told, so that it is told once.
CREATE TABLE sendwright_inbound (
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT sendwright_inbound_pkey PRIMARY KEY (id)
);
CREATE INDEX sendwright_inbound_at ON sendwright_inbound USING btree (at);

-- Where the database is: what a server tells of itself, as far as a role may read it.
CREATE TABLE sendwright_instance (
  id bigint NOT NULL,
  system text COLLATE "C",
  database text COLLATE "C",
  relation text COLLATE "C",
  timeline bigint,
  CONSTRAINT sendwright_instance_pkey PRIMARY KEY (id),
  CONSTRAINT sendwright_instance_id_check CHECK (id = 1)
);

-- What stays of a job as it was accepted.
CREATE TABLE sendwright_job (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  public_key text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  template bigint,
  snapshot bigint NOT NULL,
  currency text NOT NULL,
  estimated_cost text,
  idempotency_key text COLLATE "C",
  fingerprint text,
  answer text,
  recipients integer NOT NULL,
  created_at bigint NOT NULL,
  -- The client's own name for it. Indexed only where there is one, so that a send without costs nothing.
  reference text COLLATE "C",
  -- Of the request that brought it.
  request_id text COLLATE "C",
  -- The span that it was accepted in, by W3C's header: its attempts and webhooks are told below that.
  traceparent text,
  -- The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.
  -- The newest job tells, and when its API key's last send was accepted: no row is written by every accept.
  day_total bigint,
  -- A job has a row in sendwright_progress once something became of it.
  -- due_at: when it is due first, in the order of seq within its session and priority; null where it has no place in that order.
  due_at bigint,
  -- What goes first in its session: an order each.
  priority text COLLATE "C" NOT NULL,
  -- Its own pace.
  per_minute bigint,
  -- The failures that pause it.
  stop_when text,
  CONSTRAINT sendwright_job_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_job_id_key UNIQUE (id)
);
CREATE INDEX sendwright_job_account ON sendwright_job USING btree (account, kind, seq);
-- By the reference first: whoever asks for one may not know the account.
CREATE INDEX sendwright_job_account_reference ON sendwright_job USING btree (reference, account, seq) WHERE reference IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job USING btree (account, created_at, recipients) WHERE kind = 'embedded'::text;
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job USING btree (idempotency_key, public_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_job_key ON sendwright_job USING btree (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job USING btree (public_key, reference, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_order ON sendwright_job USING btree (session, priority, (seq + 0)) WHERE due_at IS NOT NULL;
-- Request ids of ours tell their time, by which their jobs are found; a client's own ones do not.
CREATE INDEX sendwright_job_request ON sendwright_job USING btree (request_id, seq) WHERE request_id IS NOT NULL AND (length(request_id) <> 36 OR substr(request_id, 15, 1) <> '7'::text);
-- The direct messages that a text is kept for.
CREATE INDEX sendwright_job_text ON sendwright_job USING btree (snapshot) WHERE kind = 'direct'::text;

-- The master keys that processes have to be given, in the order in which they were added.
CREATE TABLE sendwright_master_key (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  added_at bigint NOT NULL,
  retired_at bigint,
  CONSTRAINT sendwright_master_key_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_master_key_id_key UNIQUE (id)
);

CREATE TABLE sendwright_migration (
  id integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  compatible_from integer NOT NULL,
  applied_at bigint NOT NULL,
  CONSTRAINT sendwright_migration_pkey PRIMARY KEY (id)
);

CREATE TABLE sendwright_operator (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text COLLATE "C" NOT NULL,
  role text NOT NULL,
  -- 1 where people's numbers are masked in all that it reads.
  mask_phones integer DEFAULT 0 NOT NULL,
  status text NOT NULL,
  secrets text NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint,
  CONSTRAINT sendwright_operator_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_operator_name_key UNIQUE (name)
);

-- arrival: when the next message would find the session idle, in milliseconds with fractions.
CREATE TABLE sendwright_pace (
  -- Sessions and webhook endpoints.
  paced text COLLATE "C" NOT NULL,
  arrival double precision NOT NULL,
  CONSTRAINT sendwright_pace_pkey PRIMARY KEY (paced)
) WITH (fillfactor=50);

-- next_at: not before it the session's next message to the phone.
CREATE TABLE sendwright_pair (
  session text COLLATE "C" NOT NULL,
  phone text COLLATE "C" NOT NULL,
  next_at bigint NOT NULL,
  CONSTRAINT sendwright_pair_pkey PRIMARY KEY (session, phone)
);
CREATE INDEX sendwright_pair_next ON sendwright_pair USING btree (session, next_at);

-- Reports of which only the platform's id is known, and not yet of which message that is.
CREATE TABLE sendwright_parked (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  session text COLLATE "C" NOT NULL,
  provider_id text NOT NULL,
  report text NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT sendwright_parked_pkey PRIMARY KEY (seq)
);
CREATE INDEX sendwright_parked_at ON sendwright_parked USING btree (at);
-- Only the newest of a session are kept.
CREATE INDEX sendwright_parked_session ON sendwright_parked USING btree (session, seq);

-- Texts that have an opt-out word among others, until an operator records them as opt-outs. portfolio: the scope of user_id.
CREATE TABLE sendwright_perhaps_refusal (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text NOT NULL,
  account text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  portfolio text NOT NULL,
  phone text,
  user_id text,
  message_id text,
  text text NOT NULL,
  occurred_at bigint NOT NULL,
  reported_at bigint,
  recorded_at bigint NOT NULL,
  CONSTRAINT sendwright_perhaps_refusal_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_perhaps_refusal_id_key UNIQUE (id)
);
CREATE INDEX sendwright_perhaps_refusal_account ON sendwright_perhaps_refusal USING btree (account, seq);

-- What is known of one key of a person leads to another. told: both were told together.
CREATE TABLE sendwright_person_link (
  account text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  other text COLLATE "C" NOT NULL,
  told integer NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT sendwright_person_link_pkey PRIMARY KEY (account, person, other)
);
CREATE INDEX sendwright_person_link_person ON sendwright_person_link USING btree (person, account);

-- One row, which probes write.
CREATE TABLE sendwright_probe (
  probes bigint NOT NULL
);

-- What changes of a job, once more became of it than that a claim has it. counts: its recipients by status, in JSON, those
-- that are not 0. next_at: when it has work next; null while nothing of it waits, and when it may not be dispatched.
CREATE TABLE sendwright_progress (
  seq bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  status text NOT NULL,
  pause_reason text,
  counts text NOT NULL,
  updated_at bigint NOT NULL,
  completed_at bigint,
  next_at bigint,
  -- When its recipients' variables and its text were forgotten.
  content_expired_at bigint,
  -- How many of its recipients are failed or unknown.
  failures integer DEFAULT 0 NOT NULL,
  -- The job's.
  priority text COLLATE "C" NOT NULL,
  -- Of a job that failures pause, in JSON: how many of its first outcomes failed for good, and when the first had come.
  firsts text,
  -- Of a job with a pace of its own, as in sendwright_pace, but in whole milliseconds.
  arrival bigint,
  -- When its recipients may be sent, in JSON; null of a job that was asked for without a time.
  timing text,
  -- Since when a direct message goes as its template.
  replaced_at bigint,
  -- The next time at which some of its recipients may expire.
  expires_at bigint,
  CONSTRAINT sendwright_progress_pkey PRIMARY KEY (seq)
) WITH (fillfactor=70);
CREATE INDEX sendwright_progress_due ON sendwright_progress USING btree (session, priority, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_expiring ON sendwright_progress USING btree (expires_at) WHERE expires_at IS NOT NULL;
-- Of lists of jobs, by an expression, as the order of jobs: a statement takes no other for it.
CREATE INDEX sendwright_progress_failing ON sendwright_progress USING btree ((seq + 0)) WHERE failures > 0;
CREATE INDEX sendwright_progress_failures ON sendwright_progress USING btree (completed_at, seq) WHERE failures > 0;
CREATE INDEX sendwright_progress_going ON sendwright_progress USING btree (session, status, seq) WHERE status = ANY (ARRAY['queued'::text, 'processing'::text, 'paused'::text]);

-- A row while nothing is sent, since the store was restored: all that is open up to last_job was so before. What an operator
-- opens in parts has come to the job opened, with these counts; the way on of the first part is that of all.
CREATE TABLE sendwright_quarantine (
  id bigint NOT NULL,
  reason text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  last_job bigint NOT NULL,
  opened bigint NOT NULL,
  counts text COLLATE "C" NOT NULL,
  way text COLLATE "C",
  CONSTRAINT sendwright_quarantine_pkey PRIMARY KEY (id),
  CONSTRAINT sendwright_quarantine_id_check CHECK (id = 1)
);

-- arrival: when the key's next request would find its allowance whole, in milliseconds with fractions.
-- Every request writes it, and a crash may give each key one burst again: not worth waiting for the disk.
CREATE UNLOGGED TABLE sendwright_rate (
  key text COLLATE "C" NOT NULL,
  arrival double precision NOT NULL,
  CONSTRAINT sendwright_rate_pkey PRIMARY KEY (key)
) WITH (fillfactor=50);

CREATE TABLE sendwright_rate_card (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  currency text NOT NULL,
  effective_from bigint NOT NULL,
  created_at bigint NOT NULL,
  prices text NOT NULL,
  CONSTRAINT sendwright_rate_card_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_rate_card_id_key UNIQUE (id)
);
CREATE INDEX sendwright_rate_card_currency ON sendwright_rate_card USING btree (currency, effective_from, seq);

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited. A report may overtake the outcome. Null when none is; 0 when it never was,
-- of a recipient that no claim has by its range since its job has no place in its session's order.
-- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
CREATE TABLE sendwright_recipient (
  seq bigint NOT NULL,
  -- A phone, or a user id with its portfolio (as a key of sendwright_person_link), or the phone and behind it the user id.
  phone text NOT NULL,
  -- The times and the zone that it has of its own, in JSON.
  timing text,
  external_id text,
  variables text NOT NULL,
  market text,
  price text,
  status text NOT NULL,
  attempts integer NOT NULL,
  lost integer DEFAULT 0 NOT NULL,
  uncertain integer DEFAULT 0 NOT NULL,
  sequence integer NOT NULL,
  next_at bigint,
  fence bigint,
  updated_at bigint NOT NULL,
  failure text,
  provider_id text,
  sent_at bigint,
  delivered_at bigint,
  read_at bigint,
  pricing text,
  -- The time of the first attempt, once that is to be repeated.
  retrying_since bigint,
  -- When an operator had it sent again; null when nobody did.
  requeued_at bigint,
  -- When the attempt ended by which the platform has it or it has failed; null as long as updated_at is that.
  attempted_at bigint,
  CONSTRAINT sendwright_recipient_pkey PRIMARY KEY (seq)
) WITH (fillfactor=50);
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient USING btree (provider_id) WHERE provider_id IS NOT NULL;

-- Retries of many jobs. wanted: which jobs and recipients, in JSON. place: the last job that it has dealt with. expected, sums:
-- what it would do when it began, and what it has done.
CREATE TABLE sendwright_retry_plan (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- Null of one that is about several.
  account text COLLATE "C",
  operator text COLLATE "C",
  wanted text NOT NULL,
  status text NOT NULL,
  begun_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ended_at bigint,
  place bigint,
  expected text NOT NULL,
  sums text NOT NULL,
  idempotency_key text COLLATE "C",
  fingerprint text,
  CONSTRAINT sendwright_retry_plan_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_retry_plan_id_key UNIQUE (id)
) WITH (fillfactor=50);
CREATE UNIQUE INDEX sendwright_retry_plan_idempotency ON sendwright_retry_plan USING btree (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_retry_plan_running ON sendwright_retry_plan USING btree ((seq + 0)) WHERE ended_at IS NULL;

-- Who was sent what, by text: a segment has the phones and searched texts of 100,000 recipients, in the order of acceptance.
-- last: the key of its last recipient. written: how many of its rows are; null once it is whole (docs/adr/0041).
CREATE TABLE sendwright_segment (
  id bigint NOT NULL,
  last bigint NOT NULL,
  written bigint,
  CONSTRAINT sendwright_segment_pkey PRIMARY KEY (id)
);

CREATE TABLE sendwright_segment_key (
  segment bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  recipient bigint NOT NULL,
  CONSTRAINT sendwright_segment_key_pkey PRIMARY KEY (segment, key, recipient)
);

CREATE TABLE sendwright_session (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  name text NOT NULL,
  provider text NOT NULL,
  config text NOT NULL,
  pacing text NOT NULL,
  state text NOT NULL,
  reason text,
  -- mended_at: a connect, a new configuration, or a block that its operator ended. failing: the one failure that its last attempts ended
  -- with, by the answers of sends and by receipts, in JSON.
  connected_since bigint,
  mended_at bigint,
  failing text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- block_reason: why, while there is a block; block_code: the failure, where one failure is why. replies_blocked_until: the
  -- end of a restriction on direct messages. told: what the platform said last of its standing and its restrictions, and when,
  -- in JSON.
  blocked_until bigint,
  block_reason text,
  block_code text,
  replies_blocked_until bigint,
  told text,
  -- Null: the words that come with Sendwright.
  keywords text,
  -- unavailable_since, probe_at, probe_interval: a platform that does not answer. retry_for: for how long
  -- a transient error is tried again, null by what is sent. All in milliseconds.
  unavailable_since bigint,
  probe_at bigint,
  probe_interval bigint,
  retry_for bigint,
  -- Markets that are closed for a category, in JSON; null = those of the provider.
  closed_markets text,
  -- The hours in which its messages go, by their purpose, in JSON; null for all hours.
  quiet_hours text,
  CONSTRAINT sendwright_session_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_session_id_key UNIQUE (id)
);
CREATE INDEX sendwright_session_account ON sendwright_session USING btree (account, seq);
CREATE INDEX sendwright_session_blocked ON sendwright_session USING btree (blocked_until) WHERE blocked_until IS NOT NULL;
CREATE INDEX sendwright_session_down ON sendwright_session USING btree (seq) WHERE state <> 'connected'::text OR blocked_until IS NOT NULL OR unavailable_since IS NOT NULL;
CREATE INDEX sendwright_session_unavailable ON sendwright_session USING btree (unavailable_since) WHERE unavailable_since IS NOT NULL;

-- The size at the begin of each UTC day.
CREATE TABLE sendwright_size (
  day bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT sendwright_size_pkey PRIMARY KEY (day)
);

-- Contents of jobs, each kept once.
CREATE TABLE sendwright_snapshot (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  digest text COLLATE "C" NOT NULL,
  body text NOT NULL,
  CONSTRAINT sendwright_snapshot_pkey PRIMARY KEY (seq),
  CONSTRAINT sendwright_snapshot_digest_key UNIQUE (digest)
);

-- What became of recipients, counted by processes. minute: its first moment. code: a failure's, else empty.
CREATE TABLE sendwright_tally (
  minute bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  CONSTRAINT sendwright_tally_pkey PRIMARY KEY (minute, session, outcome, code)
);

CREATE TABLE sendwright_template (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  session text COLLATE "C" NOT NULL,
  name text NOT NULL,
  language text NOT NULL,
  category text NOT NULL,
  status text NOT NULL,
  content text NOT NULL,
  updated_at bigint NOT NULL,
  -- platform_id: the platform's own id. check_at: when the platform is asked for it next, since it may be another there than
  -- here; its jobs wait until then. checks: how often it was asked without an answer. checked_at: when it answered last.
  platform_id text,
  check_at bigint,
  checks bigint DEFAULT 0 NOT NULL,
  checked_at bigint,
  -- paused_at: since when it is paused. recheck_at: when the platform is asked whether it still is. told: what the platform said
  -- last of each part, and when, in JSON.
  paused_at bigint,
  recheck_at bigint,
  told text,
  CONSTRAINT sendwright_template_pkey PRIMARY KEY (id),
  CONSTRAINT sendwright_template_session_name_language_key UNIQUE (session, name, language)
);
CREATE INDEX sendwright_template_check ON sendwright_template USING btree (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX sendwright_template_platform ON sendwright_template USING btree (session, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX sendwright_template_recheck ON sendwright_template USING btree (recheck_at) WHERE recheck_at IS NOT NULL;
CREATE INDEX sendwright_template_session ON sendwright_template USING btree (session, id);

-- What came in and names nobody.
CREATE TABLE sendwright_unattributed (
  seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id text NOT NULL,
  account text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  message_id text,
  text text NOT NULL,
  occurred_at bigint NOT NULL,
  recorded_at bigint NOT NULL,
  CONSTRAINT sendwright_unattributed_pkey PRIMARY KEY (seq)
);
CREATE INDEX sendwright_unattributed_account ON sendwright_unattributed USING btree (account, seq);

-- Parts of hooks that nobody understood, numbered from 1 within their session.
CREATE TABLE sendwright_unread_hook (
  session text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  id text NOT NULL,
  field text NOT NULL,
  reason text NOT NULL,
  content text NOT NULL,
  is_cut bigint NOT NULL,
  received_at bigint NOT NULL,
  CONSTRAINT sendwright_unread_hook_pkey PRIMARY KEY (session, number)
);
CREATE INDEX sendwright_unread_hook_received ON sendwright_unread_hook USING btree (received_at);

-- Until when a session may answer a person with free text, by each of their names, and until when free of charge.
CREATE TABLE sendwright_window (
  session text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  open_until bigint NOT NULL,
  free_until bigint,
  closed_at bigint,
  aside_at bigint,
  CONSTRAINT sendwright_window_pkey PRIMARY KEY (session, person)
);
CREATE INDEX sendwright_window_answered ON sendwright_window USING btree (session, aside_at) WHERE open_until = 0;
CREATE INDEX sendwright_window_aside ON sendwright_window USING btree (session) WHERE aside_at IS NOT NULL;
CREATE INDEX sendwright_window_open ON sendwright_window USING btree (session, open_until);

-- The last count with which each worker said that it lives.
CREATE TABLE sendwright_worker (
  id text COLLATE "C" NOT NULL,
  beats bigint NOT NULL,
  -- dispatches_at: when it last said that it lives, of a process that takes by itself what is due.
  dispatches_at bigint,
  -- What its process is, and when it said so last.
  version text,
  role text,
  slots bigint,
  started_at bigint,
  said_at bigint,
  CONSTRAINT sendwright_worker_pkey PRIMARY KEY (id)
) WITH (fillfactor=50);

-- For people: each job as it is, of which the tables tell in parts. Times are in UTC.
CREATE VIEW sendwright_jobs AS
 SELECT job.id,
    job.account,
    job.session,
        CASE job.kind
            WHEN 'embedded'::text THEN 'template'::text
            ELSE job.kind
        END AS kind,
    job.reference,
    job.priority,
    COALESCE(progress.status,
        CASE
            WHEN claim.fence IS NULL THEN 'queued'::text
            ELSE 'processing'::text
        END) AS status,
    progress.pause_reason,
    job.recipients,
    COALESCE(progress.counts, json_build_object(
        CASE
            WHEN claim.fence IS NULL THEN 'queued'::text
            ELSE 'sending'::text
        END, job.recipients)::text) AS counts,
    to_timestamp((job.created_at::numeric / 1000.0)::double precision) AS created,
    to_timestamp((COALESCE(progress.updated_at, claim.at, job.created_at)::numeric / 1000.0)::double precision) AS updated,
    to_timestamp((progress.completed_at::numeric / 1000.0)::double precision) AS completed,
    to_timestamp((
        CASE
            WHEN progress.seq IS NOT NULL THEN progress.next_at
            WHEN claim.fence IS NULL THEN job.due_at
            ELSE NULL::bigint
        END::numeric / 1000.0)::double precision) AS due
   FROM sendwright_job job
     LEFT JOIN sendwright_progress progress ON progress.seq = job.seq
     LEFT JOIN sendwright_claim claim ON progress.seq IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL AND (job.seq * 4096) >= claim.first AND (job.seq * 4096) <= claim.last;

-- For people: each recipient as it is. is_in_flight: 1 while the outcome of an attempt is awaited.
CREATE VIEW sendwright_recipients AS
 SELECT recipient.seq,
    job.id AS job,
    recipient.seq & 4095::bigint AS place,
    recipient.phone,
    recipient.external_id,
        CASE
            WHEN claim.fence IS NULL THEN recipient.status
            ELSE 'sending'::text
        END AS status,
        CASE
            WHEN COALESCE(recipient.fence, claim.fence, 0::bigint) = 0 THEN 0
            ELSE 1
        END AS is_in_flight,
        CASE
            WHEN claim.fence IS NULL THEN recipient.attempts
            ELSE 1
        END AS attempts,
    recipient.failure,
    recipient.provider_id,
    to_timestamp((
        CASE
            WHEN claim.fence IS NULL THEN recipient.next_at
            ELSE NULL::bigint
        END::numeric / 1000.0)::double precision) AS due,
    to_timestamp((COALESCE(claim.at, recipient.updated_at)::numeric / 1000.0)::double precision) AS updated,
    to_timestamp((recipient.sent_at::numeric / 1000.0)::double precision) AS sent,
    to_timestamp((recipient.delivered_at::numeric / 1000.0)::double precision) AS delivered,
    to_timestamp((recipient.read_at::numeric / 1000.0)::double precision) AS read
   FROM sendwright_job job
     JOIN sendwright_recipient recipient ON recipient.seq >= (job.seq * 4096) AND recipient.seq <= (job.seq * 4096 + 4095)
     LEFT JOIN sendwright_claim claim ON recipient.sequence = 0 AND recipient.status = 'queued'::text AND recipient.next_at = recipient.updated_at AND recipient.fence IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL AND recipient.seq >= claim.first AND recipient.seq <= claim.last;
