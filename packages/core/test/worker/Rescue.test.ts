/** Recipients and deliveries whose worker died, stalled, or never heard whether its commit was made, are taken back. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { constVoid } from "effect/Function"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { Sender } from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import { enteredAt, isStillOwned, observe, prolonged } from "../../src/worker/Heartbeat.ts"
import { find, owner, results } from "../StorageSuite/Setup.ts"
import {
  accept,
  accepted,
  acceptOf,
  backlog,
  deliveries,
  during,
  embedded,
  platform,
  running,
  timedOut
} from "./Support.ts"

/** The statuses, once a worker that is not there took `taken` recipients and so much time went by. */
const bereaved = Effect.fnUntraced(function* (sender: Sender, taken: number, seconds: number) {
  const { jobId, jobs } = yield* accept(3)
  yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: taken } })
  yield* Effect.provide(TestClock.adjust(`${seconds} seconds`), running(sender))
  return (yield* results(jobId)).map(({ status }) => status)
})

describe("a worker that died", { concurrent: true }, () => {
  it.effect(
    "has its recipients taken up within 30 seconds, and no sooner than it can be told from a slow one",
    () =>
      Effect.gen(function* () {
        const before = platform({ deduplicates: true })
        // Who is in nobody's hand goes at once.
        expect(yield* bereaved(before.sender, 2, 14)).toEqual(["sending", "sending", "accepted"])
        const after = platform({ deduplicates: true })
        expect(yield* bereaved(after.sender, 2, 30)).toEqual(["accepted", "accepted", "accepted"])
      }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("keeps no other waiting where the store refuses what becomes of its recipients", () =>
    Effect.gen(function* () {
      const refusing = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          rescue: (command: Parameters<typeof jobs.rescue>[0]) =>
            command.worker === "gone-1"
              ? Effect.fail(new StorageError({ operation: "rescue", cause: "CHECK", fault: "content" }))
              : jobs.rescue(command)
        }))
      )
      const { jobs } = yield* accept(1)
      yield* accept(1)
      const takenBy = (worker: string) =>
        Effect.map(
          jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker, limit: 1 } }),
          ({ claimed: [first] }) => first?.jobId ?? ""
        )
      // Whose session has the first turn is not told by the order of their jobs.
      const [refused, other] = [yield* takenBy("gone-1"), yield* takenBy("gone-2")]
      const { sender } = platform({ deduplicates: true })
      yield* TestClock.adjust("30 seconds").pipe(Effect.provide(Layer.provide(running(sender), refusing)))
      expect((yield* results(refused)).map(({ status }) => status)).toEqual(["sending"])
      expect((yield* results(other)).map(({ status }) => status)).toEqual(["accepted"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("waits for nothing else that the rescue does", () =>
    Effect.gen(function* () {
      const failing = Layer.effect(
        SessionStore,
        Effect.map(SessionStore, (sessions) => ({
          ...sessions,
          unblock: () => Effect.fail(new StorageError({ operation: "unblock", cause: "A row is damaged." }))
        }))
      )
      const { jobId, jobs } = yield* accept(1)
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
      const { sender } = platform({ deduplicates: true })
      yield* TestClock.adjust("30 seconds").pipe(Effect.provide(Layer.provide(running(sender), failing)))
      expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["accepted"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("leaves unknown what can be neither repeated nor asked, and it is not sent again", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({})
      expect(yield* bereaved(sender, 2, 60)).toEqual(["unknown", "unknown", "accepted"])
      expect(sent).toHaveLength(1)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("has its recipients looked up where the platform can be asked", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { sender, sent } = platform({
        lookUp: ({ messageId }) =>
          Effect.sync(() => {
            asked.push(messageId)
            return messageId.endsWith("001") ? accepted : null
          })
      })
      expect(yield* bereaved(sender, 2, 30)).toEqual(["accepted", "accepted", "accepted"])
      expect(asked).toHaveLength(2)
      expect(sent.map((id) => id.slice(-3)).sort()).toEqual(["002", "003"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a worker that lives", { concurrent: true }, () => {
  it.effect("keeps what it has in hand, however long an attempt takes", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({ deduplicates: true }, () =>
        Effect.as(Effect.sleep("1 minute"), accepted)
      )
      const { jobId } = yield* accept(2)
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* Effect.provide(TestClock.adjust("1 minute"), running(platform({}).sender))
      }).pipe(Effect.provide(running(sender)))
      expect(sent).toHaveLength(2)
      expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("takes back what a commit took whose answer was lost", () =>
    Effect.gen(function* () {
      let lost = false
      const forgetful = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.flatMap(jobs.settleAndClaim(command), (answer) => {
              if (lost || answer.claimed.length === 0) return Effect.succeed(answer)
              lost = true
              return Effect.fail(new StorageError({ operation: "exchange", cause: "The connection broke." }))
            })
        }))
      )
      const { jobId } = yield* accept(2)
      const { sender } = platform({ deduplicates: true })
      yield* TestClock.adjust("30 seconds").pipe(Effect.provide(Layer.provide(running(sender), forgetful)))
      expect(lost).toBe(true)
      expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("what a commit took whose answer was lost", { concurrent: true }, () => {
  /** The first claim that takes something is answered with an error, and made so much later, if at all. */
  const forgetful = (later: Duration.DurationInput | null, losing: (worker: string) => void = constVoid) => {
    let lost = false
    return Layer.effect(
      JobStore,
      Effect.map(JobStore, (jobs) => ({
        ...jobs,
        settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
          Effect.gen(function* () {
            const due = lost ? null : yield* jobs.nextDue(command.now)
            if (command.claim === null || due === null || due > command.now)
              return yield* jobs.settleAndClaim(command)
            lost = true
            losing(command.claim.worker)
            const made = Effect.flatMap(Time.now, (now) => jobs.settleAndClaim({ ...command, now }))
            if (later === null) yield* made
            else yield* Effect.forkDaemon(Effect.delay(made, later))
            return yield* new StorageError({ operation: "exchange", cause: "The connection broke." })
          })
      }))
    )
  }

  it.effect("is sent, since nothing of it was begun, and no death is counted", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      const { sender, sent } = platform({})
      yield* TestClock.adjust("5 seconds").pipe(
        Effect.provide(Layer.provide(running(sender), forgetful(null)))
      )
      expect(sent).toHaveLength(2)
      for (const recipient of yield* results(jobId))
        expect(recipient).toMatchObject({ status: "accepted", attempts: 1, crashCount: 0, maybeSent: false })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is given back also when the commit was made after all was given back", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      const { sender, sent } = platform({})
      let late = 0
      let loser = ""
      // Nobody else may have it meanwhile, as if the commit had locked it.
      const locked = Layer.effect(
        JobStore,
        Effect.map(JobStore, (store) => ({
          ...store,
          settleAndClaim: (command: Parameters<typeof store.settleAndClaim>[0]) =>
            late === 0 && command.claim?.worker !== loser
              ? store.settleAndClaim({ ...command, claim: null })
              : Effect.tap(store.settleAndClaim(command), ({ claimed }) => {
                  late += claimed.length
                })
        }))
      )
      const stores = Layer.provide(
        forgetful("8 seconds", (worker) => {
          loser = worker
        }),
        locked
      )
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("8 seconds")
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["sending", "sending"])
        yield* TestClock.adjust("10 seconds")
      }).pipe(Effect.provide(Layer.provide(running(sender), stores)))
      expect(sent).toHaveLength(2)
      for (const recipient of yield* results(jobId))
        expect(recipient).toMatchObject({ status: "accepted", attempts: 1, crashCount: 0, maybeSent: false })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is a dead worker's when the process dies before it could give it back", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      const { sender, sent } = platform({})
      const dying = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          giveBack: () =>
            Effect.fail(new StorageError({ operation: "giveBack", cause: "The store is away." }))
        }))
      )
      yield* Effect.provide(
        TestClock.adjust("2 seconds"),
        Layer.provide(running(sender), Layer.provide(forgetful(null), dying))
      )
      yield* Effect.provide(TestClock.adjust("30 seconds"), running(sender))
      expect(sent).toEqual([])
      expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["unknown", "unknown"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a worker that was frozen for longer than the lease", { concurrent: true }, () => {
  /** While it is frozen nothing that it asks of the store is answered. */
  const frozen = () => {
    let until = 0
    const thawed = Effect.flatMap(Time.now, (now) => Effect.sleep(Math.max(0, until - now)))
    const freeze = Effect.zipRight(
      Effect.map(Time.now, (now) => {
        until = now + 40_000
      }),
      thawed
    )
    return { freeze, thawed }
  }

  /** Its loops, whose claims freeze it as it is told, and those of another process from the first second on. */
  const beside = (
    first: Sender,
    second: Sender,
    { freeze, thawed }: ReturnType<typeof frozen>,
    freezes: (worker: string) => boolean
  ) => {
    const slow = Layer.effect(
      JobStore,
      Effect.map(JobStore, (jobs) => ({
        ...jobs,
        heartbeat: (command: Parameters<typeof jobs.heartbeat>[0]) =>
          Effect.zipRight(thawed, jobs.heartbeat(command)),
        settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
          Effect.tap(jobs.settleAndClaim(command), ({ claimed }) =>
            claimed.length > 0 && freezes(command.claim?.worker ?? "") ? freeze : Effect.void
          )
      }))
    )
    return Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      yield* Effect.provide(TestClock.adjust("2 minutes"), running(second))
    }).pipe(Effect.provide(Layer.provide(running(first), slow)))
  }

  it.effect("sends nothing of a claim that another process has taken over", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(3)
      // Nothing is there yet of what the other one sends, when it is asked.
      const lookUp = () => Effect.succeed(null)
      const first = platform({ lookUp })
      const second = platform({ lookUp })
      yield* beside(first.sender, second.sender, frozen(), () => true)
      expect(first.sent).toEqual([])
      expect(second.sent).toHaveLength(3)
      expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 3 } })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("sends nothing after it has asked the platform whether a message is there", () =>
    Effect.gen(function* () {
      const { jobId, jobs } = yield* accept(1)
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
      const recoverable = ["sandbox"]
      yield* jobs.rescue({ worker: "gone", now: Time.at(0), recoverable })
      const ice = frozen()
      const first = platform({ lookUp: () => Effect.as(ice.freeze, null) })
      const second = platform({ lookUp: () => Effect.succeed(null) })
      yield* beside(first.sender, second.sender, ice, () => false)
      expect(first.sent).toEqual([])
      expect(second.sent).toHaveLength(1)
      expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 1 } })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("keeps what it has when a beat is answered late, which is said again at once", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      let beats = 0
      // As over a connection that is open at one end only, until the driver gives it up.
      const late = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          heartbeat: (command: Parameters<typeof jobs.heartbeat>[0]) =>
            Effect.suspend(() => {
              beats += 1
              // The last word of a process that stops is no beat.
              if (beats % 2 === 1 || command.workers.length === 0) return jobs.heartbeat(command)
              const error = new StorageError({ operation: "beat", cause: "No answer came." })
              return Effect.uninterruptible(Effect.delay(Effect.fail(error), "12 seconds"))
            })
        }))
      )
      const first = platform({ deduplicates: true }, () => Effect.as(Effect.sleep("1 minute"), accepted))
      const second = platform({ deduplicates: true })
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* Effect.provide(TestClock.adjust("70 seconds"), running(second.sender))
      }).pipe(Effect.provide(Layer.provide(running(first.sender), late)))
      expect(beats).toBeGreaterThan(10)
      expect(first.sent).toHaveLength(2)
      expect(second.sent).toEqual([])
      expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("sends nothing that it took when nobody had heard of it for most of the lease", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const who = yield* owner
      const silent = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          heartbeat: (command: Parameters<typeof jobs.heartbeat>[0]) =>
            Effect.flatMap(Time.now, (now) => (now < 6_000 ? jobs.heartbeat(command) : Effect.never))
        }))
      )
      // Taken at 10 s, and sent 12 s later: within the lease from then, and beyond the one from the last beat.
      const first = platform({ lookUp: () => Effect.delay(Effect.succeed(null), "12 seconds") })
      const second = platform({ lookUp: () => Effect.succeed(null) })
      const watching = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            jobs.settleAndClaim(command.now < 12_000 ? { ...command, claim: null } : command)
        }))
      )
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* Effect.gen(function* () {
          yield* TestClock.adjust("9 seconds")
          const jobId = yield* acceptOf(who, 1, 10_000)
          yield* jobs.settleAndClaim({
            now: Time.at(10_000),
            settlements: [],
            claim: { worker: "gone", limit: 1 }
          })
          yield* jobs.rescue({ worker: "gone", now: Time.at(10_000), recoverable: ["sandbox"] })
          yield* TestClock.adjust("2 minutes")
          expect([...first.sent, ...second.sent]).toHaveLength(1)
          expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 1 } })
        }).pipe(Effect.provide(Layer.provide(running(second.sender), watching)))
      }).pipe(Effect.provide(Layer.provide(running(first.sender), silent)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("sends again once the store hears of it, and claims nothing before", () =>
    Effect.gen(function* () {
      let claims = 0
      const deaf = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          heartbeat: (command: Parameters<typeof jobs.heartbeat>[0]) =>
            Effect.flatMap(Time.now, (now) =>
              now < 60_000
                ? Effect.fail(new StorageError({ operation: "beat", cause: "The table is locked." }))
                : jobs.heartbeat(command)
            ),
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.tap(jobs.settleAndClaim(command), ({ claimed }) => {
              if (claimed.length > 0) claims += 1
            })
        }))
      )
      const { sender, sent } = platform({})
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("20 seconds")
        const jobId = yield* acceptOf(yield* owner, 2, 20_000)
        yield* TestClock.adjust("39 seconds")
        expect([claims, sent.length]).toEqual([0, 0])
        yield* TestClock.adjust("3 seconds")
        expect([claims, sent.length]).toEqual([1, 2])
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(Layer.provide(running(sender), deaf)))
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("what a name took", { concurrent: true }, () => {
  it("is kept within what its beats prove", () => {
    const leaseMs = 15_000
    const fresh = enteredAt(100, leaseMs)
    // Nobody can have seen anything of it before.
    expect(isStillOwned(fresh, 100, 15_099)).toBe(true)
    expect(isStillOwned(fresh, 100, 15_100)).toBe(false)
    const said = prolonged(fresh, { said: 5_100, heard: 15_099 }, leaseMs)
    expect(isStillOwned(said, 100, 20_099)).toBe(true)
    // A claim that is younger than the lease proves nothing.
    expect(isStillOwned(said, 20_000, 20_100)).toBe(false)
    // It was heard too late: what was taken before may be another's.
    const again = prolonged(said, { said: 12_100, heard: 20_100 }, leaseMs)
    expect(isStillOwned(again, 20_099, 20_150)).toBe(false)
    expect(isStillOwned(again, 20_100, 27_099)).toBe(true)
    expect(isStillOwned(again, 20_100, 27_100)).toBe(false)
    expect(isStillOwned(undefined, 20_100, 20_150)).toBe(false)
  })

  it("is not kept once others may have taken it back, however late beats, claims, looks and rescues come", () => {
    const leaseMs = 15
    const end = 150
    const nat = FastCheck.nat
    // Prompt mostly, and at times about as late as it takes to be given up; what is told may be lost.
    const beats = FastCheck.array(
      FastCheck.record({
        after: nat(6),
        lands: FastCheck.option(FastCheck.oneof(nat(1), FastCheck.integer({ min: 8, max: 24 }))),
        answers: FastCheck.option(FastCheck.oneof(nat(1), nat(9)))
      }),
      { minLength: 10, maxLength: 30 }
    )
    // One at every moment.
    const claims = FastCheck.array(nat(3), { minLength: end, maxLength: end })
    const looks = FastCheck.array(
      FastCheck.record({ after: nat(5), reads: nat(4), answers: nat(6), rescues: nat(8) }),
      { minLength: 10, maxLength: 20 }
    )
    let rescues = 0
    FastCheck.assert(
      FastCheck.property(beats, claims, FastCheck.tuple(looks, looks), (beats, claims, watchers) => {
        /** The store: the name's count, and what it has in hand, by the moments when it was asked for. */
        let count = 0
        const inHand = new Set<number>()
        const lost = new Set<number>()
        let span = enteredAt(0, leaseMs)
        const events: Array<readonly [at: number, happen: () => void]> = []
        let said = 0
        for (const [place, { after, answers, lands }] of beats.entries()) {
          said += after
          const at = said
          if (lands === null) continue
          events.push([
            at + lands,
            () => {
              count = place + 1
            }
          ])
          if (answers === null) continue
          const heard = at + lands + answers
          events.push([
            heard,
            () => {
              span = prolonged(span, { said: at, heard }, leaseMs)
            }
          ])
        }
        for (const [at, lands] of claims.entries()) events.push([at + lands, () => void inHand.add(at)])
        for (const looks of watchers) {
          let seen: Parameters<typeof observe>[0] = new Map()
          let asked = 0
          for (const { after, answers, reads, rescues: takes } of looks) {
            asked += after
            const from = asked
            const answered = from + reads + answers
            let found: Parameters<typeof observe>[1] = []
            let dead: typeof found = []
            events.push([
              from + reads,
              () => {
                found = count > 0 || inHand.size > 0 ? [{ worker: "a", beats: count, isDead: false }] : []
              }
            ])
            events.push([
              answered,
              () => {
                const observed = observe(seen, found, BigInt(answered) * 1_000_000n, leaseMs)
                ;({ dead } = observed)
                seen = observed.seen
              }
            ])
            events.push([
              answered + takes,
              () => {
                if (dead[0]?.beats !== count) return
                rescues += 1
                count = 0
                for (const takenAt of inHand) lost.add(takenAt)
                inHand.clear()
              }
            ])
            asked = answered + takes
          }
        }
        events.sort(([a], [b]) => a - b)
        let next = 0
        for (let now = 0; now < end; now++) {
          for (; (events[next]?.[0] ?? end) <= now; next++) events[next]?.[1]()
          expect([...lost].filter((takenAt) => isStillOwned(span, takenAt, now))).toEqual([])
        }
      }),
      { numRuns: 500 }
    )
    expect(rescues).toBeGreaterThan(100)
  })
})

const quiet = platform({}).sender

describe("a webhook delivery", { concurrent: true }, () => {
  it.effect("of a worker that died is taken up within 30 seconds, and no sooner than that can be told", () =>
    Effect.gen(function* () {
      const { statuses, store } = yield* deliveries(2)
      yield* store.settleAndClaim({
        now: Time.at(0),
        settlements: [],
        claim: Fixtures.deliveryClaim({ worker: "gone", limit: 1 })
      })
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("14 seconds")
        expect([...(yield* statuses)].sort()).toEqual(["delivered", "pending"])
        yield* TestClock.adjust("16 seconds")
        expect(yield* statuses).toEqual(["delivered", "delivered"])
      }).pipe(Effect.provide(running(quiet)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is its worker's while that lives, however long the attempt takes", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(1)
      const posted: Array<string> = []
      const slow = Layer.succeed(WebhookTransport, {
        post: ({ body }) =>
          Effect.gen(function* () {
            posted.push(body)
            yield* Effect.sleep("1 minute")
            return { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" } as const
          })
      })
      const another = Effect.provide(TestClock.adjust("1 minute"), running(quiet))
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* another
      }).pipe(Effect.provide(running(quiet, slow)))
      expect(posted).toHaveLength(1)
      expect(yield* statuses).toEqual(["delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("stays with a worker that was judged dead and says before the rescue that it lives", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(1)
      let posted = 0
      const answering = (after: Duration.DurationInput) =>
        Layer.succeed(WebhookTransport, {
          post: () =>
            Effect.suspend(() => {
              posted += 1
              const answer = { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" } as const
              return Effect.delay(Effect.succeed(answer), after)
            })
        })
      const thawed = yield* Effect.makeLatch(true)
      const freezing = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          heartbeat: (command: Parameters<typeof jobs.heartbeat>[0]) =>
            Effect.zipRight(thawed.await, jobs.heartbeat(command))
        }))
      )
      let isJudgedDead = false
      const late = Layer.effect(
        WebhookStore,
        Effect.map(WebhookStore, (store) => ({
          ...store,
          rescue: (command: Parameters<typeof store.rescue>[0]) =>
            Effect.gen(function* () {
              isJudgedDead = true
              yield* thawed.open
              yield* Effect.sleep("1 second")
              return yield* store.rescue(command)
            })
        }))
      )
      const another = Layer.provide(running(quiet, answering(0)), late)
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* thawed.close
        yield* Effect.provide(TestClock.adjust("1 minute"), another)
      }).pipe(Effect.provide(Layer.provide(running(quiet, answering("1 minute")), freezing)))
      expect(isJudgedDead).toBe(true)
      expect(posted).toBe(1)
      expect(yield* statuses).toEqual(["delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that a commit took whose answer was lost is taken back", () =>
    Effect.gen(function* () {
      let lost = false
      const forgetful = Layer.effect(
        WebhookStore,
        Effect.map(WebhookStore, (store) => ({
          ...store,
          settleAndClaim: (command: Parameters<typeof store.settleAndClaim>[0]) =>
            Effect.flatMap(store.settleAndClaim(command), (answer) => {
              if (lost || answer.claimed.length === 0) return Effect.succeed(answer)
              lost = true
              return Effect.fail(new StorageError({ operation: "exchange", cause: "The connection broke." }))
            })
        }))
      )
      const { statuses } = yield* deliveries(3)
      yield* TestClock.adjust("30 seconds").pipe(Effect.provide(Layer.provide(running(quiet), forgetful)))
      expect(lost).toBe(true)
      expect(yield* statuses).toEqual(["delivered", "delivered", "delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("over which the transport broke is attempted again by its schedule", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(1)
      let broken = 0
      const breaking = Layer.succeed(WebhookTransport, {
        post: () =>
          Effect.suspend(() => {
            broken += 1
            return broken === 1
              ? Effect.die("broken")
              : Effect.succeed({ _tag: "Answered", status: 200, retryAfter: null, excerpt: "" } as const)
          })
      })
      yield* Effect.provide(TestClock.adjust("8 seconds"), running(quiet, breaking))
      expect(broken).toBe(2)
      expect(yield* statuses).toEqual(["delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("the only owner of a SQLite file", { concurrent: true }, () => {
  it.scopedLive("takes up at its start what the one before it left, counted as any other loss", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const stores = Sqlite.layer({ filename: join(folder, "a.db") })
      const before = yield* Effect.gen(function* () {
        const { jobId, jobs } = yield* accept(2)
        yield* jobs.heartbeat({ workers: ["former"], beats: 9, dispatchesAt: Time.at(0) })
        yield* jobs.settleAndClaim({
          now: Time.at(0),
          settlements: [],
          claim: { worker: "former", limit: 1 }
        })
        const { store } = yield* deliveries(1)
        yield* store.settleAndClaim({
          now: Time.at(0),
          settlements: [],
          claim: Fixtures.deliveryClaim({ worker: "another" })
        })
        return jobId
      }).pipe(Effect.provide(stores))
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.heartbeat({ workers: ["of this process"], beats: 1, dispatchesAt: null })
        const holders = (yield* jobs.workers).map(({ isDead, worker }) => [worker, isDead])
        expect(holders.sort()).toEqual([
          ["another", true],
          ["former", true],
          ["of this process", false]
        ])
        const { drain } = yield* Engine.Engine
        yield* drain
        const [first, second] = yield* results(before)
        expect(first).toMatchObject({ status: "accepted", attempts: 2, sequence: 2 })
        expect(second).toMatchObject({ status: "accepted", attempts: 1 })
        expect((yield* jobs.workers).map(({ worker }) => worker)).not.toContain("another")
      }).pipe(Effect.provide(Layer.provideMerge(embedded(platform({ deduplicates: true }).sender), stores)))
    })
  )
})

/** Does what is due every quarter of an hour, for so many hours. */
const hours = (count: number, sender: Sender) =>
  Effect.gen(function* () {
    const { drain } = yield* Engine.Engine
    yield* Effect.repeatN(Effect.zipRight(drain, TestClock.adjust("15 minutes")), count * 4)
  }).pipe(Effect.provide(embedded(sender)))

describe("an attempt without an outcome", { concurrent: true }, () => {
  it.effect("is asked about before the next one", () =>
    Effect.gen(function* () {
      const answers = [timedOut, null, accepted]
      let asked = 0
      const { sender, sent } = platform(
        {
          lookUp: () =>
            Effect.sync(() => {
              asked += 1
              return answers.shift() ?? null
            })
        },
        () => Effect.succeed(timedOut)
      )
      const { jobId } = yield* accept(1)
      yield* hours(2, sender)
      expect((yield* results(jobId))[0]).toMatchObject({ status: "accepted", attempts: 4, maybeSent: false })
      expect([sent.length, asked]).toEqual([2, 3])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("leaves it unknown, not failed, when its time is over", () =>
    Effect.gen(function* () {
      // Of a platform that answers others: no outage.
      const { sender } = platform({ deduplicates: true }, () =>
        Effect.succeed({ ...timedOut, answered: true })
      )
      const { jobId } = yield* accept(1)
      yield* hours(23, sender)
      expect((yield* results(jobId))[0]).toMatchObject({ status: "sending", maybeSent: true })
      yield* hours(2, sender)
      expect((yield* results(jobId))[0]).toMatchObject({ status: "unknown" })
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a recipient that killed two workers", { concurrent: true }, () => {
  /** The only recipient of a job over which two workers died, due at a time. */
  const suspectOf = Effect.fnUntraced(function* (who: Effect.Effect.Success<typeof owner>, dueAt: number) {
    const jobs = yield* JobStore
    const jobId = yield* acceptOf(who, 1)
    for (let death = 0; death < 2; death++) {
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
      yield* jobs.rescue({ worker: "gone", now: Time.at(0), recoverable: ["sandbox"], suspectWaits: [dueAt] })
    }
    return jobId
  })

  it.effect("is attempted while nothing else of its session is, and other sessions go on", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const suspect = yield* suspectOf(who, 1000)
      // Under way when it is due.
      const before = yield* Effect.replicateEffect(acceptOf(who, 1), 3)
      const other = yield* backlog(40)
      const began = new Map<string, number>()
      const sent: Array<string> = []
      const { sender } = platform({ deduplicates: true }, ({ messageId, sessionId }) =>
        Effect.gen(function* () {
          sent.push(messageId)
          began.set(messageId, yield* Time.now)
          yield* Effect.sleep(sessionId === who.sessionId ? "3 seconds" : "500 millis")
          return accepted
        })
      )
      /** Claims of the session while the suspect has it. */
      let claims = 0
      const watched = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.tap(jobs.settleAndClaim(command), ({ claimed }) => {
              const isMeanwhile = command.now > 1500 && command.now < 5500
              if (isMeanwhile && claimed.some(({ sessionId }) => sessionId === who.sessionId)) claims += 1
            })
        }))
      )
      const after = yield* Effect.gen(function* () {
        yield* TestClock.adjust("1500 millis")
        const after = yield* Effect.replicateEffect(acceptOf(who, 1, 1500), 5)
        yield* TestClock.adjust("38 seconds")
        return after
      }).pipe(Effect.provide(Layer.provide(running(sender), watched)))
      const at = began.get(Ids.messageId(suspect, 0)) ?? 0
      // When those before it had ended, which is seen within a second; and then nothing until it ended itself.
      expect(at).toBeGreaterThanOrEqual(3000)
      expect(at).toBeLessThanOrEqual(4100)
      for (const jobId of before) expect(began.get(Ids.messageId(jobId, 0))).toBeLessThan(1000)
      for (const jobId of after) expect(began.get(Ids.messageId(jobId, 0))).toBeGreaterThanOrEqual(at + 3000)
      // Its own.
      expect(claims).toBe(1)
      const meanwhile = [...began.values()].filter((time) => time > at && time < at + 3000)
      expect(meanwhile.length).toBeGreaterThan(8)
      expect(new Set(sent).size).toBe(sent.length)
      for (const jobId of [suspect, ...before, ...after, ...other.jobIds])
        expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("has nothing beside it that another claim brings meanwhile", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const suspect = yield* suspectOf(who, 500)
      const first = yield* acceptOf(who, 1)
      const began = new Map<string, number>()
      const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) =>
        Effect.gen(function* () {
          began.set(messageId, yield* Time.now)
          yield* Effect.sleep("5 seconds")
          return accepted
        })
      )
      let isDelayed = false
      const delayed = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.flatMap(jobs.settleAndClaim(command), (answer) => {
              if (isDelayed || !answer.claimed.some(({ jobId }) => jobId === first))
                return Effect.succeed(answer)
              isDelayed = true
              return Effect.delay(Effect.succeed(answer), "3 seconds")
            })
        }))
      )
      yield* TestClock.adjust("40 seconds").pipe(Effect.provide(Layer.provide(running(sender), delayed)))
      const at = began.get(Ids.messageId(suspect, 0)) ?? 0
      expect(Math.abs((began.get(Ids.messageId(first, 0)) ?? 0) - at)).toBeGreaterThanOrEqual(5000)
      expect(sent).toHaveLength(2)
      expect((yield* results(first))[0]).toMatchObject({ status: "accepted", attempts: 1 })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("has its turn, however much there is to attempt beside it", () =>
    Effect.gen(function* () {
      const { jobId, jobs } = yield* accept(1)
      // Due again when something is under way.
      for (let death = 0; death < 2; death++) {
        yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
        yield* jobs.rescue({
          worker: "gone",
          now: Time.at(0),
          recoverable: ["sandbox"],
          suspectWaits: [3000]
        })
      }
      const { jobIds } = yield* backlog(200)
      const { sender } = platform({ deduplicates: true }, ({ messageId }) =>
        Effect.as(Effect.sleep(messageId.endsWith("001") ? "7 seconds" : "1 second"), accepted)
      )
      const ended = Effect.map(
        Effect.forEach(jobIds, (each) => find(each)),
        (jobs) => jobs.filter(({ status }) => status === "completed").length
      )
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("1 minute")
        expect((yield* find(jobId)).status).toBe("completed")
        expect(yield* ended).toBeLessThan(200)
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("who is dead", { concurrent: true }, () => {
  const second = 1_000_000_000n
  const saying = (beats: number) => [{ worker: "a", beats, isDead: false }]

  it("is who said nothing new for the lease, by the watcher's own clock", () => {
    const first = observe(new Map(), saying(1), 5n * second, 15_000)
    expect(first.dead).toEqual([])
    expect(observe(first.seen, saying(1), 20n * second - 1n, 15_000).dead).toEqual([])
    expect(observe(first.seen, saying(1), 20n * second, 15_000).dead).toEqual(saying(1))
    expect(observe(first.seen, saying(2), 20n * second, 15_000).dead).toEqual([])
    // Forgotten and seen again is seen for the first time.
    const between = observe(first.seen, [], 10n * second, 15_000)
    expect(observe(between.seen, saying(1), 20n * second, 15_000).dead).toEqual([])
  })
})
