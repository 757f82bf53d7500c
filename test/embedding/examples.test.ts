/** What a process leaves to the next one, and a sender of one's own. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Engine, Sandbox } from "@sendwright/core"
import { layerSqlite } from "@sendwright/core/sqlite"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as CustomSender from "../../examples/custom-sender/main.ts"

const withKey = ConfigProvider.fromMap(new Map([["SECRET_KEY", Buffer.alloc(32, 7).toString("base64")]]))

it.scopedLive("what one process has sealed in the file the next one reads", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-embed-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    )
    const started = <A, E>(process: Effect.Effect<A, E, Engine.Engine>) =>
      Effect.provide(process, layerSqlite({ filename: join(folder, "shop.db"), senders: [Sandbox.make()] }))
    const credentials = yield* started(
      Effect.gen(function* () {
        const { admin } = yield* Engine.Engine
        const account = yield* admin.accounts.create({ name: "My shop" })
        const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
        const { key, secretKey } = yield* admin.keys.issue(session.id, {})
        return { publicKey: key.publicKey, secretKey }
      })
    )
    const caller = yield* started(Effect.flatMap(Engine.Engine, ({ identify }) => identify(credentials)))
    expect(caller.key.publicKey).toBe(credentials.publicKey)
  }).pipe(Effect.withConfigProvider(withKey))
)

it.effect("a sender of one's own: the message is on its platform, and the engine knows", () =>
  Effect.gen(function* () {
    const { messages, results } = yield* CustomSender.program
    expect(results).toEqual([{ phone: "34600001234", status: "accepted" }])
    expect(messages).toMatchObject([
      { id: "pigeon-1", to: "34600001234", text: "Hello Ana, your order arrives tomorrow." }
    ])
  })
)
