/** Reads a hook's body after its signature was verified, in pieces between which other work runs. */
import * as Effect from "effect/Effect"
import * as Json from "../domain/Json.ts"
import * as JsonScan from "../domain/JsonScan.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"

/** A platform posts up to a thousand updates at once (contract.md §W1.8), which have some tens of members each. */
const bounds: JsonScan.Bounds = { levels: 64, values: 75_000, names: 10_000 }

/** From this length on the signature's check and the parsing, which cannot be cut, have turns of their own. */
const longBody = 128 * 1024

/** Bytes that are decoded in one piece: what is not ASCII takes ten times as long. */
const atOnce = 16 * 1024

/** The limits of a hook's body, for the message that refuses it. */
export const limits = `with at most ${bounds.values.toLocaleString("en")} members and items in all, of ${bounds.names.toLocaleString("en")} different names, nested at most ${bounds.levels} levels deep`

/** The body as text, decoded piece by piece. */
function* textOf(body: Uint8Array): Generator<void, string> {
  const decoder = new TextDecoder()
  const pieces: Array<string> = []
  for (let from = 0; from < body.length; from += atOnce) {
    pieces.push(decoder.decode(body.subarray(from, from + atOnce), { stream: true }))
    yield
  }
  pieces.push(decoder.decode())
  return pieces.join("")
}

/** The JSON value; undefined for what is no JSON or goes beyond the limits. */
export const read = (body: Uint8Array): Effect.Effect<unknown> => {
  const yielded = body.length < longBody ? Effect.void : EventLoopBudget.nextTurn
  return Effect.gen(function* () {
    yield* yielded
    const text = yield* EventLoopBudget.runInPieces(textOf(body))
    if (!(yield* EventLoopBudget.runInPieces(JsonScan.isWithin(text, bounds)))) return undefined
    yield* yielded
    const value = Json.parse(text)
    yield* yielded
    return value
  })
}
