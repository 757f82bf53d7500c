import { describe, expect, it } from "vitest"
import { list, open } from "./Support.ts"

/** Refused for good by their last digits, and not told of. */
const phones = ["34600010001", "34600020001", "34600000006"]

const campaign = async () => {
  const sw = await open()
  const account = await sw.admin.accounts.create({ name: "Shop" })
  const { id: sessionId } = await sw.admin.sessions.create({
    accountId: account.id,
    name: "main",
    provider: "sandbox"
  })
  const components = [{ type: "BODY", text: "Hello" }]
  const templates = [{ name: "hello", language: "en", category: "UTILITY", status: "APPROVED", components }]
  await sw.admin.templates.import({ sessionId, templates })
  const consents = phones.map((phone) => ({ phone, source: "test" }))
  await sw.admin.consents.record({ accountId: account.id, consents })
  for (let job = 0; job < 3; job++)
    await sw.session(sessionId).send({
      template: "hello",
      to: phones.map((phone) => ({ phone })),
      reference: "spring",
      idempotencyKey: `spring-${job}`
    })
  await sw.drain()
  return sw
}

describe("a retry of many jobs", () => {
  it("is counted, carried out by whoever drains or runs the loops, and is followed to its end", async () => {
    const sw = await campaign()
    const filter = { reference: "spring", codes: ["recipient_unreachable"] }
    const { counted, isExact } = await sw.admin.retries.begin({ filter, dryRun: true })
    expect([counted.jobs, counted.counts, isExact]).toEqual([3, { failed: 6, unknown: 0 }, true])
    const { retry } = await sw.admin.retries.begin({ filter, idempotencyKey: "spring" })
    const id = retry?.retryId ?? expect.fail("It did not begin.")
    const again = await sw.admin.retries.begin({ filter, idempotencyKey: "spring" })
    expect(again.retry?.retryId).toBe(id)
    expect(await sw.admin.retries.find({ id })).toMatchObject({
      status: "running",
      filter,
      expected: { jobs: 3, recipients: 6, isExact: true }
    })
    await sw.start()
    await expect
      .poll(() => sw.admin.retries.find({ id }))
      .toMatchObject({
        status: "completed",
        done: { jobs: 3, counts: { failed: 6, unknown: 0 } },
        endedAt: expect.any(Date)
      })
    expect(await list(sw.admin.retries.list())).toMatchObject([{ retryId: id }])
  })

  it("is canceled, and takes nobody from then on", async () => {
    const sw = await campaign()
    const filter = { reference: "spring", statuses: ["unknown"] } as const
    const { counted, retry } = await sw.admin.retries.begin({ filter })
    const id = retry?.retryId ?? expect.fail("It did not begin.")
    expect(counted.counts).toEqual({ failed: 0, unknown: 3 })
    expect(await sw.admin.retries.cancel({ id })).toMatchObject({ status: "canceled", done: { jobs: 0 } })
    await sw.drain()
    expect(await sw.admin.retries.find({ id })).toMatchObject({ status: "canceled", done: { jobs: 0 } })
  })

  it("is refused without a filter of jobs, by the names of this package", async () => {
    const sw = await open()
    await expect(sw.admin.retries.begin({ filter: {} })).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path: "/filter" }]
    })
    const createdBefore = new Date("2026-01-01")
    const filter = { createdAfter: new Date("2026-02-01"), createdBefore }
    await expect(sw.admin.retries.begin({ filter })).rejects.toMatchObject({
      issues: [{ path: "/filter/createdAfter" }]
    })
  })
})
