/** What an attempt is among the metrics. */
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

/** Of what was not sent, or was cut off, the time tells nothing. */
const hasEnd = ({ _tag }: Outcome): boolean => _tag !== "Skipped" && _tag !== "Released"

export const ended = (
  { ended }: Pick<ReturnType<typeof Metrics.ofAttempts>, "ended">,
  outcome: Outcome,
  ms: number
): void => ended(names[outcome._tag], hasEnd(outcome) ? ms : null)
