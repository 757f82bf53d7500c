/** The server's locks by name, which a transaction has until it ends. */
import type { Program } from "../sql/Program.ts"
import { run } from "../sql/Program.ts"

/** The text that the server hashes: other programs may lock in the database, too. */
export const keyOf = (name: string): string => `sendwright ${name}`

/** An embedder's client may read no column of the type void. */
export function* serialize(name: string): Program<void> {
  yield* run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))::text", keyOf(name))
}
