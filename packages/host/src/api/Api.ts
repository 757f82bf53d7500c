/** The contract: every endpoint, once. `/openapi.json` and the routes are both made from it. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { Requests } from "@sendwright/core"
import * as RateCard from "@sendwright/core/domain/RateCard"
import * as Schema from "effect/Schema"
import * as AdminApi from "./AdminApi.ts"
import { JobFilter, paging, resultFilter, Uuid, WholeNumber } from "./Parameters.ts"
import * as Schemas from "./Schemas.ts"

export const connection = HttpApiEndpoint.get("connection", "/api/v1/connection").addSuccess(
  Schemas.Connection
)

export const templates = HttpApiEndpoint.get("templates", "/api/v1/templates")
  .setUrlParams(
    Schema.Struct({
      ...paging,
      category: Schema.optional(
        Schema.Literal(...RateCard.categories).annotations({
          description: "Only templates of this category."
        })
      ),
      language: Schema.optional(
        Schema.String.annotations({ description: "Only templates in this language." })
      ),
      name: Schema.optional(Schema.String.annotations({ description: "Only templates of this name." }))
    })
  )
  .addSuccess(Schemas.Templates)

export const template = HttpApiEndpoint.get("template", "/api/v1/templates/:templateId")
  .setPath(Schema.Struct({ templateId: WholeNumber }))
  .addSuccess(Schemas.TemplateDetail)

export const estimate = HttpApiEndpoint.post("estimate", "/api/v1/template-messages/estimate")
  .setUrlParams(
    Schema.Struct({
      explain: Schema.optional(
        Schema.Literal("true", "false").annotations({ description: "Whether each recipient is explained." })
      )
    })
  )
  .setPayload(Requests.TemplateMessageRequest)
  .addSuccess(Schemas.Estimate)

const IdempotencyKey = Schema.String.annotations({
  description: "1 to 128 visible ASCII characters, bare or as a quoted string (RFC 8941).",
  jsonSchema: { minLength: 1 }
})

export const send = HttpApiEndpoint.post("send", "/api/v1/template-messages/send")
  .setHeaders(Schema.Struct({ "idempotency-key": IdempotencyKey }))
  .setPayload(Requests.TemplateMessageRequest)
  .addSuccess(Schemas.Acknowledgement, { status: 202 })

export const jobs = HttpApiEndpoint.get("jobs", "/api/v1/template-messages")
  .setUrlParams(JobFilter)
  .addSuccess(Schemas.Jobs)

export const job = HttpApiEndpoint.get("job", "/api/v1/template-messages/:jobId")
  .setPath(Schema.Struct({ jobId: Uuid }))
  .setUrlParams(Schema.Struct(resultFilter))
  .addSuccess(Schemas.JobDetail)

export const cancel = HttpApiEndpoint.post("cancel", "/api/v1/template-messages/:jobId/cancel")
  .setPath(Schema.Struct({ jobId: Uuid }))
  .addSuccess(Schemas.CanceledJob, { status: 202 })

export const connectionTest = HttpApiEndpoint.post("test", "/api/public/test").addSuccess(
  Schemas.ConnectionTest
)

export const sendDirect = HttpApiEndpoint.post("sendDirect", "/api/public/messages/send")
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(IdempotencyKey) }))
  .setPayload(Requests.DirectMessageRequest)
  .addSuccess(Schemas.DirectAcknowledgement)

export const message = HttpApiEndpoint.get("message", "/api/public/messages/:messageId")
  .setPath(Schema.Struct({ messageId: Uuid }))
  .addSuccess(Schemas.DirectMessage)

const hookPath = Schema.Struct({ sessionId: Uuid })
export const whatsAppChallenge = HttpApiEndpoint.get("whatsAppChallenge", "/hooks/whatsapp/:sessionId")
  .setPath(hookPath)
  .setUrlParams(
    Schema.Struct({
      "hub.mode": Schema.Literal("subscribe").annotations({ description: "What the platform asks for." }),
      "hub.challenge": Schema.String.annotations({
        description: "The text to answer.",
        jsonSchema: { minLength: 1 }
      })
    })
  )
  .addSuccess(HttpApiSchema.Text())
export const whatsAppHook = HttpApiEndpoint.post("whatsAppHook", "/hooks/whatsapp/:sessionId")
  .setPath(hookPath)
  .setPayload(Schemas.WhatsAppHook)
  .addSuccess(Schemas.Done)
export const gatewayHook = HttpApiEndpoint.post("gatewayHook", "/hooks/http/:sessionId")
  .setPath(hookPath)
  .setPayload(Schemas.GatewayHook)
  .addSuccess(Schemas.Done)

export const live = HttpApiEndpoint.get("live", "/health/live").addSuccess(Schemas.Health)
export const ready = HttpApiEndpoint.get("ready", "/health/ready").addSuccess(Schemas.Readiness)
export const problem = HttpApiEndpoint.get("problem", "/problems/:code")
  .setPath(Schema.Struct({ code: Schema.String.annotations({ description: "Of a refusal or of a fault." }) }))
  .addSuccess(Schemas.ProblemDescription)

export const versioned = HttpApiGroup.make("v1")
  .annotateContext(OpenApi.annotations({ description: "Template sends with an API key." }))
  .add(connection)
  .add(templates)
  .add(template)
  .add(estimate)
  .add(send)
  .add(jobs)
  .add(job)
  .add(cancel)

export const direct = HttpApiGroup.make("public")
  .annotateContext(OpenApi.annotations({ description: "Direct messages with an API key." }))
  .add(connectionTest)
  .add(sendDirect)
  .add(message)

export const service = HttpApiGroup.make("service")
  .annotateContext(OpenApi.annotations({ description: "Health, and what problem codes mean." }))
  .add(live)
  .add(ready)
  .add(problem)

export const hooks = HttpApiGroup.make("hooks")
  .annotateContext(OpenApi.annotations({ description: "What platforms post." }))
  .add(whatsAppChallenge)
  .add(whatsAppHook)
  .add(gatewayHook)

export const Api = HttpApi.make("sendwright")
  .add(versioned)
  .add(direct)
  .add(AdminApi.group)
  .add(hooks)
  .add(service)
  .annotateContext(
    OpenApi.annotations({
      title: "Sendwright",
      version: "1.0.0",
      description:
        "Template sends as durable jobs, direct messages, and their administration. Members and parameters that an operation does not define are refused; answers may grow. Times are RFC 3339 in UTC. A `cursor` is a list's own `next_cursor`, with the same filter; a page with a filter may be short or empty, and the list ends where `next_cursor` is null."
    })
  )
