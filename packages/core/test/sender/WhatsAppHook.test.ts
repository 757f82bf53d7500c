/** What a hook of the WhatsApp Cloud API brings, kind by kind (contract.md §W1.8, §1.11, §1.12). */

import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import { withoutEnd } from "../../src/domain/session/Session.ts"
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
      const request = { method: "POST", headers, query: {}, body, now: Time.at(1_790_000_000_000) } as const
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
  it.effect("is read as on `messages`, and told to nobody; what is not known of it is unread", () =>
    Effect.gen(function* () {
      const status = {
        id: "wamid.9",
        status: "delivered",
        timestamp: "1790000000",
        recipient_id: "34600000203"
      }
      const refused = { ...status, status: "failed", errors: [{ code: 131050, title: "Stopped" }] }
      const text = { ...from, type: "text", text: { body: "STOP" } }
      const standby = {
        contacts,
        statuses: [status, refused],
        messages: [text],
        message_echoes: [text],
        user_actions: [text]
      }
      const found = yield* read(hook("standby", { messaging_product: "whatsapp", metadata, standby }))
      expect(found.reports.map(({ status }) => status)).toEqual(["delivered", "failed"])
      expect(found.preferences).toMatchObject([{ status: "revoked", phone: "34600000203" }])
      expect(found.messages).toMatchObject([{ text: "STOP", from: "34600000203", isAside: true }])
      expect(found.unread).toMatchObject([{ field: "standby", content: { user_actions: [text] } }])
    })
  )
})

describe("a status that failed", () => {
  it.effect("is what all of its errors say, also of those that are no list", () =>
    Effect.gen(function* () {
      const failed = { id: "wamid.9", status: "failed", timestamp: "1790000000", recipient_id: "34600000203" }
      const several = [
        { code: 131026, title: "Undeliverable" },
        { code: 190, title: "Expired" }
      ]
      const statuses = [several, { code: 190, title: "Expired" }, "No route"].map((errors) => ({
        ...failed,
        errors
      }))
      const { reports } = yield* read(hook("messages", { ...own, statuses }))
      expect(reports.map(({ failure }) => [failure?.provider_code, failure?.message])).toEqual([
        ["190", "Expired Undeliverable"],
        ["190", "Expired"],
        [null, "The platform reports that the message failed, without a code: No route"]
      ])
    })
  )
})

describe("a call, and what others answer", () => {
  const [person, at] = ["34600000203", Time.at(1_790_000_000_000)]
  const call = { id: "wacid.1", event: "connect", timestamp: "1790000000" }
  const theirs = { ...call, from: person, to: "15550100100", direction: "USER_INITIATED" }
  const ours = { ...call, from: "15550100100", to: person, direction: "BUSINESS_INITIATED" }
  const contact = { phone: person, userId: null, at }
  const ended = { ...ours, event: "terminate", timestamp: "1790000060" }
  const echo = { ...from, from: "15550100100", to: person, type: "text", text: { body: "Hello" } }
  const known = {
    "theirs, answered or not": [hook("calls", { ...own, calls: [theirs] }), { kind: "call" }],
    "theirs, to an agent": [
      hook("standby", { standby: { metadata, contacts, calls: [theirs] } }),
      { kind: "call", isAside: true }
    ],
    "ours that they took": [
      hook("calls", { ...own, calls: [ours, { ...ended, start_time: "1790000000" }] }),
      { kind: "call" }
    ],
    "ours that they are taking": [
      hook("calls", {
        ...own,
        statuses: [
          { type: "call", status: "RINGING", timestamp: "1789999990", recipient_id: person },
          { type: "call", status: "ACCEPTED", timestamp: "1790000000", recipient_id: person }
        ]
      }),
      { kind: "call" }
    ],
    "ours that they let ring": [hook("calls", { ...own, calls: [ours, ended] }), undefined],
    "an echo of the phone's own app": [
      hook("smb_message_echoes", { ...own, message_echoes: [echo] }),
      { kind: "answer" }
    ],
    "an echo of an agent": [
      hook("standby", { standby: { metadata, contacts, message_echoes: [echo] } }),
      { kind: "answer" }
    ]
  } as const
  for (const [name, [json, told]] of Object.entries(known))
    it.effect(`is no message, and tells whom it is with: ${name}`, () =>
      Effect.gen(function* () {
        const found = yield* read(json)
        expect(found.contacts).toMatchObject(told === undefined ? [] : [{ ...contact, ...told }])
        expect([found.messages, found.reports, found.unread]).toEqual([[], [], []])
      })
    )

  it.effect(
    "of a chat's history is told of one of its people, since the phone's own app has the number",
    () =>
      Effect.gen(function* () {
        const threads = [person, "34600000204"].map((id) => ({ id, messages: [echo] }))
        const found = yield* read(hook("history", { ...own, history: [{ threads }] }))
        expect(found.contacts).toEqual([{ phone: person, userId: null, kind: "answer", at: null }])
      })
  )
})

describe("what agents said elsewhere, a chat's history, its summary and calls", () => {
  const text = { ...from, type: "text", text: { body: "STOP" } }
  const known = {
    "echoes of the business's own app": hook("smb_message_echoes", { ...own, message_echoes: [text] }),
    "echoes of an agent": hook("standby", { standby: { metadata, contacts, message_echoes: [text] } }),
    history: hook("history", {
      ...own,
      history: [{ metadata: { phase: 0 }, threads: [{ messages: [text] }] }]
    }),
    "a history that is not shared": hook("history", { ...own, history: [{ errors: [{ code: 2593109 }] }] }),
    calls: hook("calls", { ...own, calls: [{ id: "1", event: "connect" }] }),
    "a summary beside messages": hook("messages", {
      ...own,
      messages: [],
      conversation_context: { type: "summary", summary: { text: "…" } }
    }),
    "echoes of a number that nobody has": hook("smb_message_echoes", {
      ...own,
      metadata: { ...metadata, phone_number_id: "1" },
      message_echoes: [text]
    })
  }
  for (const [name, json] of Object.entries(known))
    it.effect(`are known and not ours: nothing of them is unread or said: ${name}`, () =>
      Effect.gen(function* () {
        const found = yield* read(json)
        expect([found.unread, found.messages, found.preferences]).toEqual([[], [], []])
        for (const { content, parts } of found.addressed ?? [])
          expect([
            content.unread,
            content.messages,
            parts.filter(({ field }) => field !== "messages" && field !== "standby")
          ]).toEqual([[], [], []])
      })
    )
})

describe("who a hook is about", () => {
  it.effect("is the participant where a status is of a group, and nobody whom we asked for", () =>
    Effect.gen(function* () {
      const status = {
        id: "wamid.9",
        status: "failed",
        timestamp: "1790000000",
        recipient_id: "34600000999",
        recipient_type: "group",
        recipient_participant_id: "34600000203",
        recipient_participant_user_id: "ES.1",
        biz_opaque_callback_data: "job:0",
        errors: [{ code: 131050, title: "Stopped" }]
      }
      const found = yield* read(hook("messages", { ...own, contacts: [], statuses: [status] }))
      expect(found.people).toEqual([
        { phone: "34600000203", userId: "ES.1", messageId: null, at: 1_790_000_000_000 }
      ])
      expect(found.preferences).toMatchObject([{ phone: "34600000203", userId: "ES.1", messageId: null }])
      expect(found.reports[0]).not.toHaveProperty("named")
    })
  )

  const card = (phone: string, more: object = {}) => ({ phones: [{ wa_id: phone }], ...more })
  const cards: ReadonlyArray<readonly [name: string, members: object, people: ReadonlyArray<object>]> = [
    ["somebody else's card", { contacts: [card("34600000204", { origin: "other" })] }, []],
    [
      "somebody else's card in an answer",
      { origin: "contact_request", contacts: [card("34600000204", { origin: "other" })] },
      []
    ],
    [
      "the sender's own card behind another",
      {
        contacts: [
          card("34600000204", { origin: "other" }),
          card("34600000205", { origin: "contact_request", user_id: "ES.2" })
        ]
      },
      [{ phone: "34600000205", userId: "ES.2" }]
    ]
  ]
  for (const [name, members, people] of cards)
    it.effect(`is told by a card that was asked for, and by no other: ${name}`, () =>
      Effect.gen(function* () {
        const message = { ...from, from_user_id: "ES.1", type: "contacts", ...members }
        const found = yield* read(hook("messages", { metadata, messages: [message] }))
        expect(found.people).toHaveLength(people.length)
        expect(found.people).toMatchObject(people)
      })
    )

  const changed = (body: string, more: object = {}) => ({
    id: "wamid.2",
    timestamp: "1790000000",
    type: "system",
    system: { type: "user_changed_user_id", body, user_id: "ES.2", ...more }
  })
  const changes: ReadonlyArray<readonly [message: object, former: string | null, now: string]> = [
    [changed("User Ana changed from ES.1 to ES.2"), "ES.1", "ES.2"],
    [changed("User Ana changed from ES.1 to ES.2", { user_id: undefined }), "ES.1", "ES.2"],
    [changed("User x changed from ES.8 to ES.9 changed from ES.1 to ES.2."), "ES.1", "ES.2"],
    [changed("User Ana changed from ES.3 to ES.2", { previous_user_id: "ES.1" }), "ES.1", "ES.2"],
    [changed("Something changed"), null, "ES.2"]
  ]
  for (const [message, former, userId] of changes)
    it.effect(`is told by a changed user id, of no contact beside it: ${JSON.stringify(message)}`, () =>
      Effect.gen(function* () {
        const found = yield* read(hook("messages", { ...own, messages: [message] }))
        const at = 1_790_000_000_000
        expect(found.people).toEqual([{ phone: null, userId, formerly: { phone: null, userId: former }, at }])
        expect(found.messages).toMatchObject([{ from: null }])
      })
    )
})

describe("what a hook says and nobody understands", () => {
  const unread = {
    "a kind of news that is not known": hook("flows", { event: "FLOW_STATUS_CHANGE", flow_id: "1" }),
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
    "a change of category that says too little": hook("template_category_update", {
      message_template_name: "promo",
      message_template_language: "en",
      new_category: "MARKETING"
    }),
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

describe("news of a template", () => {
  const named = {
    message_template_id: 9,
    message_template_name: "promo_br",
    message_template_language: "pt-BR"
  }
  const known: ReadonlyArray<readonly [field: string, value: object, news: object]> = [
    ["message_template_status_update", { event: "PAUSED", reason: "NONE" }, { status: "paused", why: null }],
    ["message_template_status_update", { event: "REINSTATED" }, { status: "approved", why: null }],
    ["message_template_status_update", { event: "LOCKED", reason: "NONE" }, {}],
    ["message_template_status_update", { event: "UNLOCKED" }, {}],
    [
      "message_template_status_update",
      {
        event: "REJECTED",
        reason: "INVALID_FORMAT",
        rejection_info: { reason: "Variables at the start", recommendation: "Move it" },
        other_info: { title: "FIRST_PAUSE" },
        disable_info: { disable_date: 1_790_000_000 }
      },
      {
        status: "rejected",
        why: {
          reason: "INVALID_FORMAT",
          rejectionInfo: { reason: "Variables at the start", recommendation: "Move it" },
          otherInfo: { title: "FIRST_PAUSE" },
          disableInfo: { disable_date: 1_790_000_000 }
        }
      }
    ],
    [
      "message_template_quality_update",
      { previous_quality_score: "GREEN", new_quality_score: "RED" },
      { quality: "red" }
    ],
    ["message_template_components_update", { message_template_element: "Hello" }, { isChanged: true }],
    [
      "template_category_update",
      { previous_category: "UTILITY", new_category: "MARKETING" },
      { category: "marketing", correctCategory: null }
    ],
    [
      "template_category_update",
      { new_category: "UTILITY", correct_category: "MARKETING" },
      { correctCategory: "marketing" }
    ],
    [
      "template_correct_category_detection",
      { correct_category: "MARKETING" },
      { correctCategory: "marketing" }
    ]
  ]
  for (const [field, value, news] of known)
    it.effect(`is read: ${field} ${JSON.stringify(value)}`, () =>
      Effect.gen(function* () {
        const json = { ...named, ...value }
        const found = yield* read(hook(field, json))
        const whose = { platformId: "9", name: "promo_br", language: "pt-BR" }
        expect(found.templates).toEqual([{ ...whose, ...news, at: null, origin: { field, content: json } }])
        expect(found.unread).toEqual([])
      })
    )
})

describe("news of the account", () => {
  const banned = "The platform has banned the account."
  const removed = "The account no longer shares itself with the partner whose app this is."
  const restriction = (restriction_type: string) => ({
    event: "ACCOUNT_RESTRICTION",
    restriction_info: [{ restriction_type, expiration: 1_790_000_000 }]
  })
  const until = 1_790_000_000_000
  const lifted = { restricts: { templates: null, replies: null } }
  const known: ReadonlyArray<
    readonly [field: string, value: object, disconnects: string | null, more?: object]
  > = [
    ["account_update", { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: ["DISABLE"] } }, banned],
    ["account_update", { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: "DISABLE" } }, banned],
    [
      "account_update",
      { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: ["REINSTATE"] } },
      null,
      { reinstates: true, ...lifted }
    ],
    [
      "account_update",
      { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: ["SCHEDULE_FOR_DISABLE"] } },
      null
    ],
    ["account_update", { event: "DISABLED_UPDATE" }, banned],
    [
      "account_update",
      { event: "DISABLED_UPDATE", ban_state: "REINSTATE" },
      null,
      { reinstates: true, ...lifted }
    ],
    [
      "account_update",
      restriction("RESTRICTED_BIZ_INITIATED_MESSAGING"),
      null,
      { restricts: { templates: until } }
    ],
    [
      "account_update",
      restriction("RESTRICTED_CUSTOMER_INITIATED_MESSAGING"),
      null,
      { restricts: { replies: until } }
    ],
    [
      "account_update",
      {
        event: "ACCOUNT_RESTRICTION",
        phone_number: "15550783881",
        restriction_info: [
          { restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration: "1790000000" },
          { restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration: "2026-09-21T14:13:21+0000" },
          { restriction_type: "RESTRICTED_CUSTOMER_INITIATED_MESSAGING" }
        ]
      },
      null,
      { number: "15550783881", restricts: { templates: until + 1000, replies: withoutEnd } }
    ],
    ["account_update", { event: "ACCOUNT_RESTRICTION" }, null, lifted],
    [
      "account_update",
      { event: "ACCOUNT_VIOLATION", violation_info: { violation_type: "SPAM_UNBAN" } },
      null,
      lifted
    ],
    ["account_update", restriction("RESTRICTED_USER_INITIATED_CALLING"), null],
    ["account_update", restriction("RESTRICTED_ADD_PHONE_NUMBER_ACTION"), null],
    ["account_update", { event: "PARTNER_REMOVED", waba_info: { waba_id: account } }, removed],
    ["account_update", { event: "PARTNER_APP_UNINSTALLED" }, removed],
    ["account_update", { event: "ACCOUNT_OFFBOARDED" }, "The account was offboarded from the platform."],
    ["account_update", { event: "ACCOUNT_DELETED" }, "The account was deleted at the platform."],
    ["account_update", { event: "RECONNECTED" }, null],
    ["account_update", { event: "MM_LITE_TERMS_SIGNED" }, null],
    ["account_update", { event: "VOLUME_BASED_PRICING_TIER_UPDATE" }, null],
    ["account_review_update", { decision: "APPROVED" }, null],
    ["account_alerts", { alert_severity: "WARNING" }, null],
    ["phone_number_quality_update", { event: "FLAGGED", current_limit: "TIER_1K" }, null],
    ["phone_number_name_update", { decision: "APPROVED", requested_verified_name: "N" }, null],
    ["business_capability_update", { max_daily_conversations_per_business: 1000 }, null],
    ["security", { event: "PIN_CHANGED" }, null]
  ]
  for (const [field, news, disconnects, more = {}] of known)
    it.effect(`is read: ${field} ${JSON.stringify(news)}`, () =>
      Effect.gen(function* () {
        const found = yield* read(hook(field, news))
        expect(found.session).toEqual([{ kind: field, news, at: null, disconnects, ...more }])
        expect(found.unread).toEqual([])
      })
    )

  it.effect("is what its errors say, too; and it is the account's that the value names", () =>
    Effect.gen(function* () {
      const errors = [{ code: 131000, title: "Something went wrong" }]
      expect((yield* read(hook("messages", { ...own, errors }))).session).toMatchObject([
        { kind: "errors", news: { errors } }
      ])
      const value = { event: "PARTNER_REMOVED", waba_info: { waba_id: account } }
      const entry = [{ id: "77", time: 1_790_000_000, changes: [{ field: "account_update", value }] }]
      expect((yield* read({ entry })).session).toMatchObject([{ at: 1_790_000_000_000 }])
      const other = { event: "PARTNER_REMOVED", waba_info: { waba_id: "88" } }
      const found = yield* read({
        entry: [{ id: account, changes: [{ field: "account_update", value: other }] }]
      })
      expect([found.session, found.addressed?.map(({ address }) => address)]).toEqual([[], ["account 88"]])
    })
  )
})

describe("every other kind of news that the platform has", () => {
  // As of 2026-11-25, those that nothing here reads.
  const others = [
    "account_settings_update",
    "automatic_events",
    "business_username_updates",
    "business_status_update",
    "flows",
    "group_lifecycle_update",
    "group_participants_update",
    "group_settings_update",
    "group_status_update",
    "messaging_handovers",
    "partner_solutions",
    "payment_configuration_update",
    "smb_app_state_sync",
    "tracking_events"
  ]
  for (const field of others)
    it.effect(`is handed on as it came: ${field}`, () =>
      Effect.gen(function* () {
        const value = { event: "x", [field]: [{ id: "1" }] }
        expect((yield* read(hook(field, value))).unread).toEqual([
          { field, reason: "this kind of news is not known", content: { field, value } }
        ])
      })
    )
})
