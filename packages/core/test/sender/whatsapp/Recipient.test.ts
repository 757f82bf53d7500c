/** contract.md §14: a message goes to the number or to the user id; a one-time code to the number where one is known. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Content } from "../../../src/domain/job/Job.ts"
import * as HttpGateway from "../../../src/sender/HttpGateway.ts"
import * as WhatsApp from "../../../src/sender/WhatsApp.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import * as HttpPlatform from "../../../src/testing/HttpPlatform.ts"

const [phone, userId] = ["16505551234", "US.13491208655302741918"]
const code: Content = {
  kind: "template",
  templateId: 1,
  template: { ...Fixtures.template(), category: "authentication" }
}
const text: Content = { kind: "direct", text: "Hello", linkPreview: false }

const ways: ReadonlyArray<readonly [string, Content, string, string | null, object, object]> = [
  ["a number", text, phone, null, { to: phone }, { to: phone }],
  ["a user id", text, userId, userId, { recipient: userId }, { user_id: userId }],
  ["both, by the user id", text, phone, userId, { recipient: userId }, { to: phone, user_id: userId }],
  ["both, a code by the number", code, phone, userId, { to: phone }, { to: phone, user_id: userId }]
]

describe("whom a message is for", () => {
  it.scopedLive.each(ways)("is %s", ([, content, to, userId, ofWhatsApp, ofGateway]) =>
    Effect.gen(function* () {
      const bodies: Array<Record<string, unknown>> = []
      const { url } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: ({ body }) => {
          bodies.push(JSON.parse(body))
          return { status: 200, headers: {}, body: "{}" }
        }
      })
      const message = {
        messageId: "0190a1b2-0000-7000-8000-000000000000",
        sessionId: "0190a1b2-0000-7000-8000-000000000001",
        to,
        userId,
        content,
        values: ["Ana"],
        attempt: 1
      }
      const access = {
        phone_number_id: "106540352242922",
        waba_id: "102290129340398",
        access_token: "token",
        app_secret: "secret-of-the-app",
        verify_token: "verify",
        base_url: url
      }
      yield* (yield* WhatsApp.make()).send({ ...message, config: access })
      yield* (yield* HttpGateway.make()).send({
        ...message,
        config: { url, secret: "a-secret-of-the-gateway" }
      })
      const names = bodies.map((body) =>
        Object.fromEntries(
          ["to", "recipient", "user_id"].flatMap((name) => (name in body ? [[name, body[name]]] : []))
        )
      )
      expect(names).toEqual([ofWhatsApp, ofGateway])
    })
  )
})
