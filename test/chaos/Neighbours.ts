/** How long others wait while the messages of one tenant end each process that attempts them. */
import type { Account } from "./Ledger.ts"
import { type Node, sleep, startNode } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/** The tenant whose messages kill, and those beside it. */
const tenants = 4

/** The pace of each. */
const messagesPerSecond = 10

/**
 * No neighbour waits for longer, in milliseconds. A process that died starts within two seconds, and what it had in hand is
 * taken back within two more; a busy machine may double that. A young process stays young for three times as long.
 */
const boundMs = 10_000

/** The longest time that one with messages that were due had none sent, in milliseconds: beyond its pace, between any two. */
const longestOf = (began: number, times: ReadonlyArray<number>): number =>
  times
    .toSorted((one, other) => one - other)
    .reduce(
      ({ last, most }, time) => ({
        last: time,
        most: Math.max(most, time - last - 1000 / messagesPerSecond)
      }),
      { last: began, most: 0 }
    ).most

/**
 * With the youth and the waits that processes have. What was in flight when a process died may be its cause, and waits as the
 * suspects do: it belongs to no neighbour's wait.
 */
export const beside = async (setting: Setting, killers: number): Promise<Account> => {
  const weather = { latencyMs: [50, 50], resets: 0 } as const
  const times = { youthMs: 30_000, suspectWaits: [60_000, 300_000, 900_000], messagesPerSecond }
  const scenario = await Scenario.begin(setting, "deduplicating", weather, times, [], tenants)
  const { gateway, ledger } = scenario
  const all = (await ledger.recipients()).toSorted((one, other) => Number(one.row) - Number(other.row))
  const jobs = [...new Set(all.map(({ job }) => job))]
  const tenantOf = new Map(jobs.map((job, place) => [job, Math.floor(place / setting.jobs)]))
  const guilty = all.filter(({ job }) => tenantOf.get(job) === 0)
  const order = {
    ...scenario.order,
    killers: guilty.slice(5, 5 + killers).map(({ messageId }) => messageId)
  }
  const beside = all.filter(({ job }) => tenantOf.get(job) !== 0)
  const inFlight = new Set<string>()
  const isOpen = () =>
    beside.some(({ messageId, row }) => !gateway.effects.has(messageId) && !inFlight.has(row))

  const began = performance.now()
  const deadline = began + 4 * ((1000 * setting.jobs * setting.recipients) / messagesPerSecond) + 60_000
  const nodes: Array<Node> = Array.from({ length: setting.nodes }, () => startNode(order))
  let deaths = 0
  while (isOpen()) {
    if (performance.now() > deadline) throw new Error("The neighbours' messages were not sent in time.")
    for (const [place, node] of nodes.entries()) {
      if (node.isAlive()) continue
      const end = await node.ended
      if (end !== "SIGKILL") throw new Error(`A process ended with ${end}:\n${node.output()}`)
      deaths += 1
      for (const row of await ledger.inFlight()) inFlight.add(row)
      nodes[place] = startNode(order)
    }
    await sleep(20)
  }
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all(nodes.map(({ ended }) => ended))

  const waits = Array.from({ length: tenants - 1 }, (_, place) =>
    longestOf(
      began,
      beside.flatMap(({ job, messageId }) => {
        const time = gateway.times.get(messageId)
        return tenantOf.get(job) === place + 1 && time !== undefined ? [time] : []
      })
    )
  )
  const longestWaitMs = Math.round(Math.max(...waits))
  setting.say(`${deaths} deaths; a neighbour waited for ${longestWaitMs} ms at the longest`)
  for (const row of await ledger.inFlight()) inFlight.add(row)
  const ended = new Map((await ledger.recipients()).map(({ row, status }) => [row, status]))
  await ledger.close()
  await gateway.close()
  if (longestWaitMs > boundMs) throw new Error(`A neighbour waited for ${longestWaitMs} ms.`)
  return {
    fault: `${killers} message(s) of a neighbour that end their process`,
    faults: deaths,
    sends: beside.length,
    lost: beside.filter(({ row }) => !inFlight.has(row) && ended.get(row) !== "accepted").length,
    repeated: [...gateway.effects.values()].filter((effects) => effects > 1).length,
    unexplained: 0,
    unknown: 0,
    inFlight: inFlight.size,
    parked: 0,
    longestWaitMs
  }
}
