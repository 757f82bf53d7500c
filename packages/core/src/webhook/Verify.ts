/** For receivers of webhooks: whether a request is ours, whole and fresh (contract.md §7). */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Time from "../domain/Instant.ts"
import type { Body } from "./Signature.ts"
import * as Signature from "./Signature.ts"

/** A delivered event. `type` determines the form of `data`; new types may be added at any time. */
export interface WebhookEvent {
  /** The same in all attempts: a receiver that stores it handles each event once. */
  readonly id: string
  readonly type: string
  /** RFC 3339. */
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The request must not be acted on. Answer it with 400: it is attempted again, with a fresh timestamp. */
export class WebhookRefused extends Data.TaggedError("WebhookRefused")<{
  /**
   * No signature came, or no timestamp that can be read; it is more than 5 minutes old or ahead; it is by another secret
   * or over another body; the body, though signed, is no event.
   */
  readonly reason: "headers_missing" | "timestamp_stale" | "signature_mismatch" | "body_invalid"
}> {
  override get message(): string {
    return `The webhook was refused: ${this.reason}.`
  }
}

/** As node:http, Express and Fastify give them, or a web-standard `Headers`. */
export type WebhookHeaders =
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  | { readonly get: (name: string) => string | null }

export interface WebhookRequest {
  /** The received bytes. A body that was parsed and encoded again is not what was signed. */
  readonly body: Body
  readonly headers: WebhookHeaders
  /** As they were shown; during a rotation the old and the new one. */
  readonly secrets: string | ReadonlyArray<string>
  /** Where the service's header names were changed; the previous signature's follows from it. */
  readonly names?: Pick<Signature.HeaderNames, "signature" | "timestamp">
  /** Milliseconds since 1970; the system's time unless given. */
  readonly now?: number
}

const hasGet = (
  headers: WebhookHeaders
): headers is Extract<WebhookHeaders, { readonly get: (name: string) => string | null }> =>
  typeof headers["get"] === "function"

const reader = (headers: WebhookHeaders): ((name: string) => string | undefined) => {
  if (hasGet(headers)) return (name) => headers.get(name) ?? undefined
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => {
    const value = values.get(name.toLowerCase())
    return typeof value === "string" ? value : undefined
  }
}

interface Claim {
  readonly timestamp: number
  readonly signatures: ReadonlyArray<string>
  readonly signed: (secret: string) => string
}

const isText = (value: string | undefined): value is string => value !== undefined

/** The request's claims by either scheme; both schemes use the same secret. */
const claims = (
  header: (name: string) => string | undefined,
  names: Pick<Signature.HeaderNames, "signature" | "timestamp">,
  body: Body
): ReadonlyArray<Claim> => {
  const timeOf = (name: string): number | undefined => Signature.readTimestamp(header(name) ?? "")
  const own = timeOf(names.timestamp)
  const standard = timeOf("webhook-timestamp")
  const id = header("webhook-id")
  const ownSignatures = [names.signature, `${names.signature}-Previous`].map(header).filter(isText)
  const standardSignatures = header("webhook-signature")?.split(" ") ?? []
  return [
    ...(own === undefined || ownSignatures.length === 0
      ? []
      : [
          {
            timestamp: own,
            signatures: ownSignatures,
            signed: (secret: string) => Signature.sign(secret, own, body)
          }
        ]),
    ...(standard === undefined || id === undefined || standardSignatures.length === 0
      ? []
      : [
          {
            timestamp: standard,
            signatures: standardSignatures,
            signed: (secret: string) => Signature.signStandard(secret, id, standard, body)
          }
        ])
  ]
}

const isEvent = (value: unknown): value is WebhookEvent =>
  typeof value === "object" &&
  value !== null &&
  "id" in value &&
  typeof value.id === "string" &&
  "type" in value &&
  typeof value.type === "string" &&
  "created_at" in value &&
  typeof value.created_at === "string" &&
  "data" in value &&
  typeof value.data === "object" &&
  value.data !== null

const parse = (body: Body): WebhookEvent => {
  let value: unknown
  try {
    value = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
  } catch {
    throw new WebhookRefused({ reason: "body_invalid" })
  }
  if (isEvent(value)) return value
  throw new WebhookRefused({ reason: "body_invalid" })
}

/** A shorter key could be guessed; ours have 32 bytes. */
const shortestKey = 16

const check = (secrets: ReadonlyArray<string>): void => {
  const isKey = (secret: string) => secret.length >= shortestKey && Signature.keyBytes(secret) >= shortestKey
  if (secrets.length === 0 || !secrets.every(isKey)) {
    throw new TypeError("verifyWebhook needs the endpoint's secret as it was shown: whsec_ and base64.")
  }
}

/**
 * The event of a request that is ours. Nothing is parsed before the signature is right.
 *
 * @example
 * ```ts
 * import { verifyWebhook } from "@sendwright/core"
 *
 * export const receive = async (request: Request) => {
 *   const body = await request.text()
 *   const secrets = process.env["WEBHOOK_SECRET"] ?? ""
 *   const { data, id, type } = verifyWebhook({ body, headers: request.headers, secrets })
 *   console.log(id, type, data) // the same id may come twice
 *   return new Response(null, { status: 204 })
 * }
 * ```
 *
 * @throws WebhookRefused for anything else
 * @throws TypeError without a secret: a receiver that was not given one must not accept what anybody signs
 */
export const verifyWebhook = (request: WebhookRequest): WebhookEvent => {
  const { body, names = Signature.defaultHeaderNames } = request
  const secrets = typeof request.secrets === "string" ? [request.secrets] : request.secrets
  check(secrets)
  const seconds = Math.floor((request.now ?? Clock.make().unsafeCurrentTimeMillis()) / Time.second)
  const claimed = claims(reader(request.headers), names, body)
  if (claimed.length === 0) throw new WebhookRefused({ reason: "headers_missing" })
  const fresh = claimed.filter(({ timestamp }) => Signature.isFresh(timestamp, seconds))
  if (fresh.length === 0) throw new WebhookRefused({ reason: "timestamp_stale" })
  const matched = fresh.map(({ signatures, signed }) => Signature.matches(signatures, secrets, signed))
  if (!matched.some((matches) => matches)) throw new WebhookRefused({ reason: "signature_mismatch" })
  return parse(body)
}
