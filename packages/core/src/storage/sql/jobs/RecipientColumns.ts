/**
 * The columns of `sendwright_recipient`. The recipients of an answer come as one JSON text, because the driver's own rows of
 * so many columns take three times as long; the table is STRICT, so a column cannot hold another type than it says. For the
 * same reason their reader is a literal: one that goes through the columns takes a fifth longer.
 */
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import * as ClientTexts from "../../../domain/job/ClientTexts.ts"
import type { RecipientResult } from "../../../domain/job/Job.ts"
import * as Job from "../../../domain/job/Job.ts"
import * as Recipient from "../../../domain/job/Recipient.ts"
import * as Transitions from "../../../domain/job/Transitions.ts"
import type * as When from "../../../domain/job/When.ts"
import type { FencedRecipient, RecipientChange } from "../../JobSteps.ts"
import type { NewRecipient } from "../../JobStore.ts"
import type { SqlValue } from "../../Program.ts"
import type { Columns } from "../Columns.ts"
import {
  elementOf,
  expiring,
  flag,
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  json,
  layout,
  noted,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import type { Dialect } from "../Database.ts"
import { address, impersonal, mentionInJson, said, saidTexts } from "../Personal.ts"
import { placesPerJob } from "../RecipientKeys.ts"
import * as RowReader from "../RowReader.ts"
import * as Claims from "./Claims.ts"

/** The columns of the texts that clients give of recipients for their own use. */
const texts = {
  externalId: textOrNull("external_id", said)
} satisfies Columns<ClientTexts.RecipientTexts>

export const { names: textNames } = ClientTexts.recipient

export interface RecipientRow extends Omit<RecipientResult, "index"> {
  readonly key: number
  /** The fence under which its outcome is awaited; null when none is. */
  readonly fence: number | null
}

export const recipients = table("sendwright_recipient", {
  kept: { walk: "jobs", by: "seq", of: "recipients" },
  part: "recipients",
  key: ["seq"]
})<RecipientRow>({
  key: integer("seq", impersonal, "long PRIMARY KEY"),
  address: noted(
    "A phone, or a user id with its portfolio (as a key of sendwright_person_link), or the phone and behind it the user id.",
    text("phone", address)
  ),
  timing: noted(
    "The times and the zone that it has of its own, in JSON.",
    nullable(json<When.Own>("timing", said))
  ),
  ...texts,
  values: expiring("[]", json("variables", saidTexts)),
  market: textOrNull("market", impersonal),
  price: textOrNull("price", impersonal),
  status: word("status", impersonal, Recipient.statuses),
  attempts: integer("attempts", impersonal, "INTEGER NOT NULL"),
  crashCount: integer("lost", impersonal, "INTEGER NOT NULL DEFAULT 0"),
  maybeSent: flag("uncertain", impersonal, "INTEGER NOT NULL DEFAULT 0"),
  sequence: integer("sequence", impersonal, "INTEGER NOT NULL"),
  nextAt: instantOrNull("next_at", impersonal),
  fence: integerOrNull("fence", impersonal),
  updatedAt: instant("updated_at", impersonal),
  failure: nullable(json("failure", mentionInJson)),
  providerId: textOrNull("provider_id", said),
  sentAt: instantOrNull("sent_at", impersonal),
  deliveredAt: instantOrNull("delivered_at", impersonal),
  readAt: instantOrNull("read_at", impersonal),
  pricing: nullable(json("pricing", impersonal)),
  retryingSince: noted(
    "The time of the first attempt, once that is to be repeated.",
    instantOrNull("retrying_since", impersonal)
  ),
  requeuedAt: noted(
    "When an operator had it sent again; null when nobody did.",
    instantOrNull("requeued_at", impersonal)
  ),
  attemptedAt: noted(
    "When the attempt ended by which the platform has it or it has failed; null as long as updated_at is that.",
    instantOrNull("attempted_at", impersonal)
  )
})

const given = recipients.only(
  "timing",
  "fence",
  "nextAt",
  "updatedAt",
  "market",
  "price",
  "values",
  "address"
)

/** The columns of a new recipient's row; those come first that are the same for all recipients of most sends. */
export const accepted = [...given.ordered, ...recipients.only(...textNames, "key").ordered]

export const writeAccepted = (
  recipient: NewRecipient,
  key: number,
  isApart: boolean,
  now: Instant
): ReadonlyArray<SqlValue> => {
  const { at } = given
  const values = given.blank()
  values[at.fence] = isApart ? apart : null
  values[at.timing] = recipient.timing ? JSON.stringify(recipient.timing) : null
  values[at.nextAt] = recipient.dueAt ?? now
  values[at.updatedAt] = now
  values[at.market] = recipient.market
  values[at.price] = recipient.price
  values[at.values] = JSON.stringify(recipient.values)
  values[at.address] = recipient.address
  return [...values, ...textNames.map((name) => recipient[name] ?? null), key]
}

/** As each begins. The columns that are in neither have defaults. */
const fresh: RecipientRow = {
  ...Job.newRecipient({ address: "", values: [], market: null, price: null }, 0, Time.at(0)),
  key: 0,
  fence: null
}

export const begun = recipients.only("status", "attempts", "sequence").literals(fresh)

/** The columns that a step changes alike for many; what each message is called by the platform is written apart. */
export const changed = recipients.only(
  "status",
  "attempts",
  "attemptedAt",
  "retryingSince",
  "requeuedAt",
  "crashCount",
  "maybeSent",
  "sequence",
  "nextAt",
  "fence",
  "updatedAt",
  "failure",
  "sentAt",
  "deliveredAt",
  "readAt",
  "pricing"
)

export const writeChanged = ({ after, fence }: RecipientChange): ReadonlyArray<SqlValue> => {
  const { at } = changed
  const values = changed.blank()
  values[at.status] = after.status
  values[at.attempts] = after.attempts
  values[at.attemptedAt] = after.attemptedAt
  values[at.retryingSince] = after.retryingSince
  values[at.requeuedAt] = after.requeuedAt
  values[at.crashCount] = after.crashCount
  values[at.maybeSent] = after.maybeSent ? 1 : 0
  values[at.sequence] = after.sequence
  values[at.nextAt] = after.nextAt
  values[at.fence] = fence
  values[at.updatedAt] = after.updatedAt
  values[at.failure] = after.failure === null ? null : JSON.stringify(after.failure)
  values[at.sentAt] = after.sentAt
  values[at.deliveredAt] = after.deliveredAt
  values[at.readAt] = after.readAt
  values[at.pricing] = after.pricing === null ? null : JSON.stringify(after.pricing)
  return values
}

const haveEqualPricing = (a: Recipient.Pricing | null, b: Recipient.Pricing | null): boolean =>
  a?.category === b?.category && a?.free === b?.free

const haveEqualTimes = (a: RecipientResult, b: RecipientResult): boolean =>
  a.attemptedAt === b.attemptedAt &&
  a.sentAt === b.sentAt &&
  a.deliveredAt === b.deliveredAt &&
  a.readAt === b.readAt

/** True of two steps that write the same into the columns of {@link changed}. Of many recipients, so it is a literal. */
export const areEqual = (a: RecipientChange, b: RecipientChange): boolean =>
  a.fence === b.fence &&
  a.after.status === b.after.status &&
  a.after.attempts === b.after.attempts &&
  a.after.retryingSince === b.after.retryingSince &&
  a.after.requeuedAt === b.after.requeuedAt &&
  a.after.crashCount === b.after.crashCount &&
  a.after.maybeSent === b.after.maybeSent &&
  a.after.sequence === b.after.sequence &&
  a.after.nextAt === b.after.nextAt &&
  a.after.updatedAt === b.after.updatedAt &&
  a.after.failure === b.after.failure &&
  haveEqualTimes(a.after, b.after) &&
  haveEqualPricing(a.after.pricing, b.after.pricing)

/** A recipient, and its row's key. */
export interface StoredRecipient extends FencedRecipient {
  readonly key: number
}

/** A recipient's row as it was accepted, of a job in its session's order: it waits, or a claim has it by its range. */
export const untouched = "sequence = 0 AND status = 'queued' AND next_at = updated_at AND fence IS NULL"

/** The fence of a recipient whose job has no place in its session's order: no range has it. */
const apart = 0

const progress = layout<RecipientRow>()(
  "status",
  "failure",
  "attempts",
  "providerId",
  "sequence",
  "sentAt",
  "deliveredAt",
  "readAt",
  "fence",
  "crashCount",
  "maybeSent",
  "pricing",
  "retryingSince",
  "requeuedAt",
  "attemptedAt"
)

interface ClaimOf {
  readonly fence: number
  readonly at: Instant
}

const claimOf = layout<ClaimOf>()("fence", "at")

interface AnsweredRow extends RecipientRow {
  /** Null of an untouched one. */
  readonly progress: ReturnType<typeof progress.parse> | null
  /** The claim that has an untouched one; null where none has. */
  readonly claim: ReturnType<typeof claimOf.parse> | null
}

const answered = layout<AnsweredRow>()(
  "key",
  "address",
  "values",
  "market",
  "price",
  "nextAt",
  "updatedAt",
  "progress",
  "claim",
  "timing",
  ...textNames
)

/**
 * The columns that {@link readRecipients} reads: fewer of an untouched recipient.
 *
 * @param session whose recipients they are, as SQL; absent where no claim has any of them
 */
export const recipientColumns = (
  dialect: Pick<Dialect, "json" | "jsonColumns" | "jsonValue">,
  session?: string
): string => {
  const expressions = recipients.expressions(({ isJson, name }) => (isJson ? dialect.json(name) : name))
  const claimIn = (session: string) => `(
          SELECT ${dialect.jsonValue(claimOf.select({ fence: "claim.fence", at: "claim.at" }))}
          FROM sendwright_claim AS claim WHERE ${Claims.has(session, "recipient.seq")}
        )`
  const claim =
    session === undefined
      ? "CAST(NULL AS text)"
      : `CASE WHEN ${untouched} THEN ${dialect.json(claimIn(session))} END`
  return dialect.jsonColumns(
    answered.expressions({
      ...expressions,
      progress: `CASE WHEN ${untouched} THEN NULL ELSE ${dialect.jsonValue(progress.select(expressions))} END`,
      claim
    })
  )
}

const untouchedProgress = progress.ofRecord(recipients.columns, fresh)

const statusOf = RowReader.wordOf(Recipient.statuses)
const { at } = answered
const { at: now } = progress
const { at: heldAt } = claimOf

const recipientOf = (
  columns: ReturnType<typeof answered.parseColumns>,
  key: number,
  row: number
): StoredRecipient => {
  const [, , , , , , , , , , ...texts] = columns
  const state = elementOf(columns[at.progress], row) ?? untouchedProgress
  return {
    key,
    recipient: {
      index: key % placesPerJob,
      address: elementOf(columns[at.address], row),
      timing: elementOf(columns[at.timing], row),
      ...ClientTexts.recipient.from((place) => elementOf(texts[place] ?? [], row)),
      values: elementOf(columns[at.values], row),
      status: statusOf("status", state[now.status]),
      failure: state[now.failure],
      attempts: state[now.attempts],
      attemptedAt: state[now.attemptedAt],
      retryingSince: state[now.retryingSince],
      requeuedAt: state[now.requeuedAt],
      crashCount: state[now.crashCount],
      maybeSent: state[now.maybeSent] === 1,
      providerId: state[now.providerId],
      market: elementOf(columns[at.market], row),
      price: elementOf(columns[at.price], row),
      pricing: state[now.pricing],
      sequence: state[now.sequence],
      nextAt: elementOf(columns[at.nextAt], row),
      updatedAt: elementOf(columns[at.updatedAt], row),
      sentAt: state[now.sentAt],
      deliveredAt: state[now.deliveredAt],
      readAt: state[now.readAt]
    },
    fence: state[now.fence] === apart ? null : state[now.fence]
  }
}

/** Each as it is: an untouched one that a claim has is being sent. */
export const readRecipients = (text: string): ReadonlyArray<StoredRecipient> => {
  const columns = answered.parseColumns(text)
  return columns[at.key].map((key, row): StoredRecipient => {
    const claim = elementOf(columns[at.claim], row)
    const stored = recipientOf(columns, key, row)
    return claim === null
      ? stored
      : { key, recipient: Transitions.claim(stored.recipient, claim[heldAt.at]), fence: claim[heldAt.fence] }
  })
}
