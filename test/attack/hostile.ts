/**
 * A process that attacks, as an {@link Order} in `ATTACK` says. It never reads what it is answered, tells `up` once all
 * of its sockets are open, and ends when it is killed.
 */
import { connect } from "node:net"

export interface Crowd {
  /** How many sockets it has. */
  readonly sockets: number
  /** Sent immediately. */
  readonly text: string
  /** How often `text` is sent. */
  readonly times: number
  /** Sent every second from then on; empty for nothing. */
  readonly drip: string
}

export interface Order {
  readonly port: number
  readonly crowds: ReadonlyArray<Crowd>
}

const { crowds, port }: Order = JSON.parse(process.env["ATTACK"] ?? "{}")

let opened = 0
const wanted = crowds.reduce((sum, { sockets }) => sum + sockets, 0)

/** Each from one of 250 addresses, as from a small botnet. */
const open = (place: number, { drip, text, times }: Crowd): void => {
  const localAddress = `127.0.1.${1 + (place % 250)}`
  const socket = connect({ port, host: "127.0.0.1", localAddress }, () => {
    socket.write(text.repeat(times))
    opened += 1
    if (opened === wanted) process.stdout.write("up\n")
  })
  socket.pause()
  const timer = drip === "" ? undefined : setInterval(() => socket.write(drip), 1000)
  socket.on("error", () => socket.destroy())
  socket.on("close", () => clearInterval(timer))
}

for (const crowd of crowds) for (let place = 0; place < crowd.sockets; place++) open(place, crowd)

// It stays for as long as it is not killed, whatever becomes of its sockets.
setInterval(() => {}, 60_000)
