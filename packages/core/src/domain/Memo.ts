/** Whatever can be told from nothing being kept. */
type Found = object | string | boolean | null

/** Remembers what was found for a key, for so many keys; the oldest is forgotten first. */
export type Memo<A extends Found> = (key: string, find: () => A) => A

/** @param most how many keys are kept */
export const make = <A extends Found>(most: number): Memo<A> => {
  const cache = new Map<string, A>()
  return (key, find) => {
    const known = cache.get(key)
    if (known !== undefined) return known
    const found = find()
    const [oldest] = cache.keys()
    if (cache.size >= most && oldest !== undefined) cache.delete(oldest)
    cache.set(key, found)
    return found
  }
}

/** Remembers what was found of an object, for as long as that lives. */
export const ofObject = <Key extends object, A extends Found>(find: (key: Key) => A): ((key: Key) => A) => {
  const cache = new WeakMap<Key, A>()
  return (key) => {
    const known = cache.get(key)
    if (known !== undefined) return known
    const found = find(key)
    cache.set(key, found)
    return found
  }
}
