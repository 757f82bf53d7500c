/**
 * Identifiers: UUIDv7 (RFC 9562 §5.7), so that ids sort by creation.
 *
 * A job's id ends in twelve zero bits, and a recipient's message id is its job's id with those bits holding
 * its place in the job. One index on jobs therefore finds any recipient, and a recipient's id is the same
 * over every attempt, crash and restart.
 */
import { randomFillSync } from "node:crypto"
import * as Context from "effect/Context"
import { at, type Instant } from "./Instant.ts"

/** Where randomness comes from; a simulation replaces it to replay a run from its seed. */
export class RandomBytes extends Context.Reference<RandomBytes>()("@sendwright/core/domain/Ids/RandomBytes", {
  defaultValue: (): ((count: number) => Uint8Array) => (count) => randomFillSync(new Uint8Array(count))
}) {}

/** Makes fresh ids; `now` becomes the time part. */
export interface Ids {
  readonly uuid: (now: Instant) => string
  /** An id whose low twelve bits are free for {@link messageId}. */
  readonly jobId: (now: Instant) => string
}

/** A bound: every id that is made from then on sorts behind it, and none that was made before. */
export const since = (at: Instant): string => {
  const time = Math.max(0, Math.trunc(at)).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8, 12)}`
}

/** Bytes of randomness in an id, and how many ids' worth is drawn at once. */
const idBytes = 10
const idsPerPool = 128

const variant = Array.from({ length: 64 }, (_, bits) => (bits | 0x80).toString(16))

/** When an id was made. */
export const madeAt = (id: string): Instant => at(Number.parseInt(`${id.slice(0, 8)}${id.slice(9, 13)}`, 16))

/** The text that the ids of a job and of all its messages begin with. */
export const ofJob = (jobId: string): string => jobId.slice(0, -3)

export const make = (randomBytes: (count: number) => Uint8Array): Ids => {
  let pool = randomBytes(0)
  let digits = ""
  let used = 0
  let stamped: Instant | undefined
  let stamp = ""
  /** The time part and the version. */
  const stampOf = (now: Instant): string => {
    if (now === stamped) return stamp
    const time = Math.max(0, Math.trunc(now)).toString(16).padStart(12, "0")
    stamped = now
    stamp = `${time.slice(0, 8)}-${time.slice(8, 12)}-7`
    return stamp
  }
  const uuid = (now: Instant): string => {
    if (used === pool.length) {
      pool = randomBytes(idBytes * idsPerPool)
      digits = Buffer.from(pool).toString("hex")
      used = 0
    }
    const at = used * 2
    const bits = variant[(pool[used + 2] ?? 0) & 0x3f]
    used += idBytes
    return `${stampOf(now)}${digits.slice(at + 1, at + 4)}-${bits}${digits.slice(at + 6, at + 8)}-${digits.slice(at + 8, at + 20)}`
  }
  return { uuid, jobId: (now) => `${uuid(now).slice(0, -3)}000` }
}

/** The id of a job's recipient number `index` (from 0, at most 4,094). */
export const messageId = (jobId: string, index: number): string =>
  `${ofJob(jobId)}${(index + 1).toString(16).padStart(3, "0")}`

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const isUuid = (text: string): boolean => uuidPattern.test(text)

/** The job and place that a message id stands for; `undefined` for what was never a message id. */
export const parseMessageId = (
  text: string
): { readonly jobId: string; readonly index: number } | undefined => {
  if (!isUuid(text)) return undefined
  const index = Number.parseInt(text.slice(-3), 16) - 1
  return index < 0 ? undefined : { jobId: `${text.slice(0, -3)}000`, index }
}
