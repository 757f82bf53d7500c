/** Stores are run through the histories of seeds; the first that parts them is told by its smallest history. */
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import type { Difference, Subject } from "./Compare.ts"
import { print, shrink } from "./History.ts"
import type { Opened } from "./Subjects.ts"

/** Histories of one kind. */
export interface Histories<Step> {
  readonly drawnBy: (seed: number) => ReadonlyArray<Step>
  readonly lesser: (step: Step) => Iterable<Step>
  readonly compare: (
    subjects: ReadonlyArray<Subject>,
    history: ReadonlyArray<Step>
  ) => Effect.Effect<Difference | null>
}

const within = <A>(opened: ReadonlyArray<Opened>, use: (subjects: ReadonlyArray<Subject>) => Promise<A>) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(Effect.all(opened), (subjects) => Effect.promise(() => use(subjects))))
  )

/** The difference of a seed, with its smallest history. */
const differenceOf = async <Step>(
  { compare, drawnBy, lesser }: Histories<Step>,
  subjects: ReadonlyArray<Subject>,
  seed: number
): Promise<string | null> => {
  const history = drawnBy(seed)
  const find = (some: ReadonlyArray<Step>): Promise<Difference | null> =>
    Effect.runPromise(compare(subjects, some))
  const found = await find(history)
  if (found === null) return null
  const shows = async (some: ReadonlyArray<Step>) => (await find(some)) !== null
  const least = await shrink(history.slice(0, found.step + 1), lesser, shows)
  const difference = (await find(least)) ?? found
  return `Seed ${seed}: ${difference.stores} part in ${difference.at}\n${print(least)}`
}

/** Expects the stores to agree over the histories of the seeds. */
export const agreeOnSeeds = <Step>(
  histories: Histories<Step>,
  opened: ReadonlyArray<Opened>,
  from: number,
  until: number
): Promise<void> =>
  within(opened, async (subjects) => {
    for (let seed = from; seed <= until; seed++) {
      const found = await differenceOf(histories, subjects, seed)
      if (found !== null) expect.fail(found)
    }
  })

/** Expects the stores to agree over one history. */
export const agreeOn = <Step>(
  { compare }: Histories<Step>,
  opened: ReadonlyArray<Opened>,
  history: ReadonlyArray<Step>
): Promise<void> =>
  within(opened, async (subjects) => {
    expect(await Effect.runPromise(compare(subjects, history))).toBeNull()
  })
