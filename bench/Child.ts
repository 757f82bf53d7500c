/** What is measured runs in a process of its own, with its own heap, and is called from the harness like an object. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { mortal } from "../test/support/mortal.ts"

/** Methods whose arguments and answers can be written as JSON. */
type Subject<T> = { readonly [Name in keyof T]: (...given: never) => Promise<unknown> }

export type Child<T> = T & {
  readonly pid: number
  readonly end: () => Promise<void>
}

interface Call {
  readonly id: number
  readonly name: string
  readonly given: ReadonlyArray<unknown>
}

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** Called by the child's script: answers the harness's calls until the harness is gone. */
export const expose = <T extends Subject<T>>(subject: T): void => {
  const methods = new Map<string, (...given: ReadonlyArray<unknown>) => Promise<unknown>>(
    Object.entries(subject)
  )
  process.on("message", async ({ given, id, name }: Call) => {
    try {
      process.send?.({ id, value: await methods.get(name)?.(...given) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once("disconnect", () => process.exit(0))
  process.send?.({ id: 0 })
}

/** Starts a script that exposes a `T`, and waits until it does. */
export const start = async <T extends Subject<T>>(
  script: URL,
  given: ReadonlyArray<string> = [],
  environment: Readonly<Record<string, string>> = {}
): Promise<Child<T>> => {
  const env = { ...process.env, NODE_ENV: "production", ...environment }
  const child = mortal(fork(script, given, { env, execArgv: [] }))
  const waiting = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >()
  let last = 0
  const ready = new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }))
  child.on("message", ({ error, id, value }: Answer) => {
    if (error === undefined) waiting.get(id)?.resolve(value)
    else waiting.get(id)?.reject(new Error(`${script.pathname} ${given.join(" ")}: ${error}`))
    waiting.delete(id)
  })
  child.once("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${script.pathname} ended with ${code}`))
  })
  await ready
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }
  return new Proxy(Object.create(null), {
    get: (_, name) => {
      if (name === "pid") return child.pid
      if (name === "end") return end
      // A promise's resolution asks whether this is one, too.
      if (name === "then" || typeof name === "symbol") return undefined
      return (...call: ReadonlyArray<unknown>) =>
        new Promise<unknown>((resolve, reject) => {
          last += 1
          waiting.set(last, { resolve, reject })
          child.send({ id: last, name, given: call })
        })
    }
  })
}

/** CPU time that a process and its threads have used, in microseconds; undefined where there is no Linux to ask. */
export const cpuUs = (pid: number): number | undefined => {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]))
      .reduce((sum, nanoseconds) => sum + nanoseconds / 1000, 0)
  } catch {
    return undefined
  }
}

/** Memory that a process has in use, in MiB; undefined where there is no Linux to ask. */
export const residentMiB = (pid: number): number | undefined => {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}
