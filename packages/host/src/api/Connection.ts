/** Whose an API key is, what it may do, and if its session is connected (interface.md §2.1). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Engine } from "@sendwright/core"
import * as Requests from "@sendwright/core/Requests"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EngineError } from "../http/Problems.ts"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forKey } from "./Operation.ts"
import {
  Count,
  Id,
  NullableTime,
  Ok,
  ok,
  Permission,
  SessionState,
  Text,
  timeOrNull,
  Unavailable,
  type View
} from "./Wire.ts"

const Connection = Schema.Struct({
  ok: Ok,
  authenticated: Schema.Literal(true),
  connected: Schema.Literal(true),
  session: Schema.Struct({
    id: Id,
    name: Text,
    provider: Text,
    state: SessionState,
    connected_since: NullableTime,
    unavailable_since: Unavailable
  }),
  permissions: Schema.Array(Permission),
  limits: Schema.Struct({ requests_per_minute: Count, minimum_wait_ms: Count, recipients_per_request: Count })
}).annotations({ identifier: "Connection" })

const connection = ({ account, key, session }: Engine.Caller): View<typeof Connection> => ({
  ok: true,
  authenticated: true,
  connected: true,
  session: {
    id: session.id,
    name: session.name,
    provider: session.provider,
    state: session.state,
    connected_since: timeOrNull(session.connectedSince),
    unavailable_since: timeOrNull(session.outage?.since ?? null)
  },
  permissions: key.permissions,
  limits: {
    requests_per_minute: account.plan.requests_per_minute,
    minimum_wait_ms: account.plan.minimum_wait_ms,
    recipients_per_request: Requests.maximumRecipients
  }
})

const ConnectionTest = Schema.Struct({
  ok: Schema.Boolean,
  authenticated: Schema.Boolean,
  connected: Schema.Boolean,
  message: Text
}).annotations({ identifier: "ConnectionTest" })

const passed: View<typeof ConnectionTest> = {
  ok: true,
  authenticated: true,
  connected: true,
  message: "The key is active and its session is connected."
}

/** The four fields of the connection test, which its refusals carry too (decisions.md §2). */
const testRefusal = (error: EngineError): Readonly<Record<string, unknown>> => {
  if (error._tag === "InvalidCredentials")
    return { authenticated: false, connected: false, message: error.message }
  if (error._tag === "SessionDisconnected")
    return { authenticated: true, connected: false, message: error.message }
  return {}
}

export const versioned = [
  forKey(
    HttpApiEndpoint.get("connection", "/api/v1/connection").addSuccess(Connection),
    "connection:read",
    {
      summary: "Validate credentials and session",
      description: "Tells whose the key is, what it may do, and the limits of its plan.",
      answer: {
        ...ok,
        authenticated: true,
        connected: true,
        session: {
          id: Examples.session.id,
          name: Examples.session.name,
          provider: Examples.session.provider,
          state: Examples.session.state,
          connected_since: Examples.at,
          unavailable_since: null
        },
        permissions: ["messages:send", "jobs:read"],
        limits: { requests_per_minute: 120, minimum_wait_ms: 1000, recipients_per_request: 250 }
      }
    },
    () => (caller) => () => Effect.succeed(reply(connection(caller)))
  )
]

export const direct = [
  forKey(
    HttpApiEndpoint.post("test", "/api/public/test").addSuccess(ConnectionTest),
    null,
    {
      summary: "Test an API key",
      description: "Tells whether the key is active and its session connected. Its refusals tell it, too.",
      answer: passed
    },
    () => () => () => Effect.succeed(reply(passed)),
    testRefusal
  )
]
