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
  it("is counted, carried out by whoever drains or runs the loops, and followed to its end", async () => {
    const sw = await campaign()
    const filter = { reference: "spring", codes: ["recipient_unreachable"] }
    const { counted, isExact } = await sw.admin.jobs.retry({ filter, dryRun: true })
    expect([counted.jobs, counted.counts, isExact]).toEqual([3, { failed: 6, unknown: 0 }, true])
    const retry = await sw.admin.jobs.retry({ filter, idempotencyKey: "spring" })
    expect((await sw.admin.jobs.retry({ filter, idempotencyKey: "spring" })).id).toBe(retry.id)
    expect(await retry.progress()).toMatchObject({
      status: "running",
      filter,
      expected: { jobs: 3, recipients: 6, isExact: true }
    })
    await sw.start()
    expect(await retry.ended()).toMatchObject({
      id: retry.id,
      status: "completed",
      sums: { jobs: 3, counts: { failed: 6, unknown: 0 } },
      endedAt: expect.any(Date)
    })
    expect(await list(sw.admin.jobs.retries())).toMatchObject([{ id: retry.id }])
  })

  it("is canceled, and takes nobody from then on", async () => {
    const sw = await campaign()
    const retry = await sw.admin.jobs.retry({ filter: { reference: "spring", statuses: ["unknown"] } })
    expect(retry.counted.counts).toEqual({ failed: 0, unknown: 3 })
    expect(await retry.cancel()).toMatchObject({ status: "canceled", sums: { jobs: 0 } })
    await sw.drain()
    expect(await retry.ended()).toMatchObject({ status: "canceled", sums: { jobs: 0 } })
  })

  it("is refused without a filter of jobs, by the names of this package", async () => {
    const sw = await open()
    await expect(sw.admin.jobs.retry({ filter: {} })).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path: "/filter" }]
    })
    const createdBefore = new Date("2026-01-01")
    const filter = { createdAfter: new Date("2026-02-01"), createdBefore }
    await expect(sw.admin.jobs.retry({ filter })).rejects.toMatchObject({
      issues: [{ path: "/filter/createdAfter" }]
    })
  })
})
