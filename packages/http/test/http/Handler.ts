/** The host's own handler over an engine; {@link make} is over one in memory, with a session, and the credentials of all. */
import { Engine } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as Routes from "../../src/http/Routes.ts"
import * as Steps from "../../src/http/Steps.ts"

export const adminToken = "an-admin-token-of-24-and-more"

export const over = (
  engine: Context.Tag.Service<Engine.Engine>,
  options: Pick<Steps.Options, "answered" | "guesses"> = {}
) =>
  Steps.make({
    engine,
    ...Routes.ofApi(engine, "http://base"),
    baseUrl: "http://base",
    adminToken: Redacted.make(adminToken),
    stopping: MutableRef.make(false),
    ...options
  })

export const make = (options: Pick<Steps.Options, "guesses"> = {}) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const account = yield* engine.admin.accounts.create({ name: "Shop" })
    const session = yield* engine.admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
    const { key, secretKey } = yield* engine.admin.keys.issue(session.id, {})
    const content = Routes.ofApi(engine, "http://base")
    const handle = yield* over(engine, options)
    const credentials = {
      authorization: `Bearer ${adminToken}`,
      "x-public-key": key.publicKey,
      "x-secret-key": secretKey
    }
    return { account, content, credentials, engine, handle, session }
  })
