/** Processes that die soon after each start: for a cause of their own, or since a message ends each that attempts it. */
import type * as Gateway from "./Gateway.ts"
import type * as Ledger from "./Ledger.ts"
import { type Node, sleep, startNode } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/** What is shorter in a run of seconds than it is (`Retry.youthMs`, `Retry.suspectWaits`), and in the same measure. */
export interface Times {
  readonly youthMs: number
  readonly suspectWaits: ReadonlyArray<number>
  /** How long a process lives from its start on, at least and at most. */
  readonly lifeMs: readonly [number, number]
}

const minute = 60_000

export const real: Times = {
  youthMs: 30_000,
  suspectWaits: [1 * minute, 5 * minute, 15 * minute],
  lifeMs: [1000, 5000]
}
export const short: Times = { youthMs: 3000, suspectWaits: [3000, 4000, 5000], lifeMs: [150, 700] }

/** A crash loop whose cause is none of the messages: nobody is parked. */
export const ofAnotherCause = async (
  setting: Setting,
  kind: Gateway.Kind,
  times: Times
): Promise<Ledger.Account> => {
  const { kills, random } = setting
  const { lifeMs, suspectWaits, youthMs } = times
  const total = setting.jobs * setting.recipients
  const [least, most] = lifeMs
  const messagesPerSecond = Math.max(1, Math.round((total * 1000) / ((kills * (least + most)) / 2)))
  const weather = { latencyMs: [20, 300], resets: 0 } as const
  const some = { messagesPerSecond, suspectWaits, youthMs }
  const { account, drain, ledger, order } = await Scenario.begin(setting, kind, weather, some)
  const inFlight = new Set<string>()
  for (let kill = 1; kill <= kills; kill++) {
    const node = startNode(order)
    await node.up
    await sleep(least + (most - least) * random())
    node.kill("SIGKILL")
    await node.ended
    for (const row of await ledger.inFlight()) inFlight.add(row)
    if (kill % 20 === 0) setting.say(`${kill} kills, ${await ledger.open()} recipients open`)
  }
  await drain([startNode(order)], youthMs + suspectWaits.reduce((sum, ms) => sum + ms, minute))
  return account({ fault: `a crash loop of another cause, ${kind} gateway`, faults: kills, inFlight })
}

export interface Poisoned {
  readonly account: Ledger.Account
  readonly deaths: number
  /** When all but those that kill were over, from the beginning and by how much later than the last start before that. */
  readonly othersOverMs: number
  readonly afterStartMs: number
}

/** Messages that end each process that attempts them, in three sessions with a backlog. */
export const poisoned = async (setting: Setting, killers: number, times: Times): Promise<Poisoned> => {
  const sessions = 3
  const { suspectWaits, youthMs } = times
  const weather = { latencyMs: [100, 100], resets: 0 } as const
  const scenario = await Scenario.begin(
    setting,
    "deduplicating",
    weather,
    { suspectWaits, youthMs, concurrency: 64 },
    [],
    sessions
  )
  const { account, gateway, ledger } = scenario
  const all = await ledger.recipients()
  const jobs = [...new Set(all.map(({ job }) => job))]
  const guilty = Array.from({ length: killers }, (_, place) => {
    const job = jobs[(place % sessions) * setting.jobs]
    const of = all.filter((each) => each.job === job)
    return of[10 + 7 * place]?.messageId ?? ""
  })
  const order = { ...scenario.order, killers: guilty }
  const inFlight = new Set<string>()
  const began = performance.now()
  // Starts take long on a busy machine, and there are five for each of them.
  const deadline =
    began + killers * 5 * (youthMs + 10_000) + suspectWaits.reduce((sum, ms) => sum + ms, 2 * minute)
  let deaths = 0
  let [othersOverMs, afterStartMs] = [Number.NaN, Number.NaN]
  let startedAt = began
  let node: Node = startNode(order)
  while ((await ledger.open()) > 0) {
    if (performance.now() > deadline)
      throw new Error(`After ${deaths} deaths ${await ledger.open()} are open.`)
    if (Number.isNaN(othersOverMs) && gateway.effects.size === all.length - killers) {
      othersOverMs = performance.now() - began
      afterStartMs = performance.now() - startedAt
    }
    if (!node.isAlive()) {
      const end = await node.ended
      if (end !== "SIGKILL") throw new Error(`A process ended with ${end}:\n${node.output()}`)
      deaths += 1
      for (const row of await ledger.inFlight()) inFlight.add(row)
      setting.say(
        `death ${deaths} after ${Math.round((performance.now() - began) / 1000)} s, ${await ledger.open()} open`
      )
      startedAt = performance.now()
      node = startNode(order)
    }
    await sleep(50)
  }
  node.kill("SIGTERM")
  await node.ended
  const fault = `${killers} message(s) that end their process`
  const told = await account({ fault, faults: deaths, inFlight })
  setting.say(
    `${deaths} deaths, ${told.parked} parked; the others were over after ${Math.round(othersOverMs / 1000)} s, ${Math.round(afterStartMs / 1000)} s after the last start before that`
  )
  return { account: told, deaths, othersOverMs, afterStartMs }
}
