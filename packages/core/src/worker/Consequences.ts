/** What a platform's refusal means beyond the recipient: for a consent, a template, a session (`Catalogue.Action`). */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Catalogue from "../domain/Catalogue.ts"
import * as Consent from "../domain/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { InboundItem } from "../storage/InboundStore.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import type { Consequence } from "./Dispatch.ts"

export type Draw = (
  job: Pick<ClaimedJob, "accountId" | "sessionId" | "content">,
  consequences: ReadonlyArray<Consequence>
) => Effect.Effect<void, StorageError>

/** A store that is out for longer keeps the outcome from being handed in as well. */
const untilStored = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("2 seconds")),
  Schedule.upTo("20 seconds")
)

export const make: Effect.Effect<Draw, never, InboundStore | SessionStore | TemplateStore> = Effect.gen(
  function* () {
    const inbound = yield* InboundStore
    const sessions = yield* SessionStore
    const templates = yield* TemplateStore
    const ids = Ids.make(yield* Ids.RandomBytes)

    const revoke = Effect.fnUntraced(function* (
      { accountId, sessionId }: Parameters<Draw>[0],
      { failure, phone }: Consequence
    ) {
      const now = yield* Clock.currentTimeMillis
      const item: InboundItem = {
        // Of this answer: where the store's own was lost the record is there already.
        id: `${sessionId} ${ids.uuid(now)}`,
        told: { person: { phone, userId: null }, formerly: null },
        message: null,
        word: {
          purpose: "marketing",
          status: "revoked",
          source: Consent.inboundSources.platform,
          proof: `The platform answered ${failure.provider_code ?? failure.code}: ${failure.message}`,
          occurredAt: now,
          latest: now
        },
        unattributed: null
      }
      // Nobody repeats it, so it is stored before the outcome that it came with.
      yield* Effect.retry(
        inbound.receive({ accountId, sessionId, portfolio: sessionId, items: [item], now }),
        untilStored
      )
    })

    /** As the platform's template is now, so that nothing more is sent with it. */
    const mark = Effect.fnUntraced(function* (job: Parameters<Draw>[0], status: string) {
      const { accountId, content, sessionId } = job
      if (content.kind !== "template") return
      const template = yield* templates.find({ sessionId, templateId: content.templateId })
      if (template === null || template.status !== "approved") return
      const now = yield* Clock.currentTimeMillis
      yield* templates.importAll({ accountId, sessionId, contents: [{ ...template, status }], now })
    })

    const draw = (job: Parameters<Draw>[0], consequence: Consequence): Effect.Effect<void, StorageError> =>
      Effect.gen(function* () {
        const { failure } = consequence
        const { sessionId } = job
        const now = yield* Clock.currentTimeMillis
        const action = Catalogue.actionOf(failure)
        switch (action) {
          case "revoke_marketing":
            return yield* revoke(job, consequence)
          case "pause_template":
            return yield* mark(job, "paused")
          case "fail_job":
            return failure.code === "template_disabled" ? yield* mark(job, "disabled") : undefined
          case "disconnect_session":
            yield* sessions.transition({ id: sessionId, state: "disconnected", reason: failure.message, now })
            return yield* Effect.logWarning(`Session ${sessionId} was disconnected: ${failure.message}`)
          case "block_session":
            yield* sessions.block({ id: sessionId, until: Catalogue.blockedUntil(failure, now), now })
            return yield* Effect.logWarning(`Session ${sessionId} pauses: ${failure.message}`)
        }
      })

    return (job, consequences) => {
      // Once for each cause, however many recipients met it; a consent is each person's own.
      const distinct = new Map(
        consequences.map((each) => [
          Catalogue.actionOf(each.failure) === "revoke_marketing"
            ? `consent ${each.phone}`
            : each.failure.code,
          each
        ])
      )
      return Effect.forEach(distinct.values(), (each) => draw(job, each), { discard: true })
    }
  }
)
