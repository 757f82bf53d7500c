/** A send in a transaction of the app's, by each library that apps have for it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import Knex from "knex"
import { CamelCasePlugin, Kysely, ParseJSONResultsPlugin, PostgresDialect } from "kysely"
import Pg from "pg"
import Postgres from "postgres"
import type { Outbound, Sendwright, Sent, Session, Transaction } from "sendwright"
import { createSendwright, SendwrightError } from "sendwright"
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeorm,
  type PgClient,
  postgres
} from "sendwright/postgres"
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest"
import { connection, migratedDatabase } from "../../../test/support/Postgres.ts"
import { type Library, libraries } from "./PostgresLibraries.ts"
import { ana, furnish, platform, secretKey } from "./Support.ts"

let scope: Scope.CloseableScope
let url: string
let sw: Sendwright
let session: Session
let accountId: string
let sent: ReadonlyArray<Outbound>
/** A connection of the app's that is in no transaction. */
let app: Pg.Client

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  url = await Effect.runPromise(Scope.extend(migratedDatabase, scope))
  app = await Effect.runPromise(Scope.extend(connection(url), scope))
  await app.query(furnishing)
  const own = platform()
  sent = own.sent
  sw = await createSendwright({
    store: postgres({ url }),
    senders: [own.sender],
    secretKey,
    logLevel: "none"
  })
  const furnished = await furnish(sw, "own")
  session = furnished.session
  accountId = furnished.account.id
  await sw.start()
}, 60_000)

afterAll(async () => {
  await sw.stop({ graceMs: 0 })
  // Another run on this server may need it still.
  await app.query("DROP ROLE IF EXISTS sendwright_test_stranger").catch(() => {})
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

const ask = async (text: string): Promise<number> => {
  const { rows } = await app.query<{ readonly n: string }>(text)
  return Number(rows[0]?.n)
}

const appsRows = () => ask("SELECT count(*) AS n FROM app")

/** Those of this database: other tests have theirs on the server. */
const connections = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
const locks = `SELECT count(*) AS n FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
  WHERE datname = current_database() AND locktype = 'advisory' AND granted`

/** Returns once a connection waits for the lock of another one's key. */
const waits = () =>
  expect
    .poll(() => ask(`${connections} AND wait_event_type = 'Lock'`), {
      timeout: 5000,
      interval: 5
    })
    .toBeGreaterThan(0)

/**
 * What the app has beside the engine's tables: one of its own, a role that may use none of the engine's, and a rule by which a
 * job is refused where a transaction says so.
 */
const furnishing = `
  CREATE TABLE app (n INTEGER);
  DO $$ BEGIN CREATE ROLE sendwright_test_stranger; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
  ALTER TABLE sendwright_job ADD CONSTRAINT refused
    CHECK (coalesce(current_setting('sendwright.refused', true), '') <> 'yes');
`

describe.each(Object.entries(libraries))("a transaction of %s", (_, open) => {
  let library: Library
  beforeAll(() => {
    library = open(url)
  })
  afterAll(() => library.close())

  it("that commits sends, and not before, however much goes out meanwhile", async () => {
    const jobId = await library.transaction(async ({ tx }) => {
      const sending = await session.send(message(), { tx })
      await goesOut((await session.send(message())).jobId)
      await goesOut((await session.send(message())).jobId)
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

  it("has the consent that is recorded in it, and the send that goes by it", async () => {
    const phone = `3460002${String(++serial).padStart(4, "0")}`
    const record = (tx: Transaction) =>
      sw.admin.consents.record({ accountId, consents: [{ phone, source: "checkout" }] }, { tx })
    const send = { ...message(), to: [{ phone }] }
    const undone = library.transaction(async ({ tx }) => {
      await record(tx)
      await session.send(send, { tx })
      throw new Undone()
    })
    await expect(undone).rejects.toThrow(Undone)
    expect(await codeOf(session.send(send))).toBe("consent_required")
    const jobId = await library.transaction(async ({ tx }) => {
      await record(tx)
      return (await session.send(send, { tx })).jobId
    })
    await goesOut(jobId)
  })

  it("has savepoints: what one takes back is not sent, and the rest is", async () => {
    const ids = await library.transaction(async ({ savepoint, tx }) => {
      const kept = await session.send(message(), { tx })
      let lost = ""
      await savepoint(async (inner) => {
        lost = (await session.send(message(), { tx: inner })).jobId
        throw new Undone()
      }).catch(() => {})
      const after = await session.send(message(), { tx })
      return { kept: [kept.jobId, after.jobId], lost }
    })
    for (const jobId of ids.kept) await goesOut(jobId)
    expect(await isThere(ids.lost)).toBe(false)
  })

  it.each(["SERIALIZABLE", "REPEATABLE READ"])("may be %s", async (isolation) => {
    const given = message()
    const jobId = await library.transaction(async ({ run, tx }) => {
      await run(`SET TRANSACTION ISOLATION LEVEL ${isolation}`)
      const first = await session.send(given, { tx })
      expect(await session.send(given, { tx })).toMatchObject({ jobId: first.jobId, replayed: true })
      return first.jobId
    })
    await goesOut(jobId)
  })

  it("says to run it again whole, where another that its snapshot does not see has the key", async () => {
    const given = message()
    let jobId = ""
    const refusals: Array<unknown> = []
    const once = (begun: () => Promise<void>) =>
      library.transaction(async ({ run, tx }) => {
        await run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await run("SELECT count(*) FROM app")
        await begun()
        return session.send(given, { tx })
      })
    const collided = once(async () => {
      jobId = (await session.send(given)).jobId
    })
    await collided.catch((error) => refusals.push(error))
    expect(refusals).toMatchObject([
      {
        code: "transaction_conflict",
        message: expect.stringMatching(/40001.*run the whole transaction again/)
      }
    ])
    expect(await once(async () => {})).toMatchObject({ jobId, replayed: true })
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

  it("has one key to itself while it is open: another one waits, and has it where this one is undone", async () => {
    const given = message()
    let second: Promise<Sent> | undefined
    const undone = library.transaction(async ({ tx }) => {
      await session.send(given, { tx })
      second = library.transaction((open) => session.send(given, { tx: open.tx }))
      await waits()
      throw new Undone()
    })
    await expect(undone).rejects.toThrow(Undone)
    const sent = await second
    expect(sent?.replayed).toBe(false)
    await goesOut(sent?.jobId ?? "")
  })

  it("refuses another message under its key, and goes on", async () => {
    const given = message()
    const jobId = await library.transaction(async ({ run, tx }) => {
      const first = await session.send(given, { tx })
      expect(await codeOf(session.send({ ...given, reference: "other" }, { tx }))).toBe(
        "idempotency_conflict"
      )
      await run("INSERT INTO app VALUES (1)")
      return first.jobId
    })
    await goesOut(jobId)
  })

  it("has the app's rows and the sends after a refusal, which takes nothing with it", async () => {
    const before = await appsRows()
    const jobId = await library.transaction(async ({ run, tx }) => {
      await run("INSERT INTO app VALUES (1)")
      const stranger = { ...message(), to: [{ phone: "34699999999" }] }
      expect(await codeOf(session.send(stranger, { tx }))).toBe("consent_required")
      expect(await codeOf(session.send({ ...message(), to: [] }, { tx }))).toBe("invalid_request")
      expect(await codeOf(session.send({ ...message(), template: "nowhere" }, { tx }))).toBe(
        "invalid_request"
      )
      await run("INSERT INTO app VALUES (2)")
      return (await session.send(message(), { tx })).jobId
    })
    await goesOut(jobId)
    expect((await appsRows()) - before).toBe(2)
  })

  it("delays nobody's send for as long as it is open", async () => {
    await library.transaction(async ({ tx }) => {
      await session.send(message(), { tx })
      for (let turn = 0; turn < 3; turn++) {
        await goesOut((await session.send(message())).jobId)
        const another = await library.transaction((open) => session.send(message(), { tx: open.tx }))
        await goesOut(another.jobId)
      }
    })
  })

  it("takes two sends at once, one after the other", async () => {
    const both = await library.transaction(({ tx }) =>
      Promise.all([session.send(message(), { tx }), session.send(message(), { tx })])
    )
    for (const { jobId } of both) await goesOut(jobId)
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

  it.each([
    ["has failed before", "SELECT 1 / 0", /an earlier statement of the transaction failed/],
    ["is read only", "SET TRANSACTION READ ONLY", /the transaction is read only/],
    ["may not write the engine's tables", "SET LOCAL ROLE sendwright_test_stranger", /its role may not write/]
  ])("that %s says so, and shows nothing of the message", async (_, before, words) => {
    const secret = `${message().idempotencyKey}-secret`
    const refusals: Array<unknown> = []
    const undone = library.transaction(async ({ run, tx }) => {
      await run(before).catch(() => {})
      await session
        .send({ ...message(secret), reference: secret }, { tx })
        .catch((error) => refusals.push(error))
      throw new Undone()
    })
    await expect(undone).rejects.toThrow(Undone)
    expect(refusals).toMatchObject([
      { code: "transaction_unsupported", message: expect.stringMatching(words) }
    ])
    const told = inspect(refusals, { depth: null, showHidden: true })
    expect([told.includes(secret), told.includes(ana)]).toEqual([false, false])
  })

  it("whose statement fails shows nothing of the message", async () => {
    const secret = `${message().idempotencyKey}-secret`
    const refusals: Array<unknown> = []
    const undone = library.transaction(async ({ run, tx }) => {
      await run("SELECT set_config('sendwright.refused', 'yes', true)")
      await session
        .send({ ...message(secret), reference: secret }, { tx })
        .catch((error) => refusals.push(error))
      throw new Undone()
    })
    await expect(undone).rejects.toThrow(Undone)
    const cause = { cause: { code: "23514" }, fault: "content" }
    expect(refusals).toMatchObject([{ code: "unavailable", cause }])
    const told = inspect(refusals, { depth: null, showHidden: true })
    expect([told.includes(secret), told.includes(ana)]).toEqual([false, false])
  })

  it("of another database says which to give", async () => {
    const other = open(inject("postgres"))
    const refusals: Array<unknown> = []
    // Some libraries reject it by the statement that failed, also where that was caught.
    await other
      .transaction(async ({ tx }) => {
        await session.send(message(), { tx }).catch((error) => refusals.push(error))
      })
      .catch(() => {})
    const words = /Hand over one of the engine's own database/
    expect(refusals).toMatchObject([
      { code: "transaction_unsupported", message: expect.stringMatching(words) }
    ])
    await other.close()
  })

  it("that is over takes no send, also where the next one has its connection", async () => {
    const fresh = open(url)
    const over = await fresh.transaction(async ({ tx }) => tx)
    const notOpen = {
      code: "transaction_unsupported",
      message: expect.stringMatching(/no transaction is open/)
    }
    const refusals: Array<unknown> = []
    const refused = () => session.send(message(), { tx: over }).catch((error) => refusals.push(error))
    await refused()
    await fresh.transaction(async ({ run }) => {
      await run("INSERT INTO app VALUES (1)")
      if (fresh.hidesEnd !== true) await refused()
    })
    expect(refusals).toMatchObject(fresh.hidesEnd === true ? [notOpen] : [notOpen, notOpen])
    await fresh.close()
  })
})

describe("a process that is killed before its commit", () => {
  const ids = new Map<string, string>()

  beforeAll(async () => {
    const file = fileURLToPath(new URL("KilledApp.ts", import.meta.url))
    const given = [
      "--import",
      "tsx",
      "--conditions=@sendwright/source",
      file,
      url,
      session.id,
      secretKey,
      ana
    ]
    const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] })
    const exited = once(child, "exit")
    for await (const line of createInterface(child.stdout)) {
      const [name, jobId] = JSON.parse(line)
      ids.set(name, jobId)
      if (ids.size === Object.keys(libraries).length) child.kill("SIGKILL")
    }
    await exited
    expect([...ids.keys()].toSorted()).toEqual(Object.keys(libraries).toSorted())
  }, 60_000)

  it.each(Object.keys(libraries))(
    "leaves nothing of a transaction of %s, and its key is free",
    async (name) => {
      expect(await isThere(ids.get(name) ?? "")).toBe(false)
      const sent = await session.send(message(`killed-${name.replaceAll(" ", "-")}`))
      expect(sent.replayed).toBe(false)
      await goesOut(sent.jobId)
      expect(wentOut(ids.get(name) ?? "")).toBe(false)
    }
  )

  it("leaves no row, no lock and no transaction", async () => {
    expect(await ask("SELECT count(*) AS n FROM app WHERE n = 9")).toBe(0)
    const open = () => ask(`${connections} AND state LIKE 'idle in transaction%'`)
    await expect.poll(open, { timeout: 5000 }).toBe(0)
    await expect.poll(() => ask(locks), { timeout: 5000 }).toBe(0)
  })
})

describe("a client of the app's", () => {
  /** One whose columns come as no type of the engine's. */
  const reading = async (parse: (type: number, text: string) => unknown) => {
    const types = { getTypeParser: (type: number) => (text: string) => parse(type, text) }
    const client = new Pg.Client({ connectionString: url, types: types as Pg.CustomTypesConfig })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }
  const integers = new Set([20, 21, 23])

  it.each<[string, (type: number, text: string) => unknown]>([
    ["all as text", (_, text) => text],
    ["integers as bigints", (type, text) => (integers.has(type) ? BigInt(text) : text)],
    ["integers as numbers", (type, text) => (integers.has(type) ? Number(text) : text)],
    ["JSON parsed", (type, text) => (type === 114 || type === 3802 ? JSON.parse(text) : text)]
  ])("may read its columns otherwise: %s", async (_, parse) => {
    const client = await reading(parse)
    const given = message()
    await client.query("BEGIN")
    const first = await session.send(given, { tx: fromPg(client) })
    expect(await session.send(given, { tx: fromPg(client) })).toEqual({ ...first, replayed: true })
    await client.query("COMMIT")
    await goesOut(first.jobId)
  })

  it("may answer rows alone, without counts", async () => {
    const client = await reading((_, text) => text)
    const bare: PgClient = {
      query: async (text, values) => ({ rows: (await client.query(text, values)).rows })
    }
    await bare.query("BEGIN", [])
    const { jobId } = await session.send(message(), { tx: fromPg(bare) })
    await bare.query("COMMIT", [])
    await goesOut(jobId)
  })

  it("may rename columns and read texts as the app likes: Kysely's plugins", async () => {
    const plugins = [new CamelCasePlugin(), new ParseJSONResultsPlugin()]
    const pool = new Pg.Pool({ connectionString: url })
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }), plugins })
    const { jobId } = await db
      .transaction()
      .execute(async (trx) => session.send(message(), { tx: fromKysely(trx) }))
    await goesOut(jobId)
    await db.destroy()
  })

  it.each(["camel", "pascal", "kebab"] as const)("may rename columns: %s of postgres.js", async (how) => {
    const sql = Postgres(url, { transform: Postgres[how], onnotice: () => {} })
    const sending = await sql.begin((tx) => session.send(message(), { tx: fromPostgresJs(tx) }))
    await goesOut(sending.jobId)
    await sql.end()
  })

  it("may rename columns: `postProcessResponse` of Knex", async () => {
    const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const db = Knex({
      client: "pg",
      connection: url,
      postProcessResponse: (result) => ({
        ...result,
        rows: result.rows?.map((row: object) =>
          Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value]))
        )
      })
    })
    const { jobId } = await db.transaction((trx) => session.send(message(), { tx: fromKnex(trx) }))
    await goesOut(jobId)
    await db.destroy()
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
    ["fromPrisma", () => fromPrisma(anything({ $queryRawUnsafe: () => {}, $connect: () => {} }))],
    ["fromTypeorm", () => fromTypeorm(anything({ query: () => {} }))]
  ])("is refused by %s with what to give", (name, give) => {
    expect(give).toThrow(expect.objectContaining({ code: "transaction_unsupported" }))
    expect(give).toThrow(new RegExp(`^${name} takes .+`))
  })

  it.each([
    ["fromDrizzle", { rollback: () => {}, session: {}, query: {} }],
    ["fromKysely", { executeQuery: () => {}, isTransaction: true }],
    ["fromKnex", Object.assign(() => {}, { raw: () => {}, isCompleted: () => false })],
    ["fromPrisma", { $queryRawUnsafe: () => {} }],
    ["fromTypeorm", { query: () => {}, queryRunner: { isTransactionActive: true, query: () => {} } }],
    ["fromPostgresJs", Object.assign(() => {}, { unsafe: () => {}, savepoint: () => {} })]
  ])("is told by fromPg to be for %s, if it is", (name, tx) => {
    expect(() => fromPg(anything(tx))).toThrow(`What is given here is for ${name}.`)
    expect(() => fromDrizzle(anything({ query: () => {} }))).toThrow("What is given here is for fromPg.")
  })

  it("is refused by a send, too", async () => {
    expect(await codeOf(session.send(message(), { tx: anything({ query: () => {} }) }))).toBe(
      "transaction_unsupported"
    )
  })
})

describe("a pool of the app's", () => {
  it("gives a send its transaction's connection, and no second one", async () => {
    const pool = new Pg.Pool({ connectionString: url, max: 1 })
    const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
    const other = await createSendwright({ ...options, store: postgres({ pool }) })
    const client = await pool.connect()
    await client.query("BEGIN")
    const { jobId } = await other.session(session.id).send(message(), { tx: fromPg(client) })
    await client.query("COMMIT")
    client.release()
    await goesOut(jobId)
    await other.stop({ graceMs: 0 })
    await pool.end()
  })

  it("may be another one than the engine's, and the send is in the transaction all the same", async () => {
    const [first, second] = [new Pg.Pool({ connectionString: url }), new Pg.Pool({ connectionString: url })]
    const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
    const other = await createSendwright({ ...options, store: postgres({ pool: first }) })
    const client = await second.connect()
    await client.query("BEGIN")
    const { jobId } = await other.session(session.id).send(message(), { tx: fromPg(client) })
    expect(await isThere(jobId)).toBe(false)
    await client.query("COMMIT")
    client.release()
    await goesOut(jobId)
    await other.stop({ graceMs: 0 })
    await Promise.all([first.end(), second.end()])
  })

  it.each([
    ["for as long as it takes", {}],
    ["for a moment", { connectionTimeoutMillis: 100 }]
  ])(
    "whose only client is held is named, where the pool waits %s",
    async (_, some) => {
      const pool = new Pg.Pool({ connectionString: url, max: 1, ...some })
      const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
      const other = await createSendwright({ ...options, store: postgres({ pool }) })
      const client = await pool.connect()
      await expect(other.session(session.id).send(message())).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(/the pool has one connection, and it is in use.*larger `max`/)
      })
      client.release()
      expect((await other.session(session.id).send(message())).replayed).toBe(false)
      await other.stop({ graceMs: 0 })
      await pool.end()
    },
    20_000
  )

  it("is enough for Sendwright, which leaves it open, and migrates it when told", async () => {
    const fresh = await Effect.runPromise(Scope.make())
    const { freshDatabase } = await import("../../../test/support/Postgres.ts")
    const own = await Effect.runPromise(Scope.extend(freshDatabase, fresh))
    const pool = new Pg.Pool({ connectionString: own })
    pool.on("error", () => {})
    const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
    const without = createSendwright({ ...options, store: postgres({ pool }) })
    expect(await codeOf(without)).toBe("migration_required")
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
