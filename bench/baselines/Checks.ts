/**
 * The checks of the contract, written by hand for one API key and one template: what a service would do that is made
 * for nothing else. The raw server and Fastify share all of it; Fastify's schema takes the place of `shape`.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Phone } from "@sendwright/core"
import { variable } from "../Sends.ts"

export const publicKey = "pk_baseline0123456789abcd"
export const secretKey = "sk_baseline0123456789abcdef0123456789abcdef01234"
export const templateId = 1

const pepper = Buffer.from("a pepper of thirty-two bytes ...")
const digest = (secret: string): Buffer => createHmac("sha256", pepper).update(secret).digest()
const hashes = new Map([[publicKey, digest(secretKey)]])

/** The key, when its secret is proven. */
export const authenticate = (headers: IncomingHttpHeaders): string | undefined => {
  const key = headers["x-public-key"]
  const secret = headers["x-secret-key"]
  if (typeof key !== "string" || typeof secret !== "string") return undefined
  const hash = hashes.get(key)
  return hash !== undefined && timingSafeEqual(digest(secret), hash) ? key : undefined
}

const perMinute = 1_000_000_000
const arrivals = new Map<string, number>()

/** How many more requests would pass now; -1 when this one does not (generic cell rate algorithm). */
export const consume = (key: string): number => {
  const now = Date.now()
  const next = Math.max(arrivals.get(key) ?? now, now) + 60_000 / perMinute
  if (next - now > 60_000) return -1
  arrivals.set(key, next)
  return Math.floor((now + 60_000 - next) / (60_000 / perMinute))
}

export interface Recipient {
  readonly phone: string
  readonly external_id?: string
  readonly variables?: Readonly<Record<string, string>>
}

export interface SendRequest {
  readonly template_id: number
  readonly currency?: string
  readonly variables?: Readonly<Record<string, string>>
  readonly recipients: ReadonlyArray<Recipient>
}

const visible = /^[\x21-\x7e]{1,128}$/

export const idempotencyKey = (headers: IncomingHttpHeaders): string | undefined => {
  const key = headers["idempotency-key"]
  return typeof key === "string" && visible.test(key) ? key : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isTexts = (value: unknown): value is Readonly<Record<string, string>> => {
  if (!isObject(value)) return false
  for (const name in value) if (typeof value[name] !== "string") return false
  return true
}

const recipient = (value: unknown): Recipient | undefined => {
  if (!isObject(value)) return undefined
  const { external_id, phone, variables } = value
  if (typeof phone !== "string") return undefined
  if (external_id !== undefined && typeof external_id !== "string") return undefined
  if (variables !== undefined && !isTexts(variables)) return undefined
  return {
    phone,
    ...(external_id === undefined ? {} : { external_id }),
    ...(variables === undefined ? {} : { variables })
  }
}

/** The body when it has the contract's shape; members that it does not name are left out. */
export const shape = (body: unknown): SendRequest | undefined => {
  if (!isObject(body)) return undefined
  const { currency, recipients, template_id, variables } = body
  if (typeof template_id !== "number" || !Number.isSafeInteger(template_id)) return undefined
  if (currency !== undefined && typeof currency !== "string") return undefined
  if (variables !== undefined && !isTexts(variables)) return undefined
  if (!Array.isArray(recipients) || recipients.length < 1 || recipients.length > 250) return undefined
  const read: Array<Recipient> = []
  for (const each of recipients) {
    const one = recipient(each)
    if (one === undefined) return undefined
    read.push(one)
  }
  return {
    template_id,
    ...(currency === undefined ? {} : { currency }),
    ...(variables === undefined ? {} : { variables }),
    recipients: read
  }
}

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** Whether numbers, references and the template's variables are as the contract wants them, and nobody comes twice. */
export const isRight = ({ recipients, template_id, variables }: SendRequest): boolean => {
  if (template_id !== templateId) return false
  const seen = new Set<string>()
  for (const { external_id = "", phone, variables: own } of recipients) {
    if (Phone.check(phone) !== undefined) return false
    if (external_id.length > 255 || !isStorable(external_id)) return false
    for (const name in own) if (name !== variable) return false
    const value = own?.[variable] ?? variables?.[variable]
    if (value === undefined || value.trim() === "" || value.length > 1024 || !isStorable(value)) return false
    const identity = `${phone}\n${value}`
    if (seen.has(identity)) return false
    seen.add(identity)
  }
  return true
}

/** What an Idempotency-Key stands for. */
export const fingerprint = (request: SendRequest): string =>
  createHash("sha256").update(JSON.stringify(request)).digest("hex")

export const acknowledgement = (jobId: string, recipients: number) => ({
  ok: true,
  job_id: jobId,
  status: "queued",
  recipients,
  links: { status: `/api/v1/template-messages/${jobId}` }
})

/** Those of every answer of the contract. */
export const headers = (remaining: number) => ({
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "content-type": "application/json; charset=utf-8",
  "ratelimit-policy": `"per-minute";q=${perMinute};w=60`,
  ratelimit: `"per-minute";r=${remaining};t=1`,
  "x-request-id": randomUUID()
})
