/** What the app needs of Sendwright: its templates, and CANCEL as a word of its own. */
import type { Sendwright } from "sendwright"

const template = (name: string, text: string) => ({
  name,
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text }]
})

const templates = [
  template("confirmation", "Dear {{1}}, you have an appointment on {{2}}. Answer CANCEL if you can't come."),
  template(
    "reminder",
    "Dear {{1}}, we see you on {{2}}. Answer CANCEL if you can't come, STOP for no reminders."
  )
]

export const prepare = async (sw: Sendwright, sessionId: string): Promise<void> => {
  await sw.admin.templates.import({ sessionId, templates })
  // CANCEL withdraws consent by default. A session with words of its own has no others.
  await sw.admin.sessions.change({ id: sessionId, keywords: { optOut: ["STOP", "UNSUBSCRIBE"] } })
}
