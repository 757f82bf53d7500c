/** Processes are killed while they deliver webhooks: every event arrives, with the same bytes however often. */
import { createServer } from "node:http"
import * as Gateway from "./Gateway.ts"
import type { Account } from "./Ledger.ts"
import * as Ledger from "./Ledger.ts"
import { fill, sleep, startNode, until } from "./Processes.ts"
import { orderOf, type Setting } from "./Scenario.ts"

interface Receiver {
  readonly url: string
  /** The body of each event, by its id. */
  readonly bodies: ReadonlyMap<string, string>
  readonly repeated: () => number
  readonly altered: () => number
  readonly close: () => void
}

const receiving = (random: () => number): Promise<Receiver> => {
  const bodies = new Map<string, string>()
  let repeated = 0
  let altered = 0
  const server = createServer((request, response) => {
    const id = String(request.headers["webhook-id"])
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      const before = bodies.get(id)
      if (before !== undefined) repeated += 1
      if (before !== undefined && before !== body) altered += 1
      bodies.set(id, body)
      setTimeout(() => response.end(), 200 * random())
    })
  })
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        url: `http://127.0.0.1:${port}/`,
        bodies,
        repeated: () => repeated,
        altered: () => altered,
        close: () => {
          server.close()
          server.closeAllConnections()
        }
      })
    })
  })
}

/** How long a dead process's deliveries are believed to be under way. */
const leaseMs = 30_000

export const killed = async (setting: Setting, kills: number): Promise<Account> => {
  const { nodes: count, random, say } = setting
  const store = await setting.freshStore()
  const gateway = await Gateway.start("plain", random, { latencyMs: [1, 5], resets: 0 })
  const receiver = await receiving(random)
  const order = { ...orderOf(setting, store, gateway.url, "plain"), receiver: receiver.url }
  await fill(order)
  const ledger = Ledger.open(store)
  const nodes = Array.from({ length: count }, () => startNode(order))
  for (let kill = 1; kill <= kills; kill++) {
    const place = Math.floor(random() * nodes.length)
    await nodes[place]?.up
    await sleep(300 * random())
    nodes[place]?.kill("SIGKILL")
    await nodes[place]?.ended
    nodes[place] = startNode(order)
    if (kill % 10 === 0) say(`${kill} kills, ${receiver.bodies.size} events arrived`)
  }
  const isQuiet = async (): Promise<boolean> =>
    (await ledger.open()) === 0 && (await ledger.events()).waiting === 0
  await until("The arrival of all events", isQuiet, 4 * leaseMs)
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all(nodes.map(({ ended }) => ended))
  const { ids } = await ledger.events()
  const told = new Set([...receiver.bodies.values()].map((body) => outcomeIn(body)))
  const untold = (await ledger.recipients()).filter(
    ({ messageId, status }) => !told.has(`${messageId} ${status}`)
  ).length
  await ledger.close()
  await gateway.close()
  receiver.close()
  say(`${receiver.repeated()} came again, as at least once allows`)
  return {
    fault: "kill -9 while webhooks are delivered",
    faults: kills,
    sends: ids.length,
    lost: ids.filter((id) => !receiver.bodies.has(id)).length + untold,
    repeated: 0,
    unexplained: receiver.altered(),
    unknown: 0,
    inFlight: 0,
    parked: 0
  }
}

/** Which recipient an event tells of, and what of it. */
const outcomeIn = (body: string): string => {
  const event: { readonly data: { readonly message_id: string; readonly status: string } } = JSON.parse(body)
  return `${event.data.message_id} ${event.data.status}`
}
