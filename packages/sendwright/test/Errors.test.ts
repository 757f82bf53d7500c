/** What is refused says why, by the codes of the REST API and in the words of this package. */

import { Errors } from "@sendwright/core"
import type { Sendwright } from "sendwright"
import { createSendwright, httpGateway, memory, SendwrightError, sandbox, whatsapp } from "sendwright"
import { describe, expect, it } from "vitest"
import * as Failures from "../src/inside/Failures.ts"
import { ana, open, secretKey, start, template } from "./Support.ts"

/** A value that the types refuse, as whoever writes JavaScript may give it. */
const wrong = (value: unknown): never => value as never

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

  it("ten orders in a second are ten sends, whatever the plan says of requests and waits", async () => {
    const { account, session, sw } = await start()
    const plan = { minimumWaitMs: 60_000, requestsPerMinute: 1 }
    await sw.admin.accounts.change({ id: account.id, plan })
    const orders = Array.from({ length: 10 }, (_, place) => `order-${place}`)
    const sent = await Promise.all(
      orders.map((idempotencyKey) =>
        session.send({ template: "hello", to: [{ phone: ana }], idempotencyKey })
      )
    )
    expect(new Set(sent.map(({ jobId }) => jobId)).size).toBe(10)
    for (const text of ["one", "two"]) await session.sendDirect({ to: ana, text })
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

type Started = Awaited<ReturnType<typeof start>>
const to = [{ phone: ana }]
const hello = { template: "hello", to, idempotencyKey: "1" }

describe("what no type would let pass", () => {
  it.each<[string, (started: Started) => Promise<unknown>, ReadonlyArray<string>]>([
    ["no message", ({ session }) => session.send(wrong(undefined)), [""]],
    ["null for a message", ({ session }) => session.send(wrong(null)), [""]],
    ["a text for a message", ({ session }) => session.send(wrong("x")), [""]],
    ["no direct message", ({ session }) => session.sendDirect(wrong(undefined)), [""]],
    ["null for what is estimated", ({ session }) => session.estimate(wrong(null)), [""]],
    [
      "people that are not there",
      ({ session }) => session.send(wrong({ ...hello, to: new Array(3) })),
      ["/to/0", "/to/1", "/to/2"]
    ],
    [
      "the names of the REST API",
      ({ session }) => session.send(wrong({ ...hello, template_id: 1, recipients: to })),
      ["/template_id", "/recipients"]
    ],
    [
      "those of a recipient",
      ({ session }) => session.send(wrong({ ...hello, to: [{ phone: ana, external_id: "1" }] })),
      ["/to/0/external_id"]
    ],
    [
      "`message` for `text`",
      ({ session }) => session.sendDirect(wrong({ to: ana, text: "x", message: "y" })),
      ["/message"]
    ],
    ["a direct message without a text", ({ session }) => session.sendDirect(wrong({ to: ana })), ["/text"]],
    [
      "a language beside an id",
      ({ session }) => session.send({ ...hello, template: 1, language: "xx" }),
      ["/language"]
    ],
    [
      "null for a language",
      ({ session }) => session.send(wrong({ ...hello, language: null })),
      ["/language"]
    ],
    ["no post", ({ sw }) => sw.hook(wrong(undefined)), [""]],
    ["null for reports", ({ sw }) => sw.receive(wrong(null)), [""]],
    ["null for the end", ({ sw }) => sw.stop(wrong(null)), [""]]
  ])("refuses %s", async (_, step, paths) => {
    const error = await refusal(step(await start()))
    expect([error.code, error.issues.map(({ path }) => path)]).toEqual(["invalid_request", paths])
    expect(error.message).not.toMatch(/template_id, |header|The body/)
  })

  it.each([null, "job.*"])("refuses events(%j)", async (options) => {
    const { sw } = await start()
    expect(() => sw.events(wrong(options))).toThrow(SendwrightError)
  })

  it("names the near member, as callers write it", async () => {
    const { session } = await start()
    const error = await refusal(session.sendDirect(wrong({ to: ana, text: "x", link_preview: true })))
    expect(error.issues).toMatchObject([
      { path: "/link_preview", message: "`link_preview` is not known here. Did you mean `linkPreview`?" }
    ])
  })

  it("speaks of the key by its name here", async () => {
    const { session } = await start()
    const error = await refusal(session.send(wrong({ template: "hello", to })))
    expect(error.issues).toMatchObject([{ path: "/idempotencyKey", code: "required" }])
    expect(error.message).toMatch(/^`idempotencyKey` is required/)
    await session.send(hello)
    const conflict = await refusal(session.send({ ...hello, reference: "other" }))
    expect(conflict.message).toMatch(/^This `idempotencyKey` was used/)
  })

  it("leaves the names of variables as they are", async () => {
    const { session } = await start()
    const variables = JSON.parse('{"body.order_id":"1","__proto__":"x"}')
    const error = await refusal(session.send({ ...hello, to: [{ phone: ana, variables }] }))
    expect(error.issues.map(({ path }) => path).toSorted()).toEqual([
      "/to/0/variables/__proto__",
      "/to/0/variables/body.order_id"
    ])
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

  it("of which a part is no object, or says what the call says itself, is refused", async () => {
    const { session, sw } = await start()
    const { jobId } = await session.send(hello)
    const { consents, jobs, sessions, templates } = sw.admin
    const refused = async (step: () => Promise<unknown>) => {
      const error = await refusal(Promise.resolve().then(step))
      return [error.code, ...error.issues.map(({ path }) => path)]
    }
    expect(await refused(() => templates.preview(wrong(null)))).toEqual(["invalid_request", ""])
    expect(await refused(() => templates.preview({ templateId: 1, variables: wrong(5) }))).toEqual([
      "invalid_request",
      "/variables"
    ])
    expect(await refused(() => sessions.change({ id: session.id, config: wrong(null) }))).toEqual([
      "invalid_request",
      "/config"
    ])
    expect(await refused(() => consents.record(wrong(new Map())))).toEqual(["invalid_request", ""])
    expect(await refused(() => session.change(jobId, wrong({ jobId: "other" })))).toEqual([
      "invalid_request",
      "/jobId"
    ])
    expect(await refused(() => session.retry(jobId, wrong({ id: "other" })))).toEqual([
      "invalid_request",
      "/id"
    ])
    expect(await refused(() => sw.admin.retries.begin({ filter: {}, idempotencyKey: wrong(5) }))).toEqual([
      "invalid_request",
      "/idempotencyKey"
    ])
    const lists: ReadonlyArray<() => AsyncIterable<unknown>> = [
      () => jobs.list(wrong({ group: "reference" })),
      () => jobs.list(wrong(new Set()))
    ]
    for (const list of lists)
      await expect(
        (async () => {
          for await (const _ of list()) break
        })()
      ).rejects.toMatchObject({ code: "invalid_request" })
  })

  it("is told by the operation's names, which are not those of a send", async () => {
    const { sw } = await start()
    const error = await refusal(Promise.resolve().then(() => sw.admin.jobs.list({ templateId: 1.5 })))
    expect(error.issues.map(({ path }) => path)).toEqual(["/templateId"])
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
  const own = { provider: "own", send: async () => ({ outcome: "accepted" }) }

  it.each<[string, object, string]>([
    ["a secret key of another length", { secretKey: "c2hvcnQ=" }, "/secretKey"],
    ["a secret key that is no base64", { secretKey: `!${secretKey}` }, "/secretKey"],
    ["a secret key that nobody set", { secretKey: undefined }, "/secretKey"],
    ["a number as the secret key", { secretKey: 7 }, "/secretKey"],
    ["no sender", { senders: [] }, "/senders"],
    ["nothing as a sender", { senders: [null] }, "/senders/0"],
    ["a sender that cannot send", { senders: [{ provider: "own", send: 5 }] }, "/senders/0/send"],
    ["a sender without a name", { senders: [{ send: own.send }] }, "/senders/0/provider"],
    [
      "a sender of a name that none may have",
      { senders: [{ ...own, provider: "My Own" }] },
      "/senders/0/provider"
    ],
    ["two senders of one name", { senders: [sandbox(), sandbox()] }, "/senders/1/provider"],
    ["a misspelt member of a sender", { senders: [{ ...own, lookup: own.send }] }, "/senders/0/lookup"],
    ["a text for true", { senders: [{ ...own, deduplicates: "false" }] }, "/senders/0/deduplicates"],
    ["a store that is none", { store: { name: "memory" } }, "/store"],
    ["a pattern that no event matches", { on: { "job.complete": () => {} } }, "/on/job.complete"],
    ["a handler that is none", { on: { "job.completed": 5 } }, "/on/job.completed"],
    ["another name for `on`", { handlers: {} }, "/handlers"],
    ["a level that there is not", { logLevel: "warn" }, "/logLevel"],
    ["a logger without a level", { logger: { info: () => {} } }, "/logger"],
    ["no sends at once", { concurrency: 0 }, "/concurrency"],
    ["what is no network", { webhooks: { allowedNetworks: ["127.0.0.1/99"] } }, "/webhooks/allowedNetworks/0"]
  ])("refuses %s as `invalid_options`", async (_, some, path) => {
    const error = await refusal(createSendwright(wrong({ ...options, ...some })))
    expect([error.code, error.issues.map((issue) => issue.path)]).toEqual(["invalid_options", [path]])
  })

  it("says what to give where there is no sender", async () => {
    const error = await refusal(createSendwright({ ...options, senders: [] }))
    expect(error.message).toBe("`senders` needs at least one sender, for example sandbox().")
  })

  it("tells every fault at once, with what was meant", async () => {
    const senders = [{ ...own, lookup: own.send, provider: "Own" }]
    const { issues } = await refusal(createSendwright(wrong({ store: memory(), senders, logLvl: "none" })))
    expect(issues.map(({ path }) => path)).toEqual([
      "/secretKey",
      "/logLvl",
      "/senders/0/provider",
      "/senders/0/lookup"
    ])
    expect(issues[1]?.message).toContain("Did you mean `logLevel`?")
    expect(issues[3]?.message).toContain("Did you mean `lookUp`?")
  })

  it("takes an instance of a class as a sender", async () => {
    class Gateway {
      readonly provider = "own"
      readonly token = "x"
      async send() {
        return { outcome: "accepted" as const }
      }
    }
    const sw = await createSendwright({ ...options, senders: [new Gateway()] })
    await sw.stop()
  })

  it.each([null, undefined, "x"])("refuses %j", async (given) => {
    expect((await refusal(createSendwright(wrong(given)))).code).toBe("invalid_options")
  })

  it.each<[string, () => unknown]>([
    ["sandbox()", () => sandbox(wrong({ foo: 1 }))],
    ["whatsapp()", () => whatsapp(wrong({ connections: "64" }))],
    ["httpGateway()", () => httpGateway(wrong({ connections: 0 }))]
  ])("has %s refuse what it does not take", (_, make) => {
    expect(make).toThrow(SendwrightError)
  })

  it("is over once it was stopped, however often", async () => {
    const sw: Sendwright = await createSendwright(options)
    await sw.start()
    await Promise.all([sw.stop(), sw.stop()])
    expect((await refusal(sw.drain())).code).toBe("unavailable")
  })
})

describe("an error of core", () => {
  it.each(Object.keys(Errors))("has a code: %s", (tag) => {
    expect(Failures.ofCore({ _tag: tag })).toBeInstanceOf(SendwrightError)
  })

  it("that it does not refuse with is a defect, and stays what it is", () => {
    const defect = Object.assign(new Error("No.", { cause: "a bug" }), { _tag: "RuntimeException" })
    expect(Failures.ofCore(defect)).toBe(defect)
  })
})
