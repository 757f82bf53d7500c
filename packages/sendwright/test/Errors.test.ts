/** What is refused says why, by the codes of the REST API and in the words of this package. */
import type { Sendwright } from "sendwright"
import { createSendwright, memory, SendwrightError, sandbox } from "sendwright"
import { describe, expect, it } from "vitest"
import { ana, open, secretKey, start, template } from "./Support.ts"

const refusal = async (step: Promise<unknown>): Promise<SendwrightError> => {
  const error: unknown = await step.then(
    () => undefined,
    (reason: unknown) => reason
  )
  if (error instanceof SendwrightError) return error
  throw new Error(`Refused otherwise: ${String(error)}`)
}

describe("a send", () => {
  it("without consent is `consent_required`, with the place of the person", async () => {
    const { session } = await start()
    const error = await refusal(
      session.send({ template: "hello", to: [{ phone: "34699999999" }], idempotencyKey: "1" })
    )
    expect(error.code).toBe("consent_required")
    expect(error.issues.map(({ code, path }) => [path, code])).toEqual([["/to/0/phone", "consent_required"]])
  })

  it("with faults names all of them as the caller wrote them", async () => {
    const { session } = await start()
    const error = await refusal(
      session.send({
        template: "hello",
        to: [{ phone: "+34 600", externalId: "x".repeat(300) }],
        idempotencyKey: "1"
      })
    )
    expect(error.code).toBe("invalid_request")
    expect(error.issues.map(({ path }) => path).toSorted()).toEqual(["/to/0/externalId", "/to/0/phone"])
    expect(JSON.stringify(error.issues)).not.toMatch(/recipients|external_id/)
  })

  it("of no template that there is names the template, and of one in two languages asks which", async () => {
    const { session, sw } = await start()
    const to = [{ phone: ana }]
    const none = await refusal(session.send({ template: "nope", to, idempotencyKey: "1" }))
    expect(none.issues).toMatchObject([{ path: "/template", code: "template_not_found" }])
    await sw.admin.templates.import({ sessionId: session.id, templates: [template("hello", "de")] })
    const which = await refusal(session.send({ template: "hello", to, idempotencyKey: "1" }))
    expect(which.issues).toMatchObject([{ path: "/language", code: "required" }])
    expect(
      (await session.send({ template: "hello", language: "de", to, idempotencyKey: "1" })).replayed
    ).toBe(false)
  })

  it("under a key that was used for another one is `idempotency_conflict`, and the same one is replayed", async () => {
    const { session } = await start()
    const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }
    const { jobId } = await session.send(message)
    expect(await session.send(message)).toEqual({ jobId, recipients: 1, replayed: true })
    const error = await refusal(session.send({ ...message, reference: "other" }))
    expect([error.code, error.details["jobId"]]).toEqual(["idempotency_conflict", jobId])
  })

  it("too soon after the last one says when it may be repeated", async () => {
    const { account, session, sw } = await start()
    await sw.admin.accounts.change({ id: account.id, plan: { minimumWaitMs: 60_000 } })
    await session.send({ template: "hello", to: [{ phone: ana }], idempotencyKey: "1" })
    const error = await refusal(
      session.send({ template: "hello", to: [{ phone: ana }], idempotencyKey: "2" })
    )
    expect(error.code).toBe("minimum_wait_active")
    expect(error.retryAfterMs).toBeGreaterThan(50_000)
  })

  it("of no session is `not_found`", async () => {
    const sw = await open()
    const session = sw.session("0199aaaa-0000-7000-8000-000000000000")
    expect((await refusal(session.job("0199aaaa-0000-7000-8000-000000000001"))).code).toBe("not_found")
  })

  it("with a transaction is refused where the store has none", async () => {
    const { session } = await start()
    const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }
    const error = await refusal(session.send(message, { tx: { database: "sqlite" } }))
    expect(error.code).toBe("transaction_unsupported")
  })
})

describe("an operator's call", () => {
  it("with a member that it does not have is refused with what was meant", async () => {
    const sw = await open()
    const wrong: object = { name: "Shop", currency: "EUR", plan: { minimumWait: 0 } }
    const create: (input: never) => Promise<unknown> = sw.admin.accounts.create
    const error = await refusal(create(wrong as never))
    expect(error.issues).toMatchObject([{ path: "/plan/minimumWait", code: "unknown_field" }])
  })

  it("with values of other types names each", async () => {
    const { account, sw } = await start()
    const consents = [{ phone: ana, source: "x", occurredAt: "2026-01-01" }]
    const record: (input: never) => Promise<unknown> = sw.admin.consents.record
    const error = await refusal(record({ accountId: account.id, consents } as never))
    expect(error.issues).toMatchObject([
      { path: "/consents/0/occurredAt", message: "`occurredAt` must be a `Date`." }
    ])
  })

  it("with a rule broken speaks of fields by their names here", async () => {
    const { session, sw } = await start()
    const error = await refusal(sw.admin.sessions.change({ id: session.id, retryFor: -1 }))
    expect(error.issues[0]?.path).toBe("/retryFor")
    expect(error.message).toContain("`retryFor`")
  })
})

describe("createSendwright", () => {
  const options = { store: memory(), senders: [sandbox()], secretKey } as const
  it.each<[string, Partial<Parameters<typeof createSendwright>[0]>]>([
    ["a secret key of another length", { secretKey: "c2hvcnQ=" }],
    ["no sender", { senders: [] }],
    ["a store that is none", { store: { name: "memory" } }],
    ["a pattern that no event matches", { on: Object.fromEntries([["job.complete", () => {}]]) }]
  ])("refuses %s as `invalid_options`", async (_, some) => {
    expect((await refusal(createSendwright({ ...options, ...some }))).code).toBe("invalid_options")
  })

  it("is over once it was stopped, however often", async () => {
    const sw: Sendwright = await createSendwright(options)
    await sw.start()
    await Promise.all([sw.stop(), sw.stop()])
    expect((await refusal(sw.drain())).code).toBe("unavailable")
  })
})
