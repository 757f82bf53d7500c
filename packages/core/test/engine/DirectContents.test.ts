/** What a direct message may hold, and how both platforms are told (contract.md §14). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Requests from "../../src/schema/Requests.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import type { OutboundMessage } from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import * as HttpPlatform from "../../src/testing/HttpPlatform.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

const to = "34600000011"
const url = "https://shop.example/menu.pdf"
const buttons = [
  { id: "yes", title: "Yes" },
  { id: "no", title: "No" }
]
const place = { latitude: 41.38, longitude: 2.17, name: "Shop", address: "Rambla 1" }

describe("a direct message", () => {
  it.effect("is refused with each field that does not fit", () =>
    Effect.gen(function* () {
      const image = { type: "image", url }
      const cases: ReadonlyArray<readonly [body: object, ...fields: ReadonlyArray<string>]> = [
        [{}, "message"],
        [{ message: "Hi", media: image }, "media"],
        [{ media: image, location: place }, "location"],
        [{ media: image, buttons }, "buttons"],
        [{ location: place, linkPreview: true }, "linkPreview"],
        [{ media: { type: "image" } }, "media.url"],
        [{ media: { type: "film", url } }, "media.type"],
        [{ media: { ...image, url: "http://shop.example/a.png" } }, "media.url"],
        [{ media: { ...image, url: "https://10.0.0.1/a.png" } }, "media.url"],
        [{ media: { ...image, url: `https://shop.example/${"a".repeat(3000)}` } }, "media.url"],
        [{ media: { ...image, caption: "a".repeat(1025) } }, "media.caption"],
        [{ media: { ...image, caption: "a\u0000" } }, "media.caption"],
        [{ media: { ...image, filename: "a.png" } }, "media.filename"],
        [{ media: { type: "audio", url, caption: "Hi" } }, "media.caption"],
        [{ media: { type: "sticker", url, caption: "Hi" } }, "media.caption"],
        [{ location: { latitude: 91, longitude: -181 } }, "location.latitude", "location.longitude"],
        [{ location: { latitude: "41", longitude: 2 } }, "location.latitude"],
        [{ location: { ...place, name: " " } }, "location.name"],
        [{ message: "Hi", buttons: [] }, "buttons"],
        [{ message: "Hi", buttons: [...buttons, ...buttons] }, "buttons"],
        [{ message: "a".repeat(1025), buttons }, "message"],
        [{ message: "Hi", buttons: [{ id: "a", title: "a".repeat(21) }] }, "buttons.0.title"],
        [{ message: "Hi", buttons: [{ id: "a".repeat(257), title: "A" }] }, "buttons.0.id"],
        [{ message: "Hi", buttons: [buttons[0], { id: "b", title: "Yes" }] }, "buttons.1.title"],
        [{ message: "Hi", buttons: [buttons[0], { id: "yes", title: "No" }] }, "buttons.1.id"],
        [{ media: image, otherwise: { template_id: 1 } }, "otherwise"],
        [{ location: place, otherwise: { template_id: 1 } }, "otherwise"],
        [{ message: "Hi", otherwise: {} }, "otherwise.template_id"],
        [{ message: "Hi", otherwise: { template_id: 99 } }, "otherwise.template_id"],
        [
          { message: "Hi", otherwise: { template_id: 1, variables: { "body.1": 5 } } },
          "otherwise.variables.body.1"
        ],
        [{ message: "Hi", otherwise: { template_id: 1, language: "en" } }, "otherwise.language"],
        [{ message: "Hi", reply_to: "" }, "reply_to"],
        [{ message: "Hi", reply_to: "a".repeat(513) }, "reply_to"]
      ]
      const engine = yield* Engine.Engine
      const { caller } = yield* prepare(engine, [to])
      for (const [body, ...fields] of cases) {
        const request = new Requests.Unchecked({ to, ...body })
        const refused = yield* Effect.flip(engine.sendDirect(caller, { idempotencyKey: undefined, request }))
        const found = refused._tag === "InvalidRequest" ? refused.faults : []
        expect(
          found.map(({ path }) => path.join(".")),
          JSON.stringify(body).slice(0, 200)
        ).toEqual(fields)
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("of any kind is one request under its key", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { caller } = yield* prepare(engine, [to])
      const media = { type: "document", url, caption: "Menu", filename: "menu.pdf" } as const
      const send = (request: Requests.DirectMessageRequest) =>
        engine.sendDirect(caller, { idempotencyKey: "one", request })
      const first = yield* send({ to, media })
      expect(yield* send({ to, media })).toEqual({ ...first, replayed: true })
      for (const other of [
        { to, media: { ...media, caption: "Card" } },
        { to, media, reply_to: "wamid.1" }
      ])
        expect(yield* Effect.flip(send(other))).toMatchObject({ _tag: "IdempotencyConflict" })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

const contents: ReadonlyArray<
  readonly [
    content: Omit<OutboundMessage["content"] & { kind: "direct" }, "kind" | "linkPreview">,
    object,
    object
  ]
> = [
  [
    { text: "", media: { type: "document", url, caption: "Menu", filename: "menu.pdf" }, replyTo: "wamid.1" },
    {
      type: "document",
      document: { link: url, caption: "Menu", filename: "menu.pdf" },
      context: { message_id: "wamid.1" }
    },
    {
      type: "media",
      media: { type: "document", url, caption: "Menu", filename: "menu.pdf" },
      reply_to: "wamid.1"
    }
  ],
  [
    { text: "", media: { type: "sticker", url } },
    { type: "sticker", sticker: { link: url } },
    { type: "media", media: { type: "sticker", url } }
  ],
  [
    { text: "", location: place },
    { type: "location", location: place },
    { type: "location", location: place }
  ],
  [
    { text: "Coming?", buttons },
    {
      type: "interactive",
      interactive: {
        type: "button",
        body: { text: "Coming?" },
        action: { buttons: buttons.map((reply) => ({ type: "reply", reply })) }
      }
    },
    { type: "text", text: { body: "Coming?", link_preview: false }, buttons }
  ],
  [
    { text: "Yes.", replyTo: "wamid.1" },
    { type: "text", text: { body: "Yes.", preview_url: false }, context: { message_id: "wamid.1" } },
    { type: "text", text: { body: "Yes.", link_preview: false }, reply_to: "wamid.1" }
  ]
]

describe("each kind of direct message", () => {
  it.live("is told to the platform and to a gateway in their forms", () =>
    Effect.gen(function* () {
      const bodies: Array<unknown> = []
      const { url: base } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: ({ body }) => {
          bodies.push(JSON.parse(body))
          return { status: 200, headers: {}, body: "{}" }
        }
      })
      const cloud = {
        phone_number_id: "1",
        waba_id: "2",
        access_token: "token",
        app_secret: "secret",
        verify_token: "verify",
        base_url: base
      }
      const message = { messageId: "m", sessionId: "s", to, userId: null, values: [], attempt: 1 }
      const [whatsApp, gateway] = [yield* WhatsApp.make(), yield* HttpGateway.make()]
      for (const [content, ofPlatform, ofGateway] of contents) {
        const direct = { kind: "direct", linkPreview: false, ...content } as const
        yield* whatsApp.send({ ...message, content: direct, config: cloud })
        yield* gateway.send({
          ...message,
          content: direct,
          config: { url: base, secret: "0123456789abcdef" }
        })
        expect(bodies.splice(0)).toEqual([
          {
            messaging_product: "whatsapp",
            recipient_type: "individual",
            to,
            biz_opaque_callback_data: "m",
            ...ofPlatform
          },
          { message_id: "m", session_id: "s", to, ...ofGateway }
        ])
      }
    }).pipe(Effect.scoped)
  )
})
