/** The console below a path of an app's own server, beside the API: in a real browser, by an operator whom the app knows. */
import { createServer } from "node:http"
import { type ConsoleOperator, createConsole, createHandler, toNodeHandler } from "sendwright/http"
import { expect, it, onTestFinished } from "vitest"
import { launch, listen } from "../../console/test/Browser.ts"
import { list, start } from "./Support.ts"

const staff: Readonly<Record<string, ConsoleOperator>> = { ana: { name: "ana", role: "admin" } }

it("does a screen's task below the app's own path, and records who did it", async () => {
  const { session, sw } = await start()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  const console = toNodeHandler(
    createConsole<{ readonly headers: { readonly cookie?: string } }>(sw, {
      prefix: "/staff/messages",
      baseUrl: base,
      authorize: ({ headers: { cookie = "" } }) => staff[/app=(\w+)/.exec(cookie)?.[1] ?? ""] ?? null
    })
  )
  const api = toNodeHandler(createHandler(sw, { prefix: "/api/messaging" }))
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/staff/messages") === true) void console(request, response)
    else if (request.url?.startsWith("/api/messaging") === true) void api(request, response)
    else response.writeHead(404).end()
  })
  const browser = await launch()
  onTestFinished(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
  })
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(12_000)
  const told = listen(page)
  expect((await page.goto(`${base}/staff/messages/console`))?.status()).toBe(401)
  await context.addCookies([{ name: "app", value: "ana", url: base }])
  await page.goto(`${base}/staff/messages/console`)
  // Nobody signs in or out here: the app knows who it is.
  await page.getByRole("heading", { name: "Now" }).waitFor()
  expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0)
  await page.getByRole("link", { name: "Sessions", exact: true }).first().click()
  await page.getByRole("link", { name: "main" }).first().click()
  await page.getByRole("button", { name: "Set its pace…" }).click()
  await page.getByLabel("Messages a second").fill("7")
  await page.getByRole("button", { name: "Set it", exact: true }).click()
  await page.getByText("Its pace is set.").waitFor()
  expect(page.url()).toBe(`${base}/staff/messages/console/sessions/${session.id}`)
  const { pacing } = await sw.admin.sessions.find({ id: session.id })
  expect(pacing.messagesPerSecond).toBe(7)
  const [entry] = await list(sw.admin.audit({ operation: "sessions.change" }))
  expect(entry).toMatchObject({ operator: "app:ana", target: session.id })
  expect((await fetch(`${base}/api/messaging/health/live`)).status).toBe(200)
  expect(told.errors).toEqual([])
  expect(told.requests.filter((url) => !url.startsWith(`${base}/staff/messages/`))).toEqual([])
}, 60_000)
