/**
 * The recipient as the platform's answer names them: by another number than we asked for, or by a user id. It is handed in
 * with the outcome, in one commit, so that a word of theirs is known as the recipient's from then on.
 */
import * as Address from "../domain/Address.ts"
import * as Person from "../domain/Person.ts"
import type { Named } from "../sender/Sender.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"

/** What an answer tells of the recipient; null where it tells nothing new. */
export const read = (
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
