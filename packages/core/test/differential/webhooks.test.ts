/** The same history of webhooks on every store, as `differential.test` does it for jobs. */
import { describe, it } from "vitest"
import * as Seeds from "../../../../test/support/Seeds.ts"
import { agreeOn, agreeOnSeeds } from "./Agreement.ts"
import * as Subjects from "./Subjects.ts"
import { compare } from "./WebhookCompare.ts"
import type { Ending, WebhookHistory } from "./WebhookHistory.ts"
import { drawnBy, lesser } from "./WebhookHistory.ts"

const seeds = Seeds.asked("SEEDS") ?? Seeds.handful(60, 20)
const postgresSeeds = Seeds.asked("POSTGRES_SEEDS") ?? Seeds.handful(10, 4)

const webhooks = { drawnBy, lesser, compare }

const create = (endpoint: number, perSecond: number | null = null) =>
  ({ do: "create", endpoint, events: ["*"], perSecond }) as const
const tell = (events: number) => ({ do: "tell", account: 0, events, granted: true }) as const
const claim = (limit: number) =>
  ({ do: "exchange", settle: [], claim: { worker: 0, limit, full: [], room: 512 } }) as const
const settle = (...attempts: ReadonlyArray<readonly [back: number, ending: Ending]>) =>
  ({ do: "exchange", settle: attempts, claim: null }) as const
const retry: Ending = { end: "retry", afterMs: 60_000 }
const delivered: Ending = { end: "delivered" }

/** The smallest histories by which stores once differed, with the rule that one of them had wrong. */
const rules: ReadonlyArray<readonly [rule: string, history: WebhookHistory]> = [
  [
    "the first of two attempts for one claim counts",
    [create(0), tell(1), claim(1), settle([0, retry], [0, delivered])]
  ],
  [
    "an endpoint fails since the last success, in the order of the attempts",
    [create(0), tell(2), claim(2), settle([0, delivered], [1, { end: "exhausted" }])]
  ],
  ["endpoints have their turns behind the last one", [create(0), create(2), tell(2), claim(1), claim(2)]],
  [
    "endpoints that their rate holds back leave their turn to others",
    [create(0, 1), create(2, 1), create(4), tell(2), claim(2), claim(1), claim(1), claim(1)]
  ],
  [
    "an endpoint that is made anew has no rate of the former one",
    [create(0, 1), tell(1), claim(1), { do: "remove", endpoint: 0 }, create(0, 1), tell(1), claim(1)]
  ],
  [
    "a replay of what failed leaves alone what was never tried",
    [create(0), tell(1), { do: "clock", ms: -1000 }, { do: "replayFailed", endpoint: 0, sinceMs: 0 }]
  ]
]

describe("any history of webhooks", () => {
  for (const { from, until } of seeds)
    it(`is the same on memory and SQLite, by the seeds ${from} to ${until}`, { timeout: 3_600_000 }, () =>
      agreeOnSeeds(webhooks, [Subjects.memory, Subjects.sqlite], from, until)
    )

  for (const { from, until } of postgresSeeds)
    it(`is the same on all stores, by the seeds ${from} to ${until}`, { timeout: 3_600_000 }, () =>
      agreeOnSeeds(webhooks, [Subjects.memory, Subjects.sqlite, Subjects.postgres], from, until)
    )

  for (const [rule, history] of rules) {
    it(`is the same where ${rule}`, () =>
      agreeOn(webhooks, [Subjects.memory, Subjects.sqlite, Subjects.postgres], history))
  }
})
