/** Starts the processes of {@link ./node.ts}, and ends only those. */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Order } from "./node.ts"

export interface Node {
  /** When it works, or has ended. */
  readonly up: Promise<unknown>
  readonly ended: Promise<number | NodeJS.Signals>
  readonly isAlive: () => boolean
  readonly kill: (signal: NodeJS.Signals) => void
  readonly output: () => string
}

const program = fileURLToPath(new URL("./node.ts", import.meta.url))

export const startNode = (order: Order): Node => {
  let output = ""
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", program], {
    env: { ...process.env, CHAOS: JSON.stringify(order) },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const hear = (chunk: unknown): void => {
    output = (output + String(chunk)).slice(-20_000)
  }
  child.stdout?.on("data", hear)
  child.stderr?.on("data", hear)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? code ?? 1))
  )
  const told = new Promise((resolve) => child.stdout?.once("data", resolve))
  return {
    up: Promise.race([told, ended]),
    ended,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    kill: (signal) => {
      child.kill(signal)
    },
    output: () => output
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for a condition that is looked at now and then. */
export const until = async (
  what: string,
  condition: () => Promise<boolean>,
  withinMs: number
): Promise<void> => {
  const deadline = performance.now() + withinMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms.`)
    await sleep(100)
  }
}

/** Queues the jobs, again and again when the process that does it dies. */
export const fill = async (
  order: Order,
  dies: ReadonlyArray<NonNullable<Order["dies"]>> = []
): Promise<void> => {
  for (const each of [...dies, null]) {
    const node = startNode({ ...order, task: "fill", dies: each })
    const end = await node.ended
    if (each === null && end !== 0) throw new Error(`The jobs could not be queued:\n${node.output()}`)
  }
}
