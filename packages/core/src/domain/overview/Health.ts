/** The report of health: a verdict, and what does not flow, succeed or keep fresh, by the same items as the overview has. */
import type { Instant } from "../Instant.ts"
import type { Item, Kind, Promised, Target } from "./Attention.ts"
import type { Overview } from "./Overview.ts"

export const verdicts = ["ok", "degraded", "failing"] as const
export type Verdict = (typeof verdicts)[number]

/** Of a check that the process that answers does not pass. */
export const notReady = "not_ready"

export interface Line {
  readonly kind: Kind | typeof notReady
  readonly verdict: Exclude<Verdict, "ok">
  readonly lacks: Promised
  readonly since: Instant | null
  readonly says: string
  readonly cause: string
  readonly next: string
  readonly count: number
  readonly target: Target
}

export interface Report {
  readonly at: Instant
  readonly version: string | null
  readonly verdict: Verdict
  /** The most urgent first. */
  readonly lines: ReadonlyArray<Line>
}

/** A check that a process passes before it gets work. */
export interface Check {
  readonly name: string
  readonly fault: string | null
}

const lineOfCheck = ({ name, fault }: Check): ReadonlyArray<Line> =>
  fault === null
    ? []
    : [
        {
          kind: notReady,
          verdict: "failing",
          lacks: "flowing",
          since: null,
          says: `The process that answers is not ready (${name})`,
          cause: fault,
          next: "Read its log; on its machine sendwright doctor tells what mends it.",
          count: 0,
          target: { of: "readiness", id: null }
        }
      ]

const lineOfItem = ({
  cause,
  cost,
  count,
  kind,
  lacks,
  next,
  since,
  target,
  title,
  verdict
}: Item): Line => ({
  kind,
  verdict,
  lacks,
  since,
  says: `${title}. ${cost}`,
  cause,
  next,
  count,
  target
})

const worstOf = (lines: ReadonlyArray<Line>): Verdict => {
  if (lines.some(({ verdict }) => verdict === "failing")) return "failing"
  return lines.length === 0 ? "ok" : "degraded"
}

/** @param overview null where the store cannot be read, which the checks tell */
export const healthOf = (
  overview: Pick<Overview, "attention"> | null,
  checks: ReadonlyArray<Check>,
  { at, version }: Pick<Report, "at" | "version">
): Report => {
  const unread: ReadonlyArray<Check> =
    overview === null && checks.every(({ fault }) => fault === null)
      ? [{ name: "storage", fault: "The store cannot be read." }]
      : []
  const lines = [
    ...[...checks, ...unread].flatMap(lineOfCheck),
    ...(overview?.attention ?? []).map(lineOfItem)
  ]
  return { at, version, verdict: worstOf(lines), lines }
}
