/** Texts that are the same for everybody: compressed once for all that take it so, and not sent to whoever has them. */
import { gzipSync } from "node:zlib"
import type { Answer } from "./Answers.ts"
import * as Conditional from "./Conditional.ts"
import { type Headers, headerOf, type PlainRequest } from "./Exchange.ts"

export interface File {
  readonly contentType: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** For clients that take it. */
  readonly zipped: Uint8Array
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

/** Of a name that changes with what is in it. */
export const forEver = "public, max-age=31536000, immutable"

/** Asked for again each time, and mostly answered without a body. */
export const fresh = "no-cache"

export const file = (contentType: string, cacheControl: string, text: string): File => ({
  contentType: `${contentType}; charset=utf-8`,
  headers: { "content-security-policy": policy, "cache-control": cacheControl, vary: "accept-encoding" },
  body: Buffer.from(text),
  zipped: gzipSync(text)
})

export const answer = (request: PlainRequest, { body, contentType, headers, zipped }: File): Answer => {
  const isZipped = headerOf(request, "accept-encoding")?.includes("gzip") === true
  return Conditional.answer(request, {
    status: 200,
    contentType,
    headers: isZipped ? { ...headers, "content-encoding": "gzip" } : headers,
    body: isZipped ? zipped : body
  })
}
