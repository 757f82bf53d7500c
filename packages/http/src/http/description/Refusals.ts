/** The refusals of routes, by status. They follow from the catalogue of problems, and from who may call a route. */
import { ApiKey, Fault } from "@sendwright/core"
import { Examples, Problems, type Route } from "@sendwright/core/contract"
import * as Struct from "effect/Struct"
import { type Json, ref } from "../../api/Json.ts"
import * as Conditional from "../Conditional.ts"
import { always, ofKeys } from "./Headers.ts"

const { catalogue } = Problems
const codes = Struct.keys(catalogue)

const text = { type: "string" }
const id = { type: "string", format: "uuid" }

/** RFC 9457, and the members that some refusals have besides. */
export const problem = {
  type: "object",
  description: "A refusal (RFC 9457). `GET /problems/{code}` explains its code.",
  required: ["ok", "type", "title", "status", "code", "detail", "request_id"],
  properties: {
    ok: { type: "boolean", const: false },
    type: { type: "string", format: "uri-reference", description: "Where its code is explained." },
    title: text,
    status: { type: "integer", enum: [...new Set(codes.map((code) => catalogue[code].status))].sort() },
    code: { type: "string", enum: codes },
    detail: { type: "string", description: "What is wrong with this very request." },
    request_id: text,
    errors: {
      type: "array",
      maxItems: Fault.maximum,
      items: ref("schemas", "Fault"),
      description: "Of `invalid_request` and `consent_required`: every fault."
    },
    job_id: { ...id, description: "Of `idempotency_conflict`: the job that the key stands for." },
    message_id: { ...id, description: "Of `idempotency_conflict`: the message that the key stands for." },
    retry_id: {
      ...id,
      description: "Of `idempotency_conflict`: the retry of many jobs that the key stands for."
    },
    messageId: {
      ...id,
      description: "Of `send_failed`; absent where the platform was not asked, and nothing is recorded."
    },
    reason: { ...ref("schemas", "Failure"), description: "Of `send_failed`." },
    outcome: {
      type: "string",
      enum: ["unknown"],
      description: "Of `send_failed`, where it is not known whether the platform took the message."
    },
    links: {
      type: "object",
      properties: { status: text },
      description:
        "Of `send_failed` with an `outcome`: where to read what became of it, as `links` of a job says it."
    },
    checks: {
      type: "array",
      description: "Of `unavailable`, where readiness was asked for.",
      items: {
        type: "object",
        required: ["name", "ok", "detail"],
        properties: { name: text, ok: { type: "boolean" }, detail: { type: ["string", "null"] } }
      }
    },
    authenticated: { type: "boolean", description: "Of the connection test." },
    connected: { type: "boolean", description: "Of the connection test." },
    message: { type: "string", description: "Of the connection test." }
  }
}

/** Refusals that any request may meet. */
const ofAnyone: ReadonlyArray<Problems.Code> = [
  "malformed_request",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "invalid_request",
  "headers_too_large",
  "internal",
  "unavailable"
]

const ofAccess = (route: Route.Route): ReadonlyArray<Problems.Code> => {
  const { handler } = route
  switch (handler.access) {
    case "anyone":
    case "browser":
      return []
    // Without a token there is no admin API.
    case "operator":
      return [
        "invalid_credentials",
        "insufficient_permission",
        "not_found",
        ...(Conditional.isChange(route) ? (["precondition_failed"] as const) : []),
        "rate_limited"
      ]
    case "hook":
      return ["invalid_credentials", "rate_limited"]
    case "key": {
      const { permission } = handler
      return [
        "invalid_credentials",
        "subscription_inactive",
        ...(permission === null ? [] : (["insufficient_permission"] as const)),
        ...(permission === null || ApiKey.featureOf[permission] === null
          ? []
          : (["feature_unavailable"] as const)),
        "session_disconnected",
        "rate_limited"
      ]
    }
  }
}

/** The name of the response that refuses with one of these. */
export const nameOf = (some: ReadonlyArray<Problems.Code>): string =>
  some.map((code) => code.replaceAll(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase())).join("Or")

/** The codes with which a route refuses, by status, in the catalogue's order. */
export const refusalsOf = (route: Route.Route): ReadonlyMap<number, ReadonlyArray<Problems.Code>> => {
  const all = new Set<Problems.Code>([...ofAnyone, ...ofAccess(route), ...route.reference.refusals])
  const found = new Map<number, ReadonlyArray<Problems.Code>>()
  for (const code of codes) {
    const { status } = catalogue[code]
    if (all.has(code)) found.set(status, [...(found.get(status) ?? []), code])
  }
  return found
}

const waits: ReadonlyArray<Problems.Code> = ["rate_limited", "minimum_wait_active", "unavailable"]

const faultExample = {
  pointer: "/recipients/0/phone",
  code: "recipient_invalid",
  message: "Write the number as digits only: 34600000100."
}

/** The response that refuses with one of these. */
export const response = (baseUrl: string, some: ReadonlyArray<Problems.Code>): Json => {
  const examples = some.map((code) => {
    const { description, title } = catalogue[code]
    const answer = Problems.body(Problems.problem(code, description), {
      baseUrl,
      prefix: "",
      requestId: Examples.ids.request
    })
    const value = code === "invalid_request" ? { ...answer, errors: [faultExample] } : answer
    return [code, { summary: title, value }] as const
  })
  return {
    description: some.map((code) => `\`${code}\`: ${catalogue[code].description}`).join("\n\n"),
    headers: {
      ...always,
      ...ofKeys,
      ...(some.every((code) => waits.includes(code)) ? { "Retry-After": ref("headers", "RetryAfter") } : {}),
      ...(some.includes("invalid_credentials")
        ? { "WWW-Authenticate": ref("headers", "WwwAuthenticate") }
        : {})
    },
    content: {
      "application/problem+json": {
        schema: {
          allOf: [ref("schemas", "Problem"), { type: "object", properties: { code: { enum: some } } }]
        },
        examples: Object.fromEntries(examples)
      }
    }
  }
}
