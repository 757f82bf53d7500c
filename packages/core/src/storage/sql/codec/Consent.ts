/** The columns of `sendwright_consent`. */
import type { ConsentRecord } from "../../../domain/consent/Consent.ts"
import * as Consent from "../../../domain/consent/Consent.ts"
import * as Person from "../../../domain/Person.ts"
import type { Row, SqlValue } from "../../Program.ts"
import {
  exact,
  instant,
  instantOrNull,
  integer,
  layout,
  noted,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import { impersonal, knownPhone, knownUserId, mention, personKey, said } from "../Personal.ts"
import * as RowReader from "../RowReader.ts"

/** A record under one of its person's keys. A phone or user id that is the key is not written twice. */
interface ConsentRow extends ConsentRecord {
  readonly accountId: string
  readonly person: Person.Key
  /** The record's number among those of its key. */
  readonly seq: number
}

export const consents = table("sendwright_consent", {
  kept: { walk: "grants" },
  part: "consents",
  key: ["account", "person", "occurred_at", "seq"]
})<ConsentRow>({
  accountId: exact("account", impersonal),
  person: noted(
    "person: a phone, or a user id with its portfolio. phone and user_id: what else is known of whom the\nrecord is of.",
    exact("person", personKey)
  ),
  occurredAt: instant("occurred_at", impersonal),
  seq: integer("seq", impersonal),
  id: text("id", impersonal),
  purpose: word("purpose", impersonal, Consent.scopes),
  status: word("status", impersonal, Consent.statuses),
  source: text("source", mention),
  proof: textOrNull("proof", said),
  recordedAt: instant("recorded_at", impersonal),
  phone: textOrNull("phone", knownPhone),
  userId: textOrNull("user_id", knownUserId),
  reportedAt: noted(
    "What the platform or the account told, and the session whose platform did (null of an account's own records).",
    instantOrNull("reported_at", impersonal)
  ),
  datedBy: textOrNull("dated_by", impersonal)
})

export const writeConsent = (
  record: ConsentRecord,
  filed: Pick<ConsentRow, "accountId" | "person" | "seq">
): ReadonlyArray<SqlValue> => {
  const { phone, userId } = Person.ofKey(filed.person)
  return consents.write({
    accountId: filed.accountId,
    person: filed.person,
    id: record.id,
    phone: record.phone === phone ? null : record.phone,
    userId: record.userId === userId ? null : record.userId,
    purpose: record.purpose,
    status: record.status,
    source: record.source,
    proof: record.proof,
    occurredAt: record.occurredAt,
    reportedAt: record.reportedAt,
    datedBy: record.datedBy,
    recordedAt: record.recordedAt,
    seq: filed.seq
  })
}

const personOf = (key: Person.Key, { phone, userId }: Person.Person): Person.Person => {
  const known = Person.ofKey(key)
  return { phone: phone ?? known.phone, userId: userId ?? known.userId }
}

const { columns } = consents

export const readConsent = (row: Row): ConsentRecord => {
  const named = { phone: columns.phone.read(row), userId: columns.userId.read(row) }
  const { phone, userId } = personOf(columns.person.read(row), named)
  return {
    id: columns.id.read(row),
    phone,
    userId,
    purpose: columns.purpose.read(row),
    status: columns.status.read(row),
    source: columns.source.read(row),
    proof: columns.proof.read(row),
    occurredAt: columns.occurredAt.read(row),
    reportedAt: columns.reportedAt.read(row),
    datedBy: columns.datedBy.read(row),
    recordedAt: columns.recordedAt.read(row)
  }
}

/** A record, and the place of its phone among those asked for. */
export interface Recorded<R> {
  readonly place: number
  readonly record: R
}

/** A query for the records of several phones answers one JSON text, like `Recipient`'s. */
export interface Answered<R> {
  /** @param place of the phone, as SQL. The table is called `consent`. */
  readonly select: (place: string) => string
  readonly parse: (text: string) => ReadonlyArray<Recorded<R>>
}

interface PlacedRow extends ConsentRow {
  readonly place: number
}

const expressions = (place: string) => ({ place, ...consents.expressions(({ name }) => `consent.${name}`) })

const purposeOf = RowReader.wordOf(Consent.scopes)
const statusOf = RowReader.wordOf(Consent.statuses)

const standing = layout<PlacedRow>()("place", "purpose", "status", "source", "occurredAt")

/** The part of the records that decides. */
export const standings: Answered<Consent.Standing> = {
  select: (place) => standing.select(expressions(place)),
  parse: (text) => {
    const { at, parseAll } = standing
    return parseAll(text).map((array) => ({
      place: array[at.place],
      record: {
        purpose: purposeOf("purpose", array[at.purpose]),
        status: statusOf("status", array[at.status]),
        source: array[at.source],
        occurredAt: array[at.occurredAt]
      }
    }))
  }
}

const history = layout<PlacedRow>()(
  "place",
  "purpose",
  "status",
  "occurredAt",
  "id",
  "person",
  "source",
  "proof",
  "reportedAt",
  "datedBy",
  "recordedAt",
  "phone",
  "userId"
)

/** The whole records. */
export const histories: Answered<ConsentRecord> = {
  select: (place) => history.select(expressions(place)),
  parse: (text) => {
    const { at, parseAll } = history
    return parseAll(text).map((array) => ({
      place: array[at.place],
      record: {
        ...personOf(array[at.person], { phone: array[at.phone], userId: array[at.userId] }),
        id: array[at.id],
        purpose: purposeOf("purpose", array[at.purpose]),
        status: statusOf("status", array[at.status]),
        source: array[at.source],
        proof: array[at.proof],
        occurredAt: array[at.occurredAt],
        reportedAt: array[at.reportedAt],
        datedBy: array[at.datedBy],
        recordedAt: array[at.recordedAt]
      }
    }))
  }
}
