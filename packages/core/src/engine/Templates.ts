/** The approved templates of a caller's session. */
import * as Effect from "effect/Effect"
import { NotFound } from "../domain/Errors.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import type { Caller, TemplateName, TemplateQuery } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.map(TemplateStore, (templates) => {
  const list = (caller: Caller, query: TemplateQuery) =>
    templates.listApproved({ ...query, sessionId: caller.session.id })

  /** An unknown template, one that is not approved and one of another session are refused alike. */
  const find = Effect.fnUntraced(function* ({ session }: Caller, of: number | TemplateName) {
    const template = yield* typeof of === "number"
      ? templates.find({ sessionId: session.id, templateId: of })
      : templates.findNamed({ sessionId: session.id, name: of.name, language: of.language })
    if (template !== null && template.status === "approved") return template
    const named = typeof of === "number" ? undefined : `"${of.name}" in "${of.language}"`
    return yield* new NotFound({ what: "template", named })
  })

  return { list: spanIfTraced("Engine.templates", list), find: spanIfTraced("Engine.template", find) }
})
