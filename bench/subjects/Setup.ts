/** An engine as the host makes it, over stores of one's choice, and a tenant without limits. */
import { AddressPolicy, Engine, SecretBox, Sender, UndiciTransport } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Sends from "../Sends.ts"

/** Answers at once, each with an id of its own, as long as a platform's. */
export const noOp = (called: () => void = () => {}): Sender.Sender => {
  const run = `wamid.${process.pid}.${Date.now()}.`
  let sent = 0
  return {
    provider: "sandbox",
    deduplicates: true,
    send: () => {
      called()
      sent += 1
      const providerId = run + String(sent).padStart(40 - run.length, "0")
      return Effect.succeed(Sender.SendResult.Accepted({ providerId, status: "accepted" }))
    }
  }
}

export const engine = (sender: Sender.Sender) =>
  Engine.layer().pipe(
    Layer.provide(Sender.layer(sender)),
    Layer.provide(UndiciTransport.layer()),
    Layer.provide(AddressPolicy.layer([])),
    // One key, so that a later engine over the same stores reads what an earlier one sealed.
    Layer.provide(SecretBox.layer(Redacted.make(new Uint8Array(32))))
  )

/** An account whose key may do everything, as often as it likes; the first numbers of `Sends` have consented. */
export const tenant = Effect.gen(function* () {
  const { admin, identify } = yield* Engine.Engine
  const plan = {
    minimumWaitMs: 0,
    dailyTemplateRecipients: null,
    requestsPerMinute: 1_000_000_000
  }
  const account = yield* admin.accounts.create({ name: "bench", plan })
  const session = yield* admin.sessions.create(account.id, { name: "bench", provider: "sandbox" })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [Sends.template])
  const records = Sends.consented.map((phone) => ({ phone, source: "bench" }))
  for (let from = 0; from < records.length; from += 1000) {
    yield* admin.consents.record(account.id, records.slice(from, from + 1000))
  }
  const caller = yield* identify({ publicKey: key.publicKey, secretKey })
  return {
    account,
    session,
    publicKey: key.publicKey,
    secretKey,
    templateId: template?.templateId ?? 0,
    caller
  }
})
