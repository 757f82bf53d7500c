/** A bad night, asked for over a socket and on the command line: each thing that needs somebody is told (contract.md §12). */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { AddressPolicy, Engine, Instant, Sandbox, SecretBox, Sender, type Stores } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import {
  AccountStore,
  ApiKeyStore,
  InboundStore,
  JobStore,
  SessionStore,
  TemplateStore,
  WebhookStore
} from "@sendwright/core/storage"
import { Fixtures, RecordingTransport } from "@sendwright/core/testing"
import { handlers } from "@sendwright/http"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { describe, expect, it } from "vitest"
import * as Screen from "../../packages/host/src/cli/Screen.ts"
import * as InProcess from "../../packages/host/test/cli/InProcess.ts"
import { at, items } from "../support/TestHost.ts"

const SENDWRIGHT_TOKEN = "an-admin-token-of-24-and-more"
const minute = 60_000

const layer = Engine.layer({ process: { role: "api", version: "1.2.3" } }).pipe(
  Layer.provideMerge(Sqlite.layer({ filename: ":memory:" })),
  Layer.provide(Layer.mergeAll(RecordingTransport.layer, SecretBox.layerRandom, AddressPolicy.layer([]))),
  Layer.provide(Sender.layer(Sandbox.make()))
)

type Services = Engine.Engine | Stores.Stores

/** Serves the engine on a port for as long as the test lasts. */
const served = <A, E>(test: (base: string) => Effect.Effect<A, E, Services>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { node } = yield* handlers({ adminToken: Redacted.make(SENDWRIGHT_TOKEN), prefix: "/msg" })
        const server = createServer(node)
        yield* Effect.async<void>((resume) => {
          server.listen(0, "127.0.0.1", () => resume(Effect.void))
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        const { port } = server.address() as AddressInfo
        return yield* test(`http://127.0.0.1:${port}/msg`)
      })
    ).pipe(Effect.provide(layer))
  )

const read = (base: string, path: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${base}${path}`, { headers: { authorization: `Bearer ${SENDWRIGHT_TOKEN}` } })
    return { status: answer.status, json: (await answer.json()) as unknown }
  })

/** An account with a connected session. */
const owner = Effect.gen(function* () {
  const account = Fixtures.account()
  const session = Fixtures.session(account.id)
  const key = Fixtures.apiKey(session.id)
  yield* (yield* AccountStore.AccountStore).create(account)
  yield* (yield* SessionStore.SessionStore).create(session)
  yield* (yield* ApiKeyStore.ApiKeyStore).create(key)
  return { accountId: account.id, sessionId: session.id, publicKey: key.publicKey }
})

/** Another process that sends, which said that it lives so long ago. */
const lives = Effect.fnUntraced(function* (worker: string, agoMs: number) {
  const now = yield* Instant.now
  const process = {
    version: "1.2.3",
    role: "worker",
    slots: 8,
    startedAt: Instant.before(now, minute),
    saidAt: Instant.before(now, agoMs)
  }
  yield* (yield* JobStore.JobStore).heartbeat({
    workers: [worker],
    beats: 1,
    dispatchesAt: Instant.before(now, agoMs),
    process
  })
})

const night = Effect.gen(function* () {
  const now = yield* Instant.now
  const jobs = yield* JobStore.JobStore
  const claim = (at: Instant.Instant, news: Parameters<typeof jobs.settleAndClaim>[0]["news"] = []) =>
    jobs.settleAndClaim({ now: at, settlements: [], news, claim: { worker: "here.1", limit: 250 } })
  yield* lives("here.1", 0)
  yield* lives("dead.1", 20_000)

  // A paused template, with two who wait for it.
  const templates = yield* TemplateStore.TemplateStore
  const stopped = yield* owner
  const importAs = (status: string) =>
    templates.importAll({
      ...stopped,
      contents: [Fixtures.template({ name: "other" }), Fixtures.template({ status })],
      now
    })
  const [, template] = yield* importAs("approved")
  const content = {
    kind: "template",
    templateId: template?.templateId ?? 0,
    template: Fixtures.template()
  } as const
  yield* jobs.accept(Fixtures.send(stopped, { phones: 2, now, content }))
  yield* importAs("paused")
  yield* claim(now)

  // One of whom nobody knows whether it got the message.
  const unsure = yield* owner
  const doubted = Fixtures.send(unsure, { now })
  yield* jobs.accept(doubted)
  const { claimed } = yield* claim(now)
  const failure = { code: "timeout", provider_code: null, message: "No answer came.", permanent: false }
  yield* jobs.settleAndClaim({
    now,
    settlements: claimed.map(({ fence, jobId }) => ({
      jobId,
      fence,
      index: 0,
      outcome: JobStore.Outcome.Unknown({ failure })
    })),
    claim: null
  })

  // A platform that is out, with three who wait for it, and a session whose token is over.
  const out = yield* owner
  const kept = Fixtures.send(out, { phones: 3, now })
  yield* jobs.accept(kept)
  yield* jobs.settleAndClaim({
    now,
    settlements: [],
    news: [{ sessionId: out.sessionId, what: "OutageBegan" }],
    claim: null
  })
  const lost = yield* owner
  yield* (yield* SessionStore.SessionStore).transition({
    id: lost.sessionId,
    state: "disconnected",
    reason: "The access token is over.",
    now
  })

  // A receiver that fails, and one that its failures disabled.
  const webhooks = yield* WebhookStore.WebhookStore
  yield* webhooks.create(Fixtures.endpoint(out.accountId, { failingSince: Instant.before(now, 2 * minute) }))
  yield* webhooks.create(
    Fixtures.endpoint(out.accountId, { enabled: false, disabledReason: "It failed for 5 days." })
  )

  // A day's quota that is used up, and a hook that nobody understood.
  const full = yield* owner
  const accounts = yield* AccountStore.AccountStore
  const account = yield* accounts.find(full.accountId)
  if (account !== null)
    yield* accounts.change({
      id: account.id,
      change: { plan: { ...account.plan, dailyTemplateRecipients: 4 } },
      now
    })
  const used = Fixtures.send(full, { phones: 4, now })
  yield* jobs.accept(used)
  yield* claim(now)
  yield* (yield* InboundStore.InboundStore).retainUnread({
    sessionId: out.sessionId,
    parts: [{ id: "u", field: "new", reason: "not known", content: "{}", isCut: false, receivedAt: now }]
  })
  return { out, phones: [...kept.recipients, ...used.recipients].map(({ address: phone }) => phone) }
})

const terminal = Screen.make({ isTTY: true, columns: 100 }, { isTTY: true }, "1")

describe("a host that is looked at", () => {
  it("needs nobody while all is well", () =>
    served((base) =>
      Effect.gen(function* () {
        yield* owner
        yield* lives("here.1", 0)
        const { json, status } = yield* read(base, "/admin/v1/overview")
        expect(status).toBe(200)
        expect(json).toMatchObject({
          ok: true,
          overview: {
            version: "1.2.3",
            rates: { accepted_per_minute: 0, outcomes_per_minute: 0 },
            waiting: { total: 0, total_is_exact: true, oldest_at: null, by: [] },
            attention: [],
            sessions: [{ state: "connected", reason: null, waiting: 0, empty_at: null }],
            webhooks: { healthy: 0, failing: 0, disabled: 0, waiting: 0, p95_ms: null },
            storage: { kind: "sqlite" }
          }
        })
        expect(items(json, "overview", "minutes")).toHaveLength(60)
        expect((yield* read(base, "/admin/v1/health/report")).json).toMatchObject({
          report: { verdict: "ok", lines: [] }
        })
        const environment = { SENDWRIGHT_URL: base, SENDWRIGHT_TOKEN }
        const health = yield* Effect.promise(() => InProcess.run(environment, ["health"], terminal))
        expect(health).toMatchObject({ code: 0, out: "ok  Sendwright 1.2.3\n" })
        const shown = yield* Effect.promise(() => InProcess.run(environment, ["overview"], terminal))
        expect(shown.out).toContain("Nothing needs you.")
        expect(shown.code).toBe(0)
      })
    ))

  it("tells everything of a bad night, the worst first, and nobody's number", () =>
    served((base) =>
      Effect.gen(function* () {
        const { out, phones } = yield* night
        const { json } = yield* read(base, "/admin/v1/overview")
        const attention = items(json, "overview", "attention")
        expect(attention.map((item) => [at(item, "kind"), at(item, "count")])).toEqual([
          ["session_unavailable", 3],
          ["session_disconnected", 0],
          ["process_lost", 0],
          ["template_paused", 2],
          ["unknown_outcomes", 1],
          ["webhook_disabled", 0],
          ["webhook_failing", 0],
          ["quota_full", 4],
          ["hooks_unread", 1]
        ])
        expect(attention[0]).toMatchObject({ link: `/msg/admin/v1/sessions/${out.sessionId}` })
        // Each link can be followed, and says more.
        for (const item of attention) {
          const path = String(at(item, "link")).replace(/^\/msg/, "")
          expect([path, (yield* read(base, path)).status]).toEqual([path, 200])
        }
        const limiters = items(json, "overview", "waiting", "by").map((each) => at(each, "limiter"))
        expect(limiters).toEqual(["platform", "template"])
        expect(at(json, "overview", "sessions", 0)).toMatchObject({
          id: out.sessionId,
          reason: "platform_unavailable",
          waiting: 3
        })
        for (const phone of phones) expect(JSON.stringify(json)).not.toContain(phone)

        const report = (yield* read(base, "/admin/v1/health/report")).json
        const lines = items(report, "report", "lines")
        expect(lines.map((line) => at(line, "kind"))).toEqual(attention.map((item) => at(item, "kind")))
        const environment = { SENDWRIGHT_URL: base, SENDWRIGHT_TOKEN }
        const health = yield* Effect.promise(() => InProcess.run(environment, ["health"]))
        // All that waits is kept.
        expect(health.code).toBe(2)
        expect(at(health.json, "report", "verdict")).toBe("failing")
        const shown = yield* Effect.promise(() => InProcess.run(environment, ["overview"], terminal))
        expect(shown.out).toContain("Needs somebody (9)")
        expect(shown.out).toMatch(/platform 3 asked again at \d\d:\d\d:\d\d/)
        const told = yield* Effect.promise(() => InProcess.run(environment, ["health"], terminal))
        expect(told.out.replace(/\s+!* */g, " ")).toMatch(
          /3 recipients wait for it, [^.]+Z\. It is so for \d+ s\./
        )
      })
    ))

  it("is ill for who cannot reach it, in one line", async () => {
    const environment = { SENDWRIGHT_URL: "http://127.0.0.1:1", SENDWRIGHT_TOKEN }
    const health = await InProcess.run(environment, ["health"])
    expect(health).toMatchObject({ code: 2, out: "" })
    expect(health.err).toMatch(/^The host at http:\/\/127\.0\.0\.1:1 does not answer \(.+\)\.\n$/)
    expect((await InProcess.run(environment, ["overview"])).code).toBe(1)
  })

  it("is ill for who has no token, or another one, in one line", () =>
    served((base) =>
      Effect.promise(async () => {
        const missing = await InProcess.run({ SENDWRIGHT_URL: base }, ["health"])
        expect(missing).toMatchObject({
          code: 2,
          out: "",
          err: "A host asks for a token: give SENDWRIGHT_TOKEN, or --token.\n"
        })
        const environment = { SENDWRIGHT_URL: base, SENDWRIGHT_TOKEN: `${SENDWRIGHT_TOKEN}-not` }
        const wrong = await InProcess.run(environment, ["health"])
        expect(wrong.code).toBe(2)
        expect(wrong.err).toMatch(/^The operator's token is missing or wrong\..*\n$/)
      })
    ))
})
