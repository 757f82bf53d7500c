/** What is really posted to a webhook endpoint is what the description says of each event. */
import { createServer } from "node:http"
import { Event } from "@sendwright/core"
import { afterAll, beforeAll, expect, it } from "vitest"
import * as OpenApi from "../support/OpenApi.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, start, template, tenant } from "../support/TestHost.ts"

interface Posted {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

let host: TestHost
const posted: Array<Posted> = []
const receiver = createServer((request, response) => {
  let text = ""
  request.on("data", (chunk) => {
    text += chunk
  })
  request.on("end", () => {
    posted.push({ headers: request.headers, body: JSON.parse(text) })
    response.writeHead(request.url === "/gone" ? 410 : 204).end()
  })
})
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", () => resolve()))
  host = await start()
}, 60_000)
afterAll(async () => {
  await host.stop()
  receiver.close()
})

/** Told by what platforms do that the sandbox does not; the types in `Event` bind these to the schemas all the same. */
const untold = new Set([
  "inbound.perhaps_refusal",
  "inbound.unattributed",
  "job.failed",
  "job.paused",
  "message.failed",
  "message.read",
  "message.sent",
  "recipient.read",
  "recipient.skipped",
  "session.available",
  "session.unavailable",
  "session.updated"
])

it("every event of the sandbox is as described, with the headers", { timeout: 60_000 }, async () => {
  const description = OpenApi.read((await host.request("/openapi.json")).json)
  const owner = await tenant(host)
  const { accountId, sessionId } = owner
  const address = receiver.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const url = `http://127.0.0.1:${port}`
  await host.admin(`/accounts/${accountId}/webhooks`, { url: `${url}/all`, events: ["*"] })
  const batch = { url: `${url}/batch`, events: ["recipient.*"], batch_recipients: true }
  const other = await host.admin(`/accounts/${accountId}/webhooks`, batch)
  await host.admin(`/webhooks/${at(other.json, "webhook", "id")}/test`, undefined, "POST")
  const endings = ["0001", "0004", "0006", "0009", "0100", "0101", "0102"].map((ending) => `3460000${ending}`)
  await consent(host, accountId, ...endings)
  const send = (key: string, phones: ReadonlyArray<string>) =>
    owner.send(
      {
        template_id: owner.templateId,
        reference: key,
        variables: { "header.1": "A", "body.1": "B", "body.2": "C", "button.0.1": "D" },
        recipients: phones.map((phone) => ({ phone }))
      },
      key
    )
  expect((await send("all", endings)).status).toBe(202)
  expect(
    (await owner.post("/api/public/messages/send", { to: "34600000100", message: "Hello" })).status
  ).toBe(200)
  await host.admin(
    `/sessions/${sessionId}/templates`,
    { templates: [{ ...template, status: "PAUSED" }] },
    "PUT"
  )
  await host.admin(`/sessions/${sessionId}/templates`, { templates: [template] }, "PUT")
  // Slow, so that it is still under way when it is canceled.
  await host.admin(`/sessions/${sessionId}`, { pacing: { messages_per_second: 0.001 } }, "PATCH")
  const slow = await send("slow", ["34600000100", "34600000101", "34600000102"])
  expect(slow.status, slow.text).toBe(202)
  const canceled = await owner.post(`/api/v1/template-messages/${at(slow.json, "job_id")}/cancel`)
  expect(canceled.status, canceled.text).toBe(202)
  await host.admin(`/sessions/${sessionId}/disconnect`, undefined, "POST")
  await host.admin(`/sessions/${sessionId}/connect`, undefined, "POST")
  const gone = await host.admin(`/accounts/${accountId}/webhooks`, {
    url: `${url}/gone`,
    events: ["session.*"]
  })
  await host.admin(`/webhooks/${at(gone.json, "webhook", "id")}/test`, undefined, "POST")

  const expected = [...Event.types, Event.batchType].filter((type) => !untold.has(type))
  const types = () => new Set(posted.map(({ body }) => String(at(body, "type"))))
  await eventually(
    async () => types(),
    (found) => expected.every((type) => found.has(type))
  )
  expect(expected.filter((type) => !types().has(type))).toEqual([])
  for (const { body, headers } of posted) {
    const type = String(at(body, "type"))
    const validate = description.event(type)
    expect(validate?.(body), `${JSON.stringify(body)} ${JSON.stringify(validate?.errors)}`).toBe(true)
    // Nothing is told that is not described: schemas of events are open, so that this looks at the names.
    const schema = at(
      description.json,
      "webhooks",
      type,
      "post",
      "requestBody",
      "content",
      "application/json",
      "schema"
    )
    const data = description.resolve(at(schema, "properties", "data"))
    expect(Object.keys(Object(at(data, "properties"))).sort()).toEqual(
      Object.keys(Object(at(body, "data"))).sort()
    )
    for (const name of ["x-service-timestamp", "x-service-signature", "webhook-id", "webhook-signature"])
      expect(headers[name]).toBeTypeOf("string")
  }
})
