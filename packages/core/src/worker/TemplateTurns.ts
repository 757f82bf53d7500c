/** Says in the log when a template stops sending, and when it sends again: its jobs wait meanwhile, or end. */
import * as Effect from "effect/Effect"
import type { Template } from "../domain/template/Template.ts"

/** Nothing where the status is as it was. */
export const told = (
  heard: { readonly before: Template; readonly after: Template } | null
): Effect.Effect<void> => {
  if (heard === null || heard.before.status === heard.after.status) return Effect.void
  const { after, before } = heard
  const { language, name, sessionId, status, templateId } = after
  const line = `Template ${name} (${language}) of session ${sessionId} is ${status}, and was ${before.status}`
  return Effect.annotateLogs(
    status === "approved"
      ? Effect.logInfo(`${line}: its jobs go on`)
      : Effect.logWarning(`${line}: nothing is sent with it`),
    { sessionId, templateId, status }
  )
}
