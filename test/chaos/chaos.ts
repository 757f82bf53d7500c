/**
 * Breaks real processes and their databases, and says what became of every message.
 *
 *   npm run chaos -- --store sqlite|postgres|pooler [--kills 200] [--recipients 2000] [--seed 1] [--only kills] [--quick]
 */
import { parseArgs } from "node:util"
import { oneOf, wholeNumber } from "../support/Options.ts"
import { random } from "../support/Random.ts"
import * as Accepting from "./Accepting.ts"
import * as Crashes from "./Crashes.ts"
import * as Drill from "./Drill.ts"
import * as Hosts from "./Hosts.ts"
import * as Kills from "./Kills.ts"
import * as Later from "./Later.ts"
import type { Account } from "./Ledger.ts"
import * as Neighbours from "./Neighbours.ts"
import * as OptOuts from "./OptOuts.ts"
import * as Outages from "./Outages.ts"
import * as Program from "./Program.ts"
import * as Restores from "./Restores.ts"
import type { Setting } from "./Scenario.ts"
import * as Stores from "./Stores.ts"
import * as Timed from "./Timed.ts"
import * as Webhooks from "./Webhooks.ts"

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    kills: { type: "string" },
    recipients: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
    quick: { type: "boolean", default: false }
  }
})

const columns = [
  "fault",
  "faults",
  "sends",
  "lost",
  "repeated",
  "unexplained",
  "unknown",
  "inFlight",
  "parked",
  "longestWaitMs"
] as const

/** Those whose names say too little. */
const titles: Partial<Record<(typeof columns)[number], string>> = {
  inFlight: "in flight at the faults",
  longestWaitMs: "longest wait of a neighbour, ms"
}

const line = (cells: ReadonlyArray<string | number>): string => `| ${cells.join(" | ")} |`

const { quick } = values
const seed = wholeNumber("seed", values.seed, 1)
const kills = wholeNumber("kills", values.kills, quick ? 5 : 200)
const perJob = 50
const recipients = wholeNumber("recipients", values.recipients, quick ? 300 : 2000)
const jobs = Math.max(1, Math.round(recipients / perJob))

/** Half of the short form is waiting, and it may take place at the same time; a long one has enough to do with two. */
const lanes = quick ? 6 : 2

type Scenario = readonly [name: string, run: (setting: Setting) => Promise<Account | undefined>]

const store = oneOf("store", ["sqlite", "postgres", "pooler"], values.store)
const isPostgres = store !== "sqlite"
const openPostgres = store === "pooler" ? Stores.pooler : Stores.postgres

/** On a server of its own, which nobody else misses when it is killed. */
const alone = async <A>(run: (stores: Stores.PostgresStores) => Promise<A>): Promise<A> => {
  const stores = await openPostgres()
  try {
    return await run(stores)
  } finally {
    await stores.close()
  }
}

/** With the times that processes have, which take half an hour; quick with those of the short form. */
const times = quick ? Crashes.short : Crashes.real
const crashes = (killers: number) => async (setting: Setting) =>
  (await Crashes.poisoned({ ...setting, jobs: 4, recipients: 250 }, killers, times)).account

/** At the pace of each tenant that lasts for as long as the deaths do, and for longer than a process is young. */
const watched = { jobs: quick ? 3 : 8, recipients: perJob }

const always: ReadonlyArray<Scenario> = [
  ["kills", (setting) => Kills.atRandom(setting, "deduplicating")],
  ["kills", (setting) => Kills.atRandom(setting, "plain")],
  ["points", (setting) => Kills.atPoints(setting, "deduplicating")],
  ["points", (setting) => Kills.atPoints(setting, "plain")],
  ["times", (setting) => Timed.killed(setting)],
  ["stop", (setting) => Kills.stopped(setting)],
  ["accepting", (setting) => Accepting.killed(setting, Math.ceil(kills / 4))],
  ["webhooks", (setting) => Webhooks.killed(setting, Math.ceil(kills / 4))],
  ["opt-outs", (setting) => OptOuts.killed(setting, Math.ceil(kills / 4))],
  ["odd-ids", (setting) => Kills.oddIds(setting)],
  ["far-apart", (setting) => Kills.farApart(setting)],
  ["wrong-key", (setting) => Kills.wrongKey(setting)],
  ["restores", (setting) => Restores.midDrain(setting)],
  ["crashes", (setting) => Crashes.ofAnotherCause(setting, "deduplicating", times)],
  ["crashes", (setting) => Crashes.ofAnotherCause(setting, "plain", times)],
  ["poison", crashes(1)],
  ["poison", crashes(5)],
  ["neighbours", (setting) => Neighbours.beside({ ...setting, ...watched }, 1)],
  ["neighbours", (setting) => Neighbours.beside({ ...setting, ...watched }, 5)]
]

const drilled = { jobs: Math.min(jobs, 12), recipients: perJob }

const ofSqlite: ReadonlyArray<Scenario> = [
  ["disk", (setting) => Hosts.diskFull(setting)],
  ["disk", (setting) => Hosts.diskFullSending({ ...setting, ...drilled }, quick ? 1 : 3)],
  ["drill", (setting) => Drill.drill({ ...setting, ...drilled }, Drill.ofSqlite)]
]

const ofPostgres: ReadonlyArray<Scenario> = [
  ["half-open", (setting) => Outages.halfOpen(setting, quick ? 1 : Math.max(2, Math.round(kills / 50)))],
  [
    "restarts",
    (setting) =>
      alone(({ fresh, server }) =>
        Outages.restarts({ ...setting, freshStore: fresh }, server, quick ? 1 : Math.ceil(kills / 20))
      )
  ],
  [
    "restarts",
    (setting) =>
      alone(({ fresh, server }) =>
        Accepting.restarted({ ...setting, freshStore: fresh }, server, quick ? 1 : Math.ceil(kills / 20))
      )
  ],
  [
    "versions",
    async (setting) => {
      const programs = [Program.file(), await Later.program()]
      return Kills.atRandom({ ...setting, programs }, "plain")
    }
  ],
  [
    "drill",
    (setting) =>
      alone(({ fresh, server }) =>
        Drill.drill({ ...setting, ...drilled, freshStore: fresh }, (store) => Drill.ofPostgres(store, server))
      )
  ],
  ["skew", (setting) => Kills.skewed(setting)],
  ["twins", (setting) => Hosts.twins(setting, kills * 50)]
]

const all = [...always, ...(isPostgres ? ofPostgres : ofSqlite)]
const names = all.map(([name]) => name)
if (values.only !== undefined) oneOf("only", names, values.only)
const scenarios = all.filter(([name]) => values.only === undefined || values.only === name)
const stores = isPostgres ? await openPostgres() : Stores.sqlite()

console.log(`Store ${store}, seed ${seed}, ${jobs * perJob} recipients in ${jobs} jobs`)
const accounts = new Map<number, Account>()
const failures: Array<string> = []
const waiting = scenarios.entries()
const lane = async (): Promise<void> => {
  for (const [place, [name, run]] of waiting) {
    const began = performance.now()
    const say = (text: string): void => console.log(`  ${name}: ${text}`)
    const setting: Setting = {
      freshStore: stores.fresh,
      random: random(seed * 1000 + place),
      nodes: isPostgres ? 3 : 1,
      kills,
      jobs,
      recipients: perJob,
      say
    }
    // The others go on; what this one has started ends with this process.
    const account = await run(setting).catch((error: unknown) => {
      failures.push(`${name}: ${String(error)}`)
      return undefined
    })
    if (account === undefined) continue
    accounts.set(place, account)
    say(`${account.fault}: over after ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
}
try {
  await Promise.all(Array.from({ length: lanes }, lane))
} finally {
  await stores.close()
}

console.log()
console.log(line(columns.map((column) => titles[column] ?? column)))
console.log(line(columns.map((_, place) => (place === 0 ? "---" : "--:"))))
for (const [place] of scenarios.entries()) {
  const account = accounts.get(place)
  if (account !== undefined) console.log(line(columns.map((column) => account[column] ?? "")))
}
for (const failure of failures) console.error(failure)
const broken = [...accounts.values()].filter(
  ({ inFlight, lost, repeated, unexplained, unknown }) =>
    lost + repeated + unexplained > 0 || unknown > inFlight
)
process.exit(broken.length + failures.length === 0 ? 0 : 1)
