/**
 * The connections of a server and their limits: their number, in all and per address; the requests of each that wait
 * or are in progress; and for how long a client may leave its answers unread.
 */
import { IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { EventLoopBudget } from "@sendwright/core/adapter"
import { ClientAddress, HttpLimits } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as Reading from "./Reading.ts"

/** A header takes about as much besides its letters, where it was parsed and where it can be looked up. */
const headerBytes = 64

/** The memory that the head of a request takes, more or less. */
const headOf = ({ rawHeaders, url = "" }: IncomingMessage): number => {
  let bytes = url.length + (rawHeaders.length / 2) * headerBytes
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

export class Connection implements Reading.Readable {
  readonly socket: Socket
  /** The client that limits per address count it for; undefined for a trusted proxy's, which has many. */
  readonly client: string | undefined
  /** Set once the connection's last answer is known; waiting requests are not begun any more. */
  isLast = false
  private readonly all: Connections
  private wasAnswered = false
  private hasSentAhead = false
  /** Answers that have not left, and the memory that the heads of their requests take. */
  private readonly unanswered = new Map<ServerResponse, number>()
  private heads = 0
  private readonly waiting: Array<() => void> = []
  private working = 0
  /** The sweep at which the client last read an answer, or had nothing to read. */
  private since = 0

  constructor(all: Connections, socket: Socket) {
    const address = socket.remoteAddress
    this.all = all
    this.socket = socket
    this.client =
      address === undefined || all.clients.isProxy(ClientAddress.normal(address))
        ? undefined
        : ClientAddress.clientOf(address)
  }

  get isPatient(): boolean {
    return this.wasAnswered && !this.hasSentAhead
  }

  /** The limit that a further request would be over. */
  over(head: number): "pipelined" | "heads" | undefined {
    const { heads, pipelined } = this.all.limits
    if (this.unanswered.size >= pipelined) return "pipelined"
    return this.heads + head > heads ? "heads" : undefined
  }

  /** Adds a request, which is begun when those before it leave room. */
  came(incoming: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const head = headOf(incoming)
    this.unanswered.set(response, head)
    this.heads += head
    if (this.unanswered.size > 1) this.hasSentAhead = true
    this.waiting.push(() => {
      this.working += 1
      response.once("close", () => {
        this.working -= 1
        this.next()
      })
      begin()
    })
    response.once("close", () => this.left(response))
    // Node parses all that it has read first: requests over the limits are seen before any of them is begun. While the
    // same process dispatches, they would wait for dispatch's share of the turn, too.
    if (EventLoopBudget.isShared()) process.nextTick(() => this.next())
    else setImmediate(() => this.next())
  }

  /** Cuts the connection when its client has not read its answers for too long. */
  look(): void {
    const { limits, sweeps } = this.all
    if (this.socket.writableLength === 0) this.since = sweeps
    if ((sweeps - this.since) * sweepMs <= limits.stalled) return
    this.all.cut("stalled")
    // A reset, since after a normal close the kernel would go on to offer the unread bytes.
    this.socket.resetAndDestroy()
  }

  /** Tells every answer that its client is gone: Node tells only the one whose turn it is. */
  closed(): void {
    this.waiting.length = 0
    for (const response of this.unanswered.keys()) response.emit("close")
  }

  private left(response: ServerResponse): void {
    this.heads -= this.unanswered.get(response) ?? 0
    this.unanswered.delete(response)
    this.wasAnswered = true
    this.since = this.all.sweeps
  }

  private next(): void {
    while (!this.isLast && !this.socket.destroyed && this.working < this.all.limits.concurrent) {
      const begin = this.waiting.shift()
      if (begin === undefined) return
      begin()
    }
  }
}

/** Milliseconds between two sweeps of all connections: one timer costs less than one for each. */
const sweepMs = 250

export class Connections {
  readonly limits: HttpLimits.Limits
  readonly clients: ClientAddress.ClientAddress
  /** Told of each that is cut without an answer. */
  readonly cut = HttpLimits.cutting()
  /** How often it was looked at all of them. */
  sweeps = 0
  private readonly open = new Map<Socket, Connection>()
  /** Open while there is a connection. */
  private readonly some = Effect.unsafeMakeLatch()
  /** How many an address has open, where it has any. */
  private readonly byClient = new Map<string, number>()
  private readonly reading: Reading.Reading
  constructor(limits: HttpLimits.Limits, clients: ClientAddress.ClientAddress) {
    this.limits = limits
    this.clients = clients
    this.reading = new Reading.Reading(() => this.open.values())
  }

  /** Undefined for one that was refused, or is closed. */
  of(socket: Socket): Connection | undefined {
    return this.open.get(socket)
  }

  /** Adds a new connection, or returns the limit that it exceeds. */
  admit(socket: Socket): "connections" | "connectionsPerAddress" | undefined {
    if (this.open.size >= this.limits.connections) return "connections"
    const connection = new Connection(this, socket)
    const { client } = connection
    if (client !== undefined) {
      const others = this.byClient.get(client) ?? 0
      if (others >= this.limits.connectionsPerAddress) return "connectionsPerAddress"
      this.byClient.set(client, others + 1)
    }
    this.open.set(socket, connection)
    this.some.unsafeOpen()
    socket.once("close", () => {
      this.open.delete(socket)
      if (this.open.size === 0) this.some.unsafeClose()
      this.reading.left(connection)
      if (client !== undefined) this.release(client)
      connection.closed()
    })
    return undefined
  }

  private release(client: string): void {
    const remaining = (this.byClient.get(client) ?? 1) - 1
    if (remaining > 0) this.byClient.set(client, remaining)
    else this.byClient.delete(client)
  }

  /** Looks at all of them, now and then. Where there is none, no timer wakes the process. */
  get watch(): Effect.Effect<never> {
    const sweep = Effect.sync(() => {
      this.sweeps += 1
      for (const connection of this.open.values()) connection.look()
    })
    return Effect.forever(Effect.zipRight(this.some.await, Effect.delay(sweep, sweepMs)))
  }

  /**
   * The class of the server's requests. Node parses all bytes that it read from a socket, up to 64 KiB, before it
   * does anything else: up to 1,600 requests, each of which takes several kilobytes. Only a request for an upgrade
   * stops the parser midway, since the bytes behind it are not HTTP. Therefore a request over the limits claims to be
   * one.
   */
  requests(): typeof IncomingMessage {
    const isOver = (request: IncomingMessage): boolean => {
      this.reading.parsed()
      const connection = this.open.get(request.socket)
      if (connection === undefined) return true
      const limit = connection.over(headOf(request))
      if (limit === undefined) return false
      this.cut(limit)
      return true
    }
    return class Request extends IncomingMessage {
      private asks: boolean | null = null
      private isOver: boolean | undefined
      /** Node's server reads it once the head is there, before anything is made of it. */
      get upgrade(): boolean | null {
        if (this.isOver === undefined) {
          this.isOver = isOver(this)
          if (this.isOver) this.socket.destroy()
        }
        return this.isOver || this.asks
      }
      set upgrade(asks: boolean | null) {
        this.asks = asks
      }
    }
  }
}
