/** The code that the API's reference shows for this package: each call is there, and takes what the code gives it. */
import { SendwrightError } from "sendwright"
import { createHandler } from "sendwright/http"
import { expect, it } from "vitest"
import { ana, start } from "./Support.ts"

const plain = (html: string): string =>
  html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&")

const nobody = "01900000-0000-7000-8000-000000000000"

/** What a reader has already where the code begins. */
const given = {
  id: nobody,
  accountId: nobody,
  sessionId: nobody,
  jobId: nobody,
  messageId: nobody,
  templateId: 17,
  publicKey: "pk_4fT0aZqL9xYw2RkVb7NcHd",
  name: "ana",
  phone: ana,
  person: ana,
  q: ana,
  who: ana,
  reference: "spring",
  other: "autumn",
  idempotencyKey: "order-A-17"
}

/** What says that the code is wrong, and not that there is no such thing in this store. */
const ofTheCode = ["unknown_field", "required", "invalid_type"]

const faultOf = (error: unknown): string | null => {
  if (!(error instanceof SendwrightError)) return String(error)
  const issues = error.issues.filter(({ code }) => ofTheCode.includes(code))
  return issues.length === 0 ? null : JSON.stringify(issues)
}

it("runs as it stands there", async () => {
  const { session, sw } = await start()
  const page = await (await createHandler(sw)(new Request("http://app/docs"))).text()
  const codes = [
    ...page.matchAll(
      /<article class="op" id="([^"]+)">(?:(?!<\/article>)[\s\S])*?<h4>sendwright<\/h4><pre><code>([^<]+)</g
    )
  ]
  expect(codes.length).toBeGreaterThan(85)
  const wrong: Array<string> = []
  for (const [, id = "", html = ""] of codes) {
    const run = new Function(
      "sw",
      "session",
      "console",
      ...Object.keys(given),
      `return (async () => { ${plain(html)} })()`
    )
    const quiet = { log: () => {} }
    const fault = await Promise.resolve(run(sw, session, quiet, ...Object.values(given))).then(
      () => null,
      faultOf
    )
    if (fault !== null) wrong.push(`${id}: ${fault}\n${plain(html)}`)
  }
  expect(wrong).toEqual([])
}, 30_000)
