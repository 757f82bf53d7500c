/** The contract without a disk: how much of a raw server's speed is left when it is served from schemas by an engine. */
import type { Part } from "../Bench.ts"
import { start } from "../Child.ts"
import { figure, rounds } from "../Harness.ts"
import { bodies } from "../Sends.ts"
import { type Asked, clients, connection, running, underLoad } from "../Servers.ts"
import type { Server } from "../subjects/Server.ts"

const send = (recipients: number): Asked => ({
  method: "POST",
  path: "/api/v1/template-messages/send",
  status: 202,
  bodies: (templateId) => bodies(templateId, recipients)
})

const ours = "sendwright"
const raw = "node:http"
const fastify = "fastify"

const asked = [
  {
    title: `authenticated GET, ${clients} clients`,
    asked: connection,
    targets: [
      { against: raw, value: 0.8 },
      { against: fastify, value: 0.85 }
    ]
  },
  {
    title: "POST send, 1 recipient, nothing stored",
    asked: send(1),
    targets: [
      { against: raw, value: 0.8 },
      { against: fastify, value: 0.9 }
    ]
  },
  {
    title: "POST send, 250 recipients, nothing stored",
    asked: send(250),
    targets: [{ against: raw, value: 0.85 }]
  }
]

export const http: Part = {
  name: "http",
  run: async (bench) => {
    const loader = await bench.loader()
    const servers = {
      [ours]: await start<Server>(new URL("../subjects/sendwright-server.js", import.meta.url)),
      [raw]: await start<Server>(new URL("../subjects/raw-server.js", import.meta.url)),
      [fastify]: await start<Server>(new URL("../subjects/fastify-server.js", import.meta.url))
    }
    const known = await Promise.all(
      Object.entries(servers).map(async ([name, server]) => [name, await running(server)] as const)
    )
    const figures = []
    for (const { asked: load, targets, title } of asked) {
      const variant = underLoad(bench, loader, load)
      figures.push(
        figure({
          part: "http",
          title,
          unit: "requests/s",
          better: "more",
          ours,
          samples: await rounds(
            bench.rounds,
            known.map(([name, server]) => variant(name, server))
          ),
          targets,
          note: "The host's adapter and the engine over stores in memory; the one for jobs keeps nothing."
        })
      )
    }
    for (const server of Object.values(servers)) await server.end()
    return figures
  }
}
