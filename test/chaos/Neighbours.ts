/** How long others wait while the messages of one tenant end each process that attempts them. */
import type { Account } from "./Ledger.ts"
import { type Node, sleep, startNode } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/** The first has the messages that kill. */
const tenants = 3

/** The pace of each, which keeps something due all the time. */
const messagesPerSecond = 10

/**
 * While a process works nobody waits for longer, in milliseconds: what another held is taken back within two seconds, also on
 * a busy machine within this. Nothing may wait for as long as a process is young.
 */
const boundMs = 10_000

/** Since a neighbour's last message came to the gateway, by real clocks. */
interface Wait {
  sent: number
  /** The whole, and as much of it as a process worked. */
  ms: number
  workedMs: number
}

/**
 * With the youth that processes have, in which suspects are due and put off. What was in flight when a process died may be its
 * cause, and waits as they do: it is no neighbour's.
 */
export const beside = async (setting: Setting, killers: number): Promise<Account> => {
  const weather = { latencyMs: [50, 50], resets: 0 } as const
  const times = { youthMs: 30_000, suspectWaits: [1000, 300_000, 900_000], messagesPerSecond }
  const scenario = await Scenario.begin(setting, "deduplicating", weather, times, [], tenants)
  const { gateway, ledger } = scenario
  const all = (await ledger.recipients()).toSorted((one, other) => Number(one.row) - Number(other.row))
  const each = setting.jobs * setting.recipients
  const [own = [], ...others] = Array.from({ length: tenants }, (_, place) =>
    all.slice(place * each, (place + 1) * each)
  )
  const order = {
    ...scenario.order,
    killers: own.slice(5, 5 + killers).map(({ messageId }) => messageId)
  }
  const inFlight = new Set<string>()
  const up = new Set<Node>()
  const start = (): Node => {
    const node = startNode(order)
    node.up.then(() => up.add(node))
    return node
  }
  const waits: ReadonlyArray<Wait> = others.map(() => ({ sent: 0, ms: 0, workedMs: 0 }))
  let [longestWaitMs, longestWorkedMs, deaths] = [0, 0, 0]

  const look = (passedMs: number): boolean => {
    const works = [...up].some((node) => node.isAlive())
    let isOpen = false
    for (const [place, wait] of waits.entries()) {
      const open = others[place]?.filter(({ messageId }) => !gateway.effects.has(messageId)) ?? []
      const sent = each - open.length
      if (open.every(({ row }) => inFlight.has(row))) continue
      isOpen = true
      if (sent > wait.sent) Object.assign(wait, { sent, ms: 0, workedMs: 0 })
      wait.ms += passedMs
      wait.workedMs += works ? passedMs : 0
      longestWaitMs = Math.max(longestWaitMs, Math.round(wait.ms))
      longestWorkedMs = Math.max(longestWorkedMs, Math.round(wait.workedMs))
    }
    return isOpen
  }

  const nodes: Array<Node> = Array.from({ length: setting.nodes }, start)
  let last = performance.now()
  const deadline = last + 10 * ((1000 * each) / messagesPerSecond) + 120_000
  for (;;) {
    await sleep(20)
    const now = performance.now()
    if (!look(now - last)) break
    if (now > deadline) throw new Error("The neighbours' messages were not sent in time.")
    last = now
    for (const [place, node] of nodes.entries()) {
      if (node.isAlive()) continue
      const end = await node.ended
      if (end !== "SIGKILL") throw new Error(`A process ended with ${end}:\n${node.output()}`)
      deaths += 1
      for (const row of await ledger.inFlight()) inFlight.add(row)
      nodes[place] = start()
    }
  }
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all(nodes.map(({ ended }) => ended))
  for (const row of await ledger.inFlight()) inFlight.add(row)
  const ended = new Map((await ledger.recipients()).map(({ row, status }) => [row, status]))
  await ledger.close()
  await gateway.close()
  setting.say(
    `${deaths} deaths; a neighbour waited for ${longestWaitMs} ms at the longest, for ${longestWorkedMs} ms while a process worked`
  )
  if (longestWorkedMs > boundMs)
    throw new Error(`A neighbour waited for ${longestWorkedMs} ms while a process worked.`)
  return {
    fault: `${killers} message(s) of a neighbour that end their process`,
    faults: deaths,
    sends: (tenants - 1) * each,
    lost: others.flat().filter(({ row }) => !inFlight.has(row) && ended.get(row) !== "accepted").length,
    repeated: [...gateway.effects.values()].filter((effects) => effects > 1).length,
    unexplained: 0,
    unknown: 0,
    inFlight: inFlight.size,
    parked: 0,
    longestWaitMs
  }
}
