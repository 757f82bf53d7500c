/**
 * The provider `http`: a gateway of the operator's own. One signed POST per message, under a key that is the same over
 * every attempt, so that the gateway sends it once; signed receipts and inbound messages come back to its hook
 * (decisions.md §9).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Catalogue from "../domain/Catalogue.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Json from "../domain/Json.ts"
import * as JsonForm from "../domain/JsonForm.ts"
import * as Memo from "../domain/Memo.ts"
import * as PlatformForm from "../domain/PlatformForm.ts"
import type { Failure, Reported } from "../domain/Recipient.ts"
import * as Rendering from "../domain/Rendering.ts"
import * as Retry from "../domain/Retry.ts"
import type { TemplateContent } from "../domain/Template.ts"
import * as Text from "../domain/Text.ts"
import type { Exchanged } from "../http/HttpClient.ts"
import type { Report } from "../storage/JobStore.ts"
import * as Signature from "../webhook/Signature.ts"
import * as Configuration from "./Configuration.ts"
import * as Exchange from "./Exchange.ts"
import type { HookRequest, InboundMessage, OutboundMessage, Sender, SendResult } from "./Sender.ts"
import { accepted, HookResult, refused } from "./Sender.ts"

const maximumBytes = 64 * 1024

const HttpUrl = Text.between(1, 2048).pipe(
  Schema.filter((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
    message: () => "an absolute http or https URL"
  })
)

const Config = Schema.Struct({
  url: HttpUrl,
  /** Signs both ways. */
  secret: Text.between(16, 512),
  headers: Schema.optionalWith(
    Schema.Record({
      key: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9-]{1,64}$/)),
      value: Text.between(0, 4096)
    }),
    { default: () => ({}) }
  ),
  timeout_ms: Schema.optionalWith(Schema.Int.pipe(Schema.between(100, 120_000)), { default: () => 10_000 })
})

const { decode, read } = Configuration.make(Config)

const ours: ReadonlySet<string> = new Set([
  "content-type",
  "idempotency-key",
  "x-service-timestamp",
  "x-service-signature"
])

/** The session's headers without those that are ours to write. */
const headersOf = Memo.ofObject(({ headers }: typeof Config.Type) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ours.has(name.toLowerCase())))
)

/** Of our id, the session's, a number and the values. */
const formOf = Memo.ofObject((content: TemplateContent) => {
  const { language, name, variables: all } = content
  return JsonForm.make(3 + all.length, ([message_id, session_id, to, ...values]) => {
    const variables = Object.fromEntries(all.map(({ key }, place) => [key, values[place]]))
    const components = PlatformForm.components(content, values)
    const rendered = Rendering.render(content, values)
    const template = { name, language, components, variables, rendered }
    return { message_id, session_id, to, type: "template", template }
  })
})

const bodyOf = ({ content, messageId, sessionId, to, values }: OutboundMessage): string => {
  if (content.kind === "template") return formOf(content.template)([messageId, sessionId, to, ...values])
  const text = { body: content.text, link_preview: content.linkPreview }
  return JSON.stringify({ message_id: messageId, session_id: sessionId, to, type: "text", text })
}

/** What the gateway says of a refusal, in its own words or in ours. */
const told = (status: number, body: string, permanent: boolean): Failure => {
  const json = Json.parse(body)
  const code = Json.at(json, "error", "code")
  const message = Json.textAt(json, "error", "message")
  const known = typeof code === "string" ? Catalogue.find(code) : undefined
  return {
    code: known?.code ?? (permanent ? "gateway_refused" : "provider_unavailable"),
    provider_code: typeof code === "string" || typeof code === "number" ? String(code) : String(status),
    message: (message ?? known?.message ?? `The gateway answered ${status}.`).slice(0, 500),
    permanent
  }
}

const meaning = (exchanged: Exchanged, now: Instant): SendResult =>
  Exchange.meaning(exchanged, ({ body, retryAfter, status }) => {
    if (status >= 200 && status < 300) {
      const json = Json.parse(body)
      const providerId = Json.textAt(json, "id") ?? null
      return accepted(providerId, Json.textAt(json, "status") === "sent" ? "sent" : "accepted")
    }
    return refused(told(status, body, !Exchange.mayPass(status)), Retry.readAfter(retryAfter, now))
  })

const statuses: ReadonlyArray<Reported> = ["sent", "delivered", "read", "failed"]

const timeOr = (value: unknown, now: Instant): Instant =>
  (typeof value === "string" ? Time.parse(value) : undefined) ?? now

const reportOf = (receipt: unknown, now: Instant): Report | undefined => {
  const status = statuses.find((each) => each === Json.at(receipt, "status"))
  const messageId = Json.textAt(receipt, "message_id") ?? null
  const providerId = Json.textAt(receipt, "id") ?? null
  if (status === undefined || (messageId === null && providerId === null)) return undefined
  const failure =
    status === "failed" ? told(0, JSON.stringify({ error: Json.at(receipt, "error") }), true) : null
  return { messageId, providerId, status, at: timeOr(Json.at(receipt, "at"), now), failure }
}

const messageOf = (message: unknown, now: Instant): Omit<InboundMessage, "sessionId"> | undefined => {
  const [id, from, text] = ["id", "from", "text"].map((name) => Json.textAt(message, name))
  return id === undefined || from === undefined || text === undefined || !/^[1-9][0-9]{6,14}$/.test(from)
    ? undefined
    : { id, from, text, at: timeOr(Json.at(message, "at"), now) }
}

const receive = ({ body, headers, method, now }: HookRequest, given: unknown): HookResult => {
  if (method === "GET") return HookResult.Forged({ reason: "The gateway posts its receipts." })
  const { secret } = decode(given)
  const timestamp = Signature.readTimestamp(headers["x-service-timestamp"] ?? "")
  const signature = headers["x-service-signature"]
  if (timestamp === undefined || signature === undefined) {
    return HookResult.Forged({ reason: "X-Service-Timestamp or X-Service-Signature is missing." })
  }
  if (!Signature.isFresh(timestamp, Math.floor(now / Time.second))) {
    return HookResult.Forged({ reason: "X-Service-Timestamp is more than 5 minutes off." })
  }
  if (!Signature.matches([signature], [secret], (key) => Signature.sign(key, timestamp, body))) {
    return HookResult.Forged({ reason: "X-Service-Signature is not this session's." })
  }
  const json = Json.parse(new TextDecoder().decode(body))
  if (typeof json !== "object" || json === null) {
    return HookResult.Malformed({ reason: "The body must be a JSON object with `receipts` and `messages`." })
  }
  const unread: Array<string> = []
  const all = <A>(name: string, item: (given: unknown, now: Instant) => A | undefined): ReadonlyArray<A> =>
    Json.listAt(json, name).flatMap((each, place) => {
      const found = item(each, now)
      if (found === undefined) unread.push(`${name}[${place}] cannot be read`)
      return found === undefined ? [] : [found]
    })
  return HookResult.Content({
    reports: all("receipts", reportOf),
    messages: all("messages", messageOf),
    preferences: [],
    templates: [],
    unread
  })
}

export const make = (options?: Exchange.Options): Effect.Effect<Sender, never, Scope.Scope> =>
  Effect.map(Exchange.make(options), (exchange) => ({
    provider: "http",
    deduplicates: true,
    configure: read,
    receive,
    send: (message) =>
      Effect.clockWith((clock) => {
        const config = decode(message.config)
        const { secret, timeout_ms: timeoutMs, url } = config
        const timestamp = Math.floor(clock.unsafeCurrentTimeMillis() / Time.second)
        const body = Buffer.from(bodyOf(message))
        const exchanged = exchange({
          method: "POST",
          url,
          // In this order: what is written beside a copy costs more than all the copy.
          headers: {
            "content-type": "application/json",
            "idempotency-key": message.messageId,
            "x-service-timestamp": String(timestamp),
            "x-service-signature": Signature.sign(secret, timestamp, body),
            ...headersOf(config)
          },
          body,
          timeoutMs,
          maximumBytes
        })
        return Effect.map(exchanged, (answer) => meaning(answer, clock.unsafeCurrentTimeMillis()))
      })
  }))
