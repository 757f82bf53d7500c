/** What a message to be sent must look like, by the documentation and by the template that it names. */

/** A reason to refuse a message; the first one is answered. */
export interface Problem {
  readonly code: number
  readonly details: string
  /** Against the documentation, not only against what the template is at this moment. */
  readonly deviates: boolean
}

/** What of a message decides about its receipts. */
export interface Message {
  readonly to: string
  readonly type: string
  readonly callbackData: string | null
  /** Of the template, in the words of the pricing; "service" for a text. */
  readonly category: string
}

export interface Checked {
  /** Undefined when there is a problem. */
  readonly message: Message | undefined
  readonly problems: ReadonlyArray<Problem>
}

type Json = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const upper = (value: unknown): string => String(value ?? "").toUpperCase()

const missing = (path: string): Problem => ({ code: 131008, details: `${path} is missing`, deviates: true })
const wrong = (path: string, rule: string): Problem => ({
  code: 131009,
  details: `${path} must be ${rule}`,
  deviates: true
})
const unexpected = (path: string): Problem => ({
  code: 100,
  details: `${path} is not expected`,
  deviates: true
})

type Check = (value: unknown, path: string) => ReadonlyArray<Problem>

const satisfies =
  (rule: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    holds(value) ? [] : [value === undefined ? missing(path) : wrong(path, rule)]

const optional =
  (check: Check): Check =>
  (value, path) =>
    value === undefined ? [] : check(value, path)

/** An object with these keys and no other. */
const shaped =
  (keys: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    if (value === undefined) return [missing(path)]
    if (!isRecord(value)) return [wrong(path, "an object")]
    const at = (key: string) => (path === "" ? key : `${path}.${key}`)
    return [
      ...Object.entries(keys).flatMap(([key, check]) => check(value[key], at(key))),
      ...Object.keys(value)
        .filter((key) => !Object.hasOwn(keys, key))
        .map((key) => unexpected(at(key)))
    ]
  }

const listOf =
  (check: Check): Check =>
  (value, path) => {
    if (value === undefined) return [missing(path)]
    if (!Array.isArray(value)) return [wrong(path, "an array")]
    return value.flatMap((item, index) => check(item, `${path}[${index}]`))
  }

const oneOf = (...values: ReadonlyArray<string>): Check =>
  satisfies(values.map((value) => `"${value}"`).join(" or "), (value) => values.some((one) => one === value))

// Characters as a person counts them, so that nothing is refused that another way of counting allows.
const text = (least: number, most: number): Check =>
  satisfies(`a text of ${least} to ${most} characters`, (value) => {
    if (typeof value !== "string") return false
    const length = [...value].length
    return length >= least && length <= most
  })

const anyText = text(1, Number.POSITIVE_INFINITY)
const isNumber = satisfies("a number", (value) => typeof value === "number")
const isBoolean = satisfies("a boolean", (value) => typeof value === "boolean")

const link = satisfies("an http or https address", (value) => {
  if (typeof value !== "string" || !URL.canParse(value)) return false
  return /^https?:$/.test(new URL(value).protocol)
})

const media =
  (more: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    if (isRecord(value) && (value["link"] === undefined) === (value["id"] === undefined)) {
      return [wrong(path, "given by either a link or an id")]
    }
    return shaped({ link: optional(link), id: optional(anyText), ...more })(value, path)
  }

/** What a parameter of each type carries, under the name of the type. */
const carried: Readonly<Record<string, Check>> = {
  text: anyText,
  image: media({}),
  video: media({}),
  document: media({ filename: optional(anyText) }),
  location: shaped({
    latitude: satisfies("a number or a text", (value) => ["number", "string"].includes(typeof value)),
    longitude: satisfies("a number or a text", (value) => ["number", "string"].includes(typeof value)),
    name: optional(anyText),
    address: optional(anyText)
  }),
  currency: shaped({ fallback_value: anyText, code: anyText, amount_1000: isNumber }),
  date_time: shaped({ fallback_value: anyText }),
  payload: anyText,
  coupon_code: anyText
}

/** A parameter of one of these types; only those of texts that are written by name have a name. */
const parameter =
  (types: ReadonlyArray<string>, named: boolean): Check =>
  (value, path) => {
    const type = isRecord(value) ? value["type"] : undefined
    const content = typeof type === "string" && types.includes(type) ? carried[type] : undefined
    if (!isRecord(value) || typeof type !== "string" || content === undefined) {
      return shaped({ type: oneOf(...types) })(isRecord(value) ? { type } : value, path)
    }
    const hasName = named && ["text", "currency", "date_time"].includes(type)
    return shaped({ type: anyText, [type]: content, ...(hasName ? { parameter_name: anyText } : {}) })(
      value,
      path
    )
  }

const single =
  (check: Check): Check =>
  (value, path) =>
    Array.isArray(value) && value.length !== 1 ? [wrong(path, "one parameter")] : listOf(check)(value, path)

/** What the button of each kind takes. */
const buttonTypes: Readonly<Record<string, string>> = {
  url: "text",
  quick_reply: "payload",
  copy_code: "coupon_code"
}

const component =
  (named: boolean): Check =>
  (value, path) => {
    const type = isRecord(value) ? value["type"] : undefined
    if (type === "header") {
      const types = ["text", "image", "video", "document", "location"]
      return shaped({ type: anyText, parameters: listOf(parameter(types, named)) })(value, path)
    }
    if (type === "body") {
      const types = ["text", "currency", "date_time"]
      return shaped({ type: anyText, parameters: listOf(parameter(types, named)) })(value, path)
    }
    if (type === "button") {
      const kind = isRecord(value) ? value["sub_type"] : undefined
      const takes = typeof kind === "string" ? buttonTypes[kind] : undefined
      return shaped({
        type: anyText,
        sub_type: oneOf(...Object.keys(buttonTypes)),
        // The platform's own libraries write numbers.
        index: satisfies("a digit, as a text or a number", (index) => /^\d$/.test(String(index))),
        parameters: takes === undefined ? listOf(() => []) : single(parameter([takes], false))
      })(value, path)
    }
    return shaped({ type: oneOf("header", "body", "button") })(isRecord(value) ? { type } : value, path)
  }

const records = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isRecord) : [])

/** Where a component of a message goes: "header", "body" or "button.3". */
const placeOf = (sent: Json): string =>
  sent["type"] === "button" ? `button.${String(sent["index"])}` : String(sent["type"])

const components =
  (named: boolean): Check =>
  (value, path) => {
    const places = records(value).map(placeOf)
    const twice = places.filter((place, index) => places.indexOf(place) !== index)
    return [
      ...listOf(component(named))(value, path),
      ...twice.map((place) => wrong(path, `without a second ${place}`))
    ]
  }

const language = shaped({ code: anyText, policy: optional(oneOf("deterministic")) })

const templateMessage = (named: boolean): Check =>
  shaped({ name: text(1, 512), language, components: optional(components(named)) })

const anyRecord = satisfies("an object", isRecord)

/** What a message of each type but a template's carries, under the name of the type. */
const contents: Readonly<Record<string, Check>> = {
  text: shaped({ body: text(1, 4096), preview_url: optional(isBoolean) }),
  image: media({ caption: optional(anyText) }),
  video: media({ caption: optional(anyText) }),
  audio: media({ voice: optional(isBoolean) }),
  sticker: media({}),
  document: media({ caption: optional(anyText), filename: optional(anyText) }),
  location: carried["location"] ?? anyRecord,
  contacts: listOf(anyRecord),
  reaction: shaped({ message_id: anyText, emoji: satisfies("a text", (value) => typeof value === "string") }),
  // Buttons, lists, flows, products and calls to an address: each has a form of its own.
  interactive: anyRecord
}

/** A person by number, with or without a plus, or by the platform's id; a number wins over an id. */
const number = satisfies(
  "7 to 15 digits",
  (value) => typeof value === "string" && /^\+?[1-9]\d{6,14}$/.test(value)
)
const userId = satisfies(
  "an id such as US.1",
  (value) => typeof value === "string" && /^[A-Z]{2}\.[A-Za-z0-9.]{1,132}$/.test(value)
)

const message = (type: unknown, named: boolean, hasUserId: boolean): Check => {
  const content = typeof type === "string" ? contents[type] : undefined
  return shaped({
    messaging_product: oneOf("whatsapp"),
    recipient_type: optional(oneOf("individual")),
    to: hasUserId ? optional(number) : number,
    recipient: optional(userId),
    // A text's type may be left out.
    type: content === undefined ? oneOf("template", ...Object.keys(contents)) : optional(anyText),
    context: optional(shaped({ message_id: anyText })),
    biz_opaque_callback_data: optional(text(0, 512)),
    ...(type === "template" ? { template: templateMessage(named) } : {}),
    ...(typeof type === "string" && content !== undefined ? { [type]: content } : {})
  })
}

/** A message of the person's that was read, perhaps with the sign that an answer is being written. */
const readMark = shaped({
  messaging_product: oneOf("whatsapp"),
  status: oneOf("read"),
  message_id: anyText,
  typing_indicator: optional(shaped({ type: oneOf("text") }))
})

/** True of a body that marks a message as read, and sends none. */
export const marksRead = (body: unknown): boolean => isRecord(body) && body["status"] !== undefined

export const checkReadMark = (body: unknown): ReadonlyArray<Problem> => readMark(body, "")

const words = (...values: ReadonlyArray<string>): Check =>
  satisfies(values.join(" or "), (value) => values.includes(upper(value)))

const newTemplate = shaped({
  name: satisfies(
    "lower-case letters, digits and underscores",
    (value) => typeof value === "string" && /^[a-z0-9_]{1,512}$/.test(value)
  ),
  language: anyText,
  category: words("AUTHENTICATION", "MARKETING", "UTILITY"),
  components: listOf(anyRecord),
  parameter_format: optional(words("NAMED", "POSITIONAL")),
  allow_category_change: optional(isBoolean),
  message_send_ttl_seconds: optional(isNumber)
})

/** What is wrong with a template that is to be created. */
export const checkTemplate = (body: unknown): ReadonlyArray<Problem> => newTemplate(body, "")

/** What a template takes at one place. */
interface Slot {
  readonly place: string
  readonly subType?: string
  readonly types: ReadonlyArray<string>
  /** One for each parameter; undefined where the order decides. */
  readonly names: ReadonlyArray<string | undefined>
  readonly mayMiss: boolean
}

const placeholders = (value: unknown): ReadonlyArray<string> => [
  ...new Set([...String(value ?? "").matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map((found) => found[1] ?? ""))
]

const isNamed = (template: Json): boolean => upper(template["parameter_format"]) === "NAMED"

const buttonSlots = (button: Json, index: number): ReadonlyArray<Slot> => {
  const place = `button.${index}`
  const slot = (subType: string, type: string, mayMiss: boolean): ReadonlyArray<Slot> => [
    { place, subType, types: [type], names: [undefined], mayMiss }
  ]
  const type = upper(button["type"])
  if (type === "URL" && placeholders(button["url"]).length > 0) return slot("url", "text", false)
  if (type === "COPY_CODE") return slot("copy_code", "coupon_code", false)
  if (type === "QUICK_REPLY") return slot("quick_reply", "payload", true)
  return []
}

const slots = (template: Json): ReadonlyArray<Slot> =>
  records(template["components"]).flatMap((registered): ReadonlyArray<Slot> => {
    const type = upper(registered["type"])
    if (type === "BUTTONS") return records(registered["buttons"]).flatMap(buttonSlots)
    const names = (value: unknown) =>
      placeholders(value).map((name) => (isNamed(template) ? name : undefined))
    if (type === "BODY") {
      const types = ["text", "currency", "date_time"]
      return [{ place: "body", types, names: names(registered["text"]), mayMiss: false }]
    }
    if (type !== "HEADER") return []
    const format = upper(registered["format"])
    return format === "TEXT"
      ? [{ place: "header", types: ["text"], names: names(registered["text"]), mayMiss: false }]
      : [{ place: "header", types: [format.toLowerCase()], names: [undefined], mayMiss: false }]
  })

const mismatch = (code: number, details: string): ReadonlyArray<Problem> => [
  { code, details, deviates: false }
]

const countMismatch = (place: string, given: number, expected: number): ReadonlyArray<Problem> =>
  mismatch(
    132000,
    `${place}: number of localizable_params (${given}) does not match the expected number of params (${expected})`
  )

const formatMismatch = (place: string, expected: string, received: string): ReadonlyArray<Problem> =>
  mismatch(132012, `${place}: Format mismatch, expected ${expected}, received ${received}`)

const fill = (slot: Slot, sent: Json | undefined): ReadonlyArray<Problem> => {
  const { names, place, subType, types } = slot
  const given = records(sent?.["parameters"])
  if (sent === undefined && slot.mayMiss) return []
  if (sent !== undefined && subType !== undefined && sent["sub_type"] !== subType) {
    return formatMismatch(place, subType.toUpperCase(), upper(sent["sub_type"]))
  }
  // A medium that is not there at all is told as one of another format.
  if (given.length === 0 && place === "header" && !types.includes("text")) {
    return formatMismatch(place, upper(types[0]), "UNKNOWN")
  }
  if (given.length !== names.length) return countMismatch(place, given.length, names.length)
  const other = given.find((one) => !types.includes(String(one["type"])))
  if (other !== undefined) return formatMismatch(place, upper(types[0]), upper(other["type"]))
  const absent = names.find(
    (name) => name !== undefined && !given.some((one) => one["parameter_name"] === name)
  )
  return absent === undefined ? [] : mismatch(132012, `${place}: there is no parameter named ${absent}`)
}

/** The components of a message beside what the template takes. */
const fits = (sent: ReadonlyArray<Json>, template: Json): ReadonlyArray<Problem> => {
  const taken = slots(template)
  const surplus = sent.filter(
    (one) => records(one["parameters"]).length > 0 && !taken.some(({ place }) => place === placeOf(one))
  )
  return [
    ...taken.flatMap((slot) =>
      fill(
        slot,
        sent.find((one) => placeOf(one) === slot.place)
      )
    ),
    ...surplus.flatMap((one) => countMismatch(placeOf(one), records(one["parameters"]).length, 0))
  ]
}

const sendable = (sent: Json, code: string, template: Json | undefined): ReadonlyArray<Problem> => {
  const name = String(sent["name"])
  if (template === undefined) return mismatch(132001, `template name (${name}) does not exist in ${code}`)
  const status = upper(template["status"])
  if (status === "PAUSED") return mismatch(132015, `template (${name}) in ${code} is paused`)
  if (status !== "APPROVED") return mismatch(132001, `template (${name}) in ${code} is ${status}`)
  return fits(records(sent["components"]), template)
}

/** Whether any parameter of this message has a name. */
const usesNames = (sent: unknown): boolean =>
  isRecord(sent) &&
  records(sent["components"]).some((one) =>
    records(one["parameters"]).some((given) => given["parameter_name"] !== undefined)
  )

/** Looks at a message as the platform does before it takes it. */
export const check = (body: unknown, templates: ReadonlyArray<unknown>): Checked => {
  if (!isRecord(body)) {
    return {
      message: undefined,
      problems: [{ code: 100, details: "The body is no JSON object", deviates: true }]
    }
  }
  const { biz_opaque_callback_data: callbackData, recipient, template: sent } = body
  const type = body["type"] ?? (body["text"] === undefined ? undefined : "text")
  const to = body["to"] ?? recipient
  const chosen = isRecord(sent) && isRecord(sent["language"]) ? String(sent["language"]["code"]) : ""
  const registered = isRecord(sent)
    ? templates.filter(isRecord).find((one) => one["name"] === sent["name"] && one["language"] === chosen)
    : undefined
  // Without a template there is no telling whether its parameters have names.
  const named = registered === undefined ? usesNames(sent) : isNamed(registered)
  const deviations = message(type, named, recipient !== undefined)(body, "")
  if (deviations.length > 0 || typeof to !== "string") return { message: undefined, problems: deviations }
  const given = typeof callbackData === "string" ? callbackData : null
  if (type !== "template" || !isRecord(sent)) {
    return { message: { to, type: String(type), callbackData: given, category: "service" }, problems: [] }
  }
  const problems = sendable(sent, chosen, registered)
  const category = String(registered?.["category"] ?? "").toLowerCase()
  return problems.length > 0
    ? { message: undefined, problems }
    : { message: { to, type, callbackData: given, category }, problems: [] }
}
