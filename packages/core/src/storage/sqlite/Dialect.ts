/** SQLite's own words, where the databases differ. */

import type { SqlValue } from "../Program.ts"
import { all, get, run, script } from "../Program.ts"
import type { Dialect } from "../sql/Database.ts"
import { groupEqual } from "../sql/GroupEqual.ts"
import { insertInto, insertRows, onKeyConflict } from "../sql/Insert.ts"
import { rangesOf } from "../sql/Ranges.ts"
import { integer, integerOrNull, textOrNull } from "../sql/RowReader.ts"

/** Whether two rows differ in their last column only. */
const areEqual = (a: ReadonlyArray<SqlValue>, b: ReadonlyArray<SqlValue>): boolean => {
  for (let column = a.length - 2; column >= 0; column--) if (a[column] !== b[column]) return false
  return true
}

const size = `SELECT page_count * page_size AS bytes, (
    SELECT file FROM pragma_database_list WHERE name = 'main'
  ) AS file FROM pragma_page_count, pragma_page_size`

const free =
  "SELECT freelist_count, page_count, auto_vacuum FROM pragma_freelist_count, pragma_page_count, pragma_auto_vacuum"
/** Of a file whose free pages can be given back one by one. */
const incremental = 2

export const dialect: Dialect = {
  forUpdate: () => "",
  skipLocked: () => "",
  // One writes at a time.
  serialize: function* () {},
  trySerialize: function* () {
    return true
  },
  serializeInTime: function* () {
    return true
  },
  readSerialized: (_name, _waits, text, ...parameters) => all(text, ...parameters),
  isSerialized: "true",
  tryKey: "(? IS NULL OR ? IS NULL OR 1)",
  noteKey: function* () {},
  announce: function* () {},
  // A transaction that writes keeps the erasure from beginning.
  openTransactions: function* () {
    return []
  },
  jsonArray: (expressions) => `json_array(${expressions})`,
  jsonArrays: (expressions) => `json_group_array(json_array(${expressions}))`,
  jsonColumns: (expressions) =>
    `json_array(${expressions.map((each) => `json_group_array(${each})`).join(", ")})`,
  jsonValue: (expressions) => `json_array(${expressions})`,
  json: (column) => `json(${column})`,
  countIn: (column, status) => `coalesce(json_extract(${column}, '$.${status}'), 0)`,
  elements: {
    from: "json_each(?) AS element",
    place: "element.key",
    value: "element.atom",
    integer: "element.atom",
    among: (column) => `${column} IN (SELECT atom FROM json_each(?))`
  },
  entries: { from: "json_each(?) AS entry", key: "CAST(entry.key AS INTEGER)", value: "entry.atom" },
  insertJob: (columns, recipient, same, skips = false) => {
    const conflict = skips ? ` ${onKeyConflict}` : ""
    const insert = `${insertInto("sendwright_job", columns)}${conflict} RETURNING seq`
    const names = recipient.map(({ name }) => name)
    const insertRecipients = insertRows("sendwright_recipient", names, { same })
    return function* (job, recipients) {
      const seq = (yield* get(insert, ...job))?.["seq"]
      if (seq === undefined && skips) return
      if (typeof seq !== "number") throw new TypeError("A job was inserted and has no number")
      yield* insertRecipients(recipients(seq))
    }
  },
  insert: (table, columns) => {
    const names = columns.map(({ name }) => name).join(", ")
    const values = [...columns.slice(0, -1).map(() => "?"), "atom"].join(", ")
    const insert = `INSERT INTO ${table} (${names}) SELECT ${values} FROM json_each(?)`
    return function* (rows) {
      for (const group of groupEqual(rows, areEqual)) {
        const keys = JSON.stringify(group.map((row) => row.at(-1)))
        yield* run(insert, ...group[0].slice(0, -1), keys)
      }
    }
  },
  update: (table, columns) => {
    const set = columns.slice(0, -1).map(({ name }) => `${name} = ?`)
    const update = `UPDATE ${table} SET ${set.join(", ")} WHERE seq`
    // In one pass over the table. What a list of keys selects is collected first, and then found once more.
    const updateRange = `${update} BETWEEN ? AND ?`
    const updateScattered = `${update} IN (SELECT atom FROM json_each(?))`
    return function* (rows) {
      for (const group of groupEqual(rows, areEqual)) {
        const values = group[0].slice(0, -1)
        const keys = group.map((row) => Number(row.at(-1)))
        const ranges = rangesOf(keys.map((key) => ({ key, next: key + 1 })))
        if (ranges === undefined) {
          yield* run(updateScattered, ...values, JSON.stringify(keys))
          continue
        }
        for (let at = 0; at < ranges.length; at += 2) {
          yield* run(updateRange, ...values, ...ranges.slice(at, at + 2))
        }
      }
    }
  },
  size: {
    kind: "sqlite",
    measure: function* () {
      const row = (yield* get(size)) ?? {}
      const file = textOrNull(row, "file")
      return { bytes: integer(row, "bytes"), file: file === "" ? null : file }
    },
    // Pages that one day frees are filled by the next, so nothing is moved for them.
    shrink: function* (most) {
      const row = (yield* get(free)) ?? {}
      const [freePages, pages] = [integer(row, "freelist_count"), integer(row, "page_count")]
      if (integer(row, "auto_vacuum") !== incremental || freePages <= pages / 10) return false
      yield* script(`PRAGMA incremental_vacuum(${most})`)
      return true
    }
  },
  horizon: function* () {
    // One writes at a time: what a statement sees is all.
    const row = yield* get("SELECT max(seq) AS last FROM sendwright_job")
    return { last: integerOrNull(row ?? {}, "last") ?? 0, mark: 0, oldest: 0 }
  },
  // Of pairs it takes the first column from the index alone.
  within: (column, other) => `${column} = ? AND ${other} > ? AND ${column} = ? AND ${other} < ?`,
  contains: (column) => `instr(${column}, ?) > 0`,
  // A CROSS JOIN's order is kept.
  lookUp: (table, as, condition) => `CROSS JOIN ${table} AS ${as} ON ${condition}`
}
