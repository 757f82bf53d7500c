/**
 * Simulates many seeds, or one again.
 *
 *   npm run simulate -- --seeds 10000 [--from 1] [--store memory|sqlite]
 *   npm run simulate -- --seed 4711 [--store memory|sqlite]
 *   npm run simulate -- --outage 6          hours of one session's platform: the figures of docs/outages.md
 */
import { parseArgs } from "node:util"
import { oneOf, wholeNumber } from "../support/Options.ts"
import * as Outage from "./Outage.ts"
import { run } from "./Simulation.ts"
import * as Stores from "./Stores.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    seed: { type: "string" },
    store: { type: "string", default: "memory" },
    outage: { type: "string" }
  }
})

if (values.outage !== undefined) {
  const outageMs = wholeNumber("outage", values.outage, 6) * 60 * 60_000
  console.log(Outage.print(await Outage.table(outageMs), outageMs))
  process.exit(0)
}

const { memory, sqlite } = Stores
const store = { memory, sqlite }[oneOf("store", ["memory", "sqlite"], values.store)]
const from =
  values.seed === undefined ? wholeNumber("from", values.from, 1, 0) : wholeNumber("seed", values.seed, 1, 0)
const count = values.seed === undefined ? wholeNumber("seeds", values.seeds, 200) : 1
const total = { jobs: 0, messages: 0, crashes: 0, days: 0 }
const failures: Array<string> = []
for (let seed = from; seed < from + count; seed++) {
  try {
    const { crashes, digest, jobs, messages, simulatedMs } = await run(seed, store)
    total.jobs += jobs
    total.messages += messages
    total.crashes += crashes
    total.days += simulatedMs / 86_400_000
    if (values.seed !== undefined) console.log(`Seed ${seed}: ${digest}`)
  } catch (error) {
    failures.push(String(error))
    console.log(String(error))
  }
  if ((seed - from + 1) % 100 === 0) console.log(`${seed - from + 1} seeds, ${failures.length} failed`)
}
console.log(
  `${count} seeds, ${failures.length} failed: ${total.days.toFixed(0)} simulated days, ${total.jobs} jobs, ${total.messages} messages, ${total.crashes} crashes`
)
process.exit(failures.length === 0 ? 0 : 1)
