/** The provider `whatsapp_cloud` passes the suite of the senders, over the stand-in of its platform. */

import { describe, expect, it } from "@effect/vitest"
import { WhatsApp } from "@sendwright/core"
import { HttpPlatform } from "@sendwright/core/testing"
import * as SenderSuite from "@sendwright/core/testing/SenderSuite"
import * as Effect from "effect/Effect"
import * as Graph from "../graph/Graph.ts"
import * as Webhooks from "../graph/Webhooks.ts"
import { at } from "../support/TestHost.ts"

const access = {
  phone_number_id: "106540352242922",
  waba_id: "102290129340398",
  access_token: "token-that-nobody-may-see",
  app_secret: "app-secret-that-nobody-may-see",
  verify_token: "verify-token-that-nobody-may-see"
}

const names = ["first", "second", "third", "fourth", "greeting"]

const templates = names.map((name, index) => ({
  id: String(1_000_000 + index),
  name,
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}" }]
}))

const startGraph = Effect.acquireRelease(
  Effect.promise(() =>
    Graph.start({
      phoneNumberId: access.phone_number_id,
      wabaId: access.waba_id,
      accessToken: access.access_token,
      appSecret: access.app_secret,
      verifyToken: access.verify_token,
      templates
    })
  ),
  (graph) => Effect.promise(() => graph.close())
)

const behaviours: Partial<Record<HttpPlatform.Mood, Graph.Behaviour>> = {
  holds: { kind: "held", messageStatus: "held_for_quality_assessment" },
  refuses: { kind: "error", code: 131026 },
  busy: { kind: "error", code: 130429, retryAfter: "7" }
}

const parsed = (body: string): unknown => (body === "" ? undefined : JSON.parse(body))

const make = Effect.gen(function* () {
  const graph = yield* startGraph
  const { closedUrl, situations, url } = yield* HttpPlatform.make({
    about: ({ body }) => {
      const id = at(parsed(body), "biz_opaque_callback_data")
      return typeof id === "string" ? id : undefined
    },
    answer: async ({ body, headers, method, path }, mood) => {
      graph.behave(String(at(parsed(body), "to")), behaviours[mood] ?? { kind: "silent" })
      const answer = await fetch(`${graph.url}${path}`, {
        method,
        headers: {
          authorization: headers["authorization"] ?? "",
          "content-type": headers["content-type"] ?? ""
        },
        ...(body === "" ? {} : { body })
      })
      const retryAfter = answer.headers.get("retry-after")
      return {
        status: answer.status,
        headers: retryAfter === null ? {} : { "retry-after": retryAfter },
        body: await answer.text()
      }
    }
  })
  const config = { ...access, base_url: url }
  const platform: SenderSuite.Platform = {
    config,
    required: Object.keys(access),
    secrets: ["access_token", "app_secret", "verify_token"],
    unreachable: { ...config, base_url: closedUrl },
    situations,
    retryAfterMs: 7000,
    received: () =>
      graph.messages().map(({ body, callbackData, id, to }) => ({
        messageId: callbackData,
        to,
        content: JSON.stringify(body),
        providerId: id
      })),
    templates: { names, nameOf: (template) => at(template, "name") },
    hook: {
      signed: (body, now) => ({
        method: "POST",
        headers: { "x-hub-signature-256": Webhooks.signature(body, access.app_secret) },
        query: {},
        body: new TextEncoder().encode(body),
        now
      }),
      delivered: ({ messageId, to }, providerId) => {
        const told = { id: providerId ?? "wamid.none", to, callbackData: messageId, category: "utility" }
        const statuses = [Webhooks.delivered(told)]
        const value = Webhooks.statusValue(access.phone_number_id, "+1 555-010-0100", statuses)
        return JSON.stringify(Webhooks.envelope(access.waba_id, "messages", value))
      },
      staleAfterMs: SenderSuite.absent("The platform signs no time.")
    },
    reports: null
  }
  return { sender: yield* WhatsApp.make(), platform }
})

SenderSuite.suite("whatsapp_cloud", make)

describe("one template", () => {
  it.scopedLive("is found by its name and language, over all pages and in either spelling, or is none", () =>
    Effect.gen(function* () {
      const graph = yield* startGraph
      const promo = (id: string, language: string) => ({ ...templates[0], id, name: "promo", language })
      // Two a page.
      graph.setTemplates([promo("1", "en"), promo("2", "es"), promo("3", "pt_BR"), ...templates])
      const { template = () => Effect.dieMessage("The sender fetches no template.") } = yield* WhatsApp.make()
      const fetch = (name: string, language: string, more: object = {}) =>
        template({ ...access, base_url: graph.url, ...more }, { name, language })
      expect(yield* fetch("promo", "pt-BR")).toMatchObject({ id: "3", name: "promo", language: "pt_BR" })
      expect(yield* fetch("promo", "fr")).toBeNull()
      // Only those of the name are listed, and no page is asked for twice.
      expect(
        graph.requests().map(({ path }) => [path.includes("name=promo"), path.includes("after=")])
      ).toEqual([
        [true, false],
        [true, true],
        [true, false],
        [true, true]
      ])
      expect(yield* Effect.flip(fetch("promo", "en", { access_token: "another" }))).toMatchObject({
        _tag: "PlatformRefusal",
        failure: { code: "credentials_rejected" }
      })
      expect(graph.faults()).toEqual([])
    })
  )
})

describe("an answer of the platform", () => {
  it.scopedLive("says the same however its JSON is written, and nothing where it is none", () =>
    Effect.gen(function* () {
      const id = "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI+/w=="
      const answer = {
        messaging_product: "whatsapp",
        contacts: [{ input: "+16505551234", wa_id: "16505551234" }],
        messages: [{ id, message_status: "accepted" }]
      }
      const plain = JSON.stringify(answer)
      const accepted = { _tag: "Accepted", providerId: id, status: "accepted" }
      const cases: ReadonlyArray<readonly [string, object]> = [
        [plain, accepted],
        [JSON.stringify({ ...answer, messages: [{ id }] }), accepted],
        [JSON.stringify(answer, null, 2), accepted],
        [JSON.stringify({ ...answer, more: [plain] }), accepted],
        [plain.replace("wamid", "\\u0077amid"), accepted],
        [JSON.stringify({ ...answer, messages: [{ id, message_status: "paused" }] }), { _tag: "Held" }],
        [JSON.stringify({ ...answer, error: { code: 131026 } }), { _tag: "Rejected" }],
        [plain.slice(0, -1), { _tag: "Ambiguous" }],
        [`${plain}}`, { _tag: "Ambiguous" }]
      ]
      const bodies = cases.map(([body]) => body)
      const { url } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: () => ({ status: 200, headers: {}, body: bodies.shift() ?? "" })
      })
      const sender = yield* WhatsApp.make()
      for (const [body, expected] of cases) {
        const result = yield* sender.send({
          messageId: "0190a1b2-0000-7000-8000-000000000000",
          sessionId: "0190a1b2-0000-7000-8000-000000000001",
          to: "16505551234",
          userId: null,
          content: { kind: "direct", text: "Hello", linkPreview: false },
          values: [],
          attempt: 1,
          config: { ...access, base_url: url }
        })
        expect(result, body).toMatchObject(expected)
      }
    })
  )
})
