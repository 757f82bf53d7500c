/**
 * The same history on every store. The jobs' rules are written once, those of sessions and templates in each of them, so
 * a difference is a read, a write or a rule that one of them has wrong; a history that shows one is printed as small as
 * it is found. `Model` has a job's rules a second time, from the contract, for what all stores could have wrong alike.
 *
 * `npm run histories` draws thousands. Of the faults that were planted in a store to see how many are needed, the rarest
 * showed in one history of a hundred and fifty (a job a moment too early), others in one of a hundred or fifteen.
 */
import { describe, expect, it } from "vitest"
import * as Seeds from "../../../../test/support/Seeds.ts"
import { agreeOn, agreeOnSeeds } from "./Agreement.ts"
import { compare, obey } from "./Compare.ts"
import type { History } from "./History.ts"
import { drawnBy, lesser, shrink } from "./History.ts"
import * as Subjects from "./Subjects.ts"

const seeds = Seeds.asked("SEEDS") ?? Seeds.handful(300, 60)
const modelSeeds = Seeds.asked("SEEDS") ?? Seeds.handful(300, 20)
const postgresSeeds = Seeds.asked("POSTGRES_SEEDS") ?? Seeds.handful(10, 4)

const send = {
  do: "accept",
  job: 0,
  session: 0,
  kind: "template",
  priority: "normal",
  phones: [0],
  claim: null,
  key: null,
  fingerprint: 0,
  dailyLimit: null,
  minimumWaitMs: 0,
  isEmbedded: false
} as const

const claim = (limit: number) =>
  ({ do: "exchange", settle: [], claim: { worker: 0, limit, without: [], young: null } }) as const

/** The smallest histories by which stores once differed, with the rule that one of them had wrong. */
const rules: ReadonlyArray<readonly [rule: string, history: History]> = [
  ["what waits for a blocked session is due for nobody", [send, { do: "block", session: 0, ms: 1000 }]],
  [
    "phones that had a message lately leave their places in a claim to others",
    [
      { do: "pace", session: 0, messagesPerSecond: null, pairMs: 60_000 },
      { ...send, phones: [0, 1] },
      claim(1),
      { do: "rescue", worker: 0, recoverable: true },
      claim(1)
    ]
  ],
  [
    "sessions that can send nothing now leave their places in a claim to others",
    [send, { do: "template", session: 0, approved: false }, { ...send, job: 1, session: 1 }, claim(1)]
  ],
  [
    "a job whose only message probes a platform stays paused",
    [send, { do: "unavailable", session: 0 }, { do: "clock", ms: 1000 }, claim(1)]
  ],
  [
    "a send inside an embedder's transaction is counted on its day",
    [
      { ...send, isEmbedded: true },
      { do: "clock", ms: 86_400_000 },
      { ...send, job: 1, isEmbedded: true },
      claim(1)
    ]
  ]
]

/** Histories too rare to be drawn by a few seeds, by the rule that the model holds them to. */
const modelRules: ReadonlyArray<readonly [rule: string, history: History]> = [
  [
    "who may have the message when its job is canceled ends unknown",
    [
      send,
      claim(1),
      { do: "cancel", job: 0 },
      { do: "exchange", settle: [[0, { end: "released", maybeSent: true }]], claim: null }
    ]
  ]
]

const jobs = { drawnBy, lesser, compare }

describe("any history", () => {
  for (const { from, until } of modelSeeds)
    it(`is as the contract has it, by the seeds ${from} to ${until}`, { timeout: 3_600_000 }, () =>
      agreeOnSeeds({ drawnBy, lesser, compare: obey }, [Subjects.memory], from, until)
    )

  for (const { from, until } of seeds)
    it(`is the same on memory and SQLite, by the seeds ${from} to ${until}`, { timeout: 3_600_000 }, () =>
      agreeOnSeeds(jobs, [Subjects.memory, Subjects.sqlite], from, until)
    )

  for (const { from, until } of postgresSeeds)
    it(`is the same on all stores, by the seeds ${from} to ${until}`, { timeout: 3_600_000 }, () =>
      agreeOnSeeds(jobs, [Subjects.memory, Subjects.sqlite, Subjects.postgres], from, until)
    )

  for (const [rule, history] of modelRules) {
    it(`is as the contract has it where ${rule}`, () =>
      agreeOn({ drawnBy, lesser, compare: obey }, [Subjects.memory], history))
  }

  for (const [rule, history] of rules) {
    it(`is the same where ${rule}`, () =>
      agreeOn(jobs, [Subjects.memory, Subjects.sqlite, Subjects.postgres], history))
  }

  it("that shows a difference is made smaller until nothing of it can be left out", async () => {
    const shows = async (history: History) =>
      history.some((step) => step.do === "accept" && step.phones.includes(3)) &&
      history.some((step) => step.do === "exchange" && step.claim !== null)
    const large = Array.from({ length: 40 }, (_, seed) => drawnBy(seed)).flat()
    const least = await shrink(large, lesser, shows)
    expect(least.map((step) => step.do).sort()).toEqual(["accept", "exchange"])
    expect(least.find((step) => step.do === "accept")).toMatchObject({ phones: [3], session: 0 })
  })
})
