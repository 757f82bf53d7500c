/** contract.md §10 "Consent", over a socket: hooks that are cut, people without a phone, what names nobody, keywords. */
import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, start } from "../support/TestHost.ts"

const number = "106540352242922"
const waba = "102290129340398"
const secret = "app-secret-that-nobody-may-see"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const session = async (more: Readonly<Record<string, unknown>> = {}) => {
  const account = await host.admin("/accounts", { name: "Shop" })
  const accountId = String(at(account.json, "account", "id"))
  const created = await host.admin(`/accounts/${accountId}/sessions`, {
    name: "WhatsApp",
    provider: "whatsapp_cloud",
    config: {
      phone_number_id: number,
      waba_id: waba,
      access_token: "token",
      app_secret: secret,
      verify_token: "verify"
    },
    ...more
  })
  expect(created.status, created.text).toBe(201)
  const id = String(at(created.json, "session", "id"))
  const status = async (query: string) => {
    const found = await host.admin(`/accounts/${accountId}/consents?${query}`)
    return at(found.json, "current", 0, "status")
  }
  return { accountId, id, created, status, path: `/hooks/whatsapp/${id}` }
}

const signed = (raw: string) => ({
  "content-type": "application/json",
  "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(raw).digest("hex")}`
})

const envelope = (value: Readonly<Record<string, unknown>>, phoneNumberId = number, field = "messages") =>
  JSON.stringify({
    object: "whatsapp_business_account",
    entry: [
      { id: waba, changes: [{ field, value: { metadata: { phone_number_id: phoneNumberId }, ...value } }] }
    ]
  })

const post = (path: string, raw: string) => host.request(path, { raw, headers: signed(raw) })

const text = (from: string | undefined, body: string, more: Readonly<Record<string, unknown>> = {}) => ({
  ...(from === undefined ? {} : { from }),
  id: `wamid.${from}.${body}`,
  timestamp: String(Math.floor(Date.now() / 1000)),
  type: "text",
  text: { body },
  ...more
})

describe("a hook", () => {
  it("that its platform hangs up on loses no opt-out: what was not stored is when it comes again", async () => {
    const shop = await session()
    const phones = Array.from({ length: 2000 }, (_, n) => `346${String(n).padStart(8, "0")}`)
    await consent(host, shop.accountId, ...phones)
    const raw = envelope({ messages: phones.map((phone) => text(phone, "STOP")) })
    const head = Object.entries({ ...signed(raw), "content-length": String(Buffer.byteLength(raw)) })
    const request = [
      `POST ${shop.path} HTTP/1.1`,
      "host: 127.0.0.1",
      ...head.map(([name, value]) => `${name}: ${value}`),
      "",
      raw
    ].join("\r\n")
    const { port } = new URL(host.base)
    for (const afterMs of [0, 5, 20, 60]) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), "127.0.0.1", () => {
          socket.write(request, () => setTimeout(() => socket.destroy(), afterMs))
        })
        socket.on("close", () => resolve())
        socket.on("error", () => {})
      })
    }
    expect((await post(shop.path, raw)).status).toBe(200)
    for (const phone of phones.filter((_, n) => n % 97 === 0))
      expect(await shop.status(`phone=${phone}`), phone).toBe("revoked")
    const history = await host.admin(`/accounts/${shop.accountId}/consents?phone=${phones.at(-1)}`)
    expect(items(history.json, "history"), "granted, and revoked once").toHaveLength(2)
  }, 60_000)

  it("of another number or account of the same app is answered and not applied", async () => {
    const shop = await session()
    await consent(host, shop.accountId, "34600000001")
    const foreign = envelope({ messages: [text("34600000001", "STOP")] }, "999")
    expect((await post(shop.path, foreign)).status).toBe(200)
    expect(await shop.status("phone=34600000001")).toBe("granted")
    expect(host.output()).toContain(
      `The hook of session ${shop.id} brought \\"messages\\" that is not understood: no session has this number or account.`
    )
    expect((await post(shop.path, envelope({ messages: [text("34600000001", "STOP")] }))).status).toBe(200)
    expect(await shop.status("phone=34600000001")).toBe("revoked")
  })

  it("of 20,000 malformed items is one line in the log", async () => {
    const shop = await session()
    const raw = envelope({ messages: Array(20_000).fill({}), statuses: Array(20_000).fill(7) })
    expect((await post(shop.path, raw)).status).toBe(200)
    const lines = host
      .output()
      .split("\n")
      .filter((line) => line.includes(shop.id))
    const told = `The hook of session ${shop.id} brought \\"messages\\" that is not understood: a message without an id and without words.`
    expect(lines.filter((line) => line.includes("is not understood"))).toEqual([
      expect.stringContaining(told)
    ])
  })
})

describe("a person without a phone", () => {
  it("opts out by user id, which the operator sees, and which holds for the phone once that is told", async () => {
    const shop = await session()
    await consent(host, shop.accountId, "34600000001")
    const byId = envelope({ messages: [text(undefined, "STOP", { from_user_id: "ES.1" })] })
    expect((await post(shop.path, byId)).status).toBe(200)
    expect(await shop.status("user_id=ES.1")).toBe("revoked")
    const shown = await host.admin(`/accounts/${shop.accountId}/consents?user_id=ES.1`)
    expect(at(shown.json, "history", 0)).toMatchObject({ phone: null, user_id: "ES.1", status: "revoked" })
    expect(await shop.status("phone=34600000001")).toBe("granted")
    const met = envelope({ messages: [text("34600000001", "Hello", { from_user_id: "ES.1" })] })
    expect((await post(shop.path, met)).status).toBe(200)
    expect(await shop.status("phone=34600000001")).toBe("revoked")
    const both = await host.admin(`/accounts/${shop.accountId}/consents?phone=34600000001&user_id=ES.1`)
    const neither = await host.admin(`/accounts/${shop.accountId}/consents`)
    const wrong = await host.admin(`/accounts/${shop.accountId}/consents?user_id=%20`)
    expect([both, neither, wrong].map(({ status }) => status)).toEqual([200, 422, 422])
    expect(at(both.json, "status")).toBe(at(shown.json, "status"))
    expect([neither, wrong].map(({ json }) => at(json, "errors", 0, "pointer"))).toEqual([
      "/query/phone",
      "/query/user_id"
    ])
  })

  it("and without a user id is listed for the operator and told by an event", async () => {
    const shop = await session()
    const webhook = await host.admin(`/accounts/${shop.accountId}/webhooks`, {
      url: "http://127.0.0.1:9/",
      events: ["inbound.*"]
    })
    const webhookId = String(at(webhook.json, "webhook", "id"))
    const lost = [text(undefined, "STOP"), text("not-a-number", "BAJA")]
    expect((await post(shop.path, envelope({ messages: lost }))).status).toBe(200)
    expect((await post(shop.path, envelope({ messages: lost }))).status).toBe(200)
    const stop = { value: "stop", timestamp: String(Math.floor(Date.now() / 1000)) }
    const raw = envelope({ user_preferences: [stop] }, number, "user_preferences")
    expect((await post(shop.path, raw)).status).toBe(200)
    const path = `/accounts/${shop.accountId}/unattributed`
    const first = await host.admin(`${path}?limit=2`)
    const found = items(first.json, "unattributed")
    expect(found.map((each) => [at(each, "kind"), at(each, "text")])).toEqual([
      ["opt_out", "The platform's user_preferences: stop"],
      ["message", "BAJA"]
    ])
    expect(at(found[1], "session_id")).toBe(shop.id)
    const next = await host.admin(`${path}?cursor=${at(first.json, "next_cursor")}`)
    expect(items(next.json, "unattributed").map((each) => at(each, "text"))).toEqual(["STOP"])
    const deliveries = await eventually(
      () => host.admin(`/webhooks/${webhookId}/deliveries`),
      ({ json }) => items(json, "deliveries").length === 3
    )
    expect(new Set(items(deliveries.json, "deliveries").map((each) => at(each, "event_type")))).toEqual(
      new Set(["inbound.unattributed"])
    )
    expect((await host.admin("/accounts/0190a1b2-0000-7000-8000-000000000000/unattributed")).status).toBe(404)
  })
})

describe("a session's keywords", () => {
  it("are shown, changed list by list, refused where they are none, and counted", async () => {
    const shop = await session({ keywords: { opt_out: ["Adiós"] } })
    expect(at(shop.created.json, "session", "keywords")).toEqual({ opt_out: ["Adiós"], opt_in: null })
    await consent(host, shop.accountId, "34600000001", "34600000002")
    const raw = envelope({ messages: [text("34600000001", "¡ADIOS!"), text("34600000002", "STOP")] })
    expect((await post(shop.path, raw)).status).toBe(200)
    expect(await shop.status("phone=34600000001")).toBe("revoked")
    expect(await shop.status("phone=34600000002")).toBe("granted")
    const patch = (keywords: unknown) => host.admin(`/sessions/${shop.id}`, { keywords }, "PATCH")
    expect(at((await patch({ opt_in: ["hola"] })).json, "session", "keywords")).toEqual({
      opt_out: ["Adiós"],
      opt_in: ["hola"]
    })
    expect(at((await patch({ opt_out: null })).json, "session", "keywords")).toEqual({
      opt_out: null,
      opt_in: ["hola"]
    })
    const refused = await patch({ opt_out: ["?", "x".repeat(41)] })
    expect(refused.status).toBe(422)
    expect(items(refused.json, "errors").map((each) => at(each, "pointer"))).toEqual([
      "/keywords/opt_out/0",
      "/keywords/opt_out/1"
    ])
    expect((await patch({ opt_in: ["stop"] })).status).toBe(422)
    expect((await patch({ opt_out: Array(201).fill("x") })).status).toBe(422)
  })
})
