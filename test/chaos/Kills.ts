/** Processes are killed while they send: at random times, and at every named point. */

import type { Random } from "../support/Random.ts"
import * as Gateway from "./Gateway.ts"
import * as Ledger from "./Ledger.ts"
import type { Order } from "./node.ts"
import { points } from "./Points.ts"
import { fill, type Node, sleep, startNode, until } from "./Processes.ts"

export interface Setting {
  /** Makes an empty store, as {@link Order.store}. */
  readonly freshStore: () => Promise<string>
  readonly random: Random
  /** Processes at once: one on SQLite. */
  readonly nodes: number
  readonly kills: number
  readonly jobs: number
  readonly recipients: number
  readonly say: (text: string) => void
}

/**
 * Short, so that a process that lives for a second takes back what the one before it held. Where several live, one that
 * has to wait for its turn of the processor must not be taken for dead.
 */
const leaseOf = ({ nodes }: Setting): number => (nodes === 1 ? 300 : 1500)

export const orderOf = (setting: Setting, store: string, gateway: string, kind: Gateway.Kind): Order => ({
  task: "work",
  store,
  gateway,
  kind,
  leaseMs: leaseOf(setting),
  concurrency: 16,
  dies: null,
  skew: null,
  jobs: setting.jobs,
  recipients: setting.recipients,
  messagesPerSecond: null,
  receiver: null,
  oddIds: false,
  keyByte: 0
})

const nobody: ReadonlySet<string> = new Set()

/** Everything ends once nobody is killed any more. */
const quiet = (ledger: Ledger.Ledger, withinMs = 60_000): Promise<void> =>
  until("The end of all jobs", async () => (await ledger.open()) === 0, withinMs)

/** SIGKILL at random times of a process's life. The sends are paced so that they outlast the kills. */
export const atRandom = async (setting: Setting, kind: Gateway.Kind): Promise<Ledger.Account> => {
  const { kills, nodes: count, random } = setting
  const store = await setting.freshStore()
  // On the plain one a reset leaves a recipient unknown without any kill, and the bound below would not be exact.
  const resets = kind === "plain" ? 0 : 0.005
  const gateway = await Gateway.start(kind, random, { latencyMs: [20, 300], resets })
  const total = setting.jobs * setting.recipients
  const lifeMs = 650
  // Where others go on while one begins anew, more is sent between two kills.
  const betweenMs = count === 1 ? lifeMs : 3 * lifeMs
  const order = orderOf(setting, store, gateway.url, kind)
  const accepted = await fill({
    ...order,
    messagesPerSecond: Math.max(1, total / ((kills * betweenMs) / 1000))
  })
  const ledger = Ledger.open(store)
  const inFlight = new Set<string>()
  const nodes: Array<Node> = Array.from({ length: count }, () => startNode(order))
  for (let kill = 1; kill <= kills; kill++) {
    const place = Math.floor(random() * nodes.length)
    const node = nodes[place]
    await node?.up
    await sleep(2 * lifeMs * random())
    node?.kill("SIGKILL")
    await node?.ended
    for (const row of await ledger.inFlight()) inFlight.add(row)
    nodes[place] = startNode(order)
    if (kill % 25 === 0) setting.say(`${kill} kills, ${await ledger.open()} recipients open`)
  }
  await quiet(ledger, 300_000)
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all(nodes.map(({ ended }) => ended))
  const fault = `kill -9 at random times, ${kind} gateway`
  const result = await Ledger.account(ledger, gateway, {
    fault,
    faults: kills,
    accepted,
    each: setting.recipients,
    inFlight
  })
  await ledger.close()
  await gateway.close()
  return result
}

/** The process kills itself at a named point, each in turn; the next one goes on. */
export const atPoints = async (setting: Setting, kind: Gateway.Kind): Promise<Ledger.Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  const gateway = await Gateway.start(kind, random, { latencyMs: [20, 80], resets: 0 })
  const order = orderOf(setting, store, gateway.url, kind)
  const accepts = points.filter((point) => point.includes("accept"))
  const sends = points.filter((point) => !point.includes("accept"))
  const accepted = await fill(
    order,
    accepts.map((at) => ({ at, after: 1 + Math.floor(random() * setting.jobs) }))
  )
  const ledger = Ledger.open(store)
  const inFlight = new Set<string>()
  let faults = accepts.length
  for (let round = 0; (await ledger.open()) > 0 && round < 2; round++) {
    for (const at of sends) {
      const node = startNode({ ...order, dies: { at, after: 1 + Math.floor(random() * 6) } })
      // With little left it may not come to the point so often.
      await node.up
      const ended = await Promise.race([node.ended, sleep(4000)])
      if (ended === undefined) node.kill("SIGKILL")
      await node.ended
      faults += 1
      for (const row of await ledger.inFlight()) inFlight.add(row)
    }
  }
  const last = startNode(order)
  await quiet(ledger)
  last.kill("SIGTERM")
  await last.ended
  const fault = `kill -9 at each named point, ${kind} gateway`
  const result = await Ledger.account(ledger, gateway, {
    fault,
    faults,
    accepted,
    each: setting.recipients,
    inFlight
  })
  await ledger.close()
  await gateway.close()
  return result
}

/** SIGTERM under load: what is in flight is finished, nothing is unknown. */
export const stopped = async (setting: Setting): Promise<Ledger.Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  const gateway = await Gateway.start("plain", random, { latencyMs: [20, 300], resets: 0 })
  const order = orderOf(setting, store, gateway.url, "plain")
  const accepted = await fill(order)
  const ledger = Ledger.open(store)
  const stops = 3
  for (let stop = 0; stop < stops; stop++) {
    const node = startNode(order)
    await node.up
    await sleep(1000 * random())
    node.kill("SIGTERM")
    const end = await node.ended
    if (end !== 0) throw new Error(`A stopped process ended with ${end}:\n${node.output()}`)
    if ((await ledger.inFlight()).size > 0) throw new Error("A stopped process left recipients in flight.")
  }
  const node = startNode({ ...order, concurrency: 256 })
  await quiet(ledger)
  node.kill("SIGTERM")
  await node.ended
  const told = {
    fault: "SIGTERM under load, plain gateway",
    faults: stops,
    accepted,
    each: setting.recipients,
    inFlight: nobody
  }
  const result = await Ledger.account(ledger, gateway, told)
  await ledger.close()
  await gateway.close()
  return result
}

/** Clocks ten minutes apart, and one that is set back by an hour while it works, in the midst of all. */
export const skewed = async (setting: Setting): Promise<Ledger.Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  // Slow, so that much is left when the clock is set back.
  const gateway = await Gateway.start("plain", random, { latencyMs: [200, 800], resets: 0 })
  const order = orderOf(setting, store, gateway.url, "plain")
  const accepted = await fill(order)
  const ledger = Ledger.open(store)
  const minute = 60_000
  const skews = [
    { ms: 10 * minute, laterMs: 10 * minute, afterMs: 0 },
    { ms: 0, laterMs: -60 * minute, afterMs: 2500 }
  ]
  const nodes = skews.map((skew) => startNode({ ...order, skew }))
  const right = startNode(order)
  await quiet(ledger, 120_000)
  for (const node of [...nodes, right]) {
    if (!node.isAlive()) throw new Error(`A node died:\n${node.output()}`)
    node.kill("SIGTERM")
  }
  await Promise.all([...nodes, right].map(({ ended }) => ended))
  const result = await Ledger.account(ledger, gateway, {
    fault: "clocks 10 min apart, one set back by 1 h",
    faults: skews.length,
    accepted,
    each: setting.recipients,
    inFlight: nobody
  })
  await ledger.close()
  await gateway.close()
  return result
}

/** A platform that answers with ids no database takes as they are: every recipient is accepted all the same. */
export const oddIds = async (setting: Setting): Promise<Ledger.Account> => {
  const store = await setting.freshStore()
  const gateway = await Gateway.start("plain", setting.random, { latencyMs: [1, 20], resets: 0 })
  const order = { ...orderOf(setting, store, gateway.url, "plain"), oddIds: true }
  const accepted = await fill(order)
  const ledger = Ledger.open(store)
  const nodes = Array.from({ length: setting.nodes }, () => startNode(order))
  await quiet(ledger)
  for (const node of nodes) {
    if (!node.isAlive()) throw new Error(`A node died:\n${node.output()}`)
    node.kill("SIGTERM")
  }
  await Promise.all(nodes.map(({ ended }) => ended))
  const result = await Ledger.account(ledger, gateway, {
    fault: "ids that no database takes as they are",
    faults: setting.jobs * setting.recipients,
    accepted,
    each: setting.recipients,
    inFlight: nobody
  })
  await ledger.close()
  await gateway.close()
  return result
}

const minute = 60_000

/** Longer than a drain takes with clocks that agree, and not so long as anything may wait because they do not. */
const longestWaitMs = 30_000

/**
 * One host's clock is wrong by so much: it accepts the jobs, works on them for a moment and is stopped. Another with the
 * right clock has to end them without waiting for the other's time to come.
 */
export const farApart = async (
  setting: Setting,
  skewsMs: ReadonlyArray<number> = [1440, -1440, 60, -60, 5, -5].map((minutes) => minutes * minute)
): Promise<Ledger.Account> => {
  const { random } = setting
  const results: Array<Ledger.Account> = []
  for (const ms of skewsMs) {
    const store = await setting.freshStore()
    const gateway = await Gateway.start("deduplicating", random, { latencyMs: [20, 200], resets: 0.01 })
    const order = orderOf(setting, store, gateway.url, "deduplicating")
    const wrong = { ...order, skew: { ms, laterMs: ms, afterMs: 0 } }
    const accepted = await fill(wrong)
    const ledger = Ledger.open(store)
    const first = startNode(wrong)
    await first.up
    await sleep(300)
    first.kill("SIGKILL")
    await first.ended
    const began = performance.now()
    const second = startNode(order)
    await quiet(ledger, longestWaitMs)
    setting.say(`${ms / minute} min: over after ${((performance.now() - began) / 1000).toFixed(1)} s`)
    second.kill("SIGTERM")
    await second.ended
    results.push(
      await Ledger.account(ledger, gateway, {
        fault: "one clock wrong by a day, an hour, 5 min, either way",
        faults: 1,
        accepted,
        each: setting.recipients,
        inFlight: nobody
      })
    )
    await ledger.close()
    await gateway.close()
  }
  return Ledger.sum(results)
}

/** A process with another master key comes to the store: it does not start, and the others are not disturbed. */
export const wrongKey = async (setting: Setting): Promise<Ledger.Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  const gateway = await Gateway.start("plain", random, { latencyMs: [50, 200], resets: 0 })
  const order = orderOf(setting, store, gateway.url, "plain")
  const accepted = await fill(order)
  const ledger = Ledger.open(store)
  // One process owns a SQLite file: there it comes before the others.
  const right = setting.nodes === 1 ? [] : Array.from({ length: setting.nodes }, () => startNode(order))
  await Promise.all(right.map(({ up }) => up))
  const stranger = startNode({ ...order, keyByte: 1 })
  const end = await Promise.race([stranger.ended, sleep(20_000)])
  if (end === undefined) {
    stranger.kill("SIGKILL")
    throw new Error("A process with another master key works.")
  }
  if (end === 0 || !/SECRET_KEY|master key/i.test(stranger.output())) {
    throw new Error(
      `A process with another master key ended with ${end}, without saying why:\n${stranger.output()}`
    )
  }
  const nodes = right.length === 0 ? [startNode(order)] : right
  await quiet(ledger)
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all(nodes.map(({ ended }) => ended))
  const result = await Ledger.account(ledger, gateway, {
    fault: "a process with another master key",
    faults: 1,
    accepted,
    each: setting.recipients,
    inFlight: nobody
  })
  await ledger.close()
  await gateway.close()
  return result
}
