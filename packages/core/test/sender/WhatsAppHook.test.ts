/** What a hook of the WhatsApp Cloud API brings, kind by kind (whatsapp-cloud.md §1.8, §1.11, §1.12). */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { HookContent } from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"

const [number, account, secret] = ["106540352242922", "102290129340398", "app-secret"]
const config = {
  phone_number_id: number,
  waba_id: account,
  access_token: "token-of-the-session",
  app_secret: secret,
  verify_token: "verify"
}

/** Reads a hook that the platform signed. */
const read = (json: object): Effect.Effect<HookContent> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { receive } = yield* WhatsApp.make()
      const body = new TextEncoder().encode(JSON.stringify(json))
      const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
      const headers = { "x-hub-signature-256": signature }
      const request = { method: "POST", headers, query: {}, body, now: 1_790_000_000_000 } as const
      const result = yield* receive?.(request, config) ?? Effect.dieMessage("no hook")
      return result._tag === "Content" ? result : yield* Effect.dieMessage(result._tag)
    })
  )

const hook = (field: string, value: unknown): object => ({
  object: "whatsapp_business_account",
  entry: [{ id: account, changes: [{ field, value }] }]
})

const metadata = { display_phone_number: "15550100100", phone_number_id: number }
const contacts = [{ wa_id: "34600000203", profile: { name: "N" } }]
const own = { messaging_product: "whatsapp", metadata, contacts }

const from = { from: "34600000203", id: "wamid.1", timestamp: "1790000000" }

/** A message of each kind that the platform's reference has, with the platform's object for it. */
const messages: ReadonlyArray<readonly [type: string, members: Readonly<Record<string, unknown>>]> = [
  ["text", { text: { body: "Hello" } }],
  ["image", { image: { id: "1", mime_type: "image/jpeg", caption: "Look" } }],
  ["video", { video: { id: "1", mime_type: "video/mp4" } }],
  ["audio", { audio: { id: "1", voice: true } }],
  ["document", { document: { id: "1", filename: "a.pdf" } }],
  ["sticker", { sticker: { id: "1", animated: false } }],
  ["location", { location: { latitude: 1, longitude: 2, name: "Here" } }],
  ["contacts", { contacts: [{ name: { formatted_name: "N" }, phones: [{ phone: "+34600000204" }] }] }],
  ["button", { button: { payload: "more", text: "Tell me more" } }],
  ["interactive", { interactive: { type: "button_reply", button_reply: { id: "yes", title: "Yes" } } }],
  ["interactive", { interactive: { type: "list_reply", list_reply: { id: "row", title: "Row" } } }],
  [
    "interactive",
    { interactive: { type: "nfm_reply", nfm_reply: { name: "flow", response_json: '{"rating":"5"}' } } }
  ],
  ["reaction", { reaction: { message_id: "wamid.x", emoji: "👎" } }],
  ["order", { order: { catalog_id: "c", text: "hurry", product_items: [] } }],
  ["system", { system: { type: "user_changed_number", body: "changed", wa_id: "34600000204" } }],
  ["request_welcome", {}],
  ["edit", { edit: { original_message_id: "wamid.0", message: { type: "text", text: { body: "Hi" } } } }],
  ["revoke", { revoke: { original_message_id: "wamid.0" } }],
  ["unsupported", { errors: [{ code: 131051, title: "Message type unknown" }] }],
  ["unknown", { errors: [{ code: 131051, title: "Message type unknown" }] }]
]

describe("a message in a hook", () => {
  for (const [type, members] of messages)
    it.effect(`of the type ${type} ${Object.keys(members).join()} tells its type and its content`, () =>
      Effect.gen(function* () {
        const content = yield* read(hook("messages", { ...own, messages: [{ ...from, type, ...members }] }))
        expect(content.unread).toEqual([])
        const errors = members["errors"]
        expect(content.messages).toMatchObject([
          { type, content: members[type] ?? (errors === undefined ? null : { errors }) }
        ])
      })
    )

  it.effect("tells the pressed button, the message that it answers and its group", () =>
    Effect.gen(function* () {
      const button = { payload: "stop-promos", text: "Unsubscribe" }
      const message = { ...from, type: "button", button, context: { id: "wamid.0" }, group_id: "g1" }
      expect((yield* read(hook("messages", { ...own, messages: [message] }))).messages).toMatchObject([
        {
          label: "Unsubscribe",
          payload: "stop-promos",
          text: "stop-promos",
          contextId: "wamid.0",
          groupId: "g1"
        }
      ])
    })
  )
})

describe("what comes on `standby`", () => {
  it.effect("is read as on `messages`, and told to nobody; all else of it is unread", () =>
    Effect.gen(function* () {
      const status = {
        id: "wamid.9",
        status: "delivered",
        timestamp: "1790000000",
        recipient_id: "34600000203"
      }
      const refused = { ...status, status: "failed", errors: [{ code: 131050, title: "Stopped" }] }
      const text = { ...from, type: "text", text: { body: "STOP" } }
      const standby = { contacts, statuses: [status, refused], messages: [text], message_echoes: [text] }
      const found = yield* read(hook("standby", { messaging_product: "whatsapp", metadata, standby }))
      expect(found.reports.map(({ status }) => status)).toEqual(["delivered", "failed"])
      expect(found.preferences).toMatchObject([{ status: "revoked", phone: "34600000203" }])
      expect(found.messages).toMatchObject([{ text: "STOP", from: "34600000203", isAside: true }])
      expect(found.unread).toMatchObject([{ field: "standby", content: { message_echoes: [text] } }])
    })
  )
})

describe("what a hook says and nobody understands", () => {
  const unread = {
    "a kind of news that is not known": hook("calls", { calls: [{ id: "1", event: "connect" }] }),
    "a member of messages that is not known": hook("messages", { ...own, user_actions: [{ type: "x" }] }),
    "a list that is none": hook("messages", { ...own, statuses: { id: "1" } }),
    "a status that is not known": hook("messages", { ...own, statuses: [{ id: "1", status: "warning" }] }),
    "a status without an id": hook("messages", { ...own, statuses: [{ status: "sent" }] }),
    "a message that is none": hook("messages", { ...own, messages: ["hello"] }),
    "news without a value": hook("messages", "hello"),
    "a preference that is not known": hook("user_preferences", {
      ...own,
      user_preferences: [{ wa_id: "34600000203", category: "marketing_messages", value: "perhaps" }]
    }),
    "a user id update without ids": hook("user_id_update", { user_id_update: [{ wa_id: "34600000203" }] }),
    "news of a template without its name": hook("message_template_status_update", { event: "PAUSED" })
  }
  for (const [name, json] of Object.entries(unread))
    it.effect(`is handed on as it came: ${name}`, () =>
      Effect.gen(function* () {
        const found = yield* read(json)
        expect(found.unread).toHaveLength(1)
        const [part] = found.unread
        expect(JSON.stringify(json)).toContain(JSON.stringify(part?.content).slice(1, -1))
        expect(part?.field).not.toBe("")
        expect(found.messages).toEqual([])
      })
    )
})
