/**
 * The seeds of random work. The gate runs a fixed handful, which shows every fault that was planted to choose them, and
 * some that each day has for itself. A test that fails tells its seeds; `DAY=20261126` before its command repeats a day.
 */

export const day: number = Number(
  process.env["DAY"] ?? new Date().toISOString().slice(0, 10).replaceAll("-", "")
)

/** The first of a hundred seeds that belong to the day. */
export const ofDay: number = 100 * day

export interface Seeds {
  readonly from: number
  readonly until: number
}

/** So many from the first on, and so many of the day. */
export const handful = (fixed: number, daily: number, first = 1): ReadonlyArray<Seeds> => [
  { from: first, until: first + fixed - 1 },
  { from: ofDay, until: ofDay + daily - 1 }
]

/** What an environment asks for instead: all from 1 to a number. */
export const asked = (variable: string): ReadonlyArray<Seeds> | undefined => {
  const until = Number(process.env[variable] ?? 0)
  return until > 0 ? [{ from: 1, until }] : undefined
}
