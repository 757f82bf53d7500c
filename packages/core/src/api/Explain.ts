/** Explains codes: those of refusals, of the single faults of a refusal, and of messages that failed. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Errors, FailureCatalogue } from "../index.ts"
import { itself } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import { answer, forAnyone } from "./Operation.ts"
import * as Problems from "./Problems.ts"
import { plainly } from "./Texts.ts"
import { Count, Ok, ok, Text } from "./Wire.ts"

const Explanation = Schema.Struct({
  ok: Ok,
  code: Text,
  status: Schema.NullOr(Count),
  title: plainly(Text),
  description: plainly(Text)
})

const isCode = (text: string): text is Problems.Code => Object.hasOwn(Problems.catalogue, text)

const ofFault = (code: string) => {
  const description = Problems.faultDescription(code)
  return description === undefined ? undefined : { code, title: "A fault of one field", description }
}

const ofFailure = (given: string) => {
  const found = FailureCatalogue.explain(given)
  return found && { code: found.code, title: "A failure of a message", description: found.text }
}

const explanationOf = (code: string): Effect.Effect<typeof Explanation.Type, Errors.NotFound> => {
  if (isCode(code)) return Effect.succeed({ ...ok, code, ...Problems.catalogue[code] })
  const found = Option.fromNullable(ofFault(code) ?? ofFailure(code))
  return Option.match(found, {
    onNone: () => Effect.fail(new Errors.NotFound({ what: unknown })),
    onSome: (known) => Effect.succeed({ ...ok, status: null, ...known })
  })
}

const unknown =
  "code of ours, or of a platform; refusals and their codes are in /docs and /openapi.json, those of messages in docs/failures.md, The catalogue"

const command = {
  name: "explain",
  description:
    "Explain a code: of a refusal, of one of its faults, of a message that failed, or the platform's own of that."
}

/** This operation is a tool for an agent, too. */
export const explain = {
  ...forAnyone(
    Endpoint.get("problem", "/problems/:code").setPath(
      Schema.Struct({
        code: Schema.String.annotations({
          description: "Of a refusal, of a fault, or of a message that failed."
        })
      })
    ),
    answer(itself(Explanation), {
      ...ok,
      code: "job_ended",
      status: 409,
      title: "Job ended",
      description: "The job has ended, so that nothing of it is left to cancel, to change or to hold."
    }),
    {
      summary: "Explain a code",
      description:
        "Of a refusal; or, then `status` is null, of a single fault within its `errors`, or of a message that failed: by our `code`, or by the `provider_code` of WhatsApp."
    },
    (_, { path }) => explanationOf(path.code)
  ),
  command
}
