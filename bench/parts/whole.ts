/**
 * A send from its request to the webhook that says it is complete: the real host posts each message to a gateway on
 * 127.0.0.1, which reports it as delivered. Gateway, load generator and database share the core with the host.
 */
import { join } from "node:path"
import type { Bench, Part } from "../Bench.ts"
import { type Child, cpuUs, start } from "../Child.ts"
import { figure, type Sample } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"
import type { Loader } from "../load.ts"
import { bodies, consented, recipientsPerJob } from "../Sends.ts"
import type { Running } from "../Servers.ts"
import { type Gateway, messagesPath, webhooksPath } from "../subjects/Gateway.ts"

const secret = "a secret of the gateway and the host"
const stages = ["accept", "dispatch, send, webhook", "receipts"] as const

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
  const arrived = async (recipients: number, since: { messages: number; webhooks: number }) => {
    for (;;) {
      const { messages, webhooks } = await gateway.counts()
      if (
        messages - since.messages >= recipients &&
        webhooks - since.webhooks >= recipients / recipientsPerJob
      ) {
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  return { gateway, tenant, arrived }
}

const send = (loader: Child<Loader>, { headers, port, templateId }: Running, recipients: number) =>
  loader.run({
    port,
    method: "POST",
    path: "/api/v1/template-messages/send",
    headers,
    bodies: bodies(templateId, recipientsPerJob),
    status: 202,
    connections: 4,
    requests: recipients / recipientsPerJob
  })

const hookOf = (base: string, sessionId: string) => ({ url: `${base}/hooks/http/${sessionId}`, secret })

/** Recipients per second, all at once. */
const throughput = async (
  bench: Bench,
  loader: Child<Loader>,
  database: string,
  recipients: number
): Promise<ReadonlyArray<Sample>> => {
  const { arrived, gateway, tenant } = await startGateway()
  const host = await Hosts.start({ DATABASE_URL: database })
  const made = await tenant(host)
  await gateway.report(hookOf(host.base, made.sessionId))
  const samples: Array<Sample> = []
  for (let turn = 0; turn <= bench.either(1, 5); turn++) {
    const since = await gateway.counts()
    const before = cpuUs(host.pid)
    const began = performance.now()
    await send(loader, made, recipients)
    await arrived(recipients, since)
    await gateway.reported()
    const seconds = (performance.now() - began) / 1000
    const after = cpuUs(host.pid)
    const cpu = before === undefined || after === undefined ? undefined : (after - before) / recipients
    // The first warms up.
    if (turn > 0) samples.push({ value: recipients / seconds, cpuUs: cpu })
  }
  await host.end()
  await gateway.end()
  return samples
}

/** The host's CPU time of each stage, one after the other, in µs per recipient; none where it cannot be told. */
const shares = async (bench: Bench, loader: Child<Loader>, recipients: number) => {
  const { arrived, gateway, tenant } = await startGateway()
  const database = `sqlite:${join(bench.folder("stages"), "host.db")}`
  const accepting = await Hosts.start({ ROLE: "api", DATABASE_URL: database })
  const boot = cpuUs(accepting.pid)
  const made = await tenant(accepting)
  const ready = cpuUs(accepting.pid)
  await send(loader, made, recipients)
  const accepted = cpuUs(accepting.pid)
  await accepting.end()
  const sending = await Hosts.start({ DATABASE_URL: database })
  await arrived(recipients, { messages: 0, webhooks: 0 })
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
    for (const [store, database] of [
      ["SQLite", `sqlite:${join(bench.folder("whole"), "host.db")}`],
      ["PostgreSQL", (await bench.database()).url]
    ] as const) {
      const ours = `sendwright, ${store}`
      const samples = await throughput(bench, loader, database, recipients)
      figures.push(
        figure({
          part,
          title: `whole sends on one core with gateway and load, ${store}`,
          unit,
          better: "more",
          ours,
          samples: new Map([[ours, samples]]),
          targets: [],
          note: "From POST to job.completed's webhook and every receipt, with everything on the same core."
        })
      )
      if (store === "SQLite" && samples.every(({ cpuUs }) => cpuUs !== undefined)) {
        figures.push(
          figure({
            part,
            title: "whole sends per core of the host alone, SQLite",
            unit,
            better: "more",
            ours,
            samples: new Map([[ours, samples]]),
            of: ({ cpuUs }) => (cpuUs === undefined ? undefined : 1_000_000 / cpuUs),
            targets: [{ against: null, value: 20_000 }],
            note: "By the CPU time of the host's process. The target is for the machine of the study."
          })
        )
      }
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
