/** A browser from the registry, and what a page of the console tells while it is open. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import chromium from "@sparticuz/chromium"
import type { Browser, Page } from "playwright-core"
import { chromium as driver } from "playwright-core"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Its own list is for pages of anybody; here the rules between origins are what is tested. */
const unwanted =
  /^--(?:single-process|disable-web-security|disable-site-isolation-trials|allow-running-insecure-content)$/

export const launch = async (): Promise<Browser> =>
  driver.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args.filter((each) => !unwanted.test(each))
  })

export interface Told {
  /** Where each request went. */
  readonly requests: Array<string>
  readonly errors: Array<string>
}

export const listen = (page: Page): Told => {
  const told: Told = { requests: [], errors: [] }
  page.on("request", (request) => told.requests.push(request.url()))
  page.on("pageerror", (error) => told.errors.push(error.message))
  page.on("dialog", (dialog) => {
    told.errors.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  // A policy that was broken is told there; so is a status that refuses, which screens show themselves.
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of [45]\d\d|ERR_INTERNET_DISCONNECTED/.test(message.text()))
      told.errors.push(message.text())
  })
  return told
}

export const signIn = async (page: Page, base: string, token: string, path = ""): Promise<void> => {
  await page.goto(`${base}/console`)
  await page.getByLabel("Your operator token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("link", { name: "Now", exact: true }).first().waitFor()
  if (path !== "") await page.goto(`${base}/console${path}`)
}

/** The rules that the page breaks, each with where. */
export const broken = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  const found: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + " " + target + " " + html.slice(0, 160))))`
  )
  return Array.isArray(found) ? found.map(String) : ["axe told nothing"]
}
