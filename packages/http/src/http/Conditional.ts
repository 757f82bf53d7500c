/** What was asked for already, and has not changed since (RFC 9110 §13.1.2). */
import { createHash } from "node:crypto"
import type { Answer } from "./Answers.ts"
import { headerOf, type PlainRequest } from "./Exchange.ts"

const tagOf = (body: string | Uint8Array): string =>
  `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`

/** A proxy that compresses marks a tag as weak. */
const names = (given: string, tag: string): boolean =>
  given.split(",").some((each) => ["*", tag].includes(each.trim().replace(/^W\//, "")))

/** The answer with the tag of its body; without the body for whoever has it. */
export const answer = (request: PlainRequest, found: Answer): Answer => {
  if (found.stream !== undefined) return found
  const etag = tagOf(found.body)
  const headers = { ...found.headers, etag }
  return names(headerOf(request, "if-none-match") ?? "", etag)
    ? { status: 304, contentType: undefined, headers, body: "" }
    : { ...found, headers }
}
