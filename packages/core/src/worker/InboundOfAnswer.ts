/**
 * News of a person in the platform's answer to a message. The news is handed in with the outcome, in one commit, because the
 * platform tells it only once.
 */
import * as Address from "../domain/Address.ts"
import * as Consent from "../domain/consent/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Person from "../domain/Person.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Named } from "../sender/Sender.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"

/**
 * The recipient as the platform names them: by another number than we asked for, or by a user id. A word of theirs is known as
 * the recipient's from then on. Null where the answer tells nothing new.
 */
export const named = (
  { accountId, sessionId }: Pick<ClaimedJob, "accountId" | "sessionId">,
  { address }: Pick<ClaimedJob["recipients"][number], "address">,
  named: Named | undefined,
  portfolio: string
): Inbound | null => {
  const person = named === undefined ? null : Person.read(named.phone, named.userId)
  if (person === null) return null
  const asked = Address.keysOf(address)
  const keys = Person.keysOf(person, portfolio)
  if (keys.length === 1 && keys.every((key) => asked.includes(key))) return null
  const identity = { person, formerly: null, asked }
  return {
    accountId,
    sessionId,
    portfolio,
    items: [{ id: null, identity, message: null, word: null, unattributed: null }]
  }
}

/** The opt-out that a refusal of a message tells (WhatsApp's 131050); null where the refusal tells none. */
export const optOut = (
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
            // Of this answer, so that an outcome that is handed in twice tells the opt-out once.
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
