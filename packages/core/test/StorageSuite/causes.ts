/** Why a job pauses, and that it goes on by itself when the cause ends. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, find, listen, now, owner, results } from "./Setup.ts"

/** A job of an imported template, half of it sent. */
const running = Effect.gen(function* () {
  const jobs = yield* JobStore
  const templates = yield* TemplateStore
  const { accountId, publicKey, sessionId } = yield* owner
  const become = (status: string) =>
    templates.importAll({ accountId, sessionId, contents: [Fixtures.template({ status })], now })
  const [template] = yield* become("approved")
  if (template === undefined) return yield* Effect.dieMessage("Nothing was imported.")
  const content = { kind: "template", templateId: template.templateId, template } as const
  const command = Fixtures.send({ accountId, publicKey, sessionId }, { phones: 4, content })
  yield* jobs.accept(command)
  const { jobId } = command
  const step = Effect.fnUntraced(function* (limit: number) {
    const [job] = yield* claim(limit)
    const settlements = (job?.recipients ?? []).map(({ index }) => ({
      jobId,
      fence: job?.fence ?? -1,
      index,
      outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
    }))
    yield* jobs.settleAndClaim({ now, settlements, claim: null })
    return settlements.length
  })
  return { accountId, sessionId, jobs, jobId, become, step }
})

export const suite = (layer: Stored): void => {
  describe("a job", () => {
    it.effect("pauses at dispatch while its template is paused, and goes on when that is approved", () =>
      Effect.gen(function* () {
        const { accountId, become, jobId, jobs, step } = yield* running
        expect(yield* step(2)).toBe(2)
        yield* listen(accountId)
        yield* become("paused")
        expect(yield* step(2)).toBe(0)
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "template_paused" })
        expect(yield* jobs.nextDue(now)).toBeNull()
        yield* become("approved")
        expect(yield* find(jobId)).toMatchObject({ status: "processing", pauseReason: null })
        expect(yield* step(4)).toBe(2)
        expect((yield* find(jobId)).status).toBe("completed")
        const told = (yield* events()).map(({ type }) => type).filter((type) => type.startsWith("job."))
        expect(told).toEqual(["job.paused", "job.processing", "job.completed"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that was not begun pauses too, and can be canceled", () =>
      Effect.gen(function* () {
        const { become, jobId, jobs, step } = yield* running
        yield* become("disabled")
        expect(yield* step(4)).toBe(0)
        expect((yield* find(jobId)).status).toBe("paused")
        yield* jobs.cancel({ jobId, now })
        expect(yield* find(jobId)).toMatchObject({ status: "canceled", counts: { canceled: 4 } })
        yield* become("approved")
        expect((yield* find(jobId)).status).toBe("canceled")
      }).pipe(Effect.provide(layer))
    )

    it.effect("whose session went meanwhile waits for that, too", () =>
      Effect.gen(function* () {
        const { become, jobId, sessionId, step } = yield* running
        const sessions = yield* SessionStore
        yield* become("paused")
        yield* step(4)
        yield* sessions.transition({ id: sessionId, state: "disconnected", reason: "gone", now })
        yield* become("approved")
        expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
        yield* sessions.transition({ id: sessionId, state: "connected", reason: null, now })
        expect((yield* find(jobId)).status).toBe("processing")
        expect(yield* step(4)).toBe(4)
      }).pipe(Effect.provide(layer))
    )

    it.effect("whose session went while it was in flight stays paused as its outcomes come", () =>
      Effect.gen(function* () {
        const { jobId, jobs, sessionId } = yield* running
        const sessions = yield* SessionStore
        const [job] = yield* claim(2)
        yield* sessions.transition({ id: sessionId, state: "disconnected", reason: "gone", now })
        const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
        const settlements = [0, 1].map((index) => ({ jobId, fence: job?.fence ?? -1, index, outcome }))
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        expect(yield* find(jobId)).toMatchObject({
          status: "paused",
          pauseReason: "session_disconnected",
          counts: { queued: 2, accepted: 2 }
        })
        expect(yield* claim(4)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("of which every other recipient ends alike has each as it ended", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const command = Fixtures.send(who, { phones: 12 })
        yield* jobs.accept(command)
        const [job] = yield* claim(12)
        const outcomeOf = (index: number) =>
          index % 2 === 0
            ? Outcome.Accepted({ providerId: null, status: "accepted" })
            : Outcome.Accepted({ providerId: `p${index}`, status: "sent" })
        const settlements = (job?.recipients ?? []).map(({ index }) => ({
          jobId: command.jobId,
          fence: job?.fence ?? -1,
          index,
          outcome: outcomeOf(index)
        }))
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        const ended = (yield* results(command.jobId)).map(({ providerId, status }) => [status, providerId])
        expect(ended).toEqual(
          Array.from({ length: 12 }, (_, index) =>
            index % 2 === 0 ? ["accepted", null] : ["sent", `p${index}`]
          )
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("of another template is not held up", () =>
      Effect.gen(function* () {
        const { become, jobs, sessionId, accountId } = yield* running
        yield* become("paused")
        const other = { accountId, sessionId, publicKey: "other" }
        const content = { kind: "direct", text: "Hi", linkPreview: false } as const
        yield* jobs.accept(Fixtures.send(other, { content }))
        expect(yield* claim(10)).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )
  })
}
