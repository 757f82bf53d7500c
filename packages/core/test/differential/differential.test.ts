/**
 * The same history on every store. The jobs' rules are written once, those of sessions and templates in each of them, so
 * a difference is a read, a write or a rule that one of them has wrong; a history that shows one is printed as small as
 * it is found.
 *
 *   SEEDS=20000 POSTGRES_SEEDS=2000 npx vitest run --config test/vitest.config.ts packages/core/test/differential
 */
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { Difference, Subject } from "./Compare.ts"
import { compare } from "./Compare.ts"
import type { History } from "./History.ts"
import { drawnBy, print, shrink } from "./History.ts"
import type { Opened } from "./Subjects.ts"
import * as Subjects from "./Subjects.ts"

const seeds = Number(process.env["SEEDS"] ?? 2000)
const postgresSeeds = Number(process.env["POSTGRES_SEEDS"] ?? 40)
const groups = 8

const send = {
  do: "accept",
  job: 0,
  session: 0,
  kind: "template",
  phones: [0],
  claim: null,
  key: null,
  fingerprint: 0,
  dailyLimit: null,
  minimumWaitMs: 0
} as const

const claim = (limit: number) =>
  ({ do: "exchange", settle: [], claim: { worker: 0, limit, without: [], atRisk: null } }) as const

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
  ]
]

const within = <A>(opened: ReadonlyArray<Opened>, use: (subjects: ReadonlyArray<Subject>) => Promise<A>) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(Effect.all(opened), (subjects) => Effect.promise(() => use(subjects))))
  )

/** The difference of a seed, with its smallest history. */
const differenceOf = async (subjects: ReadonlyArray<Subject>, seed: number): Promise<string | null> => {
  const history = drawnBy(seed)
  const find = (some: History): Promise<Difference | null> => Effect.runPromise(compare(subjects, some))
  const found = await find(history)
  if (found === null) return null
  const least = await shrink(history.slice(0, found.step + 1), async (some) => (await find(some)) !== null)
  const difference = (await find(least)) ?? found
  return `Seed ${seed}: ${difference.stores} part in ${difference.at}\n${print(least)}`
}

const agree = (opened: ReadonlyArray<Opened>, from: number, until: number) =>
  within(opened, async (subjects) => {
    for (let seed = from; seed <= until; seed++) {
      const found = await differenceOf(subjects, seed)
      if (found !== null) expect.fail(found)
    }
  })

describe("any history", () => {
  for (let group = 0; group < groups; group++) {
    const from = 1 + Math.floor((group * seeds) / groups)
    const until = Math.floor(((group + 1) * seeds) / groups)
    it(`is the same on memory and SQLite, by the seeds ${from} to ${until}`, { timeout: 600_000 }, () =>
      agree([Subjects.memory, Subjects.sqlite], from, until)
    )
  }

  it(`is the same on all stores, by the seeds 1 to ${postgresSeeds}`, { timeout: 600_000 }, () =>
    agree([Subjects.memory, Subjects.sqlite, Subjects.postgres], 1, postgresSeeds)
  )

  for (const [rule, history] of rules) {
    it(`is the same where ${rule}`, () =>
      within([Subjects.memory, Subjects.sqlite, Subjects.postgres], async (subjects) => {
        expect(await Effect.runPromise(compare(subjects, history))).toBeNull()
      }))
  }

  it("that shows a difference is made smaller until nothing of it can be left out", async () => {
    const shows = async (history: History) =>
      history.some((step) => step.do === "accept" && step.phones.includes(3)) &&
      history.some((step) => step.do === "exchange" && step.claim !== null)
    const large = Array.from({ length: 40 }, (_, seed) => drawnBy(seed)).flat()
    const least = await shrink(large, shows)
    expect(least.map((step) => step.do).sort()).toEqual(["accept", "exchange"])
    expect(least.find((step) => step.do === "accept")).toMatchObject({ phones: [3], session: 0 })
  })
})
