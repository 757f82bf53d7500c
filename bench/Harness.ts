/**
 * How everything is measured: variants take turns in rounds, the order reversed every other round, so that a machine
 * that slows down for a while slows them all. A ratio is made within each round and its median is told, with the
 * lowest and the highest beside it; absolute numbers are this machine's.
 */
import { cpuUs } from "./Child.ts"
import { type Spread, spread } from "./Statistics.ts"

/** What one turn of one variant brought. */
export interface Sample {
  /** In the figure's unit. */
  readonly value: number
  /** CPU time of the measured process alone, per request or recipient. */
  readonly cpuUs?: number | undefined
  /** CPU time of the database's server, the same. */
  readonly serverCpuUs?: number | undefined
  readonly p50Ms?: number
  readonly p99Ms?: number
}

export interface Variant {
  readonly name: string
  readonly measure: () => Promise<Sample>
  /** Done once before; where there is none, some turns are not counted. */
  readonly warmUp?: () => Promise<unknown>
}

export type Samples = ReadonlyMap<string, ReadonlyArray<Sample>>

/** What Sendwright's ratio to a variant should be: at least, or at most where less is better. Null: an absolute value. */
export interface Target {
  readonly against: string | null
  readonly value: number
}

export interface Compared extends Target {
  /** Ours to theirs, of the values; for an absolute target the value itself. */
  readonly ratio: Spread
  /** Theirs to ours, of the CPU time: like `ratio`, more is better. */
  readonly cpuRatio: Spread | null
  readonly passed: boolean
}

export interface Figure {
  readonly part: string
  readonly title: string
  readonly unit: string
  readonly better: "more" | "less"
  readonly ours: string
  readonly variants: ReadonlyArray<{
    readonly name: string
    readonly value: Spread
    readonly cpuUs: number | null
    readonly p50Ms: number | null
    readonly p99Ms: number | null
    readonly samples: ReadonlyArray<Sample>
  }>
  readonly targets: ReadonlyArray<Compared>
  readonly note: string | null
}

/** Turns of a variant without a warm-up of its own that are not counted. */
const uncounted = 2

/** Every variant warmed up, and then in turn in so many rounds. */
export const rounds = async (count: number, variants: ReadonlyArray<Variant>): Promise<Samples> => {
  const samples = new Map<string, Array<Sample>>(variants.map(({ name }) => [name, []]))
  for (const { measure, warmUp } of variants) {
    if (warmUp !== undefined) await warmUp()
    else for (let turn = 0; turn < uncounted; turn++) await measure()
  }
  for (let round = 0; round < count; round++) {
    const order = round % 2 === 0 ? variants : variants.toReversed()
    for (const { measure, name } of order) samples.get(name)?.push(await measure())
  }
  return samples
}

/** The CPU time that a process needs for each of what `work` answers to have done. */
export const withCpu = async <A>(
  pid: number,
  work: () => Promise<A>,
  done: (answer: A) => number
): Promise<{ readonly answer: A; readonly cpuUs: number | undefined }> => {
  const before = cpuUs(pid)
  const answer = await work()
  const after = cpuUs(pid)
  return {
    answer,
    cpuUs: before === undefined || after === undefined ? undefined : (after - before) / done(answer)
  }
}

const known = (values: ReadonlyArray<number | undefined>): ReadonlyArray<number> =>
  values.flatMap((value) => (value === undefined ? [] : [value]))

const medianOrNull = (values: ReadonlyArray<number | undefined>): number | null => {
  const all = known(values)
  return all.length === 0 ? null : spread(all).median
}

const compare = (
  better: Figure["better"],
  ours: ReadonlyArray<Sample>,
  theirs: ReadonlyArray<Sample> | undefined,
  target: Target
): Compared | undefined => {
  if (target.against !== null && theirs === undefined) return undefined
  const ratio = spread(
    ours.map(({ value }, round) =>
      theirs === undefined ? value : value / (theirs[round]?.value ?? Number.NaN)
    )
  )
  const cpu = known(
    ours.map(({ cpuUs }, round) => {
      const other = theirs?.[round]?.cpuUs
      return cpuUs === undefined || other === undefined ? undefined : other / cpuUs
    })
  )
  const passed = better === "more" ? ratio.median >= target.value : ratio.median <= target.value
  return { ...target, ratio, cpuRatio: cpu.length === 0 ? null : spread(cpu), passed }
}

/**
 * A figure of what was sampled.
 *
 * @param options.targets one whose variant was not measured here is left out
 */
export const figure = (
  options: Pick<Figure, "part" | "title" | "unit" | "better" | "ours"> & {
    readonly samples: Samples
    readonly targets: ReadonlyArray<Target>
    readonly note?: string
    /** What of a sample is the figure, where it is not its value. */
    readonly of?: (sample: Sample) => number | undefined
  }
): Figure => {
  const { better, note, of, ours, part, title, unit } = options
  const samples = new Map(
    [...options.samples].map(([name, all]) => [
      name,
      all.map((sample) => (of === undefined ? sample : { ...sample, value: of(sample) ?? Number.NaN }))
    ])
  )
  const own = samples.get(ours) ?? []
  return {
    part,
    title,
    unit,
    better,
    ours,
    variants: [...samples].map(([name, all]) => ({
      name,
      value: spread(all.map(({ value }) => value)),
      cpuUs: medianOrNull(all.map(({ cpuUs }) => cpuUs)),
      p50Ms: medianOrNull(all.map(({ p50Ms }) => p50Ms)),
      p99Ms: medianOrNull(all.map(({ p99Ms }) => p99Ms)),
      samples: all
    })),
    targets: options.targets.flatMap(
      (target) =>
        compare(better, own, target.against === null ? undefined : samples.get(target.against), target) ?? []
    ),
    note: note ?? null
  }
}
