/**
 * The columns of a table, each described once: its name, its type in the schema, what it tells of people, and how its values are
 * read and written. The schema, lists, parameters, readers, erasure, exports of a person and purges are derived from that.
 * docs/changing.md says how a column is added.
 */
import * as Struct from "effect/Struct"
import type { Part } from "../../domain/Erasure.ts"
import type * as Retention from "../../domain/Retention.ts"
import type { Row, SqlValue } from "../Program.ts"
import type * as Database from "./Database.ts"
import type { Personal } from "./Personal.ts"
import * as RowReader from "./RowReader.ts"

type Written = string | number | null

/** A column as it was described, whatever its values are. */
export interface Described<P extends Personal | null = Personal | null> extends Database.Column {
  /** The column's type and constraints, in the words of `Schema`. */
  readonly sql: string
  readonly personal: P
  /** Stands above it in the printed schema. */
  readonly note?: string
  /** Stands in it once the contents of its row are kept no longer; without one it is kept as long as its row. */
  readonly expired?: string
  readonly isTime: boolean
  /** True when it holds JSON as text. */
  readonly isJson: boolean
}

/** The column that holds a field. */
export interface Column<A, P extends Personal | null = Personal | null> extends Described<P> {
  /** Reads the field from a driver's row. */
  readonly read: (row: Row) => A
  readonly write: (field: A) => Written
}

type Named = Pick<Described, "isJson" | "name">

/** The columns of a record. The compiler refuses a field that is missing, misspelt, or of another type. */
export type Columns<R, P extends Personal | null = Personal | null> = {
  readonly [Field in keyof R]: Column<R[Field], P>
}

/**
 * How long rows are kept. What is `registered` goes when somebody removes it. Of what is `passing` those who write it keep the
 * newest, or as long as it is needed. The rest goes in the course of a purge: by its own times where they are told, together with
 * jobs where it says `by` which column it is of one or of one's recipient, and otherwise as its walk says.
 */
export type Kept =
  | "passing"
  | "registered"
  | { readonly walk: Retention.Walk }
  | { readonly walk: Retention.Walk; readonly at: string; readonly endedAt?: string }
  | { readonly walk: "jobs"; readonly by: string; readonly of: "jobs" | "recipients" }

interface Rows {
  readonly kept: Kept
  /** The columns of its key, if that is not `seq`. */
  readonly key?: ReadonlyArray<string>
  readonly unique?: ReadonlyArray<string>
}

/** Rows that may tell of people. */
interface PersonalRows extends Rows {
  /** The part of an erasure that looks through them. */
  readonly part: Part
  /** True where a row goes that is about the person. */
  readonly goes?: true
}

/** A table, whatever its records. */
export interface DescribedTable extends Rows, Partial<Omit<PersonalRows, keyof Rows>> {
  readonly name: string
  readonly ordered: ReadonlyArray<Described>
  readonly of: (alias: string) => string
}

/** Columns of a table in one order. */
export interface Table<R, Fields extends ReadonlyArray<keyof R> = ReadonlyArray<keyof R>>
  extends DescribedTable {
  readonly columns: Columns<R>
  readonly names: ReadonlyArray<string>
  /**
   * The names, for a `SELECT` of this table alone. A statement that is prepared names its columns: after `SELECT *` it
   * fails for good once a later version has added one.
   */
  readonly list: string
  /** The names beside other tables', for a `SELECT`. */
  readonly of: (alias: string) => string
  /** Each column as SQL, for a {@link Layout}. */
  readonly expressions: (as: (column: Named) => string) => Readonly<Record<keyof R, string>>
  /** The `SET` of an `UPDATE`; its parameters are what `write` answers. */
  readonly assignments: string
  readonly write: (record: R) => ReadonlyArray<Written>
  /**
   * Parameters that are all null yet, and each field's place among them. A writer that fills them by name
   * (`values[at.phone] = …`) costs what a list costs that is written by hand; `write` takes half as long again.
   */
  readonly blank: () => Parameters<R, Fields>
  readonly at: Places<Fields>
  /** The record's values as SQL, for what is the same in all rows. */
  readonly literals: (record: R) => Database.Literals
  readonly read: (row: Row) => R
  /** The columns' values in their order as a driver's row. */
  readonly toRow: (values: ReadonlyArray<SqlValue>) => Row
  /** The other columns. */
  readonly without: <Field extends keyof R>(...fields: ReadonlyArray<Field>) => Table<Omit<R, Field>>
  /** Some of the columns, in the order of the arguments. */
  readonly only: <const Some extends ReadonlyArray<keyof R>>(
    ...fields: Some
  ) => Table<Pick<R, Some[number]>, Some>
}

/** The place of each of the fields. */
type Places<Fields extends ReadonlyArray<PropertyKey>> = {
  readonly [Place in keyof Fields & `${number}` as Fields[Place] &
    PropertyKey]: Place extends `${infer At extends number}` ? At : never
}

/** A parameter: words as texts, flags as 0 or 1, and JSON as text. */
type Parameter<A> = A extends string
  ? string
  : A extends number | null
    ? A
    : A extends boolean
      ? number
      : string

type Parameters<R, Fields extends ReadonlyArray<keyof R>> = {
  -readonly [Place in keyof Fields]: Parameter<R[Fields[Place]]>
}

/** @param usual how the schema says it, unless a column says it otherwise */
const column =
  <A>(
    type: Column<A>["type"],
    usual: string,
    read: (row: Row, name: string) => A,
    write: (field: A) => Written,
    isTime = false
  ) =>
  <P extends Personal | null>(name: string, personal: P, sql = usual): Column<A, P> => ({
    name,
    type,
    sql,
    personal,
    isTime,
    isJson: false,
    read: (row) => read(row, name),
    write
  })

const asIs = <A extends Written>(field: A): Written => field

export const text = column("text", "TEXT NOT NULL", RowReader.text, asIs)
export const textOrNull = column("text", "TEXT", RowReader.textOrNull, asIs)
/** Text that is compared or ordered. */
export const exact = column("text", "exact NOT NULL", RowReader.text, asIs)
export const exactOrNull = column("text", "exact", RowReader.textOrNull, asIs)
export const integer = column("bigint", "long NOT NULL", RowReader.integer, asIs)
export const integerOrNull = column("bigint", "long", RowReader.integerOrNull, asIs)
export const instant = column("bigint", "long NOT NULL", RowReader.instant, asIs, true)
export const instantOrNull = column("bigint", "long", RowReader.instantOrNull, asIs, true)
export const flag = column("bigint", "INTEGER NOT NULL", RowReader.flag, (field) => (field ? 1 : 0))

/** One of some words. */
export const word = <A extends string, P extends Personal | null>(
  name: string,
  personal: P,
  words: ReadonlyArray<A>,
  sql?: string
): Column<A, P> => column<A>("text", "TEXT NOT NULL", RowReader.oneOf(words), asIs)(name, personal, sql)

const literal = (value: Written): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`

/** Words of ours, for the `IN` of a condition. */
export const listed = (words: ReadonlyArray<string>): string => `(${words.map(literal).join(", ")})`

/** JSON of our own writing, as text. */
export const json: {
  <A>(name: string, personal: null): Column<A, null>
  <A>(name: string, personal: Personal): Column<A, Personal>
} = <A, P extends Personal | null>(name: string, personal: P): Column<A, P> => ({
  ...column<A>("text", "TEXT NOT NULL", RowReader.json, JSON.stringify)(name, personal),
  isJson: true
})

/** Null, or what the column would hold. */
export const nullable = <A, P extends Personal | null>(column: Column<A, P>): Column<A | null, P> => ({
  ...column,
  sql: column.sql.replace(" NOT NULL", ""),
  read: (row) => (row[column.name] === null ? null : column.read(row)),
  write: (field) => (field === null ? null : column.write(field))
})

/** A column, or the first of some, with what is said of it in the printed schema. */
export const noted = <A extends Described>(note: string, column: A): A => ({ ...column, note })

/** A column whose text goes with the contents of its row. */
export const expiring = <A extends Described>(expired: string, column: A): A => ({ ...column, expired })

/** The type says of literals what `fromEntries` makes of them. */
const placesOf = <const Fields extends ReadonlyArray<PropertyKey>>(fields: Fields): Places<Fields> =>
  Object.fromEntries(fields.map((field, place) => [field, place])) as Places<Fields>

const make = <R, const Fields extends ReadonlyArray<keyof R>>(
  rows: Rows & { readonly name: string },
  columns: Columns<R>,
  fields: Fields
): Table<R, Fields> => {
  const names = fields.map((field) => columns[field].name)
  const none = fields.map(() => null)
  // Made once for each field: to look up its column at every row takes twice as long.
  const each = fields.map(<Field extends keyof R>(field: Field) => {
    const { read, write } = columns[field]
    return {
      read: (row: Row, record: Partial<R>) => {
        record[field] = read(row)
      },
      write: (record: R) => write(record[field])
    }
  })
  const read = (row: Row): R => {
    const record: Partial<R> = {}
    for (const field of each) field.read(row, record)
    // Complete, since the fields are all that `R` has.
    return record as R
  }
  const write = (record: R): ReadonlyArray<Written> => each.map((field) => field.write(record))
  return {
    ...rows,
    columns,
    ordered: fields.map((field) => columns[field]),
    names,
    list: names.join(", "),
    of: (alias) => names.map((name) => `${alias}.${name}`).join(", "),
    expressions: (as) => {
      const expressions: Partial<Record<keyof R, string>> = {}
      for (const field of fields) expressions[field] = as(columns[field])
      // Complete, like a record.
      return expressions as Record<keyof R, string>
    },
    assignments: names.map((name) => `${name} = ?`).join(", "),
    write,
    // As of a row whose writer has not begun; it fills every place that may not be null.
    blank: () => none.slice() as Parameters<R, Fields>,
    at: placesOf(fields),
    literals: (record) => {
      const values = write(record)
      return Object.fromEntries(names.map((name, at) => [name, literal(values[at] ?? null)]))
    },
    read,
    toRow: (values) => Object.fromEntries(names.map((name, at) => [name, values[at] ?? null])),
    without: <Field extends keyof R>(...some: ReadonlyArray<Field>) => {
      const left = new Set<keyof R>(some)
      const isIncluded = (field: keyof R): field is Exclude<keyof R, Field> => !left.has(field)
      return make<Omit<R, Field>, ReadonlyArray<Exclude<keyof R, Field>>>(
        rows,
        columns,
        fields.filter(isIncluded)
      )
    },
    only: <const Some extends ReadonlyArray<keyof R>>(...some: Some) =>
      make<Pick<R, Some[number]>, Some>(rows, columns, some)
  }
}

/**
 * In the order of the schema. Only rows that are a part of an erasure may have columns that tell of people.
 *
 * @param name of the table
 */
export const table =
  <T extends PersonalRows | Rows>(name: string, rows: T) =>
  <R extends object>(columns: Columns<R, T extends PersonalRows ? Personal | null : null>): Table<R> =>
    make<R, ReadonlyArray<keyof R>>({ ...rows, name }, columns, Struct.keys(columns))

/** An element of a JSON array of the database, which holds words as texts, flags as 0 or 1, and JSON as its values. */
type Element<A> = A extends string ? string : A extends boolean ? number : A

type Elements<R, Fields extends ReadonlyArray<keyof R>> = {
  readonly [Place in keyof Fields]: Element<R[Fields[Place]]>
}

/** For each field an array with its element of every row. */
type ElementsOfRows<R, Fields extends ReadonlyArray<keyof R>> = {
  readonly [Place in keyof Fields]: ReadonlyArray<Element<R[Fields[Place]]>>
}

/**
 * Fields in the order in which a JSON array of an answer has them. A reader that names its places (`array[at.phone]`) costs
 * what one with bare numbers costs, and the compiler knows what each place holds.
 */
export interface Layout<R, Fields extends ReadonlyArray<keyof R>> {
  readonly at: Places<Fields>
  /** The elements, as SQL for the {@link Dialect}'s arrays. */
  readonly select: (expressions: Readonly<Record<Fields[number], string>>) => string
  readonly parse: (text: string) => Elements<R, Fields>
  /** Of an array of such arrays. */
  readonly parseAll: (text: string) => ReadonlyArray<Elements<R, Fields>>
  /** The elements of many rows, as SQL for `Dialect.jsonColumns`, which {@link parseColumns} reads. */
  readonly expressions: (expressions: Readonly<Record<Fields[number], string>>) => ReadonlyArray<string>
  readonly parseColumns: (text: string) => ElementsOfRows<R, Fields>
  /** The array of a record whose fields are all columns, as the database would answer it. */
  readonly ofRecord: (
    columns: Columns<Pick<R, Fields[number]>>,
    record: Pick<R, Fields[number]>
  ) => Elements<R, Fields>
}

export const layout =
  <R>() =>
  <const Fields extends ReadonlyArray<keyof R & string>>(...fields: Fields): Layout<R, Fields> => {
    const listOf: Layout<R, Fields>["expressions"] = (expressions) =>
      fields.map((field: Fields[number]) => expressions[field])
    return {
      at: placesOf(fields),
      select: (expressions) => listOf(expressions).join(", "),
      expressions: listOf,
      parse: JSON.parse,
      parseAll: JSON.parse,
      parseColumns: JSON.parse,
      ofRecord: (columns, record) => {
        const element = <Field extends Fields[number]>(field: Field) => {
          const { isJson, write } = columns[field]
          return isJson ? record[field] : write(record[field])
        }
        return JSON.parse(JSON.stringify(fields.map(element)))
      }
    }
  }

/** The element of a row in one of the columns that {@link Layout.parseColumns} reads. */
export const elementOf = <A extends string | number | object | null>(
  column: ReadonlyArray<A>,
  row: number
): A => {
  const element = column[row]
  if (element === undefined) throw new TypeError(`A column of an answer has no row ${row}`)
  return element
}
