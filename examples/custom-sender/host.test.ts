/** The host with a sender of one's own: REST, command line and hooks know its provider as they know any other. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { mortal } from "../../test/support/mortal.ts"
import { at, eventually, start, type TestHost } from "../../test/support/TestHost.ts"
import { platform, signed } from "./platform.ts"

const template = {
  name: "order_shipped",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}." }]
}
const phone = "34600001234"

const scope = Effect.runSync(Scope.make())
const { config, messages } = await Effect.runPromise(Scope.extend(platform, scope))

const folder = mkdtempSync(join(tmpdir(), "sendwright-custom-sender-"))
const database = { DATABASE_URL: `sqlite:${join(folder, "host.db")}` }

const program = (name: string): ReadonlyArray<string> => [
  "--import",
  "tsx",
  fileURLToPath(new URL(name, import.meta.url))
]

const sendwright = async (args: ReadonlyArray<string>, input = "") => {
  const child = mortal(
    spawn(process.execPath, [...program("cli.ts"), ...args], {
      env: { PATH: process.env["PATH"] ?? "", ...database }
    })
  )
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const json: unknown = out.startsWith("{") ? JSON.parse(out) : undefined
  return { json, err }
}

const create = (account: string, provider: string, input: object) =>
  sendwright(
    ["sessions", "create", account, "--name", "Birds", "--provider", provider, "--config-file", "-"],
    JSON.stringify(input)
  )

let host: TestHost
let account: string
let ofCommandLine: string

beforeAll(async () => {
  account = String(at((await sendwright(["accounts", "create", "--name", "Shop"])).json, "account", "id"))
  const created = await create(account, "pigeon", config)
  ofCommandLine = String(at(created.json, "session", "id"))
  host = await start(database, program("host.ts"))
}, 60_000)

afterAll(async () => {
  await host?.stop()
  rmSync(folder, { recursive: true, force: true })
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const newSession = (provider: string, given: object) =>
  host.admin(`/accounts/${account}/sessions`, { name: "Birds", provider, config: given })

/** Posts to a hook as Pigeon does. */
const post = (path: string, body: string, headers = signed(body, Date.now())) =>
  host.request(path, { method: "POST", raw: body, headers })

const nothing = JSON.stringify({ receipts: [] })

describe("a host with a sender of one's own", () => {
  it("has its sessions, by the command line and by REST", async () => {
    const found = await host.admin(`/sessions/${ofCommandLine}`)
    expect(found.json).toMatchObject({ session: { provider: "pigeon", state: "disconnected" } })
    const made = await newSession("pigeon", config)
    expect([made.status, at(made.json, "session", "provider")]).toEqual([201, "pigeon"])
  })

  it("refuses a configuration by the sender's own word, and a provider that it lacks by the names it has", async () => {
    const faulty = await newSession("pigeon", { url: "http://127.0.0.1" })
    expect([faulty.status, faulty.text]).toEqual([422, expect.stringContaining("/config/hook_secret")])
    const unknown = await newSession("crow", {})
    expect([unknown.status, unknown.text]).toEqual([
      422,
      expect.stringContaining("Available: sandbox, http, whatsapp_cloud, pigeon.")
    ])
  })

  it("tells its provider in the description", async () => {
    const { json } = await host.request("/openapi.json")
    const schemas = at(json, "components", "schemas")
    expect(at(schemas, "Provider", "enum")).toEqual(["sandbox", "http", "whatsapp_cloud", "pigeon"])
    expect(at(schemas, "SessionConfiguration", "description")).toContain(
      "`pigeon`: `url`, `token` and `hook_secret`."
    )
  })

  it("sends over it, and applies the receipts of its hook", async () => {
    const session = String(at((await newSession("pigeon", config)).json, "session", "id"))
    const connected = await host.admin(`/sessions/${session}/connect`, undefined, "POST")
    expect(at(connected.json, "session", "state")).toBe("connected")
    const key = await host.admin(`/sessions/${session}/keys`, {})
    const credentials = {
      "x-public-key": String(at(key.json, "key", "public_key")),
      "x-secret-key": String(at(key.json, "secret_key"))
    }
    const imported = await host.admin(`/sessions/${session}/templates`, { templates: [template] }, "PUT")
    await host.admin(`/accounts/${account}/consents`, { consents: [{ phone, source: "test" }] })
    const accepted = await host.request("/api/v1/template-messages/send", {
      headers: { ...credentials, "idempotency-key": "order-1" },
      body: {
        template_id: at(imported.json, "templates", 0, "template_id"),
        variables: { "body.1": "Ana" },
        recipients: [{ phone }]
      }
    })
    expect(accepted.status, accepted.text).toBe(202)
    const status = (wanted: string) =>
      eventually(
        async () => {
          const path = `/api/v1/template-messages/${at(accepted.json, "job_id")}`
          return at((await host.request(path, { headers: credentials })).json, "job", "results", 0, "status")
        },
        (found) => found === wanted
      )
    expect(await status("accepted")).toBe("accepted")
    expect(messages).toMatchObject([{ to: phone, text: "Hello Ana." }])

    const [sent] = messages
    const body = JSON.stringify({
      receipts: [{ reference: sent?.reference, id: sent?.id, status: "delivered" }]
    })
    const path = `/hooks/pigeon/${session}`
    for (const headers of [{}, signed(nothing, Date.now()), signed(body, Date.now() - 600_000)]) {
      expect((await post(path, body, headers)).status).toBe(401)
    }
    expect(await status("accepted")).toBe("accepted")
    expect((await post(path, body)).json).toEqual({ ok: true })
    expect(await status("delivered")).toBe("delivered")
  })

  it("takes hooks of a session by its own provider alone", async () => {
    expect((await post(`/hooks/pigeon/${ofCommandLine}`, nothing)).json).toEqual({ ok: true })
    const unknown = await post("/hooks/pigeon/0190a0a0-0000-7000-8000-000000000000", nothing)
    expect(unknown.status).toBe(404)
    for (const provider of ["http", "whatsapp", "whatsapp_cloud", "sandbox", "crow"]) {
      const answer = await post(`/hooks/${provider}/${ofCommandLine}`, nothing)
      expect([answer.status, at(answer.json, "code"), at(answer.json, "detail")], provider).toEqual([
        404,
        "not_found",
        at(unknown.json, "detail")
      ])
    }
    const asked = await host.request(`/hooks/pigeon/${ofCommandLine}`)
    expect([asked.status, at(asked.json, "code")]).toEqual([401, "invalid_credentials"])
  })
})
