/** What a process says at the default level (contract.md §12): what somebody has to know, and nothing of people. */
import { describe, expect, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Logged from "../../../../test/support/Logged.ts"
import { growth, value } from "../../../../test/support/Metered.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type * as SenderModule from "../../src/sender/Sender.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { get } from "../../src/storage/Program.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { Database } from "../../src/storage/sql/Database.ts"
import * as SqliteDatabase from "../../src/storage/sqlite/Database.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import * as PlatformUpdates from "../../src/worker/PlatformUpdates.ts"
import * as UnreadHooks from "../../src/worker/UnreadHooks.ts"
import { owner } from "../StorageSuite/Setup.ts"
import { accept, accepted, deliveries, during, embedded, platform, running, timedOut } from "./Support.ts"

const gone = Sender.SendResult.Rejected({
  failure: {
    code: "recipient_unreachable",
    provider_code: "131026",
    message: "34600000000 is gone",
    permanent: true
  }
})

const drained = (sender: SenderModule.Sender) =>
  Effect.provide(
    Effect.flatMap(Engine.Engine, ({ drain }) => drain),
    embedded(sender)
  )

describe("the log", () => {
  it.effect("has a job's failed and unknown recipients in one line, at its end", () =>
    Effect.gen(function* () {
      const { jobId, jobs } = yield* accept(5)
      const answers = [accepted, gone, gone, timedOut, accepted]
      let asked = 0
      const { sender } = platform({}, () => Effect.sync(() => answers[asked++] ?? accepted))
      const unreachable = value("outcomes_total", { status: "failed", code: "recipient_unreachable" })
      let lines: ReadonlyArray<Logged.Line> = []
      const flow = Effect.map(Logged.during(drained(sender)), (all) => {
        lines = all
      })
      expect(yield* growth(unreachable, flow)).toBe(2)
      const job = yield* jobs.find(jobId)
      expect(lines).toEqual([
        {
          level: "WARN",
          text: `Job ${jobId} ended: of 5 recipient(s) 2 failed, and 1 are unknown`,
          annotations: {
            jobId,
            accountId: job?.accountId,
            sessionId: job?.sessionId,
            recipients: 5,
            failed: 2,
            unknown: 1
          }
        }
      ])
      expect(JSON.stringify(lines)).not.toContain("34600000000")
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("says nothing of a job in which all went well", () =>
    Effect.gen(function* () {
      yield* accept(5)
      const sent = value("outcomes_total", { status: "accepted", code: "none" })
      const flow = Effect.map(Logged.during(drained(platform({}).sender)), (lines) =>
        expect(lines).toEqual([])
      )
      expect(yield* growth(sent, flow)).toBe(5)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("says when a receiver of webhooks begins to fail, and when it takes them again", () =>
    Effect.gen(function* () {
      yield* deliveries(4)
      let asked = 0
      const transport = Layer.succeed(WebhookTransport, {
        post: () =>
          Effect.sync(() => {
            asked += 1
            const status = asked <= 4 ? 500 : 200
            return { _tag: "Answered", status, retryAfter: null, excerpt: "a secret" } as const
          })
      })
      const loops = Effect.provide(TestClock.adjust("30 seconds"), running(platform({}).sender, transport))
      const lines = (yield* Logged.during(loops)).filter(({ text }) => text.startsWith("Webhook "))
      expect(lines.map(({ level, text }) => `${level} ${text.replace(/[0-9a-f-]{36}/, "id")}`)).toEqual([
        "WARN Webhook id fails: its last 3 deliveries did",
        "INFO Webhook id takes deliveries again"
      ])
      expect(Object.keys(lines[0]?.annotations ?? {}).sort()).toEqual(["accountId", "webhookId"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("says nothing of a receiver whose failures the transport tells", () =>
    Effect.gen(function* () {
      yield* deliveries(4)
      const transport = Layer.succeed(WebhookTransport, {
        receiverAt: () => "the handlers of all",
        post: () => Effect.succeed({ _tag: "Answered", status: 410, retryAfter: null, excerpt: "" } as const)
      })
      const loops = Effect.provide(TestClock.adjust("30 seconds"), running(platform({}).sender, transport))
      expect((yield* Logged.during(loops)).map(({ level, text }) => `${level} ${text}`)).toEqual([
        "WARN Nothing more goes to the handlers of all: The receiver answered 410 Gone."
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("says what was taken back of a process that died", () =>
    Effect.gen(function* () {
      const { jobs } = yield* accept(4)
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone.1", limit: 3 } })
      const { sender } = platform({ deduplicates: true })
      const lines = yield* Logged.during(during(sender, TestClock.adjust("1 minute")))
      expect(lines).toEqual([
        {
          level: "WARN",
          text: "Took back 3 recipient(s) and 0 webhook deliveries of a process that stopped",
          annotations: { process: "gone", recipients: 3, deliveries: 0 }
        }
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("says when a session's pause is over", () =>
    Effect.gen(function* () {
      const { sessionId } = yield* owner
      yield* (yield* SessionStore).block({ id: sessionId, until: Time.at(30_000), now: Time.at(0) })
      const lines = yield* Logged.during(during(platform({}).sender, TestClock.adjust("1 minute")))
      expect(lines).toEqual([
        { level: "INFO", text: `Session ${sessionId} goes on: its pause is over`, annotations: { sessionId } }
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect(
    "says when a template is paused and when its jobs go on, once each; and what a hook brought unread",
    () =>
      Effect.gen(function* () {
        const { accountId, sessionId } = yield* owner
        const session = yield* (yield* SessionStore).find(sessionId)
        if (session === null) return yield* Effect.dieMessage("no session")
        const [template] = yield* (yield* TemplateStore).importAll({
          accountId,
          sessionId,
          contents: [Fixtures.template()],
          now: Time.at(0)
        })
        const unread = yield* UnreadHooks.make
        const news = yield* PlatformUpdates.make(unread, () => Effect.succeed(undefined))
        const origin = {
          field: "message_template_status_update",
          reason: "no such template",
          text: "{}",
          isCut: false
        }
        const tell = (status: string) =>
          news.templates(session, [{ news: { name: "greeting", language: "en", status }, origin }])
        const flow = Effect.gen(function* () {
          yield* tell("paused")
          yield* tell("paused")
          yield* tell("approved")
          yield* unread.retain(session, [origin])
          yield* news.session(session, [
            { kind: "account_update", news: {}, at: null, disconnects: "The account is banned." }
          ])
        })
        const lines = yield* Logged.during(flow)
        const templateId = template?.templateId
        expect(lines).toEqual([
          {
            level: "WARN",
            text: `Template greeting (en) of session ${sessionId} is paused, and was approved: nothing is sent with it`,
            annotations: { sessionId, templateId, status: "paused" }
          },
          {
            level: "INFO",
            text: `Template greeting (en) of session ${sessionId} is approved, and was paused: its jobs go on`,
            annotations: { sessionId, templateId, status: "approved" }
          },
          {
            level: "WARN",
            text: expect.stringContaining('brought "message_template_status_update" that is not understood'),
            annotations: { sessionId, field: "message_template_status_update" }
          },
          {
            level: "WARN",
            text: `Session ${sessionId} was disconnected: The account is banned.`,
            annotations: { sessionId }
          }
        ])
      }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("names a verb that keeps the database busy for more than a second, and no other", () =>
    Effect.gen(function* () {
      const db = yield* Database
      let ms = 0
      const told = vi.spyOn(performance, "now").mockImplementation(() => ms)
      yield* Effect.addFinalizer(() => Effect.sync(() => told.mockRestore()))
      const taking = (operation: string, more: number) =>
        db.read(operation, function* () {
          ms += more
          return yield* get("SELECT ? AS phone", "34600000000")
        })
      const flow = Effect.zipRight(taking("JobStore.find", 900), taking("JobStore.list", 1500))
      expect(yield* Logged.during(flow)).toEqual([
        {
          level: "WARN",
          text: "JobStore.list took 1500 ms in the database",
          annotations: { operation: "JobStore.list", ms: 1500 }
        }
      ])
    }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
  )
})
