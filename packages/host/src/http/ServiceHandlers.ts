/** What needs no credentials: health, and what problem codes mean. */
import { type Engine, Errors, Readiness } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Api from "../api/Api.ts"
import * as Problems from "./Problems.ts"
import type { Route } from "./Route.ts"
import { forAnyone, reply } from "./Route.ts"
import * as Views from "./Views.ts"

const isCode = (text: string): text is Problems.Code => Object.hasOwn(Problems.catalogue, text)

/** All that a worker answers. One that stops is alive until it has ended, and ready for nothing at once. */
export const health = ({ readiness }: Context.Tag.Service<Engine.Engine>): ReadonlyArray<Route> => [
  {
    ...forAnyone(Api.live, () => Effect.succeed(reply({ ok: true, status: "live" }))),
    whileStopping: true
  },
  forAnyone(Api.ready, () =>
    Effect.flatMap(readiness, (checks) =>
      checks.every(({ fault }) => fault === null)
        ? Effect.succeed(reply({ ok: true as const, status: "ready" as const, checks: Views.checks(checks) }))
        : Effect.fail(new Readiness.NotReady({ checks }))
    )
  )
]

export const make = (engine: Context.Tag.Service<Engine.Engine>): ReadonlyArray<Route> => [
  ...health(engine),
  forAnyone(Api.problem, ({ path: { code } }) => {
    if (isCode(code)) {
      const { description, status, title } = Problems.catalogue[code]
      return Effect.succeed(reply({ ok: true as const, code, status, title, description }))
    }
    const description = Problems.faultDescription(code)
    return description === undefined
      ? Effect.fail(new Errors.NotFound({ what: "problem code" }))
      : Effect.succeed(
          reply({ ok: true as const, code, status: null, title: "A fault of one field", description })
        )
  })
]
