/**
 * Fetches the templates that may be others at their platform than here (contract.md §11). Their jobs wait for it, and go on,
 * or end where what they send is not of the template's form any more. A fetch that fails is repeated at growing intervals; in
 * the end, and where the platform cannot be asked, the jobs go on with the template as it is known here.
 */

import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Session } from "../domain/session/Session.ts"
import * as PlatformTemplate from "../domain/template/PlatformTemplate.ts"
import type { Template } from "../domain/template/Template.ts"
import * as TemplateCheck from "../domain/template/TemplateCheck.ts"
import * as Either from "../effect/Either.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"

const atOnce = 10

const mismatch = FailureCatalogue.failure("template_mismatch", { providerCode: null })

/** Fetches what is due, and answers how many that were. */
export type Check = Effect.Effect<number, StorageError>

export const make: Effect.Effect<
  Check,
  never,
  JobStore | SecretBox | Senders | SessionStore | TemplateStore
> = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore
  const resolve = yield* SessionSender.make

  /** The template is known: its jobs go on, but for those that do not fit. */
  const end = Effect.fnUntraced(function* (
    { sessionId, templateId }: Template,
    claimed: TemplateCheck.Claimed
  ) {
    for (;;) {
      const now = yield* Time.now
      const misfits = yield* templates.endCheck({ sessionId, templateId, check: claimed, now })
      if (misfits.length === 0) return
      for (const jobId of misfits) yield* jobs.abandon({ jobId, failure: mismatch, now })
    }
  })

  /** Stores the template as the platform has it; null where it has none. */
  const store = Effect.fnUntraced(function* (
    session: Session,
    template: Template,
    json: unknown,
    askedAt: Instant
  ) {
    const { accountId, id: sessionId } = session
    const { language, name, templateId } = template
    const now = yield* Time.now
    if (json === null) {
      const report = { status: "deleted", at: askedAt, refusedSince: null }
      return yield* templates.report({ accountId, sessionId, templateId, report, now })
    }
    const item = PlatformTemplate.itemReader()(json, 0)
    if (item._tag === "Refused")
      return yield* Effect.logWarning(`Template ${name} (${language}) of session ${sessionId} cannot be read`)
    // Under the name that it has here, however the platform spells its language now.
    const contents = [{ ...item.content, name, language }]
    yield* templates.importAll({ accountId, sessionId, contents, askedAt, now })
  })

  const check = Effect.fnUntraced(function* (template: Template, claimed: TemplateCheck.Claimed) {
    const session = yield* sessions.find(template.sessionId)
    const sessionSender = yield* resolve(session)
    const fetch = sessionSender?.sender.template
    if (session === null || sessionSender === undefined || fetch === undefined)
      return yield* end(template, claimed)
    const askedAt = yield* Time.now
    const answer = yield* Effect.either(fetch(sessionSender.config, template))
    if (Either.isRight(answer)) yield* store(session, template, answer.right, askedAt)
    else {
      const { message, permanent } = Sanitize.failure(answer.left.failure, sessionSender.config)
      const goesOn = permanent || claimed.count >= TemplateCheck.maximumCount
      yield* Effect.logWarning(
        `Template ${template.name} of session ${session.id} could not be fetched: ${message} Its jobs ${goesOn ? "go on with the template as it is known" : "wait, and it is tried again"}.`
      )
      if (!goesOn) return
    }
    yield* end(template, claimed)
  })

  return Effect.gen(function* () {
    const now = yield* Time.now
    const due = yield* templates.claimChecks({ now, limit: atOnce })
    for (const { check: claimed, template } of due) yield* check(template, claimed)
    return due.length
  })
})
