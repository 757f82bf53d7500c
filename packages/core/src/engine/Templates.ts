/** The approved templates of a caller's session. */
import * as Effect from "effect/Effect"
import { NotFound } from "../domain/Errors.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import type { Caller, TemplateQuery } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.map(TemplateStore, (templates) => {
  const list = (caller: Caller, query: TemplateQuery) =>
    templates.listApproved({ ...query, sessionId: caller.session.id })

  /** An unknown template, one that is not approved and one of another session are refused alike. */
  const find = Effect.fnUntraced(function* (caller: Caller, templateId: number) {
    const template = yield* templates.find({ sessionId: caller.session.id, templateId })
    if (template === null || template.status !== "approved") return yield* new NotFound({ what: "template" })
    return template
  })

  return { list: spanIfTraced("Engine.templates", list), find: spanIfTraced("Engine.template", find) }
})
