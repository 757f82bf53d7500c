/** The console in a real browser, against a real host: each screen's main task, and what may never happen on any. */
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { Signature } from "@sendwright/core"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  at,
  consent,
  eventually,
  items,
  start,
  type Tenant,
  type TestHost,
  tenant
} from "../../../test/support/TestHost.ts"
import { broken, launch, listen, signIn, type Told } from "./Browser.ts"

const attack = `<img src=x onerror=alert(1)>"'&`
const phone = {
  delivered: "34601001234",
  gone: "34601010001",
  unknown: "34601020006",
  retried: "34601030004"
}

let host: TestHost
let own: Tenant
let browser: Browser
let jobId = ""
let webhookId = ""
let reader = ""
const receiver = createServer((request, response) => {
  request.resume()
  response.writeHead(502, { "content-type": "text/html" }).end("<b>Bad Gateway</b>")
})

const body = (phones: ReadonlyArray<string>) => ({
  template_id: own.templateId,
  reference: attack,
  variables: { "header.1": attack, "body.2": "today", "button.0.1": "A-1" },
  recipients: phones.map((phone, place) => ({
    phone,
    external_id: `customer-${place}`,
    variables: { "body.1": attack }
  }))
})

beforeAll(async () => {
  browser = await launch()
  host = await start()
  own = await tenant(host, { session: { name: attack } })
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const address = receiver.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const webhook = await host.admin(`/accounts/${own.accountId}/webhooks`, {
    url: `http://127.0.0.1:${port}/hook`,
    events: ["*"],
    description: "its description"
  })
  webhookId = String(at(webhook.json, "webhook", "id"))
  await consent(host, own.accountId, ...Object.values(phone))
  const sent = await own.send(body(Object.values(phone)), "first")
  jobId = String(at(sent.json, "job_id"))
  const later = new Date(Date.now() + 2 * 3_600_000).toISOString()
  await own.send({ ...body([phone.delivered]), reference: "later", send_at: later }, "second")
  reader = String(at((await host.admin("/operators", { name: "eve", role: "read" })).json, "token"))
  await eventually(
    () => host.admin(`/jobs/${jobId}`),
    ({ json }) => at(json, "job", "status") === "completed"
  )
  await eventually(
    () => host.admin("/webhooks?failing=true"),
    ({ json }) => items(json, "webhooks").length > 0
  )
}, 120_000)

afterAll(async () => {
  await browser.close()
  await host.stop()
  receiver.close()
})

/** A page of somebody who signed in; what it tells is looked at when it closes. */
const opened = async <Result>(
  path: string,
  use: (page: Page, told: Told) => Promise<Result>,
  {
    colorScheme = "light",
    token = host.adminToken,
    width = 1280
  }: { readonly token?: string; readonly width?: number; readonly colorScheme?: "light" | "dark" } = {}
): Promise<Result> => {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const told = listen(page)
  try {
    await signIn(page, host.base, token, path)
    const result = await use(page, told)
    expect(told.errors).toEqual([])
    expect(
      told.requests.filter((url) => !url.startsWith(`${host.base}/`) && !url.startsWith("data:"))
    ).toEqual([])
    return result
  } finally {
    await context.close()
  }
}

const messageId = async (number: string): Promise<string> => {
  const { json } = await host.admin(`/jobs/${jobId}?limit=250`)
  const found = items(json, "job", "results").find((result) => at(result, "phone") === number)
  return String(at(found, "message_id"))
}

/** What a gateway of the tenant's hears from somebody. */
const doubt = async (from: string, text: string): Promise<void> => {
  const secret = "the secret of the gateway"
  const made = await host.admin(`/accounts/${own.accountId}/sessions`, {
    name: "gateway",
    provider: "http",
    config: { url: "http://127.0.0.1:9", secret }
  })
  const timestamp = Math.floor(Date.now() / 1000)
  const told = JSON.stringify({ messages: [{ id: "in-1", from, text, at: new Date().toISOString() }] })
  const { status } = await fetch(`${host.base}/hooks/http/${String(at(made.json, "session", "id"))}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(secret, timestamp, told)
    },
    body: told
  })
  expect(status).toBe(200)
}

describe("what is served", () => {
  const assets = fileURLToPath(new URL("../dist/assets/", import.meta.url))

  it("is at most 70 kB compressed, script and style together", () => {
    const sizes = readdirSync(assets).map((name) => gzipSync(readFileSync(`${assets}${name}`)).length)
    expect(sizes.length).toBe(2)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(70_000)
  })
})

describe("signing in", () => {
  it("refuses a token that is none, and says so", async () => {
    await opened("", async (page) => {
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Your operator token").fill("no-token-at-all")
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("alert").waitFor()
    })
  })

  it("lasts over a new load of the page, keeps the token from scripts, and ends with signing out", () =>
    opened("", async (page) => {
      await page.reload()
      await page.getByRole("heading", { name: "Now" }).waitFor()
      expect(
        await page.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })")
      ).not.toContain(host.adminToken)
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Your operator token").waitFor()
    }))

  it("ends with the operator's revocation", async () => {
    const made = await host.admin("/operators", { name: "short", role: "support" })
    await opened(
      "",
      async (page) => {
        await host.admin("/operators/short/revoke", {})
        await page.getByLabel("Your operator token").waitFor({ timeout: 30_000 })
      },
      { token: String(at(made.json, "token")) }
    )
  })
})

describe("each screen's task", () => {
  it("Now tells what needs somebody and leads to it", () =>
    opened("", async (page) => {
      await page.getByText("Nobody knows whether").waitFor()
      await page.getByRole("link", { name: "Review them" }).click()
      await page.getByText("that have recipients of whom nobody knows").waitFor()
    }))

  it("a number and Enter lead to what is known, and one key to its story", () =>
    opened("", async (page) => {
      await page.keyboard.press("/")
      await page.keyboard.type(phone.gone)
      await page.keyboard.press("Enter")
      await page.getByText("It did not arrive").waitFor()
      await page.getByText("The number is not on the platform.").first().waitFor()
      await page.goto(`${host.base}/console/search?q=${phone.delivered}`)
      await page.getByRole("table", { name: "Found" }).waitFor()
      await page.keyboard.press("j")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "What happened" }).waitFor()
    }))

  it("a job has a square for each recipient, and preselects nobody who would fail again or may get it twice", () =>
    opened(`/jobs/${jobId}`, async (page) => {
      await page.getByText("4 recipients, one square each").waitFor()
      expect(await page.locator(".dots a").count()).toBe(4)
      await page.getByText("They may get the message twice.").waitFor()
      for (const box of await page.getByRole("checkbox").all()) expect(await box.isChecked()).toBe(false)
      await page.getByRole("checkbox", { name: /may get the message twice/ }).check()
      await page.getByRole("button", { name: "Send 1 again, some maybe twice" }).waitFor()
      // A plan changes nothing.
      expect(at((await host.admin(`/jobs/${jobId}`)).json, "job", "status")).toBe("completed")
    }))

  it("the filters of jobs stand in the address", () =>
    opened("/jobs", async (page) => {
      await page.getByRole("link", { name: "Unknown outcomes" }).click()
      await page.getByText("that have recipients of whom nobody knows").waitFor()
      expect(page.url()).toContain("has=unknown")
    }))

  it("a filter tells how many it has, and a job what was told of it", () =>
    opened("/jobs", async (page) => {
      await page.getByRole("link", { name: /Unknown outcomes \d/ }).waitFor()
      await page.goto(`${host.base}/console/jobs/${jobId}`)
      await page.getByRole("link", { name: "What was told of it" }).click()
      await page.getByText("that tell of").waitFor()
      await page.getByRole("link", { name: "job.completed" }).first().waitFor()
      expect(page.url()).toContain(`about=${jobId}`)
    }))

  it("who got both of two campaigns is told by name, with both messages", async () => {
    const both = "34601081234"
    await consent(host, own.accountId, both)
    await own.send({ ...body([both, phone.unknown]), reference: "spring" }, "spring")
    await own.send({ ...body([both]), reference: "summer" }, "summer")
    await eventually(
      () => host.admin(`/accounts/${own.accountId}/overlap?reference=spring&other=summer`),
      ({ json }) => at(json, "overlap", "recipients") === 1
    )
    await opened("/jobs?group=reference", async (page) => {
      await page.getByRole("link", { name: "spring" }).click()
      await page.getByLabel("Who got both, this and").selectOption("summer")
      await page.getByText("1 person got both spring and summer.").waitFor()
      const row = page.getByRole("table", { name: "Who got both" }).getByRole("row", { name: /601 081 234/ })
      expect(await row.getByRole("link").count()).toBe(2)
      expect(page.url()).toContain("other=summer")
      await row.getByRole("link").nth(1).click()
      await page.getByRole("heading", { name: "What happened" }).waitFor()
    })
  })

  it("a session is disconnected and connected again", () =>
    opened(`/sessions/${own.sessionId}`, async (page) => {
      await page.getByRole("button", { name: "Disconnect…" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Disconnect", exact: true }).click()
      await page.getByText("It may not send").waitFor()
      await page.getByRole("button", { name: "Connect…" }).click()
      await page.getByRole("button", { name: "Ask the platform" }).click()
      await page.getByText("It may send").waitFor()
    }))

  it("a webhook tells since when it fails, and a delivery what was sent and answered", () =>
    opened(`/webhooks/${webhookId}`, async (page) => {
      await page.getByText("It fails since").waitFor()
      await page.getByRole("button", { name: "Replay…" }).click()
      await page.getByRole("button", { name: "Count them" }).click()
      await page.getByText(/It would be \d+ events?\./).waitFor()
      await page.getByRole("button", { name: "Leave it" }).click()
      await page.getByRole("button", { name: "Send a test…" }).click()
      await page.getByRole("button", { name: "Send it" }).click()
      await page.getByRole("link", { name: "webhook.test" }).first().click()
      await page.getByText("byte for byte").waitFor()
    }))

  it("what somebody else changed meanwhile is not changed, but told, and shown as it is now", () =>
    opened(`/sessions/${own.sessionId}`, async (page) => {
      await page.getByRole("button", { name: "Set its pace…" }).click()
      await page.getByLabel("Messages a second").fill("7")
      await host.admin(`/sessions/${own.sessionId}`, { pacing: { messages_per_second: 5 } }, "PATCH")
      await page.getByRole("button", { name: "Set it", exact: true }).click()
      await page.getByText("It was changed meanwhile").waitFor()
      const pace = async () =>
        at((await host.admin(`/sessions/${own.sessionId}`)).json, "session", "pacing", "messages_per_second")
      expect(await pace()).toBe(5)
      await page.getByText("5 a second").waitFor()
      await page.getByRole("button", { name: "Set it", exact: true }).click()
      await page.getByText("Its pace is set.").waitFor()
      expect(await pace()).toBe(7)
      await host.admin(`/sessions/${own.sessionId}`, { pacing: { messages_per_second: null } }, "PATCH")
    }))

  it("a person is taken out with a proof, which stands there", () =>
    opened(`/people?q=${phone.delivered}`, async (page) => {
      await page.getByRole("button", { name: "Record by hand…" }).click()
      await page.getByLabel("Reason and proof").fill("ticket 4711")
      await page.getByRole("button", { name: "Record it" }).click()
      await page.getByText("Refused at").waitFor()
      await page.getByText("Proof: ticket 4711").waitFor()
    }))

  it("a person is erased, after it was told what that takes", async () => {
    const gone = "34601050001"
    await consent(host, own.accountId, gone)
    await opened(`/people?q=${gone}`, async (page) => {
      await page.getByRole("button", { name: "Erase…" }).click()
      await page.getByText("It would take out of all accounts: ").waitFor()
      await page.getByLabel("Why, for the audit log").fill("request 4711")
      await page.getByRole("button", { name: "Erase for good" }).click()
      await page.getByText("It is done.").waitFor()
    })
    const { json } = await host.admin(`/accounts/${own.accountId}/consents?phone=${gone}`)
    expect(items(json, "history")).toEqual([])
  })

  it("a text that may be a refusal is recorded as one by a key", async () => {
    const from = "34601060001"
    await consent(host, own.accountId, from)
    await doubt(from, "please don't text me at work")
    await opened("/doubts", async (page) => {
      await page.getByText("please don't text me at work").waitFor()
      await page.keyboard.press("j")
      await page.keyboard.press("r")
      await page.getByText("please don't text me at work").waitFor({ state: "detached" })
    })
    const { json } = await host.admin(`/accounts/${own.accountId}/consents?phone=${from}`)
    expect(items(json, "current").map((each) => at(each, "status"))).not.toContain("granted")
  })

  it("nobody's doubts are denied before the accounts are known", () =>
    opened("", async (page) => {
      let answer = () => {}
      await page.route(/\/admin\/v1\/accounts\?/, (route) => {
        answer = () => void route.continue()
      })
      const sessions = page.waitForResponse(/\/admin\/v1\/sessions\?/)
      await page.goto(`${host.base}/console/doubts`)
      await (await sessions).finished()
      await page.getByRole("link", { name: "Doubts" }).first().waitFor()
      expect(await page.locator("main .say").count()).toBe(0)
      answer()
      await page.locator("main .say").waitFor()
    }))

  it("is copied as Markdown, with its sentence, its table and its address", () =>
    opened("/jobs", async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
      await page.getByRole("table", { name: "Jobs" }).waitFor()
      await page.getByRole("button", { name: "Copy as Markdown" }).click()
      await page.getByText("Copied.").waitFor()
      const copied = String(await page.evaluate("navigator.clipboard.readText()"))
      expect(copied).toContain("recipients here:")
      expect(copied).toContain("| What | Status | Who has it |")
      expect(copied).toContain(`${host.base}/console/jobs`)
    }))

  it("a job's recipients are found by the beginning of their numbers", async () => {
    const phones = Array.from({ length: 26 }, (_, place) => `34601070${String(100 + place)}`)
    await consent(host, own.accountId, ...phones)
    const sent = await own.send(body(phones), "many")
    await opened(`/jobs/${String(at(sent.json, "job_id"))}`, async (page) => {
      await page.getByLabel("A number's beginning").fill("+34 601 070 12")
      await page.getByRole("button", { name: "Find" }).click()
      await page.getByText("6 recipients, who needs somebody first").waitFor()
      expect(page.url()).toContain("find=")
    })
  })

  it("a template is shown with the values that one tries", () =>
    opened(`/templates/${own.templateId}`, async (page) => {
      await page.getByLabel(/^body\.1/).fill("שרה")
      await page.locator(".bubble", { hasText: "Hello שרה" }).waitFor()
    }))

  it("the audit log says who revoked a key", async () => {
    await host.admin(
      `/keys/${String(at((await host.admin(`/sessions/${own.sessionId}/keys`, { name: "old" })).json, "key", "public_key"))}/revoke`,
      {}
    )
    await opened("/access", async (page) => {
      await page.getByRole("link", { name: "Who revoked it" }).click()
      await page.getByText("did the last of 1 act").waitFor()
      await page.getByRole("table", { name: "Acts" }).getByText("ADMIN_TOKEN").first().waitFor()
    })
  })

  it("usage tells what a template cost", () =>
    opened(`/usage?account_id=${own.accountId}&by=template`, async (page) => {
      await page.getByRole("table", { name: "Usage by template" }).getByText("order_confirmation").waitFor()
    }))

  it("the schedule tells what starts later", () =>
    opened("/schedule", async (page) => {
      await page.getByRole("link", { name: "later" }).waitFor()
      // From the hour in which it starts, and that comes in one or in two.
      await page
        .getByRole("table", { name: "Countries" })
        .getByRole("row", { name: /Spain.* in (1 h|\d+ min)/ })
        .waitFor()
    }))
})

describe("on no screen", () => {
  const paths = async () => [
    "",
    "/search",
    `/search?q=${phone.delivered}`,
    `/messages/${await messageId(phone.delivered)}`,
    "/jobs",
    "/jobs?group=reference",
    `/jobs?account_id=${own.accountId}&reference=later`,
    `/jobs?${new URLSearchParams({ account_id: own.accountId, reference: attack, other: "later" })}`,
    `/jobs/${jobId}`,
    "/schedule",
    "/sessions",
    `/sessions/${own.sessionId}`,
    "/templates",
    `/templates/${own.templateId}`,
    "/webhooks",
    `/webhooks/${webhookId}`,
    "/people",
    `/people?q=${phone.delivered}`,
    "/doubts",
    `/usage?account_id=${own.accountId}`,
    "/access",
    "/access?show=operators",
    "/access?show=audit",
    "/messages/no-id",
    "/nowhere"
  ]
  const settled = (page: Page) => page.locator("main .say, main .trouble, main .empty").first().waitFor()

  it.each(["light", "dark"] as const)(
    "is what somebody wrote more than text, does a request leave the host, or a rule of accessibility break, %s",
    async (colorScheme) => {
      const found: Array<string> = []
      await opened(
        "",
        async (page) => {
          for (const path of await paths()) {
            await page.goto(`${host.base}/console${path}`)
            await settled(page)
            expect(await page.locator("img").count(), path).toBe(0)
            found.push(...(await broken(page)).map((each) => `${path}: ${each}`))
          }
        },
        { colorScheme }
      )
      expect(found).toEqual([])
    },
    180_000
  )

  it("is anything wider than a phone", async () => {
    const wide: Array<string> = []
    await opened(
      "",
      async (page) => {
        for (const path of await paths()) {
          await page.goto(`${host.base}/console${path}`)
          await settled(page)
          const over = await page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
          )
          if (over !== 0) wide.push(`${path}: ${String(over)} px`)
        }
      },
      { width: 360 }
    )
    expect(wide).toEqual([])
  }, 180_000)

  it("does an operator who reads see an act", () =>
    opened(
      "",
      async (page) => {
        for (const path of [
          `/jobs/${jobId}`,
          `/sessions/${own.sessionId}`,
          `/webhooks/${webhookId}`,
          `/people?q=${phone.gone}`,
          "/access"
        ]) {
          await page.goto(`${host.base}/console${path}`)
          await settled(page)
          expect(await page.locator("main button", { hasText: "…" }).count(), path).toBe(0)
          expect(await page.locator("main input[type=checkbox]").count(), path).toBe(0)
        }
      },
      { token: reader }
    ))
})

describe("a host that goes away", () => {
  it("is told since when, and the page goes on by itself", () =>
    opened("", async (page) => {
      await page.getByRole("heading", { name: "Now" }).waitFor()
      await page.context().setOffline(true)
      await page.getByText("The host gives no answer since").waitFor({ timeout: 30_000 })
      await page.getByRole("heading", { name: "Sessions" }).waitFor()
      await page.context().setOffline(false)
      await page.getByText("The host gives no answer since").waitFor({ state: "detached", timeout: 30_000 })
    }))
})
