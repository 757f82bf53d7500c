/**
 * The tables that both databases have alike, written once: each says its types in its own words. What is large and hot is
 * clustered by small integer keys and carries no index but its own: a job's recipients lie side by side, so that a batch of
 * them is one range. Where a job is: `jobs/Jobs.ts`. Times are milliseconds since 1970. Accounts, sessions and keys are named
 * by their ids without foreign keys: the engine has read them in the same request, and nothing ever removes one. The tables
 * that one database has alone are in its own `Schema.ts`.
 */

import { counted } from "./CapRows.ts"
import type { Described, DescribedTable } from "./Columns.ts"
import { accounts } from "./codec/Account.ts"
import { apiKeys } from "./codec/ApiKey.ts"
import { auditEntries } from "./codec/AuditEntry.ts"
import { consents } from "./codec/Consent.ts"
import { attempts, deliveries, events } from "./codec/Delivery.ts"
import { endpoints } from "./codec/Endpoint.ts"
import { erasures } from "./codec/Erasure.ts"
import { operators } from "./codec/Operator.ts"
import * as Others from "./codec/Others.ts"
import { rateCards } from "./codec/RateCard.ts"
import { rows as plans } from "./codec/RetryPlan.ts"
import { sessions } from "./codec/Session.ts"
import { templates } from "./codec/Template.ts"
import { unattributedItems } from "./codec/Unattributed.ts"
import { unreadHooks } from "./codec/UnreadHook.ts"
import { rows as happenings } from "./Happenings.ts"
import { claims } from "./jobs/Claims.ts"
import { attempts as earlierAttempts } from "./jobs/EarlierAttempts.ts"
import { jobs, progress } from "./jobs/JobColumns.ts"
import { recipients, textNames } from "./jobs/RecipientColumns.ts"
import { perhapsRefusals } from "./PerhapsRefusalRows.ts"
import { inSql } from "./RecipientKeys.ts"
import { isOwnRequestId } from "./RequestIds.ts"
import { tallies } from "./TallyRows.ts"
import { windows } from "./WindowRows.ts"

/** The types that each database says in its own words. */
interface Types {
  /** A number that the database gives each row. */
  readonly key: string
  /** A key that people see, and that never names another row later. */
  readonly publicKey: string
  /** A whole number of up to 2^53. */
  readonly long: string
  readonly real: string
  /** Text that is compared or ordered, byte by byte. */
  readonly exact: string
}

interface Words extends Types {
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

const commented = (note: string | undefined): ReadonlyArray<string> =>
  note === undefined ? [] : note.split("\n").map((line) => `  -- ${line}`)

/** @param column the type of a column is the first word of its `sql` */
const columnOf = (types: Types, { name, note, sql }: Pick<Described, "name" | "note" | "sql">): string => {
  const [type = ""] = sql.split(" ", 1)
  return [
    ...commented(note),
    `  ${name} ${Object.entries(types).find(([word]) => word === type)?.[1] ?? type}${sql.slice(type.length)}`
  ].join("\n")
}

/** Rows without a key of their own have a number. */
const createOf =
  (types: Types) =>
  ({ key, name, ordered, unique = [] }: DescribedTable): string => {
    const numbered = key === undefined && !ordered.some(({ sql }) => /^(?:k|publicK)ey$/.test(sql))
    const columns = [...(numbered ? [{ name: "seq", sql: "key" }] : []), ...ordered]
    const lines = [
      ...columns.map((column) => columnOf(types, column)),
      ...(key !== undefined && key.length > 1 ? [`  PRIMARY KEY (${key.join(", ")})`] : []),
      ...(unique.length > 0 ? [`  UNIQUE (${unique.join(", ")})`] : [])
    ]
    return `CREATE TABLE ${name} (\n${lines.join(",\n")}\n)`
  }

const clientTexts = recipients.only(...textNames).of("recipient")

/** @param made writes the begin of a table's statement */
const textOf = (
  { jsonOf, rows, time }: Omit<Words, keyof Types>,
  made: (table: DescribedTable) => string
): string => `
${made(accounts)}${rows()};
CREATE INDEX sendwright_account_retention ON sendwright_account (id) WHERE retention IS NOT NULL;

${made(sessions)}${rows()};
CREATE INDEX sendwright_session_account ON sendwright_session (account, seq);
CREATE INDEX sendwright_session_blocked ON sendwright_session (blocked_until) WHERE blocked_until IS NOT NULL;
CREATE INDEX sendwright_session_unavailable ON sendwright_session (unavailable_since) WHERE unavailable_since IS NOT NULL;
CREATE INDEX sendwright_session_down ON sendwright_session (seq)
  WHERE (state <> 'connected' OR blocked_until IS NOT NULL OR unavailable_since IS NOT NULL);

-- The platform's names of a session: news of it may come to the hook of another one. sealed: the end of the configuration
-- by which they were written.
${made(Others.addresses)}${rows({ clustered: true })};
CREATE INDEX sendwright_address_session ON sendwright_address (session);

${made(apiKeys)}${rows({ room: 70 })};
CREATE INDEX sendwright_api_key_session ON sendwright_api_key (session, seq);

${made(templates)}${rows()};
CREATE INDEX sendwright_template_check ON sendwright_template (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX sendwright_template_recheck ON sendwright_template (recheck_at) WHERE recheck_at IS NOT NULL;
CREATE INDEX sendwright_template_platform ON sendwright_template (session, platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX sendwright_template_session ON sendwright_template (session, id);

-- seq is the order of recording among the records of one person.
${made(consents)}${rows({ clustered: true })};
-- Whoever revokes thousands of times is asked for the last place with each of them. By the person first: whoever searches
-- for one may not know the account.
CREATE INDEX sendwright_consent_recorded ON sendwright_consent (person, account, seq);
-- Refusals are few, and told by their time.
CREATE INDEX sendwright_consent_refused ON sendwright_consent (recorded_at) WHERE status = 'revoked';
-- The last of each purpose and status is found, however many there are.
CREATE INDEX sendwright_consent_standing ON sendwright_consent (account, person, purpose, status, occurred_at, seq);

-- What is known of one key of a person leads to another. told: both were told together.
${made(Others.links)}${rows({ clustered: true })};
CREATE INDEX sendwright_person_link_person ON sendwright_person_link (person, account);

-- Texts that have an opt-out word among others, until an operator records them as opt-outs. portfolio: the scope of user_id.
${made(perhapsRefusals)}${rows()};
CREATE INDEX sendwright_perhaps_refusal_account ON sendwright_perhaps_refusal (account, seq);

-- What came in and names nobody.
${made(unattributedItems)}${rows()};
CREATE INDEX sendwright_unattributed_account ON sendwright_unattributed (account, seq);

-- Parts of hooks that nobody understood, numbered from 1 within their session.
${made(unreadHooks)}${rows({ clustered: true })};
CREATE INDEX sendwright_unread_hook_received ON sendwright_unread_hook (received_at);

${made(rateCards)}${rows()};
CREATE INDEX sendwright_rate_card_currency ON sendwright_rate_card (currency, effective_from, seq);

-- Contents of jobs, each kept once.
${made(Others.snapshots)}${rows()};

-- Names of people who were erased, as keyed hashes. What was said up to \`at\` counts for nothing. account: '' for all.
${made(Others.erased)}${rows({ clustered: true })};

-- Acts of erasure, with counts of what went. next_at: when it is swept again; null once it is done.
${made(erasures)}${rows()};
CREATE INDEX sendwright_erasure_next ON sendwright_erasure (next_at) WHERE next_at IS NOT NULL;

-- Sealed: the key of the hashes, and the names of people whose erasure goes on.
${made(Others.erasureSecrets)}${rows()};

-- The last count with which each worker said that it lives.
${made(Others.workers)}${rows({ clustered: true, room: 50 })};

-- What became of recipients, counted by processes. minute: its first moment. code: a failure's, else empty.
${made(tallies)}${rows({ clustered: true })};

-- arrival: when the next message would find the session idle, in milliseconds with fractions.
${made(Others.paces)}${rows({ clustered: true, room: 50 })};

-- next_at: not before it the session's next message to the phone.
${made(Others.pairs)}${rows({ clustered: true })};
CREATE INDEX sendwright_pair_next ON sendwright_pair (session, next_at);

-- Messages that count against an account's caps.
${made(counted)}${rows({ clustered: true })};
CREATE INDEX sendwright_capped_at ON sendwright_capped (account, at);

-- Until when a session may answer a person with free text, by each of their names, and until when free of charge.
${made(windows)}${rows({ clustered: true })};
CREATE INDEX sendwright_window_open ON sendwright_window (session, open_until);
CREATE INDEX sendwright_window_aside ON sendwright_window (session) WHERE aside_at IS NOT NULL;
CREATE INDEX sendwright_window_answered ON sendwright_window (session, aside_at) WHERE open_until = 0;

-- Reports of which only the platform's id is known, and not yet of which message that is.
${made(Others.parked)}${rows()};
CREATE INDEX sendwright_parked_at ON sendwright_parked (at);
-- Only the newest of a session are kept.
CREATE INDEX sendwright_parked_session ON sendwright_parked (session, seq);

-- What came in and was told, so that it is told once.
${made(Others.inbound)}${rows({ clustered: true })};
CREATE INDEX sendwright_inbound_at ON sendwright_inbound (at);

${made(endpoints)}${rows()};
CREATE INDEX sendwright_endpoint_account ON sendwright_endpoint (account, seq);
-- Those that somebody should look at.
CREATE INDEX sendwright_endpoint_failing ON sendwright_endpoint (seq) WHERE (enabled = 0 OR failing_since IS NOT NULL);

${made(events)}${rows()};

-- attempts: all that were made; tries: those of the running schedule.
-- due_at: when it may be taken: at next_at, or at the end of the lease while a worker has it; null when it is over.
${made(deliveries)}${rows({ room: 70 })};
-- By endpoint, so that what waits for a disabled one is passed over as a whole and needs no write to wait.
CREATE INDEX sendwright_delivery_due ON sendwright_delivery (endpoint, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX sendwright_delivery_endpoint ON sendwright_delivery (endpoint, seq);
-- An event goes with its last delivery.
CREATE INDEX sendwright_delivery_event ON sendwright_delivery (event);
-- What was attempted and waits: little, and found without reading a backlog that was not.
CREATE INDEX sendwright_delivery_tried ON sendwright_delivery (endpoint) WHERE tries > 0 AND due_at IS NOT NULL;
-- While a worker has a delivery in hand it has no due_at; the worker says that it lives, or is rescued.
CREATE INDEX sendwright_delivery_worker ON sendwright_delivery (worker) WHERE worker IS NOT NULL;

${made(attempts)}${rows({ clustered: true })};

-- The master keys that processes have to be given, in the order in which they were added.
${made(Others.masterKeys)}${rows()};

${made(operators)}${rows()};

-- before_act and after_act: what is shown of the target, in JSON.
${made(auditEntries)}${rows()};
CREATE INDEX sendwright_audit_at ON sendwright_audit (at);
CREATE INDEX sendwright_audit_operation ON sendwright_audit (operation, seq);
CREATE INDEX sendwright_audit_operator ON sendwright_audit (operator, seq);
CREATE INDEX sendwright_audit_target ON sendwright_audit (target, seq) WHERE target IS NOT NULL;

-- A row while nothing is sent, since the store was restored: all that is open up to last_job was so before. What an operator
-- opens in parts has come to the job opened, with these counts; the way on of the first part is that of all.
${made(Others.quarantines)}${rows()};

-- Retries of many jobs. wanted: which jobs and recipients, in JSON. place: the last job that it has dealt with. expected, sums:
-- what it would do when it began, and what it has done.
${made(plans)}${rows({ room: 50 })};
CREATE UNIQUE INDEX sendwright_retry_plan_idempotency ON sendwright_retry_plan (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sendwright_retry_plan_running ON sendwright_retry_plan ((seq + 0)) WHERE ended_at IS NULL;

-- What no other row keeps, the newest of it (docs/night.md). subject: the id of what it happened to.
${made(happenings)}${rows()};
CREATE INDEX sendwright_happening_at ON sendwright_happening (at, seq);
CREATE INDEX sendwright_happening_session ON sendwright_happening (session, at, seq) WHERE session IS NOT NULL;

-- What stays of a job as it was accepted.
${made(jobs)}${rows()};
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
${made(Others.sizes)}${rows()};

-- What changes of a job, once more became of it than that a claim has it. counts: its recipients by status, in JSON, those
-- that are not 0. next_at: when it has work next; null while nothing of it waits, and when it may not be dispatched.
${made(progress)}${rows({ room: 70 })};
CREATE INDEX sendwright_progress_due ON sendwright_progress (session, priority, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX sendwright_progress_going ON sendwright_progress (session, status, seq)
  WHERE status IN ('queued', 'processing', 'paused');
CREATE INDEX sendwright_progress_failures ON sendwright_progress (completed_at, seq) WHERE failures > 0;
CREATE INDEX sendwright_progress_expiring ON sendwright_progress (expires_at) WHERE expires_at IS NOT NULL;
-- Of lists of jobs, by an expression, as the order of jobs: a statement takes no other for it.
CREATE INDEX sendwright_progress_failing ON sendwright_progress ((seq + 0)) WHERE failures > 0;

-- A claim has the untouched recipients of its session from first to last, keys of theirs both, and those whose rows have its
-- fence. jobs: those of which it has some, in JSON, but for whole ones in their session's order. open: how many outcomes it
-- awaits; the worker is null when it awaits none. place: the last job up to which it took the session's order of the priority.
-- overtaken: 1 once a recipient of it was written without its outcome, or by another process than who claimed it.
${made(claims)}${rows({ room: 50 })};
CREATE INDEX sendwright_claim_open ON sendwright_claim (session, last) WHERE worker IS NOT NULL;
CREATE INDEX sendwright_claim_place ON sendwright_claim (session, priority, place);
CREATE INDEX sendwright_claim_worker ON sendwright_claim (worker) WHERE worker IS NOT NULL;

-- The sessions that may have jobs in their orders, with the priorities of these.
${made(Others.busy)}${rows({ clustered: true })};

-- seq: its job's seq × 4096 + its place. next_at is null while in flight and after dispatch.
-- fence: of the claim whose outcome is awaited. A report may overtake the outcome. Null when none is; 0 when it never was,
-- of a recipient that no claim has by its range since its job has no place in its session's order.
-- lost: workers that died over it in a row. uncertain: an attempt had no outcome, and another is to be made.
${made(recipients)}${rows({ room: 50 })};
CREATE INDEX sendwright_recipient_provider ON sendwright_recipient (provider_id) WHERE provider_id IS NOT NULL;

-- Who was sent what, by text: a segment has the phones and searched texts of 100,000 recipients, in the order of acceptance.
-- last: the key of its last recipient. written: how many of its rows are; null once it is whole (docs/adr/0041).
${made(Others.segments)}${rows()};

${made(Others.segmentKeys)}${rows({ clustered: true })};

-- Attempts that their recipients do not tell: those before the last, and one whose first outcome a receipt changed. number: counted
-- anew after an operator's retry. message: what was said then; null once the person was erased.
${made(earlierAttempts)}${rows({ clustered: true })};

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
SELECT recipient.seq, job.id AS job, ${inSql.placeOf("recipient.seq")} AS place, recipient.phone, ${clientTexts},
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

export const tables = ({ exact, key, long, publicKey, real, ...words }: Words): string =>
  textOf(words, createOf({ exact, key, long, publicKey, real }))

/** All of them. */
export const everyTable: ReadonlyArray<DescribedTable> = (() => {
  const found: Array<DescribedTable> = []
  const nothing = () => ""
  textOf({ jsonOf: nothing, rows: nothing, time: nothing }, (table) => {
    found.push(table)
    return ""
  })
  return found
})()

/** The tables with rows of jobs, or of recipients, and the column by which they have these. */
export const ofJobs = (
  of: "jobs" | "recipients"
): ReadonlyArray<{ readonly table: DescribedTable; readonly by: string }> =>
  everyTable.flatMap((table) => {
    const { kept } = table
    return typeof kept === "object" && "of" in kept && kept.of === of ? [{ table, by: kept.by }] : []
  })
