/** Applies what platforms report of our messages, and links the numbers asked for with the names in the reports. */

import * as Effect from "effect/Effect"
import { groupBy } from "../domain/GroupBy.ts"
import * as Time from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Session } from "../domain/session/Session.ts"
import * as Metrics from "../runtime/Metrics.ts"
import { Signals } from "../runtime/Signals.ts"
import type { PersonHash } from "../secret/PersonHash.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Acquaintance } from "../sender/Sender.ts"
import type { Met, Refused, Report, ReportedEnd, ReportsApplied } from "../storage/JobStore.ts"
import { JobStore, maximumEarlyReports } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import { EqualFailures } from "./EqualFailures.ts"
import * as ErasedPeople from "./ErasedPeople.ts"
import * as FailureActions from "./FailureActions.ts"
import type { InboundPeople } from "./InboundPeople.ts"
import * as Isolate from "./Isolate.ts"
import * as Outcomes from "./Outcomes.ts"

/** Applied in one commit, which others wait for. What comes twice changes nothing, so a cut between two does no harm. */
const reportsAtOnce = 100

export interface InboundReports {
  /** Answers those whose message nobody knows, once it is stored who was named otherwise than asked for. */
  readonly apply: (
    reports: ReadonlyArray<Report>,
    session?: Session
  ) => Effect.Effect<ReadonlyArray<Report>, StorageError>
  /** Applies reports that came before their message was known; answers how many. */
  readonly applyEarly: Effect.Effect<number, StorageError>
}

const acquaintanceOf = ({ asked, report }: Met): Acquaintance => {
  const { phone = null, userId = null } = report.named ?? {}
  return { phone, userId, asked, at: report.reportedAt ?? report.at }
}

export const make = (
  people: InboundPeople,
  hash: PersonHash
): Effect.Effect<InboundReports, never, EqualFailures | JobStore | SessionStore | Signals | TemplateStore> =>
  Effect.gen(function* () {
    const applyActions = yield* FailureActions.make
    const equal = yield* EqualFailures
    const jobs = yield* JobStore
    const sessions = yield* SessionStore
    const { sends } = yield* Signals
    const aged = Metrics.ofReceipts()
    const tell = Outcomes.make()

    const acquaint = Effect.fnUntraced(function* (met: ReadonlyArray<Met>, known?: Session) {
      for (const [sessionId, some] of groupBy(met, ({ sessionId }) => sessionId)) {
        const session = known?.id === sessionId ? known : yield* sessions.find(sessionId)
        if (session !== null)
          yield* people(session, { messages: [], preferences: [], people: some.map(acquaintanceOf) })
      }
    })

    /**
     * Once for each cause of a job, dated by the last attempt that met it. It is behind the commit of the reports, and before the
     * platform's hook is answered, so that it repeats what a crash takes between the two.
     */
    const actOn = Effect.fnUntraced(function* (
      { ended, refused }: Pick<ReportsApplied, "ended" | "refused">,
      known?: Session
    ) {
      for (const some of groupBy(refused, ({ failure, jobId }) => `${jobId} ${failure.code}`).values()) {
        const last = some.reduce((a, b) => (b.attemptedAt > a.attemptedAt ? b : a))
        yield* applyActions(last, [last.failure], { since: last.attemptedAt })
      }
      for (const [sessionId, some] of groupBy(ended, (end) => end.sessionId)) {
        const session = known?.id === sessionId ? known : yield* sessions.find(sessionId)
        const ends = some.map(({ address, attemptedAt: since, failure }) => ({
          address,
          failure,
          attempted: { since }
        }))
        if (session !== null) yield* equal.note(session, "receipt", ends)
      }
    })

    const apply: InboundReports["apply"] = Effect.fnUntraced(function* (reports, session) {
      const of = session === undefined ? {} : { sessionId: session.id }
      const unmatched: Array<Report> = []
      const met: Array<Met> = []
      const refused: Array<Refused> = []
      const ended: Array<ReportedEnd> = []
      const told =
        session === undefined ? reports : yield* ErasedPeople.withoutReports(hash, session.accountId, reports)
      for (let from = 0; from < told.length; from += reportsAtOnce) {
        const now = yield* Time.now
        yield* Isolate.storeAll({
          items: told
            .slice(from, from + reportsAtOnce)
            .map((report) => Sanitize.report({ ...report, ...Occurrence.ofReport(report.at, now) })),
          store: (some) =>
            Effect.flatMap(jobs.receive({ now, reports: some, ...of }), (received) => {
              for (const report of some)
                if (!received.unmatched.includes(report)) aged(now - (report.reportedAt ?? report.at))
              unmatched.push(...received.unmatched)
              met.push(...received.met)
              refused.push(...received.refused)
              ended.push(...received.ended)
              return tell(received.ends)
            }),
          refused: ({ messageId, providerId }, cause) =>
            Effect.logError(`A report of message ${messageId ?? providerId} cannot be stored: dropped`, cause)
        })
      }
      yield* acquaint(met, session)
      yield* actOn({ ended, refused }, session)
      // The template that goes in the place of a refused text is due now.
      if (told.some(({ failure }) => FailureCatalogue.isOfWindow(failure))) yield* sends.notify
      return unmatched
    })

    const applyEarly = Effect.gen(function* () {
      const now = yield* Time.now
      const { applied, ended, ends, forgotten, met, refused } = yield* jobs.applyEarlyReports({ now })
      yield* tell(ends)
      // In a commit behind that one: who is who belongs to a portfolio, which the session's sender alone can read. What a
      // crash takes between the two, the message's next receipt brings again.
      yield* acquaint(met)
      yield* actOn({ ended, refused })
      if (applied > 0) yield* sends.notify
      for (const [sessionId, count] of forgotten)
        yield* Effect.logWarning(
          `${count} receipt(s) of session ${sessionId} whose message is not known were forgotten: the newest ${maximumEarlyReports} are kept. Does something else send over its number?`
        )
      return applied
    })

    return { apply, applyEarly }
  })
