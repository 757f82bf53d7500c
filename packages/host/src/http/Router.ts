/** Which route a path stands for. */
import * as Either from "effect/Either"
import type { Route } from "./Route.ts"

export interface Matched {
  readonly route: Route
  readonly path: Readonly<Record<string, string>>
}

/** The routes of a path by method. */
export type Router = (path: string) => ReadonlyMap<string, Matched>

interface Pattern {
  readonly segments: ReadonlyArray<string>
  readonly route: Route
}

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

/**
 * Paths without parameters are looked up; of the patterns, those with as many segments are compared. A known path wins
 * over a pattern.
 */
export const make = (routes: ReadonlyArray<Route>): Router => {
  const fixed = new Map<string, Map<string, Matched>>()
  const patterns = new Map<number, Array<Pattern>>()
  for (const route of routes) {
    if (route.pattern.includes(":")) {
      const segments = route.pattern.split("/")
      const alike = patterns.get(segments.length) ?? []
      alike.push({ segments, route })
      patterns.set(segments.length, alike)
    } else {
      const methods = fixed.get(route.pattern) ?? new Map<string, Matched>()
      fixed.set(route.pattern, methods.set(route.method, { route, path: {} }))
    }
  }
  return (path) => {
    const known = fixed.get(path)
    if (known !== undefined) return known
    const found = new Map<string, Matched>()
    const given = path.split("/")
    for (const pattern of patterns.get(given.length) ?? []) {
      const parameters = match(pattern, given)
      if (parameters !== undefined)
        found.set(pattern.route.method, { route: pattern.route, path: parameters })
    }
    return found
  }
}

export const allowHeader = (methods: Iterable<string>): string =>
  [
    ...new Set(
      [...methods].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).concat("OPTIONS")
    )
  ].join(", ")
