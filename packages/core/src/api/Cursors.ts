/**
 * Cursors of lists. A page's position is a number that counts rows of all tenants, so that it leaves the server
 * sealed: AES-256-GCM under a key of its own, bound to the list, its filter and its owner. The nonce is derived from
 * the sealed content, so that one page has one cursor and no two share a nonce (contract.md §10 "Requests").
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto"
import * as Redacted from "effect/Redacted"
import * as Either from "../effect/Either.ts"
import { cursorForm } from "./Parameters.ts"

export interface Cursors {
  /** `place` names the list, its filter and its owner. */
  readonly seal: (place: string, position: number) => string
  /** `undefined` for what is no cursor of this place. */
  readonly open: (place: string, cursor: string) => number | undefined
}

const keyBytes = 32
const nonceBytes = 12
const positionBytes = 8
const tagBytes = 16

interface Keys {
  readonly cipher: Buffer
  readonly nonce: Buffer
}

const keysOf = (master: Redacted.Redacted<Uint8Array>): Keys => {
  const derive = (use: string) =>
    Buffer.from(
      hkdfSync("sha256", Redacted.value(master), Buffer.alloc(0), `sendwright cursor ${use}`, keyBytes)
    )
  return { cipher: derive("seal"), nonce: derive("nonce") }
}

const bytesOf = (position: number): Buffer => {
  const bytes = Buffer.alloc(positionBytes)
  bytes.writeBigUInt64BE(BigInt(position))
  return bytes
}

const sealed = ({ cipher: key, nonce: nonceKey }: Keys, place: string, position: number): string => {
  const plain = bytesOf(position)
  const nonce = createHmac("sha256", nonceKey).update(place).update(plain).digest().subarray(0, nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    "base64url"
  )
}

const opened = ({ cipher: key }: Keys, place: string, bytes: Buffer): Either.Either<number, unknown> =>
  Either.try(() => {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(-tagBytes))
    const plain = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
    return Number(plain.readBigUInt64BE())
  })

/**
 * @param master seals what is new; the same to every process that serves the lists
 * @param older master keys of before, whose cursors are still read
 */
export const make = (
  master: Redacted.Redacted<Uint8Array>,
  ...older: ReadonlyArray<Redacted.Redacted<Uint8Array>>
): Cursors => {
  const current = keysOf(master)
  const all = [current, ...older.map(keysOf)]
  return {
    seal: (place, position) => sealed(current, place, position),
    open: (place, cursor) => {
      if (!cursorForm.test(cursor)) return undefined
      const bytes = Buffer.from(cursor, "base64url")
      for (const keys of all) {
        const position = opened(keys, place, bytes)
        if (Either.isRight(position)) return position.right
      }
      return undefined
    }
  }
}

/**
 * Sealed under a random key of this process. Other processes, and this one after a restart, cannot read the cursors.
 */
export const ofProcess = (): Cursors => make(Redacted.make(randomBytes(keyBytes)))
