/** The handlers of the versioned API and the public endpoints: call the engine, shape the answer. */
import { type Engine, Requests, Template } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Api from "../api/Api.ts"
import { page } from "../api/Parameters.ts"
import type { EngineError } from "./Problems.ts"
import type { Route } from "./Route.ts"
import { forKey, forKeyUnchecked, reply } from "./Route.ts"
import * as Views from "./Views.ts"

const replayedHeader = (replayed: boolean): Readonly<Record<string, string>> =>
  replayed ? { "idempotency-replayed": "true" } : {}

/** The four fields of the connection test, which its refusals carry too (decisions.md §2). */
const testRefusal = (error: EngineError): Readonly<Record<string, unknown>> => {
  if (error._tag === "InvalidCredentials")
    return { authenticated: false, connected: false, message: error.message }
  if (error._tag === "SessionDisconnected")
    return { authenticated: true, connected: false, message: error.message }
  return {}
}

const jobPage = 250

export const make = (engine: Context.Tag.Service<Engine.Engine>): ReadonlyArray<Route> => [
  forKey(
    Api.connection,
    "connection:read",
    (caller) => () => Effect.succeed(reply(Views.connection(caller, Requests.maximumRecipients)))
  ),
  forKey(
    Api.templates,
    "templates:read",
    (caller) =>
      ({ after, cursor, query }) =>
        Effect.map(engine.templates(caller, { ...query, page: page(query, after) }), (found) =>
          reply(Views.templates(found, cursor))
        )
  ),
  forKey(
    Api.template,
    "templates:read",
    (caller) =>
      ({ path }) =>
        Effect.map(engine.template(caller, path.templateId), (found) =>
          reply({ ok: true as const, template: Template.toWire(found) })
        )
  ),
  forKeyUnchecked(
    Api.estimate,
    "messages:estimate",
    (caller) =>
      ({ payload, query }) =>
        Effect.map(engine.estimate(caller, payload, { explain: query.explain === "true" }), (found) =>
          reply(Views.estimate(found))
        )
  ),
  forKeyUnchecked(
    Api.send,
    "messages:send",
    (caller) =>
      ({ idempotencyKey, payload }) =>
        Effect.map(engine.send(caller, { idempotencyKey, request: payload }), (accepted) =>
          reply(Views.acknowledgement(accepted), replayedHeader(accepted.replayed))
        )
  ),
  forKey(
    Api.jobs,
    "jobs:read",
    (caller) =>
      ({ after, cursor, query }) =>
        Views.jobFilter(query).pipe(
          Effect.flatMap((filter) => engine.jobs(caller, { ...filter, page: page(query, after) })),
          Effect.map((found) => reply(Views.jobs(found, cursor)))
        )
  ),
  forKey(
    Api.job,
    "jobs:read",
    (caller) =>
      ({ after, cursor, path, query }) =>
        Effect.map(
          engine.job(caller, path.jobId.toLowerCase(), {
            recipientStatus: query.recipient_status,
            page: page(query, after, jobPage)
          }),
          (found) => reply(Views.jobDetail(found, cursor))
        )
  ),
  forKey(
    Api.cancel,
    "messages:send",
    (caller) =>
      ({ path }) =>
        Effect.map(engine.cancel(caller, path.jobId.toLowerCase()), (found) =>
          reply({ ok: true as const, job: Views.job(found) })
        )
  ),
  forKey(
    Api.connectionTest,
    null,
    () => () =>
      Effect.succeed(
        reply({
          ok: true,
          authenticated: true,
          connected: true,
          message: "The key is active and its session is connected."
        })
      ),
    testRefusal
  ),
  forKeyUnchecked(
    Api.sendDirect,
    "direct:send",
    (caller) =>
      ({ idempotencyKey, payload }) =>
        Effect.map(engine.sendDirect(caller, { idempotencyKey, request: payload }), (sent) =>
          reply(Views.direct(sent), replayedHeader(sent.replayed))
        )
  ),
  forKey(
    Api.message,
    "direct:read",
    (caller) =>
      ({ path }) =>
        Effect.map(engine.message(caller, path.messageId.toLowerCase()), (found) =>
          reply(Views.directMessage(found))
        )
  )
]
