/**
 * Conditional requests (RFC 9110 §13.1): a client that has read something is not told it again while it is the same, and may
 * change it only while it is.
 */
import { createHash } from "node:crypto"
import { Errors } from "@sendwright/core"
import type { Route } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import type { Answer } from "./Answers.ts"
import { headerOf, type PlainRequest } from "./Exchange.ts"

export const tagOf = (body: string | Uint8Array): string =>
  `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`

/** A proxy that compresses marks a tag as weak. */
const names = (given: string, tag: string): boolean =>
  given.split(",").some((each) => ["*", tag].includes(each.trim().replace(/^W\//, "")))

/** The answers to an operator's reads have a tag. */
export const isReading = ({ handler, method }: Route.Route): boolean =>
  handler.access === "operator" && method === "GET"

/** A change by an operator of what stands at the path. */
export const isChange = ({ handler, method }: Route.Route): boolean =>
  handler.access === "operator" && ["DELETE", "PATCH", "PUT"].includes(method)

/** The answer with the tag of its body, unless it has one already; without the body for whoever has it. */
export const answer = (request: PlainRequest, found: Answer): Answer => {
  if (found.stream !== undefined) return found
  const etag = found.headers["etag"] ?? tagOf(found.body)
  const headers = { ...found.headers, etag }
  return names(headerOf(request, "if-none-match") ?? "", etag)
    ? { status: 304, contentType: undefined, headers, body: "" }
    : { ...found, headers }
}

/**
 * Fails where the request's `If-Match` names another state than the one that a reading of its path answers now.
 *
 * @param reading undefined of a path that nobody can read
 */
export const precondition = <E>(
  request: PlainRequest,
  reading: Effect.Effect<Answer, E> | undefined
): Effect.Effect<void, E | Errors.PreconditionFailed> => {
  const given = headerOf(request, "if-match")
  if (given === undefined) return Effect.void
  if (reading === undefined) return Effect.fail(new Errors.PreconditionFailed({ why: "unreadable" }))
  return Effect.flatMap(reading, ({ body }) =>
    names(given, tagOf(body)) ? Effect.void : Effect.fail(new Errors.PreconditionFailed({ why: "changed" }))
  )
}
