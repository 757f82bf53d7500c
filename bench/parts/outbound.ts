/** How fast messages and webhooks leave, against undici alone, to a gateway that answers at once. */
import type { Part } from "../Bench.ts"
import { type Child, start } from "../Child.ts"
import { figure, rounds, type Variant, withCpu } from "../Harness.ts"
import type { Client } from "../subjects/Client.ts"
import type { Gateway } from "../subjects/Gateway.ts"

const undici = "undici Pool.request"

const kinds = [
  { kind: "webhook", title: "a webhook's POST, unsigned", target: 0.95 },
  { kind: "signed", title: "a webhook's POST, signed", target: 0.75 },
  { kind: "whatsapp", title: "a message by the Cloud API's sender, unsigned", target: 0.95 },
  { kind: "http", title: "a message by the gateway's sender, signed", target: 0.75 }
] as const

/** After so many requests what is called often is compiled, however slow or busy the machine is. */
const warm = 10_000

export const outbound: Part = {
  name: "outbound",
  run: async (bench) => {
    const gateway = await start<Gateway>(new URL("../subjects/gateway-server.js", import.meta.url))
    const port = String(await gateway.port())
    const client = (name: string, ...given: ReadonlyArray<string>) =>
      start<Client>(new URL(`../subjects/${name}-client.js`, import.meta.url), [port, ...given])
    const clients: Array<readonly [string, Child<Client>]> = [[undici, await client("undici")]]
    for (const { kind, title } of kinds) clients.push([title, await client("sendwright", kind)])
    const samples = await rounds(
      bench.rounds,
      clients.map(
        ([name, child]): Variant => ({
          name,
          warmUp: async () => {
            for (let sent = 0; sent < bench.either(0.3 * warm, warm); ) sent += (await child.post(500)) / 2
          },
          measure: async () => {
            const { answer, cpuUs } = await withCpu(
              child.pid,
              () => child.post(bench.seconds * 1000),
              (perSecond) => perSecond * bench.seconds
            )
            return { value: answer, cpuUs }
          }
        })
      )
    )
    for (const [, child] of clients) await child.end()
    await gateway.end()
    return kinds.map(({ target, title }) =>
      figure({
        part: "outbound",
        title,
        unit: "requests/s",
        better: "more",
        ours: title,
        samples: new Map([...samples].filter(([name]) => name === title || name === undici)),
        targets: [{ against: undici, value: target }],
        note: "64 at once. undici's body is made before; the senders write theirs from the template each time."
      })
    )
  }
}
