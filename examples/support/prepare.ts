/** What every embedding needs once: an account, a connected session, a template, consent. */
import type { Engine } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"

const template = {
  name: "order_shipped",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}, your order arrives {{2}}." }]
}

export const prepare = (
  engine: Context.Tag.Service<Engine.Engine>,
  phones: ReadonlyArray<string>,
  given: {
    readonly name: string
    readonly provider: string
    readonly config?: Readonly<Record<string, unknown>>
  } = { name: "Sandbox", provider: "sandbox" }
) =>
  Effect.gen(function* () {
    const { admin } = engine
    const account = yield* admin.accounts.create({
      name: "My shop",
      currency: "EUR"
    })
    const session = yield* admin.sessions.create(account.id, given)
    yield* admin.sessions.connect(session.id)
    const {
      templates: [imported]
    } = yield* admin.templates.importAll(session.id, [template])
    yield* admin.consents.record(
      account.id,
      phones.map((phone) => ({ phone, source: "web-form" }))
    )
    const caller = yield* engine.callerOf(session.id)
    return { caller, accountId: account.id, templateId: imported?.templateId ?? 0 }
  })
