/** What a platform's refusal means beyond the recipient: for a template or a session (`Catalogue.Action`). */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Catalogue from "../domain/Catalogue.ts"
import type { Failure } from "../domain/Recipient.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"

export type Draw = (
  job: Pick<ClaimedJob, "accountId" | "sessionId" | "content">,
  failures: ReadonlyArray<Failure>
) => Effect.Effect<void, StorageError>

/** In the catalogue's words: what a platform says may quote a message, and the session's reason has that. */
const named = ({ code }: Failure): string => `${code}. ${Catalogue.find(code)?.message ?? ""}`.trimEnd()

export const make: Effect.Effect<Draw, never, SessionStore | TemplateStore> = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore

  /** As the platform's template is now, so that nothing more is sent with it. */
  const mark = Effect.fnUntraced(function* (job: Parameters<Draw>[0], status: string) {
    const { accountId, content, sessionId } = job
    if (content.kind !== "template") return
    const template = yield* templates.find({ sessionId, templateId: content.templateId })
    if (template === null || template.status !== "approved") return
    const now = yield* Clock.currentTimeMillis
    yield* templates.importAll({ accountId, sessionId, contents: [{ ...template, status }], now })
  })

  const draw = (job: Parameters<Draw>[0], failure: Failure): Effect.Effect<void, StorageError> =>
    Effect.gen(function* () {
      const { sessionId } = job
      const now = yield* Clock.currentTimeMillis
      const action = Catalogue.actionOf(failure)
      switch (action) {
        case "pause_template":
          return yield* mark(job, "paused")
        case "fail_job":
          return failure.code === "template_disabled" ? yield* mark(job, "disabled") : undefined
        case "disconnect_session":
          yield* sessions.transition({ id: sessionId, state: "disconnected", reason: failure.message, now })
          return yield* Effect.logWarning(`Session ${sessionId} was disconnected: ${named(failure)}`)
        case "block_session":
          yield* sessions.block({ id: sessionId, until: Catalogue.blockedUntil(failure, now), now })
          return yield* Effect.logWarning(`Session ${sessionId} pauses: ${named(failure)}`)
      }
    })

  // Once for each cause, however many recipients met it.
  return (job, failures) =>
    Effect.forEach(
      new Map(failures.map((failure) => [failure.code, failure])).values(),
      (failure) => draw(job, failure),
      { discard: true }
    )
})
