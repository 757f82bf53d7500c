/** All that waits is told in numbers, by what it waits for (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Waiting from "../../src/domain/job/Waiting.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, listen, now, owner, tell } from "./Setup.ts"

const backlog = Effect.flatMap(JobStore, (jobs) => jobs.backlog({ most: 1000, now }))

/** Those that are not 0. */
const limiters = Effect.map(backlog, (found) =>
  Object.fromEntries(
    [...Waiting.byLimiter(found, { isDispatched: true, isHeld: false })].filter(([, count]) => count > 0)
  )
)

export const suite = (layer: Stored): void => {
  describe("what waits", () => {
    it.effect("is nothing in an empty store, and nothing once all is claimed", () =>
      Effect.gen(function* () {
        const nothing = { groups: [], oldestAt: null, isExact: true }
        expect(yield* backlog).toEqual(nothing)
        yield* (yield* JobStore).accept(Fixtures.send(yield* owner, { phones: 3 }))
        yield* claim()
        expect(yield* backlog).toEqual(nothing)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is untouched jobs and the rest of those that are begun, since the oldest was accepted", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* jobs.accept(Fixtures.send(who, { phones: 4, now: Time.before(now, 9) }))
        yield* jobs.accept(Fixtures.send(yield* owner, { phones: 5, now: Time.before(now, 5) }))
        yield* jobs.accept(Fixtures.send(who, { phones: 7, now: Time.before(now, 3) }))
        expect(yield* limiters).toEqual({ worker: 16 })
        expect((yield* backlog).oldestAt).toBe(now - 9)
        // A part of the first job of each session, or the whole of one.
        const claimed = yield* claim(3)
        const taken = claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)
        expect(yield* limiters).toEqual({ worker: 16 - taken })
      }).pipe(Effect.provide(layer))
    )

    it.effect("waits for a pace, a platform, a session, a template's approval or another attempt", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sessions = yield* SessionStore
        const send = Effect.fnUntraced(function* (phones: number) {
          const who = yield* owner
          const command = Fixtures.send(who, { phones })
          yield* jobs.accept(command)
          return { ...who, jobId: command.jobId }
        })
        const again = yield* send(1)
        const [first] = yield* claim(1)
        const outcome = Outcome.Retry({ at: Time.after(now, 60_000), failure, maybeSent: false })
        const settlement = { jobId: again.jobId, fence: first?.fence ?? 0, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        expect(yield* limiters).toEqual({ retry: 1 })
        const paced = yield* send(2)
        yield* sessions.change({
          id: paced.sessionId,
          change: { pacing: { messagesPerSecond: 1, pairIntervalMs: null } },
          now
        })
        const out = yield* send(4)
        yield* tell(out.sessionId, "OutageBegan", Time.after(now, 1))
        const lost = yield* send(8)
        yield* sessions.transition({
          id: lost.sessionId,
          state: "disconnected",
          reason: null,
          now: Time.after(now, 1)
        })
        const found = { retry: 1, pace: 2, platform: 4, session: 8 }
        expect(yield* limiters).toEqual(found)
        // A claim pauses the jobs of those that may not send.
        yield* claim(1, now + 2)
        expect(yield* limiters).toMatchObject({ retry: 1, platform: 4, session: 8 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is told by session: since when it waits, for which template, and when it is tried again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const templates = yield* TemplateStore
        const who = yield* owner
        const importAs = (status: string, at = now) =>
          templates.importAll({ ...who, contents: [Fixtures.template({ status })], now: at })
        const [stored] = yield* importAs("approved")
        const templateId = stored?.templateId ?? 0
        const content = { kind: "template", templateId, template: Fixtures.template() } as const
        const send = Fixtures.send(who, { phones: 3, now: Time.before(now, 7), content })
        yield* jobs.accept(send)
        const [first] = yield* claim(1)
        const outcome = Outcome.Retry({ at: Time.after(now, 60_000), failure, maybeSent: false })
        const settlement = { jobId: send.jobId, fence: first?.fence ?? 0, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        const told = { waiting: 2, retrying: 0, oldestAt: now - 7, templateId: null }
        expect((yield* backlog).groups).toMatchObject([{ ...told, session: { id: who.sessionId } }])
        const [rest] = yield* claim()
        const done = [1, 2].map((index) => ({
          jobId: send.jobId,
          fence: rest?.fence ?? 0,
          index,
          outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
        }))
        yield* jobs.settleAndClaim({ now, settlements: done, claim: null })
        const again = { waiting: 0, retrying: 1, oldestAt: now - 7, nextAt: now + 60_000 }
        expect((yield* backlog).groups).toMatchObject([again])
        yield* importAs("paused", Time.after(now, 1))
        // A claim finds that it is paused.
        yield* claim(1, now + 60_000)
        const stopped = { waiting: 1, oldestAt: now - 7, templateId, pauseReason: "template_paused" }
        expect((yield* backlog).groups).toMatchObject([stopped])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "waits for its time before that comes, or for hours that it was put off to, and is not due",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          const startsAt = Time.after(now, 60_000)
          const none = { sendAt: null, expiresAt: null, hours: null, expiring: null }
          const scheduled = Fixtures.send(who, { phones: 3, now: Time.before(now, 9) })
          const recipients = scheduled.recipients.map((each) => ({ ...each, dueAt: startsAt }))
          yield* jobs.accept({ ...scheduled, recipients, timing: { ...none, sendAt: startsAt, startsAt } })
          yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
          expect(yield* limiters).toEqual({ worker: 2, schedule: 3 })
          const found = yield* backlog
          expect(found.oldestAt).toBe(now)
          expect(Waiting.byPriority(found)).toEqual({ high: 0, normal: 2, low: 0 })
          expect(found.groups.find(({ notDue }) => notDue !== null)?.nextAt).toBe(startsAt)
          yield* claim()
          // Its time has come, and it is put off.
          const settlements = (yield* claim(10, startsAt)).flatMap(({ fence, jobId, recipients }) =>
            recipients.map(({ index }) => ({
              jobId,
              fence,
              index,
              outcome: Outcome.Released({ maybeSent: false, at: Time.after(startsAt, 60_000) })
            }))
          )
          yield* jobs.settleAndClaim({ now: startsAt, settlements, claim: null })
          const later = yield* jobs.backlog({ most: 1000, now: startsAt })
          expect(later.oldestAt).toBeNull()
          expect(later.groups).toMatchObject([{ notDue: "hours", waiting: 3, status: "queued" }])
          const stuckSince = Time.after(startsAt, 30_000)
          const page = { limit: 10, after: null }
          const stuck = yield* jobs.list({ by: {}, kind: "template", page, stuckSince })
          expect(stuck.items.map(({ id }) => id)).not.toContain(scheduled.jobId)
        }).pipe(Effect.provide(layer))
    )

    it.effect("is told by the hour in which it starts, of a reference where that is asked for", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const hour = Time.at(now - (now % Time.hour) + Time.hour)
        const none = { sendAt: null, expiresAt: null, hours: null, expiring: null }
        const plan = Effect.fnUntraced(function* (reference: string, addresses: ReadonlyArray<string>) {
          const send = Fixtures.send(who, { phones: addresses.length, reference })
          const recipients = send.recipients.map((each, place) => ({
            ...each,
            address: addresses[place] ?? "",
            dueAt: Time.after(hour, place * 40 * Time.minute)
          }))
          yield* jobs.accept({ ...send, recipients, timing: { ...none, sendAt: hour, startsAt: hour } })
        })
        yield* plan("spring", ["5511999990001", "5521999990002", "34600000001"])
        yield* plan("summer", ["34600000002", "@US.1349 b1"])
        yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
        const starts = Effect.fnUntraced(function* (reference?: string) {
          const { next, parts } = yield* jobs.starts({ now, reference, after: 0 })
          expect(next).toBeNull()
          return parts.toSorted((a, b) => a.hour - b.hour || (a.leading < b.leading ? -1 : 1))
        })
        const later = Time.after(hour, Time.hour)
        expect(yield* starts()).toEqual([
          { hour, leading: "3460", recipients: 1 },
          { hour, leading: "5511", recipients: 1 },
          { hour, leading: "5521", recipients: 1 },
          { hour, leading: "@US.", recipients: 1 },
          { hour: later, leading: "3460", recipients: 1 }
        ])
        expect(yield* starts("summer")).toHaveLength(2)
        expect(yield* starts("autumn")).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("waits for its job's own pace where its session has none", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        for (const phones of [3, 5]) yield* jobs.accept(Fixtures.send(who, { phones, perMinute: 60 }))
        yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
        expect(yield* limiters).toEqual({ pace: 8, worker: 2 })
        expect((yield* backlog).groups.map(({ longest, perMinute }) => [perMinute, longest])).toEqual(
          expect.arrayContaining([
            [60, 5],
            [null, 2]
          ])
        )
        // One of each that has a pace goes at once.
        yield* claim()
        expect(yield* limiters).toEqual({ pace: 6 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is read no further than it is asked for, which it says", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        for (let place = 0; place < 5; place++) yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
        const { groups, isExact } = yield* jobs.backlog({ most: 3, now })
        expect(isExact).toBe(false)
        expect(groups.reduce((sum, { waiting }) => sum + waiting, 0)).toBeGreaterThanOrEqual(6)
        expect((yield* backlog).isExact).toBe(true)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("webhooks that wait", () => {
    it.effect("are counted up to a number, those of enabled endpoints", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const webhooks = yield* WebhookStore
        const who = yield* owner
        const endpoint = yield* listen(who.accountId)
        const count = webhooks.countWaiting({ most: 2 })
        expect(yield* count).toBe(0)
        const happen = Effect.gen(function* () {
          const command = Fixtures.send(who, {})
          yield* jobs.accept(command)
          yield* jobs.cancel({ jobId: command.jobId, now })
        })
        yield* happen
        expect(yield* count).toBe(1)
        yield* Effect.repeatN(happen, 3)
        expect(yield* count).toBe(2)
        yield* webhooks.change({ id: endpoint.id, change: { enabled: false }, now })
        expect(yield* count).toBe(0)
      }).pipe(Effect.provide(layer))
    )
  })
}
