/**
 * Secrets at rest. What must be read again (provider configuration, webhook secrets) is sealed with AES-256-GCM,
 * bound to its place by the context; what is only compared (API secrets) is kept as an HMAC under a pepper. Both keys
 * are derived from one master key.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  timingSafeEqual
} from "node:crypto"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { RandomBytes } from "../domain/Ids.ts"

/** It was sealed under another master key, for another place, or was changed since. */
export class SecretUnreadable extends Data.TaggedError("SecretUnreadable")<{ readonly context: string }> {
  override get message(): string {
    return `The secret of ${this.context} cannot be read with this master key.`
  }
}

export const masterBytes = 32

export class SecretBox extends Context.Tag("@sendwright/core/secret/SecretBox")<
  SecretBox,
  {
    /** `context` names the place, such as `webhook|<id>`: a sealed text cannot be moved to another. */
    readonly seal: (context: string, plain: string) => string
    readonly open: (context: string, sealed: string) => Either.Either<string, SecretUnreadable>
    /** Lowercase hex. */
    readonly hash: (secret: string) => string
    /** Compares with every hash in constant time; without hashes it does the same work. */
    readonly matches: (secret: string, hashes: ReadonlyArray<string>) => boolean
  }
>() {}

const nonceBytes = 12
const tagBytes = 16

const derive = (master: Uint8Array, use: string): Buffer =>
  Buffer.from(hkdfSync("sha256", master, Buffer.alloc(0), `sendwright ${use}`, 32))

const make = (
  master: Uint8Array,
  randomBytes: (count: number) => Uint8Array
): Context.Tag.Service<SecretBox> => {
  const key = derive(master, "seal")
  const pepper = derive(master, "pepper")
  /** Names the key in what it sealed, so that a later version can hold several. */
  const keyId = createHash("sha256").update(key).digest("base64url").slice(0, 8)

  const seal = (context: string, plain: string): string => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()])
    return `v1.${keyId}.${sealed.toString("base64url")}`
  }

  const open = (context: string, sealed: string): Either.Either<string, SecretUnreadable> => {
    const [version, id, text = ""] = sealed.split(".")
    const bytes = Buffer.from(text, "base64url")
    if (version !== "v1" || id !== keyId || bytes.length < nonceBytes + tagBytes) {
      return Either.left(new SecretUnreadable({ context }))
    }
    return Either.try({
      try: () => {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes))
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-tagBytes))
        const body = bytes.subarray(nonceBytes, -tagBytes)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8")
      },
      catch: () => new SecretUnreadable({ context })
    })
  }

  const digest = (secret: string): Buffer => createHmac("sha256", pepper).update(secret).digest()
  const nobody = digest("nobody's secret").toString("hex")

  const matches = (secret: string, hashes: ReadonlyArray<string>): boolean => {
    const given = digest(secret)
    const equal = (hash: string): boolean => {
      const kept = Buffer.from(hash, "hex")
      return kept.length === given.length && timingSafeEqual(kept, given)
    }
    const compared = (hashes.length === 0 ? [nobody] : hashes).map(equal)
    return hashes.length > 0 && compared.includes(true)
  }

  return { seal, open, hash: (secret) => digest(secret).toString("hex"), matches }
}

/** @param master 32 bytes */
export const layer = (master: Redacted.Redacted<Uint8Array>): Layer.Layer<SecretBox> =>
  Layer.effect(
    SecretBox,
    Effect.map(RandomBytes, (randomBytes) => make(Redacted.value(master), randomBytes))
  )

/** A master key of its own: nothing sealed outlives the process. For memory and tests. */
export const layerRandom: Layer.Layer<SecretBox> = Layer.effect(
  SecretBox,
  Effect.map(RandomBytes, (randomBytes) => make(randomBytes(masterBytes), randomBytes))
)
