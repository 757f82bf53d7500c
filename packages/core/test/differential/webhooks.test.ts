/**
 * The same history of webhooks on every store, as `differential.test` does it for jobs.
 *
 *   SEEDS=20000 POSTGRES_SEEDS=2000 npx vitest run --config test/vitest.config.ts packages/core/test/differential
 */
import { describe, it } from "vitest"
import { agreeOn, agreeOnSeeds } from "./Agreement.ts"
import * as Subjects from "./Subjects.ts"
import { compare } from "./WebhookCompare.ts"
import type { WebhookHistory } from "./WebhookHistory.ts"
import { drawnBy, lesser } from "./WebhookHistory.ts"

const seeds = Number(process.env["SEEDS"] ?? 1000)
const postgresSeeds = Number(process.env["POSTGRES_SEEDS"] ?? 40)
const groups = 4

const webhooks = { drawnBy, lesser, compare }

const rules: ReadonlyArray<readonly [rule: string, history: WebhookHistory]> = []

describe("any history of webhooks", () => {
  for (let group = 0; group < groups; group++) {
    const from = 1 + Math.floor((group * seeds) / groups)
    const until = Math.floor(((group + 1) * seeds) / groups)
    it(`is the same on memory and SQLite, by the seeds ${from} to ${until}`, { timeout: 600_000 }, () =>
      agreeOnSeeds(webhooks, [Subjects.memory, Subjects.sqlite], from, until)
    )
  }

  it(`is the same on all stores, by the seeds 1 to ${postgresSeeds}`, { timeout: 600_000 }, () =>
    agreeOnSeeds(webhooks, [Subjects.memory, Subjects.sqlite, Subjects.postgres], 1, postgresSeeds)
  )

  for (const [rule, history] of rules) {
    it(`is the same where ${rule}`, () =>
      agreeOn(webhooks, [Subjects.memory, Subjects.sqlite, Subjects.postgres], history))
  }
})
