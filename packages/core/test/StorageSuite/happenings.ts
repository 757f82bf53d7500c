/** What no other row keeps is written in the commit in which it happens, and is found by its time (contract.md §12). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { HappeningQuery } from "../../src/storage/HappeningStore.ts"
import { HappeningStore } from "../../src/storage/HappeningStore.ts"
import type { WorkerHeartbeat } from "../../src/storage/JobStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { RestoreStore } from "../../src/storage/RestoreStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { now, owner, tell } from "./Setup.ts"

/** The oldest first. */
const told = Effect.fnUntraced(function* (query: Partial<HappeningQuery>) {
  const store = yield* HappeningStore
  const found = yield* store.between({ from: now, to: Time.after(now, Time.day), limit: 100, ...query })
  return found.toReversed()
})

export const suite = (layer: Stored): void => {
  describe("what no other row keeps", () => {
    it.effect("is an outage, a block and a lost connection of a session, each with its end", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { accountId, sessionId } = yield* owner
        const { accountId: other } = yield* owner
        yield* tell(sessionId, "OutageBegan", Time.after(now, 1))
        yield* tell(sessionId, "OutageBegan", Time.after(now, 2))
        yield* tell(sessionId, "OutageEnded", Time.after(now, 3))
        yield* sessions.block({ id: sessionId, until: Time.after(now, 5), now: Time.after(now, 4) })
        yield* sessions.unblock({ now: Time.after(now, 5) })
        yield* sessions.transition({
          id: sessionId,
          state: "disconnected",
          reason: "logged_out",
          now: Time.after(now, 6)
        })
        yield* sessions.transition({
          id: sessionId,
          state: "connected",
          reason: null,
          now: Time.after(now, 7)
        })
        const found = yield* told({ sessionId })
        expect(found.map(({ at, data, type }) => [at - now, type, data])).toEqual([
          [1, "session.unavailable", {}],
          [3, "session.available", { since: Time.format(Time.after(now, 1)) }],
          [4, "session.blocked", { until: Time.format(Time.after(now, 5)), reason: "provider_blocked" }],
          [5, "session.unblocked", {}],
          [6, "session.disconnected", { reason: "logged_out" }],
          [7, "session.connected", {}]
        ])
        expect(yield* told({ accountId })).toEqual(found)
        expect(yield* told({ accountId: other })).toEqual([])
        expect(
          (yield* told({ sessionId, from: Time.after(now, 3), to: Time.after(now, 6) })).map(
            ({ at }) => at - now
          )
        ).toEqual([3, 4, 5])
        expect((yield* told({ sessionId, limit: 2 })).map(({ at }) => at - now)).toEqual([6, 7])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is a template's change of status, not its first import, and an endpoint that failures disable",
      () =>
        Effect.gen(function* () {
          const [templates, webhooks] = [yield* TemplateStore, yield* WebhookStore]
          const { accountId, sessionId } = yield* owner
          const become = (status: "approved" | "paused", at: Time.Instant, name = "greeting") =>
            templates.importAll({
              accountId,
              sessionId,
              contents: [Fixtures.template({ name, status })],
              now: at
            })
          const [first] = yield* become("approved", now)
          yield* become("paused", Time.after(now, 1))
          yield* become("paused", Time.after(now, 2))
          const endpoint = Fixtures.endpoint(accountId, { events: ["webhook.test"] })
          yield* webhooks.create(endpoint)
          const draft = { type: "webhook.test", data: {} } as const
          yield* webhooks.send({ endpointId: endpoint.id, draft, now })
          const claim = Fixtures.deliveryClaim({ reaches: (url) => url === endpoint.url })
          const { claimed } = yield* webhooks.settleAndClaim({ now, settlements: [], claim })
          const mine = claimed.find((each) => each.endpoint.id === endpoint.id)
          yield* webhooks.settleAndClaim({
            now: Time.after(now, 3),
            claim: null,
            settlements: [
              {
                deliveryId: mine?.deliveryId ?? "",
                fence: mine?.fence ?? -1,
                attempt: { at: now, status: 410, durationMs: 1, reason: "status", excerpt: "" },
                next: null,
                disable: "It answered 410."
              }
            ]
          })
          expect(
            (yield* told({ accountId })).map(({ at, data, subject, type }) => [at - now, type, subject, data])
          ).toEqual([
            [
              1,
              "template.status",
              String(first?.templateId),
              { name: "greeting", language: "en", before: "approved", status: "paused" }
            ],
            [3, "webhook.disabled", endpoint.id, { url: endpoint.url, reason: "It answered 410." }]
          ])
        }).pipe(Effect.provide(layer))
    )

    it.effect("is a receiver that delivers again after a minute of failures, and not after less", () =>
      Effect.gen(function* () {
        const webhooks = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = Fixtures.endpoint(accountId, { events: ["webhook.test"] })
        yield* webhooks.create(endpoint)
        const attempt = Effect.fnUntraced(function* (at: Time.Instant, delivered: boolean) {
          yield* webhooks.send({
            endpointId: endpoint.id,
            draft: { type: "webhook.test", data: {} },
            now: at
          })
          const claim = Fixtures.deliveryClaim({ reaches: (url) => url === endpoint.url })
          const { claimed } = yield* webhooks.settleAndClaim({ now: at, settlements: [], claim })
          const settlements = claimed.map(({ deliveryId, fence }) => ({
            deliveryId,
            fence,
            attempt: {
              at,
              status: delivered ? 200 : 500,
              durationMs: 1,
              reason: delivered ? null : ("status" as const),
              excerpt: ""
            },
            next: delivered ? ("delivered" as const) : Time.after(at, Time.day),
            disable: null
          }))
          yield* webhooks.settleAndClaim({ now: at, settlements, claim: null })
        })
        yield* attempt(now, false)
        yield* attempt(Time.after(now, 59_000), true)
        yield* attempt(Time.after(now, 60_000), false)
        yield* attempt(Time.after(now, 120_000), true)
        expect(
          (yield* told({ accountId })).map(({ at, data, subject, type }) => [at - now, type, subject, data])
        ).toEqual([
          [
            120_000,
            "webhook.recovered",
            endpoint.id,
            { url: endpoint.url, since: Time.format(Time.after(now, 60_000)) }
          ]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is a process that starts, one that stops and one that is lost, each once", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const process = {
          version: "1.2.3",
          role: "worker",
          slots: 64,
          startedAt: now,
          saidAt: Time.after(now, 1)
        }
        const say = (name: string, some: Partial<WorkerHeartbeat>) =>
          jobs.heartbeat({
            workers: [`${name}.1`, `${name}.2`],
            beats: 1,
            dispatchesAt: null,
            process,
            ...some
          })
        for (const name of ["stops", "dies"]) {
          yield* say(name, { happens: "process.started" })
          // Its answer was lost.
          yield* say(name, { happens: "process.started", beats: 2 })
          yield* say(name, { beats: 3, process: { ...process, saidAt: Time.after(now, 3) } })
        }
        yield* jobs.heartbeat({ workers: ["of nobody.1"], beats: 1, dispatchesAt: null })
        const last = { ...process, saidAt: Time.after(now, 4) }
        const ended = {
          workers: [],
          ended: ["stops.1", "stops.2"],
          happens: "process.stopped",
          process: last
        } as const
        yield* say("stops", ended)
        yield* say("stops", ended)
        const rescue = (beats: number) =>
          jobs.rescue({
            worker: "dies.1",
            beside: ["dies.2"],
            beats: new Map([["dies.1", beats] as const, ["dies.2", beats] as const]),
            now: Time.after(now, 9),
            recoverable: []
          })
        for (const beats of [2, 3, 3]) yield* rescue(beats)
        yield* jobs.rescue({ worker: "of nobody.1", now: Time.after(now, 9), recoverable: [] })
        const found = (yield* told({})).filter(({ type }) => type.startsWith("process."))
        const is = { version: "1.2.3", role: "worker" }
        expect(found.map(({ at, data, subject, type }) => [at - now, type, subject, data])).toEqual([
          [1, "process.started", "stops", is],
          [1, "process.started", "dies", is],
          [4, "process.stopped", "stops", is],
          [9, "process.lost", "dies", { ...is, seen_at: Time.format(Time.after(now, 3)) }]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is a restore, and what a process says of itself, of no account", () =>
      Effect.gen(function* () {
        const [happenings, restores] = [yield* HappeningStore, yield* RestoreStore]
        const started = {
          at: Time.after(now, 1),
          type: "process.started",
          accountId: null,
          sessionId: null,
          subject: "process-1",
          data: { role: "all" }
        } as const
        yield* happenings.note(started)
        yield* restores.place({ now: Time.after(now, 2) })
        while (!(yield* restores.open({ way: "send", now: Time.after(now, 3) }))) yield* Effect.void
        yield* restores.end
        const found = yield* told({ from: Time.at(0), to: Time.after(now, Time.day) })
        expect(found).toContainEqual(started)
        expect(found.find(({ type }) => type === "restore.held")?.data).toEqual({ reason: "operator" })
        expect(found.find(({ type }) => type === "restore.opened")?.data).toMatchObject({ sent: 0 })
      }).pipe(Effect.provide(layer))
    )
  })
}
