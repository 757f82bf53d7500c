/** A change of the secret key, as an app makes it. */
import Database from "better-sqlite3"
import {
  createSendwright,
  httpGateway,
  memory,
  type Sendwright,
  type SendwrightError,
  sandbox
} from "sendwright"
import { createHandler } from "sendwright/http"
import { sqlite } from "sendwright/sqlite"
import { describe, expect, it } from "vitest"
import { furnish, list, secretKey } from "./Support.ts"

const newKey = Buffer.alloc(32, 8).toString("base64")
const senders = [sandbox(), httpGateway()]

const refused = (step: Promise<unknown>): Promise<SendwrightError> =>
  step.then(
    () => expect.unreachable(),
    (error: SendwrightError) => error
  )

describe("several secret keys", () => {
  it("open all, the first seals, and `reseal` ends the others", async () => {
    const database = new Database(":memory:")
    const store = sqlite({ database, migrate: true })
    const logLevel = "none"
    const before = await createSendwright({ store, senders, secretKey, logLevel })
    const { account, session } = await furnish(before)
    const config = { url: "https://gateway.example/messages", secret: "0123456789abcdef0123456789abcdef" }
    await before.admin.sessions.create({ accountId: account.id, name: "gateway", provider: "http", config })
    await before.admin.webhooks.create({ accountId: account.id, url: "https://shop.example/hooks" })
    const { publicKey, secretKey: ofKey } = await before.admin.keys.issue({ sessionId: session.id })
    await before.stop()

    const during = await createSendwright({ store, senders, secretKeys: [newKey, secretKey], logLevel })
    const { secrets: first } = await during.admin.secrets.reseal()
    expect(first.resealed).toMatchObject({ sessions: 2, webhooks: 1 })
    // An API key moves when it is next used.
    expect([first.apiKeysLeft, first.olderKeys.length, first.retired.length]).toEqual([1, 1, 0])
    const headers = { "x-public-key": publicKey, "x-secret-key": ofKey }
    const handler = createHandler(during)
    const answer = await handler(new Request("http://app.example/api/v1/connection", { headers }))
    expect(answer.status).toBe(200)
    const { secrets: last } = await during.admin.secrets.reseal()
    expect([last.apiKeysLeft, last.olderKeys.length, last.retired.length]).toEqual([0, 0, 1])
    await during.stop()

    const after = await createSendwright({ store, senders, secretKeys: [newKey], logLevel })
    const { secrets: again } = await after.admin.secrets.reseal()
    expect([again.resealed, again.unreadable]).toEqual([
      { sessions: 0, webhooks: 0, erasures: 0 },
      { sessions: 0, webhooks: 0, erasures: 0 }
    ])
    expect((await list(after.admin.sessions.list({ accountId: account.id }))).length).toBe(2)
    await after.stop()
    const old = await refused(createSendwright({ store, senders, secretKey, logLevel }))
    expect(old.code).toBe("invalid_options")
  })

  it("have the cursors of lists go on that a former one sealed", async () => {
    const options = { store: memory(), senders, logLevel: "none" } as const
    const adminToken = "0123456789abcdefghijklmn"
    /** A page of one account, and the query of the next. */
    const page = async (sw: Sendwright, query: string) => {
      const handler = createHandler(sw, { adminToken })
      const request = new Request(`http://app.example/admin/v1/accounts?limit=1&${query}`, {
        headers: { authorization: `Bearer ${adminToken}` }
      })
      const answer = await handler(request)
      const text = await answer.text()
      return { status: answer.status, text, next: /"next_cursor":"([^"]+)"/.exec(text)?.[1] }
    }
    const before = await createSendwright({ ...options, secretKey })
    for (const name of ["One", "Two"]) await before.admin.accounts.create({ name })
    const first = await page(before, "")
    await before.stop()
    const after = await createSendwright({ ...options, secretKeys: [newKey, secretKey] })
    const second = await page(after, `cursor=${first.next}`)
    expect([first.text, second.text]).toEqual([
      expect.stringContaining('"Two"'),
      expect.stringContaining('"One"')
    ])
    await after.stop()
  })

  it.each<[string, object, string]>([
    ["none of them", {}, "/secretKey"],
    ["an empty list", { secretKeys: [] }, "/secretKeys"],
    ["both", { secretKey, secretKeys: [newKey] }, "/secretKeys"],
    ["one that is none", { secretKeys: [newKey, "short"] }, "/secretKeys/1"]
  ])("are refused where %s is given", async (_, keys, path) => {
    const given: never = { store: memory(), senders, ...keys } as never
    const error = await refused(createSendwright(given))
    expect([error.code, error.issues.map((issue) => issue.path)]).toEqual(["invalid_options", [path]])
  })
})
