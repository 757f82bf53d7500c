/** Where a person stands in the tables: what is searched, what is shown of it, and how it goes, by what columns say of themselves (`Personal`). */
import type { Part, Redaction } from "../../domain/Erasure.ts"
import * as Time from "../../domain/Instant.ts"
import * as Person from "../../domain/Person.ts"
import type { Finding } from "../ErasureStore.ts"
import type { Program, Row, SqlParameter } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { counted } from "./CapRows.ts"
import type { Described, DescribedTable } from "./Columns.ts"
import { auditEntries } from "./codec/AuditEntry.ts"
import { consents } from "./codec/Consent.ts"
import { attempts, events } from "./codec/Delivery.ts"
import { links, pairs, parked } from "./codec/Others.ts"
import { rows as plans } from "./codec/RetryPlan.ts"
import { unattributedItems } from "./codec/Unattributed.ts"
import { unreadHooks } from "./codec/UnreadHook.ts"
import type * as Database from "./Database.ts"
import { rows as happenings } from "./Happenings.ts"
import { jobs } from "./jobs/JobColumns.ts"
import { perhapsRefusals } from "./PerhapsRefusalRows.ts"
import type { Personal } from "./Personal.ts"
import { instantOrNull, integer, integerOrNull, text, textOrNull } from "./RowReader.ts"
import { windows } from "./WindowRows.ts"

type KeyColumn = Pick<Described, "isTime" | "name" | "type">

/** A table that is searched row by row, in the order of its key, where it is called `item`. */
export interface Searched {
  readonly table: DescribedTable
  readonly key: ReadonlyArray<KeyColumn>
  /** The row's account, as SQL; NULL where it is of none. */
  readonly account: string
  /** Columns in which a name may stand, as SQL. */
  readonly mentions: ReadonlyArray<string>
  /** Columns of other tables that are read beside the table's own. */
  readonly joined: { readonly from: string; readonly columns: ReadonlyArray<string> }
  /** True where a token stands for a name, too, since what it is about was erased before. */
  readonly isFoundByToken: boolean
  /** The rows of one slice. */
  readonly atOnce: number
  /** Empty where they are only mentioned; null where they are not. */
  readonly shown: (row: Row, redaction: Redaction) => Finding | null
  /** Answers whether there was something of theirs. */
  readonly erase: (row: Row, redaction: Redaction) => Program<boolean>
}

interface Special extends Partial<Omit<Searched, "key" | "table">> {
  readonly isAbout?: (row: Row, redaction: Redaction) => boolean
  readonly told?: (row: Row) => Finding
}

interface PersonalColumn extends Database.Column {
  readonly personal: Personal
}

const personalOf = ({ ordered }: DescribedTable): ReadonlyArray<PersonalColumn> =>
  ordered.flatMap(({ personal, ...column }) => (personal === null ? [] : [{ ...column, personal }]))

const keyOf = ({ key = ["seq"], ordered }: DescribedTable): ReadonlyArray<KeyColumn> =>
  key.map((name) => ordered.find((column) => column.name === name) ?? { name, type: "bigint", isTime: false })

const ofKey = (key: ReadonlyArray<Database.Column>): string =>
  key.map(({ name }) => `${name} = ?`).join(" AND ")

const valuesOf = (key: ReadonlyArray<Database.Column>, row: Row): ReadonlyArray<SqlParameter> =>
  key.map(({ name, type }) => (type === "text" ? text(row, name) : integer(row, name)))

const updateOf = (
  { name }: DescribedTable,
  columns: ReadonlyArray<Database.Column>,
  key: ReadonlyArray<Database.Column>
): string =>
  `UPDATE ${name} SET ${columns.map((column) => `${column.name} = ?`).join(", ")} WHERE ${ofKey(key)}`

/** The columns' texts without the person. */
const leftOf = (
  columns: ReadonlyArray<PersonalColumn>,
  row: Row,
  redaction: Redaction,
  isTheirs: boolean
): ReadonlyArray<string | null> =>
  columns.map(({ name, personal }) => {
    const stored = textOrNull(row, name)
    if (stored === null) return null
    return personal[isTheirs ? "ofTheirs" : "ofOthers"](stored, redaction, Number(row["seq"] ?? 0))
  })

const isChanged = (
  columns: ReadonlyArray<Database.Column>,
  row: Row,
  left: ReadonlyArray<string | null>
): boolean => columns.some(({ name }, at) => row[name] !== left[at])

/** Takes what is personal from the rows that have a value in a column, all of which are the person's. */
export const blanking = (table: DescribedTable, by: string) => {
  const columns = personalOf(table)
  const key = keyOf(table)
  const names = [...key, ...columns].map(({ name }) => name)
  const select = `SELECT ${names.join(", ")} FROM ${table.name} WHERE ${by} = ?`
  const update = updateOf(table, columns, key)
  return function* (value: SqlParameter, redaction: Redaction): Program<void> {
    for (const row of yield* all(select, value)) {
      const left = leftOf(columns, row, redaction, true)
      if (isChanged(columns, row, left)) yield* run(update, ...left, ...valuesOf(key, row))
    }
  }
}

const time = (row: Row, column: string): string | null => Time.formatOrNull(instantOrNull(row, column))

/** What is personal of a row, its times, and whose it is. */
const toldOf =
  ({ ordered }: DescribedTable) =>
  (row: Row): Finding =>
    Object.fromEntries(
      ordered.flatMap(({ isTime, name, personal }): ReadonlyArray<readonly [string, unknown]> => {
        if (isTime) return [[name, time(row, name)]]
        if (name === "account" || name === "session") return [[`${name}_id`, textOrNull(row, name)]]
        return personal === null ? [] : [[name, textOrNull(row, name)]]
      })
    )

const accountOf = ({ ordered }: DescribedTable): string => {
  const names = ordered.map(({ name }) => name)
  if (names.includes("account")) return "item.account"
  return names.includes("session")
    ? "(SELECT session.account FROM sendwright_session AS session WHERE session.id = item.session)"
    : "NULL"
}

/** Of a row in which they are mentioned, and which tells nothing of them. */
const mentioned: Finding = {}

export const searchedOf = (table: DescribedTable, special: Special = {}): Searched => {
  const { goes = false } = table
  const columns = personalOf(table)
  const key = keyOf(table)
  const update = updateOf(table, columns, key)
  const remove = `DELETE FROM ${table.name} WHERE ${ofKey(key)}`
  const isNamed = (row: Row, redaction: Redaction): boolean =>
    columns.some(({ name, personal }) => {
      const stored = textOrNull(row, name)
      return stored !== null && personal.isAbout(stored, redaction)
    })
  const { isAbout = isNamed, told = toldOf(table), ...rest } = special
  return {
    table,
    key,
    account: accountOf(table),
    mentions: columns.map(({ name }) => `item.${name}`),
    joined: { from: "", columns: [] },
    isFoundByToken: false,
    atOnce: 1000,
    shown: (row, redaction) => {
      const isTheirs = isAbout(row, redaction)
      if (!(isTheirs && goes) && !isChanged(columns, row, leftOf(columns, row, redaction, isTheirs)))
        return null
      return isTheirs ? told(row) : mentioned
    },
    *erase(row, redaction) {
      const isTheirs = isAbout(row, redaction)
      if (isTheirs && goes) {
        yield* run(remove, ...valuesOf(key, row))
        return true
      }
      const left = leftOf(columns, row, redaction, isTheirs)
      if (!isChanged(columns, row, left)) return false
      yield* run(update, ...left, ...valuesOf(key, row))
      return true
    },
    ...rest
  }
}

const isOfConsent = (row: Row, { tokenOf }: Redaction): boolean => tokenOf(text(row, "person")) !== undefined

const ofConsents = personalOf(consents)
const keyOfConsents = keyOf(consents)
const lastConsent = "SELECT max(seq) AS seq FROM sendwright_consent WHERE account = ? AND person = ?"
const moveConsent = updateOf(consents, [{ name: "seq", type: "bigint" }, ...ofConsents], keyOfConsents)
const plainConsents = searchedOf(consents, { isAbout: () => false })

/** Under the hash the order of recording stays, behind what an earlier erasure has put there. */
function* eraseConsent(row: Row, redaction: Redaction): Program<boolean> {
  const token = redaction.tokenOf(text(row, "person"))
  if (token === undefined) return yield* plainConsents.erase(row, redaction)
  const last = yield* get(lastConsent, text(row, "account"), token)
  const seq = 1 + ((last === undefined ? null : integerOrNull(last, "seq")) ?? 0)
  const left = leftOf(ofConsents, row, redaction, true)
  yield* run(moveConsent, seq, ...left, ...valuesOf(keyOfConsents, row))
  return true
}

const personOf = (row: Row, column: string) => {
  const { phone, userId } = Person.ofKey(text(row, column))
  return { phone, user_id: userId }
}

export const tables: Readonly<Record<Exclude<Part, "recipients">, Searched>> = {
  jobs: searchedOf(jobs, { atOnce: 2000 }),
  retries: searchedOf(plans, { atOnce: 2000 }),
  attempts: searchedOf(attempts, {
    joined: {
      from: `LEFT JOIN sendwright_delivery AS delivery ON delivery.seq = item.delivery
    LEFT JOIN sendwright_event AS event ON event.seq = delivery.event`,
      columns: ["event.body"]
    },
    account: "event.account",
    mentions: ["item.excerpt", "event.body"],
    isFoundByToken: true,
    atOnce: 300,
    // A receiver that names them in its answer may tell more of them there, and so may one that is told of them.
    isAbout: (row, { isAbout, text: without }) => {
      const [body, excerpt] = [textOrNull(row, "body"), text(row, "excerpt")]
      return (body !== null && isAbout(body)) || without(excerpt) !== excerpt
    },
    told: (row) => ({ ...toldOf(attempts)(row), status: integerOrNull(row, "status") })
  }),
  events: searchedOf(events, { atOnce: 300, told: (row) => JSON.parse(text(row, "body")) }),
  consents: searchedOf(consents, {
    // The order of a person's records is in their key: what is under a hash by now is found to be shown.
    isFoundByToken: true,
    shown: (row, redaction) => {
      if (!isOfConsent(row, redaction) && !redaction.isKnown(text(row, "person"))) return null
      const { phone, user_id } = personOf(row, "person")
      const { person: _, ...told } = toldOf(consents)(row)
      return {
        ...told,
        phone: told["phone"] ?? phone,
        user_id: told["user_id"] ?? user_id,
        purpose: text(row, "purpose"),
        status: text(row, "status")
      }
    },
    erase: eraseConsent
  }),
  links: searchedOf(links, {
    shown: (row, redaction) =>
      isOfConsent(row, redaction)
        ? {
            account_id: text(row, "account"),
            of: text(row, "person"),
            ...personOf(row, "other"),
            at: time(row, "at")
          }
        : null
  }),
  pairs: searchedOf(pairs, { atOnce: 2000 }),
  caps: searchedOf(counted, { atOnce: 2000 }),
  windows: searchedOf(windows, {
    atOnce: 2000,
    told: (row) => ({ ...toldOf(windows)(row), ...personOf(row, "person") })
  }),
  refusals: searchedOf(perhapsRefusals),
  texts: searchedOf(unattributedItems),
  unread: searchedOf(unreadHooks, { atOnce: 300 }),
  reports: searchedOf(parked, { told: (row) => JSON.parse(text(row, "report")) }),
  audit: searchedOf(auditEntries),
  happenings: searchedOf(happenings)
}
