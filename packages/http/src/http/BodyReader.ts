/**
 * Reads the bodies of requests, whoever's server they came by. The library's own readers cut the connection of a body
 * that is too long, so that its client never hears why, and make text of any bytes.
 */
import { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Unread } from "./Exchange.ts"
import type * as HttpLimits from "./HttpLimits.ts"

/** The memory that bodies may take while they are still coming: in all, and for one client address. */
interface BodyMemory {
  /** Takes so many bytes for an address; false when there is no room, and then nothing is taken. */
  readonly reserve: (address: string | undefined, bytes: number) => boolean
  readonly release: (address: string | undefined, bytes: number) => void
  /** The bytes that are taken. */
  readonly used: () => number
}

export const bodyMemory = (limits: {
  readonly bodies: number
  readonly bodiesPerAddress: number
}): BodyMemory => {
  /** Of the addresses that have any. */
  const byAddress = new Map<string, number>()
  let used = 0
  return {
    used: () => used,
    reserve: (address = "", bytes) => {
      const own = (byAddress.get(address) ?? 0) + bytes
      if (used + bytes > limits.bodies || own > limits.bodiesPerAddress) return false
      used += bytes
      byAddress.set(address, own)
      return true
    },
    release: (address = "", bytes) => {
      const own = (byAddress.get(address) ?? 0) - bytes
      used -= bytes
      if (own > 0) byAddress.set(address, own)
      else byAddress.delete(address)
    }
  }
}

/** More chunks are joined, because a chunk of one byte occupies a hundred. */
const mostChunks = 1024

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
}

/** Gathers what comes of one body, and takes memory for it. */
const gatherer = (memory: BodyMemory, maximum: number, client: string | undefined) => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  let reserved = 0
  return {
    /**
     * Adds a chunk, or says why it does not. Announced bytes reserve no memory, because a client may announce and never
     * send them.
     */
    add: (chunk: Uint8Array): "added" | "too long" | "no room" => {
      length += chunk.length
      if (length > maximum) return "too long"
      if (!memory.reserve(client, length - reserved)) return "no room"
      reserved = length
      if (chunks.push(chunk) === mostChunks) chunks.splice(0, mostChunks, joined(chunks))
      return "added"
    },
    /** Gives the memory back. */
    end: (): Uint8Array => {
      memory.release(client, reserved)
      reserved = 0
      return joined(chunks.splice(0))
    }
  }
}

/** `undefined` is a body that is longer than it may be. */
type Read = Effect.Effect<Uint8Array | undefined, Unread>

const noRoom = new Unread({ reason: "no room" })
const stopping = new Unread({ reason: "stopping" })

/** A body that may still be coming. */
export interface Coming {
  /** The request as its server has it. One of node:http is read as such. */
  readonly source: unknown
  readonly stream: () => Stream.Stream<Uint8Array, unknown>
}

export interface BodyReader {
  /** True when a body is known to have come as a whole. */
  readonly isComplete: (coming: Coming) => boolean
  readonly read: (coming: Coming, maximum: number, client: string | undefined) => Read
  /** Ends the reading of all that are still coming, at a stop. */
  readonly dismiss: () => void
}

export const make = (limits: HttpLimits.Limits): BodyReader => {
  const memory = bodyMemory(limits)
  /** Of each body that is still coming, what ends its reading. */
  const coming = new Set<(exit: Read) => void>()

  /**
   * A body that node:http is still receiving. The rest of one over the maximum is read and dropped, so that the refusal
   * reaches the client; a body for which there is no memory is not read further.
   */
  const received = (incoming: IncomingMessage, maximum: number, client: string | undefined): Read =>
    Effect.async((resume) => {
      // A destroyed request emits no further event: its client is gone, so that no answer can be sent.
      if (incoming.destroyed) return resume(Effect.interrupt)
      const gathering = gatherer(memory, maximum, client)
      const end = (exit: Read): void => {
        incoming.off("data", receive)
        coming.delete(end)
        gathering.end()
        resume(exit)
      }
      const receive = (chunk: Buffer): void => {
        const added = gathering.add(chunk)
        if (added === "too long") {
          end(Effect.succeed(undefined))
          incoming.resume()
        } else if (added === "no room") {
          incoming.pause()
          end(Effect.fail(noRoom))
        }
      }
      coming.add(end)
      incoming.on("data", receive)
      incoming.once("end", () => end(Effect.succeed(gathering.end())))
      for (const gone of ["error", "close"]) incoming.once(gone, () => end(Effect.interrupt))
      return Effect.sync(() => end(Effect.interrupt))
    })

  /** A body of any other server. */
  const streamed = ({ stream }: Coming, maximum: number, client: string | undefined): Read =>
    Effect.suspend(() => {
      const gathering = gatherer(memory, maximum, client)
      let last: ReturnType<typeof gathering.add> = "added"
      const dismissed = Effect.async<Uint8Array | undefined, Unread>((resume) => {
        coming.add(resume)
        return Effect.sync(() => coming.delete(resume))
      })
      const whole = Stream.runForEachWhile(stream(), (chunk) =>
        Effect.sync(() => {
          last = gathering.add(chunk)
          return last === "added"
        })
      )
      return Effect.raceFirst(
        // The client is gone, so that no answer can be sent.
        Effect.orElse(whole, () => Effect.interrupt),
        dismissed
      ).pipe(
        Effect.flatMap((): Read => {
          if (last === "no room") return Effect.fail(noRoom)
          return Effect.succeed(last === "added" ? gathering.end() : undefined)
        }),
        Effect.ensuring(Effect.sync(() => gathering.end()))
      )
    })

  return {
    isComplete: ({ source }) => source instanceof IncomingMessage && source.complete,
    read: (body, maximum, client) => {
      const { source } = body
      if (!(source instanceof IncomingMessage)) return streamed(body, maximum, client)
      if (!source.complete) return received(source, maximum, client)
      // The body lies there already, which needs neither listeners nor a wait.
      const whole: Uint8Array = source.read() ?? new Uint8Array()
      return Effect.succeed(whole.length > maximum ? undefined : whole)
    },
    dismiss: () => {
      for (const end of coming) end(Effect.fail(stopping))
    }
  }
}
