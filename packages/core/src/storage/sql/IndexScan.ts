/**
 * Rows of a table as an index has them, newest first. A page costs its rows, however many others there are: PostgreSQL takes
 * the order of a range from the index alone (`jobs/Acceptance`), and a pair of columns is where a page begins. Other tables
 * are read once it is known which rows are on the page: what joins first may read and sort all of them.
 */
import * as Effect from "effect/Effect"
import * as Page from "../../domain/Page.ts"
import type { Program, Row, SqlParameter } from "../Program.ts"
import { all, get } from "../Program.ts"
import { limited, newestFirst, seq } from "./RowReader.ts"

export interface IndexScan {
  /** A page of all rows of these values. */
  readonly page: (values: ReadonlyArray<SqlParameter>, page: Page.Page) => Program<Page.Paged<Row>>
  /**
   * The place of the last row that a filter may look at; null when there are no more than may be.
   *
   * @param values of the index's columns before its last, which is `seq`
   */
  readonly lastLookedAt: (values: ReadonlyArray<SqlParameter>, before: number) => Program<number | null>
  /**
   * The first rows before a place and not before another; where the filter has parameters those alone that pass it, of no
   * more rows than may be looked at.
   */
  readonly rows: (
    values: ReadonlyArray<SqlParameter>,
    range: { readonly before: number; readonly least: number; readonly limit: number },
    filter?: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<Row>>
}

/**
 * Looks on in reads of their own, so that others have their turn, until something is found or nothing is left.
 *
 * @param reads after so many the page is answered although it is empty; without a number it goes on
 */
export const untilFound = <A, E>(
  list: (page: Page.Page) => Effect.Effect<Page.Paged<A>, E>,
  page: Page.Page,
  reads = Number.POSITIVE_INFINITY
): Effect.Effect<Page.Paged<A>, E> =>
  Effect.flatMap(list(page), (found) =>
    found.items.length === 0 && found.next !== null && reads > 1
      ? untilFound(list, { ...page, after: found.next }, reads - 1)
      : Effect.succeed(found)
  )

/**
 * @param columns of an index that ends with `seq`; none stands for the table's own order
 * @param filter a condition that no index answers
 */
export const make = (
  table: string,
  selected: string,
  columns: ReadonlyArray<string>,
  filter = "true"
): IndexScan => {
  const by = columns.at(-1)
  const owners = columns.slice(0, -1).map((column) => `${column} = ? AND `)
  const place = by === undefined ? "seq" : `(${by}, seq)`
  const given = by === undefined ? "?" : "(?, ?)"
  const indexed = by === undefined ? "" : `${by} IS NOT NULL AND `
  const from = `FROM ${table} WHERE ${owners.join("")}${indexed}${place} < ${given} AND ${place} >= ${given}`
  const order = `ORDER BY ${by === undefined ? "" : `${by} DESC, `}seq DESC`
  const first = `SELECT seq ${from} ${order} LIMIT 1`
  const lastLookedAt = `${first} OFFSET ${Page.mostLookedAt - 1}`
  const plain = `SELECT ${selected} ${from} ${order} ${limited}`
  // Within the rows that may be looked at, in their order, it ends with the last that it wants.
  const alias = / AS (\w+)$/.exec(table)?.[1] ?? "looked_at"
  const filtered = `SELECT ${selected} FROM (SELECT * ${from} ${order} LIMIT ${Page.mostLookedAt}) AS ${alias}
    WHERE ${filter} ${limited}`
  const between = (values: ReadonlyArray<SqlParameter>, before: number, least: number) => {
    const last = values.slice(-1)
    return [...values.slice(0, -1), ...last, before, ...last, least]
  }
  return {
    page: function* (values, page) {
      const [before, limit] = newestFirst(page)
      const found = yield* all(plain, ...between(values, before, 0), limit)
      return Page.cut(found, page.limit, seq)
    },
    lastLookedAt: function* (values, before) {
      // Numbers alone tell where so many rows of the table end.
      if (by === undefined) {
        const newest = yield* get(first, before, 0)
        const last = newest === undefined ? 0 : seq(newest) - Page.mostLookedAt + 1
        return last > 0 && (yield* get(first, last, 0)) !== undefined ? last : null
      }
      const row = yield* get(lastLookedAt, ...between(values, before, 0))
      return row === undefined ? null : seq(row)
    },
    rows: function* (values, { before, least, limit }, parameters) {
      const range = between(values, before, least)
      return parameters === undefined
        ? yield* all(plain, ...range, limit)
        : yield* all(filtered, ...range, ...parameters, limit)
    }
  }
}

/**
 * A page of what a filter leaves of the next rows, which may be nothing although others follow; without parameters of all.
 *
 * @param values of the index's columns before its last, which is `seq`
 */
export function* pageOf(
  { lastLookedAt, rows }: IndexScan,
  values: ReadonlyArray<SqlParameter>,
  page: Page.Page,
  parameters: ReadonlyArray<SqlParameter> | undefined
): Program<Page.Paged<Row>> {
  const [before, limit] = newestFirst(page)
  const found = yield* rows(values, { before, least: 0, limit }, parameters)
  const isWhole = parameters === undefined || found.length >= limit
  const last = isWhole ? null : yield* lastLookedAt(values, before)
  return Page.cut(found, page.limit, seq, last)
}
