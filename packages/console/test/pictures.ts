/**
 * Takes pictures of the console's screens from the demo's host into `pictures/`, which git ignores, and of two of them and
 * of the demo's terminal for the front page into `docs/pictures/` when it is told `--docs`.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, rm } from "node:fs/promises"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { launch, signIn } from "../test/Browser.ts"
import * as Terminal from "./Terminal.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = fileURLToPath(new URL("../pictures", import.meta.url))
const docs = fileURLToPath(new URL("../../../docs/pictures", import.meta.url))

const demo = spawn(process.execPath, ["--import", "tsx", "examples/demo/main.ts"], {
  cwd: root,
  env: { ...process.env, FORCE_COLOR: "1" },
  stdio: ["ignore", "pipe", "inherit"]
})
process.once("exit", () => demo.kill())

/** What the demo printed. */
const terminal: Array<string> = []

const told = async (): Promise<{ readonly base: string; readonly token: string }> => {
  let base = ""
  for await (const painted of createInterface(demo.stdout)) {
    terminal.push(painted)
    const line = stripVTControlCharacters(painted)
    base = /^The console: (.*)\/console$/.exec(line)?.[1] ?? base
    const token = /^Sign in with: (.*)$/.exec(line)?.[1]
    if (token !== undefined) return { base, token }
  }
  throw new Error("The demo did not tell where its console is.")
}

const { base, token } = await told()

/** What the admin API answers, as far as a path of it is asked for. */
const ask = async <Answer>(path: string): Promise<Answer> => {
  const response = await fetch(`${base}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
  return JSON.parse(await response.text())
}

interface Named {
  readonly id: string
  readonly name: string
}
const jobs = (
  await ask<{ jobs: ReadonlyArray<{ job_id: string; reference: string | null }> }>("/jobs?limit=100")
).jobs
const jobNamed = (start: string) => jobs.findLast(({ reference }) => reference?.startsWith(start) === true)
const jobOf = (reference: string): string => jobNamed(reference)?.job_id ?? ""
const outage = await ask<{
  job: { results: ReadonlyArray<{ message_id: string; status: string; phone: string }> }
}>(`/jobs/${jobOf("reminders")}?limit=250`)
const failed = outage.job.results.find(({ status }) => status === "failed")
const tomorrow = await ask<typeof outage>(`/jobs/${jobOf("newsletter")}?limit=250`)
const brazilian = tomorrow.job.results.find(({ phone }) => phone.startsWith("55"))
const { sessions } = await ask<{ sessions: ReadonlyArray<Named> }>("/sessions")
const sessionOf = (name: string): string => sessions.find((session) => session.name === name)?.id ?? ""
const { accounts } = await ask<{ accounts: ReadonlyArray<Named> }>("/accounts")
const shop = accounts.find(({ name }) => name === "Demo shop")?.id ?? ""
const { templates } = await ask<{ templates: ReadonlyArray<{ template_id: number }> }>(
  `/sessions/${sessionOf("Sandbox")}/templates`
)
const { webhooks } = await ask<{ webhooks: ReadonlyArray<{ id: string }> }>("/webhooks?failing=true")

const screens: Readonly<Record<string, string>> = {
  now: "",
  search: "/search?q=34612340009",
  message: `/messages/${failed?.message_id}`,
  jobs: "/jobs",
  "jobs-by-reference": "/jobs?group=reference",
  "jobs-of-one-reference": `/jobs?account_id=${shop}&reference=new-collection`,
  "who-got-both": `/jobs?account_id=${shop}&reference=new-collection&other=${jobNamed("newsletter")?.reference}`,
  "job-of-the-outage": `/jobs/${jobOf("reminders")}`,
  "job-under-way": `/jobs/${jobOf("new-collection")}`,
  schedule: "/schedule",
  "job-of-tomorrow": `/jobs/${jobOf("newsletter")}?find=Brazil`,
  "message-of-tomorrow": `/messages/${brazilian?.message_id}`,
  sessions: "/sessions",
  session: `/sessions/${sessionOf("Reminders")}`,
  templates: "/templates",
  template: `/templates/${templates[0]?.template_id}`,
  webhooks: "/webhooks",
  webhook: `/webhooks/${webhooks[0]?.id}`,
  people: "/people?q=34612340009",
  doubts: "/doubts",
  usage: `/usage?account_id=${shop}&by=template`,
  access: "/access",
  operators: "/access?show=operators",
  audit: "/access?show=audit"
}

// An endpoint that fails for less than a minute needs nobody yet.
interface Attention {
  readonly overview: { readonly attention: ReadonlyArray<{ readonly kind: string }> }
}
const isTold = async () =>
  (await ask<Attention>("/overview")).overview.attention.some(({ kind }) => kind === "webhook_failing")
for (const deadline = Date.now() + 100_000; Date.now() < deadline && !(await isTold()); )
  await new Promise((resolve) => setTimeout(resolve, 1_000))

const browser = await launch()
await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
for (const colorScheme of ["light", "dark"] as const)
  for (const width of [1280, 390]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
    const page = await context.newPage()
    await page.goto(`${base}/console`)
    await page.getByLabel("Your operator token").waitFor()
    await page.screenshot({ path: `${folder}/sign-in-${width}-${colorScheme}.png` })
    await signIn(page, base, token)
    for (const [name, path] of Object.entries(screens)) {
      await page.goto(`${base}/console${path}`)
      await page.locator("main .say, main .trouble, main .empty").first().waitFor()
      await page.waitForTimeout(300)
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true })
      if (
        process.argv.includes("--docs") &&
        width === 1280 &&
        ["now light", "job-of-the-outage dark"].includes(`${name} ${colorScheme}`)
      )
        await page.screenshot({ path: `${docs}/${name}.png` })
    }
    await context.close()
  }
if (process.argv.includes("--docs")) {
  const page = await browser.newPage()
  // Up to the table of the recipients and what they cost.
  await page.setContent(
    Terminal.page(terminal.slice(0, terminal.findIndex((line) => /^Cost:/.test(line)) + 1))
  )
  await page.locator("body").screenshot({ path: `${docs}/demo.png` })
}
await browser.close()
demo.kill()
await once(demo, "exit")
process.stdout.write(`${Object.keys(screens).length + 1} screens, each in four pictures: ${folder}\n`)
