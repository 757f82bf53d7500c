/**
 * The opt-out that a platform's refusal of a message tells (WhatsApp's 131050). It is handed in with the outcome, in one
 * commit, because the platform tells it only once.
 */

import * as Address from "../domain/Address.ts"
import * as Consent from "../domain/consent/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"

/** The opt-out in a refusal; null where the refusal tells none. */
export const read = (
  { accountId, fence, jobId, sessionId }: ClaimedJob,
  { address, index }: ClaimedJob["recipients"][number],
  failure: Failure
): Inbound | null =>
  FailureCatalogue.actionOf(failure) !== "revoke_marketing"
    ? null
    : {
        accountId,
        sessionId,
        portfolio: Address.portfolioOf(address) ?? sessionId,
        items: [
          {
            // Of this answer, so that an outcome that is handed in twice tells it once.
            id: `${sessionId} ${Ids.messageId(jobId, index)} ${fence}`,
            identity: { person: Address.personOf(address), formerly: null },
            message: null,
            word: {
              purpose: "marketing",
              status: "revoked",
              source: Consent.inboundSources.platform,
              proof: `The platform answered ${failure.provider_code ?? failure.code}: ${failure.message}`,
              reportedAt: null
            },
            unattributed: null
          }
        ]
      }
