/** A send that is answered once it is on the disk: the host itself against services that do the same by hand. */
import { join } from "node:path"
import type { Part } from "../Bench.ts"
import { start } from "../Child.ts"
import { figure, rounds } from "../Harness.ts"
import * as Hosts from "../Hosts.ts"
import { bodies, bystanders } from "../Sends.ts"
import { clients, running, underLoad } from "../Servers.ts"
import type { Server } from "../subjects/Server.ts"

const ours = "sendwright"
const direct = "fastify, a transaction each"
const grouped = "node:http, grouped commits"

const asked = [
  {
    recipients: 1,
    targets: [
      { against: direct, value: 4 },
      { against: grouped, value: 0.75 }
    ]
  },
  { recipients: 250, targets: [{ against: direct, value: 1.4 }] }
]

export const accept: Part = {
  name: "accept",
  run: async (bench) => {
    const loader = await bench.loader()
    const server = (script: string, kind: string) =>
      start<Server>(new URL(`../subjects/${script}.js`, import.meta.url), [
        kind,
        join(bench.folder(script), "accept.db")
      ])
    const fastifyDirect = await server("fastify-server", "direct")
    const rawGrouped = await server("raw-server", "grouped")
    const rawDirect = await server("raw-server", "direct")
    const host = await Hosts.start({
      // Nothing is sent meanwhile.
      ROLE: "api",
      DATABASE_URL: `sqlite:${join(bench.folder("host"), "accept.db")}`
    })
    const known = [
      [ours, await Hosts.tenant(host, { provider: "sandbox", consents: bystanders })],
      [direct, await running(fastifyDirect)],
      [grouped, await running(rawGrouped)],
      ["node:http, a transaction each", await running(rawDirect)]
    ] as const
    const figures = []
    for (const { recipients, targets } of asked) {
      const variant = underLoad(bench, loader, {
        method: "POST",
        path: "/api/v1/template-messages/send",
        status: 202,
        bodies: (templateId) => bodies(templateId, recipients)
      })
      figures.push(
        figure({
          part: "accept",
          title: `durable accept, ${recipients} recipient${recipients === 1 ? "" : "s"}, ${clients} clients, SQLite`,
          unit: "requests/s",
          better: "more",
          ours,
          samples: await rounds(
            bench.rounds,
            known.map(([name, server]) => variant(name, server))
          ),
          targets,
          note: "All with synchronous = FULL; each looks up every number's consent among 100,000."
        })
      )
    }
    for (const each of [fastifyDirect, rawGrouped, rawDirect, host]) await each.end()
    return figures
  }
}
