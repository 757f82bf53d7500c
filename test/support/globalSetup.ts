/** Starts the tests' PostgreSQL beside them: whoever needs it waits for it, the others do not. */
import { randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import type { TestProject } from "vitest/node"
import { migrate } from "../../packages/core/src/storage/postgres/Migrator.ts"
import { migrations } from "../../packages/core/src/storage/postgres/Schema.ts"
import { freePort, given, start } from "./PostgresServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: string
    /** The name of a database with this build's schema and no rows; it is there once it is whole. */
    readonly template: string
  }
}

const run = async (url: string, statement: string): Promise<void> => {
  const client = new Pg.Client(url)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** The template's, and those that were made from it to be used again. */
const databases = async (server: string, template: string): Promise<ReadonlyArray<string>> => {
  const client = new Pg.Client(server)
  await client.connect()
  try {
    const query = "SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)"
    const { rows } = await client.query<{ readonly name: string }>(query, [template])
    return rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/** Migrated once for all tests: for each it would be half of what their database costs. */
const makeTemplate = async (server: string, name: string): Promise<void> => {
  const unfinished = `${name}_unfinished`
  await run(server, `CREATE DATABASE ${unfinished}`)
  const url = new URL(server)
  url.pathname = `/${unfinished}`
  await Effect.runPromise(migrate({ url: Redacted.make(url.href) }, migrations))
  await run(server, `ALTER DATABASE ${unfinished} RENAME TO ${name}`)
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const present = given()
  const port = await freePort()
  const postgres = present ?? `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
  const template = `sendwright_test_${randomBytes(6).toString("hex")}`
  const starting = present === undefined ? start({ port, durable: false }) : undefined
  const ready = Promise.resolve(starting).then(() => makeTemplate(postgres, template))
  // The tests that wait for it time out; why is told here.
  ready.catch((error: unknown) => process.stderr.write(`${String(error)}\n`))
  provide("postgres", postgres)
  provide("template", template)
  return async () => {
    await ready.catch(() => {})
    if (starting !== undefined) return (await starting).stop()
    for (const name of await databases(postgres, template)) await run(postgres, `DROP DATABASE ${name}`)
  }
}
