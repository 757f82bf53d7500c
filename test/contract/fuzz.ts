/**
 * Ten thousand generated requests of every operation: `npm run fuzz -- [--seed 1] [--count 10000] [--only v1.send]`. Each
 * mismatch is printed as a command for a shell; the exit code is 1 when there is one.
 */
import { parseArgs } from "node:util"
import { wholeNumber } from "../support/Options.ts"
import * as Conformance from "./Conformance.ts"
import * as World from "./World.ts"

const { values } = parseArgs({
  options: { seed: { type: "string" }, count: { type: "string" }, only: { type: "string" } }
})
const seed = wholeNumber("seed", values.seed, Math.floor(Math.random() * 2 ** 31), 0)
const count = wholeNumber("count", values.count, 10_000)

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const host = await World.host({ LOG_LEVEL: "error" })
try {
  const { asked, mismatches, statuses } = await Conformance.run(host, {
    seed,
    count,
    only: values.only
  })
  for (const [operation, seen] of statuses)
    print(`${operation.padEnd(28)} ${[...seen].map(([status, count]) => `${status}: ${count}`).join("  ")}`)
  for (const { answer, request, what } of mismatches.slice(0, 50)) print(`\n${what}\n${request}\n${answer}`)
  print(`\n${asked} requests, ${mismatches.length} mismatches, --seed ${seed}`)
  if (mismatches.length > 0) process.exitCode = 1
} finally {
  await host.stop()
}
