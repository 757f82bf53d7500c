/**
 * Hears of commits by LISTEN, on a connection of its own: what a transaction notifies is told at its commit and never after a
 * rollback. A connection that broke is opened again; what was committed meanwhile may have been missed, so that is told, too.
 * Behind a pooler that shares connections nobody hears: who dispatches looks every so often anyway.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import type { Listen } from "../EmbeddedCommits.ts"
import type { Server } from "./Server.ts"

const channel = "sendwright_accepted"

/** To be run in the transaction, by a client that may read no column of the type void. */
export const announcement = `SELECT pg_notify('${channel}', '')::text`

/** How long after its end a connection is opened again. */
const pause = "1 second"

interface Connection {
  readonly client: Pg.Client
  readonly ended: Promise<unknown>
}

const connected = (config: Pg.ClientConfig): Effect.Effect<Connection, unknown, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise(async () => {
      const client = new Pg.Client(config)
      const ended = new Promise((resolve) => client.once("end", () => resolve(undefined)))
      // An error ends it, too; unheard, it would end the process.
      client.on("error", () => {})
      await client.connect()
      return { client, ended }
    }),
    ({ client }) => Effect.promise(() => client.end().catch(() => {}))
  )

/**
 * @param config of a connection of the engine's own
 * @param verify looks at a new connection first
 */
export const make = (
  config: Pg.ClientConfig,
  verify: ((client: Pg.Client) => Promise<void>) | undefined,
  server: Server
): Listen => {
  const listening = (heard: () => void) =>
    Effect.flatMap(connected(config), ({ client, ended }) =>
      Effect.tryPromise(async () => {
        await verify?.(client)
        client.on("notification", heard)
        await client.query(`LISTEN ${channel}`)
        heard()
        await ended
      })
    )
  return (heard) => {
    const once = Effect.scoped(listening(heard)).pipe(
      Effect.catchAll((cause) => Effect.logDebug("Commits are not heard of for a moment", cause)),
      Effect.zipRight(Effect.sleep(pause))
    )
    return Effect.forever(Effect.suspend(() => (server.isShared ? Effect.never : once)))
  }
}
