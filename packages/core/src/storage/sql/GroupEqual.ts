/** Rows that become alike are written by one statement. */

/** At most so many groups are looked through for an item's; what is rarer is written on its own. */
const groupsAtOnce = 8

/** One or more. */
export type Group<A> = readonly [first: A, ...rest: ReadonlyArray<A>]

/** In the order of their first items; a rare item may come to have a group of its own though there was one. */
export const groupEqual = <A>(
  items: Iterable<A>,
  areEqual: (a: A, b: A) => boolean
): ReadonlyArray<Group<A>> => {
  const groups: Array<[first: A, ...rest: Array<A>]> = []
  for (const item of items) {
    let found: Array<A> | undefined
    for (let at = groups.length - 1; at >= 0 && at >= groups.length - groupsAtOnce; at--) {
      const group = groups[at]
      if (group !== undefined && areEqual(group[0], item)) {
        found = group
        break
      }
    }
    if (found === undefined) groups.push([item])
    else found.push(item)
  }
  return groups
}
