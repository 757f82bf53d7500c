/** An attempt as the metrics count it. */
import type * as Metrics from "../runtime/Metrics.ts"
import type { Outcome } from "../storage/JobStore.ts"

const names = {
  Accepted: "accepted",
  Failed: "failed",
  Retry: "retried",
  Unknown: "unknown",
  Skipped: "skipped",
  Released: "released"
} as const satisfies Readonly<Record<Outcome["_tag"], Metrics.AttemptOutcome>>

/** The time of an attempt that sent nothing, or was cut off, tells nothing. */
const hasEnd = ({ _tag }: Outcome): boolean => _tag !== "Skipped" && _tag !== "Released"

export const ended = (
  { ended }: Pick<ReturnType<typeof Metrics.ofAttempts>, "ended">,
  outcome: Outcome,
  ms: number
): void => ended(names[outcome._tag], hasEnd(outcome) ? ms : null)
