/**
 * What callers give, checked where it comes in by its schema: who writes JavaScript has no compiler that does. A member that an
 * input does not have is a fault, as in the REST API.
 */
import { RequestDecoder } from "@sendwright/core"
import * as Schema from "effect/Schema"
import * as Failures from "./Failures.ts"

const isDate = (value: unknown): value is Date => value instanceof Date && !Number.isNaN(value.getTime())
export const Time = Schema.declare(isDate, { title: "a `Date`" })

/** Reads an input, or throws with every fault of it; `name` is what the whole is called. */
export const input = <A>(
  schema: Schema.Schema<A>,
  { code, name }: { readonly code?: string; readonly name?: string } = {}
): ((given: unknown) => A) => {
  const decode = RequestDecoder.decoder(schema, name === undefined ? [] : [name])
  return (given) => {
    const read = decode(given)
    if (read._tag === "Left") throw Failures.invalid(read.left, code)
    return read.right
  }
}
