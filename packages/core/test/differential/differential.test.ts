/**
 * The same history on every store. The rules stand in each of them, so a difference is a rule that one of them has
 * wrong; a history that shows one is printed as small as it is found.
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

/** A rule that a store has wrong today, with the smallest history that shows it. */
interface Owed {
  readonly what: string
  readonly history: History
  /** The history without what the rule is about: a difference that is gone then is this one. */
  readonly without: (history: History) => History
}

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

const owed: ReadonlyArray<Owed> = [
  {
    what: "what waits for a blocked session is due for nobody (memory looks at a session's state and not at its block)",
    history: [send, { do: "block", session: 0, ms: 1000 }],
    without: (history) => history.filter((step) => step.do !== "block")
  },
  {
    what: "phones that had a message lately leave their places in a claim to others (memory cuts to the limit before it leaves them out)",
    history: [
      { do: "pace", session: 0, messagesPerSecond: null, pairMs: 60_000 },
      { ...send, phones: [0, 1] },
      claim(1),
      { do: "rescue", worker: 0, recoverable: true },
      claim(1)
    ],
    without: (history) => history.map((step) => (step.do === "pace" ? { ...step, pairMs: null } : step))
  },
  {
    what: "sessions that can send nothing now leave their places in a claim to others (the databases look at no more sessions than the limit)",
    history: [
      send,
      { do: "template", session: 0, approved: false },
      { ...send, job: 1, session: 1 },
      claim(1)
    ],
    without: (history) =>
      history
        .filter((step) => step.do !== "template")
        .map((step) => (step.do === "pace" ? { ...step, messagesPerSecond: null } : step))
  }
]

const within = <A>(opened: ReadonlyArray<Opened>, use: (subjects: ReadonlyArray<Subject>) => Promise<A>) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(Effect.all(opened), (subjects) => Effect.promise(() => use(subjects))))
  )

/** The difference of a seed that nobody owes, with its smallest history. */
const newDifference = async (subjects: ReadonlyArray<Subject>, seed: number): Promise<string | null> => {
  const history = drawnBy(seed)
  const run = (some: History) => Effect.runPromise(compare(subjects, some))
  const plain = (some: History): History => owed.reduce((history, { without }) => without(history), some)
  const find = async (some: History): Promise<Difference | null> => {
    const difference = await run(some)
    return difference !== null && (await run(plain(some))) !== null ? difference : null
  }
  const found = await find(history)
  if (found === null) return null
  const least = await shrink(history.slice(0, found.step + 1), async (some) => (await find(some)) !== null)
  const difference = (await find(least)) ?? found
  return `Seed ${seed}: ${difference.stores} part in ${difference.at}\n${print(least)}`
}

const agree = (opened: ReadonlyArray<Opened>, from: number, until: number) =>
  within(opened, async (subjects) => {
    for (let seed = from; seed <= until; seed++) {
      const found = await newDifference(subjects, seed)
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

  for (const { history, what } of owed) {
    it.fails(`is the same where ${what}`, () =>
      within([Subjects.memory, Subjects.sqlite], async (subjects) => {
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
