/** The costs of the host itself: a request's CPU time, an idle process, and the first messages after a start. */
import { join } from "node:path"
import type { Bench, Part } from "../Bench.ts"
import { type Child, cpuUs } from "../Child.ts"
import { figure, rounds, type Sample } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"
import type { Loader } from "../load.ts"
import { bodies, bystanders, consented, recipientsPerJob } from "../Sends.ts"
import { type Asked, connection, type Running, underLoad } from "../Servers.ts"
import { strace } from "../Strace.ts"

const part = "host"
const ours = "sendwright"
const sends = "/api/v1/template-messages/send"

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const sendJobs = (loader: Child<Loader>, { headers, port, templateId }: Running, jobs: number) =>
  loader.run({
    port,
    headers,
    method: "POST",
    path: sends,
    status: 202,
    bodies: bodies(templateId, recipientsPerJob),
    connections: 4,
    requests: jobs
  })

const newestJob = async ({ headers, port }: Running): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/template-messages?limit=1`, { headers })
  const { jobs }: { readonly jobs: ReadonlyArray<{ readonly job_id: string }> } = JSON.parse(
    await response.text()
  )
  return jobs[0]?.job_id ?? ""
}

/** With 32 clients, in µs of the host's CPU time. */
const requests = async (bench: Bench, loader: Child<Loader>) => {
  const host = await Hosts.start({
    // Nothing is sent meanwhile.
    ROLE: "api",
    DATABASE_URL: `sqlite:${join(bench.folder("requests"), "host.db")}`
  })
  const tenant = await Hosts.tenant(host, { provider: "sandbox", consents: bystanders })
  await sendJobs(loader, tenant, 1)
  const path = `/api/v1/template-messages/${await newestJob(tenant)}`
  const post = (recipients: number): Asked => ({
    method: "POST",
    path: sends,
    status: 202,
    bodies: (templateId) => bodies(templateId, recipients)
  })
  const asked = [
    ["POST of one", 220, post(1)],
    ["POST of 250", 1300, post(250)],
    ["GET of a job", 180, { ...connection, path }],
    ["GET of the connection", 75, connection]
  ] as const
  const figures = []
  for (const [name, value, each] of asked)
    figures.push(
      figure({
        ...{ part, ours, title: `the host's CPU for each ${name}, SQLite`, unit: "µs", better: "less" },
        samples: await rounds(bench.rounds, [underLoad(bench, loader, each)(ours, tenant)]),
        of: ({ cpuUs }) => cpuUs,
        targets: [{ against: null, value }]
      })
    )
  await host.end()
  return figures
}

const idleSeconds = 10

const idle = async (bench: Bench) => {
  const host = await Hosts.start({ DATABASE_URL: `sqlite:${join(bench.folder("idle"), "host.db")}` })
  await Hosts.tenant(host, { provider: "sandbox", consents: 0 })
  await pause(idleSeconds * 1000)
  const [cpu, syncs]: readonly [Array<Sample>, Array<Sample>] = [[], []]
  for (let turn = 0; turn < bench.either(1, 3); turn++) {
    const before = cpuUs(host.pid)
    await pause(idleSeconds * 1000)
    const after = cpuUs(host.pid)
    if (before !== undefined && after !== undefined)
      cpu.push({ value: ((after - before) / (idleSeconds * 1_000_000)) * 100 })
    const seen = await strace(host.pid, () => pause(idleSeconds * 1000))
    if (seen !== undefined) syncs.push({ value: seen.syncs })
  }
  await host.end()
  const of = (title: string, unit: string, samples: ReadonlyArray<Sample>, value: number) =>
    samples.length === 0
      ? []
      : [
          figure({
            ...{ part, ours, title, unit, better: "less" },
            samples: new Map([[ours, samples]]),
            targets: [{ against: null, value }]
          })
        ]
  return [
    ...of("CPU of an idle host, SQLite", "%", cpu, 0.5),
    ...of("syncs of an idle host in 10 s, SQLite", "syncs", syncs, 2)
  ]
}

const firstMessages = 10_000

/** Recipients per second until nothing waits. */
const drained = async (loader: Child<Loader>, tenant: Running): Promise<Sample> => {
  const began = performance.now()
  await sendJobs(loader, tenant, firstMessages / recipientsPerJob)
  while (!(await Hosts.isDrained(tenant))) await pause(5)
  return { value: firstMessages / ((performance.now() - began) / 1000) }
}

const youth = async (bench: Bench, loader: Child<Loader>) => {
  const [early, late] = ["the first after a start", "after a minute"] as const
  const samples = new Map<string, Array<Sample>>([
    [early, []],
    [late, []]
  ])
  for (let turn = 0; turn < bench.either(1, 3); turn++) {
    const database = join(bench.folder("youth"), "host.db")
    const settings = { DATABASE_URL: `sqlite:${database}`, SANDBOX_LATENCY_MS: "0" }
    const first = await Hosts.start(settings)
    const tenant = await Hosts.tenant(first, { provider: "sandbox", consents: consented.length })
    await first.end()
    // As after a deployment: the store is there, and the process is new.
    const { end, pid, port } = await Hosts.start(settings)
    const running = { ...tenant, pid, port }
    samples.get(early)?.push(await drained(loader, running))
    await pause(bench.either(5, 60) * 1000)
    samples.get(late)?.push(await drained(loader, running))
    await end()
  }
  return figure({
    ...{ part, ours: early, title: "10,000 messages, accepted and drained, SQLite", unit: "recipients/s" },
    better: "more",
    samples,
    targets: [{ against: late, value: 0.7 }]
  })
}

export const host: Part = {
  name: part,
  run: async (bench) => {
    const loader = await bench.loader()
    return [...(await requests(bench, loader)), ...(await idle(bench)), await youth(bench, loader)]
  }
}
