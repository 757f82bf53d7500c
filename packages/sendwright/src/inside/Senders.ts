/** Senders: those that come with core, and plain objects with promises. */
import type { Sender as CoreSenders } from "@sendwright/core"
import { HttpGateway, Rendering, Sandbox, Sender, WhatsApp } from "@sendwright/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Api from "../api/Sender.ts"
import * as Brand from "./Brand.ts"
import { input } from "./Input.ts"

type CoreSender = CoreSenders.Sender
type Config = Readonly<Record<string, unknown>>

type Make = Effect.Effect<CoreSender, never, Scope.Scope>

const senders = Brand.make<Make>("sender")

/** A sender that comes with core. */
export const made = (provider: Api.BuiltInSender["provider"], make: Make): Api.BuiltInSender =>
  senders.mark({ provider }, make)

/** How such a one is made; undefined for any other. */
export const builtIn = senders.of

const given = <A extends object>(options: A) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

const ofOptions = { code: "invalid_options" }
const Milliseconds = Schema.Number.pipe(Schema.nonNegative())
const sandboxOptions = input<Api.SandboxOptions>(
  Schema.Struct({ latencyMs: Schema.optional(Milliseconds), receiptDelayMs: Schema.optional(Milliseconds) }),
  ofOptions
)
const platformOptions = input<Api.PlatformOptions>(
  Schema.Struct({ connections: Schema.optional(Schema.Int.pipe(Schema.positive())) }),
  ofOptions
)

export const sandbox = (options: Api.SandboxOptions = {}): Api.BuiltInSender => {
  const checked = given(sandboxOptions(options))
  return made(
    "sandbox",
    Effect.sync(() => Sandbox.make(checked))
  )
}

export const whatsapp = (options: Api.PlatformOptions = {}): Api.BuiltInSender =>
  made("whatsapp_cloud", WhatsApp.make(given(platformOptions(options))))

export const httpGateway = (options: Api.PlatformOptions = {}): Api.BuiltInSender =>
  made("http", HttpGateway.make(given(platformOptions(options))))

const isRecord = (value: unknown): value is Config => typeof value === "object" && value !== null

const configOf = (config: unknown): Config => (isRecord(config) ? config : {})

const contentOf = ({ content, values }: CoreSenders.OutboundMessage): Api.Outbound["content"] => {
  if (content.kind === "direct") return content
  const { template } = content
  const { body, footer, header } = Rendering.render(template, values)
  return {
    kind: "template",
    name: template.name,
    language: template.language,
    category: template.category,
    variables: Object.fromEntries(template.variables.map(({ key }, place) => [key, values[place] ?? ""])),
    header: header ?? null,
    body,
    footer: footer ?? null
  }
}

const outbound = (message: CoreSenders.OutboundMessage): Api.Outbound => ({
  messageId: message.messageId,
  sessionId: message.sessionId,
  to: message.to,
  userId: message.userId,
  attempt: message.attempt,
  ...(message.traceparent === undefined ? {} : { traceparent: message.traceparent }),
  content: contentOf(message),
  config: configOf(message.config)
})

const failure = (code: string, message: string, permanent: boolean) => ({
  code,
  provider_code: null,
  message,
  permanent
})

const unknown = (message: string): CoreSenders.SendResult =>
  Sender.SendResult.Ambiguous({ failure: failure("outcome_unknown", message, false) })

/** A value that is no wait, such as a header that was not read, says nothing. */
const waitOf = (ms: unknown): number | null =>
  typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : null

const resultOf = (result: Api.SendResult): CoreSenders.SendResult => {
  switch (result.outcome) {
    case "accepted":
      return Sender.accepted(result.providerId ?? null, "accepted")
    case "refused":
      return Sender.SendResult.Rejected({ failure: failure(result.code, result.message, true) })
    case "later":
      return Sender.SendResult.Transient({
        failure: failure(result.code ?? "provider_unavailable", result.message, false),
        retryAfterMs: waitOf(result.retryAfterMs),
        answered: result.answered ?? true
      })
    case "unknown":
      return unknown(result.message)
  }
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** As long as WhatsApp's own platform is given. */
const patience = Duration.seconds(15)

/** Asks a sender, also where nothing else may be interrupted: a promise may never be kept. */
const answerOf = <A>(ask: () => A | PromiseLike<A>): Effect.Effect<A, string> =>
  Effect.tryPromise({ try: async () => ask(), catch: reason }).pipe(
    Effect.interruptible,
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => `The sender did not answer within ${Duration.toSeconds(patience)} seconds.`
    })
  )

/** A promise that is rejected, or not kept, tells nothing of the message. */
const outcome = <A>(answer: Effect.Effect<A, string>) =>
  Effect.catchAll(answer, (why) => Effect.succeed(unknown(why)))

const unavailable = (why: string) => failure("provider_unavailable", why, false)

const ofCustom = (custom: Api.CustomSender): CoreSender => {
  const { check, deduplicates = false, lookUp, provider, templates } = custom
  return {
    provider,
    deduplicates,
    configure: (config) => Either.right(config),
    send: (message) =>
      outcome(
        Effect.map(
          answerOf(() => custom.send(outbound(message))),
          resultOf
        )
      ),
    ...(lookUp === undefined
      ? {}
      : {
          lookUp: (message: CoreSenders.OutboundMessage) => {
            const found = answerOf(() => lookUp(outbound(message)))
            return outcome(Effect.map(found, (result) => (result === null ? null : resultOf(result))))
          }
        }),
    ...(check === undefined
      ? {}
      : {
          check: (config: unknown) =>
            answerOf(() => check(configOf(config))).pipe(
              Effect.map((fault) => (fault === null ? null : failure("check_failed", fault, true))),
              Effect.catchAll((why) => Effect.succeed(unavailable(why)))
            )
        }),
    ...(templates === undefined
      ? {}
      : {
          templates: (config: unknown) =>
            Effect.mapError(
              answerOf(() => templates(configOf(config))),
              (why) => new Sender.PlatformRefusal({ failure: unavailable(why) })
            )
        })
  }
}

const makeOf = (sender: Api.Sender): Make => {
  const make = builtIn(sender)
  if (make !== undefined) return make
  // Whatever is none of ours was looked at as one of the app's (`Options`).
  return "send" in sender ? Effect.sync(() => ofCustom(sender)) : Effect.dieMessage("No sender.")
}

export const layer = (senders: ReadonlyArray<Api.Sender>): Layer.Layer<CoreSenders.Senders> => {
  const makes = senders.map(makeOf)
  return Layer.unwrapScoped(Effect.map(Effect.all(makes), (made) => Sender.layer(...made)))
}
