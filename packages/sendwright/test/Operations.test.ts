/** Each operation of the admin API is a call here, by the rule that `inside/Admin` tells. */
import { AdminApi } from "@sendwright/core/contract"
import { SendwrightError } from "sendwright"
import { expect, it } from "vitest"
import { ana, bea, list, open, start, template } from "./Support.ts"

const nobody = "01900000-0000-7000-8000-000000000000"
/** The sandbox does not say what became of a message to it. */
const unclear = "34600000006"

it("an operation that nobody thought of here is a call, with its parameters and all members of its answer", async () => {
  const { account, session, sw } = await start()
  const { admin } = sw
  const { jobId } = await session.send({
    template: "hello",
    to: ana,
    reference: "spring",
    idempotencyKey: "1"
  })
  const webhook = await admin.webhooks.create({ accountId: account.id, url: "https://shop.example/hook" })
  expect((await list(admin.sessions.all())).map(({ id }) => id)).toEqual([session.id])
  expect(await list(admin.sessions.all({ down: true }))).toEqual([])
  expect(await admin.webhooks.find({ id: webhook.id })).toMatchObject({ secrets: [{ expiresAt: null }] })
  expect(await list(admin.webhooks.all({ failing: true }))).toEqual([])
  const deliveryId = await admin.webhooks.test({ id: webhook.id })
  expect(await list(admin.deliveries.list({ webhookId: webhook.id }))).toMatchObject([{ id: deliveryId }])
  const { payload } = await admin.deliveries.find({ id: deliveryId })
  expect(JSON.parse(payload)).toMatchObject({ type: "webhook.test" })
  expect(await list(admin.jobs.references({ accountId: account.id }))).toMatchObject([
    { reference: "spring", jobs: 1, isExact: true, createdAt: expect.any(Date) }
  ])
  expect(await list(admin.jobs.list({ reference: "spring" }))).toMatchObject([
    { jobId, account: "Shop", session: "main", key: session.id, idempotencyKey: "1", failures: [] }
  ])
  expect(await list(admin.events.list({ jobId }))).not.toEqual([])
  const { results } = await admin.jobs.find({ id: jobId, recipientStatus: "failed" })
  expect(results).toEqual([])
})

it("who got both of two campaigns is told, and nobody of whom it is not known", async () => {
  const { account, session, sw } = await start()
  await sw.admin.consents.record({
    accountId: account.id,
    consents: [bea, unclear].map((phone) => ({ phone, source: "test" }))
  })
  const send = (reference: string, idempotencyKey: string, ...to: ReadonlyArray<string>) =>
    session.send({ template: "hello", to, reference, idempotencyKey })
  await send("spring", "1", ana, bea, unclear)
  await send("autumn", "2", bea, unclear)
  const overlap = (other: string) =>
    sw.admin.jobs.overlap({ accountId: account.id, reference: "spring", other })
  expect(await overlap("autumn")).toEqual({ recipients: 0, isExact: true, people: [] })
  await sw.drain()
  expect(await overlap("autumn")).toMatchObject({
    recipients: 1,
    isExact: true,
    people: [{ phone: bea, userId: null, status: "delivered", otherStatus: "delivered" }]
  })
  expect(await overlap("winter")).toMatchObject({ recipients: 0 })
  await expect(overlap("spring")).rejects.toMatchObject({
    issues: [{ path: "/other", code: "invalid_value" }]
  })
  await expect(
    sw.admin.jobs.overlap({ accountId: nobody, reference: "spring", other: "autumn" })
  ).rejects.toMatchObject({ code: "not_found" })
})

it("an export is its rows, which end where nobody asks for more", async () => {
  const { account, session, sw } = await start()
  await session.send({ template: "hello", to: ana, idempotencyKey: "1" })
  const { export: exports } = sw.admin
  expect(await list(exports.results({ accountId: account.id }))).toMatchObject([
    { phone: ana, kind: "template", createdAt: expect.any(Date), sentAt: null }
  ])
  expect(await list(exports.events({ accountId: account.id }))).not.toEqual([])
  for await (const row of exports.consents()) {
    expect(row).toMatchObject({ accountId: account.id, recordedAt: expect.any(Date) })
    break
  }
  await expect(list(exports.results({ accountId: nobody }))).rejects.toMatchObject({ code: "not_found" })
})

it("a template is told with what its platform says of it, and previewed", async () => {
  const { session, sw } = await start()
  await sw.admin.templates.import({
    sessionId: session.id,
    templates: [template("named", "en", "Hello {{1}}")]
  })
  const [found] = (await list(session.templates())).filter(({ name }) => name === "named")
  expect(found).toMatchObject({ language: "en", maxPrice: null, updatedAt: expect.any(Date) })
  const templateId = found?.templateId ?? expect.fail("It is not there.")
  expect(await sw.admin.templates.preview({ templateId, variables: { "body.1": "Ana" } })).toMatchObject({
    templateId,
    body: "Hello Ana",
    missing: []
  })
})

it("a list of several pages is one list, and its filter is refused where it is called", async () => {
  const sw = await open()
  for (let place = 0; place < 101; place += 1) await sw.admin.accounts.create({ name: `Shop ${place}` })
  expect(new Set((await list(sw.admin.accounts.list())).map(({ id }) => id)).size).toBe(101)
  const of: (input: object) => unknown = sw.admin.sessions.list as never
  expect(() => of({ account_id: nobody })).toThrow(SendwrightError)
  expect(() => of({ accountId: "1" })).toThrow(/`accountId` must be a UUID/)
})

it("a refusal names parameters as they are called here", async () => {
  const sw = await open()
  const missing: (input: object) => Promise<unknown> = sw.admin.keys.issue as never
  const error = await missing({}).catch((error: unknown) => error)
  expect(error).toMatchObject({
    code: "invalid_request",
    issues: [{ path: "/sessionId", code: "required", message: "`sessionId` is required." }]
  })
  const wrong: (input: object) => Promise<unknown> = sw.admin.webhooks.replay as never
  expect(await wrong({ id: nobody, since: "2026-01-01" }).catch((error: unknown) => error)).toMatchObject({
    issues: [{ path: "/since", code: "invalid_type", message: "`since` must be a `Date`." }]
  })
})

it("what no type would let pass is refused, and nothing of it is ignored", async () => {
  const { sw } = await start()
  const { rateCards, retries } = sw.admin
  const retry: (input: unknown) => Promise<unknown> = retries.begin as never
  const add: (input: unknown) => Promise<unknown> = rateCards.add as never
  for (const filter of [null, "x", {}, { key: "x".repeat(65) }, { publicKey: 7 }])
    await expect(retry({ filter, dryRun: true })).rejects.toBeInstanceOf(SendwrightError)
  for (const given of [undefined, {}, { prices: 7 }, { prices: [null] }])
    await expect(add(given)).rejects.toBeInstanceOf(SendwrightError)
})

it("every operation has a command of one or two words, by which it has its place", () => {
  const names = AdminApi.operations.map(({ command }) => command.name)
  expect(names.filter((name) => !/^[a-z-]+(?: [a-z]+)?$/.test(name))).toEqual([])
})

it("another time of a job is a date, or a local time in its zone", async () => {
  const { session, sw } = await start()
  const send = { template: "hello", to: ana, idempotencyKey: "1", sendAt: new Date(Date.now() + 3_600_000) }
  const { jobId } = await session.send(send)
  const sendAt = new Date(Date.now() + 7_200_000)
  expect((await sw.admin.jobs.change({ id: jobId, sendAt })).sendAt).toEqual(sendAt)
  const local = { local: `${new Date().getFullYear() + 1}-01-01T09:00`, timeZone: "Europe/Madrid" }
  const soon = { local: new Date(Date.now() + 7_200_000).toISOString().slice(0, 16), timeZone: "Etc/UTC" }
  expect((await sw.admin.jobs.change({ id: jobId, sendAt: soon, expiresAt: local })).expiresAt).toEqual(local)
})
