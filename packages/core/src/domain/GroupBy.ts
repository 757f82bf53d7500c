/**
 * Items by a key of theirs, in the order of each key's first item. `Array.groupBy` of Effect answers with an object, which sorts
 * keys of digits first.
 */
export const groupBy = <A, Key>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => Key
): ReadonlyMap<Key, ReadonlyArray<A>> => {
  const groups = new Map<Key, Array<A>>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
