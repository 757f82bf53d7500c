/** Hooks by which a person opts out, in every shape that platforms have for it (contract.md §W1.8, §1.11). */

export const number = "106540352242922"
export const account = "102290129340398"

/** Somebody who consents and is in the audience of a job, by their phone. */
export interface Who {
  readonly phone: string
  readonly userId: string
  /** Of the message to them that waits to be sent. */
  readonly messageId: string
  /** Tells their hooks from others'. */
  readonly name: string
}

export interface Hook {
  readonly provider: "whatsapp_cloud" | "http"
  readonly body: unknown
}

export interface Shape {
  readonly name: string
  /** Arrives before. */
  readonly before?: (who: Who) => ReadonlyArray<Hook>
  /** The hook that everything befalls. */
  readonly hook: (who: Who) => Hook
  /** Arrives afterwards. */
  readonly after?: (who: Who) => ReadonlyArray<Hook>
}

const seconds = (offset = 0): string => String(Math.floor(Date.now() / 1000) + offset)

type Json = Readonly<Record<string, unknown>>

const metadata = { display_phone_number: "15550783881", phone_number_id: number }

const change = (value: Json, field = "messages"): Json => ({
  field,
  value: { messaging_product: "whatsapp", metadata, ...value }
})

const envelope = (...changes: ReadonlyArray<Json>): Hook => ({
  provider: "whatsapp_cloud",
  body: { object: "whatsapp_business_account", entry: [{ id: account, changes }] }
})

const messages = (...list: ReadonlyArray<unknown>): Hook => envelope(change({ messages: list }))

const written = (who: Who, body: string, more: Json = {}): Json => ({
  from: who.phone,
  id: `wamid.${who.name}.${body.length}`,
  timestamp: seconds(),
  type: "text",
  text: { body },
  ...more
})

/** Without the fields of these names. */
const without = (json: Json, ...names: ReadonlyArray<string>): Json =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)))

const byUserId = (who: Who, body = "STOP"): Json =>
  without(written(who, body, { from_user_id: who.userId }), "from")

const pressed = (who: Who, type: string, content: Json): Json =>
  without(written(who, "", { type, [type]: content }), "text")

const preference = (who: Who, more: Json = {}): Json => ({
  wa_id: who.phone,
  user_id: who.userId,
  detail: "User requested to stop marketing messages",
  category: "marketing_messages",
  value: "stop",
  timestamp: seconds(),
  ...more
})

const preferences = (list: ReadonlyArray<Json>, more: Json = {}): Hook =>
  envelope(change({ user_preferences: list, ...more }, "user_preferences"))

const optedOut = { code: 131050, title: "User has stopped marketing messages from your business" }

const status = (who: Who, more: Json = {}): Json => ({
  id: `wamid.sent.${who.name}`,
  status: "failed",
  timestamp: seconds(),
  recipient_id: who.phone,
  errors: [optedOut],
  ...more
})

const statuses = (...list: ReadonlyArray<Json>): Hook => envelope(change({ statuses: list }))

const delivered = (who: Who, more: Json): Json => ({
  id: `wamid.other.${who.name}`,
  status: "delivered",
  timestamp: seconds(),
  ...more
})

const gateway = (...list: ReadonlyArray<unknown>): Hook => ({
  provider: "http",
  body: { receipts: [], messages: list }
})

const said = (who: Who, more: Json = {}): Json => ({
  id: `in-${who.name}`,
  from: who.phone,
  text: "STOP",
  at: new Date().toISOString(),
  ...more
})

/** Both of the person's names together, in each way that a platform tells them. */
const meetings: Readonly<Record<string, (who: Who) => Hook>> = {
  "a message": (who) => messages({ ...written(who, "Hello"), from_user_id: who.userId }),
  "a contact": (who) =>
    envelope(change({ contacts: [{ wa_id: who.phone, user_id: who.userId, profile: { name: "Ana" } }] })),
  "a receipt": (who) => statuses(delivered(who, { recipient_id: who.phone, recipient_user_id: who.userId })),
  "a receipt of our message": (who) =>
    statuses(delivered(who, { recipient_user_id: who.userId, biz_opaque_callback_data: who.messageId })),
  "a resumed preference of long ago": (who) =>
    preferences([preference(who, { value: "resume", timestamp: seconds(-200) })])
}

const malformed = [7, null, "STOP", {}, { type: "text" }, [], { from: 7, id: {}, text: [] }, { id: null }]

const others = (who: Who, count: number): ReadonlyArray<Json> =>
  Array.from({ length: count }, (_, n) => ({
    ...written(who, "Hello"),
    from: `3490${String(n).padStart(7, "0")}`,
    id: `wamid.${who.name}.other.${n}`
  }))

const shape = (name: string, hook: Shape["hook"], more: Omit<Shape, "name" | "hook"> = {}): Shape => ({
  name,
  hook,
  ...more
})

const texts = [
  "STOP",
  "BAJA",
  "Cancelar inscrição",
  "ARRÊT",
  "Abmelden",
  "Disiscrivimi",
  "Afmelden",
  "إلغاء الاشتراك",
  "बंद करें",
  "BERHENTI",
  "İPTAL",
  "  «Stop!»  ",
  "ｓｔｏｐ",
  "S\u200bT\u200bO\u200bP",
  "stop\nplease",
  "désabonner…"
].map((text) => shape(`the text ${JSON.stringify(text)}`, (who) => messages(written(who, text))))

const buttons = [
  shape("a template's button by its payload", (who) =>
    messages(pressed(who, "button", { payload: "STOP", text: "No more of this" }))
  ),
  shape("a template's button by its label", (who) =>
    messages(pressed(who, "button", { payload: "btn_2", text: "Stop promotions" }))
  ),
  shape("a template's button by its label in Spanish", (who) =>
    messages(pressed(who, "button", { payload: '{"id":2}', text: "Detener promociones" }))
  ),
  shape("a template's button without a payload", (who) =>
    messages(pressed(who, "button", { text: "Unsubscribe" }))
  ),
  shape("a reply button by its id", (who) =>
    messages(
      pressed(who, "interactive", { type: "button_reply", button_reply: { id: "STOP", title: "Bye" } })
    )
  ),
  shape("a reply button by its title", (who) =>
    messages(pressed(who, "interactive", { type: "button_reply", button_reply: { id: "r3", title: "Stop" } }))
  ),
  shape("a list's row by its id", (who) =>
    messages(
      pressed(who, "interactive", { type: "list_reply", list_reply: { id: "OPTOUT", title: "Leave" } })
    )
  ),
  shape("a list's row by its title", (who) =>
    messages(
      pressed(who, "interactive", { type: "list_reply", list_reply: { id: "7", title: "Unsubscribe" } })
    )
  ),
  shape("a picture's caption", (who) => messages(pressed(who, "image", { id: "1", caption: "STOP" })))
]

const people = [
  shape("a text with phone and user id", (who) =>
    messages({ ...written(who, "STOP"), from_user_id: who.userId })
  ),
  shape("a text with the phone written with a plus", (who) =>
    messages({ ...written(who, "STOP"), from: `+${who.phone}` })
  ),
  ...Object.entries(meetings).flatMap(([by, meeting]) => [
    shape(`a text of a user id that ${by} told before`, (who) => messages(byUserId(who)), {
      before: (who) => [meeting(who)]
    }),
    shape(`a text of a user id that ${by} tells afterwards`, (who) => messages(byUserId(who)), {
      after: (who) => [meeting(who)]
    })
  ]),
  shape("a text that tells the user id for the first time", (who) =>
    envelope(
      change({
        contacts: [{ wa_id: who.phone, user_id: who.userId }],
        messages: [byUserId(who)]
      })
    )
  ),
  shape("a text whose sender is only among the contacts", (who) =>
    envelope(change({ contacts: [{ wa_id: who.phone }], messages: [without(written(who, "STOP"), "from")] }))
  ),
  shape(
    "a text whose sender's user id is only among the contacts",
    (who) =>
      envelope(
        change({ contacts: [{ user_id: who.userId }], messages: [without(written(who, "STOP"), "from")] })
      ),
    {
      before: (who) => [statuses(delivered(who, { recipient_id: who.phone, recipient_user_id: who.userId }))]
    }
  ),
  shape("a text in a change that names the account alone", (who) => ({
    provider: "whatsapp_cloud",
    body: {
      entry: [{ id: account, changes: [{ field: "messages", value: { messages: [written(who, "STOP")] } }] }]
    }
  }))
]

const preferred = [
  shape("a preference with phone and user id", (who) => preferences([preference(who)])),
  shape("a preference with the phone", (who) => preferences([without(preference(who), "user_id")])),
  shape(
    "a preference with a user id that is known",
    (who) => preferences([without(preference(who), "wa_id")]),
    {
      before: (who) => [statuses(delivered(who, { recipient_id: who.phone, recipient_user_id: who.userId }))]
    }
  ),
  shape(
    "a preference with a user id that becomes known",
    (who) => preferences([without(preference(who), "wa_id")]),
    { after: (who) => [messages({ ...written(who, "Hello"), from_user_id: who.userId })] }
  ),
  shape("a preference of the only contact", (who) =>
    preferences([without(preference(who), "wa_id", "user_id")], { contacts: [{ wa_id: who.phone }] })
  ),
  shape("a preference in capitals", (who) => preferences([preference(who, { value: "STOP" })])),
  shape("a preference without a time", (who) => preferences([without(preference(who), "timestamp")])),
  shape("a preference of a future time", (who) =>
    preferences([preference(who, { timestamp: seconds(9_999_999) })])
  ),
  shape("a preference of long ago", (who) => preferences([preference(who, { timestamp: "1" })])),
  shape("a preference that stopped, resumed and stopped", (who) =>
    preferences([
      preference(who, { timestamp: seconds(-20) }),
      preference(who, { timestamp: seconds(-10), value: "resume" }),
      preference(who)
    ])
  )
]

const reported = [
  shape("a refusal with the phone", (who) => statuses(status(who))),
  shape(
    "a refusal with a user id that is known",
    (who) => statuses(without(status(who, { recipient_user_id: who.userId }), "recipient_id")),
    { before: (who) => [messages({ ...written(who, "Hello"), from_user_id: who.userId })] }
  ),
  shape("a refusal with a user id and our message", (who) =>
    statuses(
      without(
        status(who, { recipient_user_id: who.userId, biz_opaque_callback_data: who.messageId }),
        "recipient_id"
      )
    )
  ),
  shape("a refusal with our message alone", (who) =>
    statuses(without(status(who, { biz_opaque_callback_data: who.messageId }), "recipient_id"))
  ),
  shape("a refusal of our message with another spelling of the phone", (who) =>
    statuses(status(who, { biz_opaque_callback_data: who.messageId, recipient_id: `1${who.phone.slice(2)}` }))
  ),
  shape("a refusal behind another error", (who) =>
    statuses(status(who, { errors: [{ code: 131026, title: "Undeliverable" }, optedOut] }))
  ),
  shape("a refusal without the message's id", (who) => statuses(without(status(who), "id"))),
  shape("a refusal of a time that no calendar has", (who) => statuses(status(who, { timestamp: 1e300 })))
]

const gateways = [
  shape("a gateway's text", (who) => gateway(said(who))),
  shape("a gateway's text without a time", (who) => gateway(without(said(who), "at"))),
  shape("a gateway's text without an id", (who) => gateway(without(said(who), "id"))),
  shape("a gateway's text of the future", (who) => gateway(said(who, { at: "9999-12-31T23:59:59Z" }))),
  shape("a gateway's text of long ago", (who) => gateway(said(who, { at: "1970-01-01T00:00:00Z" }))),
  shape(
    "a gateway's text of a user id",
    (who) => gateway(without(said(who, { user_id: who.userId }), "from")),
    {
      before: (who) => [gateway(said(who, { id: `hello-${who.name}`, text: "Hello", user_id: who.userId }))]
    }
  ),
  shape("a gateway's text among what is malformed", (who) => gateway(...malformed, said(who), ...malformed))
]

const times = [
  seconds(86_400),
  seconds(-86_400),
  "8640000000001",
  "99999999999999999999",
  -1,
  0,
  "1e300",
  1e300,
  "12.5",
  "yesterday",
  null
].map((timestamp) =>
  shape(`a text of the time ${JSON.stringify(timestamp)}`, (who) =>
    messages({ ...written(who, "STOP"), timestamp })
  )
)

const start = (who: Who, more: Json = {}): Json => ({
  ...written(who, "START"),
  id: `wamid.start.${who.name}`,
  ...more
})

const batches = [
  shape("a text before what is malformed", (who) => messages(written(who, "STOP"), ...malformed)),
  shape("a text behind what is malformed", (who) => messages(...malformed, written(who, "STOP"))),
  shape("a text amid what is malformed", (who) => messages(...malformed, written(who, "STOP"), ...malformed)),
  shape("a text behind a hundred others", (who) => messages(...others(who, 101), written(who, "STOP"))),
  shape("a text beside receipts of nobody", (who) =>
    envelope(
      change({
        statuses: [{ id: "wamid.nobody", status: "sent", timestamp: "x" }, {}, 7],
        messages: [written(who, "STOP")]
      })
    )
  ),
  shape("a text in the last of many changes", (who) =>
    envelope(
      { field: "account_update", value: {} },
      { field: "message_template_status_update", value: { event: "APPROVED" } },
      change({ messages: malformed }),
      change({ messages: [written(who, "STOP")] })
    )
  ),
  shape("a text twice in one hook", (who) => messages(written(who, "STOP"), written(who, "STOP"))),
  shape("a text behind an opt-in of the same hook", (who) => messages(start(who), written(who, "STOP"))),
  shape("a text behind an opt-in of the future in the same hook", (who) =>
    messages(start(who, { timestamp: seconds(99_999) }), written(who, "STOP"))
  ),
  shape("a text behind an opt-in without a time in the same hook", (who) =>
    messages(start(who, { timestamp: null }), { ...written(who, "STOP"), timestamp: seconds(-3) })
  ),
  shape("a text after an opt-in of the future", (who) => messages(written(who, "STOP")), {
    before: (who) => [messages(start(who, { timestamp: "253402300799" }))]
  }),
  shape("a text after an opt-in of the same second", (who) => messages(written(who, "STOP")), {
    before: (who) => [messages(start(who))]
  }),
  shape("a text whose id no database can hold", (who) =>
    messages({ ...written(who, "STOP"), id: `${who.name}\u0000\ud800${"x".repeat(5000)}` })
  )
]

const former = (who: Who): Who => ({
  ...who,
  phone: `4${who.phone.slice(1)}`,
  userId: `${who.userId}F`,
  name: `${who.name}.former`
})

const system = (who: Who, content: Json, more: Json = {}): Hook =>
  messages({
    from: former(who).phone,
    id: `wamid.system.${who.name}`,
    timestamp: seconds(),
    type: "system",
    system: content,
    ...more
  })

const update = (who: Who): Hook =>
  envelope(
    change(
      {
        user_id_update: [{ wa_id: who.phone, user_id: { previous: former(who).userId, current: who.userId } }]
      },
      "user_id_update"
    )
  )

const changes = [
  shape(
    "a change of the number after an opt-out",
    (who) => system(who, { type: "user_changed_number", wa_id: who.phone }),
    {
      before: (who) => [messages(written(former(who), "STOP"))]
    }
  ),
  shape("an opt-out of the former number", (who) => messages(written(former(who), "STOP")), {
    after: (who) => [system(who, { type: "user_changed_number", new_wa_id: who.phone })]
  }),
  shape(
    "a change of the number and the user id after an opt-out of the user id",
    (who) =>
      system(who, {
        type: "user_changed_number",
        wa_id: who.phone,
        user_id: who.userId,
        previous_user_id: former(who).userId
      }),
    { before: (who) => [messages(byUserId(former(who)))] }
  ),
  shape("an opt-out of the former user id", (who) => messages(byUserId(former(who))), {
    after: (who) => [update(who)]
  }),
  shape("an update of the user id after an opt-out", (who) => update(who), {
    before: (who) => [messages(byUserId(former(who)))]
  }),
  shape("an opt-out of a user id that was updated", (who) => messages(byUserId(former(who))), {
    before: (who) => [update(who)]
  }),
  shape(
    "an opt-out of the new user id of a phone that is known by the former",
    (who) => messages(byUserId(who)),
    {
      before: (who) => [
        messages({ ...written(who, "Hello"), from_user_id: former(who).userId }),
        messages({
          from_user_id: who.userId,
          id: `wamid.system.${who.name}`,
          timestamp: seconds(),
          type: "system",
          system: {
            type: "user_changed_user_id",
            user_id: who.userId,
            previous_user_id: former(who).userId
          }
        })
      ]
    }
  )
]

export const all: ReadonlyArray<Shape> = [
  ...texts,
  ...buttons,
  ...people,
  ...preferred,
  ...reported,
  ...gateways,
  ...times,
  ...batches,
  ...changes
]
