/** What needs no credentials: health, and what problem codes mean. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import { Errors, Readiness } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Problems from "../http/Problems.ts"
import { reply } from "../http/Route.ts"
import { forAnyone } from "./Operation.ts"
import { Count, NullableText, Ok, ok, Text } from "./Wire.ts"

const Live = Schema.Struct({ ok: Schema.Boolean, status: Text })

const Ready = Schema.Struct({
  ok: Ok,
  status: Schema.Literal("ready"),
  /** Of a 503 as well, where `detail` says what is wrong. */
  checks: Schema.Array(Schema.Struct({ name: Text, ok: Schema.Boolean, detail: NullableText }))
}).annotations({ identifier: "Readiness" })

const ProblemDescription = Schema.Struct({
  ok: Ok,
  code: Text,
  status: Schema.NullOr(Count),
  title: Text,
  description: Text
})

const isCode = (text: string): text is Problems.Code => Object.hasOwn(Problems.catalogue, text)

/** All that a worker answers. One that stops is alive until it has ended, and ready for nothing at once. */
export const health = [
  forAnyone(
    HttpApiEndpoint.get("live", "/health/live").addSuccess(Live),
    {
      summary: "Tell that the process lives",
      description: "Answers as long as the process can answer at all, while it stops, too.",
      answer: { ok: true, status: "live" }
    },
    () => () => Effect.succeed(reply({ ok: true, status: "live" })),
    { whileStopping: true }
  ),
  forAnyone(
    HttpApiEndpoint.get("ready", "/health/ready").addSuccess(Ready),
    {
      summary: "Tell whether it can accept, write and send",
      description:
        "A 503 names in `checks` what cannot. While the store is held after a restore it is ready, since it accepts sends and hooks, and `restore` says so in its `detail`.",
      answer: { ...ok, status: "ready", checks: [{ name: "storage", ok: true, detail: null }] }
    },
    ({ readiness }) =>
      () =>
        Effect.flatMap(readiness, (checks) =>
          checks.every(({ fault }) => fault === null)
            ? Effect.succeed(
                reply({ ...ok, status: "ready" as const, checks: checks.map(Problems.readinessCheck) })
              )
            : Effect.fail(new Readiness.NotReady({ checks }))
        )
  )
]

export const service = [
  ...health,
  forAnyone(
    HttpApiEndpoint.get("problem", "/problems/:code")
      .setPath(
        Schema.Struct({ code: Schema.String.annotations({ description: "Of a refusal or of a fault." }) })
      )
      .addSuccess(ProblemDescription),
    {
      summary: "Explain a problem code",
      description: "Of a refusal, or of a single fault within its `errors`: then `status` is null.",
      answer: {
        ...ok,
        code: "job_ended",
        status: 409,
        title: "Job ended",
        description: "The job has ended, so that nothing of it is left to cancel."
      },
      refusals: ["not_found"]
    },
    () =>
      ({ path: { code } }) => {
        if (isCode(code)) {
          const { description, status, title } = Problems.catalogue[code]
          return Effect.succeed(reply({ ...ok, code, status, title, description }))
        }
        const description = Problems.faultDescription(code)
        return description === undefined
          ? Effect.fail(new Errors.NotFound({ what: "problem code" }))
          : Effect.succeed(reply({ ...ok, code, status: null, title: "A fault of one field", description }))
      }
  )
]
