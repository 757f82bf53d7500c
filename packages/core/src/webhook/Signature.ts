/**
 * Webhook signatures (contract.md §7): HMAC-SHA256 over `timestamp + "." + body` in lowercase hex, and beside it
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

/** As it is sent, or as it came: a text is UTF-8. */
export type Body = string | Uint8Array

const standardBytes = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64")

export const keyBytes = (secret: string): number => standardBytes(secret).length

/** @param secret as it was shown, prefix included; `timestamp` in Unix seconds */
export const sign = (secret: string, timestamp: number, body: Body): string =>
  createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")

/** One entry of the `webhook-signature` list. */
export const signStandard = (secret: string, id: string, timestamp: number, body: Body): string =>
  `v1,${createHmac("sha256", standardBytes(secret)).update(`${id}.${timestamp}.`).update(body).digest("base64")}`

/** The headers of one attempt. `secrets`: the current one first, then those whose overlap has not ended. */
export const headers = (options: {
  readonly id: string
  /** Unix seconds of the attempt. */
  readonly timestamp: number
  readonly body: Body
  readonly secrets: readonly [string, ...ReadonlyArray<string>]
  readonly names: HeaderNames
}): Readonly<Record<string, string>> => {
  const { body, id, names, secrets, timestamp } = options
  const at = String(timestamp)
  const [current, previous] = secrets
  return {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": secrets.map((secret) => signStandard(secret, id, timestamp, body)).join(" "),
    [names.timestamp]: at,
    [names.signature]: sign(current, timestamp, body),
    ...(previous === undefined ? {} : { [names.previousSignature]: sign(previous, timestamp, body) })
  }
}

/** A receiver refuses what is older, or newer, than this. */
export const toleranceSeconds = 300

/** A header's Unix seconds; `undefined` for anything else. */
export const readTimestamp = (header: string): number | undefined =>
  /^\d{1,12}$/.test(header) ? Number(header) : undefined

export const isFresh = (timestamp: number, nowSeconds: number): boolean =>
  Math.abs(nowSeconds - timestamp) <= toleranceSeconds

/** Compares in a time that does not depend on where they differ. */
const equal = (a: string, b: string): boolean => {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** True when any of the signatures is by any of the secrets; all are compared, whichever it is. */
export const matches = (
  signatures: ReadonlyArray<string>,
  secrets: ReadonlyArray<string>,
  signed: (secret: string) => string
): boolean =>
  secrets
    .map(signed)
    .flatMap((expected) => signatures.map((signature) => equal(expected, signature)))
    .some((matched) => matched)
