/**
 * The times in which messages of a session could not go, and why: from what happened to the session, to a template and to the
 * store (`domain/Happening`).
 */
import type { Happening } from "../Happening.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Limiter } from "./Waiting.ts"

export interface Obstacle {
  readonly limiter: Limiter
  /** Minus infinity where only its end is known. */
  readonly from: Instant
  /** Infinity while it lasts. */
  readonly to: Instant
  readonly text: string
}

type Name = "block" | "connection" | "outage" | "restore" | "template"

const limiters: Readonly<Record<Name, Limiter>> = {
  block: "session",
  connection: "session",
  outage: "platform",
  restore: "restore",
  template: "template"
}

const blockedBy = (reason: Happening["data"][string] | undefined): string => {
  if (reason === "platform_restriction") return texts.restriction
  return reason === undefined || reason === null || reason === "provider_blocked"
    ? texts.block
    : because(texts.sameFailure, reason)
}

const texts: Readonly<Record<Name | "restriction" | "sameFailure", string>> = {
  block: "The platform had blocked its session.",
  connection: "Its session was not connected.",
  sameFailure: "The last attempts of its session ended with the same failure.",
  restriction: "The platform had restricted its session's templates.",
  outage: "The platform did not answer.",
  restore: "The store was held after a restore.",
  template: "Its template was not approved."
}

const because = (text: string, why: Happening["data"][string] | undefined): string =>
  why === undefined || why === null ? text : `${text.slice(0, -1)} (${why}).`

/** The obstacles that begin with a happening, with their reasons, and those that end with it. */
const changedBy = (
  { data, subject, type }: Happening,
  templateId: number | null
): { readonly begins?: readonly [Name, string]; readonly ends?: ReadonlyArray<Name> } => {
  switch (type) {
    case "session.unavailable":
      return { begins: ["outage", texts.outage] }
    case "session.available":
      return { ends: ["outage"] }
    case "session.blocked":
      return {
        begins: ["block", blockedBy(data["reason"])]
      }
    case "session.unblocked":
      return { ends: ["block"] }
    case "session.disconnected":
      // A disconnection ends both, as `Happening.ofSession` says.
      return { begins: ["connection", because(texts.connection, data["reason"])], ends: ["block", "outage"] }
    case "session.connected":
      return { ends: ["connection"] }
    case "restore.held":
      return { begins: ["restore", texts.restore] }
    case "restore.opened":
      return { ends: ["restore"] }
    case "template.status":
      if (subject !== String(templateId)) return {}
      return data["status"] === "approved"
        ? { ends: ["template"] }
        : { begins: ["template", because(texts.template, data["status"])] }
    default:
      return {}
  }
}

const sinceOf = ({ data: { since } }: Happening): Instant =>
  (typeof since === "string" ? Time.parse(since) : undefined) ?? Time.at(Number.NEGATIVE_INFINITY)

/** @param happenings in any order; those of one time in that of their making */
export const obstaclesOf = (
  happenings: ReadonlyArray<Happening>,
  templateId: number | null
): ReadonlyArray<Obstacle> => {
  const found: Array<Obstacle> = []
  const open = new Map<Name, Obstacle>()
  const known = new Set<Name>()
  for (const happening of happenings.toSorted((a, b) => a.at - b.at)) {
    const { begins, ends = [] } = changedBy(happening, templateId)
    for (const name of ends) {
      const begun = open.get(name)
      open.delete(name)
      if (begun !== undefined) found.push({ ...begun, to: happening.at })
      // Of the first that ends, the begin may be before all that was read.
      else if (!known.has(name) && happening.type !== "session.disconnected")
        found.push({ limiter: limiters[name], from: sinceOf(happening), to: happening.at, text: texts[name] })
      known.add(name)
    }
    if (begins === undefined) continue
    const [name, text] = begins
    known.add(name)
    if (!open.has(name))
      open.set(name, {
        limiter: limiters[name],
        from: happening.at,
        to: Time.at(Number.POSITIVE_INFINITY),
        text
      })
  }
  return [...found, ...open.values()].sort((a, b) => a.from - b.from)
}

/** A part of a time, and the obstacle in it; null where none is known. */
export interface Piece {
  readonly from: Instant
  readonly to: Instant
  readonly obstacle: Obstacle | null
}

/** A time in its parts, one after the other: of two obstacles at once the one that began first counts. */
export const within = (
  from: Instant,
  to: Instant,
  obstacles: ReadonlyArray<Obstacle>
): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let at = from
  for (const obstacle of obstacles) {
    const begin = Time.max(at, obstacle.from)
    const end = Time.min(to, obstacle.to)
    if (begin >= end) continue
    if (begin > at) pieces.push({ from: at, to: begin, obstacle: null })
    pieces.push({ from: begin, to: end, obstacle })
    at = end
  }
  return at < to ? [...pieces, { from: at, to, obstacle: null }] : pieces
}
