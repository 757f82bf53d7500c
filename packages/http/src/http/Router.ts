/** Finds the route that a path stands for. */

import type { Route } from "@sendwright/core/contract"
import * as Either from "effect/Either"

export interface Matched {
  readonly route: Route.Route
  readonly path: Readonly<Record<string, string>>
}

/** The routes of a path by method. */
export type Router = (path: string) => ReadonlyMap<string, Matched>

interface Pattern {
  readonly segments: ReadonlyArray<string>
  /** By method. */
  readonly routes: Map<string, Route.Route>
}

const none: ReadonlyMap<string, Matched> = new Map()

const decodeSegment = (segment: string): string =>
  Either.getOrElse(
    Either.try(() => decodeURIComponent(segment)),
    () => segment
  )

const isParameter = (segment: string): boolean => segment.startsWith(":")

const accepts = (segment: string, given: string): boolean =>
  isParameter(segment) ? given !== "" : segment === given

/** The parameters of a path, when it is of the pattern. */
const match = ({ segments }: Pattern, path: ReadonlyArray<string>) => {
  if (!segments.every((segment, place) => accepts(segment, path[place] ?? ""))) return undefined
  const parameters: Record<string, string> = {}
  for (const [place, segment] of segments.entries()) {
    if (isParameter(segment)) parameters[segment.slice(1)] = decodeSegment(path[place] ?? "")
  }
  return parameters
}

/** Sorts a pattern before another that has a parameter where it has a text, at the first place where they differ so. */
const bySpecificity = (one: Pattern, other: Pattern): number => {
  for (const [place, segment] of one.segments.entries()) {
    const difference = Number(isParameter(segment)) - Number(isParameter(other.segments[place] ?? ""))
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * Paths without parameters are looked up; of the patterns, those with as many segments are compared. One pattern alone
 * has a path, with all its methods: a known path wins over a pattern, and `/hooks/http/:id` over `/hooks/:provider/:id`.
 */
export const make = (routes: ReadonlyArray<Route.Route>): Router => {
  const fixed = new Map<string, Map<string, Matched>>()
  const patterns = new Map<number, Array<Pattern>>()
  for (const route of routes) {
    if (route.pattern.includes(":")) {
      const segments = route.pattern.split("/")
      const ofLength = patterns.get(segments.length) ?? []
      const known = ofLength.find((each) => each.segments.join("/") === route.pattern)
      if (known === undefined) ofLength.push({ segments, routes: new Map([[route.method, route]]) })
      else known.routes.set(route.method, route)
      patterns.set(segments.length, ofLength)
    } else {
      const methods = fixed.get(route.pattern) ?? new Map<string, Matched>()
      fixed.set(route.pattern, methods.set(route.method, { route, path: {} }))
    }
  }
  for (const ofLength of patterns.values()) ofLength.sort(bySpecificity)
  return (path) => {
    const known = fixed.get(path)
    if (known !== undefined) return known
    const given = path.split("/")
    for (const pattern of patterns.get(given.length) ?? []) {
      const parameters = match(pattern, given)
      if (parameters === undefined) continue
      const found = new Map<string, Matched>()
      for (const [method, route] of pattern.routes) found.set(method, { route, path: parameters })
      return found
    }
    return none
  }
}

export const allowHeader = (methods: Iterable<string>): string =>
  [
    ...new Set(
      [...methods].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).concat("OPTIONS")
    )
  ].join(", ")
