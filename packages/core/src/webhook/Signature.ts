/**
 * Webhook signatures (decisions.md §7): HMAC-SHA256 over `timestamp + "." + body` in lowercase hex, and beside it
 * the headers of Standard Webhooks 1.0.0, over `id.timestamp.body` in base64. Both sign exactly the bytes sent.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** Header names; those of the service's own scheme can be chosen. */
export interface HeaderNames {
  readonly signature: string
  readonly previousSignature: string
  readonly timestamp: string
}

export const defaultHeaderNames: HeaderNames = {
  signature: "X-Service-Signature",
  previousSignature: "X-Service-Signature-Previous",
  timestamp: "X-Service-Timestamp"
}

/** `timestamp` in Unix seconds; the secret as it was shown, prefix included. */
export const sign = (secret: string, timestamp: number, body: string): string =>
  createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")

const standardKey = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64")

/** One entry of the `webhook-signature` list. */
export const signStandard = (secret: string, id: string, timestamp: number, body: string): string =>
  `v1,${createHmac("sha256", standardKey(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")}`

/** The headers of one attempt. `secrets`: the current one first, then those whose overlap has not ended. */
export const headers = (options: {
  readonly id: string
  /** Unix seconds of the attempt. */
  readonly timestamp: number
  readonly body: string
  readonly secrets: readonly [string, ...ReadonlyArray<string>]
  readonly names: HeaderNames
}): Readonly<Record<string, string>> => {
  const { body, id, names, timestamp } = options
  const [current, previous] = options.secrets
  return {
    [names.timestamp]: String(timestamp),
    [names.signature]: sign(current, timestamp, body),
    ...(previous === undefined ? {} : { [names.previousSignature]: sign(previous, timestamp, body) }),
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": options.secrets.map((secret) => signStandard(secret, id, timestamp, body)).join(" ")
  }
}

/** A receiver refuses what is older, or newer, than this. */
export const toleranceSeconds = 300

const equal = (a: string, b: string): boolean => {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/**
 * For receivers: whether a delivery is ours and fresh. Give it the body as it arrived, before any parsing.
 *
 * @param options.now Unix seconds
 */
export const verify = (options: {
  readonly body: string
  readonly timestamp: string | undefined
  readonly signature: string | undefined
  readonly secrets: ReadonlyArray<string>
  readonly now: number
}): boolean => {
  const { body, now, signature, timestamp } = options
  if (signature === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) return false
  return options.secrets
    .map((secret) => equal(sign(secret, Number(timestamp), body), signature))
    .some((matched) => matched)
}
