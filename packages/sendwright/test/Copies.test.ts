/** Two copies of the package in one process: what one makes is known to the other. */
import { spawnSync } from "node:child_process"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Store } from "sendwright"
import { memory, SendwrightError, sandbox } from "sendwright"
import { createHandler, toNodeHandler } from "sendwright/http"
import { postgres } from "sendwright/postgres"
import { fromBetterSqlite3, migrate, sqlite } from "sendwright/sqlite"
import { assertions, createTestSendwright } from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"
import { migratedDatabase } from "../../../test/support/Postgres.ts"
import { bundle, copy } from "./Copy.ts"
import * as OnPostgres from "./PostgresLibraries.ts"
import * as OnSqlite from "./SqliteLibraries.ts"
import { ana, furnish, list, open, secretKey } from "./Support.ts"

const senders = [sandbox({ latencyMs: 0, receiptDelayMs: 0 })]
const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }

/** The other copy, made once. */
const copied = copy()

/** An engine of the other copy, over what this one made. */
const other = async (store: Store) => {
  const { sendwright } = await copied
  const sw = await sendwright.createSendwright({ store, senders, secretKey, logLevel: "none" })
  onTestFinished(() => sw.stop({ graceMs: 0 }))
  return { sw, ...(await furnish(sw)) }
}

const refusal = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => "nothing",
    (error: unknown) => error
  )

const database = async (): Promise<string> => {
  const scope = await Effect.runPromise(Scope.make())
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runPromise(Scope.extend(migratedDatabase, scope))
}

describe("an engine of one copy", () => {
  it("takes the other's store and senders, and sends", async () => {
    const { session, sw } = await other(memory())
    const { jobId } = await session.send(message)
    await sw.drain()
    expect((await session.job(jobId)).results).toMatchObject([{ status: "delivered" }])
  })

  it("sends in a transaction by each of the other's adapters of PostgreSQL", async () => {
    const url = await database()
    const { session } = await other(postgres({ url }))
    for (const [name, connect] of Object.entries(OnPostgres.libraries)) {
      const library = connect(url)
      const idempotencyKey = name.replaceAll(" ", "-")
      const sent = await library.transaction(({ tx }) => session.send({ ...message, idempotencyKey }, { tx }))
      await library.close()
      expect([name, (await session.job(sent.jobId)).recipients]).toEqual([name, 1])
    }
  })

  it("sends in a transaction by each of the other's adapters of SQLite", async () => {
    for (const [name, connect] of Object.entries(OnSqlite.libraries)) {
      const library = connect(":memory:")
      const { session } = await other(sqlite({ database: library.database, migrate: true }))
      const sent = library.transaction(({ tx }) => session.sendSync(message, { tx }))
      expect([name, (await session.job(sent.jobId)).recipients]).toEqual([name, 1])
    }
  })

  it("refuses what is no transaction of its store, whoever made it", async () => {
    const { session } = await other(memory())
    const handle = new Database(":memory:")
    const made = await refusal(session.send(message, { tx: fromBetterSqlite3(handle) }))
    expect(made).toMatchObject({ code: "transaction_unsupported", message: /memory\(\) has no transactions/ })
    const tx = { database: "sqlite" } as const
    expect(await refusal(session.send(message, { tx }))).toMatchObject({ message: /by an adapter/ })
  })

  it("is mounted by the other, whose requests it checks and stops", async () => {
    const { session, sw } = await other(memory())
    const handler = createHandler(sw)
    expect(toNodeHandler((await copied).http.createHandler(sw))).toBeTypeOf("function")
    const key = await sw.admin.keys.issue({ sessionId: session.id })
    const [found] = await list(session.templates())
    const headers = {
      "content-type": "application/json",
      "x-public-key": key.publicKey,
      "x-secret-key": key.secretKey,
      "idempotency-key": "1"
    }
    const post = (body: unknown) =>
      handler(
        new Request("http://localhost/api/v1/template-messages/send", {
          method: "POST",
          headers,
          body: JSON.stringify(body)
        })
      )
    expect(await (await post({ template_id: "x" })).json()).toMatchObject({ code: "invalid_request" })
    expect((await post({ template_id: found?.templateId, recipients: [{ phone: ana }] })).status).toBe(202)
    await sw.stop()
    expect((await post({})).status).toBe(503)
  })

  it("migrates the other's store", async () => {
    const { sqlite: other } = await copied
    const handle = new Database(":memory:")
    await other.migrate({ database: handle })
    await migrate({ database: handle })
    expect(handle.prepare("SELECT count(*) AS n FROM sendwright_job").get()).toEqual({ n: 0 })
  })
})

describe("an error of one copy", () => {
  it("is told by the other, by `is`, by its name and by `instanceof`, and is none of a class that extends it", async () => {
    const { session } = await other(memory())
    const error = await refusal(session.job("01900000-0000-7000-8000-000000000000"))
    expect(SendwrightError.is(error)).toBe(true)
    expect(error).toBeInstanceOf(SendwrightError)
    expect(error).toMatchObject({ name: "SendwrightError", code: "not_found" })
    class Own extends SendwrightError {}
    expect(error).not.toBeInstanceOf(Own)
    expect(new Own("x", "x")).toBeInstanceOf(Own)
    for (const none of [new Error("x"), { name: "SendwrightError" }, null, "SendwrightError"])
      expect([SendwrightError.is(none), none instanceof SendwrightError]).toEqual([false, false])
  })

  it("is written with its name, code and message", async () => {
    const { session } = await other(memory())
    const error = await refusal(session.send({ ...message, to: [{ phone: "34699999999" }] }))
    const written = JSON.parse(JSON.stringify(error))
    expect(written).toMatchObject({
      name: "SendwrightError",
      code: "consent_required",
      message: expect.stringContaining("consent"),
      issues: [{ path: "/to/0/phone" }]
    })
    expect(Object.keys(written)).toEqual(["name", "code", "message", "issues", "retryAfterMs", "details"])
  })
})

describe("a kit of one copy", () => {
  it("works over the other's store, and with its matchers", async () => {
    const handle = new Database(":memory:")
    const { testing } = await copied
    const t = await testing.createTestSendwright({ store: sqlite({ database: handle, migrate: true }) })
    onTestFinished(() => t.stop())
    await t.consent(ana)
    handle.transaction(() => t.session.sendSync(message, { tx: fromBetterSqlite3(handle) }))()
    await t.advance("1 min")
    assertions.toHaveBeenDelivered(t.person(ana), { template: "hello", times: 1 })
    assertions.toHaveSent(t, 1, ana)
    expect(createHandler(t.sw)).toBeTypeOf("function")
    await t.person(ana).replies("STOP")
    const refused = await refusal(t.send({ to: ana }))
    expect(SendwrightError.is(refused)).toBe(true)
    expect(t.person(ana).story()).toContain("refused: hello (consent_required)")
  })
})

describe("one memory()", () => {
  it("that two engines were given, of two copies too, is one store", async () => {
    const store = memory()
    const { session, sw } = await other(store)
    const second = await open({ store })
    const { jobId } = await second.session(session.id).send(message)
    await second.stop()
    await sw.drain()
    expect((await session.job(jobId)).results).toMatchObject([{ status: "delivered" }])
    const t = await createTestSendwright({ store: memory() })
    onTestFinished(() => t.stop())
    expect(await list(t.sw.admin.accounts.list())).toHaveLength(1)
  })
})

describe("a bundle", () => {
  const program = `
    import { createSendwright, sandbox } from "sendwright"
    import { sqlite } from "sendwright/sqlite"
    const secretKey = ${JSON.stringify(secretKey)}
    const store = sqlite({ file: ":memory:" })
    createSendwright({ store, senders: [sandbox()], secretKey }).then((sw) => sw.stop(), (error) => console.log(JSON.stringify(error), error.cause.message))
  `
  const said = async (external: Array<string>) => {
    const { file, remove } = await bundle(program, external)
    onTestFinished(remove)
    return spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 30_000 }).stdout
  }

  it("that has the drivers' sources, which do not work in one, says what happened", async () => {
    const told = await said([])
    expect(told).toContain('Dynamic require of \\"fs\\" is not supported')
    expect(told).toContain("In a bundle leave them out of it")
    expect(told).not.toContain("npm install")
  })

  it("that leaves them out works", async () => {
    expect(await said(["better-sqlite3"])).toBe("")
  })
})
