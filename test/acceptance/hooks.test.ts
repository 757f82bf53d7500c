/** contract.md §11, "Hooks": nothing that a platform signed is answered 200 and forgotten. */

import { createHmac } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Webhooks from "../graph/Webhooks.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, items, start } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const secret = "app-secret-that-nobody-may-see"

let accounts = 0
const account = async () => {
  accounts += 1
  const made = await host.admin("/accounts", { name: `Shop ${accounts}`, currency: "EUR" })
  return String(at(made.json, "account", "id"))
}

/** A session of a number of an account of the platform, whose app has the secret. */
const session = async (accountId: string, number: string, wabaId: string, appSecret = secret) => {
  const made = await host.admin(`/accounts/${accountId}/sessions`, {
    name: "WhatsApp",
    provider: "whatsapp_cloud",
    config: {
      phone_number_id: number,
      waba_id: wabaId,
      access_token: "token-that-nobody-may-see",
      app_secret: appSecret,
      verify_token: "verify-me"
    }
  })
  expect(made.status, made.text).toBe(201)
  return String(at(made.json, "session", "id"))
}

/** Posts to the session's hook as the platform does, signed by the app. */
const post = async (sessionId: string, json: object) => {
  const raw = JSON.stringify(json)
  const url = `${host.base}/hooks/whatsapp/${sessionId}`
  expect(await Webhooks.post(url, raw, Webhooks.signature(raw, secret))).toBe(200)
}

const unread = async (sessionId: string, query = "") =>
  (await host.admin(`/sessions/${sessionId}/hooks/unread${query}`)).json

describe("what nobody understands of a hook", () => {
  it("is listed as it came, page by page, and all beside it is applied", async () => {
    const accountId = await account()
    const id = await session(accountId, "1001", "2001")
    expect(await unread(id)).toEqual({ ok: true, unread: [], next_cursor: null })
    const flows = { field: "flows", value: { event: "FLOW_STATUS_CHANGE", flow_id: "1" } }
    const stop = {
      from: "34600000901",
      id: "wamid.1",
      timestamp: "1767225600",
      type: "text",
      text: { body: "STOP" }
    }
    const value = {
      metadata: { phone_number_id: "1001" },
      messages: [stop],
      statuses: [{ status: "unheard-of", id: "wamid.0" }]
    }
    await post(id, { entry: [{ id: "2001", changes: [flows, { field: "messages", value }] }] })
    const first = await unread(id, "?limit=1")
    expect(first).toMatchObject({ unread: [{ field: "flows", is_cut: false }] })
    expect(JSON.parse(String(at(first, "unread", 0, "content")))).toEqual(flows)
    const rest = await unread(id, `?limit=1&cursor=${at(first, "next_cursor")}`)
    expect(rest).toMatchObject({
      unread: [{ field: "messages", content: '{"status":"unheard-of","id":"wamid.0"}' }],
      next_cursor: null
    })
    const consents = await host.admin(`/accounts/${accountId}/consents?phone=34600000901`)
    expect(items(consents.json, "history")).toMatchObject([{ status: "revoked" }])
    expect((await host.admin(`/sessions/01990000-0000-7000-8000-000000000000/hooks/unread`)).status).toBe(404)
  })

  it("is kept of a gateway's hook, too, and cut where it is long", async () => {
    const made = await host.admin(`/accounts/${await account()}/sessions`, {
      name: "Gateway",
      provider: "http",
      config: { url: "https://gateway.example/send", secret: "a-secret-of-the-gateway" }
    })
    const id = String(at(made.json, "session", "id"))
    const raw = JSON.stringify({ receipts: [], balance: "x".repeat(20_000) })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const sign = createHmac("sha256", "a-secret-of-the-gateway").update(`${timestamp}.${raw}`).digest("hex")
    const answer = await fetch(`${host.base}/hooks/http/${id}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-service-timestamp": timestamp,
        "x-service-signature": sign
      },
      body: raw
    })
    expect(answer.status).toBe(200)
    const list = await unread(id)
    expect(list).toMatchObject({ unread: [{ field: "balance", is_cut: true }] })
    expect(Buffer.byteLength(String(at(list, "unread", 0, "content")))).toBe(16 * 1024)
  })
})

describe("a secret that is changed", () => {
  it("is changed alone: a hook signed by the old or the new one is taken, and all else of the session stays", async () => {
    const accountId = await account()
    const id = await session(accountId, "1101", "2101")
    const change = (config: object) => host.admin(`/sessions/${id}`, { config }, "PATCH")
    const raw = JSON.stringify({ entry: [] })
    const posted = (by: string) =>
      Webhooks.post(`${host.base}/hooks/whatsapp/${id}`, raw, Webhooks.signature(raw, by))
    expect([await posted(secret), await posted("the new one")]).toEqual([200, 401])
    expect(
      (await change({ app_secret: "the new one", app_secrets: [secret, "of another app"] })).status
    ).toBe(200)
    const all = ["the new one", secret, "of another app", "of nobody"]
    expect(await Promise.all(all.map(posted))).toEqual([200, 200, 200, 401])
    const six = Array.from({ length: 6 }, (_, place) => `secret ${place}`)
    const refused = await change({ app_secrets: six, waba_id: null, pone_number_id: "1" })
    expect(
      items(refused.json, "errors")
        .map((each) => at(each, "pointer"))
        .toSorted()
    ).toEqual(["/config/app_secrets", "/config/pone_number_id", "/config/waba_id"])
    expect((await change({ app_secrets: null })).status).toBe(200)
    expect(await Promise.all(all.map(posted))).toEqual([200, 401, 401, 401])
    // Of two changes at once none undoes the other's.
    await Promise.all([change({ verify_token: "anew" }), change({ app_secrets: [secret] })])
    const shake = new URLSearchParams({
      "hub.mode": "subscribe",
      "hub.challenge": "7",
      "hub.verify_token": "anew"
    })
    const shaken = await fetch(`${host.base}/hooks/whatsapp/${id}?${shake}`)
    expect([shaken.status, await posted(secret)]).toEqual([200, 200])
  })
})

describe("a change for another number or account of the app", () => {
  const news = (wabaId: string, field: string, value: object) => ({
    entry: [{ id: wabaId, changes: [{ field, value }] }]
  })
  const stop = (number: string, phone: string, id: string) => ({
    metadata: { phone_number_id: number },
    contacts: [{ wa_id: phone }],
    messages: [{ from: phone, id, timestamp: "1790000000", type: "text", text: { body: "STOP" } }]
  })
  const history = async (accountId: string, phone: string) =>
    items((await host.admin(`/accounts/${accountId}/consents?phone=${phone}`)).json, "history").map((each) =>
      at(each, "status")
    )

  it("is applied to every session that has it and the app's secret, of whichever account", async () => {
    const [ours, theirs, foreign] = [await account(), await account(), await account()]
    const a = await session(ours, "3001", "4001")
    const b = await session(theirs, "3002", "4001")
    await session(foreign, "3002", "4001", "another app's secret")
    await post(a, news("4001", "messages", stop("3002", "34600000902", "wamid.o")))
    expect(await history(theirs, "34600000902")).toEqual(["revoked"])
    expect([await history(ours, "34600000902"), await history(foreign, "34600000902")]).toEqual([[], []])
    expect(items(await unread(a), "unread")).toEqual([])

    // Re-configured, the session is found by its new number alone.
    const config = {
      phone_number_id: "3003",
      waba_id: "4001",
      access_token: "token",
      app_secret: secret,
      verify_token: "v"
    }
    expect((await host.admin(`/sessions/${b}`, { config }, "PATCH")).status).toBe(200)
    await post(a, news("4001", "messages", stop("3003", "34600000903", "wamid.p")))
    expect(await history(theirs, "34600000903")).toEqual(["revoked"])
    await post(a, news("4001", "messages", stop("3002", "34600000904", "wamid.q")))
    expect(await history(theirs, "34600000904")).toEqual([])
    expect(items(await unread(a), "unread")).toMatchObject([
      { field: "messages", reason: "no session has this number or account" }
    ])
  })

  it("is news of the account for each of its numbers, whichever hook it comes to", async () => {
    const accountId = await account()
    const a = await session(accountId, "5001", "6001")
    const b = await session(accountId, "5002", "6001")
    // Both have a template, as an import lists it, that the platform then pauses: each knows the news as its own.
    const form = { name: "promo", language: "pt_BR", category: "MARKETING", status: "APPROVED" }
    const templates = [{ ...form, components: [{ type: "BODY", text: "Hello" }] }]
    expect((await host.admin(`/sessions/${a}/templates`, { templates }, "PUT")).status).toBe(200)
    const value = { event: "PAUSED", message_template_name: "promo", message_template_language: "pt-BR" }
    await post(a, news("6001", "message_template_status_update", value))
    expect(items(await unread(a), "unread")).toEqual([])
    expect(items(await unread(b), "unread")).toMatchObject([
      { field: "message_template_status_update", reason: "the session has no such template" }
    ])
  })
})
