/** The server's locks by name, which a transaction has until it ends. */
import type { Program } from "../Program.ts"
import { run } from "../Program.ts"

/** The text that the server hashes: other programs may lock in the database, too. */
export const keyOf = (name: string): string => `sendwright ${name}`

const lock = `SELECT set_config('transaction_isolation', 'read committed', true),
  pg_advisory_xact_lock(hashtextextended(?, 0))::text`

/**
 * A verb decides on what it reads after the lock. A snapshot that is older than the lock would let two pass, so the server
 * refuses it here in an embedder's transaction of another isolation than READ COMMITTED, which no first statement may change
 * any more. An embedder's client may read no column of the type void.
 */
export function* serialize(name: string): Program<void> {
  yield* run(lock, keyOf(name))
}
