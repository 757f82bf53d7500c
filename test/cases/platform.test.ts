/** Inputs of a platform, its errors and its templates, that failed once. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { WhatsApp } from "@sendwright/core"
import { HttpPlatform } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import { at } from "../support/TestHost.ts"

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))

const access = {
  phone_number_id: "1",
  waba_id: "2",
  access_token: "token",
  app_secret: "secret",
  verify_token: "verify"
}

describe("an answer of the platform", () => {
  it.scopedLive("18: with `is_transient: true` lets the message be tried again", () =>
    Effect.gen(function* () {
      const found = read("18-is-transient.json")
      const { url } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: () => ({
          status: Number(at(found, "status")),
          headers: { "content-type": "application/json" },
          body: JSON.stringify(at(found, "body"))
        })
      })
      const sender = yield* WhatsApp.make()
      const result = yield* sender.send({
        messageId: "m",
        sessionId: "s",
        to: "34600000200",
        content: { kind: "direct", text: "Hello", linkPreview: false },
        values: [],
        attempt: 1,
        config: { ...access, base_url: url }
      })
      expect(result).toMatchObject({
        _tag: "Transient",
        failure: { provider_code: "3018", permanent: false }
      })
    })
  )
})
