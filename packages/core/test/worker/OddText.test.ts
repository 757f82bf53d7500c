/**
 * Whatever a sender, a platform's hook or a receiver says, every recipient ends with a status and the loop goes on
 * (contract.md §10), on every store.
 */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as ExternalText from "../../src/domain/ExternalText.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { HookResult, type Sender, SendResult } from "../../src/sender/Sender.ts"
import { JobStore, type Report } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { find, results, type Stored } from "../StorageSuite/Setup.ts"
import * as PostgresByTestClock from "../storage/postgres/ByTestClock.ts"
import { accept, accepted, during, embedded, platform } from "./Support.ts"

const stores: ReadonlyArray<readonly [name: string, layer: Stored]> = [
  ["memory", Memory.layer],
  ["SQLite", Sqlite.layer({ filename: ":memory:" })],
  ["PostgreSQL", PostgresByTestClock.layer]
]

const odd: ReadonlyArray<string> = [
  "nul\0",
  "high\ud800",
  "\udfff low",
  "10 KB ".repeat(1700),
  "🎉".repeat(3000),
  `line\r\n2026-01-01 level=ERROR message="forged" \u001b[2J`,
  "",
  "\\u0000 \\ \" ' {NULL} ?"
]

const failure = (text: string, permanent: boolean): Recipient.Failure => ({
  code: text,
  provider_code: text,
  message: text,
  permanent
})

/** Every kind of result, with this text wherever there may be one. */
const resultsOf = (text: string): ReadonlyArray<SendResult> => [
  SendResult.Accepted({ providerId: text, status: "accepted" }),
  SendResult.Held({ providerId: text, failure: failure(text, false) }),
  SendResult.Rejected({ failure: failure(text, true) }),
  SendResult.Transient({ failure: failure(text, false), retryAfterMs: Number.NaN }),
  SendResult.Ambiguous({ failure: failure(text, false) })
]

/** A platform that answers each recipient by its place, and whose hook brings the reports it is given. */
const saying = (results: ReadonlyArray<SendResult>, reports: ReadonlyArray<Report> = []): Sender =>
  platform(
    {
      receive: () =>
        Effect.succeed(
          HookResult.Content({ reports, messages: [], preferences: [], templates: [], unread: [] })
        )
    },
    ({ messageId }) => Effect.succeed(results[Number.parseInt(messageId.slice(-3), 16) - 1] ?? accepted)
  ).sender

/** Until nothing can be due any more: the job's session tries a transient failure again for ten minutes only. */
const exhaust = Effect.fnUntraced(function* (jobId: string) {
  const { drain } = yield* Engine.Engine
  const sessions = yield* SessionStore
  const { sessionId: id } = yield* find(jobId)
  yield* sessions.change({ id, change: { retryForMs: 10 * Time.minute }, now: Time.at(0) })
  yield* Effect.repeatN(Effect.zipRight(drain, TestClock.adjust("5 minutes")), 6)
})

const hook = Effect.fnUntraced(function* (jobId: string) {
  const { hook } = yield* Engine.Engine
  const { sessionId } = yield* find(jobId)
  yield* hook("sandbox", sessionId, { method: "POST", headers: {}, query: {}, body: new Uint8Array() })
})

const report = (some: Partial<Report>): Report => ({
  messageId: null,
  status: "delivered",
  at: Time.at(0),
  failure: null,
  providerId: null,
  ...some
})

const isInOrder = (text: string | null | undefined): boolean =>
  text === null || text === undefined || (text.isWellFormed() && !/\p{Cc}/u.test(text))

/** Retries on a real database take a loaded machine longer than tests have. */
const storesTimeout = 60_000

for (const [name, layer] of stores) {
  describe(`${name}: odd text`, { timeout: storesTimeout }, () => {
    it.effect("from a sender ends every recipient with a status, a reason and text in order", () =>
      Effect.gen(function* () {
        const said = odd.flatMap(resultsOf)
        const { jobId } = yield* accept(said.length + 1)
        yield* Effect.provide(exhaust(jobId), embedded(saying(said)))
        expect((yield* find(jobId)).status).toBe("completed")
        const recipients = yield* results(jobId)
        const expected = [
          ...odd.flatMap(() => ["accepted", "accepted", "failed", "failed", "unknown"]),
          "accepted"
        ]
        expect(recipients.map(({ status }) => status)).toEqual(expected)
        for (const { failure, providerId } of recipients) {
          expect([providerId, failure?.code, failure?.provider_code, failure?.message].every(isInOrder)).toBe(
            true
          )
          expect(Array.from(failure?.code ?? "").length).toBeLessThanOrEqual(64)
          expect(Array.from(failure?.message ?? "").length).toBeLessThanOrEqual(1024)
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("as the platform's id is found by its receipt, and by no other's", () =>
      Effect.gen(function* () {
        const ids = odd.filter((text) => text !== "")
        const { jobId } = yield* accept(ids.length)
        const said = ids.map((providerId) => SendResult.Accepted({ providerId, status: "accepted" }))
        const others = ids.map((providerId) => report({ providerId: `${providerId}\0`, status: "failed" }))
        yield* Effect.gen(function* () {
          const { drain } = yield* Engine.Engine
          // Some come before their message is known.
          yield* hook(jobId)
          yield* drain
          yield* drain
        }).pipe(
          Effect.provide(
            embedded(saying(said, [...others, ...ids.map((providerId) => report({ providerId }))]))
          )
        )
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(ids.map(() => "delivered"))
      }).pipe(Effect.provide(layer))
    )

    it.effect("in a receipt leaves those beside it applied", () =>
      Effect.gen(function* () {
        const { jobId } = yield* accept(3)
        const told = odd.flatMap((text) => [
          report({ messageId: text }),
          report({ providerId: text }),
          report({ messageId: text, providerId: text, failure: failure(text, true), status: "failed" })
        ])
        const last = (yield* results(jobId)).map(({ index }) => `${jobId.slice(0, -3)}00${index + 1}`)
        const right = last.map((messageId, place) =>
          report({
            messageId,
            ...(place === 0 ? {} : { pricing: { category: odd[place] ?? "", free: false } })
          })
        )
        yield* Effect.gen(function* () {
          const { drain } = yield* Engine.Engine
          yield* drain
          yield* hook(jobId)
          yield* drain
        }).pipe(Effect.provide(embedded(saying([], [...told, ...right]))))
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(right.map(() => "delivered"))
      }).pipe(Effect.provide(layer))
    )

    it.effect("of any kind stops no loop", () =>
      Effect.gen(function* () {
        const text = FastCheck.oneof(
          FastCheck.array(FastCheck.integer({ min: 0, max: 0xffff }), { maxLength: 1200 }).map((units) =>
            String.fromCharCode(...units)
          ),
          FastCheck.string({ unit: "binary", maxLength: 800 }),
          FastCheck.constantFrom(...odd)
        )
        const result = FastCheck.tuple(text, FastCheck.nat(4)).map(
          ([text, kind]) => resultsOf(text)[kind] ?? accepted
        )
        const seed = Number(process.env["SEED"] ?? 1)
        const said = FastCheck.sample(result, { numRuns: 120, seed })
        const reported = FastCheck.sample(text, { numRuns: 120, seed: seed + 1 })
        const { jobId } = yield* accept(said.length)
        const reports = reported.map((providerId, place) =>
          report({ providerId, messageId: place % 2 === 0 ? null : (reported[place + 1] ?? null) })
        )
        yield* Effect.zipRight(hook(jobId), exhaust(jobId)).pipe(
          Effect.provide(embedded(saying(said, reports)))
        )
        const job = yield* find(jobId)
        expect(job.status, `SEED=${seed}`).toBe("completed")
        const left = (yield* results(jobId)).filter(({ status }) => !Recipient.leftDispatch(status))
        expect(left).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that a platform gives as the reason is in order as the session's", () =>
      Effect.gen(function* () {
        const { jobId } = yield* accept(1)
        const { sessionId } = yield* find(jobId)
        const sessions = yield* SessionStore
        for (const text of odd) {
          const sender = platform({ check: () => Effect.succeed(failure(text, true)) }).sender
          const { admin } = yield* Effect.provide(Engine.Engine, embedded(sender))
          yield* admin.sessions.connect(sessionId)
          const { reason = null, state = null } = (yield* sessions.find(sessionId)) ?? {}
          expect(state).toBe("disconnected")
          expect(reason).toBe(ExternalText.message(text))
        }
      }).pipe(Effect.provide(layer))
    )
  })
}

/** A store that does not take an outcome or a report that the predicate finds, by the text that says it. */
const refusing = (isBad: (text: string) => boolean, failing: Effect.Effect<never, StorageError>) =>
  Layer.effect(
    JobStore,
    Effect.map(JobStore, (jobs) => ({
      ...jobs,
      settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
        isBad(JSON.stringify(command.settlements)) ? failing : jobs.settleAndClaim(command),
      receive: (command: Parameters<typeof jobs.receive>[0]) =>
        isBad(JSON.stringify(command.reports)) ? failing : jobs.receive(command)
    }))
  )

const refused = new StorageError({ operation: "exchange", cause: "refused", fault: "content" })
/** No id has it, as ids are hexadecimal. */
const refusedText = "refused text"
const isBad = (text: string) => text.includes(refusedText)

describe("a store that refuses what one recipient brought", () => {
  for (const [how, failing] of [
    ["by an error", Effect.fail(refused)],
    ["by breaking", Effect.die(new TypeError("broken"))]
  ] as const) {
    it.effect(`keeps no other from its outcome (${how}), and that one is told plainly`, () =>
      Effect.gen(function* () {
        const said = [
          ...resultsOf(refusedText).filter(({ _tag }) => _tag !== "Transient"),
          SendResult.Transient({ failure: failure(refusedText, false), retryAfterMs: null })
        ]
        const { jobId } = yield* accept(20)
        const next = yield* accept(3)
        const layer = Layer.provide(embedded(saying(said)), refusing(isBad, failing))
        yield* Effect.provide(exhaust(jobId), layer)
        const recipients = yield* results(jobId)
        expect(recipients.slice(0, 5).map(({ failure, status }) => [status, failure?.code])).toEqual([
          ["unknown", "outcome_unstorable"],
          ["unknown", "outcome_unstorable"],
          ["failed", "outcome_unstorable"],
          ["unknown", "outcome_unstorable"],
          ["failed", "outcome_unstorable"]
        ])
        expect(recipients.slice(5).every(({ status }) => status === "accepted")).toBe(true)
        expect((yield* find(next.jobId)).status).toBe("completed")
      }).pipe(Effect.provide(Memory.layer))
    )
  }

  it.effect("keeps no other report of its batch from being applied", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      const told = [report({ messageId: refusedText }), report({ messageId: `${jobId.slice(0, -3)}001` })]
      yield* Effect.gen(function* () {
        const { drain, receive } = yield* Engine.Engine
        yield* drain
        expect(yield* receive(told)).toEqual([])
      }).pipe(Effect.provide(Layer.provide(embedded(saying([])), refusing(isBad, Effect.fail(refused)))))
      expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["delivered", "accepted"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a store that is down", () => {
  it.effect("has its outcomes later, as they were", () =>
    Effect.gen(function* () {
      let isDown = true
      const outage = Effect.suspend(() =>
        isDown
          ? Effect.fail(new StorageError({ operation: "exchange", cause: "ECONNREFUSED" }))
          : Effect.dieMessage("It is up again.")
      )
      const { jobId } = yield* accept(3)
      const { sender, sent } = platform({})
      const broken = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            isDown && command.settlements.length > 0 ? outage : jobs.settleAndClaim(command)
        }))
      )
      const body = Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        expect((yield* find(jobId)).counts).toMatchObject({ accepted: 0, unknown: 0 })
        isDown = false
        yield* TestClock.adjust("5 seconds")
      })
      yield* Effect.provide(during(sender, body), broken)
      expect((yield* results(jobId)).map(({ status }) => status)).toEqual([
        "accepted",
        "accepted",
        "accepted"
      ])
      expect(sent).toHaveLength(3)
    }).pipe(Effect.provide(Memory.layer))
  )
})
