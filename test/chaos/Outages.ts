/** The database goes away while nodes send: restarted as after a crash, or behind a connection that is open at one end. */
import { connect, createServer, type Socket } from "node:net"
import type { PostgresServer } from "../support/PostgresServer.ts"
import type { Account } from "./Ledger.ts"
import { sleep, startNode, until } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/** The sends are paced so that they outlast the faults. */
const begin = (setting: Setting, seconds: number): Promise<Scenario.Scenario> =>
  Scenario.begin(
    setting,
    "deduplicating",
    { latencyMs: [10, 100], resets: 0 },
    {
      // Longer than the database is away: nobody is taken for dead because it could not say that it lives.
      leaseMs: 6000,
      messagesPerSecond: Math.max(1, (setting.jobs * setting.recipients) / seconds)
    }
  )

const longestMs = 180_000

/** PostgreSQL killed without a checkpoint and started again every 5 to 10 seconds. */
export const restarts = async (setting: Setting, server: PostgresServer, count: number): Promise<Account> => {
  const { random } = setting
  const { account, drain, gateway, ledger, order } = await begin(setting, count * 7.5)
  const nodes = Array.from({ length: setting.nodes }, () => startNode(order))
  await until("The first send", async () => gateway.requests() > 0, 30_000)
  for (let restart = 0; restart < count; restart++) {
    await sleep(5000 + 5000 * random())
    await server.kill()
    await sleep(2000 * random())
    await server.start()
    setting.say(`restart ${restart + 1}, ${await ledger.open()} recipients open`)
  }
  await drain(nodes, longestMs)
  return account({ fault: "PostgreSQL restarted every 5 to 10 s", faults: count })
}

/** Passes bytes on, until it is told to keep them without a word to either end. */
const proxy = (target: URL) => {
  const pairs = new Set<readonly [Socket, Socket]>()
  let frozen = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const pair = [near, far] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
      if (frozen) from.pause()
      from.on("data", (chunk) => to.write(chunk))
      from.on("error", () => to.destroy())
      from.on("close", () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
  })
  return {
    listen: () =>
      new Promise<URL>((resolve) =>
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const url = new URL(target.href)
          url.hostname = "127.0.0.1"
          url.port = String(typeof address === "object" && address !== null ? address.port : 0)
          resolve(url)
        })
      ),
    freeze: () => {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    /** What was kept is passed on, or dropped with its connection. */
    thaw: (drop: boolean) => {
      frozen = false
      for (const pair of pairs) for (const socket of pair) drop ? socket.destroy() : socket.resume()
    },
    close: () => {
      server.close()
      for (const pair of pairs) for (const socket of pair) socket.destroy()
    }
  }
}

export const halfOpen = async (setting: Setting, count: number): Promise<Account> => {
  const { random } = setting
  const { account, drain, gateway, ledger, order } = await begin(setting, count * 20)
  const between = proxy(new URL(order.store))
  const through = { ...order, store: (await between.listen()).href }
  const nodes = Array.from({ length: setting.nodes }, () => startNode(through))
  await until("The first send", async () => gateway.requests() > 0, 30_000)
  for (let freeze = 0; freeze < count; freeze++) {
    await sleep(2000 + 2000 * random())
    between.freeze()
    // Longer than any time-out of ours, and shorter.
    await sleep(freeze % 2 === 0 ? 14_000 : 4000)
    between.thaw(freeze % 2 === 0)
    setting.say(`freeze ${freeze + 1}, ${await ledger.open()} recipients open`)
  }
  await drain(nodes, longestMs)
  between.close()
  return account({ fault: "connections open at one end only", faults: count })
}
