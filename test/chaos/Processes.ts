/** Starts the processes of {@link ./node.ts}, and ends only those. */
import { spawn } from "node:child_process"
import { mortal } from "../support/mortal.ts"
import type { Order, Tenant } from "./node.ts"
import * as Program from "./Program.ts"

export interface Node {
  /** When it works, or has ended. */
  readonly up: Promise<unknown>
  /** Its exit code, or what killed it; all of its output is there then. */
  readonly ended: Promise<number | NodeJS.Signals>
  readonly isAlive: () => boolean
  readonly kill: (signal: NodeJS.Signals) => void
  readonly output: () => string
}

/** @param program of the build that it belongs to */
export const startNode = (order: Order, program = Program.file()): Node => {
  let output = ""
  const child = mortal(
    spawn(process.execPath, [program], {
      env: { ...process.env, CHAOS: JSON.stringify(order) },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  const hear = (chunk: unknown): void => {
    output = (output + String(chunk)).slice(-20_000)
  }
  child.stdout?.on("data", hear)
  child.stderr?.on("data", hear)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? code ?? 1))
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

/** What a node told of something. */
const told = (node: Node, what: string): ReadonlyArray<string> =>
  node
    .output()
    .split("\n")
    .flatMap((line) => (line.startsWith(`${what} `) ? [line.slice(what.length + 1)] : []))

/**
 * Queues the jobs, again and again when the process that does it dies, under the same keys. Answers the jobs that
 * were acknowledged.
 *
 * @param programs each queues all of them in turn: what one has accepted, its keys answer to the next
 */
export const fill = async (
  order: Order,
  dies: ReadonlyArray<NonNullable<Order["dies"]>> = [],
  programs: ReadonlyArray<string> = [Program.file()]
): Promise<ReadonlySet<string>> => {
  const accepted = new Set<string>()
  const run = async (node: Node, mayDie = false): Promise<Node> => {
    const end = await node.ended
    for (const jobId of told(node, "accepted")) accepted.add(jobId)
    if (end !== 0 && !(mayDie && end === "SIGKILL"))
      throw new Error(`The jobs could not be queued:\n${node.output()}`)
    return node
  }
  const [first, ...others] = programs
  if (dies.length === 0 && others.length === 0) {
    await run(startNode({ ...order, task: "fill" }, first))
    return accepted
  }
  const [prepared] = told(await run(startNode({ ...order, task: "prepare" }, first)), "prepared")
  if (prepared === undefined) throw new Error("The tenant was not told.")
  const tenant: Tenant = JSON.parse(prepared)
  for (const each of dies) await run(startNode({ ...order, task: "fill", tenant, dies: each }, first), true)
  for (const program of programs) await run(startNode({ ...order, task: "fill", tenant }, program))
  return accepted
}
