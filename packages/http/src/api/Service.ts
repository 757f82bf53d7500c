/** What needs no credentials: health, and what problem codes mean. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import { Errors, Readiness } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Problems from "../http/Problems.ts"
import { codec, itself } from "./Codec.ts"
import { answer, forAnyone } from "./Operation.ts"
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

const live = { ok: true, status: "live" }

const ready = codec(Ready, (checks: ReadonlyArray<Readiness.Check>) => ({
  ...ok,
  status: "ready" as const,
  checks: checks.map(Problems.readinessCheck)
}))

// As constants, since TypeScript infers nothing of an endpoint without parameters that stands where it is passed.
const liveEndpoint = HttpApiEndpoint.get("live", "/health/live")
const readyEndpoint = HttpApiEndpoint.get("ready", "/health/ready")

/** All that a worker answers. One that stops is alive until it has ended, and ready for nothing at once. */
export const health = [
  forAnyone(
    liveEndpoint,
    answer(itself(Live), live),
    {
      summary: "Tell that the process lives",
      description: "Answers as long as the process can answer at all, while it stops, too."
    },
    () => Effect.succeed(live),
    { whileStopping: true }
  ),
  forAnyone(
    readyEndpoint,
    answer(ready, { ...ok, status: "ready", checks: [{ name: "storage", ok: true, detail: null }] }),
    {
      summary: "Tell whether it can accept, write and send",
      description:
        "A 503 names in `checks` what cannot. While the store is held after a restore it is ready, since it accepts sends and hooks, and `restore` says so in its `detail`."
    },
    ({ readiness }) =>
      Effect.filterOrFail(
        readiness,
        (checks) => checks.every(({ fault }) => fault === null),
        (checks) => new Readiness.NotReady({ checks })
      )
  )
]

const problemOf = (code: string): Effect.Effect<typeof ProblemDescription.Type, Errors.NotFound> => {
  if (isCode(code)) return Effect.succeed({ ...ok, code, ...Problems.catalogue[code] })
  const description = Problems.faultDescription(code)
  return description === undefined
    ? Effect.fail(new Errors.NotFound({ what: "problem code" }))
    : Effect.succeed({ ...ok, code, status: null, title: "A fault of one field", description })
}

export const service = [
  ...health,
  forAnyone(
    HttpApiEndpoint.get("problem", "/problems/:code").setPath(
      Schema.Struct({ code: Schema.String.annotations({ description: "Of a refusal or of a fault." }) })
    ),
    answer(itself(ProblemDescription), {
      ...ok,
      code: "job_ended",
      status: 409,
      title: "Job ended",
      description: "The job has ended, so that nothing of it is left to cancel."
    }),
    {
      summary: "Explain a problem code",
      description: "Of a refusal, or of a single fault within its `errors`: then `status` is null."
    },
    (_, { path }) => problemOf(path.code)
  )
]
