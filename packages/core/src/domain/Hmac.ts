/** HMAC-SHA256 (RFC 2104) under a key that is used again and again. */
import { hash } from "node:crypto"

/** Of SHA-256. */
const blockBytes = 64
const digestBytes = 32

/** The blocks that the two hashes begin with (RFC 2104 §2); behind the outer one is room for the digest of the inner. */
export interface Key {
  readonly inner: Uint8Array
  readonly outer: Buffer
}

export const key = (bytes: Uint8Array): Key => {
  const block = new Uint8Array(blockBytes)
  block.set(bytes.length > blockBytes ? hash("sha256", bytes, "buffer") : bytes)
  const outer = Buffer.alloc(blockBytes + digestBytes)
  outer.set(block.map((byte) => byte ^ 0x5c))
  return { inner: block.map((byte) => byte ^ 0x36), outer }
}

/**
 * A buffer for the bytes to hash, where they fit. All digests share it, since each is made synchronously and an
 * allocation costs more; between two of them it is empty, so that no key outlives the engine that used it.
 */
const table = Buffer.alloc(16 * 1024)

/**
 * The HMAC of `prefix` followed by `body`, by two one-shot hashes. `createHmac` allocates outside the heap and looks
 * the algorithm up for every digest, which costs more than the hashing.
 */
export const digest = (key: Key, prefix: string, body: Uint8Array, encoding: "hex" | "base64"): string => {
  const start = blockBytes + Buffer.byteLength(prefix)
  const end = start + body.length
  const inner = end <= table.length ? table.subarray(0, end) : Buffer.allocUnsafe(end)
  inner.set(key.inner)
  inner.write(prefix, blockBytes)
  inner.set(body, start)
  key.outer.write(hash("sha256", inner, "binary"), blockBytes, "binary")
  inner.fill(0)
  return hash("sha256", key.outer, encoding)
}
