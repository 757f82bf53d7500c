/**
 * No secret leaves a host, and nothing of people where it does not belong: canaries go everywhere they can, and then all
 * that came out is looked through. `Canaries` says what may be where.
 */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine, Worker } from "@sendwright/core"
import { InFlight, Routes, Steps } from "@sendwright/http/server"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import Pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EngineLayer from "../../packages/host/src/EngineLayer.ts"
import * as HostConfig from "../../packages/host/src/HostConfig.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { start } from "../support/TestHost.ts"
import * as Canaries from "./Canaries.ts"
import { forgery, run, type Subject } from "./Scenario.ts"

interface Found {
  readonly canaries: Canaries.Canaries
  readonly logs: string
  readonly problems: ReadonlyArray<string>
  readonly metrics: string
  readonly database: string
}

const settings = (canaries: Canaries.Canaries) => ({
  ADMIN_TOKEN: canaries.adminToken,
  SECRET_KEY: canaries.masterKey,
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  LOG_LEVEL: "trace"
})

/** Of latin1, so that no byte is lost. */
const bytesOf = (folder: string): string =>
  readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "latin1"))
    .join("\n")

/** Every row of every table as text. */
const rowsOf = async (url: string): Promise<string> => {
  const client = new Pg.Client(url)
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
    )
    const rows: Array<string> = []
    for (const { name } of tables.rows) {
      const found = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      for (const { row } of found.rows) rows.push(row)
    }
    return rows.join("\n")
  } finally {
    await client.end()
  }
}

const breakTables = async (url: string): Promise<void> => {
  const client = new Pg.Client(url)
  await client.connect()
  await client.query("ALTER SCHEMA public RENAME TO away")
  await client.end()
}

/** A host of its own process. Its database goes away in the end, while it is asked for all that it was before. */
const ofProcess = async (
  environment: Readonly<Record<string, string>>,
  database: () => Promise<string>,
  breakDatabase: () => Promise<void>
): Promise<Found> => {
  const canaries = Canaries.make()
  const host = await start({ ...settings(canaries), ...environment })
  try {
    const { again, metrics, problems } = await run({ ...host, adminToken: canaries.adminToken }, canaries)
    const kept = await database()
    await breakDatabase()
    await again()
    await host.stop()
    return { canaries, logs: host.output(), problems, metrics, database: kept }
  } catch (cause) {
    host.signal("SIGKILL")
    throw new Error(host.output(), { cause })
  }
}

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

const check = (name: string, find: () => Promise<Found>, isLine: (line: string) => boolean): void => {
  describe(name, () => {
    let found: Found
    beforeAll(async () => {
      found = await find()
    }, 90_000)

    it("writes no canary into its log, whatever failed", () => {
      const expected = [
        "An attempt leaves",
        "was disconnected: credentials_rejected",
        "A request failed",
        "Answered"
      ]
      expect(expected.filter((text) => !found.logs.includes(text))).toEqual([])
      expect(Canaries.escaped(found.canaries.all, "logs", found.logs)).toEqual([])
    })

    it("writes lines that nobody forges", () => {
      expect(lines(found.logs).filter((line) => !isLine(line))).toEqual([])
      expect(lines(found.logs).filter((line) => line.startsWith(forgery))).toEqual([])
    })

    it("puts no canary into a problem but a tenant's own", () => {
      const all = found.problems.join("\n")
      const expected = [401, 403, 404, 409, 422, 503].map((status) => `"status":${status}`)
      expect([...expected, "[hidden]"].filter((text) => !all.includes(text))).toEqual([])
      expect(Canaries.present(found.canaries.all, "problems", all)).toContain("message text")
      expect(Canaries.escaped(found.canaries.all, "problems", all)).toEqual([])
    })

    it("puts no canary into its metrics", () => {
      expect(found.metrics).toContain("sendwright_")
      expect(Canaries.escaped(found.canaries.all, "metrics", found.metrics)).toEqual([])
    })

    it("keeps no secret in its database as it is", () => {
      expect(Canaries.present(found.canaries.all, "database", found.database)).toEqual(
        expect.arrayContaining(["recipient", "variable", "message text", "query of a webhook's URL"])
      )
      expect(Canaries.escaped(found.canaries.all, "database", found.database)).toEqual([])
    })
  })
}

const isPretty = (line: string): boolean =>
  /^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) \(#/.test(line) ||
  line.startsWith("    ") ||
  /^timestamp=\S+ (level=DEBUG fiber= message=Answered|level=INFO fiber= message=Refused) /.test(line)

const isJson = (line: string): boolean => {
  try {
    const event: unknown = JSON.parse(line)
    return typeof event === "object" && event !== null && "logLevel" in event && "message" in event
  } catch {
    return false
  }
}

const folder = mkdtempSync(join(tmpdir(), "sendwright-canary-"))
const scope = Effect.runSync(Scope.make())
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

check(
  "a host on SQLite with a pretty log",
  () =>
    ofProcess(
      { LOG_FORMAT: "pretty", DATABASE_URL: `sqlite:${join(folder, "host.db")}` },
      async () => bytesOf(folder),
      async () => renameSync(join(folder, "host.db"), join(folder, "away.db"))
    ),
  isPretty
)

check(
  "a host on PostgreSQL with a JSON log",
  async () => {
    const url = await Effect.runPromise(Scope.extend(freshDatabase, scope))
    return ofProcess(
      { LOG_FORMAT: "json", DATABASE_URL: url },
      () => rowsOf(url),
      () => breakTables(url)
    )
  },
  isJson
)

/** All that a tracer is told of a span. */
const told = (value: unknown): string => {
  const seen = new Set<unknown>()
  const walk = (each: unknown): string => {
    if (each instanceof Uint8Array) return Buffer.from(each).toString("latin1")
    if (typeof each !== "object" || each === null) return String(each)
    if (seen.has(each)) return ""
    seen.add(each)
    const own = each instanceof Error ? [each.message, each.stack, each.cause] : []
    const items = each instanceof Map ? [...each.entries()] : Object.values(each)
    return [...own, ...items].map(walk).join("\n")
  }
  return walk(value)
}

describe("a tracer of every request", () => {
  it("is told no canary, and neither is the log at trace level", async () => {
    const canaries = Canaries.make()
    const spans: Array<Tracer.Span> = []
    const events: Array<unknown> = []
    const ended: Array<unknown> = []
    const program = Effect.gen(function* () {
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        context: native.context,
        span: (...given) => {
          const span = native.span(...given)
          const { end, event } = span
          span.end = (at, exit) => {
            ended.push(exit)
            end.call(span, at, exit)
          }
          span.event = (...all) => {
            events.push(all)
            event.apply(span, all)
          }
          spans.push(span)
          return span
        }
      })
      const provided = ConfigProvider.fromMap(
        new Map(Object.entries({ ...settings(canaries), DATABASE_URL: "sqlite::memory:" }))
      )
      const config = yield* Effect.withConfigProvider(HostConfig.load, provided)
      const context = yield* Layer.build(
        EngineLayer.layer(config, { attempts: InFlight.make(), webhooks: InFlight.make() })
      )
      const engine = Context.get(context, Engine.Engine)
      yield* Context.get(context, Worker.Worker).start
      const base = "http://canary.example"
      const handle = yield* Steps.make({
        engine,
        ...Routes.ofApi(engine, base),
        baseUrl: base,
        adminToken: Redacted.make(canaries.adminToken),
        stopping: MutableRef.make(false),
        spanEvery: 1
      })
      const runtime = yield* Effect.withTracerEnabled(Effect.withTracer(Effect.runtime(), tracer), false)
      const subject: Subject = {
        base,
        adminToken: canaries.adminToken,
        request: async (path, options = {}) => {
          const { body, headers = {}, raw } = options
          const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
          const bytes = Buffer.from(content ?? "")
          const given = Object.entries({
            ...(content === undefined ? {} : { "content-type": "application/json" }),
            ...headers
          })
          const request = {
            method: options.method ?? (content === undefined ? "GET" : "POST"),
            url: path,
            headers: Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value])),
            address: "127.0.0.1",
            hasBody: content !== undefined,
            body: () => Effect.succeed(bytes)
          }
          const answer = await Runtime.runPromise(runtime)(handle(request))
          const text = String(answer.body)
          return {
            status: answer.status,
            headers: new Headers(),
            text,
            json: text.startsWith("{") ? JSON.parse(text) : undefined
          }
        }
      }
      return yield* Effect.promise(() => run(subject, canaries))
    })
    const logged: Array<string> = []
    const logger = Logger.map(Logger.stringLogger, (line) => void logged.push(line))
    await Effect.runPromise(
      program.pipe(
        Effect.scoped,
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Logger.withMinimumLogLevel(LogLevel.All),
        Effect.locally(FiberRef.currentTracerEnabled, true)
      )
    )
    expect(spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["POST request", "GET request", "Engine.hook"])
    )
    const refusals = spans.map(({ attributes }) => attributes.get("error.type"))
    expect(refusals).toEqual(
      expect.arrayContaining(["invalid_credentials", "session_disconnected", "send_failed", "SendFailed"])
    )
    const all = [
      ...spans.map(({ attributes, links, name }) => told([name, attributes, links])),
      told(events),
      // Tracers write the message and the stack of what ended a span.
      ...ended.flatMap((exit) => (Exit.isExit(exit) && Exit.isFailure(exit) ? [String(exit.cause)] : []))
    ].join("\n")
    expect(Canaries.escaped(canaries.all, "spans", all)).toEqual([])
    expect(Canaries.escaped(canaries.all, "logs", logged.join("\n"))).toEqual([])
  }, 60_000)
})
