/**
 * Secrets at rest. A secret that is read again (provider configuration, webhook secrets) is sealed with AES-256-GCM,
 * bound to its place by the context; a secret that is only compared (API secrets) is stored as an HMAC under a
 * pepper. Both keys are derived from one master key. The master key can be changed: secrets under the other given
 * keys are still read, and new ones are under the key in use. Sealed texts and hashes begin with the id of their key
 * (`domain/Keyring.ts`).
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
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { maximumOverlaps } from "../domain/account/ApiKey.ts"
import { RandomBytes } from "../domain/Ids.ts"
import * as Keyring from "../domain/Keyring.ts"
import * as Either from "../effect/Either.ts"

/** The secret was sealed under another master key, for another place, or was changed since. */
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
    /** The key's id and an HMAC-SHA256, as `v1.<id>.<lowercase hex>`. */
    readonly hash: (secret: string) => string
    /**
     * Compares with every hash in constant time. If there are fewer hashes than an API key can have, comparisons that
     * cannot match are added, so that the time does not reveal the number. A hash that names no key is from an older
     * version and may be under any of the given keys.
     */
    readonly matches: (secret: string, hashes: ReadonlyArray<string>) => boolean
    /** The ids of the given keys, the first one first. */
    readonly keys: ReadonlyArray<string>
    /** Seals and hashes with this key from now on; false when it is not among the given ones. */
    readonly use: (key: string) => boolean
    /** The id of the key in use: the first given one until {@link use} names another. */
    readonly inUse: () => string
  }
>() {}

/** As many as an API key has at most. */
const comparedHashes = 1 + maximumOverlaps

const nonceBytes = 12
const tagBytes = 16

const derive = (master: Uint8Array, use: string): Buffer =>
  Buffer.from(hkdfSync("sha256", master, Buffer.alloc(0), `sendwright ${use}`, 32))

interface Keys {
  readonly seal: Buffer
  readonly pepper: Buffer
  readonly id: string
}

const keysOf = (master: Uint8Array): Keys => {
  const seal = derive(master, "seal")
  const id = createHash("sha256").update(seal).digest("base64url").slice(0, Keyring.idLength)
  return { seal, pepper: derive(master, "pepper"), id }
}

const make = (
  master: Uint8Array,
  others: ReadonlyArray<Uint8Array>,
  randomBytes: (count: number) => Uint8Array
): Context.Tag.Service<SecretBox> => {
  const first = keysOf(master)
  const all = [first, ...others.map(keysOf)]
  const byId = new Map(all.map((keys) => [keys.id, keys]))
  let current = first

  const seal = (context: string, plain: string): string => {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv("aes-256-gcm", current.seal, nonce).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()])
    return Keyring.mark(current.id, sealed.toString("base64url"))
  }

  const open = (context: string, sealed: string): Either.Either<string, SecretUnreadable> => {
    const { key: id, text } = Keyring.read(sealed)
    const bytes = Buffer.from(text, "base64url")
    const key = id === null ? undefined : byId.get(id)?.seal
    if (key === undefined || bytes.length < nonceBytes + tagBytes) {
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

  const hashBy = ({ pepper }: Keys, secret: string): string =>
    createHmac("sha256", pepper).update(secret).digest("hex")
  const hash = (secret: string): string => Keyring.mark(current.id, hashBy(current, secret))
  const nobody = hash("nobody's secret")

  const matches = (secret: string, hashes: ReadonlyArray<string>): boolean => {
    const given = all.map((keys) => ({ id: keys.id, bytes: Buffer.from(hashBy(keys, secret)) }))
    let matched = false
    for (let place = 0; place < Math.max(hashes.length, comparedHashes); place++) {
      const { key, text } = Keyring.read(hashes[place] ?? nobody)
      const expected = Buffer.from(text)
      for (const { bytes, id } of given) {
        if (key !== null && key !== id) continue
        const isEqual = expected.length === bytes.length && timingSafeEqual(expected, bytes)
        if (isEqual && place < hashes.length) matched = true
      }
    }
    return matched
  }

  return {
    seal,
    open,
    hash,
    matches,
    keys: all.map(({ id }) => id),
    use: (id) => {
      const named = byId.get(id)
      if (named !== undefined) current = named
      return named !== undefined
    },
    inUse: () => current.id
  }
}

/** One master key in base64; undefined where it is none. */
export const keyOf = (text: string): Redacted.Redacted<Uint8Array> | undefined => {
  const bytes = Buffer.from(/^[A-Za-z0-9+/]+=*$/.test(text) ? text : "", "base64")
  return bytes.length === masterBytes ? Redacted.make(new Uint8Array(bytes)) : undefined
}

/** Master keys in base64 with commas between, the one in use first; undefined where one of them is none. */
export const parse = (text: string) => {
  const [current, ...older] = text.split(",").map((each) => keyOf(each.trim()))
  const known = older.flatMap((each) => (each === undefined ? [] : [each]))
  return current === undefined || known.length < older.length ? undefined : { current, older: known }
}

/**
 * @param master 32 bytes: seals and hashes new secrets, unless the store remembers a newer key (`MasterKeys.ts`)
 * @param others further master keys, for reading secrets that are under them
 */
export const layer = (
  master: Redacted.Redacted<Uint8Array>,
  ...others: ReadonlyArray<Redacted.Redacted<Uint8Array>>
): Layer.Layer<SecretBox> =>
  Layer.effect(
    SecretBox,
    Effect.map(RandomBytes, (randomBytes) =>
      make(Redacted.value(master), others.map(Redacted.value), randomBytes)
    )
  )

/** A master key of its own: nothing sealed outlives the process. For memory and tests. */
export const layerRandom: Layer.Layer<SecretBox> = Layer.effect(
  SecretBox,
  Effect.map(RandomBytes, (randomBytes) => make(randomBytes(masterBytes), [], randomBytes))
)
