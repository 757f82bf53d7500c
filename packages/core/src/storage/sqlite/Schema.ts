/** The tables in SQLite's words, and those that it has alone. */
import type { Migration } from "../sql/Migrations.ts"
import { tables } from "../sql/Schema.ts"

const words = {
  key: "INTEGER PRIMARY KEY",
  publicKey: "INTEGER PRIMARY KEY AUTOINCREMENT",
  long: "INTEGER",
  real: "REAL",
  exact: "TEXT",
  rows: ({ clustered }: { readonly clustered?: true } = {}): string =>
    clustered === true ? " STRICT, WITHOUT ROWID" : " STRICT",
  time: (expression: string): string => `strftime('%Y-%m-%d %H:%M:%f', ${expression} / 1000.0, 'unixepoch')`,
  jsonOf: (name: string, value: string): string => `json_object(${name}, ${value})`
}

const first: Migration = {
  id: 1,
  name: "first release",
  statements: `${tables(words)}
-- Empty but for the moment of a probe.
CREATE TABLE sendwright_probe (
  content BLOB NOT NULL
) STRICT;

-- The store's id and its count of starts and commits, which the file beside it has, too.
CREATE TABLE sendwright_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store TEXT NOT NULL,
  commits INTEGER NOT NULL
) STRICT;
`
}

/** From the first release on this list only grows (docs/adr/0030). */
export const migrations: ReadonlyArray<Migration> = [first]
