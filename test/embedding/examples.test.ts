/** Every example is run. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Engine } from "@sendwright/core"
import { TestEngine } from "@sendwright/core/testing"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as CustomSender from "../../examples/custom-sender/main.ts"
import * as InMemory from "../../examples/embed-in-memory.ts"
import * as OnSqlite from "../../examples/embed-sqlite.ts"

const withKey = ConfigProvider.fromMap(new Map([["SECRET_KEY", Buffer.alloc(32, 7).toString("base64")]]))

it.effect("embed in memory: a whole flow under the test clock, without a network", () =>
  Effect.gen(function* () {
    const result = yield* InMemory.program
    expect(result).toEqual({
      status: "completed",
      recipients: [
        { phone: "34600001234", status: "delivered", reason: null },
        { phone: "34600010001", status: "failed", reason: "The number is not on the platform." }
      ]
    })
  }).pipe(Effect.provide(TestEngine.layer))
)

it.live("embed on SQLite: the embedder's row and the send are one transaction", () =>
  Effect.gen(function* () {
    const result = yield* OnSqlite.program
    expect(result).toEqual({ status: "completed", jobs: 1, refused: "the payment was declined" })
  }).pipe(Effect.provide(OnSqlite.layer(":memory:")), Effect.withConfigProvider(withKey))
)

it.scopedLive("embed on SQLite: what one process has sealed in the file the next one reads", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-embed-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    )
    const started = <A, E>(process: Effect.Effect<A, E, Engine.Engine>) =>
      Effect.provide(process, OnSqlite.layer(join(folder, "shop.db")))
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
