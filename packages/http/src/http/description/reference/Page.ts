/** `/docs`: the description for people. It is whole without a script, and loads nothing from elsewhere. */
import { Problems } from "@sendwright/core/contract"
import { isObject, type Json, member } from "../../../api/Json.ts"
import { assets } from "./Assets.ts"
import * as Code from "./Code.ts"
import * as Fields from "./Fields.ts"
import { anchor, code, escape, prose, when } from "./Html.ts"

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly operation: Json
}

interface Group {
  readonly id: string
  readonly title: string
  /** The heading that this one is below. */
  readonly over: string
  readonly operations: ReadonlyArray<Operation>
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const operationsOf = (paths: unknown): ReadonlyArray<Operation> =>
  Object.entries(isObject(paths) ? paths : {}).flatMap(([path, item]) =>
    Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) =>
      isObject(operation)
        ? [
            {
              id: textOf(operation["operationId"]),
              method: method.toUpperCase(),
              path,
              summary: textOf(operation["summary"]),
              operation
            }
          ]
        : []
    )
  )

const titled = (words: string): string =>
  `${words.charAt(0).toUpperCase()}${words.slice(1).replaceAll("-", " ")}`

/** The admin API's operations by what their commands are of. */
const groupsOf = (tag: Json, all: ReadonlyArray<Operation>): ReadonlyArray<Group> => {
  const [name, description] = [textOf(tag["name"]), textOf(tag["description"]).replace(/\.$/, "")]
  const own = all.filter(
    ({ operation }) => Array.isArray(operation["tags"]) && operation["tags"].includes(name)
  )
  const parts = new Map<string, Array<Operation>>()
  for (const each of own) {
    const [part = "", verb] = textOf(each.operation["x-command"]).split(" ")
    const of = verb === undefined ? "" : part
    parts.set(of, [...(parts.get(of) ?? []), each])
  }
  if (parts.size < 2) return [{ id: name, title: description, over: "", operations: own }]
  return Array.from(parts, ([part, operations]) => ({
    id: part === "" ? name : `${name}-${part}`,
    title: part === "" ? "The whole host" : titled(part),
    over: description,
    operations
  }))
}

/** The first body of an operation or of an answer, whatever its media type. */
const bodyOf = (holder: unknown): { readonly schema: Json; readonly example: unknown } | undefined => {
  const [media] = Object.values(member(holder, "content"))
  return isObject(media) ? { schema: member(media, "schema"), example: media["example"] } : undefined
}

const answerOf = (operation: Json): readonly [status: string, answer: Json] | undefined => {
  const found = Object.entries(member(operation, "responses")).find(([status]) => status.startsWith("2"))
  return found !== undefined && isObject(found[1]) ? [found[0], found[1]] : undefined
}

const exampleText = (example: unknown): string =>
  typeof example === "string" ? example : JSON.stringify(example, null, 2)

const isCode = (code: string): code is Problems.Code => Object.hasOwn(Problems.catalogue, code)

/** The codes that an operation refuses with. */
const codesOf = (operation: Json, responses: Json): ReadonlyArray<Problems.Code> =>
  Object.values(member(operation, "responses")).flatMap((answer) => {
    const { $ref } = isObject(answer) ? answer : {}
    const named = member(responses, textOf($ref).replace(/^.*\//, ""))
    const examples = member(member(member(named, "content"), "application/problem+json"), "examples")
    return Object.keys(examples).filter(isCode)
  })

const problemRows = (codes: ReadonlyArray<Problems.Code>): string =>
  `<table><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">What happened, and what to do</th></tr></thead><tbody>${codes
    .map((each) => {
      const { description, status } = Problems.catalogue[each]
      return `<tr><th scope="row">${status}</th><td><a href="#problem-${each}">${code(each)}</a></td><td>${prose(description)}</td></tr>`
    })
    .join("")}</tbody></table>`

const block = (title: string, text: string): string =>
  `<section><h4>${escape(title)}</h4><pre><code>${escape(text)}</code></pre></section>`

const closed = (title: string, text: string): string =>
  `<details><summary>${escape(title)}</summary><pre><code>${escape(text)}</code></pre></details>`

const needsOf = (operation: Json): string => {
  const [permission, role, command] = ["x-permission", "x-role", "x-command"].map((name) =>
    textOf(operation[name])
  )
  const needs = [
    ...(permission === "" ? [] : [`Permission <code>${escape(permission ?? "")}</code>`]),
    ...(role === "" ? [] : [`Role <code>${escape(role ?? "")}</code>`]),
    ...(command === "" ? [] : [`Command <code>sendwright ${escape(command ?? "")}</code>`])
  ]
  return when(
    needs.length > 0,
    () => `<ul class="needs">${needs.map((each) => `<li>${each}</li>`).join("")}</ul>`
  )
}

const places: Json = { path: "In the path", query: "In the query", header: "In the headers" }

interface Known {
  readonly schemas: Json
  readonly responses: Json
  /** Codes that every operation refuses with. */
  readonly common: ReadonlySet<string>
}

const shown = ({ id, method, operation, path, summary }: Operation, known: Known): string => {
  const { schemas } = known
  const isEvent = id.startsWith("event.")
  const isHook = id.startsWith("hooks.")
  const given = isEvent ? [] : Fields.parameters(operation["parameters"])
  const request = bodyOf(operation["requestBody"])
  const [status = "", answer] = answerOf(operation) ?? []
  const answered = bodyOf(answer)
  const codes = isEvent ? [] : codesOf(operation, known.responses).filter((each) => !known.common.has(each))
  const asked = { method, path, operation, body: request }
  const promise = isEvent || isHook ? undefined : Code.sendwright(asked, schemas)
  const tables = Object.entries(places).flatMap(([place, title]) => {
    const fields = given.filter((each) => each.place === place)
    return fields.length === 0 ? [] : [`<h4>${title}</h4>${Fields.table(fields, schemas, "asked")}`]
  })
  return `<article class="op" id="${escape(id)}"><div class="cols"><div class="told"><h3>${escape(summary)}${anchor(id, summary)}</h3>
<p class="route"><span class="m ${isEvent ? "event" : method.toLowerCase()}">${isEvent ? "event" : method}</span>${code(path)}</p>
${when(!isEvent, () => `<p>${prose(textOf(operation["description"]))}</p>`)}${needsOf(operation)}${tables.join("")}
${when(request !== undefined, () => `<h4>${isEvent ? "What is posted" : "Body"}</h4>${Fields.body(request?.schema ?? {}, schemas, isEvent ? "answered" : "asked")}`)}
${when(answered !== undefined, () => `<h4>Answer ${escape(status)}</h4>${Fields.body(answered?.schema ?? {}, schemas, "answered")}`)}
${when(codes.length > 0, () => `<h4>Refusals</h4>${problemRows(codes)}`)}</div>
<div class="side-code">${when(!isEvent && !isHook, () => block("curl", Code.curl(asked)))}${promise === undefined ? "" : block("sendwright", promise)}${when(
    isEvent || isHook,
    () => when(request?.example !== undefined, () => block("What is posted", exampleText(request?.example)))
  )}${when(answered?.example !== undefined, () => closed(`Answer ${status}`, exampleText(answered?.example)))}</div></div></article>`
}

const section = ({ id, operations, over, title }: Group, known: Known): string => {
  const isEvents = id === "events"
  const [first] = operations
  const intro =
    isEvents && first !== undefined
      ? `<p>${prose(textOf(first.operation["description"]))} Every event comes with these headers.</p>${Fields.table(
          Fields.parameters(first.operation["parameters"]),
          known.schemas,
          "answered"
        )}`
      : ""
  return `<section class="group" id="${escape(id)}">${when(over !== "", () => `<p class="over">${escape(over)}</p>`)}<h2>${escape(title)}${anchor(id, title)}</h2>${intro}${operations
    .map((each) => shown(each, known))
    .join("")}</section>`
}

const entries = ({ id, operations, title }: Group): string =>
  `<li><a href="#${escape(id)}">${escape(title)}</a><ul>${operations
    .map(
      (each) =>
        `<li><a href="#${escape(each.id)}"><span class="m ${each.id.startsWith("event.") ? "event" : each.method.toLowerCase()}">${
          each.id.startsWith("event.") ? "event" : each.method === "DELETE" ? "del" : each.method
        }</span>${escape(each.id.startsWith("event.") ? each.path : each.summary)}</a></li>`
    )
    .join("")}</ul></li>`

const problems = (): string =>
  Object.entries(Problems.catalogue)
    .map(
      ([name, { description, status, title }]) =>
        `<article class="problem" id="problem-${name}"><h3><span class="status">${status}</span>${escape(title)}${anchor(`problem-${name}`, title)}</h3><p>${code(name)} ${prose(description)}</p></article>`
    )
    .join("")

const faults = (): string =>
  `<article class="problem" id="faults"><h3>Codes of single faults${anchor("faults", "codes of single faults")}</h3><p>Each item of <code>errors</code> has a pointer to its field, a code, and what would be right.</p><table><thead><tr><th scope="col">Code</th><th scope="col">What is wrong</th></tr></thead><tbody>${Object.entries(
    Problems.faultCatalogue
  )
    .map(([name, told]) => `<tr><th scope="row">${code(name)}</th><td>${prose(told)}</td></tr>`)
    .join("")}</tbody></table></article>`

/** @param url the API's own, or its path where that is all that is known */
const begin = (text: string, url: string): string => `<div class="intro"><h1>The Sendwright API</h1>
<p class="lead">${prose(text)}</p>
<div class="begin">
<section><h2>Credentials</h2><p>Paths below <code>/api</code> take an API key: <code>x-public-key</code> and <code>x-secret-key</code>. Those below <code>/admin</code> take an operator's token: <code>Authorization: Bearer …</code></p><p>Here <code>HOST</code> is ${code(/^https?:/i.test(url) ? url : `https://…${url}`)}.</p></section>
<section><h2>Once, however often</h2><p>What sends takes an <code>Idempotency-Key</code>. Repeat the request with the same key and body when no answer comes: nothing is sent twice.</p></section>
<section><h2>Refusals</h2><p>Each is <code>application/problem+json</code> with a code, what is wrong with this very request, and every fault of it. <a href="#problems">All codes, and what to do</a></p></section>
<section><h2>In TypeScript</h2><p>The code beside an operation takes <code>sw</code> of <code>createSendwright</code> and <code>session</code> of <code>sw.session(id)</code>, in your own process and without a request.</p></section>
</div>
<p>The same for machines: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p></div>`

export const make = (spec: Json): string => {
  const info = member(spec, "info")
  const components = member(spec, "components")
  const [schemas, responses] = [member(components, "schemas"), member(components, "responses")]
  const operations = operationsOf(spec["paths"])
  const events = operationsOf(spec["webhooks"])
  const tags = Array.isArray(spec["tags"]) ? spec["tags"].filter(isObject) : []
  const groups = tags.flatMap((tag) => groupsOf(tag, [...operations, ...events]))
  const [codes = [], ...others] = operations.map(({ operation }) => codesOf(operation, responses))
  const common = new Set(codes.filter((each) => others.every((some) => some.includes(each))))
  const [server] = Array.isArray(spec["servers"]) ? spec["servers"].filter(isObject) : []
  const url = textOf(server?.["url"]).replace(/\/$/, "")
  const known = { schemas, responses, common }
  const own = Object.entries(schemas).flatMap(([name, schema]) =>
    isObject(schema) ? [Fields.named(name, schema, schemas)] : []
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Sendwright API</title><link rel="stylesheet" href="${assets.style.path}"><script src="${assets.script.path}" defer></script></head>
<body><a class="skip" href="#content">To the content</a><div class="frame"><div class="side"><a class="brand" href="#content">Sendwright API<small>${escape(textOf(info["version"]))}</small></a>
<search class="find" hidden><input id="find" type="search" placeholder="Find  /" aria-label="Find in the reference" autocomplete="off" spellcheck="false"><p id="found" role="status"></p></search>
<nav aria-label="Reference"><ul>${groups.map(entries).join("")}<li><a href="#problems">Refusals</a></li><li><a href="#schemas">Schemas</a></li></ul></nav></div>
<main id="content" tabindex="-1">${begin(textOf(info["description"]), url)}${groups.map((each) => section(each, known)).join("")}
<section class="group" id="problems"><h2>Refusals${anchor("problems", "refusals")}</h2><p>Any request may meet ${[...common].map((each) => `<a href="#problem-${each}">${code(each)}</a>`).join(", ")}.</p>${problems()}${faults()}</section>
<section class="group" id="schemas"><h2>Schemas${anchor("schemas", "schemas")}</h2>${own.join("")}</section></main></div></body></html>`
}
