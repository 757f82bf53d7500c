/** What a platform's refusal means beyond the recipient: for a template or a session (`FailureCatalogue.Action`). */
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Attempted, Session } from "../domain/session/Session.ts"
import * as Sessions from "../domain/session/Session.ts"
import * as TemplateCheck from "../domain/template/TemplateCheck.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import * as TemplateTurns from "./TemplateTurns.ts"

/** What was refused: a message, or the session itself where a hook tells of it alone. */
export interface Concerned extends Pick<ClaimedJob, "accountId" | "sessionId"> {
  readonly content: ClaimedJob["content"] | null
  readonly jobId: string | null
}

/**
 * The one way from a failure to what it does beyond its recipient, whoever brings it: the answer of a send, a receipt, a hook's
 * errors (contract.md §13 "A code acts by what it says"). A session that connected since, or has another configuration, and a
 * template that changed since, stay as they are.
 */
export type Apply = (
  concerned: Concerned,
  failures: ReadonlyArray<Failure>,
  attempted: Attempted
) => Effect.Effect<void, StorageError>

/** In the catalogue's words: what a platform says may quote a message, and the session's reason has that. */
const named = ({ code }: Failure): string =>
  `${code}. ${FailureCatalogue.find(code)?.message ?? ""}`.trimEnd()

/** Says so in the log, unless the session stayed as it was. */
const warn = (session: Session | null, now: Instant, what: string, failure: Failure): Effect.Effect<void> =>
  session?.updatedAt === now
    ? Effect.annotateLogs(Effect.logWarning(`Session ${session.id} ${what}: ${named(failure)}`), {
        sessionId: session.id,
        code: failure.code
      })
    : Effect.void

export const make: Effect.Effect<Apply, never, JobStore | SessionStore | TemplateStore> = Effect.gen(
  function* () {
    const sessions = yield* SessionStore
    const jobs = yield* JobStore
    const templates = yield* TemplateStore

    /** Stores the status of the platform's template, so that nothing more is sent with it. */
    const mark = Effect.fnUntraced(function* (concerned: Concerned, status: string, since: Instant) {
      const { accountId, content, sessionId } = concerned
      if (content?.kind !== "template") return
      const { templateId } = content
      const now = yield* Time.now
      const report = { status, refusedSince: since }
      yield* TemplateTurns.told(yield* templates.report({ accountId, sessionId, templateId, report, now }))
    })

    /**
     * The message did not fit its template: the platform is asked for that, or, where the job's content is known to be of
     * another form than the template is by now, the job ends.
     */
    const check = Effect.fnUntraced(function* (
      { content, jobId, sessionId }: Concerned,
      failure: Failure,
      refusedSince: Instant,
      now: Instant
    ) {
      if (content?.kind !== "template" || jobId === null) return
      const { templateId } = content
      const template = yield* templates.find({ sessionId, templateId })
      if (template === null) return
      if (TemplateCheck.fits(content.template, template))
        yield* templates.askAgain({ sessionId, templateId, refusedSince, now })
      else yield* jobs.abandon({ jobId, failure, now })
    })

    /**
     * What of the job nobody has attempted since fails with it. The answer of a send does that in the commit of its outcome
     * (`JobSteps.stopsJob`); of a receipt it is done here, unless what it tells of was mended since.
     */
    const failRest = Effect.fnUntraced(function* (
      { jobId, sessionId }: Concerned,
      failure: Failure,
      attempted: Attempted,
      now: Instant
    ) {
      if (jobId === null || attempted.connection !== undefined) return
      const session = yield* sessions.find(sessionId)
      if (session === null || !Sessions.isAbout(session, attempted)) return
      yield* jobs.abandon({ jobId, failure, openSince: attempted.since, now })
    })

    const apply = (
      concerned: Concerned,
      failure: Failure,
      attempted: Attempted
    ): Effect.Effect<void, StorageError> =>
      Effect.gen(function* () {
        const { sessionId } = concerned
        const { since } = attempted
        const now = yield* Time.now
        const action = FailureCatalogue.actionOf(failure)
        switch (action) {
          case "pause_template":
            return yield* mark(concerned, "paused", since)
          case "check_template":
            return yield* check(concerned, failure, since, now)
          case "fail_job":
            if (failure.code === "template_disabled") yield* mark(concerned, "disabled", since)
            return yield* failRest(concerned, failure, attempted, now)
          case "disconnect_session": {
            const to = { state: "disconnected", reason: failure.message } as const
            const session = yield* sessions.transition({ id: sessionId, ...to, attempted, now })
            return yield* warn(session, now, "was disconnected", failure)
          }
          case "block_session": {
            const until = FailureCatalogue.blockedUntil(failure, since)
            if (until <= now) return
            const session = yield* sessions.block({ id: sessionId, until, attempted, now })
            return yield* warn(session, now, "pauses", failure)
          }
        }
      })

    // Once for each cause, however many recipients met it.
    return (concerned, failures, attempted) =>
      Effect.forEach(
        new Map(failures.map((failure) => [failure.code, failure])).values(),
        (failure) => apply(concerned, failure, attempted),
        { discard: true }
      )
  }
)
