/** Asks the engine for each row of the catalogue which others it stops, however it comes. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import { hour, second } from "../../src/domain/Instant.ts"
import * as FailureCatalogue from "../../src/domain/session/FailureCatalogue.ts"
import * as Sender from "../../src/sender/Sender.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as RefusingPlatform from "./RefusingPlatform.ts"

/** The rows that concern others than their recipient. */
export const rows = FailureCatalogue.entries.filter(({ code }) =>
  FailureCatalogue.concernsOthers(FailureCatalogue.failure(code, { providerCode: null }))
)

/** By the answer of a send; by a receipt behind our commit of the answer, or before it: of our id, or of the platform's alone. */
export const ways = [
  "an answer",
  "a receipt",
  "an early receipt",
  "an early receipt of its id alone"
] as const
export type Way = (typeof ways)[number]

const phones = Array.from({ length: 4 }, (_, n) => `3460000123${n}`)

const template = {
  name: "order_shipped",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}, your order arrives {{2}}." }]
}

/** The platform refuses the first of four messages, which go one by one, a second apart. */
export const stoppedBy = <E>(stores: Layer.Layer<Stores, E>, code: string, way: Way) =>
  Effect.gen(function* () {
    const failure = FailureCatalogue.failure(code, { providerCode: null })
    let sent = 0
    let fetched = 0
    const refusing = failure.permanent
      ? Sender.SendResult.Rejected({ failure })
      : Sender.SendResult.Transient({ failure, retryAfterMs: null })
    const {
      engine,
      hookOf,
      id,
      job: found
    } = yield* RefusingPlatform.job(stores, phones, ({ hook, reports }) => ({
      template: () =>
        Effect.sync(() => {
          fetched += 1
          return template
        }),
      send: ({ messageId }) =>
        Effect.gen(function* () {
          sent += 1
          const accepted = Sender.accepted(`p${sent}`, "accepted")
          if (sent > 1) return accepted
          if (way === "an answer") return refusing
          const at = yield* Time.now
          const known = way === "an early receipt of its id alone" ? null : messageId
          reports.push({ messageId: known, providerId: "p1", status: "failed", at, failure })
          if (way !== "a receipt") yield* hook
          return accepted
        })
    }))
    const { admin } = engine
    const began = yield* Time.now
    yield* engine.drain
    if (way === "a receipt") yield* hookOf(engine)
    // Early receipts of an id of the platform's are looked for every few seconds.
    yield* TestClock.adjust("500 millis")
    yield* engine.drain
    const job = yield* found
    const session = yield* admin.sessions.find(id)
    const mirrored = yield* admin.templates.list(id, { page: { limit: 1, after: null } })
    const status = mirrored.items[0]?.status
    const until = session.blockedUntil
    const stopped = [
      ...(session.state === "connected" ? [] : ["disconnects the session"]),
      ...(until === null ? [] : [`blocks the session for ${(until - began) / hour} h`]),
      ...(status === "approved" ? [] : [`the template is ${status}`]),
      ...(job.counts.failed > 1 ? ["fails the rest of the job"] : [])
    ]
    yield* TestClock.adjust(10 * second)
    yield* engine.drain
    if (fetched > 0) stopped.push("fetches the template, whose jobs wait for it")
    return { stopped: stopped.join(", ") || "nothing", others: sent > 1 ? "go on" : "stop" }
  }).pipe(Effect.scoped)
