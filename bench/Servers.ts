/** Servers under load: what the parts that ask over HTTP share. */
import type { Bench } from "./Bench.ts"
import type { Child } from "./Child.ts"
import { type Sample, type Variant, withCpu } from "./Harness.ts"
import type { Load, Loader } from "./load.ts"
import type { Server } from "./subjects/Server.ts"

/** The load of one turn; the rest of it is the server's own. */
export type Asked = Pick<Load, "method" | "path" | "status"> & {
  readonly bodies: (templateId: number) => ReadonlyArray<string>
}

export const connection: Asked = {
  method: "GET",
  path: "/api/v1/connection",
  status: 200,
  bodies: () => []
}

export const clients = 32

/** What is known of a server that runs. */
export interface Running {
  readonly pid: number
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly templateId: number
}

export const running = async (server: Child<Server>): Promise<Running> => ({
  ...(await server.address()),
  pid: server.pid
})

/** Requests per second of as many clients as there are, each with one request at a time. */
export const underLoad =
  (bench: Bench, loader: Child<Loader>, asked: Asked) =>
  (name: string, { headers, pid, port, templateId }: Running): Variant => {
    const { method, path, status } = asked
    const load = {
      port,
      method,
      path,
      status,
      headers,
      bodies: asked.bodies(templateId),
      connections: clients
    }
    return {
      name,
      warmUp: () => loader.run({ ...load, seconds: bench.either(0.7, 12) }),
      measure: async (): Promise<Sample> => {
        const { answer, cpuUs } = await withCpu(
          pid,
          () => loader.run({ ...load, seconds: bench.seconds }),
          ({ requests }) => requests
        )
        const { p50Ms, p99Ms, requests, seconds } = answer
        return { value: requests / seconds, cpuUs, p50Ms, p99Ms }
      }
    }
  }
