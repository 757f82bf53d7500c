/** The page that shows a person what is known of them. The page loads and runs nothing, and all that it shows is text. */

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}dl{border-bottom:1px solid #d0d7de;padding:.5rem 0;margin:0}
dt{color:#57606a;float:left;clear:left;width:11rem}dd{margin:0 0 0 12rem;overflow-wrap:anywhere}`

/** The lists, in the order in which they are told, each with its heading. */
const headings = {
  accounts: "Names in each account that knows more of them",
  consents: "Consent",
  messages: "Messages to you",
  events: "What was told to the account's systems",
  delivery_answers: "What these systems answered",
  links: "Names that stand for one person",
  windows: "Until when you may be answered with free text",
  doubtful_texts: "Texts that may be refusals",
  unread_hooks: "News of the platform that was not understood",
  early_reports: "Receipts whose message is not known yet"
}

type Data = Readonly<Record<string, unknown>>

const isData = (value: unknown): value is Data => typeof value === "object" && value !== null

const shown = (value: unknown): string =>
  value === null || value === undefined
    ? "–"
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const thing = (value: unknown): string =>
  isData(value)
    ? `<dl>${Object.entries(value)
        .map(([name, each]) => `<dt>${escape(name.replaceAll("_", " "))}</dt><dd>${escape(shown(each))}</dd>`)
        .join("")}</dl>`
    : ""

const section = (title: string, things: ReadonlyArray<unknown>): string =>
  `<h2>${escape(title)}</h2>${things.length === 0 ? "<p>Nothing.</p>" : things.map(thing).join("")}`

/** @param body of the answer in JSON */
export const make = (body: unknown): string => {
  const person = isData(body) && isData(body["person"]) ? body["person"] : {}
  const names = [...listOf(person["phones"]), ...listOf(person["user_ids"])].map(shown)
  const cut = listOf(person["cut"]).map(shown)
  const sections = Object.entries(headings).map(([name, title]) => section(title, listOf(person[name])))
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What is known of a person</title><style>${style}</style>
<h1>What is known of ${escape(names.join(", "))}</h1>
<p>Times are in UTC. Names that begin with <code>erased:</code> stand for those that were erased.${
    cut.length === 0 ? "" : ` Only the first of these are shown: ${escape(cut.join(", "))}.`
  }</p>
${sections.join("\n")}</html>`
}
