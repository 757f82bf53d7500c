/** An operator's browser (docs/operators.md): it signs in by a cookie, which opens the admin API alone and no longer than the token. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Answer, TestHost } from "../support/TestHost.ts"
import { at, start } from "../support/TestHost.ts"
import * as Tenants from "./Tenants.ts"

let host: TestHost
beforeAll(async () => {
  host = await start({ GUESSES_PER_ADDRESS: "20", GUESSES_PER_MINUTE: "1" })
}, 60_000)
afterAll(() => host.stop())

const statusAndCode = ({ json, status }: Answer) => [status, at(json, "code") ?? "done"]

const signIn = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  host.request("/admin/v1/sign-in", { method: "POST", body: { token }, headers })

/** As a browser brings it back. */
const cookieOf = ({ headers }: Answer): string => (headers.get("set-cookie") ?? "").split(";")[0] ?? ""

const operator = async (name: string, role: string): Promise<string> =>
  String(at((await host.admin("/operators", { name, role })).json, "token"))

const ask = (cookie: string, method: string, path: string, body?: unknown, origin = host.base) =>
  host.request(path, {
    method,
    headers: { cookie, ...(method === "GET" ? {} : { origin }) },
    ...(body === undefined ? {} : { body })
  })

const account = { name: "Shop" }

describe("an operator's browser", () => {
  it("signs in with the token, and acts with the cookie as the operator", async () => {
    const signedIn = await signIn(await operator("ana", "admin"))
    expect(signedIn.json).toMatchObject({
      ok: true,
      operator: { name: "ana", role: "admin", status: "active" }
    })
    const attributes = (signedIn.headers.get("set-cookie") ?? "").split("; ").slice(1)
    expect(attributes.sort()).toEqual(["HttpOnly", "Max-Age=43200", "Path=/admin/v1", "SameSite=Strict"])
    const cookie = cookieOf(signedIn)
    const me = await ask(cookie, "GET", "/admin/v1/operators/me")
    const { operators } = Object((await host.admin("/operators")).json)
    expect(at(me.json, "operator")).toEqual(operators[0])
    expect(statusAndCode(await ask(cookie, "POST", "/admin/v1/accounts", account))).toEqual([201, "done"])
    expect(at((await host.admin("/audit")).json, "entries", 0)).toMatchObject({
      operator: "ana",
      operation: "accounts.create"
    })
  })

  it("signs in with the environment's token, too, whose origin is not told", async () => {
    const signedIn = await signIn(host.adminToken)
    expect(at(signedIn.json, "operator")).toMatchObject({
      name: "ADMIN_TOKEN",
      role: "admin",
      created_at: null
    })
    const { json } = await ask(cookieOf(signedIn), "GET", "/admin/v1/operators/me")
    expect(json).toEqual(signedIn.json)
  })

  it("keeps its cookie from plain connections, where it came by another", async () => {
    const secure = async (headers: Readonly<Record<string, string>>) =>
      /; Secure$/.test((await signIn(host.adminToken, headers)).headers.get("set-cookie") ?? "")
    expect(await secure({ origin: host.base.replace("http:", "https:") })).toBe(true)
    expect(await secure({ "x-forwarded-proto": "https" })).toBe(true)
    expect(await secure({ origin: host.base })).toBe(false)
  })

  it("signs out, also twice", async () => {
    for (const cookie of [cookieOf(await signIn(host.adminToken)), ""]) {
      const out = await ask(cookie, "POST", "/admin/v1/sign-out")
      expect(out.json).toEqual({ ok: true })
      expect(out.headers.get("set-cookie")).toContain("sendwright_operator=; Path=/admin/v1; Max-Age=0;")
    }
  })

  it("cannot sign in as one that reads metrics, and changes nothing as one that reads", async () => {
    expect(statusAndCode(await signIn(await operator("prometheus", "metrics")))).toEqual([
      403,
      "insufficient_permission"
    ])
    const cookie = cookieOf(await signIn(await operator("rita", "read")))
    expect((await ask(cookie, "GET", "/admin/v1/accounts")).status).toBe(200)
    expect(statusAndCode(await ask(cookie, "POST", "/admin/v1/accounts", account))).toEqual([
      403,
      "insufficient_permission"
    ])
  })

  it("is refused what it changes from a page of another origin, and from none", async () => {
    const cookie = cookieOf(await signIn(host.adminToken))
    for (const origin of ["https://evil.example", "null", `${host.base}0`, `${host.base}.evil.example`]) {
      for (const [method, path, body] of [
        ["POST", "/admin/v1/accounts", account],
        ["POST", "/admin/v1/sign-out", undefined],
        ["POST", "/admin/v1/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }]
      ] as const) {
        const answer = await ask(cookie, method, path, body, origin)
        expect([origin, path, answer.status]).toEqual([origin, path, 403])
        expect(at(answer.json, "detail")).toContain("Origin")
      }
      expect((await signIn(host.adminToken, { origin })).status).toBe(403)
    }
    const withoutOrigin = await host.request("/admin/v1/accounts", {
      method: "POST",
      headers: { cookie },
      body: account
    })
    expect(at(withoutOrigin.json, "detail")).toContain("missing")
  })

  it("is told that nothing changed, without what it has already", async () => {
    const asked = (tag?: string) =>
      host.request("/admin/v1/accounts", {
        headers: {
          authorization: `Bearer ${host.adminToken}`,
          ...(tag === undefined ? {} : { "if-none-match": tag })
        }
      })
    const first = await asked()
    const tag = first.headers.get("etag") ?? ""
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
      const again = await asked(known)
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag])
    }
    await host.admin("/accounts", account)
    const changed = await asked(tag)
    expect([changed.status, changed.headers.get("etag") === tag]).toEqual([200, false])
  })

  it("opens nothing of keys with its cookie", async () => {
    const tenant = await Tenants.make(host, "https://receiver.example/hook")
    const cookie = cookieOf(await signIn(host.adminToken))
    for (const path of [
      "/api/v1/connection",
      `/api/v1/template-messages/${tenant.jobId}`,
      "/api/v1/templates"
    ])
      expect(statusAndCode(await ask(cookie, "GET", path))).toEqual([401, "invalid_credentials"])
  })

  it("is signed out by what ends the token: its revocation, and a rotation without overlap", async () => {
    const cookie = cookieOf(await signIn(await operator("rob", "admin")))
    const other = cookieOf(await signIn(await operator("ron", "admin")))
    await host.admin("/operators/rob/revoke", {})
    await host.admin("/operators/ron/rotate", { overlap_seconds: 0 })
    for (const each of [cookie, other])
      expect(statusAndCode(await ask(each, "GET", "/admin/v1/operators/me"))).toEqual([
        401,
        "invalid_credentials"
      ])
  })

  it("is not heard with a cookie that was made up, or beside a wrong token", async () => {
    const cookie = cookieOf(await signIn(host.adminToken))
    const [name, value = ""] = cookie.split("=")
    const forged = `${name}=${value.slice(0, 20)}${value.slice(20, 21) === "A" ? "B" : "A"}${value.slice(21)}`
    for (const each of [forged, `${name}=${host.adminToken.replaceAll(/[^\w-]/g, "")}`])
      expect((await ask(each, "GET", "/admin/v1/operators/me")).status).toBe(401)
    const both = await host.request("/admin/v1/operators/me", {
      headers: { cookie, authorization: "Bearer wrong" }
    })
    expect(both.status).toBe(401)
  })

  it("signs in with no body but a short one of a token", async () => {
    const raw = async (raw: string | Uint8Array) =>
      statusAndCode(
        await host.request("/admin/v1/sign-in", {
          method: "POST",
          raw,
          headers: { "content-type": "application/json" }
        })
      )
    for (const wrong of [
      "",
      "{",
      "[]",
      "null",
      `{"token":1}`,
      `{"token":""}`,
      `{"token":"a","as":"b"}`,
      "\ufeff{}"
    ])
      expect([wrong, ...(await raw(wrong))]).toEqual([wrong, 422, "invalid_request"])
    expect(await raw(Buffer.from([0x7b, 0xff]))).toEqual([422, "invalid_request"])
    for (const strange of ["__proto__", "\u0000", "\ud800", "' OR 1=1 --", `op_ana_${"a".repeat(43)}_aaaaaa`])
      expect([401, 422], strange).toContain((await raw(JSON.stringify({ token: strange })))[0])
    expect(await raw(`{"token":"${"a".repeat(5000)}"}`)).toEqual([413, "payload_too_large"])
    expect(await raw(`{"token":${"[".repeat(4000)}`)).toEqual([422, "invalid_request"])
  })

  it("guesses no more tokens than any other client, nor cookies", async () => {
    const statuses: Array<number> = []
    for (let guess = 0; guess < 24; guess += 1)
      statuses.push(
        guess % 2 === 0
          ? (await signIn(`op_ana_${guess}`)).status
          : (await ask(`sendwright_operator=AAAA${guess}`, "GET", "/admin/v1/accounts")).status
      )
    expect(statuses.slice(-3)).toEqual([429, 429, 429])
    expect((await signIn(host.adminToken)).status).toBe(200)
  })
})

describe("the console", () => {
  const get = async (path: string, base = host.base) => {
    const answer = await fetch(`${base}${path}`, { headers: { "accept-encoding": "identity" } })
    return { answer, text: await answer.text() }
  }

  it("is a page at every path below its own, whatever is asked, which loads only from here", async () => {
    const first = (await get("/console")).text
    expect(first).toContain('<base href="/console/">')
    for (const path of [
      "/console/",
      "/console/messages/x",
      "/console/search?q=34600&q=1",
      "/console/../console"
    ]) {
      const { answer, text } = await get(path)
      expect([path, answer.status, text === first]).toEqual([path, 200, true])
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8")
      expect(answer.headers.get("cache-control")).toBe("no-cache")
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer")
      expect(answer.headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
      )
    }
  })

  it("has files under names of their content, which may be kept, and no others", async () => {
    const names = [...(await get("/console")).text.matchAll(/"(assets\/[^"]+)"/g)].map(([, name]) => name)
    expect(names.length).toBeGreaterThanOrEqual(2)
    for (const name of names) {
      const { answer, text } = await get(`/console/${name}`)
      expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
      expect(answer.headers.get("content-type")).toMatch(/^text\/(css|javascript); charset=utf-8$/)
      const zipped = await fetch(`${host.base}/console/${name}`, { headers: { "accept-encoding": "gzip" } })
      expect(zipped.headers.get("content-encoding")).toBe("gzip")
      expect(await zipped.text()).toBe(text)
    }
    for (const path of [
      "/console/assets/none-AAAAAAAA.js",
      "/console/assets/..%2f..%2fpackage.json",
      "/consoles"
    ])
      expect((await get(path)).answer.status, path).toBe(404)
    expect((await fetch(`${host.base}/console`, { method: "POST" })).status).toBe(405)
  })

  it("knows below which path the API is, and is not there where it is switched off", async () => {
    const other = await start({ CONSOLE: "off" })
    expect((await get("/console", other.base)).answer.status).toBe(404)
    await other.stop()
    const below = await start({ BASE_URL: "https://shop.example/messages&more" })
    const { text } = await get("/console/jobs", below.base)
    expect(text).toContain('<base href="/messages&amp;more/console/">')
    expect(text).toContain('<meta name="sendwright-api" content="/messages&amp;more">')
    const signedIn = await below.request("/admin/v1/sign-in", {
      method: "POST",
      body: { token: below.adminToken },
      headers: { origin: "https://shop.example" }
    })
    expect(signedIn.headers.get("set-cookie")).toContain("Path=/messages&more/admin/v1; ")
    await below.stop()
  })
})
