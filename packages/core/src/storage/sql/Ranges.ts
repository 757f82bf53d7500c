/** Rows that lie side by side are read and written as one range of keys, without looking each of them up. */

/** A row's key, and the one that is next to it: no row is between. */
export interface Place {
  readonly key: number
  readonly next: number
}

/** Ranges that are worth it; what is more scattered is looked up. */
const rangesAtOnce = 4

/** The first and the last key of each run of neighbours, one after the other; `undefined` when there are many. */
export const rangesOf = (places: ReadonlyArray<Place>): ReadonlyArray<number> | undefined => {
  const ranges: Array<number> = []
  let previous: Place | undefined
  for (const place of places.toSorted((a, b) => a.key - b.key)) {
    if (previous?.next !== place.key) {
      if (ranges.length === 2 * rangesAtOnce) return undefined
      ranges.push(place.key, place.key)
    }
    ranges[ranges.length - 1] = place.key
    previous = place
  }
  return ranges
}

/**
 * A statement of rows in ranges, whose ends are its last parameters.
 *
 * @param statement of a condition on the key
 */
export const inRanges = (
  key: string,
  statement: (condition: string) => string
): ((ranges: ReadonlyArray<number>) => string) => {
  const texts = Array.from({ length: rangesAtOnce }, (_, more) =>
    statement(`(${Array.from({ length: 1 + more }, () => `${key} BETWEEN ? AND ?`).join(" OR ")})`)
  )
  return (ranges) => texts[ranges.length / 2 - 1] ?? ""
}
