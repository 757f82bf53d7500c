/** What needs no credentials: health, and what problem codes mean. */
import { Errors } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Api from "../api/Api.ts"
import type { EngineError } from "./Problems.ts"
import * as Problems from "./Problems.ts"
import type { Route } from "./Route.ts"
import { forAnyone, reply } from "./Route.ts"

const isCode = (text: string): text is Problems.Code => Object.hasOwn(Problems.catalogue, text)

export const make = (ready: Effect.Effect<void, EngineError>): ReadonlyArray<Route> => [
  forAnyone(Api.live, () => Effect.succeed(reply({ ok: true, status: "live" }))),
  forAnyone(Api.ready, () => Effect.as(ready, reply({ ok: true, status: "ready" }))),
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
