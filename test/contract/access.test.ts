/**
 * Who may call what, for every operation of the description: credentials, permissions, and that what is another's
 * answers exactly as what is not there (contract.md §2). An operation without an entry here fails.
 */
import { ApiKey } from "@sendwright/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Operation } from "../support/OpenApi.ts"
import * as OpenApi from "../support/OpenApi.ts"
import type { Answer, TestHost } from "../support/TestHost.ts"
import { at, items, sendBody, start } from "../support/TestHost.ts"
import type { Owned } from "./Tenants.ts"
import * as Tenants from "./Tenants.ts"

/** Two ids of a kind: one that another has, and one that nobody has. */
type Kind = "job" | "message" | "template"

/** What of a request of an operation names something that a key may not have; none = nothing does. */
const names: Readonly<
  Record<string, { readonly permission: string | null; readonly foreign: ReadonlyArray<Kind> }>
> = {
  "v1.connection": { permission: "connection:read", foreign: [] },
  "v1.templates": { permission: "templates:read", foreign: [] },
  "v1.template": { permission: "templates:read", foreign: ["template"] },
  "v1.estimate": { permission: "messages:estimate", foreign: ["template"] },
  "v1.send": { permission: "messages:send", foreign: ["template"] },
  "v1.jobs": { permission: "jobs:read", foreign: [] },
  "v1.job": { permission: "jobs:read", foreign: ["job", "message"] },
  "v1.search": { permission: "jobs:read", foreign: [] },
  "v1.pause": { permission: "messages:send", foreign: ["job", "message"] },
  "v1.change": { permission: "messages:send", foreign: ["job", "message"] },
  "v1.resume": { permission: "messages:send", foreign: ["job", "message"] },
  "v1.cancel": { permission: "messages:send", foreign: ["job", "message"] },
  "public.test": { permission: null, foreign: [] },
  "v1.timeline": { permission: "jobs:read", foreign: ["message", "job"] },
  "public.sendDirect": { permission: "direct:send", foreign: [] },
  // A window is of the session, by no id.
  "public.window": { permission: "direct:send", foreign: ["message", "job"] },
  "public.message": { permission: "direct:read", foreign: ["message", "job"] }
}

let host: TestHost
let owner: Owned
let others: ReadonlyArray<Owned>
let operations: ReadonlyArray<Operation>
const nobodys = "01900000-0000-7000-8000-000000000000"
const unknownTemplate = 999_999_999

beforeAll(async () => {
  // Every operation is asked with several wrong credentials.
  host = await start({ GUESSES_PER_ADDRESS: "100000", GUESSES_PER_KEY: "100000" })
  operations = OpenApi.read((await host.request("/openapi.json")).json).operations
  const receiver = `${host.base}/health/live`
  owner = await Tenants.make(host, receiver)
  others = [await Tenants.make(host, receiver), await Tenants.sibling(host, owner)]
}, 60_000)
afterAll(() => host.stop())

const ofKeys = () => operations.filter(({ access }) => access === "key")
const ofOperators = () => operations.filter(({ access }) => access === "operator")

interface Ids {
  readonly id: string
  readonly templateId: number
}

let asked = 0

/** A request of the operation that has its shape, for these ids. */
const ask = (operation: Operation, headers: Readonly<Record<string, string>>, ids: Ids): Promise<Answer> => {
  asked += 1
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === "templateId" ? String(ids.templateId) : name === "publicKey" ? "pk_none" : ids.id
  )
  const required = operation.parameters.filter(({ in: place, required }) => place === "query" && required)
  const query = required.map(({ name }) => `${name}=${encodeURIComponent(ids.id)}`).join("&")
  const body =
    operation.id === "v1.send" || operation.id === "v1.estimate"
      ? sendBody(ids.templateId, "34600000100")
      : operation.id === "public.sendDirect"
        ? { to: "34600000100", message: `Hello ${asked}` }
        : operation.example
  return host.request(`${path}${query === "" ? "" : `?${query}`}`, {
    method: operation.method,
    headers: { ...headers, ...(operation.id === "v1.send" ? { "idempotency-key": `k${asked}` } : {}) },
    ...(operation.body === undefined ? {} : { body })
  })
}

/** All of an answer that must not differ. */
const seen = ({ headers, status, text }: Answer, ids: Ids) => {
  // Who is answered before the body has come is hung up on: that tells of the network and of nothing else.
  const ofConnection = ["connection", "keep-alive"]
  const differing = new Set(["x-request-id", "date", "ratelimit", "content-length", ...ofConnection])
  const members: Record<string, unknown> = JSON.parse(text.replaceAll(ids.id, "ID"))
  delete members["request_id"]
  return { status, members, headers: [...headers].filter(([name]) => !differing.has(name)) }
}

const nothing: Ids = { id: nobodys, templateId: unknownTemplate }

describe("the table of what a key may name", () => {
  it("has every operation that takes a key, with its permission", () => {
    const served = ofKeys().map(({ id, permission }) => [id, permission])
    const expected = Object.entries(names).map(([id, { permission }]) => [id, permission])
    expect(served.sort()).toEqual(expected.sort())
  })

  it("has every operation whose path has a parameter", () => {
    for (const { id, path } of ofKeys())
      if (path.includes("{")) expect(names[id]?.foreign, id).not.toEqual([])
  })
})

describe("what is another's", () => {
  it("answers a key exactly as what is not there, of another account and of another session", async () => {
    for (const operation of ofKeys()) {
      for (const kind of names[operation.id]?.foreign ?? []) {
        const none = await ask(operation, owner.credentials, nothing)
        expect([404, 422], `${operation.id} ${none.text}`).toContain(none.status)
        for (const other of others) {
          const ids: Ids = {
            id: kind === "message" ? other.messageId : other.jobId,
            templateId: kind === "template" ? other.templateId : unknownTemplate
          }
          const answer = await ask(operation, owner.credentials, ids)
          expect(seen(answer, ids), `${operation.id} of a ${kind}`).toEqual(seen(none, nothing))
        }
      }
    }
  })

  it("is there for its own key, so that the above is no accident", async () => {
    for (const other of others) {
      expect((await other.get(`/api/v1/template-messages/${other.jobId}`)).status).toBe(200)
      expect((await other.get(`/api/v1/templates/${other.templateId}`)).status).toBe(200)
      expect((await other.get(`/api/public/messages/${other.messageId}`)).status).toBe(200)
    }
  })

  it("is in no list of a key", async () => {
    const jobs = await owner.get("/api/v1/template-messages?limit=100")
    const templates = await owner.get("/api/v1/templates?limit=100")
    for (const other of others) {
      expect(jobs.text).not.toContain(other.jobId)
      expect(templates.text).not.toContain(`"template_id":${other.templateId},`)
    }
  })

  it("is found by no search of a key", async () => {
    const found = async (q: string) => (await owner.get(`/api/v1/search?q=${q}`)).json
    const nothing = { ok: true, results: [], next_cursor: null }
    for (const other of others) {
      const { accountId, deliveryId, jobId, messageId, sessionId, webhookId } = other
      for (const id of [accountId, deliveryId, jobId, messageId, sessionId, webhookId])
        expect([id, await found(id)]).toEqual([id, nothing])
    }
    expect(items(await found(owner.jobId), "results")).toMatchObject([{ kind: "job", id: owner.jobId }])
  })

  it("answers an operator by the id of another kind as what is not there", async () => {
    const given = [
      owner.accountId,
      owner.sessionId,
      owner.jobId,
      owner.messageId,
      owner.webhookId,
      owner.deliveryId,
      owner.retryId
    ]
    const headers = { authorization: `Bearer ${host.adminToken}` }
    for (const operation of ofOperators().filter(
      ({ path, parameters }) =>
        path.includes("{") || parameters.some(({ name, required }) => required && name !== "q")
    )) {
      const none = await ask(operation, headers, nothing)
      expect(none.status, `${operation.id} ${none.text}`).toBe(404)
      const right = ownKind(operation)
      for (const id of given.filter((each) => each !== right)) {
        const ids: Ids = { id, templateId: unknownTemplate }
        expect(seen(await ask(operation, headers, ids), ids), `${operation.id} ${id}`).toEqual(
          seen(none, nothing)
        )
      }
    }
  })
})

/** The id that an operator's route is for. */
const ownKind = ({ path, parameters }: Operation): string => {
  if (path.includes("/sessions/{id}")) return owner.sessionId
  if (path.includes("/webhooks/{id}")) return owner.webhookId
  if (path.includes("/deliveries/{id}")) return owner.deliveryId
  if (path.includes("/jobs/{id}")) return owner.jobId
  if (path.includes("/messages/{messageId}")) return owner.messageId
  if (path.includes("/retries/{id}")) return owner.retryId
  return path.includes("/accounts/{id}") || parameters.some(({ name }) => name === "account_id")
    ? owner.accountId
    : ""
}

describe("a key", () => {
  const keyWith = async (some: ReadonlyArray<string>) => {
    const key = await host.admin(`/sessions/${owner.sessionId}/keys`, { permissions: some })
    return {
      "x-public-key": String(at(key.json, "key", "public_key")),
      "x-secret-key": String(at(key.json, "secret_key"))
    }
  }

  it("with all but the permission is refused by every operation, and with it alone by none", async () => {
    for (const permission of ApiKey.permissions) {
      const without = await keyWith(ApiKey.permissions.filter((each) => each !== permission))
      const alone = await keyWith([permission])
      for (const operation of ofKeys()) {
        const isNeeded = operation.permission === permission
        const isFree = operation.permission === null
        const [refused, passed] = [
          await ask(operation, without, nothing),
          await ask(operation, alone, nothing)
        ]
        const because = `${operation.id} ${permission}`
        expect(at(refused.json, "code") === "insufficient_permission", because).toBe(isNeeded)
        expect(at(passed.json, "code") === "insufficient_permission", because).toBe(!isNeeded && !isFree)
        if (isNeeded) expect(refused.status).toBe(403)
      }
    }
  })

  it("that is missing, wrong or an operator's token is refused by every operation alike", async () => {
    const wrong: ReadonlyArray<Readonly<Record<string, string>>> = [
      {},
      { "x-public-key": owner.publicKey },
      { "x-secret-key": owner.secretKey },
      { ...owner.credentials, "x-secret-key": others[0]?.secretKey ?? "" },
      { ...owner.credentials, "x-public-key": "pk_0000000000000000000000" },
      { authorization: `Bearer ${host.adminToken}` }
    ]
    for (const operation of ofKeys()) {
      const first = await ask(operation, {}, nothing)
      expect([first.status, at(first.json, "code")], operation.id).toEqual([401, "invalid_credentials"])
      for (const headers of wrong)
        expect(seen(await ask(operation, headers, nothing), nothing), operation.id).toEqual(
          seen(first, nothing)
        )
    }
  })

  it("is no operator's token", async () => {
    const wrong: ReadonlyArray<Readonly<Record<string, string>>> = [
      {},
      owner.credentials,
      { authorization: `Bearer ${owner.secretKey}` },
      { authorization: `Basic ${host.adminToken}` },
      { authorization: `Bearer ${host.adminToken}x` }
    ]
    for (const operation of ofOperators())
      for (const headers of wrong) {
        const answer = await ask(operation, headers, nothing)
        expect([answer.status, at(answer.json, "code")], operation.id).toEqual([401, "invalid_credentials"])
      }
  })
})
