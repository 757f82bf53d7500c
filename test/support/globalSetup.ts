/** Starts the tests' PostgreSQL beside them: whoever needs it waits for it, the others do not. */
import type { TestProject } from "vitest/node"
import { freePort, given, start } from "./PostgresServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: string
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const url = given()
  if (url !== undefined) {
    provide("postgres", url)
    return async () => {}
  }
  const port = await freePort()
  const starting = start({ port, durable: false })
  // The tests that wait for it time out; why is told here.
  starting.catch((error: unknown) => process.stderr.write(`${String(error)}\n`))
  provide("postgres", `postgres://postgres:postgres@127.0.0.1:${port}/postgres`)
  return async () => (await starting).stop()
}
