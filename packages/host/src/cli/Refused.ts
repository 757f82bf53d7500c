/** Why items of a file were refused, each by where it stands in the file. */
import { Fault } from "@sendwright/core"
import { Json } from "@sendwright/core/adapter"
import * as Data from "effect/Data"

/** A line of standard error for each fault. What was not refused is done. */
export class Refused extends Data.TaggedError("Refused")<{ readonly lines: ReadonlyArray<string> }> {}

/** A refusal in words of its own. */
export const told = (...lines: ReadonlyArray<string>): Refused => new Refused({ lines })

/** The line of a fault; by the API's pointer where the file has no lines for its items. */
const lineOf = (pointer: string, message: string, lines: ReadonlyArray<number> | undefined): string => {
  const [, item = "", member] = /^\/\w+\/(\d+)(?:\/(.*))?$/.exec(pointer) ?? []
  const line = item === "" ? undefined : lines?.[Number(item)]
  const where =
    line === undefined ? pointer : [`line ${line}`, ...(member === undefined ? [] : [member])].join(", ")
  return where === "" ? message : `${where}: ${message}`
}

export const ofFaults = (
  faults: ReadonlyArray<Fault.Fault>,
  lines: ReadonlyArray<number> | undefined
): Refused =>
  new Refused({ lines: faults.map((fault) => lineOf(Fault.pointer(fault), fault.message, lines)) })

/** A refusal as a host tells it, in problem+json. */
export const ofProblem = (body: unknown, lines: ReadonlyArray<number> | undefined): Refused => {
  const faults = Json.listAt(body, "errors").map((fault) =>
    lineOf(Json.textAt(fault, "pointer") ?? "", Json.textAt(fault, "message") ?? "", lines)
  )
  return new Refused({
    lines:
      faults.length > 0 ? faults : [Json.textAt(body, "detail") ?? "The host refuses it, and says not why."]
  })
}

/** Reads the refused items of an answer that has a result for each; undefined when none was refused. */
export const inAnswer = (body: unknown, lines: ReadonlyArray<number> | undefined): Refused | undefined => {
  const found = Json.listAt(body, "results").flatMap((result) =>
    Json.listAt(result, "errors").map((error) =>
      lineOf(Json.textAt(error, "pointer") ?? "", Json.textAt(error, "message") ?? "", lines)
    )
  )
  return found.length === 0 ? undefined : new Refused({ lines: found })
}
