/** The contract: every endpoint, once. `/openapi.json` and the routes are both made from it. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Requests } from "@sendwright/core"
import * as RateCard from "@sendwright/core/domain/RateCard"
import * as Schema from "effect/Schema"
import * as AdminApi from "./AdminApi.ts"
import { JobFilter, paging, resultFilter, Uuid, WholeNumber } from "./Parameters.ts"
import * as Schemas from "./Schemas.ts"

const described = (summary: string) => OpenApi.annotations({ summary })

export const connection = HttpApiEndpoint.get("connection", "/api/v1/connection")
  .addSuccess(Schemas.Connection)
  .annotateContext(described("Validate credentials and session"))

export const templates = HttpApiEndpoint.get("templates", "/api/v1/templates")
  .setUrlParams(
    Schema.Struct({
      ...paging,
      category: Schema.optional(Schema.Literal(...RateCard.categories)),
      language: Schema.optional(Schema.String),
      name: Schema.optional(Schema.String)
    })
  )
  .addSuccess(Schemas.Templates)
  .annotateContext(described("List approved templates"))

export const template = HttpApiEndpoint.get("template", "/api/v1/templates/:templateId")
  .setPath(Schema.Struct({ templateId: WholeNumber }))
  .addSuccess(Schemas.TemplateDetail)
  .annotateContext(described("Read a template and its variables"))

export const estimate = HttpApiEndpoint.post("estimate", "/api/v1/template-messages/estimate")
  .setUrlParams(Schema.Struct({ explain: Schema.optional(Schema.Literal("true", "false")) }))
  .setPayload(Requests.TemplateMessageRequest)
  .addSuccess(Schemas.Estimate)
  .annotateContext(described("Estimate the cost of a send, not binding"))

export const send = HttpApiEndpoint.post("send", "/api/v1/template-messages/send")
  .setHeaders(
    Schema.Struct({
      "idempotency-key": Schema.String.annotations({ description: "1 to 128 visible ASCII characters." })
    })
  )
  .setPayload(Requests.TemplateMessageRequest)
  .addSuccess(Schemas.Acknowledgement, { status: 202 })
  .annotateContext(described("Send a template to 1 to 250 recipients"))

export const jobs = HttpApiEndpoint.get("jobs", "/api/v1/template-messages")
  .setUrlParams(JobFilter)
  .addSuccess(Schemas.Jobs)
  .annotateContext(described("List this key's jobs, newest first"))

export const job = HttpApiEndpoint.get("job", "/api/v1/template-messages/:jobId")
  .setPath(Schema.Struct({ jobId: Uuid }))
  .setUrlParams(Schema.Struct(resultFilter))
  .addSuccess(Schemas.JobDetail)
  .annotateContext(described("Read a job and its result per recipient"))

export const cancel = HttpApiEndpoint.post("cancel", "/api/v1/template-messages/:jobId/cancel")
  .setPath(Schema.Struct({ jobId: Uuid }))
  .addSuccess(Schemas.CanceledJob, { status: 202 })
  .annotateContext(described("Cancel what of a job was not sent; what is in flight finishes"))

export const connectionTest = HttpApiEndpoint.post("test", "/api/public/test")
  .addSuccess(Schemas.ConnectionTest)
  .annotateContext(described("Test an API key"))

export const sendDirect = HttpApiEndpoint.post("sendDirect", "/api/public/messages/send")
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(Schema.String) }))
  .setPayload(Requests.DirectMessageRequest)
  .addSuccess(Schemas.DirectAcknowledgement)
  .annotateContext(described("Send one text message now"))

export const message = HttpApiEndpoint.get("message", "/api/public/messages/:messageId")
  .setPath(Schema.Struct({ messageId: Uuid }))
  .addSuccess(Schemas.DirectMessage)
  .annotateContext(described("Read a direct message, settled meanwhile when its outcome was unknown"))

const hookPath = Schema.Struct({ sessionId: Uuid })
export const whatsAppChallenge = HttpApiEndpoint.get("whatsAppChallenge", "/hooks/whatsapp/:sessionId")
  .setPath(hookPath)
  .addSuccess(Schemas.Done)
  .annotateContext(described("The handshake of the WhatsApp Cloud API: answers hub.challenge as text"))
export const whatsAppHook = HttpApiEndpoint.post("whatsAppHook", "/hooks/whatsapp/:sessionId")
  .setPath(hookPath)
  .addSuccess(Schemas.Done)
  .annotateContext(described("What the WhatsApp Cloud API posts, signed by X-Hub-Signature-256"))
export const gatewayHook = HttpApiEndpoint.post("gatewayHook", "/hooks/http/:sessionId")
  .setPath(hookPath)
  .addSuccess(Schemas.Done)
  .annotateContext(
    described("Receipts and inbound messages of a gateway of one's own, signed by X-Service-Signature")
  )

export const live = HttpApiEndpoint.get("live", "/health/live").addSuccess(Schemas.Health)
export const ready = HttpApiEndpoint.get("ready", "/health/ready").addSuccess(Schemas.Readiness)
export const problem = HttpApiEndpoint.get("problem", "/problems/:code")
  .setPath(Schema.Struct({ code: Schema.String }))
  .addSuccess(Schemas.ProblemDescription)
  .annotateContext(described("What a problem code means"))

export const versioned = HttpApiGroup.make("v1")
  .add(connection)
  .add(templates)
  .add(template)
  .add(estimate)
  .add(send)
  .add(jobs)
  .add(job)
  .add(cancel)

export const direct = HttpApiGroup.make("public").add(connectionTest).add(sendDirect).add(message)

export const service = HttpApiGroup.make("service").add(live).add(ready).add(problem)

export const hooks = HttpApiGroup.make("hooks").add(whatsAppChallenge).add(whatsAppHook).add(gatewayHook)

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
        "Template sends as durable jobs, direct messages, and their administration. Members and parameters that an operation does not define are refused; answers may grow. A `cursor` is a list's own `next_cursor`, with the same filter."
    })
  )
