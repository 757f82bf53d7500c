/** `/metrics`, as those read it for whom it is there. */
import { spawnSync } from "node:child_process"
import { describe, expect, it } from "@effect/vitest"
import { Exposition, Metrics } from "@sendwright/core/adapter"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import parse from "parse-prometheus-text-format"
import { growth, value } from "../../../../test/support/Metered.ts"
import { at, sendBody, template } from "../../../../test/support/TestHost.ts"
import { formatOf } from "../../src/http/Routes.ts"
import * as Handler from "./Handler.ts"

const phone = "34600001234"

/** A host whose API is asked, and whose metrics are read. */
const host = Effect.gen(function* () {
  const { account, credentials, engine, handle, session } = yield* Handler.make()
  const ask = (method: string, url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    handle({
      method,
      url,
      headers: { ...credentials, "content-type": "application/json", ...headers },
      hasBody: body !== undefined,
      body: () => Effect.succeed(Buffer.from(JSON.stringify(body) ?? ""))
    })
  const read = (accept = "text/plain") =>
    Effect.map(ask("GET", "/metrics", undefined, { accept }), ({ body, headers }) => ({
      type: headers["content-type"],
      text: String(body)
    }))
  /** A send that is accepted and delivered, one that is refused, and a route that is not there. */
  const flow = Effect.gen(function* () {
    const imported = yield* ask("PUT", `/admin/v1/sessions/${session.id}/templates`, {
      templates: [template]
    })
    yield* engine.admin.consents.record(account.id, [{ phone, source: "test" }])
    const id = at(JSON.parse(String(imported.body)), "templates", 0, "template_id")
    const send = sendBody(Number(id), phone)
    const answers = [
      yield* ask("POST", "/api/v1/template-messages/send", send, { "idempotency-key": "the-first" }),
      yield* ask("POST", "/api/v1/template-messages/send", {}, { "idempotency-key": "the-second" }),
      yield* ask("GET", `/api/v1/nothing/${phone}`)
    ]
    yield* engine.drain
    return answers.map(({ status }) => status)
  })
  return { flow, read }
})

const names = Object.values(Metrics.keys).map(({ name }) => name)

/** The lines of a text that are a sample of ours. */
const samples = (text: string): ReadonlyArray<string> =>
  text.split("\n").filter((line) => line.startsWith(Metrics.prefix))

describe("the metrics", () => {
  it.effect(
    "are those that are said, each with its type and its help, as a parser of Prometheus reads them",
    () =>
      Effect.gen(function* () {
        const { flow, read } = yield* host
        expect(yield* flow).toEqual([202, 422, 404])
        const { text, type } = yield* read()
        expect(type).toBe("text/plain; version=0.0.4; charset=utf-8")
        const families = parse(text)
        const ours = families.filter(({ name }) => name.startsWith(Metrics.prefix))
        expect(ours.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([])
        expect(ours.length).toBeGreaterThan(8)
        expect(
          ours.filter(({ help, metrics, type }) => help === "" || type === "UNTYPED" || metrics.length === 0)
        ).toEqual([])
        expect(families.filter(({ name }) => name.startsWith("effect_"))).toEqual([])
      }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("count what a send over the API brings, and refusals by their codes", () =>
    Effect.gen(function* () {
      const { flow } = yield* host
      const route = "/api/v1/template-messages/send"
      const counts = Effect.all([
        value("accepted_recipients_total"),
        value("attempts_total", { outcome: "accepted" }),
        value("http_request_duration_seconds", { route, status: "202" }),
        value("refusals_total", { code: "invalid_request" }),
        value("refusals_total", { code: "not_found" })
      ])
      const before = yield* counts
      yield* flow
      const after = yield* counts
      expect(after.map((count, place) => count - (before[place] ?? 0))).toEqual([1, 1, 1, 1, 1])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("have no label with an id or a number of anybody", () =>
    Effect.gen(function* () {
      const { flow, read } = yield* host
      yield* flow
      const labels = samples((yield* read()).text).flatMap((line) => [...line.matchAll(/"([^"]*)"/g)])
      const told = labels.map(([, text = ""]) => text)
      expect(told.filter((text) => /\d{8}|[0-9a-f]{8}-/.test(text))).toEqual([])
      expect(told).toContain("/api/v1/template-messages/send")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("come as OpenMetrics to who asks for that", () =>
    Effect.gen(function* () {
      const { flow, read } = yield* host
      yield* flow
      const { text, type } = yield* read("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.3")
      expect(type).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8")
      expect(text.endsWith("\n# EOF\n")).toBe(true)
      expect(text).toMatch(/^# TYPE sendwright_attempts counter$/m)
      expect(text).toMatch(/^sendwright_attempts_total\{outcome="accepted"\} \d+$/m)
      expect(text).toMatch(
        /^# TYPE sendwright_attempt_duration_seconds histogram\n# UNIT sendwright_attempt_duration_seconds seconds$/m
      )
      // A series has the same name in both.
      expect(samples(text).map((line) => line.split(" ")[0])).toEqual(
        expect.arrayContaining(['sendwright_attempt_duration_seconds_bucket{le="1.0"}'])
      )
    }).pipe(Effect.provide(TestEngine.layer))
  )

  const promtool = spawnSync("promtool", ["--version"], { encoding: "utf8" })
  const isInstalled = promtool.error === undefined
  it.effect(
    isInstalled
      ? "are as `promtool check metrics` wants them"
      : "could not be checked by `promtool check metrics`, which is not installed here",
    () =>
      Effect.gen(function* () {
        const { flow, read } = yield* host
        yield* flow
        const { text } = yield* read()
        expect(text).toMatch(/^# HELP sendwright_attempts_total ./m)
        if (!isInstalled) return
        const ours = text.split("\n").filter((line) => line === "" || line.includes(Metrics.prefix))
        const checked = spawnSync("promtool", ["check", "metrics"], {
          input: ours.join("\n"),
          encoding: "utf8"
        })
        expect([checked.status, checked.stdout, checked.stderr]).toEqual([0, "", ""])
      }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("who asks for OpenMetrics", () => {
  it.each([
    [undefined, "prometheus"],
    ["*/*", "prometheus"],
    ["application/openmetrics-text;q=0", "prometheus"],
    ["application/openmetrics-text;q=0.2, text/plain;q=0.9", "prometheus"],
    ["application/openmetrics-text; version=1.0.0", "openMetrics"],
    ["text/plain;version=0.0.4;q=0.5,APPLICATION/OpenMetrics-Text;version=1.0.0;q=0.5", "openMetrics"]
  ])("says so by %s: %s", (accept, format) => {
    expect(formatOf(accept)).toBe(format)
  })
})

describe("a metric of a program's own", () => {
  it.effect("is told beside the others, in letters that a metric may have", () =>
    Effect.gen(function* () {
      const own = Metric.tagged(
        Metric.counter("shop.orders", { description: 'of a "day"\nor \\ two' }),
        "a-b",
        'x"\\\ny'
      )
      expect(
        yield* growth(
          Effect.map(Metric.value(own), ({ count }) => count),
          Metric.increment(own)
        )
      ).toBe(1)
      const text = yield* Exposition.text("prometheus")
      expect(text).toContain('# HELP shop_orders of a "day"\\nor \\\\ two\n# TYPE shop_orders counter\n')
      expect(text).toMatch(/^shop_orders\{a_b="x\\"\\\\\\ny"\} \d+$/m)
      expect(yield* Exposition.text("openMetrics")).toMatch(
        /^# TYPE shop_orders counter\nshop_orders_total\{/m
      )
    })
  )
})
