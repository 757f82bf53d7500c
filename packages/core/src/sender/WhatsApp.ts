/**
 * The provider `whatsapp_cloud`: the platform's Graph API as documented (contract.md §W1). The platform cannot
 * deduplicate, so that a message without an answer is unknown until a receipt settles it. Our id is sent with the
 * message and comes back in its receipts.
 */

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Json from "../domain/Json.ts"
import type * as Direct from "../domain/job/Direct.ts"
import * as Job from "../domain/job/Job.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Memo from "../domain/Memo.ts"
import * as Retry from "../domain/Retry.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import type { TemplateContent } from "../domain/template/Template.ts"
import * as Template from "../domain/template/Template.ts"
import * as TemplateParameters from "../domain/template/TemplateParameters.ts"
import type { Exchanged } from "../http/HttpClient.ts"
import * as PlatformHttp from "./PlatformHttp.ts"
import type { Named, OutboundMessage, Sender } from "./Sender.ts"
import { accepted, PlatformRefusal, refused, SendResult } from "./Sender.ts"
import { type Config, decode, read, urlOf } from "./whatsapp/Config.ts"
import { failureOf, withoutCode } from "./whatsapp/Failure.ts"
import { addressesOf, isSigned, receive } from "./whatsapp/Hook.ts"

/** Of an answer to a message, of which many are under way at once; and of a page of templates. */
const maximumBytes = 64 * 1024
const maximumPageBytes = 4 * 1024 * 1024
const timeoutMs = 15_000

/** The endpoint of a session's messages and its headers. */
const deskOf = Memo.ofObject((config: Config) => ({
  url: urlOf(config, `${config.phone_number_id}/messages`),
  headers: { authorization: `Bearer ${config.access_token}`, "content-type": "application/json" }
}))

// Sending

const templateOf = (content: TemplateContent, values: ReadonlyArray<string>) => {
  const { language, name } = content
  const components = TemplateParameters.components(content, values)
  return { name, language: { code: language }, ...(components.length === 0 ? {} : { components }) }
}

/** The platform's type of a message and its object; of a missing member JSON says nothing. */
const directOf = (content: Direct.Content): Readonly<Record<string, unknown>> => {
  const { buttons, linkPreview, location, media, replyTo, text } = content
  const context = replyTo === undefined ? {} : { context: { message_id: replyTo } }
  if (media !== undefined) {
    const { type, url, ...rest } = media
    return { ...context, type, [type]: { link: url, ...rest } }
  }
  if (location !== undefined) return { ...context, type: "location", location }
  if (buttons === undefined)
    return { ...context, type: "text", text: { body: text, preview_url: linkPreview } }
  const action = { buttons: buttons.map((reply) => ({ type: "reply", reply })) }
  return { ...context, type: "interactive", interactive: { type: "button", body: { text }, action } }
}

/** A one-time code goes to the number where one is known, and all else to the user id, which stays when the number changes. */
const recipientOf = ({ content, to, userId }: OutboundMessage) =>
  userId === null || (to !== userId && Job.purpose(content) === "authentication")
    ? { to }
    : { recipient: userId }

const bodyOf = (message: OutboundMessage): string => {
  const { content, messageId, values } = message
  const common = {
    messaging_product: "whatsapp",
    recipient_type: "individual",
    ...recipientOf(message),
    biz_opaque_callback_data: messageId
  }
  return JSON.stringify(
    content.kind === "template"
      ? { ...common, type: "template", template: templateOf(content.template, values) }
      : { ...common, ...directOf(content) }
  )
}

/** True when the platform says of itself that it is out of order, and not of a rate or of the message. */
const isOutOfOrder = ({ code }: Failure, status: number): boolean =>
  code === "provider_unavailable" && !PlatformHttp.asksToComeAgain(status)

const held = (messageStatus: string): Failure => ({
  code: messageStatus === "paused" ? "held_paused" : "held_for_quality_assessment",
  provider_code: messageStatus,
  message: "The platform has the message and holds it back while it assesses the template's quality.",
  permanent: false
})

/** The recipient as the answer names them; undefined where it names the number that was asked for, or nobody. */
const namedIn = (json: unknown, to: string): { readonly named?: Named } => {
  const [contact, ...others] = Json.listAt(json, "contacts")
  const phone = Json.wordAt(contact, "wa_id") ?? null
  const userId = Json.wordAt(contact, "user_id") ?? null
  return others.length > 0 || (userId === null && (phone === null || phone === to))
    ? {}
    : { named: { phone, userId } }
}

const meaning = (exchanged: Exchanged, url: string, to: string, now: Instant): SendResult =>
  PlatformHttp.meaning(exchanged, (answer) => {
    const { body, retryAfter, status } = answer
    const json = Json.parse(body)
    const retryAfterMs = Retry.readAfter(retryAfter, now)
    const failure = failureOf(Json.valueAt(json, "error"), status)
    if (failure !== undefined) return refused(failure, retryAfterMs, !isOutOfOrder(failure, status))
    if (status >= 200 && status < 300) {
      const providerId = Json.textAt(json, "messages", 0, "id")
      if (providerId === undefined) {
        const unclear = PlatformHttp.unanswered("an answer without a message id")
        return SendResult.Ambiguous({ failure: unclear, answered: true })
      }
      const messageStatus = Json.textAt(json, "messages", 0, "message_status") ?? "accepted"
      return messageStatus === "accepted"
        ? { ...accepted(providerId, "accepted"), ...namedIn(json, to) }
        : SendResult.Held({ providerId, failure: held(messageStatus), ...namedIn(json, to) })
    }
    const redirected = PlatformHttp.redirected(answer, {
      who: "The platform",
      code: "provider_redirects",
      url,
      field: "base_url"
    })
    if (redirected !== undefined) return refused(redirected, retryAfterMs)
    const described = withoutCode(status)
    return refused(described, retryAfterMs, !isOutOfOrder(described, status))
  })

// The session as a whole

const numberPath = ({ phone_number_id }: Config): string =>
  `${phone_number_id}?fields=id,display_phone_number,verified_name`

const digitsOf = (number: string): string => number.replaceAll(/\D/g, "")

const failedTo = (exchanged: Exchanged): Failure =>
  exchanged._tag === "Answered"
    ? (failureOf(Json.valueAt(Json.parse(exchanged.body), "error"), exchanged.status) ??
      (exchanged.status === 401
        ? withoutCode(401)
        : {
            code: "provider_unavailable",
            provider_code: String(exchanged.status),
            message: `The platform answered ${exchanged.status}.`,
            permanent: false
          }))
    : PlatformHttp.unreachable(exchanged.reason)

/** Pages of templates, at most: a WABA has 6,000 templates. */
const maximumPages = 200
const templateFields =
  "id,name,language,status,category,components,parameter_format,quality_score,rejected_reason"

type Get = (config: Config, path: string) => Effect.Effect<Exchanged>

/** Reads the templates of a session, or those whose names have one in them. */
const templatesBy = (get: Get) => {
  const page = Effect.fnUntraced(function* (config: Config, after: string | null, name?: string) {
    const query = new URLSearchParams({
      fields: templateFields,
      limit: "100",
      ...(name === undefined ? {} : { name }),
      ...(after === null ? {} : { after })
    })
    const exchanged = yield* get(config, `${config.waba_id}/message_templates?${query}`)
    const json = exchanged._tag === "Answered" ? Json.parse(exchanged.body) : undefined
    if (
      exchanged._tag !== "Answered" ||
      exchanged.status !== 200 ||
      !Array.isArray(Json.valueAt(json, "data"))
    ) {
      return yield* new PlatformRefusal({ failure: failedTo(exchanged) })
    }
    const next =
      Json.textAt(json, "paging", "next") === undefined
        ? undefined
        : Json.textAt(json, "paging", "cursors", "after")
    return { templates: Json.listAt(json, "data"), next: next ?? null }
  })

  /** All templates, or those whose names have one in them, over all pages. */
  const everyPage = Effect.fnUntraced(function* (config: Config, name?: string) {
    const all: Array<unknown> = []
    let after: string | null = null
    for (let pages = 0; pages < maximumPages; pages++) {
      const {
        next,
        templates
      }: { readonly next: string | null; readonly templates: ReadonlyArray<unknown> } = yield* page(
        config,
        after,
        name
      )
      all.push(...templates)
      if (next === null || next === after) break
      after = next
    }
    return all
  })
  return everyPage
}

export const make = (options?: PlatformHttp.Options): Effect.Effect<Sender, never, Scope.Scope> =>
  Effect.map(PlatformHttp.make(options), ({ exchange, urlFaults }) => {
    const get: Get = (config, path) =>
      exchange({
        method: "GET",
        url: urlOf(config, path),
        headers: { authorization: `Bearer ${config.access_token}` },
        timeoutMs,
        maximumBytes: maximumPageBytes
      })

    const everyPage = templatesBy(get)

    return {
      provider: "whatsapp_cloud",
      configDescription:
        "`phone_number_id`, `waba_id`, `access_token`, `app_secret` and `verify_token`, and `app_secrets` (at most 5 more), `api_version`, `base_url`, `messages_per_second` and `portfolio_id`",
      hasWindow: true,
      deduplicates: false,
      closedMarkets: ClosedMarkets.whatsApp,
      configure: (given) => read(given, urlFaults("base_url", given["base_url"])),
      portfolio: (given) => {
        const { portfolio_id, waba_id } = decode(given)
        return portfolio_id ?? waba_id
      },
      addresses: addressesOf,
      hasNumber: Effect.fnUntraced(function* (given, number) {
        const config = decode(given)
        if (digitsOf(number) === config.phone_number_id) return true
        const exchanged = yield* get(config, numberPath(config))
        const found =
          exchanged._tag === "Answered" && exchanged.status === 200
            ? Json.wordAt(Json.parse(exchanged.body), "display_phone_number")
            : undefined
        return found === undefined ? null : digitsOf(found) === digitsOf(number)
      }),
      isSigned,
      receive,
      pacing: (given) => ({ messagesPerSecond: decode(given).messages_per_second, pairIntervalMs: null }),
      send: (message) => {
        const { headers, url } = deskOf(decode(message.config))
        const body = bodyOf(message)
        const exchanged = exchange({ method: "POST", url, headers, body, timeoutMs, maximumBytes })
        return Effect.zipWith(exchanged, Time.now, (answer, now) => meaning(answer, url, message.to, now))
      },
      check: Effect.fnUntraced(function* (given) {
        const config = decode(given)
        const exchanged = yield* get(config, numberPath(config))
        return exchanged._tag === "Answered" && exchanged.status === 200 ? null : failedTo(exchanged)
      }),
      template: Effect.fnUntraced(function* (given, { language, name }) {
        const found = yield* everyPage(decode(given), name)
        const meant = { language, name }
        return (
          found.find((json) =>
            Template.isNamed(
              { name: Json.textAt(json, "name") ?? "", language: Json.textAt(json, "language") ?? "" },
              meant
            )
          ) ?? null
        )
      }),
      templates: (given) => everyPage(decode(given))
    }
  })
