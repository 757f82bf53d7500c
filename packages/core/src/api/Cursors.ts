/**
 * Texts that clients keep for us and bring again, sealed. The cursor of a list: a page's position is a number that counts rows of all tenants,
 * so that it leaves the server sealed; and a text, such as the token in a browser's cookie. AES-256-GCM under a key of its own seals
 * both, bound to their place: of a cursor the list, its filter and its owner. The nonce is derived from the sealed content, so
 * that one page has one cursor and no two share a nonce (contract.md §10 "Requests").
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
  readonly sealText: (place: string, text: string) => string
  readonly openText: (place: string, sealed: string) => string | undefined
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

const numberOf = (bytes: Buffer | undefined): number | undefined =>
  bytes === undefined ? undefined : Number(bytes.readBigUInt64BE())

const sealed = ({ cipher: key, nonce: nonceKey }: Keys, place: string, plain: Buffer): string => {
  const nonce = createHmac("sha256", nonceKey).update(place).update(plain).digest().subarray(0, nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    "base64url"
  )
}

const opened = ({ cipher: key }: Keys, place: string, bytes: Buffer): Either.Either<Buffer, unknown> =>
  Either.try(() => {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(-tagBytes))
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
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
  const open = (place: string, text: string): Buffer | undefined => {
    const bytes = Buffer.from(text, "base64url")
    for (const keys of all) {
      const plain = opened(keys, place, bytes)
      if (Either.isRight(plain)) return plain.right
    }
    return undefined
  }
  return {
    seal: (place, position) => sealed(current, place, bytesOf(position)),
    open: (place, cursor) => (cursorForm.test(cursor) ? numberOf(open(place, cursor)) : undefined),
    sealText: (place, text) => sealed(current, place, Buffer.from(text)),
    openText: (place, text) => open(place, text)?.toString()
  }
}

/**
 * Sealed under a random key of this process. Other processes, and this one after a restart, cannot read the cursors.
 */
export const ofProcess = (): Cursors => make(Redacted.make(randomBytes(keyBytes)))
