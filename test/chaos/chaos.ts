/**
 * Breaks real processes and their databases, and says what became of every message.
 *
 *   npm run chaos -- --store sqlite|postgres [--kills 200] [--recipients 2000] [--seed 1] [--only kills]
 */
import { parseArgs } from "node:util"
import { random } from "../support/Random.ts"
import type { Kind } from "./Gateway.ts"
import * as Hosts from "./Hosts.ts"
import * as Kills from "./Kills.ts"
import type { Account } from "./Ledger.ts"
import * as Outages from "./Outages.ts"
import * as Stores from "./Stores.ts"

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    kills: { type: "string", default: "200" },
    recipients: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    only: { type: "string" }
  }
})

const whole = (name: "kills" | "recipients" | "seed"): number => {
  const number = Number(values[name])
  if (Number.isInteger(number) && number > 0) return number
  throw new Error(`--${name} must be a whole number above 0.`)
}

const columns = [
  "fault",
  "faults",
  "sends",
  "lost",
  "repeated",
  "unexplained",
  "unknown",
  "inFlight",
  "parked"
] as const

const line = (cells: ReadonlyArray<string | number>): string => `| ${cells.join(" | ")} |`

const say = (text: string): void => console.log(`  ${text}`)

const seed = whole("seed")
const kills = whole("kills")
const perJob = 250
const jobs = Math.max(1, Math.round(whole("recipients") / perJob))
const store = values.store === "postgres" ? await Stores.postgres() : Stores.sqlite()

const setting: Kills.Setting = {
  freshStore: store.fresh,
  random: random(seed),
  nodes: store.server === undefined ? 1 : 3,
  kills,
  jobs,
  recipients: perJob,
  say
}

const kinds: ReadonlyArray<Kind> = ["deduplicating", "plain"]

type Scenario = readonly [name: string, run: () => Promise<Account | undefined>]

const scenarios: ReadonlyArray<Scenario> = [
  ...kinds.flatMap(
    (kind): ReadonlyArray<Scenario> => [
      ["points", () => Kills.atPoints(setting, kind)],
      ["kills", () => Kills.atRandom(setting, kind)]
    ]
  ),
  ["stop", () => Kills.stopped(setting)]
]

const { server } = store
const others: ReadonlyArray<Scenario> =
  server === undefined
    ? [["disk", () => Hosts.diskFull(setting)]]
    : [
        ["twins", () => Hosts.twins(setting, kills * 50)],
        ["skew", () => Kills.skewed(setting)],
        ["restarts", () => Outages.restarts(setting, server, Math.max(2, Math.round(kills / 20)))],
        ["half-open", () => Outages.halfOpen(setting, Math.max(2, Math.round(kills / 50)))]
      ]

console.log(`Store ${values.store}, seed ${seed}, ${jobs * perJob} recipients in ${jobs} jobs`)
const accounts: Array<Account> = []
try {
  for (const [name, run] of [...scenarios, ...others]) {
    if (values.only !== undefined && values.only !== name) continue
    console.log(name)
    const account = await run()
    if (account !== undefined) accounts.push(account)
  }
} finally {
  await store.close()
}
console.log()
console.log(
  line([
    "fault",
    "faults",
    "sends",
    "lost",
    "repeated",
    "unexplained",
    "unknown",
    "in flight at the faults",
    "parked"
  ])
)
console.log(line(columns.map((_, place) => (place === 0 ? "---" : "--:"))))
for (const account of accounts) console.log(line(columns.map((column) => account[column])))
const broken = accounts.filter((each) => each.lost + each.repeated + each.unexplained > 0)
process.exit(broken.length === 0 ? 0 : 1)
