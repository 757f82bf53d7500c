/** Whether the API answers as promptly while 100,000 recipients drain in its process. */
import { join } from "node:path"
import type { Part } from "../Bench.ts"
import type { Child } from "../Child.ts"
import { figure, type Sample } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"
import type { Loader } from "../load.ts"
import { bodies, consented, recipientsPerJob } from "../Sends.ts"
import { connection, type Running } from "../Servers.ts"
import { percentile } from "../Statistics.ts"

const perSecond = 100
const connections = 8

/** In slices, for as long as it is wanted. */
const get = async (
  loader: Child<Loader>,
  { headers, port }: Running,
  isOver: (seconds: number) => Promise<boolean>
): Promise<Sample> => {
  const { method, path, status } = connection
  const slice = { port, headers, method, path, status, bodies: [], connections, seconds: 0.5, perSecond }
  const latencies: Array<number> = []
  for (let seconds = 0; seconds === 0 || !(await isOver(seconds)); seconds += slice.seconds) {
    latencies.push(...(await loader.run(slice)).latencies)
  }
  const [p50Ms, p99Ms] = [percentile(latencies, 0.5), percentile(latencies, 0.99)]
  return { value: p99Ms, p50Ms, p99Ms }
}

export const draining: Part = {
  name: "api-while-draining",
  run: async (bench) => {
    const recipients = bench.either(5000, 100_000)
    const turns = bench.either(1, 3)
    const [asking, sending] = [await bench.loader(), await bench.loader()]
    const host = await Hosts.start({
      DATABASE_URL: `sqlite:${join(bench.folder("draining"), "host.db")}`,
      SANDBOX_LATENCY_MS: "0"
    })
    const tenant = await Hosts.tenant(host, { provider: "sandbox", consents: consented.length })
    const seconds = bench.either(2, 5)
    const samples = new Map<string, Array<Sample>>([
      ["draining", []],
      ["idle", []]
    ])
    const idle = () => get(asking, tenant, async (passed) => passed >= seconds)
    await idle()
    for (let turn = 0; turn < turns; turn++) {
      samples.get("idle")?.push(await idle())
      await sending.run({
        port: tenant.port,
        method: "POST",
        path: "/api/v1/template-messages/send",
        headers: tenant.headers,
        bodies: bodies(tenant.templateId, recipientsPerJob),
        status: 202,
        connections: 4,
        requests: recipients / recipientsPerJob
      })
      samples.get("draining")?.push(await get(asking, tenant, () => Hosts.isDrained(tenant)))
    }
    await host.end()
    return [
      figure({
        part: "api-while-draining",
        title: `GET's p99 while ${recipients.toLocaleString("en-US")} recipients drain, SQLite`,
        unit: "ms",
        better: "less",
        ours: "draining",
        samples,
        targets: [{ against: "idle", value: 3 }],
        note: `${perSecond} requests a second, each counted from when it was due.`
      })
    ]
  }
}
