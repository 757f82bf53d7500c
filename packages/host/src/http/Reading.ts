/**
 * Chooses which connections are read when one turn of the event loop cannot handle all received bytes. Node parses
 * what has arrived on all connections before it does anything else, so that a crowd that sends together would block
 * the loop for half a second. Once a turn has parsed its share of requests, the other connections are paused and read
 * in later turns: a few at a time, from different clients in turn.
 */
import type { Socket } from "node:net"

export interface Readable {
  readonly socket: Socket
  /** The client that limits per address count it for. */
  readonly client: string | undefined
  /**
   * True for a connection that is never paused: its client waits for each answer, so that it brings at most one
   * request per turn.
   */
  readonly isPatient: boolean
}

/** Requests that are parsed in one turn before other connections are paused: a few milliseconds of work. */
const mostHeads = 16
/** The least number of connections that are resumed in one turn. It grows while they bring few requests. */
const fewest = 4

export class Reading {
  private readonly open: () => Iterable<Readable>
  /** Paused connections by client, the next client first. */
  private readonly putOff = new Map<string | undefined, Set<Socket>>()
  /** Requests that were parsed in this turn. */
  private heads = 0
  private batch = fewest
  private isScheduled = false

  /** @param open all connections */
  constructor(open: () => Iterable<Readable>) {
    this.open = open
  }

  /** To be called for each request, as soon as its head is there. */
  parsed(): void {
    this.heads += 1
    this.schedule()
    if (this.heads !== mostHeads) return
    for (const readable of this.open()) if (!readable.isPatient) this.defer(readable)
  }

  /** To be called when a connection is gone. */
  left({ client, socket }: Readable): void {
    const sockets = this.putOff.get(client)
    if (sockets?.delete(socket) === true && sockets.size === 0) this.putOff.delete(client)
  }

  private defer({ client, socket }: Readable): void {
    socket.pause()
    const sockets = this.putOff.get(client)
    if (sockets === undefined) this.putOff.set(client, new Set([socket]))
    else sockets.add(socket)
  }

  /** Resumes some connections in the next turn, until none is paused. */
  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      this.batch = this.heads < mostHeads ? Math.min(2 * this.batch, mostHeads) : fewest
      this.heads = 0
      let left = this.batch
      for (const [client, sockets] of this.putOff) {
        if (left === 0) break
        left -= 1
        this.putOff.delete(client)
        for (const socket of sockets) {
          sockets.delete(socket)
          socket.resume()
          break
        }
        if (sockets.size > 0) this.putOff.set(client, sockets)
      }
      if (this.putOff.size > 0) this.schedule()
    })
  }
}
