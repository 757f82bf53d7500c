/** Sends inside the embedder's own transaction: counted, not refused, and in nobody's way (contract.md §11 "Embedding"). */
import { SqlClient } from "@effect/sql/SqlClient"
import type * as Statement from "@effect/sql/Statement"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { prepare } from "../../../../examples/support/prepare.ts"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import type { Plan } from "../../src/domain/account/Plan.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type * as Stores from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Worker from "../../src/worker/Worker.ts"

const sqlite = Sqlite.layer({ filename: ":memory:" })
const postgres = Layer.unwrapScoped(
  Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
)

const phones = Array.from({ length: 5 }, (_, n) => `3460000123${n}`)

const run = <A, E, E2>(
  stores: Layer.Layer<Stores.Stores | SqlClient, E2>,
  test: (given: {
    readonly engine: typeof Engine.Engine.Service
    readonly sql: SqlClient
    readonly caller: Engine.Caller
    readonly accountId: string
    /** Phones, in the order of their sends. */
    readonly sent: ReadonlyArray<string>
    readonly plan: (plan: Partial<Plan>) => Effect.Effect<void>
    readonly send: (
      key: string,
      recipients?: number,
      by?: Engine.Caller
    ) => ReturnType<typeof Engine.Engine.Service.send>
  }) => Effect.Effect<A, E, Scope.Scope | Worker.Worker>
) => {
  const sent: Array<string> = []
  const sender: Sender.Sender = {
    provider: "sandbox",
    deduplicates: true,
    send: ({ to }) =>
      Effect.sync(() => {
        sent.push(to)
        return Sender.accepted(null, "accepted")
      })
  }
  const layer = Engine.layer().pipe(
    Layer.provideMerge(stores),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(AddressPolicy.layer([])),
    Layer.provide(SecretBox.layerRandom)
  )
  return Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const sql = yield* SqlClient
    const { accountId, caller, templateId } = yield* prepare(engine, phones)
    const send = (idempotencyKey: string, recipients = 1, by = caller) =>
      engine.send(by, {
        idempotencyKey,
        request: {
          templateId,
          recipients: phones
            .slice(0, recipients)
            .map((phone) => ({ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }))
        }
      })
    const plan = (plan: Partial<Plan>) =>
      Effect.orDie(
        Effect.zipRight(engine.admin.accounts.change(accountId, { plan }), Effect.sleep("1100 millis"))
      )
    return yield* Effect.scoped(test({ engine, sql, sent, accountId, caller, plan, send }))
  }).pipe(Effect.provide(layer))
}

const page = { limit: 100, after: null }

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("sends inside the embedder's transaction on %s", (_, stores) => {
  it.live("a quota that is used up and a minimum wait refuse and delay none, and all is counted", () =>
    run(stores, ({ accountId, caller, engine, plan, send, sent, sql }) =>
      Effect.gen(function* () {
        yield* plan({ dailyTemplateRecipients: 3, minimumWaitMs: 60_000 })
        const used = Effect.map(
          engine.admin.accounts.usage(accountId),
          (usage) => usage.templateRecipients.used
        )
        const [large, small] = yield* sql.withTransaction(Effect.all([send("large", 3), send("small", 2)]))
        expect(yield* used).toBe(5)
        expect(yield* Effect.flip(send("plain", 1))).toMatchObject({ _tag: "QuotaExceeded", used: 5 })
        yield* engine.drain
        expect(sent).toHaveLength(5)
        for (const { jobId } of [large, small])
          expect(yield* engine.job(caller, jobId, { page })).toMatchObject({
            job: { status: "completed" },
            waitingFor: null
          })
        expect((yield* send("large", 3)).jobId).toBe(large.jobId)
        expect(yield* used).toBe(5)
        yield* engine.admin.accounts.change(accountId, { plan: { dailyTemplateRecipients: null } })
        yield* Effect.sleep("1100 millis")
        expect((yield* send("plain", 1)).replayed).toBe(false)
      })
    )
  )

  it.live("more than a whole day's quota is refused inside it", () =>
    run(stores, ({ engine, caller, plan, send, sql }) =>
      Effect.gen(function* () {
        yield* plan({ dailyTemplateRecipients: 3 })
        const refused = yield* sql.withTransaction(Effect.flip(send("larger", 4)))
        expect(refused).toMatchObject({ _tag: "QuotaExceeded", limit: 3, requested: 4 })
        expect((yield* engine.jobs(caller, { page })).items).toEqual([])
      })
    )
  )

  it.live("a transaction that is rolled back leaves nothing to send and nothing counted", () =>
    run(stores, ({ accountId, caller, engine, send, sent, sql }) =>
      Effect.gen(function* () {
        const declined = Effect.zipRight(send("declined"), Effect.fail("declined"))
        expect(yield* Effect.flip(sql.withTransaction(declined))).toBe("declined")
        yield* engine.drain
        expect(sent).toEqual([])
        expect((yield* engine.jobs(caller, { page })).items).toEqual([])
        expect((yield* engine.admin.accounts.usage(accountId)).templateRecipients.used).toBe(0)
        expect((yield* send("declined")).replayed).toBe(false)
      })
    )
  )
})

describe("an open transaction of the embedder with a send on PostgreSQL", () => {
  /** Runs a test while a transaction with one send is open, and commits it then. */
  const open = (
    {
      send,
      sql
    }: { readonly sql: SqlClient; readonly send: (key: string) => Effect.Effect<unknown, unknown> },
    end: Effect.Effect<void, string> = Effect.void
  ) =>
    Effect.gen(function* () {
      const sent = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const steps = [send("embedded"), Deferred.succeed(sent, undefined), Deferred.await(ended), end]
      const fiber = yield* Effect.forkScoped(sql.withTransaction(Effect.all(steps, { discard: true })))
      yield* Effect.raceFirst(Deferred.await(sent), Effect.asVoid(Fiber.join(fiber)))
      return Effect.zipRight(Deferred.succeed(ended, undefined), Fiber.await(fiber))
    })

  it.live(
    "delays no other send of its account, session and content, and no direct message",
    () =>
      run(postgres, ({ caller, engine, send, sent, sql }) =>
        Effect.gen(function* () {
          const commit = yield* open({ send, sql })
          const { key, secretKey } = yield* engine.admin.keys.issue(caller.session.id, {})
          const other = yield* engine.identify({ publicKey: key.publicKey, secretKey })
          // Keys that share a lock with the one in the open transaction.
          const lock = (key: Statement.Fragment) => sql`hashtextextended(${key}, 0) & 255`
          const sharing = Effect.map(
            sql<{ readonly key: string }>`SELECT 'plain-' || n AS key FROM generate_series(1, 5000) AS n
            WHERE ${lock(sql`'plain-' || n`)} = ${lock(sql`'embedded'`)}
              OR ${lock(sql`'plain-' || n || '-inside'`)} = ${lock(sql`'embedded'`)}`,
            (rows) => rows.map(({ key }) => key)
          )
          const sends = [
            send("plain"),
            send("embedded", 1, other),
            sql.withTransaction(send("another")),
            engine.sendDirect(caller, {
              idempotencyKey: "direct",
              request: { to: phones[0] ?? "", message: "Hello" }
            }),
            ...(yield* sharing).flatMap((key) => [send(key), sql.withTransaction(send(`${key}-inside`))])
          ]
          // Who waits for a lock fails after five seconds.
          yield* Effect.all(sends, { concurrency: 16, discard: true })
          yield* engine.drain
          expect(sent).toHaveLength(sends.length)
          yield* commit
          yield* engine.drain
          expect(sent).toHaveLength(sends.length + 1)
        })
      ),
    60_000
  )

  it.effect("wakes whoever dispatches at its commit, and not before", () => {
    let claims = 0
    let underWay = 0
    const counting = Layer.effectContext(
      Effect.map(Effect.context<Layer.Layer.Success<typeof postgres>>(), (context) => {
        const jobs = Context.get(context, JobStore)
        const settleAndClaim: typeof jobs.settleAndClaim = (command) => {
          claims += 1
          underWay += 1
          return Effect.ensuring(
            jobs.settleAndClaim(command),
            Effect.sync(() => {
              underWay -= 1
            })
          )
        }
        return Context.add(context, JobStore, { ...jobs, settleAndClaim })
      })
    ).pipe(Layer.provide(postgres))
    return run(counting, ({ send, sent, sql }) =>
      Effect.gen(function* () {
        const exchanges = Effect.repeatN(sql`SELECT 1`, 20)
        const toArrive = (count: number) =>
          Effect.repeat(sql`SELECT 1`, { until: () => sent.length === count })
        /** Nothing wakes it but what is done here: the time stands still. */
        const idle = Effect.repeat(
          Effect.suspend(() => {
            const before = claims
            return Effect.map(exchanges, () => claims === before && underWay === 0)
          }),
          { until: (isIdle) => isIdle }
        )
        /** From here on it is told of commits; once it hears it looks whether it has missed one. */
        const hearing = Effect.repeat(
          sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`,
          { until: (found) => found.length > 0 }
        )
        const worker = yield* Worker.Worker
        yield* worker.start
        yield* hearing
        yield* send("plain")
        yield* toArrive(1)
        const claimsWhileOpen = Effect.gen(function* () {
          yield* idle
          const before = claims
          const arrived = sent.length
          // The commit may be heard of before its answer is.
          const open = yield* sql.withTransaction(
            send(`embedded-${arrived}`).pipe(
              Effect.zipRight(exchanges),
              Effect.map(() => claims - before)
            )
          )
          yield* toArrive(arrived + 1)
          return open
        })
        // Of an earlier commit it may hear late, in any one of these transactions, but not in each of them.
        expect(yield* Effect.repeat(claimsWhileOpen, { times: 9, until: (open) => open === 0 })).toBe(0)
      })
    )
  })

  for (const rollsBack of [false, true]) {
    const end = rollsBack ? "rolled back, and is the send then" : "committed, and replays it then"
    it.live(`keeps only the repetition of its Idempotency-Key waiting, which waits until it is ${end}`, () =>
      run(postgres, ({ caller, engine, send, sql }) =>
        Effect.gen(function* () {
          const commit = yield* open({ send, sql }, rollsBack ? Effect.fail("rolled back") : Effect.void)
          const repetitions = yield* Effect.fork(
            Effect.all(
              Array.from({ length: 20 }, () => send("embedded")),
              { concurrency: "unbounded" }
            )
          )
          const inside = yield* Effect.fork(sql.withTransaction(send("embedded")))
          yield* Effect.sleep("300 millis")
          for (const n of [1, 2, 3]) {
            const other = Effect.timeoutFail(send(`other-${n}`), {
              duration: "2 seconds",
              onTimeout: () => "it waited"
            })
            expect((yield* other).replayed).toBe(false)
          }
          expect([yield* Fiber.poll(repetitions), yield* Fiber.poll(inside)].map(({ _tag }) => _tag)).toEqual(
            ["None", "None"]
          )
          expect(Exit.isSuccess(yield* commit)).toBe(!rollsBack)
          const answers = [...(yield* Fiber.join(repetitions)), yield* Fiber.join(inside)]
          expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1)
          expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(rollsBack ? 1 : 0)
          expect((yield* engine.jobs(caller, { page })).items).toHaveLength(4)
        })
      )
    )
  }

  it.live("many transactions and plain sends at the same time are counted exactly", () =>
    run(postgres, ({ accountId, engine, plan, send, sent, sql }) =>
      Effect.gen(function* () {
        yield* plan({ dailyTemplateRecipients: 50 })
        const embedded = Array.from({ length: 40 }, (_, n) => sql.withTransaction(send(`embedded-${n}`)))
        let accepted = 0
        const plain = Array.from({ length: 40 }, (_, n) =>
          Effect.option(
            Effect.tap(send(`plain-${n}`), () =>
              Effect.sync(() => {
                accepted += 1
              })
            )
          )
        )
        const drains = Array.from({ length: 6 }, (_, n) => Effect.delay(engine.drain, `${n * 40} millis`))
        yield* Effect.all([...embedded, ...plain, ...drains], { concurrency: "unbounded", discard: true })
        yield* engine.drain
        expect(sent).toHaveLength(40 + accepted)
        const used = 40 + accepted
        expect((yield* engine.admin.accounts.usage(accountId)).templateRecipients.used).toBe(used)
        // A plain send sees what was committed before it, and an embedded one is never refused.
        expect(used).toBeGreaterThanOrEqual(50)
        expect(yield* Effect.flip(send("one-more"))).toMatchObject({ _tag: "QuotaExceeded", used })
      })
    )
  )
})
