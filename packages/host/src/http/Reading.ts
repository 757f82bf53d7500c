/**
 * Chooses the connections that are read when more has come than one turn of the event loop has time for. Node parses all that has
 * come on all connections before it does anything else: a crowd that sends at once would keep the loop for half a second.
 * So once a turn has parsed its share the others are put off, and are read again in later turns: a few at a time, those
 * of different clients in turn.
 */
import type { Socket } from "node:net"

export interface Readable {
  readonly socket: Socket
  /** The client that limits per address count it for. */
  readonly client: string | undefined
  /** True for one that is never put off: its client waits for each answer, so that it brings one request in a turn. */
  readonly isPatient: boolean
}

/** Requests that are parsed in one turn before the others are put off. */
const mostHeads = 32
/** Connections that are read again in one turn. They become more where they bring little. */
const fewest = 4

export class Reading {
  private readonly open: () => Iterable<Readable>
  /** By holder, the one whose turn is next first. */
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

  /** Reads some of them again in the next turn, and so on until none is put off. */
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
