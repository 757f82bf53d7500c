/**
 * A send from its request to the webhook that says it is complete: the real host posts each message to a gateway on
 * 127.0.0.1, which reports it as delivered. Gateway, load generator and database share the core with the host.
 */
import { join } from "node:path"
import type { Bench, Database, Part } from "../Bench.ts"
import { type Child, cpuUs, start } from "../Child.ts"
import { figure, rounds, type Sample, type Variant } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"
import type { Loader } from "../load.ts"
import { bodies, consented } from "../Sends.ts"
import { type Running, running } from "../Servers.ts"
import { strace } from "../Strace.ts"
import { type Gateway, messagesPath, webhooksPath } from "../subjects/Gateway.ts"
import type { Server } from "../subjects/Server.ts"

const secret = "a secret of the gateway and the host"

/** Against a careful author's own stack. */
const targets = {
  SQLite: { 250: 2, 1: 1.5 },
  PostgreSQL: { 250: 2, 1: 1 }
} as const
const stages = ["accept", "dispatch, send, webhook", "receipts"] as const

/** What is sent with one request, by how many clients. */
const shapes = {
  250: { name: "250 per send", clients: 4, groups: 16 },
  // To distinct people, as orders are.
  1: { name: "one per send", clients: 32, groups: consented.length }
} as const
type PerSend = keyof typeof shapes

/** A gateway, and what a host's tenant has to know of it. */
const startGateway = async () => {
  const gateway = await start<Gateway>(new URL("../subjects/gateway-server.js", import.meta.url))
  const url = `http://127.0.0.1:${await gateway.port()}`
  const tenant = async (host: Hosts.Host) => {
    const made = await Hosts.tenant(host, {
      provider: "http",
      config: { url: url + messagesPath, secret },
      consents: consented.length
    })
    const webhook = { url: url + webhooksPath, events: ["job.completed"] }
    await host.admin("POST", `/accounts/${made.accountId}/webhooks`, webhook)
    return made
  }
  /** Waits for so many more messages, and for the webhook of each of their jobs. */
  const arrived = async (
    recipients: number,
    perSend: PerSend,
    since: { messages: number; webhooks: number }
  ) => {
    for (;;) {
      const { messages, webhooks } = await gateway.counts()
      if (messages - since.messages >= recipients && webhooks - since.webhooks >= recipients / perSend) {
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  return { gateway, url, tenant, arrived }
}

const send = (
  loader: Child<Loader>,
  { headers, port, templateId }: Running,
  recipients: number,
  perSend: PerSend
) =>
  loader.run({
    port,
    method: "POST",
    path: "/api/v1/template-messages/send",
    headers,
    bodies: bodies(templateId, perSend, shapes[perSend].groups),
    status: 202,
    connections: shapes[perSend].clients,
    requests: recipients / perSend
  })

const hookOf = (base: string, sessionId: string) => ({ url: `${base}/hooks/http/${sessionId}`, secret })

/** A service that runs, with its gateway. */
interface Service {
  readonly made: Running
  readonly arrived: Awaited<ReturnType<typeof startGateway>>["arrived"]
  readonly gateway: Child<Gateway>
  readonly database: Database | undefined
  readonly end: () => Promise<void>
}

const ours = async (url: string, database: Database | undefined): Promise<Service> => {
  const { arrived, gateway, tenant } = await startGateway()
  const host = await Hosts.start({ DATABASE_URL: url })
  const made = await tenant(host)
  await gateway.report(hookOf(host.base, made.sessionId))
  return {
    made,
    arrived,
    gateway,
    database,
    end: async () => {
      await host.end()
      await gateway.end()
    }
  }
}

const byHand = async (where: string, database: Database | undefined): Promise<Service> => {
  const { arrived, gateway, url } = await startGateway()
  const script = new URL("../subjects/stack-server.js", import.meta.url)
  const stack = await start<Server>(script, [where, url, secret])
  const made = await running(stack)
  await gateway.report({ url: `http://127.0.0.1:${made.port}/hooks`, secret })
  return {
    made,
    arrived,
    gateway,
    database,
    end: async () => {
      await stack.end()
      await gateway.end()
    }
  }
}

/** Recipients per second, all at once. */
const variant = (
  bench: Bench,
  loader: Child<Loader>,
  name: string,
  { arrived, database, gateway, made }: Service,
  perSend: PerSend
): Variant => {
  const recipients = perSend === 1 ? bench.either(1000, 6000) : bench.either(2500, 20_000)
  const measure = async (): Promise<Sample> => {
    const since = await gateway.counts()
    const before = cpuUs(made.pid)
    const serverBefore = await database?.serverCpuUs()
    const began = performance.now()
    await send(loader, made, recipients, perSend)
    await arrived(recipients, perSend, since)
    await gateway.reported()
    const seconds = (performance.now() - began) / 1000
    const after = cpuUs(made.pid)
    const serverAfter = await database?.serverCpuUs()
    const each = (from: number | undefined, to: number | undefined) =>
      from === undefined || to === undefined ? undefined : (to - from) / recipients
    return {
      value: recipients / seconds,
      cpuUs: each(before, after),
      serverCpuUs: each(serverBefore, serverAfter)
    }
  }
  return { name, measure }
}

const most = { SQLite: { writes: 3.1, syncs: 0.2 }, PostgreSQL: { writes: 6, syncs: null } } as const

/** The calls of the kernel that a send of one costs. Watching makes them slow, so that they are counted in a turn of their own. */
const callsOf = async (
  bench: Bench,
  loader: Child<Loader>,
  store: keyof typeof most,
  ours: string,
  { arrived, gateway, made }: Service
) => {
  const recipients = bench.either(500, 3000)
  const since = await gateway.counts()
  const seen = await strace(made.pid, async () => {
    await send(loader, made, recipients, 1)
    await arrived(recipients, 1, since)
    await gateway.reported()
  })
  if (seen === undefined) return []
  const of = (title: string, unit: string, count: number, value: number | null) =>
    value === null
      ? []
      : [
          figure({
            ...{ part: "whole", unit, better: "less", ours, title: `${title}, ${store}, one per send` },
            samples: new Map([[ours, [{ value: count / recipients }]]]),
            targets: [{ against: null, value }]
          })
        ]
  return [
    ...of("the host's writes to sockets for each message", "writes", seen.writes, most[store].writes),
    ...of("the host's syncs for each message", "syncs", seen.syncs, most[store].syncs)
  ]
}

/** The host's CPU time of each stage, one after the other, in µs per recipient; none where it cannot be told. */
const shares = async (bench: Bench, loader: Child<Loader>, recipients: number) => {
  const { arrived, gateway, tenant } = await startGateway()
  const database = `sqlite:${join(bench.folder("stages"), "host.db")}`
  const accepting = await Hosts.start({ ROLE: "api", DATABASE_URL: database })
  const boot = cpuUs(accepting.pid)
  const made = await tenant(accepting)
  const ready = cpuUs(accepting.pid)
  await send(loader, made, recipients, 250)
  const accepted = cpuUs(accepting.pid)
  await accepting.end()
  const sending = await Hosts.start({ DATABASE_URL: database })
  await arrived(recipients, 250, { messages: 0, webhooks: 0 })
  const sent = cpuUs(sending.pid)
  await gateway.report(hookOf(sending.base, made.sessionId))
  await gateway.reported()
  const received = cpuUs(sending.pid)
  await sending.end()
  await gateway.end()
  if (
    boot === undefined ||
    ready === undefined ||
    accepted === undefined ||
    sent === undefined ||
    received === undefined
  ) {
    return undefined
  }
  return [accepted - ready, sent - boot, received - sent].map((us) => us / recipients)
}

export const whole: Part = {
  name: "whole",
  run: async (bench) => {
    const loader = await bench.loader()
    const recipients = bench.either(1000, 20_000)
    const part = "whole"
    const unit = "recipients/s"
    const figures = []
    const onSqlite = () => join(bench.folder("whole"), "host.db")
    for (const store of ["SQLite", "PostgreSQL"] as const) {
      const isSqlite = store === "SQLite"
      const databases = isSqlite ? [] : [await bench.database(), await bench.database()]
      const [ofOurs, ofHand] = databases
      const services = [
        [`sendwright, ${store}`, await ours(ofOurs?.url ?? `sqlite:${onSqlite()}`, ofOurs)],
        [`by hand, ${store}`, await byHand(ofHand?.url ?? onSqlite(), ofHand)]
      ] as const
      for (const perSend of [250, 1] as const) {
        const samples = await rounds(
          bench.rounds,
          services.map(([name, service]) => variant(bench, loader, name, service, perSend))
        )
        const [[mine], [theirs]] = services
        figures.push(
          figure({
            part,
            title: `whole sends on one core with gateway and load, ${store}, ${shapes[perSend].name}`,
            unit,
            better: "more",
            ours: mine,
            samples,
            targets: [{ against: theirs, value: targets[store][perSend] }],
            note: "From POST to job.completed's webhook and every receipt, with everything on the same core."
          })
        )
        const own = samples.get(mine) ?? []
        if (isSqlite && perSend === 250 && own.every(({ cpuUs }) => cpuUs !== undefined)) {
          figures.push(
            figure({
              part,
              title: "whole sends per core of the host alone, SQLite",
              unit,
              better: "more",
              ours: mine,
              samples: new Map([[mine, own]]),
              of: ({ cpuUs }) => (cpuUs === undefined ? undefined : 1_000_000 / cpuUs),
              targets: [{ against: null, value: 20_000 }],
              note: "By the CPU time of the host's process. The target is for the machine of the study."
            })
          )
        }
      }
      const [[name, service]] = services
      figures.push(...(await callsOf(bench, loader, store, name, service)))
      for (const [, { end }] of services) await end()
    }
    const us = await shares(bench, loader, recipients)
    if (us !== undefined) {
      const total = us.reduce((sum, each) => sum + each, 0)
      figures.push(
        figure({
          part,
          title: "share of the host's CPU time by stage, SQLite",
          unit: "%",
          better: "less",
          ours: stages[0],
          samples: new Map(
            stages.map((name, place) => {
              const cpuUs = us[place] ?? Number.NaN
              return [name, [{ value: (cpuUs / total) * 100, cpuUs }]]
            })
          ),
          targets: [],
          note: "One stage after the other, so that each can be told."
        })
      )
    }
    return figures
  }
}
