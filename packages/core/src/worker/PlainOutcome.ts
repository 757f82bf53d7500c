/**
 * The nearest settlement of which nobody outside wrote a part, for one that a store refuses. What the platform may have
 * is `unknown`, so that it is not sent again (contract.md §10).
 */
import type { Failure } from "../domain/job/Recipient.ts"
import type { Settlement } from "../storage/JobStore.ts"
import { Outcome } from "../storage/JobStore.ts"

const unstorable: Failure = {
  code: "outcome_unstorable",
  provider_code: null,
  message: "The attempt ended with an outcome that the database does not take; see the service's log.",
  permanent: false
}

const plain = (outcome: Outcome): Outcome => {
  switch (outcome._tag) {
    case "Accepted":
    case "Unknown":
      return Outcome.Unknown({ failure: unstorable })
    case "Retry":
      return outcome.maybeSent
        ? Outcome.Unknown({ failure: unstorable })
        : Outcome.Failed({ failure: unstorable })
    case "Failed": {
      const failure = { ...unstorable, permanent: outcome.failure.permanent }
      return Outcome.Failed({ failure, stopsJob: outcome.stopsJob === true })
    }
    case "Skipped":
      return Outcome.Skipped({ failure: unstorable })
    case "Released":
      return outcome
  }
}

const isPlain = (outcome: Outcome): boolean => {
  if (outcome._tag === "Released") return true
  if (outcome._tag === "Accepted") return false
  const { code, message, provider_code } = outcome.failure
  return code === unstorable.code && message === unstorable.message && provider_code === null
}

/** First the outcome is made plain, then the word on the person is left out. Null when neither is there any more. */
export const plainOutcomeOf = (settlement: Settlement): Settlement | null => {
  const { outcome } = settlement
  if (!isPlain(outcome)) return { ...settlement, outcome: plain(outcome) }
  if (settlement.inbound === undefined) return null
  const { inbound: _, ...others } = settlement
  return others
}
