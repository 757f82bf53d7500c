/** Statements that insert rows. */

import type { Program, Row, SqlParameter } from "../Program.ts"
import type { Literals } from "./Database.ts"

/** `INSERT` of one row. */
export const insertInto = (table: string, columns: ReadonlyArray<string>): string =>
  `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`

/** Rows per `INSERT`: enough to spread the cost of a call, few enough to keep a statement for every number below. */
const rowsPerInsert = 50

/**
 * `INSERT` of any number of rows.
 *
 * @param options.same what other columns hold in all rows, as SQL
 * @param options.returned columns that are answered of each row beside its `seq`, in no certain order
 * @param options.onConflict what is done with a row that is there already, as SQL
 */
export const insertRows = (
  table: string,
  columns: ReadonlyArray<string>,
  options: {
    readonly same?: Literals
    readonly returned?: ReadonlyArray<string>
    readonly onConflict?: string
  } = {}
): ((rows: ReadonlyArray<ReadonlyArray<SqlParameter>>) => Program<ReadonlyArray<Row>>) => {
  const { onConflict, returned = [], same = {} } = options
  const names = [...columns, ...Object.keys(same)].join(", ")
  const places = `(${[...columns.map(() => "?"), ...Object.values(same)].join(", ")})`
  const returning = returned.length === 0 ? "" : ` RETURNING ${["seq", ...returned].join(", ")}`
  const otherwise = onConflict === undefined ? "" : ` ON CONFLICT ${onConflict}`
  const texts = Array.from({ length: rowsPerInsert + 1 }, (_, rows) => {
    const values = Array.from({ length: rows }, () => places).join(", ")
    return `INSERT INTO ${table} (${names}) VALUES ${values}${otherwise}${returning}`
  })
  const wants = returning === "" ? "nothing" : "rows"
  return function* (rows) {
    const answered: Array<Row> = []
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      const slice = rows.slice(from, from + rowsPerInsert)
      // `flat` takes ten times as long.
      const parameters: Array<SqlParameter> = []
      for (const row of slice) parameters.push(...row)
      const answer = yield { text: texts[slice.length] ?? "", parameters, wants }
      answered.push(...answer.rows)
    }
    return answered
  }
}

/** Ends the insertion of a job: nothing is inserted where another has its Idempotency-Key. */
export const onKeyConflict =
  "ON CONFLICT (public_key, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
