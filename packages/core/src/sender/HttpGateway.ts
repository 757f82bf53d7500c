/**
 * The provider `http`: a gateway of the operator's own. One signed POST per message, under a key that is the same over
 * every attempt, so that the gateway sends it once; signed receipts and inbound messages come back to its hook
 * (contract.md §9).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Fault from "../domain/Fault.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Json from "../domain/Json.ts"
import type { Failure, Reported } from "../domain/job/Recipient.ts"
import * as Memo from "../domain/Memo.ts"
import * as Retry from "../domain/Retry.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import * as Text from "../domain/Text.ts"
import * as Rendering from "../domain/template/Rendering.ts"
import * as TemplateParameters from "../domain/template/TemplateParameters.ts"
import type { Exchanged } from "../http/HttpClient.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { Report } from "../storage/JobStore.ts"
import * as Signature from "../webhook/Signature.ts"
import * as Configuration from "./Configuration.ts"
import * as HookBody from "./HookBody.ts"
import * as PlatformHttp from "./PlatformHttp.ts"
import type {
  HookContent,
  HookRequest,
  InboundMessage,
  OutboundMessage,
  Sender,
  SendResult,
  UnreadPart
} from "./Sender.ts"
import { accepted, HookResult, refused } from "./Sender.ts"

const maximumBytes = 64 * 1024

const Config = Schema.Struct({
  url: Schema.String,
  /** The secret that signs requests in both directions. */
  secret: Text.between(16, 512),
  headers: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Text.between(0, 4096) }), {
    default: () => ({})
  }),
  timeout_ms: Schema.optionalWith(Schema.Int.pipe(Schema.between(100, 120_000)), { default: () => 10_000 })
})

const { decode, read } = Configuration.make(Config)

/** Headers that describe our own content, and those of the connection (RFC 9110 §7.6.1). */
const reserved: ReadonlySet<string> = new Set([
  "content-type",
  "idempotency-key",
  "x-service-timestamp",
  "x-service-signature",
  "traceparent",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // An object cannot have it as a plain member.
  "__proto__"
])

/** Why a header cannot be sent; undefined when it can (RFC 9110 §5.1, §5.5). */
const headerFault = (name: string, value: string): string | undefined => {
  if (!/^[\w!#$%&'*+.^`|~-]{1,64}$/.test(name)) {
    return "A header's name is 1 to 64 letters, digits or characters of !#$%&'*+-.^_`|~."
  }
  if (reserved.has(name.toLowerCase())) {
    return "This header is Sendwright's or HTTP's own to write: leave it out."
  }
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? undefined
    : "A header's value is one line of Latin-1 characters, without control characters."
}

/** Servers, ours included, commonly take 8 KiB or more of a request's head. */
const mostHeaders = 32
const longestHeaders = 6 * 1024

const headersFault = (message: string): ReadonlyArray<Fault.Fault> => [
  Fault.make(["config", "headers"], "out_of_range", message)
]

/** Checks their number and length first, before each header. */
const headerFaults = (headers: object): ReadonlyArray<Fault.Fault> => {
  const all: ReadonlyArray<readonly [string, unknown]> = Object.entries(headers)
  if (all.length > mostHeaders) return headersFault(`\`headers\` must be at most ${mostHeaders}.`)
  const length = all.reduce(
    (sum, [name, value]) => sum + name.length + (typeof value === "string" ? value.length : 0),
    0
  )
  if (length > longestHeaders) {
    return headersFault(
      `\`headers\` must have at most ${longestHeaders} characters, names and values together.`
    )
  }
  const seen = new Set<string>()
  return all.flatMap(([name, value]) => {
    const again = seen.has(name.toLowerCase())
      ? "Another header has the same name: letter case makes no difference."
      : undefined
    seen.add(name.toLowerCase())
    const fault = again ?? (typeof value === "string" ? headerFault(name, value) : undefined)
    return fault === undefined ? [] : [Fault.make(["config", "headers", name], "invalid_value", fault)]
  })
}

const configure =
  (urlFaults: PlatformHttp.PlatformHttp["urlFaults"]): NonNullable<Sender["configure"]> =>
  (given) => {
    const headers = Json.valueAt(given, "headers")
    return read(given, [
      ...urlFaults("url", Json.valueAt(given, "url")),
      ...(typeof headers === "object" && headers !== null ? headerFaults(headers) : [])
    ])
  }

/** The session's headers. One that was configured before such were refused is left out. */
const headersOf = Memo.ofObject(({ headers }: typeof Config.Type) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => headerFault(name, value) === undefined)
  )
)

const bodyOf = ({ content, messageId, sessionId, to, userId, values }: OutboundMessage): string => {
  const common = {
    message_id: messageId,
    session_id: sessionId,
    ...(to === userId ? {} : { to }),
    ...(userId === null ? {} : { user_id: userId })
  }
  if (content.kind === "direct") {
    const { buttons, linkPreview, location, media, replyTo: reply_to, text: body } = content
    if (media !== undefined) return JSON.stringify({ ...common, type: "media", media, reply_to })
    if (location !== undefined) return JSON.stringify({ ...common, type: "location", location, reply_to })
    const text = { body, link_preview: linkPreview }
    return JSON.stringify({ ...common, type: "text", text, buttons, reply_to })
  }
  const { language, name, variables } = content.template
  const template = {
    name,
    language,
    components: TemplateParameters.components(content.template, values),
    variables: Object.fromEntries(variables.map(({ key }, place) => [key, values[place]])),
    rendered: Rendering.render(content.template, values)
  }
  return JSON.stringify({ ...common, type: "template", template })
}

/** Reads the gateway's reason for a refusal. Its code decides the effects if the catalogue has it. */
const failureIn = (error: unknown, otherwise: Failure): Failure => {
  const code = Json.valueAt(error, "code")
  const message = Json.textAt(error, "message")
  const known = typeof code === "string" ? FailureCatalogue.find(code) : undefined
  return {
    code: known?.code ?? otherwise.code,
    provider_code:
      typeof code === "string" || typeof code === "number" ? String(code) : otherwise.provider_code,
    message: message ?? known?.message ?? otherwise.message,
    permanent: known?.permanent ?? otherwise.permanent
  }
}

const isUnauthorized = (status: number): boolean => status === 401 || status === 403

/** The meaning of a status that is no success by itself (contract.md §9, §10). */
const refusal = (answer: Extract<Exchanged, { readonly _tag: "Answered" }>, url: string): Failure => {
  const { status } = answer
  const redirected = PlatformHttp.redirected(answer, {
    who: "The gateway",
    code: "gateway_redirects",
    url,
    field: "url"
  })
  if (redirected !== undefined) return redirected
  const permanent = !PlatformHttp.mayPass(status)
  return {
    code: permanent ? "gateway_refused" : "provider_unavailable",
    provider_code: String(status),
    message: isUnauthorized(status)
      ? `The gateway answered ${status}: it does not accept the session's \`secret\` or \`headers\`.`
      : `The gateway answered ${status}.`,
    permanent
  }
}

const meaning = (exchanged: Exchanged, url: string, now: Instant): SendResult =>
  PlatformHttp.meaning(exchanged, (answer) => {
    const { body, retryAfter, status } = answer
    const json = Json.parse(body)
    if (status >= 200 && status < 300) {
      const providerId = Json.textAt(json, "id") ?? null
      return accepted(providerId, Json.textAt(json, "status") === "sent" ? "sent" : "accepted")
    }
    const failure = failureIn(Json.valueAt(json, "error"), refusal(answer, url))
    // A gateway that names a reason has checked the message, whatever its status is.
    const isOutOfOrder = status >= 500 && failure.code === "provider_unavailable"
    return refused(failure, Retry.readAfter(retryAfter, now), !isOutOfOrder)
  })

/** The failure of a receipt that gives no reason. */
const undelivered: Failure = {
  code: "gateway_refused",
  provider_code: null,
  message: "The gateway reports that the message failed, without a reason.",
  permanent: true
}

const statuses: ReadonlyArray<Reported> = ["sent", "delivered", "read", "failed"]

const timeOr = (value: unknown, now: Instant): Instant =>
  (typeof value === "string" ? Time.parse(value) : undefined) ?? now

const reportOf = (receipt: unknown, now: Instant): Report | undefined => {
  const status = statuses.find((each) => each === Json.valueAt(receipt, "status"))
  const messageId = Json.textAt(receipt, "message_id") ?? null
  const providerId = Json.textAt(receipt, "id") ?? null
  if (status === undefined || (messageId === null && providerId === null)) return undefined
  const failure = status === "failed" ? failureIn(Json.valueAt(receipt, "error"), undelivered) : null
  return { messageId, providerId, status, at: timeOr(Json.valueAt(receipt, "at"), now), failure }
}

/** Undefined for an item without a text. An item that names nobody is returned, since it may be an opt-out. */
const messageOf = (message: unknown): Omit<InboundMessage, "sessionId"> | undefined => {
  const text = Json.textAt(message, "text")
  const id = Json.wordAt(message, "id") ?? null
  if (text === undefined || (id === null && text === "")) return undefined
  return {
    id,
    from: Json.wordAt(message, "from") ?? null,
    userId: Json.wordAt(message, "user_id") ?? null,
    text,
    at: Time.parse(Json.textAt(message, "at") ?? "") ?? null
  }
}

/** The most unreadable items of one post that are listed as unattributed; further ones are only listed as unread. */
const maximumUnreadable = 100

/**
 * An unreadable message may be an opt-out all the same. It is returned as a message of an unknown person, with its
 * JSON as text. Undefined for an item without words.
 */
const unreadableOf = (item: unknown): Omit<InboundMessage, "sessionId"> | undefined => {
  const isEmpty =
    typeof item === "object" && item !== null ? Object.keys(item).length === 0 : typeof item !== "string"
  return isEmpty
    ? undefined
    : { id: null, from: null, text: JSON.stringify(item), areOwnWords: false, at: null }
}

/** A list of the body; undefined when it is something else, and null when it is not there. */
const listOf = (json: unknown, name: string): ReadonlyArray<unknown> | null | undefined => {
  const found = Json.valueAt(json, name) ?? null
  return found === null || Array.isArray(found) ? found : undefined
}

const receiptFault = "a receipt without `message_id` and `id`, or with an unknown `status`"
const messageFault = "a message without `text`, or with neither `id` nor words"

/** Reads the items one by one, in their order. */
function* contentOf(
  receipts: ReadonlyArray<unknown>,
  messages: ReadonlyArray<unknown>,
  others: Iterable<readonly [string, unknown]>,
  now: Instant
): Generator<void, HookContent> {
  const reports: Array<Report> = []
  const readable: Array<Omit<InboundMessage, "sessionId">> = []
  const retained: Array<Omit<InboundMessage, "sessionId">> = []
  const unread: Array<UnreadPart> = []
  for (const receipt of receipts) {
    const report = reportOf(receipt, now)
    if (report === undefined) unread.push({ field: "receipts", reason: receiptFault, content: receipt })
    else reports.push(report)
    yield
  }
  for (const item of messages) {
    const message = messageOf(item)
    if (message === undefined) {
      unread.push({ field: "messages", reason: messageFault, content: item })
      const unreadable = retained.length < maximumUnreadable ? unreadableOf(item) : undefined
      if (unreadable !== undefined) retained.push(unreadable)
    } else readable.push(message)
    yield
  }
  for (const [field, content] of others) unread.push({ field, reason: "a member that is not known", content })
  return { reports, messages: [...readable, ...retained], preferences: [], templates: [], unread }
}

/** The members of the body that are not looked at. */
function* othersOf(json: unknown): Generator<readonly [string, unknown]> {
  for (const [field, content] of Object.entries(typeof json === "object" && json !== null ? json : {}))
    if (field !== "receipts" && field !== "messages") yield [field, content]
}

/** Why a request is not accepted as the gateway's; undefined when it is. */
const forgery = ({ body, headers, method, now }: HookRequest, secret: string): string | undefined => {
  if (method === "GET") return "The gateway posts its receipts."
  const timestamp = Signature.readTimestamp(headers["x-service-timestamp"] ?? "")
  const signature = headers["x-service-signature"]
  if (timestamp === undefined || signature === undefined) {
    return "X-Service-Timestamp or X-Service-Signature is missing."
  }
  if (!Signature.isFresh(timestamp, Math.floor(now / Time.second))) {
    return "X-Service-Timestamp is more than 5 minutes off."
  }
  if (!Signature.matches([signature], [secret], (key) => Signature.sign(key, timestamp, body))) {
    return "X-Service-Signature is not this session's."
  }
  return undefined
}

const receive = Effect.fnUntraced(function* (request: HookRequest, given: unknown) {
  const reason = forgery(request, decode(given).secret)
  if (reason !== undefined) return HookResult.Forged({ reason })
  const json = yield* HookBody.read(request.body)
  const [receipts, messages] = [listOf(json, "receipts"), listOf(json, "messages")]
  if (receipts === undefined || messages === undefined || (receipts === null && messages === null)) {
    const reason = `The body must be a JSON object ${HookBody.limits}, and with \`receipts\` or \`messages\`, or both, each an array.`
    return HookResult.Malformed({ reason })
  }
  return HookResult.Content(
    yield* EventLoopBudget.runInPieces(contentOf(receipts ?? [], messages ?? [], othersOf(json), request.now))
  )
})

export const make = (options?: PlatformHttp.Options): Effect.Effect<Sender, never, Scope.Scope> =>
  Effect.map(PlatformHttp.make(options), ({ exchange, reach, urlFaults }) => ({
    provider: "http",
    configDescription:
      "`url` and `secret` (16 to 512 characters), and `headers` and `timeout_ms` (100 to 120,000)",
    deduplicates: true,
    configure: configure(urlFaults),
    reach: (config) =>
      Effect.map(reach(decode(config).url), (reason) =>
        reason === null ? null : PlatformHttp.unreachable(reason)
      ),
    receive,
    send: (message) =>
      Effect.clockWith((clock) => {
        const config = decode(message.config)
        const { timeout_ms: timeoutMs, url } = config
        const timestamp = Math.floor(Time.unsafeNow(clock) / Time.second)
        const body = Buffer.from(bodyOf(message))
        const exchanged = exchange({
          method: "POST",
          url,
          headers: {
            "content-type": "application/json",
            "idempotency-key": message.messageId,
            "x-service-timestamp": String(timestamp),
            "x-service-signature": Signature.sign(config.secret, timestamp, body),
            ...(message.traceparent === undefined ? {} : { traceparent: message.traceparent }),
            ...headersOf(config)
          },
          body,
          timeoutMs,
          maximumBytes
        })
        return Effect.map(exchanged, (answer) => meaning(answer, url, Time.unsafeNow(clock)))
      })
  }))
