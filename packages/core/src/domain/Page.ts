/**
 * Keyset paging: a page continues from a row's position, never from a count of rows, so that it is stable while rows
 * are added. A position is a number of the store that tenants must not see, so that it leaves the server only in a
 * sealed cursor.
 */
export interface Page {
  /** 1 to 100 (250 for a job's results). */
  readonly limit: number
  /** The position of the last row that was seen; null for the first page. */
  readonly after: number | null
}

export interface Paged<A> {
  readonly items: ReadonlyArray<A>
  /** Where the next page continues; null when this is the last. */
  readonly next: number | null
}

export const defaultLimit = 25
export const maximumLimit = 100

/**
 * The most rows that are read at once for a filter which no index answers. A page may be short when it ends there, but is
 * never empty while something is left to find.
 */
export const mostLookedAt = 5000

/**
 * Cuts a page from rows that were read with one more than the limit.
 *
 * @param lookedAt the position of the last row that was read; null when no further row exists
 */
export const cut = <A>(
  rows: ReadonlyArray<A>,
  limit: number,
  position: (row: A) => number,
  lookedAt: number | null = null
): Paged<A> => {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next: rows.length > limit && last !== undefined ? position(last) : lookedAt }
}

/** How many there are: at least so many, where they were not counted to the end. */
export interface Counted {
  readonly count: number
  readonly isExact: boolean
}

export const mostCounted = 1000

/** The number of items, as far as one page of them tells it. */
export const counted = ({ items, next }: Paged<unknown>): Counted => ({
  count: items.length,
  isExact: next === null
})

/** Maps the rows of a page. */
export const map = <A, B>(page: Paged<A>, f: (item: A) => B): Paged<B> => ({
  items: page.items.map(f),
  next: page.next
})
