/** A send in a transaction of the app's, by each library that apps have for it. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import Pg from "pg"
import type { Outbound, Sendwright, Session } from "sendwright"
import { createSendwright, SendwrightError } from "sendwright"
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeorm,
  postgres
} from "sendwright/postgres"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { migratedDatabase } from "../../../test/support/Postgres.ts"
import { type Library, libraries } from "./PostgresLibraries.ts"
import { ana, furnish, platform, secretKey } from "./Support.ts"

let scope: Scope.CloseableScope
let url: string
let sw: Sendwright
let session: Session
let sent: ReadonlyArray<Outbound>

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  url = await Effect.runPromise(Scope.extend(migratedDatabase, scope))
  const own = platform()
  sent = own.sent
  sw = await createSendwright({
    store: postgres({ url }),
    senders: [own.sender],
    secretKey,
    logLevel: "none"
  })
  session = (await furnish(sw, "own")).session
  await sw.start()
}, 60_000)

afterAll(async () => {
  await sw.stop({ graceMs: 0 })
  await Effect.runPromise(Scope.close(scope, Exit.void))
}, 60_000)

let serial = 0
const message = (idempotencyKey = `key-${++serial}`) => ({
  template: "hello",
  language: "en",
  to: [{ phone: ana }],
  reference: idempotencyKey,
  idempotencyKey
})

const wentOut = (jobId: string): boolean =>
  sent.some(({ messageId }) => messageId.startsWith(jobId.slice(0, -3)))
const goesOut = (jobId: string) =>
  expect.poll(() => wentOut(jobId), { timeout: 5000, interval: 10 }).toBe(true)

const isThere = (jobId: string): Promise<boolean> =>
  session.job(jobId).then(
    () => true,
    () => false
  )

const codeOf = (step: Promise<unknown>): Promise<string> =>
  step.then(
    () => "nothing",
    (error: unknown) => (error instanceof SendwrightError ? error.code : String(error))
  )

class Undone extends Error {}

describe.each(Object.entries(libraries))("a transaction of %s", (_, open) => {
  let library: Library
  beforeAll(() => {
    library = open(url)
  })
  afterAll(() => library.close())

  it("that commits sends, and not before", async () => {
    const jobId = await library.transaction(async ({ run, tx }) => {
      const sending = await session.send(message(), { tx })
      await run("SELECT pg_sleep(0.3)")
      expect(wentOut(sending.jobId)).toBe(false)
      return sending.jobId
    })
    await goesOut(jobId)
  })

  it("that rolls back sends nothing, and its key is free", async () => {
    const given = message()
    let jobId = ""
    const undone = library.transaction(async ({ tx }) => {
      jobId = (await session.send(given, { tx })).jobId
      throw new Undone()
    })
    await expect(undone).rejects.toThrow(Undone)
    expect(await isThere(jobId)).toBe(false)
    const again = await session.send(given)
    expect([again.replayed, again.jobId === jobId]).toEqual([false, false])
  })

  it("has savepoints: what one takes back is not sent, and the rest is", async () => {
    const ids = await library.transaction(async ({ savepoint, tx }) => {
      const kept = await session.send(message(), { tx })
      let lost = ""
      await savepoint(async (inner) => {
        lost = (await session.send(message(), { tx: inner })).jobId
        throw new Undone()
      }).catch(() => {})
      return { kept: kept.jobId, lost }
    })
    await goesOut(ids.kept)
    expect(await isThere(ids.lost)).toBe(false)
  })

  it("answers one key twice with one job, in it and after it", async () => {
    const given = message()
    const first = await library.transaction(async ({ tx }) => {
      const { jobId } = await session.send(given, { tx })
      expect(await session.send(given, { tx })).toMatchObject({ jobId, replayed: true })
      return jobId
    })
    const second = await library.transaction(({ tx }) => session.send(given, { tx }))
    expect(second).toMatchObject({ jobId: first, replayed: true })
    expect(await session.send(given)).toMatchObject({ jobId: first, replayed: true })
  })

  it("answers one key in two of them at once with one job", async () => {
    const given = message()
    const both = await Promise.all(
      [1, 2].map(() => library.transaction(({ tx }) => session.send(given, { tx })))
    )
    expect(new Set(both.map(({ jobId }) => jobId)).size).toBe(1)
    expect(both.map(({ replayed }) => replayed).toSorted()).toEqual([false, true])
  })

  it("goes on after a refusal", async () => {
    const jobId = await library.transaction(async ({ run, tx }) => {
      const stranger = { ...message(), to: [{ phone: "34699999999" }] }
      expect(await codeOf(session.send(stranger, { tx }))).toBe("consent_required")
      expect(await codeOf(session.send({ ...message(), to: [] }, { tx }))).toBe("invalid_request")
      await run("SELECT 1")
      return (await session.send(message(), { tx })).jobId
    })
    await goesOut(jobId)
  })

  it("delays nobody's send while it is open", async () => {
    await library.transaction(async ({ tx }) => {
      await session.send(message(), { tx })
      const other = await session.send(message())
      await goesOut(other.jobId)
      const another = await library.transaction((open) => session.send(message(), { tx: open.tx }))
      await goesOut(another.jobId)
    })
  })

  it("whose connection is killed before the commit sends nothing", async () => {
    let jobId = ""
    const dying = open(url)
    const killed = dying.transaction(async ({ run, tx }) => {
      jobId = (await session.send(message(), { tx })).jobId
      if (dying.breakOff === undefined) await run("SELECT pg_terminate_backend(pg_backend_pid())")
      else await dying.breakOff()
      await run("SELECT 1")
    })
    await expect(killed).rejects.toThrow()
    expect(await isThere(jobId)).toBe(false)
    await dying.close().catch(() => {})
  })

  it("that has failed before says so", async () => {
    const codes: Array<string> = []
    await library
      .transaction(async ({ run, tx }) => {
        await run("SELECT 1 / 0").catch(() => {})
        codes.push(await codeOf(session.send(message(), { tx })))
        throw new Undone()
      })
      .catch(() => {})
    expect(codes).toEqual(["transaction_unsupported"])
  })

  it("that is over takes no send", async () => {
    const over = await library.transaction(async ({ tx }) => tx)
    const code = await codeOf(session.send(message(), { tx: over }))
    expect(["transaction_unsupported", "unavailable"]).toContain(code)
  })
})

describe("what is no transaction", () => {
  const anything = (value: unknown): never => value as never
  const pool = new Pg.Pool({ connectionString: "postgres://nowhere.invalid/" })
  it.each([
    ["fromPg", () => fromPg(anything(pool))],
    ["fromPostgresJs", () => fromPostgresJs(anything(() => {}))],
    ["fromDrizzle", () => fromDrizzle(anything({ session: { client: pool }, rollback: () => {} }))],
    ["fromKysely", () => fromKysely(anything({ executeQuery: () => {}, isTransaction: false }))],
    ["fromKnex", () => fromKnex(anything({ raw: () => {} }))],
    ["fromPrisma", () => fromPrisma(anything({ $queryRawUnsafe: () => {}, $transaction: () => {} }))],
    ["fromTypeorm", () => fromTypeorm(anything({ query: () => {} }))]
  ])("is refused by %s with what to give", (name, give) => {
    expect(give).toThrow(expect.objectContaining({ code: "transaction_unsupported" }))
    expect(give).toThrow(new RegExp(`^${name} takes .+`))
  })

  it("of this database is refused by a send with what to give", async () => {
    const client = new Pg.Client(inject("postgres"))
    await client.connect()
    await client.query("BEGIN")
    const refused = session.send(message(), { tx: fromPg(client) })
    expect(await codeOf(refused)).toBe("transaction_unsupported")
    await expect(refused).rejects.toThrow(/one of the engine's own database/)
    await client.end()
  })

  it("is refused by a send, too", async () => {
    expect(await codeOf(session.send(message(), { tx: anything({ query: () => {} }) }))).toBe(
      "transaction_unsupported"
    )
  })
})

describe("a pool of the app's", () => {
  it("is enough for Sendwright, which leaves it open, and migrates it when told", async () => {
    const fresh = await Effect.runPromise(Scope.make())
    const { freshDatabase } = await import("../../../test/support/Postgres.ts")
    const own = await Effect.runPromise(Scope.extend(freshDatabase, fresh))
    const pool = new Pg.Pool({ connectionString: own })
    pool.on("error", () => {})
    const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
    const without = createSendwright({ ...options, store: postgres({ pool }) })
    expect(await codeOf(without)).toBe("unavailable")
    await expect(without).rejects.toThrow(/migrate/)
    const other = await createSendwright({ ...options, store: postgres({ pool, migrate: true }) })
    const { session: second } = await furnish(other, "own")
    const client = await pool.connect()
    await client.query("BEGIN")
    const { jobId } = await second.send({ ...message(), template: "hello" }, { tx: fromPg(client) })
    await client.query("COMMIT")
    client.release()
    await other.drain()
    expect((await second.job(jobId)).status).toBe("completed")
    await other.stop({ graceMs: 0 })
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
    await pool.end()
    await Effect.runPromise(Scope.close(fresh, Exit.void))
  }, 60_000)
})
