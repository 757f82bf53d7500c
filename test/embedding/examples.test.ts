/** Every example is run. */

import { expect, it } from "@effect/vitest"
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

it.effect("a sender of one's own: the message is on its platform, and the engine knows", () =>
  Effect.gen(function* () {
    const { messages, results } = yield* CustomSender.program
    expect(results).toEqual([{ phone: "34600001234", status: "accepted" }])
    expect(messages).toMatchObject([
      { id: "pigeon-1", to: "34600001234", text: "Hello Ana, your order arrives tomorrow." }
    ])
  })
)
