/** The host's own handler over an engine in memory, with a session, and the credentials of all. */
import { Engine } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as Routes from "../../src/http/Routes.ts"
import * as Steps from "../../src/http/Steps.ts"

export const make = (options: Pick<Steps.Options, "guesses"> = {}) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const account = yield* engine.admin.accounts.create({ name: "Shop" })
    const session = yield* engine.admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
    const { key, secretKey } = yield* engine.admin.keys.issue(session.id, {})
    const content = Routes.ofApi(engine, "http://base")
    const handle = yield* Steps.make({
      engine,
      ...content,
      baseUrl: "http://base",
      adminToken: Redacted.make("token"),
      stopping: MutableRef.make(false),
      ...options
    })
    const credentials = {
      authorization: "Bearer token",
      "x-public-key": key.publicKey,
      "x-secret-key": secretKey
    }
    return { account, content, credentials, engine, handle, session }
  })
