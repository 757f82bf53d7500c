/** Why a command did not do what it was asked for. */
import { Fault } from "@sendwright/core"
import { Problems } from "@sendwright/core/contract"
import * as Logs from "../Logs.ts"
import * as StartFailure from "../StartFailure.ts"
import type { NotOpened } from "./OnDatabase.ts"
import type { Refused } from "./Refused.ts"

type Failure = NotOpened | Refused | Problems.EngineError

/** Every fault on a line of its own, or why there is no answer. */
const linesOf = (error: Failure): ReadonlyArray<string> => {
  if (error._tag === "Refused") return error.lines
  if (error._tag === "NotOpened") return [error.message]
  if (error._tag === "StorageError") return [`The storage does not answer: ${StartFailure.causeOf(error)}`]
  const { detail, faults } = Problems.describe(error)
  return faults === null
    ? [detail]
    : faults.map((fault) => [Fault.pointer(fault), fault.message].filter(Boolean).join(": "))
}

/** Files and platforms have written part of it, and a terminal may be what reads it. */
export const messageOf = (error: Failure): string => linesOf(error).map(Logs.printable).join("\n")
