/** A shop on a platform that names people by other numbers than they were asked for by, in memory and by the test's clock. */
import { createHmac } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Address from "../../src/domain/Address.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

export interface Sent {
  readonly to: string
  readonly wamid: string
  readonly messageId: string
}

const secret = "a-secret-of-the-platform"
const [number, waba] = ["106540352242922", "102290129340398"]

/** A number, or a user id. */
const whose = (name: string) => (Address.read(name)?.userId == null ? { phone: name } : { userId: name })

/** How the platform names whom a number was asked for by; whoever is not in it is named by the number itself. */
export type Names = Map<string, Sender.Named>

export const shopOver = Effect.fnUntraced(function* <E>(stores: Layer.Layer<Stores, E>) {
  const sent: Array<Sent> = []
  const names: Names = new Map()
  /** Happens while the next message is under way. */
  const meanwhile: Array<Effect.Effect<void>> = []
  const whatsApp = yield* WhatsApp.make()
  const sender: Sender.Sender = {
    ...whatsApp,
    check: () => Effect.succeed(null),
    send: ({ messageId, to }) =>
      Effect.zipRight(
        Effect.suspend(() => meanwhile.pop() ?? Effect.void),
        Effect.sync(() => {
          // As the platform's own do, it has the number in it.
          const wamid = `wamid.${Buffer.from(`${to}.${sent.length}`).toString("base64url")}`
          sent.push({ to, wamid, messageId })
          const named = names.get(to)
          return { ...Sender.accepted(wamid, "accepted"), ...(named === undefined ? {} : { named }) }
        })
      )
  }
  const layer = Engine.layer().pipe(
    Layer.provideMerge(RecordingTransport.layer),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([])),
    Layer.provide(stores)
  )
  const context = yield* Layer.build(layer)
  const engine = yield* Effect.provide(Engine.Engine, context)
  const { admin } = engine
  yield* TestClock.setTime(Date.UTC(2026, 2, 14, 12))
  const plan = { minimumWaitMs: 0, requestsPerMinute: 1_000_000, dailyTemplateRecipients: null }
  const account = yield* admin.accounts.create({ name: "Shop", plan })
  const config = {
    phone_number_id: number,
    waba_id: waba,
    access_token: "token",
    app_secret: secret,
    verify_token: "verify"
  }
  const session = yield* admin.sessions.create(account.id, { name: "W", provider: "whatsapp_cloud", config })
  yield* admin.sessions.connect(session.id)
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  /** Imports a template that the platform has approved; answers its id. */
  const importTemplate = Effect.fnUntraced(function* (name: string, language: string, category: string) {
    const components = [{ type: "BODY", text: "News" }]
    const { templates } = yield* admin.templates.importAll(session.id, [
      { name, language, category, status: "APPROVED", components }
    ])
    return templates[0]?.templateId ?? 0
  })
  const newsId = yield* importTemplate("news", "en", "MARKETING")

  /** Posts to the session's hook, signed by the app. */
  const post = Effect.fnUntraced(function* (json: unknown) {
    const body = JSON.stringify(json)
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    yield* engine.hook("whatsapp_cloud", session.id, {
      method: "POST",
      headers: { "x-hub-signature-256": `sha256=${signature}` },
      query: {},
      body: new TextEncoder().encode(body)
    })
  })
  const hook = (value: object, field = "messages") => {
    const metadata = { phone_number_id: number }
    const entry = [{ id: waba, changes: [{ field, value: { metadata, ...value } }] }]
    return post({ object: "whatsapp_business_account", entry })
  }
  const seconds = Effect.map(Time.now, (now) => Math.floor(now / Time.second))
  let count = 0
  /** A message of a person, as a hook brings it. */
  const message = Effect.fnUntraced(function* (from: Sender.Named, some: object, at?: number) {
    count += 1
    yield* hook({
      messages: [
        {
          ...(from.phone === null ? {} : { from: from.phone }),
          ...(from.userId === null ? {} : { from_user_id: from.userId }),
          id: `wamid.in.${count}`,
          timestamp: String(at ?? (yield* seconds)),
          ...some
        }
      ]
    })
  })
  const say = (from: Sender.Named, body: string, context?: string) =>
    message(from, {
      type: "text",
      text: { body },
      ...(context === undefined ? {} : { context: { id: context } })
    })
  const report = Effect.fnUntraced(function* (message: Sent, named: Sender.Named, at?: number) {
    yield* hook({
      statuses: [
        {
          id: message.wamid,
          status: "delivered",
          timestamp: String(at ?? (yield* seconds)),
          biz_opaque_callback_data: message.messageId,
          ...(named.phone === null ? {} : { recipient_id: named.phone }),
          ...(named.userId === null ? {} : { recipient_user_id: named.userId })
        }
      ]
    })
  })
  const register = (name: string, status: "granted" | "revoked" = "granted") =>
    Effect.flatMap(Time.now, (now) =>
      admin.consents.record(account.id, [
        { ...whose(name), source: "form", status, occurredAt: Time.format(now) }
      ])
    )
  const caller = engine.identify({ publicKey: key.publicKey, secretKey })
  /** Accepts a send of the template; answers its job, or why it was refused. */
  const sendOf = (templateId: number, ...names: ReadonlyArray<string>) => {
    count += 1
    const request = { templateId, recipients: names.map(whose) }
    return Effect.flatMap(caller, (who) =>
      Effect.either(engine.send(who, { idempotencyKey: `send-${count}`, request }))
    )
  }
  const send = (...names: ReadonlyArray<string>) => sendOf(newsId, ...names)
  const statuses = (jobId: string) =>
    Effect.map(
      Effect.flatMap(caller, (who) => engine.job(who, jobId, { page: { limit: 250, after: null } })),
      ({ results }) => results.items.map(({ status }) => status)
    )
  return {
    account,
    admin,
    caller,
    config,
    drain: engine.drain,
    meanwhile,
    engine,
    hook,
    importTemplate,
    message,
    newsId,
    names,
    post,
    recorder: yield* Effect.provide(RecordingTransport.Recorder, context),
    register,
    report,
    say,
    seconds,
    send,
    sendOf,
    sent,
    session,
    statuses
  }
})

export const shop = Effect.suspend(() => shopOver(Memory.layer))

export const named = (phone: string | null, userId: string | null = null): Sender.Named => ({ phone, userId })
