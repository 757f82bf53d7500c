/** From the start of the process until it listens, and what it holds then. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Part, spawned } from "../Bench.ts"
import { residentMiB } from "../Child.ts"
import { figure, rounds } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"

const ours = "sendwright"
const fastify = "fastify with better-sqlite3"

/** Until the heap is as it stays. */
const settleMs = 1000

interface Started {
  readonly pid: number
  readonly startMs: number
  readonly end: () => Promise<void>
}

export const startup: Part = {
  name: "startup",
  run: async (bench) => {
    const boot = fileURLToPath(new URL("../subjects/fastify-boot.js", import.meta.url))
    const folder = bench.folder("startup")
    // Both find the database of their first start, as a restart does.
    const starts: ReadonlyArray<readonly [string, () => Promise<Started>]> = [
      [ours, () => Hosts.start({ DATABASE_URL: `sqlite:${join(folder, "host.db")}` })],
      [fastify, () => spawned([boot, join(folder, "fastify.db")], {}, /ready/)]
    ]
    const resident = new Map<string, ReadonlyArray<number>>()
    const samples = await rounds(
      bench.rounds,
      starts.map(([name, start]) => ({
        name,
        warmUp: async () => {
          const { end } = await start()
          await end()
        },
        measure: async () => {
          const { end, pid, startMs } = await start()
          await new Promise((resolve) => setTimeout(resolve, settleMs))
          const held = residentMiB(pid)
          if (held !== undefined) resident.set(name, [...(resident.get(name) ?? []), held])
          await end()
          return { value: startMs }
        }
      }))
    )
    const part = "startup"
    const startTime = figure({
      part,
      title: "start to listening",
      unit: "ms",
      better: "less",
      ours,
      samples,
      targets: [{ against: fastify, value: 1 }]
    })
    if (resident.size === 0) return [startTime]
    const memory = figure({
      part,
      title: "memory when idle",
      unit: "MiB",
      better: "less",
      ours,
      samples: new Map([...resident].map(([name, all]) => [name, all.map((value) => ({ value }))])),
      targets: [{ against: null, value: 95 }]
    })
    return [startTime, memory]
  }
}
