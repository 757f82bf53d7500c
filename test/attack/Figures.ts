/** An attack on a host of its own, and the figures that it has to keep to. */
export interface Options {
  /** `short` is for the gate: smaller numbers, and seconds instead of minutes. */
  readonly size: "full" | "short"
  /** How long what goes on for a while goes on. */
  readonly minutes: number
}

export interface Figure {
  readonly name: string
  readonly measured: string
  readonly limit: string
  readonly isMet: boolean
}

export interface Attack {
  readonly name: string
  readonly run: (options: Options) => Promise<ReadonlyArray<Figure>>
}

/** A figure that must not be over its limit. */
export const atMost = (name: string, measured: number, limit: number, unit: string): Figure => ({
  name,
  measured: `${round(measured)} ${unit}`.trim(),
  limit: `at most ${round(limit)} ${unit}`.trim(),
  isMet: measured <= limit
})

/** A figure that is told and has no limit. */
export const told = (name: string, measured: string): Figure => ({ name, measured, limit: "", isMet: true })

const round = (value: number): number => Math.round(value * 10) / 10

/** Of 100 values the 99th: `percentile(values, 0.99)`; 0 of none. */
export const percentile = (values: ReadonlyArray<number>, part: number): number => {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
