/** The `webhooks` section: a typed payload for each type of event. */
import type { WebhookEvent } from "@sendwright/core"
import { EventData } from "@sendwright/core"
import { Examples } from "@sendwright/core/contract"
import * as JSONSchema from "effect/JSONSchema"
import * as Struct from "effect/Struct"
import type { Json } from "../../api/Json.ts"

/** Of the events. */
export const tag = { name: "events", description: "What is posted to webhook endpoints." }

const eventHeaders = [
  ["X-Service-Timestamp", "Unix seconds of the attempt.", "1793611800"],
  [
    "X-Service-Signature",
    "The HMAC-SHA256 of the timestamp, a dot and the raw body with the endpoint's secret, in lower-case hex. The names of these two headers can be configured.",
    "5f0d6b1c9f5be9a3f9c3b7d6a8cfd0a4c9bd7f5d5bd7c0a6ff9a6d1c3e2b4a10"
  ],
  ["webhook-id", "The event's id (Standard Webhooks).", Examples.ids.event],
  ["webhook-timestamp", "Unix seconds of the attempt (Standard Webhooks).", "1793611800"],
  [
    "webhook-signature",
    "`v1,` and the signature in base64 (Standard Webhooks).",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
  ]
].map(([name, description, example]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example
}))

const eventOf = (type: string, data: JSONSchema.JsonSchema7, example: WebhookEvent): Json => ({
  post: {
    operationId: `event.${type}`,
    tags: [tag.name],
    summary: `The event ${type}`,
    description:
      "Posted to the webhook endpoints that subscribe to it. Any 2xx within 15 seconds takes it; 410 disables the endpoint; all else is attempted again, with the same id and body.",
    security: [],
    parameters: eventHeaders,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["id", "type", "created_at", "data"],
            properties: {
              id: { type: "string", format: "uuid", description: "The same over all attempts." },
              type: { type: "string", const: type },
              created_at: { type: "string", format: "date-time" },
              data
            }
          },
          example
        }
      }
    },
    responses: {
      "204": { description: "The event was taken; so does any other 2xx." },
      "410": { description: "The endpoint is no more, and is disabled." }
    }
  }
})

/** The events by type, and the components that they refer to. */
export const make = (): { readonly webhooks: Json; readonly schemas: Json } => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const webhooks = Struct.keys(EventData.byType).map((type) => {
    const schema = JSONSchema.fromAST(EventData.byType[type].ast, {
      definitions,
      definitionPath: "#/components/schemas/"
    })
    const data = Examples.eventData[type]
    return [type, eventOf(type, schema, { id: Examples.ids.event, type, created_at: Examples.at, data })]
  })
  return { webhooks: Object.fromEntries(webhooks), schemas: definitions }
}
