/**
 * Webhook signatures (decisions.md §7): HMAC-SHA256 over `timestamp + "." + body` in lowercase hex, and beside it
 * the headers of Standard Webhooks 1.0.0, over `id.timestamp.body` in base64. Both sign exactly the bytes sent.
 */
import { timingSafeEqual } from "node:crypto"
import * as Hmac from "../domain/Hmac.ts"

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

const bytesOf = (body: Body): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body)

/** The keys of a secret for each scheme. Reusing them saves a third of the cost of a signature. */
export interface Keys {
  readonly own: Hmac.Key
  readonly standard: Hmac.Key
}

/** A secret as it was shown, prefix included; or its keys. */
export type Secret = string | Keys

const standardBytes = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64")

const ownKey = (secret: Secret): Hmac.Key =>
  typeof secret === "string" ? Hmac.key(Buffer.from(secret)) : secret.own

const standardKey = (secret: Secret): Hmac.Key =>
  typeof secret === "string" ? Hmac.key(standardBytes(secret)) : secret.standard

export const keysOf = (secret: string): Keys => ({ own: ownKey(secret), standard: standardKey(secret) })

export const keyBytes = (secret: string): number => standardBytes(secret).length

/** `timestamp` in Unix seconds. */
export const sign = (secret: Secret, timestamp: number, body: Body): string =>
  Hmac.digest(ownKey(secret), `${timestamp}.`, bytesOf(body), "hex")

/** One entry of the `webhook-signature` list. */
export const signStandard = (secret: Secret, id: string, timestamp: number, body: Body): string =>
  `v1,${Hmac.digest(standardKey(secret), `${id}.${timestamp}.`, bytesOf(body), "base64")}`

/** The headers of one attempt. `secrets`: the current one first, then those whose overlap has not ended. */
export const headers = (options: {
  readonly id: string
  /** Unix seconds of the attempt. */
  readonly timestamp: number
  readonly body: Body
  readonly secrets: readonly [Secret, ...ReadonlyArray<Secret>]
  readonly names: HeaderNames
}): Readonly<Record<string, string>> => {
  const { id, names, secrets, timestamp } = options
  const at = String(timestamp)
  const body = bytesOf(options.body)
  const [current, previous] = secrets
  // In this order: names that are not known beforehand cost ten times as much within the literal.
  const headers: Record<string, string> = {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": secrets.map((secret) => signStandard(secret, id, timestamp, body)).join(" ")
  }
  headers[names.timestamp] = at
  headers[names.signature] = sign(current, timestamp, body)
  if (previous !== undefined) headers[names.previousSignature] = sign(previous, timestamp, body)
  return headers
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
