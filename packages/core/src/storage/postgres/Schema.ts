/** The tables in PostgreSQL's words, and those that it has alone. */
import type { Migration } from "../sql/Migrations.ts"
import { tables } from "../sql/Schema.ts"

const words = {
  key: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  publicKey: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  long: "BIGINT",
  real: "DOUBLE PRECISION",
  exact: 'TEXT COLLATE "C"',
  rows: ({ room }: { readonly room?: number } = {}): string =>
    room === undefined ? "" : ` WITH (fillfactor=${room})`,
  time: (expression: string): string => `to_timestamp(${expression} / 1000.0)`,
  jsonOf: (name: string, value: string): string => `json_build_object(${name}, ${value})::text`
}

const first: Migration = {
  id: 1,
  name: "first release",
  statements: `${tables(words)}
-- arrival: when the key's next request would find its allowance whole, in milliseconds with fractions.
-- Every request writes it, and a crash may give each key one burst again: not worth waiting for the disk.
CREATE UNLOGGED TABLE sendwright_rate (
  key TEXT COLLATE "C" PRIMARY KEY,
  arrival DOUBLE PRECISION NOT NULL
) WITH (fillfactor=50);

-- One row, which probes write.
CREATE TABLE sendwright_probe (probes BIGINT NOT NULL);
INSERT INTO sendwright_probe (probes) VALUES (0);

-- Where the database is: what a server tells of itself, as far as a role may read it.
CREATE TABLE sendwright_instance (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  system TEXT COLLATE "C",
  database TEXT COLLATE "C",
  relation TEXT COLLATE "C",
  timeline BIGINT
);
`
}

/** From the first release on this list only grows (docs/adr/0030). */
export const migrations: ReadonlyArray<Migration> = [first]
