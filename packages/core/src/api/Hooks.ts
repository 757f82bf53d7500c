/** Hooks: what platforms post to us, given to the engine as it came (contract.md §6). */
import * as Schema from "effect/Schema"
import { Session } from "../index.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { done, type EngineService, forPlatform } from "./Operation.ts"
import { Uuid } from "./Parameters.ts"
import type { HookRequest } from "./Route.ts"
import { Text } from "./Wire.ts"

const UnknownTime = Schema.optional(Schema.String)

const WhatsAppHook = Schema.Struct({
  object: Schema.optional(Text),
  entry: Schema.Array(Schema.Unknown).annotations({ description: "As the WhatsApp Cloud API writes them." })
}).annotations({ identifier: "WhatsAppHook" })

const GatewayHook = Schema.Struct({
  receipts: Schema.optional(
    Schema.Array(
      Schema.Struct({
        message_id: Schema.optional(Text.annotations({ description: "The one that the gateway was given." })),
        id: Schema.optional(Text.annotations({ description: "The one that the gateway answered." })),
        status: Schema.Literal("sent", "delivered", "read", "failed"),
        at: UnknownTime,
        error: Schema.optional(Schema.Struct({ code: Schema.optional(Text), message: Schema.optional(Text) }))
      })
    )
  ),
  messages: Schema.optional(
    Schema.Array(
      Schema.Struct({
        id: Schema.optional(Text),
        from: Schema.optional(Text.annotations({ description: "A phone number." })),
        user_id: Schema.optional(Text),
        text: Text,
        at: UnknownTime
      })
    )
  )
}).annotations({
  identifier: "GatewayHook",
  description: "`receipts` or `messages`, or both.",
  jsonSchema: { allOf: [{ anyOf: [{ required: ["receipts"] }, { required: ["messages"] }] }] }
})

const PlatformHook = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "PlatformHook",
  description: "As the platform writes it.",
  jsonSchema: { type: "object", additionalProperties: true }
})

const path = Schema.Struct({ sessionId: Uuid })
const providerPath = Schema.Struct({
  provider: Schema.String.annotations({
    description: "A provider of this host, by the name that its sessions have.",
    jsonSchema: { pattern: Session.providerForm.source }
  }),
  sessionId: Uuid
})

/** @param provider the route's; the path has it where this is absent */
const to =
  (method: "GET" | "POST", provider?: string) =>
  (engine: EngineService) =>
  <E extends { readonly _tag: string }>({ body, headers, path, query }: HookRequest<E>) =>
    engine.hook(provider ?? path["provider"] ?? "", path["sessionId"] ?? "", { method, headers, query, body })

const challenge = { schema: Schema.String, mediaType: "text/plain", example: "1158201444" }

/**
 * The contract has the bodies of two providers, so these have routes of their own, which win over those of any provider.
 * The engine refuses a provider that it lacks as it refuses an unknown session (404). A sender alone knows if its platform
 * shakes hands: it refuses a GET as forged (401) if it does not.
 */
export const hooks = [
  forPlatform(
    Endpoint.get("whatsAppChallenge", "/hooks/whatsapp/:sessionId")
      .setPath(path)
      .setUrlParams(
        Schema.Struct({
          "hub.mode": Schema.Literal("subscribe").annotations({ description: "What the platform asks for." }),
          "hub.challenge": Schema.String.annotations({
            description: "The text to answer.",
            jsonSchema: { minLength: 1 }
          })
        })
      ),
    challenge,
    {
      summary: "Answer the handshake of the WhatsApp Cloud API",
      description: "Answers `hub.challenge` as text when `hub.verify_token` is the session's.",
      proofs: ["whatsAppToken"]
    },
    to("GET", "whatsapp_cloud")
  ),
  forPlatform(
    Endpoint.post("whatsAppHook", "/hooks/whatsapp/:sessionId").setPath(path).setPayload(WhatsAppHook),
    done,
    {
      summary: "Take what the WhatsApp Cloud API posts",
      description:
        "`X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the raw body with the app secret, in hex. The body is up to 4 MiB and may grow: what is not known is not refused. It is answered once what it tells is kept.",
      request: {
        object: "whatsapp_business_account",
        entry: [{ id: "102290129340398", changes: [{ field: "messages", value: {} }] }]
      },
      proofs: ["whatsAppSignature"]
    },
    to("POST", "whatsapp_cloud")
  ),
  forPlatform(
    Endpoint.post("gatewayHook", "/hooks/http/:sessionId").setPath(path).setPayload(GatewayHook),
    done,
    {
      summary: "Take receipts and messages of a gateway of one's own",
      description:
        "`X-Service-Signature` is the HMAC-SHA256 of the timestamp, a dot and the raw body with the session's `secret`, in lower-case hex; a timestamp more than 5 minutes off is refused. The body is up to 4 MiB and may grow. An item that cannot be read is told in the log and refuses nothing.",
      request: {
        receipts: [{ message_id: Examples.ids.message, status: "delivered", at: Examples.at }],
        messages: [{ id: "in-1", from: Examples.phone, text: "STOP", at: Examples.at }]
      },
      proofs: ["gatewaySignature", "gatewayTimestamp"]
    },
    to("POST", "http")
  ),
  forPlatform(
    Endpoint.get("platformHandshake", "/hooks/:provider/:sessionId").setPath(providerPath),
    challenge,
    {
      summary: "Answer the handshake of any platform",
      description:
        "Answers the text that the sender of the provider reads from the query; a sender that expects no handshake refuses it.",
      proofs: ["platformProof"]
    },
    to("GET")
  ),
  forPlatform(
    Endpoint.post("platformHook", "/hooks/:provider/:sessionId")
      .setPath(providerPath)
      .setPayload(PlatformHook),
    done,
    {
      summary: "Take what any platform posts",
      description:
        "The sender of the provider checks that the platform posted the body, and reads it. The body is up to 4 MiB. It is answered once its content is kept.",
      request: { status: "delivered", reference: Examples.ids.message },
      proofs: ["platformProof"]
    },
    to("POST")
  )
]
