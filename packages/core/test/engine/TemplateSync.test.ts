/** What a sync makes of templates that the platform has no more. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Engine from "../../src/engine/Engine.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { embedded, platform } from "../worker/Support.ts"

const template = (name: string, status: string) => ({
  name,
  language: "en",
  category: "UTILITY",
  status,
  components: [{ type: "BODY", text: "Hello" }]
})

describe("templates.sync", () => {
  it.effect("marks every template that is gone as deleted, whatever its status was, and does so once", () =>
    Effect.gen(function* () {
      const statuses = ["APPROVED", "PAUSED", "REJECTED", "PENDING", "DISABLED"]
      let there = statuses.map((status) => template(status.toLowerCase(), status))
      const { sender } = platform({ templates: () => Effect.sync(() => there) })
      yield* Effect.gen(function* () {
        const { admin } = yield* Engine.Engine
        const { id } = yield* admin.accounts.create({ name: "My shop", currency: "EUR" })
        const session = yield* admin.sessions.create(id, { name: "Sandbox", provider: "sandbox" })
        yield* admin.templates.sync(session.id)
        there = there.slice(0, 1)
        yield* admin.templates.sync(session.id)
        const templates = yield* TemplateStore
        const found = yield* Effect.forEach(statuses, (status) =>
          templates.findNamed({ sessionId: session.id, name: status.toLowerCase(), language: "en" })
        )
        expect(found.map((each) => each?.status)).toEqual(["approved", ...Array(4).fill("deleted")])
        yield* admin.templates.sync(session.id)
        const again = yield* templates.findNamed({ sessionId: session.id, name: "paused", language: "en" })
        expect(again).toEqual(found[1])
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )
})
