/** Whose an API key is, what it may do, and if its session is connected (contract.md §A2.1). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Engine } from "../index.ts"
import { Requests } from "../index.ts"
import { computed, itself, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forKey } from "./Operation.ts"
import type { EngineError } from "./Problems.ts"
import * as Wire from "./Wire.ts"

const session = struct({
  id: Wire.Id,
  name: Wire.Text,
  provider: Wire.Text,
  state: Wire.SessionState,
  connected_since: Wire.NullableTime,
  unavailable_since: Wire.unavailable
})

const yes = computed(Schema.Literal(true), () => true as const)

const Limits = Schema.Struct({
  requests_per_minute: Wire.Count,
  minimum_wait_ms: Wire.Count,
  recipients_per_request: Wire.Count
})

const connection = struct(
  {
    ok: Wire.isOk,
    authenticated: yes,
    connected: yes,
    session,
    permissions: computed(Schema.Array(Wire.Permission), ({ key }: Engine.Caller) => key.permissions),
    limits: computed(Limits, ({ account: { plan } }: Engine.Caller) => ({
      requests_per_minute: plan.requestsPerMinute,
      minimum_wait_ms: plan.minimumWaitMs,
      recipients_per_request: Requests.maximumRecipients
    }))
  },
  "Connection"
)

const ConnectionTest = Schema.Struct({
  ok: Schema.Boolean,
  authenticated: Schema.Boolean,
  connected: Schema.Boolean,
  message: Wire.Text
}).annotations({ identifier: "ConnectionTest" })

const passed = {
  ok: true,
  authenticated: true,
  connected: true,
  message: "The key is active and its session is connected."
}

/** The four fields of the connection test, which its refusals carry too (contract.md §2). */
const testRefusal = (error: EngineError): Readonly<Record<string, unknown>> => {
  if (error._tag === "InvalidCredentials")
    return { authenticated: false, connected: false, message: error.message }
  if (error._tag === "SessionDisconnected")
    return { authenticated: true, connected: false, message: error.message }
  return {}
}

// As a constant, since TypeScript infers nothing of an endpoint without parameters that stands where it is passed.
const connectionEndpoint = Endpoint.get("connection", "/api/v1/connection")
const testEndpoint = Endpoint.post("test", "/api/public/test")

export const versioned = [
  forKey(
    connectionEndpoint,
    "connection:read",
    answer(connection, {
      ...Wire.ok,
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
      limits: { requests_per_minute: 600, minimum_wait_ms: 0, recipients_per_request: 250 }
    }),
    {
      summary: "Validate credentials and session",
      description: "Tells whose the key is, what it may do, and the limits of its plan."
    },
    (_, caller) => Effect.succeed(caller)
  )
]

export const direct = [
  forKey(
    testEndpoint,
    null,
    answer(itself(ConnectionTest), passed),
    {
      summary: "Test an API key",
      description: "Tells whether the key is active and its session connected. Its refusals tell it, too."
    },
    () => Effect.succeed(passed),
    { refusal: testRefusal }
  )
]
