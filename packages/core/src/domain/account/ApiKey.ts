/**
 * API keys (contract.md §6): a public key names it, one or more secrets prove it. Rotation overlaps two
 * secrets; only their hashes are kept.
 */
import { crc32 } from "node:zlib"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Keyring from "../Keyring.ts"
import type { Session } from "../session/Session.ts"
import type { Feature } from "./Plan.ts"

export type Permission =
  | "connection:read"
  | "templates:read"
  | "messages:estimate"
  | "messages:send"
  | "jobs:read"
  | "direct:send"
  | "direct:read"

export const permissions: ReadonlyArray<Permission> = [
  "connection:read",
  "templates:read",
  "messages:estimate",
  "messages:send",
  "jobs:read",
  "direct:send",
  "direct:read"
]

/** The feature that an operation belongs to; reading a connection, past jobs or messages needs none. */
export const featureOf: Readonly<Record<Permission, Feature | null>> = {
  "connection:read": null,
  "templates:read": "templates",
  "messages:estimate": "templates",
  "messages:send": "templates",
  "jobs:read": null,
  "direct:send": "direct",
  "direct:read": null
}

/** `revoked` is final; `inactive` can be made active again. */
export const statuses = ["active", "inactive", "revoked"] as const
export type Status = (typeof statuses)[number]

export interface Secret {
  /** HMAC-SHA256 of the secret under the server's pepper, with the id of its master key (`SecretBox.hash`). */
  readonly hash: string
  readonly createdAt: Instant
  /** null = until rotated or revoked. */
  readonly expiresAt: Instant | null
}

export interface ApiKey {
  readonly publicKey: string
  readonly sessionId: string
  readonly name: string | null
  readonly permissions: ReadonlyArray<Permission>
  readonly status: Status
  readonly secrets: ReadonlyArray<Secret>
  readonly createdAt: Instant
  readonly lastUsedAt: Instant | null
}

/**
 * The key of a caller without one: the session stands for itself, and so its Idempotency-Keys and jobs are apart from those of
 * its API keys. No secret proves it, so nobody outside the process can present it.
 */
export const ofSession = ({ createdAt, id }: Pick<Session, "createdAt" | "id">): ApiKey => ({
  publicKey: id,
  sessionId: id,
  name: null,
  permissions,
  status: "active",
  secrets: [],
  createdAt,
  lastUsedAt: null
})

export const isOfSession = ({ publicKey, sessionId }: Pick<ApiKey, "publicKey" | "sessionId">): boolean =>
  publicKey === sessionId

/** The hashes that prove this key now: none unless it is active, and none of a secret whose overlap ended. */
export const validHashes = (key: Pick<ApiKey, "secrets" | "status">, now: Instant): ReadonlyArray<string> =>
  key.status !== "active"
    ? []
    : key.secrets
        .filter((secret) => secret.expiresAt === null || secret.expiresAt > now)
        .map((secret) => secret.hash)

/** The key with one hash replaced, if it still has it: the same secret under another pepper. */
export const rehash = <Key extends Pick<ApiKey, "secrets">>(key: Key, from: string, to: string): Key => ({
  ...key,
  secrets: key.secrets.map((secret) => (secret.hash === from ? { ...secret, hash: to } : secret))
})

/**
 * The master keys besides the current one that this API key still needs; null for a hash that does not name its
 * master key. A revoked key needs none, and neither does a secret whose overlap has ended.
 */
export const olderKeys = (
  key: Pick<ApiKey, "secrets" | "status">,
  current: string,
  now: Instant
): ReadonlyArray<string | null> =>
  key.status === "revoked"
    ? []
    : key.secrets
        .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
        .map(({ hash }) => Keyring.read(hash).key)
        .filter((id) => id !== current)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Random base62 text without bias: bytes of 248 and above are thrown away, since 248 = 4 × 62. */
const base62 = (length: number, randomBytes: (count: number) => Uint8Array): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

/** Six base62 digits of the CRC-32 of the text before them, so that scanners and typing errors are found offline. */
export const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ""
  for (let place = 0; place < 6; place++) {
    digits = (alphabet[rest % 62] ?? "") + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

export const makePublicKey = (randomBytes: (count: number) => Uint8Array): string =>
  `pk_${base62(22, randomBytes)}`

/** The prefix, 43 random base62 digits (256 bits) and a checksum of both. */
export const makeChecked = (prefix: string, randomBytes: (count: number) => Uint8Array): string => {
  const secret = `${prefix}${base62(43, randomBytes)}`
  return `${secret}_${checksum(secret)}`
}

export const makeSecretKey = (randomBytes: (count: number) => Uint8Array): string =>
  makeChecked("sk_", randomBytes)

/** True when the key's use should be recorded again. Each record is a write, and once a minute is enough. */
export const wasIdle = ({ lastUsedAt }: Pick<ApiKey, "lastUsedAt">, now: Instant): boolean =>
  lastUsedAt === null || now - lastUsedAt >= Time.minute

/** The key with fields replaced; a revoked key stays revoked. */
export const change = (
  key: ApiKey,
  fields: Partial<Pick<ApiKey, "name" | "permissions" | "status">>
): ApiKey => ({
  ...key,
  ...fields,
  status: key.status === "revoked" ? "revoked" : (fields.status ?? key.status)
})

/** How many secrets may overlap with the newest one. */
export const maximumOverlaps = 2

/** The key after a rotation. A rotation beyond {@link maximumOverlaps} ends the oldest overlap immediately. */
export const rotate = <Key extends Pick<ApiKey, "secrets">>(
  key: Key,
  fresh: Secret,
  expireOthersAt: Instant,
  now: Instant
): Key => ({
  ...key,
  secrets: rotateSecrets(key.secrets, fresh, expireOthersAt, now).slice(0, 1 + maximumOverlaps)
})

/** The secrets after a rotation: the new one, and the others until the overlap ends; expired ones are dropped. */
export const rotateSecrets = <S extends Pick<Secret, "expiresAt">>(
  secrets: ReadonlyArray<S>,
  fresh: S,
  expireOthersAt: Instant,
  now: Instant
): ReadonlyArray<S> => [
  fresh,
  ...secrets
    .map((secret) => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? expireOthersAt, expireOthersAt) }))
    .filter(({ expiresAt }) => expiresAt > now)
]
