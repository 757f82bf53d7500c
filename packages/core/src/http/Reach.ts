/** Finds whether a connection can be made, with TLS where the address asks for it: it is opened and closed, and nothing is sent. */
import * as Effect from "effect/Effect"
import type { buildConnector } from "undici"
import { codeOf } from "./HttpClient.ts"

/** Null when it can; otherwise the code of Node or undici. */
export type Reach = (url: string) => Effect.Effect<string | null>

export const make =
  (connector: () => Promise<buildConnector.connector>): Reach =>
  (url) =>
    Effect.promise(connector).pipe(
      Effect.flatMap((connect) =>
        Effect.async<string | null>((resume) => {
          const { host, hostname, port, protocol } = new URL(url)
          connect({ host, hostname, port, protocol, servername: "" }, (error, socket) => {
            socket?.destroy()
            resume(Effect.succeed(error === null ? null : codeOf(error)))
          })
        })
      )
    )
