/** A sender of your own, for "Pigeon": a made-up platform for short messages over JSON. */
import { Rendering, RequestDecoder, Sender, Signature } from "@sendwright/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const { HookResult, SendResult } = Sender

/** What an operator gives for a session; a fault is told as `/config/token`. */
const Config = Schema.Struct({
  url: Schema.NonEmptyString,
  token: Schema.NonEmptyString,
  hook_secret: Schema.NonEmptyString
})
const decode = Schema.decodeUnknownSync(Config)

const idIn = Schema.decodeOption(Schema.parseJson(Schema.Struct({ id: Schema.NonEmptyString })))

class Unanswered extends Data.TaggedError("Unanswered")<{ readonly neverLeft: boolean }> {}

/** What surely ended before a byte was sent. Of anything else the platform may have the message. */
const neverLeft = (error: unknown): boolean =>
  error instanceof TypeError &&
  /ECONNREFUSED|ENOTFOUND/.test(String(Reflect.get(Object(error.cause), "code")))

/** The signal lets go of the connection when the attempt times out or is interrupted. */
const call = (config: unknown, path: string, body?: object) => {
  const { token, url } = decode(config)
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
  return Effect.tryPromise({
    try: async (signal) => {
      const answer = await fetch(url + path, {
        ...init,
        signal,
        headers: { authorization: `Bearer ${token}` }
      })
      const id = Option.map(idIn(await answer.text()), (found) => found.id)
      const wait = answer.headers.get("retry-after")
      return { status: answer.status, id, retryAfterMs: wait === null ? null : Number(wait) * 1000 }
    },
    catch: (error) => new Unanswered({ neverLeft: neverLeft(error) })
  }).pipe(
    Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => new Unanswered({ neverLeft: false }) })
  )
}

const failure = (code: string, message: string, provider_code: string | null = null) =>
  ({ code, provider_code, message, permanent: false }) as const
const unclear = SendResult.Ambiguous({ failure: failure("outcome_unknown", "Pigeon may have the message.") })
const accepted = (providerId: string) => SendResult.Accepted({ providerId, status: "accepted" })

const textOf = ({ content, values }: Sender.OutboundMessage): string =>
  content.kind === "direct" ? content.text : Rendering.render(content.template, values).body

/** Pigeon posts no more at once: what is longer is refused before its items are looked at. */
const few = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.Array(item).pipe(Schema.maxItems(100)), { default: () => [] })

/** The body of a hook. A member more is no fault: platforms grow. */
const read = Schema.decodeUnknownEither(
  Schema.parseJson(
    Schema.Struct({
      receipts: few(
        Schema.Struct({
          reference: Schema.String,
          id: Schema.String,
          status: Schema.Literal("delivered", "failed")
        })
      ),
      replies: few(Schema.Struct({ id: Schema.String, from: Schema.String, text: Schema.String }))
    })
  )
)

const undelivered = { ...failure("pigeon_lost", "Pigeon could not deliver the message."), permanent: true }

/** Says why a hook is not believed; undefined when Pigeon posted it within the last 5 minutes. */
const forgery = ({ body, headers, method, now }: Sender.HookRequest, secret: string): string | undefined => {
  if (method === "GET") return "Pigeon posts what it has to tell."
  const timestamp = Signature.readTimestamp(headers["x-pigeon-timestamp"] ?? "")
  const signature = headers["x-pigeon-signature"] ?? ""
  if (timestamp === undefined || !Signature.isFresh(timestamp, Math.floor(now / 1000))) {
    return "X-Pigeon-Timestamp is missing, or more than 5 minutes off."
  }
  // Compares in constant time.
  return Signature.matches([signature], [secret], (key) => Signature.sign(key, timestamp, body))
    ? undefined
    : "X-Pigeon-Signature is not this session's."
}

export const pigeon: Sender.Sender = {
  provider: "pigeon",
  configDescription: "`url`, `token` and `hook_secret`",
  configure: RequestDecoder.decoder(Config, ["config"]),
  // Pigeon sends what it is given twice …
  deduplicates: false,
  send: (message) =>
    call(message.config, "/messages", {
      reference: message.messageId,
      to: message.to,
      text: textOf(message)
    }).pipe(
      Effect.match({
        onFailure: (error) => {
          const away = failure("provider_unreachable", "Pigeon could not be reached.")
          return error.neverLeft
            ? SendResult.Transient({ failure: away, retryAfterMs: null, answered: false })
            : unclear
        },
        onSuccess: ({ id, retryAfterMs, status }) => {
          if (status < 300) return Option.match(id, { onSome: accepted, onNone: () => unclear })
          // Something in between may have answered.
          if (status >= 500) return unclear
          const refusal = failure("pigeon_refused", `Pigeon answered ${status}.`, String(status))
          return status === 429
            ? SendResult.Transient({ failure: { ...refusal, code: "provider_rate_limited" }, retryAfterMs })
            : SendResult.Rejected({ failure: { ...refusal, permanent: true } })
        }
      })
    ),
  // … but it can be asked for what it has, so that nothing needs to be sent twice.
  lookUp: (message) =>
    call(message.config, `/messages/${message.messageId}`).pipe(
      Effect.match({
        onFailure: () => unclear,
        onSuccess: ({ id, status }) =>
          status === 404 ? null : Option.match(id, { onSome: accepted, onNone: () => unclear })
      })
    ),
  // The signature is checked before anything is parsed.
  receive: (request, config) =>
    Effect.sync(() => {
      const reason = forgery(request, decode(config).hook_secret)
      if (reason !== undefined) return HookResult.Forged({ reason })
      return Either.match(read(new TextDecoder().decode(request.body)), {
        onLeft: () => HookResult.Malformed({ reason: "The body must have `receipts` or `replies`." }),
        onRight: ({ receipts, replies }) =>
          HookResult.Content({
            reports: receipts.map(({ id, reference, status }) => ({
              messageId: reference,
              providerId: id,
              status,
              at: request.now,
              failure: status === "failed" ? undelivered : null
            })),
            messages: replies.map((reply) => ({ ...reply, at: null })),
            preferences: [],
            templates: [],
            unread: []
          })
      })
    })
}
