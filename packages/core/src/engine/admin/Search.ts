/** Finds any account's things by what names them. */
import * as Effect from "effect/Effect"
import type { Searching, SearchQuery } from "../Search.ts"
import * as Searches from "../Search.ts"

export interface Search {
  /**
   * Newest first. A page has its limit of messages and jobs; what has an id of its own, and people, come beside them with the
   * first.
   */
  readonly find: (query: SearchQuery) => Searching
}

export const make = Effect.map(Searches.make, ({ all }): Search => ({ find: all }))
