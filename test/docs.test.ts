/** What the documents show is true. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { EventData, FailureCatalogue, Signature, verifyWebhook } from "@sendwright/core"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"

const Vectors = Schema.Struct({
  secret: Schema.String,
  previous_secret: Schema.String,
  body: Schema.String,
  headers: Schema.Record({ key: Schema.String, value: Schema.String })
})

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8")

/** The JSON block under a heading. */
const blockOf = (page: string, heading: string): unknown =>
  JSON.parse(/```json\n([\s\S]*?)```/.exec(page.slice(page.indexOf(heading)))?.[1] ?? "null")

describe("docs/llms.txt", () => {
  /** "After this page you can plan …" tells what the page is for. */
  const purposeOf = (href: string): string => {
    const [, purpose] =
      /^After this page ([\s\S]*?\.)(?:\s|$)/m.exec(read(`../docs/${href.split("#")[0]}`)) ?? []
    return purpose === undefined ? "" : `: ${purpose.replaceAll(/\s+/g, " ")}`
  }

  it("has the index for agents: each page with what it is for", async () => {
    const [, ...sections] = read("../docs/README.md").split(/^## /m)
    const lists = sections.map((section) => {
      const links = [...section.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]
      const lines = links.map(([, title, href = ""]) => `- [${title}](${href})${purposeOf(href)}`)
      return `## ${section.slice(0, section.indexOf("\n"))}\n\n${lines.join("\n")}`
    })
    const about =
      "Sendwright is a messaging engine for Node: it sends approved templates (WhatsApp-style) and direct messages as durable jobs, embedded in an app or as a host with a REST API. Nothing goes out without consent or twice, and every recipient ends with a status and a reason."
    const text = `# Sendwright\n\n> ${about}\n\nEach page is plain Markdown.\n\n${lists.join("\n\n")}\n`
    await expect(text).toMatchFileSnapshot("../docs/llms.txt")
  })
})

describe("docs/verify.md", () => {
  const page = read("../docs/verify.md")
  const { body, headers, previous_secret, secret } = Schema.decodeUnknownSync(Vectors)(
    blockOf(page, "## Test vectors")
  )

  it("has vectors that are what we send", () => {
    const timestamp = Number(headers["webhook-timestamp"])
    const id = headers["webhook-id"] ?? ""
    const secrets = [secret, previous_secret] as const
    expect(Signature.headers({ id, timestamp, body, secrets, names: Signature.defaultHeaderNames })).toEqual(
      headers
    )
    for (const each of secrets) {
      const event = verifyWebhook({ body, headers, secrets: each, now: timestamp * 1000 })
      expect(event).toMatchObject({ id, type: "recipient.delivered" })
    }
  })
})

describe("docs/failures.md", () => {
  it("has the catalogue as it is", () => {
    const page = read("../docs/failures.md")
    const rows = [
      ...page.matchAll(/^\| `([a-z_]+)` +\| ([^|]+?) +\| (yes|no) +\| (\w+) +\| (\w+)(?: \((\d+) h\))? +\|/gm)
    ].map(([, code, whatsapp, permanent, scope, action, hours]) => ({
      code,
      whatsapp,
      permanent: permanent === "yes",
      scope,
      action,
      hours: hours === undefined ? undefined : Number(hours)
    }))
    const isPermission = (code: number) => code >= 200 && code <= 299
    const shown = (codes: ReadonlyArray<number>) =>
      [...codes.filter((code) => !isPermission(code)), ...(codes.some(isPermission) ? ["200–299"] : [])].join(
        ", "
      )
    expect(rows).toEqual(
      FailureCatalogue.entries.map(({ action, blockMs, code, permanent, scope, whatsapp }) => ({
        code,
        whatsapp: shown(whatsapp),
        permanent,
        scope,
        action,
        hours: blockMs === undefined ? undefined : blockMs / 3_600_000
      }))
    )
    expect(page).toContain(`on\n${FailureCatalogue.asOf}`)
  })
})

describe("docs/events.md", () => {
  it("names each member of each event", () => {
    const rows = [...read("../docs/events.md").matchAll(/^\| (`[a-z]+\.[^|]+?) +\| ([^|]+)\|$/gm)]
    const wordsOf = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word)
    const named = new Map<string, ReadonlyArray<string>>()
    let above: ReadonlyArray<string> = []
    for (const [, types, data = ""] of rows) {
      above = [...wordsOf(data), ...(data.includes("the same") ? above : [])]
      const [first = "", ...others] = wordsOf(types)
      const group = first.slice(0, first.indexOf("."))
      for (const type of [first, ...others.map((other) => group + other)]) named.set(type, above)
    }
    const ofAll = ["account_id", "session_id"]
    const missing = Object.entries(EventData.byType)
      // Its section has an example.
      .filter(([type]) => type !== "recipient.batch")
      .flatMap(([type, { fields }]) =>
        Object.keys(fields)
          .filter((field) => !ofAll.includes(field) && named.get(type)?.includes(field) !== true)
          .map((field) => `${type}: ${field}`)
      )
    expect(missing).toEqual([])
  })
})

describe("docs/security.md", () => {
  it("names tests that are there", () => {
    const named = [...read("../docs/security.md").matchAll(/`((?:packages|test)\/[^`]*)`/g)].map(
      ([, path]) => path
    )
    expect(named.length).toBeGreaterThan(20)
    for (const path of named) expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true)
  })
})

describe.each(["architecture.md", "breaks.md", "changing.md", "dispatch.md"])("docs/%s", (name) => {
  it("names files and functions that are there", () => {
    const page = read(`../docs/${name}`)
    // `worker/Batch` (`prepare`, `start`), also as `host/http/NodeServer`; `http` is the folder of packages/http.
    const named = [...page.matchAll(/`((?:[a-z]+\/)+[A-Z]\w+)`(?:[ \n]\(((?:`\w+`(?:, )?)+)\))?/g)]
    expect(named.length).toBeGreaterThan(10)
    for (const [, path = "", functions = ""] of named) {
      const [, home = path.startsWith("http/") ? "http" : "core", inside = path] =
        /^(host|core)\/(.+)$/.exec(path) ?? []
      const source = `${home}/src/${inside}`
      const [file] = [`${source}.ts`, `${source}/index.ts`]
        .map((found) => new URL(`../packages/${found}`, import.meta.url))
        .filter((found) => existsSync(found))
      if (file === undefined) return expect.fail(`${path} is not there.`)
      for (const [, called = ""] of functions.matchAll(/`(\w+)`/g))
        expect(readFileSync(file, "utf8"), path).toMatch(new RegExp(`\\b${called}\\b`))
    }
  })
})

describe("docs/testing.md", () => {
  it("shows the ten tests as they run", () => {
    const [, shown] = /```ts\n([\s\S]*?)```/.exec(read("../docs/testing.md")) ?? []
    expect(shown).toBe(read("../examples/testing/ten.test.ts"))
  })
})

describe("links of the documents", () => {
  const root = new URL("../", import.meta.url)
  const under = (folder: string) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !/node_modules|CHANGELOG/.test(name))
      .map((name) => `${folder}${name}`)
  const pages = ["README.md", "SECURITY.md", "bench/README.md", ...under("docs/"), ...under("examples/")]
  for (const name of readdirSync(new URL("packages/", root))) pages.push(`packages/${name}/README.md`)
  const prose = (page: URL) => readFileSync(page, "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "")
  /** The anchors that GitHub gives to headings. */
  const anchors = (page: URL) =>
    [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, "")
        .replaceAll(" ", "-")
    )

  it.each(pages)("in %s lead to a file and a heading", (name) => {
    const page = new URL(name, root)
    for (const [, target = ""] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const found = new URL(target, page)
      expect(existsSync(found), target).toBe(true)
      const anchor = found.hash.slice(1)
      found.hash = ""
      if (anchor !== "") expect(anchors(found), target).toContain(anchor)
    }
  })
})
