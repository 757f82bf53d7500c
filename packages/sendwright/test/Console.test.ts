/** The console as a part of the app: who uses it is the app's to say. */
import { createServer, IncomingMessage } from "node:http"
import express, { type Request as Asked } from "express"
import type { Sendwright } from "sendwright"
import { type ConsoleOperator, createConsole, createHandler, toNodeHandler } from "sendwright/http"
import { describe, expect, it } from "vitest"
import { listen, prefix, servers } from "./Servers.ts"
import { list, start } from "./Support.ts"

const baseUrl = "https://shop.example"

const staff: Readonly<Record<string, ConsoleOperator>> = {
  ana: { name: "ana@shop.example", role: "admin" },
  bea: { name: "bea", role: "read", maskPhones: true }
}

/** By a cookie of the app's, in whichever way its server has it. */
const authorize = async (request: object): Promise<ConsoleOperator | null> => {
  const cookie =
    request instanceof Request
      ? request.headers.get("cookie")
      : String(Object(Reflect.get(request, "headers"))["cookie"] ?? "")
  return staff[/app=(\w+)/.exec(cookie ?? "")?.[1] ?? ""] ?? null
}

const as = (name: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { cookie: `app=${name}`, ...more }
})

const change = (name: string, body: unknown, more: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify(body),
  ...as(name, { "content-type": "application/json", ...more })
})

const consoleOf = (sw: Sendwright) => createConsole(sw, { prefix, baseUrl, authorize })

describe.each(servers)("the console in %s", (_name, mount) => {
  it("is there for whom the app knows as an operator, and for nobody else", async () => {
    const { sw } = await start()
    const ask = await mount(consoleOf(sw))
    for (const path of ["/console", "/console/jobs", "/admin/v1/overview", "/admin/v1/operators/me"]) {
      for (const init of [
        {},
        as("carl"),
        { headers: { authorization: "Bearer 0123456789abcdefghijklmn" } }
      ]) {
        const refused = await ask(`${prefix}${path}`, init)
        const { code } = Object(await refused.json())
        expect([path, refused.status, code]).toEqual([path, 401, "invalid_credentials"])
      }
      expect([path, (await ask(`${prefix}${path}`, as("ana"))).status]).toEqual([path, 200])
    }
    const page = await ask(`${prefix}/console/jobs`, as("ana"))
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'")
    const html = await page.text()
    expect(html).toContain(`<base href="${prefix}/console/">`)
    expect(html).toContain('name="sendwright-sign-in" content="app"')
    const [script] = /assets\/console-\w+\.js/.exec(html) ?? []
    expect((await ask(`${prefix}/console/${script}`, as("ana"))).headers.get("content-type")).toMatch(
      /javascript/
    )
    const front = await ask(`${prefix}/`, as("ana"))
    expect([front.status, front.headers.get("location")]).toEqual([302, `${prefix}/console`])
  })

  it("does what the operator's role may do, from the app's own pages, and records who did it", async () => {
    const { sw } = await start()
    const ask = await mount(consoleOf(sw))
    const path = `${prefix}/admin/v1/accounts`
    const me = await (await ask(`${prefix}/admin/v1/operators/me`, as("ana"))).json()
    expect(me).toMatchObject({ operator: { name: "app:ana@shop.example", role: "admin", created_at: null } })
    for (const origin of [{}, { origin: "https://evil.example" }])
      expect((await ask(path, change("ana", { name: "Another" }, origin))).status).toBe(403)
    expect((await ask(path, change("bea", { name: "Another" }, { origin: baseUrl }))).status).toBe(403)
    expect((await ask(path, change("ana", { name: "Another" }, { origin: baseUrl }))).status).toBe(201)
    const [entry] = await list(sw.admin.audit({ operation: "accounts.create" }))
    expect(entry?.operator).toBe("app:ana@shop.example")
    expect((await list(sw.admin.audit({ operator: "app:ana@shop.example" }))).length).toBe(1)
  })

  it("has no other routes, and nobody signs in there", async () => {
    const { sw } = await start()
    const ask = await mount(consoleOf(sw))
    for (const path of ["/api/v1/connection", "/docs", "/openapi.json", "/health/live", "/metrics"])
      expect([path, (await ask(`${prefix}${path}`, as("ana"))).status]).toEqual([path, 404])
    const signIn = change("ana", { token: "x" }, { origin: baseUrl })
    expect((await ask(`${prefix}/admin/v1/sign-in`, signIn)).status).toBe(404)
  })
})

describe("who may use it", () => {
  it("is said by what a middleware of Express has put on the request, beside the API's own handler", async () => {
    const { session, sw } = await start()
    const { publicKey, secretKey } = await sw.admin.keys.issue({ sessionId: session.id })
    const app = express()
    app.use((request, _response, next) => {
      if (request.headers["x-proxy-user"] === "ana") Object.assign(request, { user: { isStaff: true } })
      next()
    })
    interface SignedIn extends Asked {
      readonly user?: { readonly isStaff: boolean }
    }
    const byUser = (request: SignedIn) => {
      expect(request).toBeInstanceOf(IncomingMessage)
      return request.user?.isStaff === true ? { name: "ana", role: "support" as const } : null
    }
    app.use("/ops", toNodeHandler(createConsole(sw, { prefix: "/ops", authorize: byUser })))
    app.use(prefix, toNodeHandler(createHandler(sw, { prefix })))
    const base = await listen(createServer(app))
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${base}${path}`, { headers })).status
    expect(await status("/ops/admin/v1/jobs")).toBe(401)
    expect(await status("/ops/admin/v1/jobs", { "x-proxy-user": "ana" })).toBe(200)
    expect(await status("/ops/console/now", { "x-proxy-user": "ana" })).toBe(200)
    const keys = { "x-public-key": publicKey, "x-secret-key": secretKey }
    expect(await status(`${prefix}/api/v1/connection`, keys)).toBe(200)
    // Without `adminToken` that handler has no admin API, whoever asks.
    expect(await status(`${prefix}/admin/v1/jobs`, { "x-proxy-user": "ana" })).toBe(404)
    // Its own Origin is the address that the browser called.
    const write = await fetch(
      `${base}/ops/admin/v1/accounts`,
      change("", {}, { "x-proxy-user": "ana", origin: base })
    )
    expect([write.status, Object(await write.json()).code]).toEqual([403, "insufficient_permission"])
  })

  it("is nobody where the app's function fails, or answers what is no operator", async () => {
    const { sw } = await start()
    const wrong: ReadonlyArray<() => unknown> = [
      () => {
        throw new Error("the app's store is away")
      },
      () => Promise.reject(new Error("the app's store is away")),
      () => undefined,
      () => "admin",
      () => ({ role: "admin" }),
      () => ({ name: "", role: "admin" }),
      () => ({ name: "a b", role: "admin" }),
      () => ({ name: "ana", role: "owner" }),
      () => ({ name: "ana", role: "metrics" }),
      () => ({ name: "ana", role: "admin", maskPhones: true })
    ]
    for (const authorize of wrong) {
      const handler = createConsole(sw, { authorize: authorize as () => null })
      const answered = await handler(new Request(`${baseUrl}/admin/v1/jobs`))
      expect([String(authorize), answered.status]).toEqual([String(authorize), 500])
      expect(await answered.text()).not.toContain("store is away")
    }
  })

  it("sees numbers masked where the app says so", async () => {
    const { account, sw } = await start()
    const path = `${baseUrl}${prefix}/admin/v1/export/consents?account_id=${account.id}`
    const rows = await (await consoleOf(sw)(new Request(path, as("bea")))).text()
    expect(rows).toContain("···")
    expect(rows).not.toContain("34600001234")
  })

  it("has to be said by a function, and nothing else decides it", async () => {
    const { sw } = await start()
    const refused = (options: unknown) => {
      try {
        Reflect.apply(createConsole, undefined, [sw, options])
      } catch (error) {
        return error
      }
      return undefined
    }
    for (const [options, path] of [
      [undefined, "/authorize"],
      [{}, "/authorize"],
      [{ authorize: "admin" }, "/authorize"],
      [{ authorize, adminToken: "0123456789abcdefghijklmn" }, "/adminToken"],
      [{ authorize, prefix: "ops" }, "/prefix"]
    ])
      expect(refused(options)).toMatchObject({ code: "invalid_options", issues: [{ path }] })
  })
})
