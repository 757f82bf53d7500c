/**
 * Tells senders whose platform lives in their process what it had taken when the last process ended (`Sender.resume`):
 * the recipients of recent jobs whose last status it did not report.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Job } from "../domain/job/Job.ts"
import type { Paged } from "../domain/Page.ts"
import type { Provider, Session } from "../domain/session/Session.ts"
import { maximumRecipients } from "../schema/Requests.ts"
import { recipientOf, Senders, type UnreportedMessage } from "../sender/Sender.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** A platform reports within moments: what is older was told by another process, or never will be. */
const recentMs = Time.day
const atOnce = 100

const mayBeReported = ({ counts }: Job): boolean => counts.accepted + counts.sent + counts.unknown > 0

/** Answers an effect that does so when it first succeeds, and nothing from then on. */
export const make: Effect.Effect<
  Effect.Effect<void, StorageError>,
  never,
  JobStore | Senders | SessionStore
> = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const senders = yield* Senders

  /** The ids of the provider's sessions, by account. */
  const sessionsOf = Effect.fnUntraced(function* (provider: Provider) {
    const found = new Map<string, Set<string>>()
    let after: number | null = null
    do {
      const page: Paged<Session> = yield* sessions.ofProvider({ provider, page: { limit: atOnce, after } })
      for (const { accountId, id } of page.items)
        found.set(accountId, (found.get(accountId) ?? new Set()).add(id))
      after = page.next
    } while (after !== null)
    return found
  })

  const unreportedOf = Effect.fnUntraced(function* ({ id: jobId, sessionId }: Job) {
    const { items } = yield* jobs.results({ jobId, page: { limit: maximumRecipients, after: null } })
    return items.flatMap(
      ({ address, index, status }): ReadonlyArray<UnreportedMessage> =>
        status === "accepted" || status === "sent" || status === "unknown"
          ? [
              {
                messageId: Ids.messageId(jobId, index),
                sessionId,
                ...recipientOf(address),
                wasAccepted: status !== "unknown"
              }
            ]
          : []
    )
  })

  const recentJobs = Effect.fnUntraced(function* (
    accountId: string,
    kind: Job["content"]["kind"],
    since: Instant
  ) {
    const found: Array<Job> = []
    let after: number | null = null
    do {
      const page: Paged<Job> = yield* jobs.list({
        by: { accountId },
        kind,
        createdAfter: since,
        page: { limit: atOnce, after }
      })
      found.push(...page.items.filter(mayBeReported))
      after = page.next
    } while (after !== null)
    return found
  })

  let isDone = false
  return Effect.gen(function* () {
    if (isDone) return
    const since = Time.before(yield* Time.now, recentMs)
    for (const { provider, resume } of senders.values()) {
      if (resume === undefined) continue
      for (const [accountId, ids] of yield* sessionsOf(provider))
        for (const kind of ["template", "direct"] as const)
          for (const job of yield* recentJobs(accountId, kind, since))
            if (ids.has(job.sessionId)) yield* resume(yield* unreportedOf(job))
    }
    isDone = true
  })
})
