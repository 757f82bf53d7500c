/** The body of a request: what it may be, and when it is read. */
import { EventLoopBudget } from "@sendwright/core/adapter"
import { Problems, type Route } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import { lastAnswer, Refused, refuse, refused, stopping } from "./Answers.ts"
import * as Body from "./Body.ts"
import type { PlainRequest, Unread } from "./Exchange.ts"
import { headerOf, none } from "./Exchange.ts"

const notJson = refuse("unsupported_media_type", "The body must be JSON: Content-Type: application/json.")
export const otherCharset = refuse(
  "unsupported_media_type",
  "The body must be UTF-8: send Content-Type: application/json with charset=utf-8, or with no charset."
)
const encoded = refuse("unsupported_media_type", "The body must come without a content encoding.")
const tooLarge = refuse("payload_too_large", "The body must be at most 1 MiB.")
const signInTooLarge = refuse("payload_too_large", "The body of a sign-in must be at most 4 KiB.")
const unaskedTooLarge = refuse(
  "payload_too_large",
  "No body is taken here; leave it out, or send at most 1 KiB."
)
export const hookTooLarge = refuse("payload_too_large", "A hook's body must be at most 4 MiB.")

/** The rest of the body is not read, so that the connection cannot be used again. */
const noRoom = refused("unavailable", "More bodies are coming in than the host has memory for.", {
  headers: lastAnswer,
  retryAfterMs: 1000
})

const takenDetail =
  "The body was read before the API got the request, by a body parser most likely. Mount the API before express.json() and its like: hooks are signed over the bytes as they came."

/** A mistake of whoever mounted the API, which the log tells, too. */
const taken = new Refused(Problems.problem("internal", takenDetail), none, new Error(takenDetail))

const unreadFor: Readonly<Record<Unread["reason"], Refused>> = { "no room": noRoom, stopping, taken }
export const unread = ({ reason }: Unread) => unreadFor[reason]
const noBody: Effect.Effect<Route.Raw["body"]> = Effect.succeed(null)

/**
 * Reads and parses the body; null without one. A body is read even where the operation has none, so that it is
 * refused and not ignored.
 */
export const bodyOf = (
  request: PlainRequest,
  isAskedFor: boolean,
  { handler, maximumValues }: Partial<Pick<Route.Route, "handler" | "maximumValues">> = {}
): Effect.Effect<Route.Raw["body"], Refused> => {
  if (!isAskedFor && !request.hasBody) return noBody
  const length = Number(headerOf(request, "content-length") ?? 0)
  const type = headerOf(request, "content-type")
  const [maximum, over] = !isAskedFor
    ? ([Body.maximumUnaskedBytes, unaskedTooLarge] as const)
    : handler?.access === "browser"
      ? ([Body.maximumSignInBytes, signInTooLarge] as const)
      : ([Body.maximumBytes, tooLarge] as const)
  if (((isAskedFor && type !== undefined) || length > 0) && !Body.isJson(type)) return notJson
  if (Body.isOtherCharset(type)) return otherCharset
  if ((headerOf(request, "content-encoding") ?? "identity").toLowerCase() !== "identity") return encoded
  if (length > maximum) return over
  const whole = Effect.mapError(request.body(maximum), unread)
  return Effect.flatMap(whole, (bytes): Effect.Effect<Route.Raw["body"], Refused> => {
    if (bytes === undefined) return over
    if (bytes.length === 0) return noBody
    if (!Body.isJson(type)) return notJson
    const parsed = Body.parse(bytes, maximumValues)
    // The step after a long parse begins in a new turn, with a budget of its own.
    return bytes.length < Body.longText ? Effect.succeed(parsed) : Effect.as(EventLoopBudget.nextTurn, parsed)
  })
}
