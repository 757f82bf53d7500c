/** `to` in every call that has it: one phone, one recipient, or a list of either, each with one effect. */
import { SendwrightError, type To } from "sendwright"
import { createTestSendwright } from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"
import { ana, bea, platform, start } from "./Support.ts"

const greeting = {
  name: "greeting",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}" }]
}
const variables = { "body.1": "you" }

const issuesOf = async (step: Promise<unknown>) => {
  const error: unknown = await step.then(
    () => undefined,
    (reason: unknown) => reason
  )
  return SendwrightError.is(error) ? error.issues.map(({ code, path }) => [path, code]) : error
}

const forms: ReadonlyArray<readonly [name: string, to: To, got: ReadonlyArray<string>]> = [
  ["one phone", ana, [`${ana} you`]],
  ["one recipient", { phone: ana, variables: { "body.1": "Ana" } }, [`${ana} Ana`]],
  ["phones", [ana, bea], [`${ana} you`, `${bea} you`]],
  ["both", [ana, { phone: bea, variables: { "body.1": "Bea" } }], [`${ana} you`, `${bea} Bea`]]
]

/** A session of a platform that takes everything. */
const started = async () => {
  const { sender, sent } = platform()
  const { session, sw } = await start({ senders: [{ ...sender, provider: "sandbox" }] })
  await sw.admin.sessions.connect({ id: session.id })
  await sw.admin.templates.import({ sessionId: session.id, templates: [greeting] })
  return { sent, session, sw }
}

describe("of a send", () => {
  it.each(forms)("takes %s", async (_, to, got) => {
    const { sent, session, sw } = await started()
    const message = { template: "greeting", to, variables }
    expect((await session.estimate(message)).recipients).toBe(got.length)
    expect((await session.send({ ...message, idempotencyKey: "1" })).recipients).toBe(got.length)
    await sw.drain()
    const texts = sent.map(({ content, to }) =>
      content.kind === "template" ? `${to} ${content.variables["body.1"]}` : ""
    )
    expect(texts.toSorted()).toEqual(got)
  })

  it.each<[string, unknown, ReadonlyArray<readonly [string, string]>]>([
    ["a phone", "+34 600", [["/to", "recipient_invalid"]]],
    ["a recipient", { phone: "+34 600" }, [["/to/phone", "recipient_invalid"]]],
    ["a phone of a list", [ana, "+34 600"], [["/to/1", "recipient_invalid"]]],
    ["a recipient of a list", [ana, { phone: "+34 600" }], [["/to/1/phone", "recipient_invalid"]]],
    ["who did not agree", "34699999999", [["/to", "consent_required"]]],
    ["a misspelt member", { phone: ana, name: "Ana" }, [["/to/name", "unknown_field"]]]
  ])("has the fault of %s where it was given", async (_, to, issues) => {
    const { session } = await start()
    const message = { template: "hello", to, idempotencyKey: "1" }
    expect(await issuesOf(session.send(message as never))).toEqual(issues)
  })
})

describe("of a direct message", () => {
  it.each<[string, string | { phone: string } | readonly [string | { phone: string }]]>([
    ["one phone", ana],
    ["one recipient", { phone: ana }],
    ["a list of one phone", [ana]],
    ["a list of one recipient", [{ phone: ana }]]
  ])("takes %s", async (_, to) => {
    const { session } = await start()
    expect((await session.sendDirect({ to, text: "Hello" })).to).toBe(ana)
  })

  it.each<[string, unknown, string]>([
    ["a phone", "+34 600", "/to"],
    ["a recipient", { phone: "+34 600" }, "/to/phone"],
    ["a list of one", ["+34 600"], "/to/0"],
    ["two, since it goes to one", [ana, bea], "/to"],
    ["a member that a text does not have", { phone: ana, variables }, "/to/variables"]
  ])("has the fault of %s where it was given", async (_, to, path) => {
    const { session } = await start()
    const issues = await issuesOf(session.sendDirect({ to, text: "Hello" } as never))
    expect(issues).toEqual([[path, expect.any(String)]])
  })
})

describe("of a send of the kit", () => {
  it.each(forms)("takes %s", async (_, to, got) => {
    const t = await createTestSendwright()
    onTestFinished(() => t.stop())
    await t.template("greeting", "Hello {{1}}")
    await t.send({ to, template: "greeting", variables })
    await t.advance("1 min")
    const phones = got.map((each) => each.split(" "))
    expect(phones.map(([phone = ""]) => t.person(phone).inbox.map(({ text }) => text))).toEqual(
      phones.map(([, name]) => [`Hello ${name}`])
    )
  })
})

describe("the error of a recipient", () => {
  it("is `error` in results, stories, events and reports alike", async () => {
    const { session, sw } = await started()
    const told: Array<unknown> = []
    sw.on("recipient.failed", ({ data }) => void told.push(data.error))
    await sw.ready()
    const { jobId } = await session.send({ template: "hello", to: ana, idempotencyKey: "1" })
    await sw.drain()
    const [result] = (await session.job(jobId)).results
    const messageId = result?.messageId ?? ""
    const error = { code: "no_such_phone", providerCode: "7", message: "It is gone.", permanent: true }
    await sw.receive([{ messageId, status: "failed", error }])
    await sw.drain()
    expect((await session.job(jobId)).results[0]?.error).toEqual(error)
    expect((await session.timeline(messageId)).message.error).toEqual(error)
    expect(told).toEqual([error])
  })
})
