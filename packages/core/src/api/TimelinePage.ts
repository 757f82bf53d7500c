/** The story of a message as text: Markdown for a ticket, or lines for a terminal. Whatever people wrote is escaped. */

import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { ClientTexts } from "../adapter.ts"
import * as Either from "../effect/Either.ts"

const Nullable = Schema.NullOr(Schema.String)

/** The members of the answer's body that the page shows. A body of another build may have more. */
const Told = Schema.Struct({
  message: Schema.Struct({
    message_id: Schema.String,
    job_id: Schema.String,
    phone: Nullable,
    user_id: Schema.optional(Nullable),
    status: Schema.String,
    error: Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
    reference: Nullable,
    priority: Schema.optional(Schema.String),
    ...ClientTexts.recipient.told,
    template: Schema.NullOr(
      Schema.Struct({ template_id: Schema.Number, name: Nullable, language: Nullable })
    ),
    account: Nullable,
    session: Nullable,
    currency: Schema.String,
    estimated: Nullable,
    actual: Nullable,
    content_expired_at: Nullable,
    is_erased: Schema.Boolean,
    content: Schema.Struct({
      header: Nullable,
      body: Nullable,
      footer: Nullable,
      buttons: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.String }))
    })
  }),
  timeline: Schema.Array(
    Schema.Struct({
      at: Schema.String,
      title: Schema.String,
      text: Nullable,
      code: Nullable,
      ms: Schema.NullOr(Schema.Number),
      process: Nullable,
      address: Schema.optional(Nullable)
    })
  ),
  next: Schema.Array(Schema.Struct({ action: Schema.String, allowed: Schema.Boolean, why: Schema.String }))
})
type Told = typeof Told.Type

const read = Schema.decodeUnknownEither(Told)

type Escape = (text: string) => string

/** No markup, no HTML, no link and no mention comes of a text, wherever it stands. */
const markdown: Escape = (text) =>
  text
    .replaceAll(/[\\`*_[\]#|~$]/g, (character) => `\\${character}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("@", "&#64;")
    .replaceAll("://", "&#58;//")
    .replaceAll(/www\./gi, (found) => `${found.slice(0, -1)}&#46;`)
    .replaceAll(
      /^(\s*)([-+=]|\d+[.)])/g,
      (_, space: string, mark: string) => `${space}${mark.slice(0, -1)}\\${mark.slice(-1)}`
    )

const lineBreak = /\r\n|[\n\r\u2028\u2029\u0085\v\f]/

/** In one line. */
const inLine = (text: string, escape: Escape): string => escape(text.split(lineBreak).join(" "))

const quoted = (text: string, escape: Escape): ReadonlyArray<string> =>
  text.split(lineBreak).map((line) => `> ${escape(line)}`.trimEnd())

const facts = ({ message }: Told): ReadonlyArray<readonly [string, string | null]> => {
  const { account, actual, currency, error, estimated, job_id, phone, reference, session } = message
  const { priority, status, template } = message
  const price = (amount: string | null): string | null => (amount === null ? null : `${amount} ${currency}`)
  return [
    ["To", phone ?? message.user_id ?? null],
    ["Status", error === null ? status : `${status} (${error.code}): ${error.message}`],
    [
      "Template",
      template === null
        ? null
        : [template.name ?? String(template.template_id), template.language ?? ""].join(" ").trimEnd()
    ],
    ["Account", account],
    ["Session", session],
    ["Job", job_id],
    ["Priority", priority ?? null],
    ["Reference", reference],
    ...Struct.entries(ClientTexts.recipient.titles).map(([name, title]) => [title, message[name]] as const),
    ["Estimated", price(estimated)],
    ["Actual", price(actual)]
  ]
}

const content = ({ message }: Told, escape: Escape): ReadonlyArray<string> => {
  const { body, buttons, footer, header } = message.content
  const parts = [header, body, footer, ...buttons.map(({ text }) => `[ ${text} ]`)].filter(
    (each) => each !== null
  )
  const kept = parts.flatMap((part, at) => [...(at === 0 ? [] : [">"]), ...quoted(part, escape)])
  return [
    ...(message.is_erased ? ["The person was erased: names and texts of theirs are gone.", ""] : []),
    ...(message.content_expired_at === null
      ? []
      : [`What it said was forgotten at ${inLine(message.content_expired_at, escape)}.`, ""]),
    ...(kept.length === 0 ? ["Nothing of it is kept, or this key may not read it (`direct:read`)."] : kept)
  ]
}

const entry = (each: Told["timeline"][number], escape: Escape): string => {
  const { address, at, code, ms, process, text, title } = each
  const besides = [
    code,
    ms === null ? null : `${ms} ms`,
    process === null ? null : `process ${process}`,
    address === null || address === undefined ? null : `from ${address}`
  ].filter((each) => each !== null)
  return [
    `- ${inLine(at, escape)} **${inLine(title, escape)}**`,
    ...(text === null ? [] : [inLine(text, escape)]),
    ...(besides.length === 0 ? [] : [`(${inLine(besides.join(", "), escape)})`])
  ].join(" ")
}

/** @param escape of a part of a line; as Markdown wants it when absent */
export const make = (body: unknown, escape: Escape = markdown): string => {
  const told = read(body)
  if (Either.isLeft(told)) return inLine(JSON.stringify(body), escape)
  const story = told.right
  return [
    `# Message ${inLine(story.message.message_id, escape)}`,
    "",
    ...facts(story).flatMap(([name, value]) =>
      value === null ? [] : [`- ${name}: ${inLine(value, escape)}`]
    ),
    "",
    "## What it says",
    "",
    ...content(story, escape),
    "",
    "## What happened",
    "",
    ...story.timeline.map((each) => entry(each, escape)),
    "",
    "## What may be done",
    "",
    ...story.next.map(
      ({ action, allowed, why }) =>
        `- ${inLine(action, escape)}: ${allowed ? "yes" : "no"}. ${inLine(why, escape)}`
    ),
    ""
  ].join("\n")
}
