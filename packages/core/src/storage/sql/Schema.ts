/**
 * The tables that both databases have alike, written once: each says its types in its own words. What is large and hot is
 * clustered by small integer keys and carries no index but its own: a job's recipients lie side by side, so that a batch of
 * them is one range. Where a job is: `jobs/Jobs.ts`. Times are milliseconds since 1970. Accounts, sessions and keys are named
 * by their ids without foreign keys: the engine has read them in the same request, and nothing ever removes one. The tables
 * that one database has alone are in its own `Schema.ts`.
 */

import { inSql } from "./RecipientKeys.ts"
import { isOwnRequestId } from "./RequestIds.ts"

/** A database's words. */
interface Words {
  /** A number that the database gives each row. */
  readonly key: string
  /** One that people see, and that never names another row later. */
  readonly publicKey: string
  /** A whole number of up to 2^53. */
  readonly long: string
  readonly real: string
  /** Text that is compared or ordered, byte by byte. */
  readonly exact: string
  /**
   * What follows a table's columns.
   *
   * @param clustered whether its rows lie in the order of its key
   * @param room the percentage of a page that is filled at first, of a table whose rows change often: a change then stays in
   *   its page and touches no index
   */
  readonly rows: (options?: { readonly clustered?: true; readonly room?: number }) => string
  /** A time as people read it. */
  readonly time: (expression: string) => string
  /** The JSON text of an object with one member. */
  readonly jsonOf: (name: string, value: string) => string
}

export const tables = ({ exact, jsonOf, key, long, publicKey, real, rows, time }: Words): string => `
CREATE TABLE sendwright_account (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  name TEXT NOT NULL,
  currency TEXT NOT NULL,
  plan TEXT NOT NULL,
  created_at ${long} NOT NULL,
  updated_at ${long} NOT NULL,
  -- How long its rows are kept, in JSON: what differs from the defaults; null where nothing does.
  retention TEXT
)${rows()};
CREATE INDEX sendwright_account_retention ON sendwright_account (id) WHERE retention IS NOT NULL;

CREATE TABLE sendwright_session (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  account ${exact} NOT NULL,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  config TEXT NOT NULL,
  pacing TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  -- mended_at: a connect, a new configuration, or a block that its operator ended. failing: the one failure that its last attempts ended
  -- with, by the answers of sends and by receipts, in JSON.
  connected_since ${long},
  mended_at ${long},
  failing TEXT,
  created_at ${long} NOT NULL,
  updated_at ${long} NOT NULL,
  -- block_reason: why, while there is a block; block_code: the failure, where one failure is why. replies_blocked_until: the
  -- end of a restriction on direct messages. told: what the platform said last of its standing and its restrictions, and when,
  -- in JSON.
  blocked_until ${long},
  block_reason TEXT,
  block_code TEXT,
  replies_blocked_until ${long},
  told TEXT,
  -- Null: the words that come with Sendwright.
  keywords TEXT,
  -- unavailable_since, probe_at, probe_interval: a platform that does not answer. retry_for: for how long
  -- a transient error is tried again, null by what is sent. All in milliseconds.
  unavailable_since ${long},
  probe_at ${long},
  probe_interval ${long},
  retry_for ${long},
  -- Markets that are closed for a category, in JSON; null = those of the provider.
  closed_markets TEXT
)${rows()};
CREATE INDEX sendwright_session_account ON sendwright_session (account, seq);
CREATE INDEX sendwright_session_blocked ON sendwright_session (blocked_until) WHERE blocked_until IS NOT NULL;
CREATE INDEX sendwright_session_unavailable ON sendwright_session (unavailable_since) WHERE unavailable_since IS NOT NULL;
CREATE INDEX sendwright_session_down ON sendwright_session (seq)
  WHERE (state <> 'connected' OR blocked_until IS NOT NULL OR unavailable_since IS NOT NULL);

-- The platform's names of a session: news of it may come to the hook of another one. sealed: the end of the configuration
-- by which they were written.
CREATE TABLE sendwright_address (
  address ${exact} NOT NULL,
  session ${exact} NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (address, session)
)${rows({ clustered: true })};
CREATE INDEX sendwright_address_session ON sendwright_address (session);

CREATE TABLE sendwright_api_key (
  seq ${key},
  public_key ${exact} NOT NULL UNIQUE,
  session ${exact} NOT NULL,
  name TEXT,
  permissions TEXT NOT NULL,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at ${long} NOT NULL,
  last_used_at ${long}
)${rows({ room: 70 })};
CREATE INDEX sendwright_api_key_session ON sendwright_api_key (session, seq);

CREATE TABLE sendwright_template (
  id ${publicKey},
  session ${exact} NOT NULL,
  name TEXT NOT NULL,
  language TEXT NOT NULL,
  category TEXT NOT NULL,
  status TEXT NOT NULL,
  content TEXT NOT NULL,
  updated_at ${long} NOT NULL,
  -- platform_id: the platform's own id. check_at: when the platform is asked for it next, since it may be another there than
  -- here; its jobs wait until then. checks: how often it was asked without an answer. checked_at: when it answered last.
  platform_id TEXT,
  check_at ${long},
  checks ${long} NOT NULL DEFAULT 0,
  checked_at ${long},
  -- paused_at: since when it is paused. recheck_at: when the platform is asked whether it still is. told: what the platform said
  -- last of each part, and when, in JSON.
  paused_at ${long},
  recheck_at ${long},
  told TEXT,
  UNIQUE (session, name, language)
)${rows()};
CREATE INDEX sendwright_template_check ON sendwright_template (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX sendwright_template_recheck ON sendwright_template (recheck_at) WHERE recheck_at IS NOT NULL;
CREATE INDEX sendwright_template_platform ON sendwright_template (session, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX sendwright_template_session ON sendwright_template (session, id);

-- seq is the order of recording among the records of one person.
CREATE TABLE sendwright_consent (
  account ${exact} NOT NULL,
  -- person: a phone, or a user id with its portfolio. phone and user_id: what else is known of whom the
  -- record is of.
  person ${exact} NOT NULL,
  occurred_at ${long} NOT NULL,
  seq ${long} NOT NULL,
  id TEXT NOT NULL,
  purpose TEXT NOT NULL,
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  proof TEXT,
  recorded_at ${long} NOT NULL,
  phone TEXT,
  user_id TEXT,
  -- What the platform or the account told, and the session whose platform did (null of an account's own records).
  reported_at ${long},
  dated_by TEXT,
  PRIMARY KEY (account, person, occurred_at, seq)
)${rows({ clustered: true })};
-- Whoever revokes thousands of times is asked for the last place with each of them. By the person first: whoever searches
-- for one may not know the account.
CREATE INDEX sendwright_consent_recorded ON sendwright_consent (person, account, seq);
-- Who may have lost a consent since a job was accepted.
CREATE INDEX sendwright_consent_revoked ON sendwright_consent (account, person) WHERE status = 'revoked';
-- Refusals are few, and told by their time.
CREATE INDEX sendwright_consent_refused ON sendwright_consent (recorded_at) WHERE status = 'revoked';
-- The last of each purpose and status is found, however many there are.
CREATE INDEX sendwright_consent_standing ON sendwright_consent (account, person, purpose, status, occurred_at, seq);

-- What is known of one key of a person leads to another. told: both were told together.
CREATE TABLE sendwright_person_link (
  account ${exact} NOT NULL,
  person ${exact} NOT NULL,
  other ${exact} NOT NULL,
  told INTEGER NOT NULL,
  at ${long} NOT NULL,
  PRIMARY KEY (account, person, other)
)${rows({ clustered: true })};
CREATE INDEX sendwright_person_link_person ON sendwright_person_link (person, account);

-- Texts that have an opt-out word among others, until an operator records them as opt-outs. portfolio: the scope of user_id.
CREATE TABLE sendwright_perhaps_refusal (
  seq ${key},
  id TEXT NOT NULL UNIQUE,
  account ${exact} NOT NULL,
  session ${exact} NOT NULL,
  portfolio TEXT NOT NULL,
  phone TEXT,
  user_id TEXT,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at ${long} NOT NULL,
  reported_at ${long},
  recorded_at ${long} NOT NULL
)${rows()};
CREATE INDEX sendwright_perhaps_refusal_account ON sendwright_perhaps_refusal (account, seq);

-- What came in and names nobody.
CREATE TABLE sendwright_unattributed (
  seq ${key},
  id TEXT NOT NULL,
  account ${exact} NOT NULL,
  session ${exact} NOT NULL,
  kind TEXT NOT NULL,
  message_id TEXT,
  text TEXT NOT NULL,
  occurred_at ${long} NOT NULL,
  recorded_at ${long} NOT NULL
)${rows()};
CREATE INDEX sendwright_unattributed_account ON sendwright_unattributed (account, seq);

-- Parts of hooks that nobody understood, numbered from 1 within their session.
CREATE TABLE sendwright_unread_hook (
  session ${exact} NOT NULL,
  number ${long} NOT NULL,
  id TEXT NOT NULL,
  field TEXT NOT NULL,
  reason TEXT NOT NULL,
  content TEXT NOT NULL,
  is_cut ${long} NOT NULL,
  received_at ${long} NOT NULL,
  PRIMARY KEY (session, number)
)${rows({ clustered: true })};
CREATE INDEX sendwright_unread_hook_received ON sendwright_unread_hook (received_at);

CREATE TABLE sendwright_rate_card (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  currency TEXT NOT NULL,
  effective_from ${long} NOT NULL,
  created_at ${long} NOT NULL,
  prices TEXT NOT NULL
)${rows()};
CREATE INDEX sendwright_rate_card_currency ON sendwright_rate_card (currency, effective_from, seq);

-- Contents of jobs, each kept once.
CREATE TABLE sendwright_snapshot (
  seq ${key},
  digest ${exact} NOT NULL UNIQUE,
  body TEXT NOT NULL
)${rows()};

-- Names of people who were erased, as keyed hashes. What was said up to \`at\` counts for nothing. account: '' for all.
CREATE TABLE sendwright_erased (
  account ${exact} NOT NULL,
  hash ${exact} NOT NULL,
  at ${long} NOT NULL,
  PRIMARY KEY (account, hash)
)${rows({ clustered: true })};

-- Acts of erasure, with counts of what went. next_at: when it is swept again; null once it is done.
CREATE TABLE sendwright_erasure (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  account ${exact},
  reason TEXT NOT NULL,
  begun_at ${long} NOT NULL,
  swept_at ${long} NOT NULL,
  next_at ${long},
  waits_for TEXT NOT NULL,
  counts TEXT NOT NULL
)${rows()};
CREATE INDEX sendwright_erasure_next ON sendwright_erasure (next_at) WHERE next_at IS NOT NULL;

-- Sealed: the key of the hashes, and the names of people whose erasure goes on.
CREATE TABLE sendwright_erasure_secret (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  sealed TEXT NOT NULL
)${rows()};

-- The last count with which each worker said that it lives.
CREATE TABLE sendwright_worker (
  id ${exact} PRIMARY KEY,
  beats ${long} NOT NULL,
  -- dispatches_at: when it last said that it lives, of a process that takes by itself what is due.
  dispatches_at ${long},
  -- What its process is, and when it said so last.
  version TEXT,
  role TEXT,
  slots ${long},
  started_at ${long},
  said_at ${long}
)${rows({ clustered: true, room: 50 })};

-- What became of recipients, counted by processes. minute: its first moment. code: a failure's, else empty.
CREATE TABLE sendwright_tally (
  minute ${long} NOT NULL,
  session ${exact} NOT NULL,
  outcome ${exact} NOT NULL,
  code ${exact} NOT NULL,
  n ${long} NOT NULL,
  PRIMARY KEY (minute, session, outcome, code)
)${rows({ clustered: true })};

-- arrival: when the next message would find the session idle, in milliseconds with fractions.
CREATE TABLE sendwright_pace (
  -- Sessions and webhook endpoints.
  paced ${exact} PRIMARY KEY,
  arrival ${real} NOT NULL
)${rows({ clustered: true, room: 50 })};

-- next_at: not before it the session's next message to the phone.
CREATE TABLE sendwright_pair (
  session ${exact} NOT NULL,
  phone ${exact} NOT NULL,
  next_at ${long} NOT NULL,
  PRIMARY KEY (session, phone)
)${rows({ clustered: true })};
CREATE INDEX sendwright_pair_next ON sendwright_pair (session, next_at);

-- Reports of which only the platform's id is known, and not yet of which message that is.
CREATE TABLE sendwright_parked (
  seq ${key},
  session ${exact} NOT NULL,
  provider_id TEXT NOT NULL,
  report TEXT NOT NULL,
  at ${long} NOT NULL
)${rows()};
CREATE INDEX sendwright_parked_at ON sendwright_parked (at);
-- Only the newest of a session are kept.
CREATE INDEX sendwright_parked_session ON sendwright_parked (session, seq);

-- What came in and was told, so that it is told once.
CREATE TABLE sendwright_inbound (
  id ${exact} PRIMARY KEY,
  at ${long} NOT NULL
)${rows({ clustered: true })};
CREATE INDEX sendwright_inbound_at ON sendwright_inbound (at);

CREATE TABLE sendwright_endpoint (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  account ${exact} NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT,
  enabled INTEGER NOT NULL,
  disabled_reason TEXT,
  secrets TEXT NOT NULL,
  failing_since ${long},
  created_at ${long} NOT NULL,
  updated_at ${long} NOT NULL,
  deliveries_per_second ${real},
  batch_recipients INTEGER NOT NULL DEFAULT 0
)${rows()};
CREATE INDEX sendwright_endpoint_account ON sendwright_endpoint (account, seq);
-- Those that somebody should look at.
CREATE INDEX sendwright_endpoint_failing ON sendwright_endpoint (seq) WHERE (enabled = 0 OR failing_since IS NOT NULL);

CREATE TABLE sendwright_event (
  seq ${key},
  id ${exact} NOT NULL,
  account ${exact} NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at ${long} NOT NULL
)${rows()};

-- attempts: all that were made; tries: those of the running schedule.
-- due_at: when it may be taken: at next_at, or at the end of the lease while a worker has it; null when it is over.
CREATE TABLE sendwright_delivery (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  endpoint ${long} NOT NULL,
  event ${long} NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  first_attempt_at ${long},
  next_at ${long},
  due_at ${long},
  worker ${exact},
  fence ${long} NOT NULL,
  created_at ${long} NOT NULL
)${rows({ room: 70 })};
-- By endpoint, so that what waits for a disabled one is passed over as a whole and needs no write to wait.
CREATE INDEX sendwright_delivery_due ON sendwright_delivery (endpoint, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX sendwright_delivery_endpoint ON sendwright_delivery (endpoint, seq);
-- An event goes with its last delivery.
CREATE INDEX sendwright_delivery_event ON sendwright_delivery (event);
-- What was attempted and waits: little, and found without reading a backlog that was not.
CREATE INDEX sendwright_delivery_tried ON sendwright_delivery (endpoint) WHERE tries > 0 AND due_at IS NOT NULL;
-- While a worker has a delivery in hand it has no due_at; the worker says that it lives, or is rescued.
CREATE INDEX sendwright_delivery_worker ON sendwright_delivery (worker) WHERE worker IS NOT NULL;

CREATE TABLE sendwright_attempt (
  delivery ${long} NOT NULL,
  number INTEGER NOT NULL,
  at ${long} NOT NULL,
  status INTEGER,
  duration_ms ${long} NOT NULL,
  reason TEXT,
  excerpt TEXT NOT NULL,
  PRIMARY KEY (delivery, number)
)${rows({ clustered: true })};

-- The master keys that processes have to be given, in the order in which they were added.
CREATE TABLE sendwright_master_key (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  added_at ${long} NOT NULL,
  retired_at ${long}
)${rows()};

CREATE TABLE sendwright_operator (
  seq ${key},
  name ${exact} NOT NULL UNIQUE,
  role TEXT NOT NULL,
  -- 1 where people's numbers are masked in all that it reads.
  mask_phones INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL,
  secrets TEXT NOT NULL,
  created_at ${long} NOT NULL,
  last_used_at ${long}
)${rows()};

-- before_act and after_act: what is shown of the target, in JSON.
CREATE TABLE sendwright_audit (
  seq ${key},
  id TEXT NOT NULL,
  at ${long} NOT NULL,
  operator ${exact} NOT NULL,
  operation ${exact} NOT NULL,
  target ${exact},
  address TEXT,
  request_id TEXT,
  before_act TEXT,
  after_act TEXT
)${rows()};
CREATE INDEX sendwright_audit_at ON sendwright_audit (at);
CREATE INDEX sendwright_audit_operation ON sendwright_audit (operation, seq);
CREATE INDEX sendwright_audit_operator ON sendwright_audit (operator, seq);
CREATE INDEX sendwright_audit_target ON sendwright_audit (target, seq) WHERE target IS NOT NULL;

-- A row while nothing is sent, since the store was restored: all that is open up to last_job was so before. What an operator
-- opens in parts has come to the job opened, with these counts; the way on of the first part is that of all.
CREATE TABLE sendwright_quarantine (
  id ${long} PRIMARY KEY CHECK (id = 1),
  reason ${exact} NOT NULL,
  since ${long} NOT NULL,
  last_job ${long} NOT NULL,
  opened ${long} NOT NULL,
  counts ${exact} NOT NULL,
  way ${exact}
)${rows()};

-- Retries of many jobs. wanted: which jobs and recipients, in JSON. place: the last job that it has dealt with. expected, sums:
-- what it would do when it began, and what it has done.
CREATE TABLE sendwright_retry_plan (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  -- Null of one that is about several.
  account ${exact},
  operator ${exact},
  wanted TEXT NOT NULL,
  status TEXT NOT NULL,
  begun_at ${long} NOT NULL,
  updated_at ${long} NOT NULL,
  ended_at ${long},
  place ${long},
  expected TEXT NOT NULL,
  sums TEXT NOT NULL,
  idempotency_key ${exact},
  fingerprint TEXT
)${rows({ room: 50 })};
CREATE UNIQUE INDEX sendwright_retry_plan_idempotency ON sendwright_retry_plan (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_retry_plan_running ON sendwright_retry_plan ((seq + 0)) WHERE ended_at IS NULL;

-- What no other row keeps, the newest of it (docs/operating.md). subject: the id of what it happened to.
CREATE TABLE sendwright_happening (
  seq ${key},
  at ${long} NOT NULL,
  type ${exact} NOT NULL,
  account ${exact},
  session ${exact},
  subject TEXT,
  data TEXT NOT NULL
)${rows()};
CREATE INDEX sendwright_happening_at ON sendwright_happening (at, seq);
CREATE INDEX sendwright_happening_session ON sendwright_happening (session, at, seq) WHERE session IS NOT NULL;

-- What stays of a job as it was accepted.
CREATE TABLE sendwright_job (
  seq ${key},
  id ${exact} NOT NULL UNIQUE,
  account ${exact} NOT NULL,
  session ${exact} NOT NULL,
  public_key ${exact} NOT NULL,
  kind TEXT NOT NULL,
  template ${long},
  snapshot ${long} NOT NULL,
  currency TEXT NOT NULL,
  estimated_cost TEXT,
  idempotency_key ${exact},
  fingerprint TEXT,
  answer TEXT,
  recipients INTEGER NOT NULL,
  created_at ${long} NOT NULL,
  -- The client's own name for it. Indexed only where there is one, so that a send without costs nothing.
  reference ${exact},
  -- Of the request that brought it.
  request_id ${exact},
  -- The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.
  -- The newest job tells, and when its API key's last send was accepted: no row is written by every accept.
  day_total ${long},
  -- A job has a row in sendwright_progress once something became of it.
  -- due_at: when it is due first, in the order of seq within its session and priority; null where it has no place in that order.
  due_at ${long},
  -- What goes first in its session: an order each.
  priority ${exact} NOT NULL
)${rows()};
CREATE INDEX sendwright_job_account ON sendwright_job (account, kind, seq);
-- By the reference first: whoever asks for one may not know the account.
CREATE INDEX sendwright_job_account_reference ON sendwright_job (reference, account, seq) WHERE reference IS NOT NULL;
CREATE INDEX sendwright_job_order ON sendwright_job (session, priority, (seq + 0)) WHERE due_at IS NOT NULL;
-- What an account sent inside embedders' transactions on a day: summed, since these commit in any order.
CREATE INDEX sendwright_job_embedded ON sendwright_job (account, created_at, recipients) WHERE kind = 'embedded';
CREATE UNIQUE INDEX sendwright_job_idempotency ON sendwright_job (idempotency_key, public_key) WHERE idempotency_key IS NOT NULL;
-- The direct messages that a text is kept for.
CREATE INDEX sendwright_job_text ON sendwright_job (snapshot) WHERE kind = 'direct';
CREATE INDEX sendwright_job_key ON sendwright_job (public_key, kind, seq);
CREATE INDEX sendwright_job_key_reference ON sendwright_job (public_key, reference, seq) WHERE reference IS NOT NULL;
-- Request ids of ours tell their time, by which their jobs are found; a client's own ones do not.
CREATE INDEX sendwright_job_request ON sendwright_job (request_id, seq) WHERE ${isOwnRequestId("request_id")};

-- The size at the begin of each UTC day.
CREATE TABLE sendwright_size (
  day ${long} PRIMARY KEY,
  bytes ${long} NOT NULL
)${rows()};

-- What changes of a job, once more became of it than that a claim has it. counts: its recipients by status, in JSON, those
-- that are not 0. next_at: when it has work next; null while nothing of it waits, and when it may not be dispatched.
CREATE TABLE sendwright_progress (
  seq ${long} PRIMARY KEY,
  session ${exact} NOT NULL,
  status TEXT NOT NULL,
  pause_reason TEXT,
  counts TEXT NOT NULL,
  updated_at ${long} NOT NULL,
  completed_at ${long},
  next_at ${long},
  -- When its recipients' variables and its text were forgotten.
  content_expired_at ${long},
  -- How many of its recipients are failed or unknown.
  failures INTEGER NOT NULL DEFAULT 0,
  -- The job's.
  priority ${exact} NOT NULL
)${rows({ room: 70 })};
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, priority, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_going ON sendwright_progress (session, status, seq)
  WHERE status IN ('queued', 'processing', 'paused');
CREATE INDEX sendwright_progress_failures ON sendwright_progress (completed_at, seq) WHERE failures > 0;
-- Of lists of jobs, by an expression, as the order of jobs: a statement takes no other for it.
CREATE INDEX sendwright_progress_failing ON sendwright_progress ((seq + 0)) WHERE failures > 0;

-- A claim has the untouched recipients of its session from first to last, keys of theirs both, and those whose rows have its
-- fence. jobs: those of which it has some, in JSON, but for whole ones in their session's order. open: how many outcomes it
-- awaits; the worker is null when it awaits none. place: the last job up to which it took the session's order of the priority.
-- overtaken: 1 once a recipient of it was written without its outcome, or by another process than who claimed it.
CREATE TABLE sendwright_claim (
  fence ${long} PRIMARY KEY,
  session ${exact} NOT NULL,
  priority ${exact} NOT NULL,
  first ${long} NOT NULL,
  last ${long} NOT NULL,
  jobs TEXT,
  worker ${exact},
  open INTEGER NOT NULL,
  at ${long} NOT NULL,
  place ${long},
  overtaken INTEGER NOT NULL
)${rows({ room: 50 })};
CREATE INDEX sendwright_claim_open ON sendwright_claim (session, last) WHERE worker IS NOT NULL;
CREATE INDEX sendwright_claim_place ON sendwright_claim (session, priority, place);
CREATE INDEX sendwright_claim_worker ON sendwright_claim (worker) WHERE worker IS NOT NULL;

-- The sessions that may have jobs in their orders, with the priorities of these.
CREATE TABLE sendwright_busy (
  session ${exact} NOT NULL,
  priority ${exact} NOT NULL,
  PRIMARY KEY (session, priority)
)${rows({ clustered: true })};

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited. A report may overtake the outcome. Null when none is; 0 when it never was,
-- of a recipient that no claim has by its range since its job has no place in its session's order.
-- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
CREATE TABLE sendwright_recipient (
  seq ${long} PRIMARY KEY,
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
  next_at ${long},
  fence ${long},
  updated_at ${long} NOT NULL,
  failure TEXT,
  provider_id TEXT,
  sent_at ${long},
  delivered_at ${long},
  read_at ${long},
  pricing TEXT,
  -- The time of the first attempt, once that is to be repeated.
  retrying_since ${long},
  -- When an operator had it sent again; null when nobody did.
  requeued_at ${long},
  -- When the attempt ended by which the platform has it or it has failed; null as long as updated_at is that.
  attempted_at ${long}
)${rows({ room: 50 })};
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient (provider_id) WHERE provider_id IS NOT NULL;

-- Who was sent what, by text: a segment has the phones and external ids of 100,000 recipients, in the order of acceptance.
-- last: the key of its last recipient. written: how many of its rows are; null once it is whole (docs/adr/0041).
CREATE TABLE sendwright_segment (
  id ${long} PRIMARY KEY,
  last ${long} NOT NULL,
  written ${long}
)${rows()};

CREATE TABLE sendwright_segment_key (
  segment ${long} NOT NULL,
  key ${exact} NOT NULL,
  recipient ${long} NOT NULL,
  PRIMARY KEY (segment, key, recipient)
)${rows({ clustered: true })};

-- Attempts that their recipients do not tell: those before the last, and one whose first outcome a receipt changed. number: counted
-- anew after an operator's retry. message: what was said then; null once the person was erased.
CREATE TABLE sendwright_earlier_attempt (
  recipient ${long} NOT NULL,
  at ${long} NOT NULL,
  number INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT,
  provider_code TEXT,
  message TEXT,
  ms ${long},
  process TEXT,
  PRIMARY KEY (recipient, at, number)
)${rows({ clustered: true })};

-- For people: each job as it is, of which the tables tell in parts. Times are in UTC.
CREATE VIEW sendwright_jobs AS
SELECT job.id, job.account, job.session, CASE job.kind WHEN 'embedded' THEN 'template' ELSE job.kind END AS kind, job.reference, job.priority,
  coalesce(progress.status, CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'processing' END) AS status,
  progress.pause_reason, job.recipients,
  coalesce(progress.counts, ${jsonOf("CASE WHEN claim.fence IS NULL THEN 'queued' ELSE 'sending' END", "job.recipients")}) AS counts,
  ${time("job.created_at")} AS created, ${time("coalesce(progress.updated_at, claim.at, job.created_at)")} AS updated,
  ${time("progress.completed_at")} AS completed,
  ${time("CASE WHEN progress.seq IS NOT NULL THEN progress.next_at WHEN claim.fence IS NULL THEN job.due_at END")} AS due
FROM sendwright_job AS job LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
  LEFT JOIN sendwright_claim AS claim ON progress.seq IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND ${inSql.first("job.seq")} BETWEEN claim.first AND claim.last;

-- For people: each recipient as it is. is_in_flight: 1 while the outcome of an attempt is awaited.
CREATE VIEW sendwright_recipients AS
SELECT recipient.seq, job.id AS job, ${inSql.placeOf("recipient.seq")} AS place, recipient.phone, recipient.external_id,
  CASE WHEN claim.fence IS NULL THEN recipient.status ELSE 'sending' END AS status,
  CASE WHEN coalesce(recipient.fence, claim.fence, 0) = 0 THEN 0 ELSE 1 END AS is_in_flight,
  CASE WHEN claim.fence IS NULL THEN recipient.attempts ELSE 1 END AS attempts, recipient.failure, recipient.provider_id,
  ${time("CASE WHEN claim.fence IS NULL THEN recipient.next_at END")} AS due,
  ${time("coalesce(claim.at, recipient.updated_at)")} AS updated, ${time("recipient.sent_at")} AS sent,
  ${time("recipient.delivered_at")} AS delivered, ${time("recipient.read_at")} AS read
FROM sendwright_job AS job
  JOIN sendwright_recipient AS recipient ON recipient.seq BETWEEN ${inSql.first("job.seq")} AND ${inSql.last("job.seq")}
  LEFT JOIN sendwright_claim AS claim ON recipient.sequence = 0 AND recipient.status = 'queued'
    AND recipient.next_at = recipient.updated_at AND recipient.fence IS NULL AND claim.session = job.session AND claim.worker IS NOT NULL
    AND recipient.seq BETWEEN claim.first AND claim.last;
`
