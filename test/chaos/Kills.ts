/** Processes are killed while they send: at random times, and at every named point. */
import type * as Gateway from "./Gateway.ts"
import * as Ledger from "./Ledger.ts"
import { points } from "./Points.ts"
import { type Node, sleep, startNode, until } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/**
 * Starts processes and kills one after the other at random times of its life. Answers what was in flight at the kills, and those
 * that live.
 *
 * @param killed comes behind each kill, before the next process starts
 */
export const killing = async (
  { kills, nodes: count, random }: Setting,
  ledger: Ledger.Ledger,
  lifeMs: number,
  start: () => Node,
  killed: (kill: number) => Promise<void>
): Promise<{ readonly inFlight: ReadonlySet<string>; readonly nodes: ReadonlyArray<Node> }> => {
  const inFlight = new Set<string>()
  const nodes = Array.from({ length: count }, start)
  for (let kill = 1; kill <= kills; kill++) {
    const place = Math.floor(random() * nodes.length)
    const node = nodes[place]
    await node?.up
    await sleep(2 * lifeMs * random())
    node?.kill("SIGKILL")
    await node?.ended
    for (const row of await ledger.inFlight()) inFlight.add(row)
    await killed(kill)
    nodes[place] = start()
  }
  return { inFlight, nodes }
}

/** SIGKILL at random times of a process's life. The sends are paced so that they outlast the kills. */
export const atRandom = async (setting: Setting, kind: Gateway.Kind): Promise<Ledger.Account> => {
  const { kills, nodes: count, programs } = setting
  // On the plain one a reset leaves a recipient unknown without any kill, and the bound below would not be exact.
  const resets = kind === "plain" ? 0 : 0.005
  const total = setting.jobs * setting.recipients
  const lifeMs = 650
  // Where others go on while one begins anew, more is sent between two kills.
  const betweenMs = count === 1 ? lifeMs : 3 * lifeMs
  const messagesPerSecond = Math.max(1, total / ((kills * betweenMs) / 1000))
  const weather = { latencyMs: [20, 300], resets } as const
  const scenario = await Scenario.begin(setting, kind, weather, { messagesPerSecond })
  const { ledger, order } = scenario
  let started = 0
  const start = (): Node => {
    started += 1
    return startNode(order, programs?.[started % programs.length])
  }
  const say = async (kill: number): Promise<void> => {
    if (kill % 25 === 0) setting.say(`${kill} kills, ${await ledger.open()} recipients open`)
  }
  const { inFlight, nodes } = await killing(setting, ledger, lifeMs, start, say)
  await scenario.drain(nodes, 120_000)
  const fault = `kill -9 at random times, ${kind} gateway${programs === undefined ? "" : ", two versions"}`
  return scenario.account({ fault, faults: kills, inFlight })
}

/** The process kills itself at a named point, each in turn and so often; the next one goes on. */
export const atPoints = async (setting: Setting, kind: Gateway.Kind, rounds = 2): Promise<Ledger.Account> => {
  const { random } = setting
  const accepts = points.filter((point) => point.includes("accept"))
  const sends = points.filter((point) => !point.includes("accept"))
  const dies = accepts.map((at) => ({ at, after: 1 + Math.floor(random() * setting.jobs) }))
  const scenario = await Scenario.begin(setting, kind, { latencyMs: [20, 80], resets: 0 }, {}, dies)
  const { ledger, order } = scenario
  const inFlight = new Set<string>()
  let faults = accepts.length
  for (let round = 0; (await ledger.open()) > 0 && round < rounds; round++) {
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
  await scenario.drain([startNode(order)], 120_000)
  return scenario.account({ fault: `kill -9 at each named point, ${kind} gateway`, faults, inFlight })
}

/** SIGTERM under load: what is in flight is finished, nothing is unknown. */
export const stopped = async (setting: Setting): Promise<Ledger.Account> => {
  const scenario = await Scenario.begin(setting, "plain", { latencyMs: [20, 300], resets: 0 })
  const { ledger, order } = scenario
  const stops = 3
  for (let stop = 0; stop < stops; stop++) {
    const node = startNode(order)
    await node.up
    await sleep(1000 * setting.random())
    node.kill("SIGTERM")
    const end = await node.ended
    if (end !== 0) throw new Error(`A stopped process ended with ${end}:\n${node.output()}`)
    if ((await ledger.inFlight()).size > 0) throw new Error("A stopped process left recipients in flight.")
  }
  await scenario.drain([startNode({ ...order, concurrency: 256 })])
  return scenario.account({ fault: "SIGTERM under load, plain gateway", faults: stops })
}

const minute = 60_000

/** Clocks ten minutes apart, and one that is set back by an hour while it works, in the midst of all. */
export const skewed = async (setting: Setting): Promise<Ledger.Account> => {
  // Slow, so that much is left when the clock is set back.
  const { account, drain, order } = await Scenario.begin(setting, "plain", {
    latencyMs: [200, 800],
    resets: 0
  })
  const skews = [
    { ms: 10 * minute, laterMs: 10 * minute, afterMs: 0 },
    { ms: 0, laterMs: -60 * minute, afterMs: 2500 }
  ]
  await drain(
    [...skews, null].map((skew) => startNode({ ...order, skew })),
    120_000
  )
  return account({ fault: "clocks 10 min apart, one set back by 1 h", faults: skews.length })
}

/** A platform that answers with ids no database takes as they are: every recipient is accepted all the same. */
export const oddIds = async (setting: Setting): Promise<Ledger.Account> => {
  const weather = { latencyMs: [1, 20], resets: 0 } as const
  const { account, drain, order } = await Scenario.begin(setting, "plain", weather, { oddIds: true })
  await drain(Array.from({ length: setting.nodes }, () => startNode(order)))
  const faults = setting.jobs * setting.recipients
  return account({ fault: "ids that no database takes as they are", faults })
}

/** Several times as long as a drain takes with clocks that agree, and not so long as anything may wait because they do not. */
const longestWaitMs = 30_000

/**
 * One host's clock is wrong by so much: it accepts the jobs, works on them for a moment and is killed. Another with the
 * right clock has to end them without waiting for the other's time to come.
 */
export const farApart = async (
  setting: Setting,
  skewsMs: ReadonlyArray<number> = [1440, -1440, 60, -60, 5, -5].map((minutes) => minutes * minute)
): Promise<Ledger.Account> => {
  const results: Array<Ledger.Account> = []
  for (const ms of skewsMs) {
    const weather = { latencyMs: [20, 200], resets: 0.01 } as const
    const skew = { ms, laterMs: ms, afterMs: 0 }
    const { account, drain, order } = await Scenario.begin(setting, "deduplicating", weather, { skew })
    const wrong = startNode(order)
    await wrong.up
    await sleep(300)
    wrong.kill("SIGKILL")
    await wrong.ended
    const began = performance.now()
    // Enough attempts side by side, so that the drain itself takes a fraction of that.
    await drain([startNode({ ...order, skew: null, concurrency: 64 })], longestWaitMs)
    setting.say(`${ms / minute} min: over after ${((performance.now() - began) / 1000).toFixed(1)} s`)
    results.push(await account({ fault: "one clock wrong by a day, an hour, 5 min, either way", faults: 1 }))
  }
  return Ledger.sum(results)
}

/** A process with another master key comes to the store: it does not start, and the others are not disturbed. */
export const wrongKey = async (setting: Setting): Promise<Ledger.Account> => {
  const weather = { latencyMs: [50, 200], resets: 0 } as const
  const { account, drain, order } = await Scenario.begin(setting, "plain", weather)
  // One process owns a SQLite file: there it comes before the others.
  const right = setting.nodes === 1 ? [] : Array.from({ length: setting.nodes }, () => startNode(order))
  await Promise.all(right.map(({ up }) => up))
  const stranger = startNode({ ...order, keyByte: 1 })
  const isUp = (): boolean => stranger.output().split("\n").includes("up")
  await until("A word of it, or its end,", async () => isUp() || !stranger.isAlive(), 60_000)
  if (stranger.isAlive()) {
    stranger.kill("SIGKILL")
    throw new Error("A process with another master key works.")
  }
  const end = await stranger.ended
  if (end === 0 || !/SECRET_KEY|master key/i.test(stranger.output())) {
    throw new Error(
      `A process with another master key ended with ${end}, without saying why:\n${stranger.output()}`
    )
  }
  await drain(right.length === 0 ? [startNode(order)] : right)
  return account({ fault: "a process with another master key", faults: 1 })
}
