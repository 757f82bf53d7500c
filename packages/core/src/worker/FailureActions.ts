/** What a platform's refusal means beyond the recipient: for a template or a session (`FailureCatalogue.Action`). */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Connection, Session } from "../domain/session/Session.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"

/** @param attempted with what the platform was asked: an answer to what is changed since asks for nothing of the session */
export type Apply = (
  job: Pick<ClaimedJob, "accountId" | "sessionId" | "content">,
  failures: ReadonlyArray<Failure>,
  attempted: Connection | undefined
) => Effect.Effect<void, StorageError>

/** In the catalogue's words: what a platform says may quote a message, and the session's reason has that. */
const named = ({ code }: Failure): string =>
  `${code}. ${FailureCatalogue.find(code)?.message ?? ""}`.trimEnd()

/** Says so in the log, unless the session stayed as it was. */
const warn = (session: Session | null, now: Instant, what: string, failure: Failure): Effect.Effect<void> =>
  session?.updatedAt === now
    ? Effect.logWarning(`Session ${session.id} ${what}: ${named(failure)}`)
    : Effect.void

export const make: Effect.Effect<Apply, never, SessionStore | TemplateStore> = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore

  /** As the platform's template is now, so that nothing more is sent with it. */
  const mark = Effect.fnUntraced(function* (job: Parameters<Apply>[0], status: string) {
    const { accountId, content, sessionId } = job
    if (content.kind !== "template") return
    const template = yield* templates.find({ sessionId, templateId: content.templateId })
    if (template === null || template.status !== "approved") return
    const now = yield* Clock.currentTimeMillis
    yield* templates.importAll({ accountId, sessionId, contents: [{ ...template, status }], now })
  })

  const apply = (
    job: Parameters<Apply>[0],
    failure: Failure,
    attempted: Connection | undefined
  ): Effect.Effect<void, StorageError> =>
    Effect.gen(function* () {
      const { sessionId } = job
      const now = yield* Clock.currentTimeMillis
      const action = FailureCatalogue.actionOf(failure)
      switch (action) {
        case "pause_template":
          return yield* mark(job, "paused")
        case "fail_job":
          return failure.code === "template_disabled" ? yield* mark(job, "disabled") : undefined
        case "disconnect_session": {
          const to = { state: "disconnected", reason: failure.message } as const
          const session = yield* sessions.transition({ id: sessionId, ...to, attempted, now })
          return yield* warn(session, now, "was disconnected", failure)
        }
        case "block_session": {
          const until = FailureCatalogue.blockedUntil(failure, now)
          const session = yield* sessions.block({ id: sessionId, until, attempted, now })
          return yield* warn(session, now, "pauses", failure)
        }
      }
    })

  // Once for each cause, however many recipients met it.
  return (job, failures, attempted) =>
    Effect.forEach(
      new Map(failures.map((failure) => [failure.code, failure])).values(),
      (failure) => apply(job, failure, attempted),
      { discard: true }
    )
})
