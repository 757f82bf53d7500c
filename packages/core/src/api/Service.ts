/** The operations without credentials: health, and the meaning of problem codes. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Readiness } from "../index.ts"
import { codec, itself } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import { explain } from "./Explain.ts"
import { answer, forAnyone } from "./Operation.ts"
import * as Problems from "./Problems.ts"
import { NullableText, Ok, ok, Text } from "./Wire.ts"

const Live = Schema.Struct({ ok: Schema.Boolean, status: Text })

const Ready = Schema.Struct({
  ok: Ok,
  status: Schema.Literal("ready"),
  /** Of a 503 as well, where `detail` says what is wrong. */
  checks: Schema.Array(Schema.Struct({ name: Text, ok: Schema.Boolean, detail: NullableText }))
}).annotations({ identifier: "Readiness" })

const live = { ok: true, status: "live" }

const ready = codec(Ready, (checks: ReadonlyArray<Readiness.Check>) => ({
  ...ok,
  status: "ready" as const,
  checks: checks.map(Problems.readinessCheck)
}))

// As constants, since TypeScript infers nothing of an endpoint without parameters that stands where it is passed.
const liveEndpoint = Endpoint.get("live", "/health/live")
const readyEndpoint = Endpoint.get("ready", "/health/ready")

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

export const service = [...health, explain]
