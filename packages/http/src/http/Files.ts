/** Texts that are the same for everybody: compressed once for all that take it so, and not sent to whoever has them. */
import { gzipSync } from "node:zlib"
import type { Answer } from "./Answers.ts"
import * as Conditional from "./Conditional.ts"
import { type Headers, headerOf, none, type PlainRequest } from "./Exchange.ts"

interface Form {
  readonly body: Uint8Array
  readonly headers: Headers
}

export interface File {
  readonly contentType: string
  readonly plain: Form
  /** For clients that take it. */
  readonly zipped: Form
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

/** Of a name that changes with what is in it. */
export const forEver = "public, max-age=31536000, immutable"

/** Asked for again each time, and mostly answered without a body. */
export const fresh = "no-cache"

export const file = (contentType: string, cacheControl: string, text: string): File => {
  const formOf = (body: Uint8Array, headers: Headers): Form => ({
    body,
    headers: {
      "content-security-policy": policy,
      "cache-control": cacheControl,
      vary: "accept-encoding",
      ...headers,
      etag: Conditional.tagOf(body)
    }
  })
  return {
    contentType: `${contentType}; charset=utf-8`,
    plain: formOf(Buffer.from(text), none),
    zipped: formOf(gzipSync(text), { "content-encoding": "gzip" })
  }
}

export const answer = (request: PlainRequest, { contentType, plain, zipped }: File): Answer => {
  const isZipped = headerOf(request, "accept-encoding")?.includes("gzip") === true
  const { body, headers } = isZipped ? zipped : plain
  return Conditional.answer(request, { status: 200, contentType, headers, body })
}
