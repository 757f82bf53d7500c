/** Why something was not done, or not all of it. */
import { Json } from "@sendwright/core/adapter"
import * as Data from "effect/Data"

/** A line of standard error for each fault. What was not refused is done. */
export class Refused extends Data.TaggedError("Refused")<{ readonly lines: ReadonlyArray<string> }> {}

/** A refusal in words of its own. */
export const told = (...lines: ReadonlyArray<string>): Refused => new Refused({ lines })

const lineOf = (fault: unknown): string =>
  [Json.textAt(fault, "pointer") ?? "", Json.textAt(fault, "message") ?? ""].filter(Boolean).join(": ")

/** A refusal as a host tells it, in problem+json. */
export const ofProblem = (body: unknown): Refused => {
  const faults = Json.listAt(body, "errors").map(lineOf)
  return new Refused({
    lines:
      faults.length > 0 ? faults : [Json.textAt(body, "detail") ?? "The host refuses it, and says not why."]
  })
}

/** Reads the refused items of an answer that has a result for each; undefined when none was refused. */
export const inAnswer = (body: unknown): Refused | undefined => {
  const found = Json.listAt(body, "results").flatMap((result) => Json.listAt(result, "errors").map(lineOf))
  return found.length === 0 ? undefined : new Refused({ lines: found })
}
