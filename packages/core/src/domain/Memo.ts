/** A value that can be distinguished from a missing one. */
type Found = object | string | boolean | null

/** Caches the value of a key. Over the maximum the oldest key is dropped. */
export type Memo<A extends Found> = (key: string, find: () => A) => A

/** @param most the maximum number of keys */
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

/** Caches one value per object, for the object's lifetime. */
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
