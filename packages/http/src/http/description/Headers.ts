/** The headers of answers. */
import { Examples } from "@sendwright/core/contract"
import { type Json, ref } from "../../api/Json.ts"

const header = (description: string, schema: Json, more: Json = {}): Json => ({
  description,
  schema,
  ...more
})

/** The components that answers refer to. */
export const headers = {
  RequestId: header(
    "The request's own, when it is 1 to 128 visible ASCII characters, else a new one.",
    { type: "string", minLength: 1, maxLength: 128 },
    { required: true, example: Examples.ids.request }
  ),
  RateLimitPolicy: header(
    "The key's requests per minute (IETF draft ratelimit-headers). On every answer from when the key is known.",
    { type: "string" },
    { example: '"per-minute";q=120;w=60' }
  ),
  RateLimit: header(
    "What is left of them, and the seconds until all of them are. On every answer from when the key is known.",
    { type: "string" },
    { example: '"per-minute";r=119;t=1' }
  ),
  RetryAfter: header(
    "After so many seconds the request may be repeated.",
    { type: "integer", minimum: 1 },
    { required: true, example: 1 }
  ),
  WwwAuthenticate: header(
    "How to prove who one is (RFC 9110 §11.6.1).",
    { type: "string" },
    { example: 'Bearer realm="admin"' }
  ),
  ETag: header(
    "Of the answer as it is. As `If-None-Match` of the next reading it is answered 304 while nothing changed; as `If-Match` of a change of the same path, which takes the tag of a reading without a query, nothing is done once something did.",
    { type: "string" },
    { example: '"0NKh8OOQtNM3Jr4y72o8Qw"' }
  ),
  IdempotencyReplayed: header(
    "Whether this is the answer to an earlier request with the same key and body; absent when it is not.",
    { type: "string", enum: ["true"] },
    { example: "true" }
  )
}

/** Of every answer. */
export const always: Json = { "X-Request-Id": ref("headers", "RequestId") }
/** Of answers to an API key. */
export const ofKeys: Json = {
  "RateLimit-Policy": ref("headers", "RateLimitPolicy"),
  RateLimit: ref("headers", "RateLimit")
}

/** The headers of an operator's reads. */
export const ofReadings: Json = { ETag: ref("headers", "ETag") }

/** Of a change of what can be read at its path. */
export const ifMatch: Json = {
  name: "if-match",
  in: "header",
  required: false,
  description:
    "The `ETag` of a reading of the same path: where it is another by now nothing is done (412). Without it what others changed meanwhile is no reason to refuse.",
  schema: { type: "string", maxLength: 1024 }
}

/** The headers of answers that may be a replay. */
export const ofReplays: Json = { "Idempotency-Replayed": ref("headers", "IdempotencyReplayed") }
