/** The approved templates of a caller's session. */
import * as Effect from "effect/Effect"
import { NotFound } from "../domain/Errors.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import type { Caller, TemplateQuery } from "./Operations.ts"

export const list = Effect.fn("Engine.templates")(function* (caller: Caller, query: TemplateQuery) {
  const templates = yield* TemplateStore
  return yield* templates.listApproved({ ...query, sessionId: caller.session.id })
})

/** Unknown, not approved and another session's are not told apart. */
export const find = Effect.fn("Engine.template")(function* (caller: Caller, templateId: number) {
  const templates = yield* TemplateStore
  const template = yield* templates.find({ sessionId: caller.session.id, templateId })
  if (template === null || template.status !== "approved") return yield* new NotFound({ what: "template" })
  return template
})
