/**
 * The files of docs/schema show the tables and indexes of a fresh database. They are printed from the database's own
 * catalogue, and the comments come from the migrations. `vitest -u` writes them anew.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import SqliteDriver from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { freshDatabase, migratedDatabase } from "../../../../test/support/Postgres.ts"
import { migrations as postgresMigrations } from "../../src/storage/postgres/Schema.ts"
import type { Migration } from "../../src/storage/sql/Migrations.ts"
import { migrations as sqliteMigrations } from "../../src/storage/sqlite/Schema.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"

/** A column with its type, a constraint, or an index with its statement. */
interface Part {
  readonly name: string
  readonly definition: string
}

interface Table {
  readonly name: string
  readonly isUnlogged: boolean
  readonly columns: ReadonlyArray<Part>
  readonly constraints: ReadonlyArray<string>
  /** What follows the closing parenthesis. */
  readonly options: string
  readonly indexes: ReadonlyArray<Part>
}

/** The comments of migrations, by the name of their table or index, or by `table.column`. */
type Comments = ReadonlyMap<string, string>

const commented =
  /((?:^-- .*\n)*)^(?:CREATE (?:UNIQUE )?INDEX|CREATE (?:UNLOGGED )?TABLE|CREATE VIEW|ALTER TABLE) (\w+)(?: ADD COLUMN (\w+))?/gm
const table = /^CREATE (?:UNLOGGED )?TABLE (\w+) \(\n((?:^ {2}.*\n)*)/gm
const columnCommented = /((?:^ +-- .*\n)+) +(\w+)/gm

/** A comment belongs to the statement or the column below it. Names of files are left out: a file may move. */
const commentsOf = (migrations: ReadonlyArray<Migration>): Comments => {
  const comments = new Map<string, string>()
  const keep = (name: string, written: string): void => {
    comments.set(name, written.replace(/^ +/gm, "").replace(/ \(\S+\.ts\)/g, ""))
  }
  for (const { statements } of migrations) {
    for (const [, written = "", name = "", column] of statements.matchAll(commented)) {
      if (column !== undefined) keep(`${name}.${column}`, written)
      else if (written !== "") keep(name, written)
    }
    for (const [, name = "", body = ""] of statements.matchAll(table)) {
      for (const [, written = "", column = ""] of body.matchAll(columnCommented)) {
        keep(`${name}.${column}`, written)
      }
    }
  }
  return comments
}

const printTable = (table: Table, comments: Comments): string => {
  const commentOf = (name: string): string => comments.get(name) ?? ""
  const columns = table.columns.map(({ definition, name }) => {
    const comment = commentOf(`${table.name}.${name}`).replace(/^-- /gm, "  -- ")
    return `${comment}  ${definition}`
  })
  const lines = [...columns, ...table.constraints.map((constraint) => `  ${constraint}`)]
  const create = table.isUnlogged ? "CREATE UNLOGGED TABLE" : "CREATE TABLE"
  return [
    `${commentOf(table.name)}${create} ${table.name} (\n${lines.join(",\n")}\n)${table.options};\n`,
    ...table.indexes.map(({ definition, name }) => `${commentOf(name)}${definition};\n`)
  ].join("")
}

/** Each view's definition is its statement. */
const print = (
  title: string,
  tables: ReadonlyArray<Table>,
  views: ReadonlyArray<Part>,
  comments: Comments
): string =>
  [
    `-- The tables and views of a new ${title} database of this build, each with its indexes. The migrations make them; this file shows
-- what they made. packages/core/test/storage/SchemaDocs.test.ts prints it, and docs/changing.md says how to write it anew.
-- The comments come from the migrations, whose text never changes once it is released.
`,
    ...tables.map((table) => printTable(table, comments)),
    ...views.map(({ definition, name }) => `${comments.get(name) ?? ""}${definition};\n`)
  ].join("\n")

interface Written extends Part {
  readonly table: string
}

/** The parts of a table in the text of it without comments. No part has parentheses inside parentheses. */
const partsOf = (text: string): ReadonlyArray<string> => {
  const body = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"))
  const parts = body.match(/(?:'[^']*'|\([^()]*\)|[^,'()])+/g) ?? []
  if (parts.join(",") !== body) throw new Error(`A table that partsOf cannot read: ${text}`)
  return parts.map((part) => part.trim().replace(/\n\s*/g, " "))
}

const isConstraint = (part: string): boolean =>
  /^(?:PRIMARY KEY|UNIQUE|CHECK|FOREIGN KEY|CONSTRAINT)\b/.test(part)

const sqliteWritten =
  (db: SqliteDriver.Database) =>
  (type: string): ReadonlyArray<Written> =>
    db
      .prepare<[string], Written>(
        `SELECT name, tbl_name AS "table", sql AS definition FROM sqlite_schema
         WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name`
      )
      .all(type)
      .map((each) => ({ ...each, definition: each.definition.replace(/^ +-- .*\n/gm, "") }))

const sqliteTables = (db: SqliteDriver.Database): ReadonlyArray<Table> => {
  const written = sqliteWritten(db)
  const indexes = written("index")
  return written("table").map(({ definition, name }) => {
    const parts = partsOf(definition)
    const columns = parts.filter((part) => !isConstraint(part))
    return {
      name,
      isUnlogged: false,
      columns: columns.map((column) => ({ name: /^\w+/.exec(column)?.[0] ?? "", definition: column })),
      constraints: parts.filter(isConstraint),
      options: definition.slice(definition.lastIndexOf(")") + 1),
      indexes: indexes.filter(({ table }) => table === name)
    }
  })
}

/** What a database may have besides tables, their indexes and views. These are not printed, so there must be none. */
const sqliteOthers = "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index', 'view')"
const postgresOthers = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('r', 'i', 'S', 'v')
  UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`

const tablesQuery = `
  SELECT relname AS name, relpersistence = 'u' AS unlogged, array_to_string(reloptions, ', ') AS options
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname`

const columnsQuery = `
  SELECT relname AS "table", attname AS name, concat_ws(' ',
    attname,
    format_type(atttypid, atttypmod),
    CASE WHEN attcollation <> typcollation THEN 'COLLATE ' || quote_ident(collname) END,
    CASE attidentity WHEN 'a' THEN 'GENERATED ALWAYS AS IDENTITY' WHEN 'd' THEN 'GENERATED BY DEFAULT AS IDENTITY' END,
    'DEFAULT ' || pg_get_expr(adbin, adrelid),
    CASE WHEN attnotnull THEN 'NOT NULL' END
  ) AS definition
  FROM pg_attribute
  JOIN pg_class ON pg_class.oid = attrelid
  JOIN pg_type ON pg_type.oid = atttypid
  LEFT JOIN pg_collation ON pg_collation.oid = attcollation
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
  ORDER BY attrelid, attnum`

/** Without those that only say NOT NULL, which are rows of the catalogue from PostgreSQL 18 on. */
const constraintsQuery = `
  SELECT relname AS "table", conname AS name, pg_get_constraintdef(pg_constraint.oid, true) AS definition
  FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
  WHERE relnamespace = 'public'::regnamespace AND contype <> 'n' ORDER BY contype <> 'p', conname`

const indexesQuery = `
  SELECT indexed.relname AS "table", index.relname AS name, pg_get_indexdef(index.oid, 0, true) AS definition
  FROM pg_index
  JOIN pg_class AS indexed ON indexed.oid = indrelid
  JOIN pg_class AS index ON index.oid = indexrelid
  WHERE indexed.relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
  ORDER BY index.relname`

const viewsQuery = `
  SELECT relname AS name, 'CREATE VIEW ' || relname || ' AS' || E'\\n' || rtrim(pg_get_viewdef(oid, true), ';') AS definition
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'v' ORDER BY relname`

const postgresTables = async (client: Pg.Client): Promise<ReadonlyArray<Table>> => {
  const written = async (query: string) => (await client.query<Written>(query)).rows
  const { rows: tables } = await client.query<{
    readonly name: string
    readonly unlogged: boolean
    readonly options: string | null
  }>(tablesQuery)
  const columns = await written(columnsQuery)
  const constraints = await written(constraintsQuery)
  const indexes = await written(indexesQuery)
  return tables.map(({ name, options, unlogged }) => ({
    name,
    isUnlogged: unlogged,
    columns: columns.filter(({ table }) => table === name),
    constraints: constraints
      .filter(({ table }) => table === name)
      .map((constraint) => `CONSTRAINT ${constraint.name} ${constraint.definition}`),
    options: options === null ? "" : ` WITH (${options})`,
    indexes: indexes.filter(({ table }) => table === name)
  }))
}

const file = (name: string): string =>
  fileURLToPath(new URL(`../../../../docs/schema/${name}.sql`, import.meta.url))

const openSqlite = (filename: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new SqliteDriver(filename)),
    (db) => Effect.sync(() => db.close())
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const openPostgres = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Pg.Client(url)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

interface Printed {
  readonly ofMigrations: string
  /** What is printed of a database that the first text made. */
  readonly ofItself: string
  /** The names of what is not printed. */
  readonly others: ReadonlyArray<unknown>
}

const sqlite = Effect.gen(function* () {
  const printed = (db: SqliteDriver.Database): string =>
    print("SQLite", sqliteTables(db), sqliteWritten(db)("view"), commentsOf(sqliteMigrations))
  const filename = join(yield* folder, "sendwright.db")
  // As a host opens it: besides the migrations' tables it has that of its owner.
  yield* Effect.scoped(Layer.build(Sqlite.layer({ filename })))
  const db = yield* openSqlite(filename)
  const ofMigrations = printed(db)
  const copy = yield* openSqlite(":memory:")
  // SQLite would keep the comments in its text of a table.
  copy.exec(ofMigrations.replace(/^ *-- .*\n/gm, ""))
  return { ofMigrations, ofItself: printed(copy), others: db.prepare(sqliteOthers).all() }
})

const postgres = Effect.gen(function* () {
  const printed = (client: Pg.Client) =>
    Effect.promise(async () => {
      const { rows: views } = await client.query<Part>(viewsQuery)
      return print("PostgreSQL", await postgresTables(client), views, commentsOf(postgresMigrations))
    })
  const client = yield* openPostgres(yield* migratedDatabase)
  const ofMigrations = yield* printed(client)
  const others = yield* Effect.promise(() => client.query(postgresOthers))
  const copy = yield* openPostgres(yield* freshDatabase)
  yield* Effect.promise(() => copy.query(ofMigrations))
  return { ofMigrations, ofItself: yield* printed(copy), others: others.rows }
})

describe.each<readonly [name: string, schema: Effect.Effect<Printed, unknown, Scope.Scope>]>([
  ["sqlite", sqlite],
  ["postgres", postgres]
])("docs/schema/%s.sql", (name, schema) => {
  it("is the schema of a new database, in statements that make the same again", async () => {
    const { ofItself, ofMigrations, others } = await Effect.runPromise(Effect.scoped(schema))
    expect(others).toEqual([])
    expect(ofItself).toBe(ofMigrations)
    await expect(ofMigrations).toMatchFileSnapshot(file(name))
  })
})
