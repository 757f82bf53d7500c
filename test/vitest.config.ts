import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = fileURLToPath(new URL("..", import.meta.url))

const conditions = ["@sendwright/source"]

/** The files that take longest, the longest first: begun last, one of them would keep a single processor busy at the end. */
const longest: ReadonlyArray<string> = [
  "test/chaos/chaos.test.ts",
  "packages/core/test/storage/postgres/Postgres.test.ts",
  "test/consent/consent.test.ts",
  "test/published.test.ts",
  "test/embedding/next.test.ts",
  "packages/core/test/worker/Outages.test.ts",
  "packages/core/test/storage/sqlite/Sqlite.test.ts",
  "test/contract/fuzz.test.ts",
  "packages/host/test/Ready.test.ts",
  "test/simulation/outage.test.ts",
  "test/contract/clients.test.ts",
  "packages/http/test/http/Bodies.test.ts",
  "test/simulation/simulation.test.ts",
  "packages/host/test/Stop.test.ts",
  "packages/core/test/storage/sqlite/OverHandle.test.ts",
  "packages/core/test/worker/Rescue.test.ts",
  "packages/core/test/differential/differential.test.ts",
  "packages/host/test/NpmStart.test.ts"
]

/** Behind those of the list comes the rest, by its name: an order that does not depend on what ran before. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const nameOf = ({ moduleId }: TestSpecification): string => relative(root, moduleId)
    const placeOf = (name: string): number =>
      longest.includes(name) ? longest.indexOf(name) : longest.length
    return files.toSorted((a, b) => {
      const [one, other] = [nameOf(a), nameOf(b)]
      return placeOf(one) - placeOf(other) || (one < other ? -1 : 1)
    })
  }
}

export default defineConfig({
  root,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    // Several of a file take place at the same time, on processors that others want, too.
    testTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    minWorkers: 1,
    // A file that loads all modules anew takes a second of processor more; mocks are undone behind each.
    poolOptions: { forks: { isolate: false } }
  }
})
