/** `/docs` of a real host, as it comes over the wire and as a browser shows it. */
import { get, type IncomingMessage } from "node:http"
import { gunzipSync } from "node:zlib"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { at, items, start, type TestHost } from "../../../test/support/TestHost.ts"
import { broken, launch, listen } from "./Browser.ts"

let host: TestHost
let browser: Browser

beforeAll(async () => {
  browser = await launch()
  host = await start()
}, 120_000)

afterAll(async () => {
  await browser.close()
  await host.stop()
})

/** As it comes: `fetch` would open it. */
const raw = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly response: IncomingMessage; readonly body: Buffer }>((resolve, reject) => {
    get(`${host.base}${path}`, { headers }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("end", () => resolve({ response, body: Buffer.concat(parts) }))
    }).on("error", reject)
  })

const found = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  Array.from(text.matchAll(pattern), ([, first = ""]) => first)

const opened = async <Result>(
  use: (page: Page) => Promise<Result>,
  { dark = false, scripts = true, width = 1280 } = {}
): Promise<Result> => {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? "dark" : "light",
    javaScriptEnabled: scripts
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const told = listen(page)
  try {
    await page.goto(`${host.base}/docs`)
    const result = await use(page)
    expect(told.errors).toEqual([])
    expect(told.requests.filter((url) => !url.startsWith(`${host.base}/`))).toEqual([])
    return result
  } finally {
    await context.close()
  }
}

describe("the reference over the wire", () => {
  it("has an anchor, a request and its refusals for each operation, and links that all lead somewhere", async () => {
    const { text } = await host.request("/docs")
    const { json } = await host.request("/openapi.json")
    const ids = found(text, / id="([^"]+)"/g)
    expect(ids).toEqual([...new Set(ids)])
    const operations = Object.values(Object(at(json, "paths"))).flatMap((path) => Object.values(Object(path)))
    const events = Object.values(Object(at(json, "webhooks"))).map((event) => at(event, "post"))
    const known = [...operations, ...events].map((each) => String(at(each, "operationId")))
    expect(known.length).toBeGreaterThan(130)
    expect(known.filter((id) => !ids.includes(id))).toEqual([])
    const schemas = Object.keys(Object(at(json, "components", "schemas")))
    expect(schemas.filter((name) => !ids.includes(`schema-${name}`))).toEqual([])
    expect(found(text, /href="#([^"]+)"/g).filter((id) => !ids.includes(id))).toEqual([])
    expect(found(text, /<h4>(curl)<\/h4>/g).length).toBe(
      known.filter((id) => !/^(?:event|hooks)\./.test(id)).length
    )
    const send = text.slice(text.indexOf('id="v1.send"'), text.indexOf('id="v1.jobs"'))
    for (const told of [
      "consent_required",
      "recipients",
      "idempotency-key",
      "session.send({",
      "messages:send"
    ])
      expect(send).toContain(told)
  })

  it("comes compressed under a policy without inline scripts, and not again to whoever has it", async () => {
    const { body, response } = await raw("/docs", { "accept-encoding": "gzip" })
    expect(response.headers["content-encoding"]).toBe("gzip")
    expect(body.length).toBeLessThan(100_000)
    const policy = String(response.headers["content-security-policy"])
    expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/)
    const text = gunzipSync(body).toString()
    expect(text).toBe((await raw("/docs")).body.toString())
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+="/)
    const again = await raw("/docs", {
      "accept-encoding": "gzip",
      "if-none-match": String(response.headers.etag)
    })
    expect([again.response.statusCode, again.body.length]).toEqual([304, 0])
    const files = found(text, /(?:src|href)="(docs\/[^"]+)"/g)
    expect(files.length).toBe(2)
    for (const name of files) {
      const file = await raw(`/${name}`)
      expect([file.response.statusCode, file.response.headers["cache-control"]]).toEqual([
        200,
        "public, max-age=31536000, immutable"
      ])
    }
    expect((await raw("/docs/reference-0.js")).response.statusCode).toBe(404)
  })

  it("says as much as the description does of what an operation takes", async () => {
    const { text } = await host.request("/docs")
    const { json } = await host.request("/openapi.json")
    const members = Object.keys(
      Object(at(json, "components", "schemas", "TemplateMessageRequest", "properties"))
    )
    expect(members.length).toBeGreaterThan(8)
    const send = text
      .slice(text.indexOf('id="v1.send"'), text.indexOf('id="v1.jobs"'))
      .replaceAll("<wbr>", "")
    expect(members.filter((name) => !send.includes(`<code>${name}</code>`))).toEqual([])
    const codes = items(json, "components", "schemas", "Problem", "properties", "code", "enum")
    expect(codes.filter((code) => !text.includes(`id="problem-${code}"`))).toEqual([])
  })
})

describe("the reference in a browser", () => {
  it("shows by its search what has the words, and says how much that is", () =>
    opened(async (page) => {
      await page.keyboard.press("/")
      await page.keyboard.type("deliveries_per_second change")
      const heading = page.getByRole("heading", { name: "Change a webhook endpoint" })
      await heading.waitFor()
      expect(await page.getByRole("heading", { name: "Send a template to" }).isVisible()).toBe(false)
      expect(await page.getByRole("status").textContent()).toMatch(/^\d+ places? ha(?:s|ve) these words\.$/)
      await page.keyboard.press("Control+A")
      await page.keyboard.type("zebra")
      await page.getByText("Nothing here has these words.").waitFor()
      await page.keyboard.press("Escape")
      await page.getByRole("heading", { name: "Send a template to" }).waitFor()
    }))

  it("leads to an operation by its link, also out of a search", () =>
    opened(async (page) => {
      await page.goto(`${host.base}/docs#admin.changeSession`)
      const heading = page.getByRole("heading", { name: "Change a session" })
      await heading.waitFor()
      await page.getByLabel("Find in the reference").fill("estimate")
      await page.evaluate("location.hash = '#admin.adminJob'")
      await page.getByRole("heading", { name: "Read any account's job" }).waitFor()
    }))

  it("is whole without a script", () =>
    opened(
      async (page) => {
        expect(await page.getByLabel("Find in the reference").isVisible()).toBe(false)
        await page.getByRole("link", { name: "Send a template to" }).first().click()
        expect(await page.getByRole("heading", { name: "Send a template to" }).isVisible()).toBe(true)
      },
      { scripts: false }
    ))

  it.each([
    [1280, false],
    [360, true]
  ])(
    "breaks no rule for readers of screens, and fits, at %i px (dark: %s)",
    async (width, dark) => {
      await opened(
        async (page) => {
          // What is far away is not laid out until somebody looks; all of it is checked.
          await page.evaluate("for (const each of document.querySelectorAll('article')) each.hidden = false")
          expect(await broken(page)).toEqual([])
          expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width)
        },
        { dark, width }
      )
    },
    240_000
  )
})
