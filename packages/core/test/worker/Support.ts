/** What tests of the worker share: a platform that does as it is told, and the engine over the test's stores. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Window from "../../src/domain/session/Window.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import type { OutboundMessage } from "../../src/sender/Sender.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import type { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import * as Worker from "../../src/worker/Worker.ts"
import { listen, owner } from "../StorageSuite/Setup.ts"

export const accepted = Sender.SendResult.Accepted({ providerId: "p", status: "accepted" })

export const timedOut = Sender.SendResult.Ambiguous({
  failure: { code: "timeout", provider_code: null, message: "No answer came.", permanent: false }
})

/** A platform that answers as it is told and remembers what it was sent. */
export const platform = (
  some: Partial<Sender.Sender>,
  send: (message: OutboundMessage) => Effect.Effect<Sender.SendResult> = () => Effect.succeed(accepted)
) => {
  const sent: Array<string> = []
  const sender: Sender.Sender = {
    provider: "sandbox",
    deduplicates: false,
    send: (message) =>
      Effect.suspend(() => {
        sent.push(message.messageId)
        return send(message)
      }),
    ...some
  }
  return { sent, sender }
}

/** A person wrote to the session so long ago, which opened their window. */
export const wroteTo =
  (accountId: string, sessionId: string, phone: string) =>
  (ago: number, isReferred = false) =>
    Effect.gen(function* () {
      const now = yield* Time.now
      const item = {
        id: null,
        identity: { person: { phone, userId: null }, formerly: null },
        message: null,
        word: null,
        unattributed: null,
        window: Window.opened(Time.before(now, ago), { isReferred })
      }
      yield* (yield* InboundStore).receive({ accountId, sessionId, portfolio: "", now, items: [item] })
    })

/** Every engine of a test reads what another one sealed. */
export const secretBox = SecretBox.layer(Redacted.make(new Uint8Array(32)))

/**
 * The engine over the stores that are provided: of a process that is not young, unless it is told otherwise. It looks once a
 * second: each time costs a test more than a process.
 */
export const embedded = (
  sender: Sender.Sender,
  transport: Layer.Layer<WebhookTransport> = RecordingTransport.layer,
  options: Partial<Worker.Options> & Engine.Described = {}
) =>
  Engine.layer({ concurrency: 8, youthMs: 0, lookMs: 1000, ...options }).pipe(
    Layer.provide(transport),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(secretBox),
    Layer.provide(AddressPolicy.layer([]))
  )

/** The same with its loops running. */
export const running = (
  sender: Sender.Sender,
  transport?: Layer.Layer<WebhookTransport>,
  options?: Partial<Worker.Options> & Engine.Described
) => Layer.provideMerge(Worker.layerLoops, embedded(sender, transport, options))

/** With the loops running; what is under way at the end has its grace. */
export const during = <A, E, R>(
  sender: Sender.Sender,
  body: Effect.Effect<A, E, R>,
  options?: Partial<Worker.Options>
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(running(sender, undefined, options), scope)
    const exit = yield* Effect.exit(body)
    const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(stopping)
    return yield* exit
  })

/** A job of this session whose recipients consent. */
export const acceptOf = Effect.fnUntraced(function* (
  who: Effect.Effect.Success<typeof owner>,
  phones: number,
  now = 0
) {
  const command = Fixtures.send(who, { phones, now })
  const records = command.recipients.map(({ address: phone }) =>
    Fixtures.consent(phone, { occurredAt: Time.at(0) })
  )
  yield* (yield* ConsentStore).record({ accountId: who.accountId, records })
  yield* (yield* JobStore).accept(command)
  return command.jobId
})

/** A job of a session of its own. */
export const accept = Effect.fnUntraced(function* (phones: number) {
  const jobs = yield* JobStore
  const jobId = yield* acceptOf(yield* owner, phones)
  return { jobs, jobId }
})

/** A session with so many jobs of two. */
export const backlog = Effect.fnUntraced(function* (count: number) {
  const jobs = yield* JobStore
  const who = yield* owner
  const commands = Array.from({ length: count }, () => Fixtures.send(who, { phones: 2, now: Time.at(0) }))
  const phones = commands.flatMap(({ recipients }) => recipients.map(({ address: phone }) => phone))
  const records = phones.map((phone) => Fixtures.consent(phone, { occurredAt: Time.at(0) }))
  yield* (yield* ConsentStore).record({ accountId: who.accountId, records })
  for (const command of commands) yield* jobs.accept(command)
  return { sessionId: who.sessionId, jobIds: commands.map(({ jobId }) => jobId) }
})

/** An endpoint of an account, with so many deliveries. */
export const deliveries = Effect.fnUntraced(function* (count: number) {
  const store = yield* WebhookStore
  const { accountId } = yield* owner
  const endpoint = yield* listen(accountId)
  const { seal } = yield* SecretBox.SecretBox
  const sealed = seal(`webhook|${endpoint.id}`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
  const secret = { sealed, createdAt: Time.at(0), expiresAt: null }
  yield* store.rotate({ id: endpoint.id, secret, expireOthersAt: Time.at(0), now: Time.at(0) })
  const draft = Event.webhookTest(endpoint.id)
  for (let n = 0; n < count; n++) yield* store.send({ endpointId: endpoint.id, draft, now: Time.at(0) })
  const statuses = Effect.map(
    store.deliveries({ endpointId: endpoint.id, page: { limit: 100, after: null } }),
    ({ items }) => items.map(({ status }) => status)
  )
  return { statuses, store }
}, Effect.provide(secretBox))
