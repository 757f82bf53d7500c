/** The code that asks an operation: `curl`, and a call of the promise package. */
import { isObject, type Json } from "../../../api/Json.ts"
import { formsOf, parameters, resolved, type Schemas } from "./Fields.ts"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly operation: Json
  /** Undefined of one that takes none. */
  readonly body: { readonly schema: Json; readonly example: unknown } | undefined
}

/** `{id}` below `accounts` is `ACCOUNT_ID`. */
const variableOf = (name: string, before: string): string => {
  const thing = before.replace(/ies$/, "y").replace(/s$/, "")
  return (name === "id" ? `${thing}_id` : name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`))
    .replaceAll("-", "_")
    .toUpperCase()
}

const withVariables = (path: string): string =>
  path.replaceAll(
    /([^/]*)\/\{(\w+)\}/g,
    (_, before: string, name: string) => `${before}/$${variableOf(name, before)}`
  )

/** A value that the schema takes, for a parameter that has to be there. */
const valueOf = (schema: Json): string => {
  const [{ enum: values, format, minimum, type } = schema] = formsOf(schema)
  if (Array.isArray(values)) return String(values[0])
  if (format === "date-time") return "2026-11-02T09:30:00.000Z"
  return type === "integer" ? String(minimum ?? 1) : ""
}

const credentialsOf = (operation: Json): ReadonlyArray<string> => {
  const security = JSON.stringify(operation["security"])
  if (security.includes("publicKey")) return ["x-public-key: $PUBLIC_KEY", "x-secret-key: $SECRET_KEY"]
  return security.includes("adminToken") ? ["Authorization: Bearer $ADMIN_TOKEN"] : []
}

export const curl = ({ body, method, operation, path }: Asked): string => {
  const given = parameters(operation["parameters"]).filter(({ isRequired }) => isRequired)
  const query = given.flatMap(({ path, place, schema }) =>
    place === "query" ? [`${path}=${encodeURIComponent(valueOf(schema)) || `$${path.toUpperCase()}`}`] : []
  )
  const keys = given.flatMap(({ path, place }) => (place === "header" ? [`${path}: $(uuidgen)`] : []))
  const verb = method === "GET" || (method === "POST" && body !== undefined) ? [] : [`-X ${method}`]
  const url = `$HOST${withVariables(path)}${query.length === 0 ? "" : `?${query.join("&")}`}`
  const json =
    body?.example === undefined
      ? []
      : [`--json '${JSON.stringify(body.example, null, 2).replaceAll("'", "'\\''")}'`]
  const headers = [...credentialsOf(operation), ...keys].map((header) => `-H "${header}"`)
  return [["curl", ...verb, `"${url}"`].join(" "), ...headers, ...json].join(" \\\n  ")
}

const camel = (name: string): string => name.replaceAll(/[-_](.)/g, (_, first: string) => first.toUpperCase())

const keyOf = (name: string): string => (/^[a-z]\w*$/i.test(name) ? name : JSON.stringify(name))

/** In one line where that is short. */
const braced = (open: string, parts: ReadonlyArray<string>, close: string): string => {
  const space = open === "{" ? " " : ""
  const line = `${open}${space}${parts.join(", ")}${space}${close}`
  if (parts.length === 0) return `${open}${close}`
  return line.length <= 60 && !line.includes("\n")
    ? line
    : `${open}\n${parts.join(",\n").replaceAll(/^/gm, "  ")}\n${close}`
}

/** The form that an object is of: the one with all of its members. */
const formFor = (value: Json, forms: ReadonlyArray<Json>): Json =>
  forms.find(({ properties }) =>
    Object.keys(value).every((name) => isObject(properties) && name in properties)
  ) ??
  forms[0] ??
  {}

/** A value as TypeScript: members in camelCase, as far as the schema names them, and times as dates. */
const literal = (value: unknown, schema: Json, schemas: Schemas): string => {
  const forms = formsOf(resolved(schema, schemas)).map((form) => resolved(form, schemas))
  if (Array.isArray(value)) {
    const items = forms.map(({ items }) => items).find(isObject) ?? {}
    return braced(
      "[",
      value.map((each) => literal(each, items, schemas)),
      "]"
    )
  }
  if (!isObject(value))
    return typeof value === "string" && forms.some(({ format }) => format === "date-time")
      ? `new Date(${JSON.stringify(value)})`
      : JSON.stringify(value)
  const { properties } = formFor(value, forms)
  const members = Object.entries(value).map(([name, each]) => {
    const own = isObject(properties) ? properties[name] : undefined
    return isObject(own)
      ? `${camel(name)}: ${literal(each, own, schemas)}`
      : `${keyOf(name)}: ${literal(each, {}, schemas)}`
  })
  return braced("{", members, "}")
}

/**
 * The name of a parameter `id`: where the call is of something below, the id is that of the owner: `/accounts/{id}/webhooks`
 * has `accountId`.
 */
const idOf = (path: string, command: string): string => {
  const [, owner] = /\/(account|session)s\/\{id\}\//.exec(path) ?? []
  return owner === undefined || command.startsWith(`${owner}s `) ? "id" : `${owner}Id`
}

/** Calls of a session, and one whose parameters may all be left out. */
const written: Readonly<Record<string, string>> = {
  templates: "for await (const template of session.templates()) console.log(template)",
  estimate: `const estimate = await session.estimate({
  template: 17,
  to: { phone: "34600000100", variables: { "body.1": "Ana" } }
})`,
  send: `const { jobId } = await session.send({
  template: 17,
  to: {
    phone: "34600000100",
    externalId: "customer-9",
    variables: { "body.1": "Ana" }
  },
  reference: "order A-17",
  idempotencyKey: "order-A-17"
})`,
  jobs: "for await (const job of session.jobs()) console.log(job)",
  job: "const job = await session.job(jobId)",
  change: `await session.change(jobId, { sendAt: { local: "2027-01-05T10:00", timeZone: "recipient" } })`,
  pause: "await session.pause(jobId)",
  resume: "await session.resume(jobId)",
  cancel: "await session.cancel(jobId)",
  search: "for await (const found of session.search(q)) console.log(found)",
  timeline: "const story = await session.timeline(messageId)",
  sendDirect: `const { messageId } = await session.sendDirect({
  to: "34600000100",
  text: "Your order A-17 is on its way."
})`,
  window: "const window = await session.window(person)",
  message: "const message = await session.message(messageId)",
  person: "const person = await sw.admin.people.find({ phone })"
}

const nameOf = ({ operation }: Asked): string => String(operation["operationId"]).replace(/^.*\./, "")

/** `rate-cards show` is `rateCards.find`. */
const placeOf = (command: string): string => {
  const [group = "", verb] = command.split(" ")
  return verb === undefined ? group : `${camel(group)}.${verb === "show" ? "find" : verb}`
}

/** Pages of a list, and rows of an export. */
const isList = ({ path, operation }: Asked): boolean =>
  JSON.stringify(operation["responses"]).includes("application/x-ndjson") ||
  (!path.endsWith("}") && parameters(operation["parameters"]).some(({ path }) => path === "cursor"))

/** Undefined of what no promise does. */
export const sendwright = (asked: Asked, schemas: Schemas): string | undefined => {
  const { body, operation } = asked
  const name = nameOf(asked)
  const command = operation["x-command"]
  if (written[name] !== undefined) return written[name]
  if (typeof command !== "string") return undefined
  const named = (member: string): string => (member === "id" ? idOf(asked.path, command) : camel(member))
  const given = parameters(operation["parameters"]).flatMap(({ isRequired, path, place, schema }) => {
    if (!isRequired) return []
    const own = place === "header" ? "idempotencyKey" : named(path)
    const value = place === "query" ? valueOf(schema) : ""
    return [value === "" ? own : `${own}: ${literal(value, schema, schemas)}`]
  })
  const example = isObject(body?.example) ? body.example : {}
  const form = formFor(example, formsOf(resolved(body?.schema ?? {}, schemas)))
  const members = Object.entries(example).map(([member, value]) => {
    const own = isObject(form["properties"]) ? form["properties"][member] : undefined
    return `${camel(member)}: ${literal(value, isObject(own) ? own : {}, schemas)}`
  })
  const input = [...given, ...members]
  const call = `sw.admin.${placeOf(command)}(${input.length === 0 ? "" : braced("{", input, "}")})`
  if (asked.method !== "GET") return `await ${call}`
  return isList(asked) ? `for await (const each of ${call}) console.log(each)` : `const found = await ${call}`
}
