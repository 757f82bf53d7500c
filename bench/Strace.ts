/** The calls by which a process asks its kernel for something meanwhile, as `strace` sees it; undefined where nobody may look. */
import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Seen {
  readonly syncs: number
  /** Writes to sockets, of the process's own and of a database's client. */
  readonly writes: number
}

const calls = "fsync,fdatasync,write,writev,sendto,sendmsg"
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

export const strace = async (pid: number, work: () => Promise<unknown>): Promise<Seen | undefined> => {
  // `-y` tells what a number is of, and `-s 0` leaves out what is written.
  const given = ["-f", "-y", "-s", "0", "-e", `trace=${calls}`, "-p", String(pid)]
  const looking = spawn("strace", given, { stdio: ["ignore", "ignore", "pipe"] })
  let text = ""
  const attached = new Promise<boolean>((resolve) => {
    looking.on("error", () => resolve(false))
    looking.on("close", () => resolve(false))
    looking.stderr.on("data", (chunk: Buffer) => {
      text += chunk
      if (text.includes("attached")) resolve(true)
    })
  })
  if (!(await attached)) return undefined
  await work()
  const closed = once(looking, "close")
  looking.kill("SIGINT")
  await closed
  return {
    syncs: count(text, /(?:fsync|fdatasync)\(/g),
    writes: count(text, /(?:write|writev|sendto|sendmsg)\(\d+<(?:socket|TCP|TCPv6|UNIX)\b/g)
  }
}
