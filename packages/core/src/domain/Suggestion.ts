/** Suggests the known name that somebody meant who wrote an unknown one. */

/** A name without letter case, `_`, `-` and `.`, which do not count as differences. */
const bare = (name: string): string => name.toLowerCase().replaceAll(/[_.-]/g, "")

/** How many letters are to be put in, taken out, replaced or swapped with their neighbour (optimal string alignment). */
export const distance = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      )
    }
    beforeLast = last
    last = next
  }
  return last[b.length] ?? 0
}

/** A third of the letters may be wrong. */
const most = (name: string): number => Math.max(1, Math.floor(name.length / 3))

const shortestBeginning = 3

const cost = (given: string, known: string): number => {
  if (given === known) return 0
  const [shorter, longer] = given.length < known.length ? [given, known] : [known, given]
  if (shorter.length >= shortestBeginning && longer.startsWith(shorter)) return 1
  const allowed = most(known)
  if (longer.length - shorter.length > allowed) return Number.POSITIVE_INFINITY
  const found = distance(given, known)
  return found <= allowed ? found : Number.POSITIVE_INFINITY
}

/** The nearest of the known names; `undefined` when none is near. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const given = bare(name)
  let found: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const each of known) {
    const asked = cost(given, bare(each))
    if (asked < least) {
      found = each
      least = asked
    }
  }
  return found
}
