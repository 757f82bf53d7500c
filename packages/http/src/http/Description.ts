/**
 * `/openapi.json`: the contract's schemas, the reference's prose and examples, and what the route table and the
 * catalogue of problems know: who may call, with which permission, and what is refused.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import type { Engine } from "@sendwright/core"
import { Url } from "@sendwright/core/adapter"
import { AdminApi, type Route } from "@sendwright/core/contract"
import type * as Context from "effect/Context"
import { Api } from "../api/Api.ts"
import { isObject, type Json, mapEntries, member, ref } from "../api/Json.ts"
import * as Conditional from "./Conditional.ts"
import * as Events from "./description/Events.ts"
import { always, headers, ifMatch, ofKeys, ofReadings, ofReplays } from "./description/Headers.ts"
import * as Refusals from "./description/Refusals.ts"
import * as Security from "./description/Security.ts"

export { make as docs } from "./description/reference/Page.ts"

/** A schema that takes members which it does not name. The builder closes all of them. */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened)
  if (!isObject(schema)) return schema
  const { additionalProperties, ...rest } = schema
  const members = Object.entries(rest).map(([name, value]) => [name, opened(value)])
  return {
    ...Object.fromEntries(members),
    ...(additionalProperties === undefined || additionalProperties === false
      ? {}
      : { additionalProperties: opened(additionalProperties) })
  }
}

/** Adds the names of the component schemas that a part of the description refers to, and those that they refer to. */
const referred = (part: unknown, schemas: Json, found: Set<string>): void => {
  for (const [, name] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (name === undefined || found.has(name)) continue
    found.add(name)
    referred(schemas[name], schemas, found)
  }
}

/** The media types of a body or an answer, each with the example. */
const withExample = (content: Json, example: unknown): Json =>
  mapEntries(content, (media) => ({ ...(isObject(media) ? media : {}), example }))

/** An example with the prefix in its links. */
const located = (example: unknown, prefix: string): unknown =>
  JSON.parse(JSON.stringify(example), (name, value) =>
    name === "links" && isObject(value)
      ? mapEntries(value, (path) => `${prefix}${path}`)
      : name === "link" && typeof value === "string"
        ? `${prefix}${value}`
        : value
  )

const answersOf = (operation: Json, route: Route.Route, prefix: string): Json => {
  // The builder's own 400 is never answered: faults of the shape are 422.
  const { 400: _, ...answers } = member(operation, "responses")
  return mapEntries(answers, (answer) => ({
    description: "Done.",
    headers: {
      ...always,
      ...(route.handler.access === "key" ? ofKeys : {}),
      ...(route.reference.isIdempotent === true ? ofReplays : {}),
      ...(Conditional.isReading(route) ? ofReadings : {})
    },
    content: {
      ...withExample(mapEntries(member(answer, "content"), opened), located(route.reference.answer, prefix)),
      ...mapEntries(route.reference.otherAnswers, (example) => ({ schema: { type: "string" }, example }))
    }
  }))
}

/** An absent body counts as an empty object. */
const isRequired = (content: Json, schemas: Json): boolean =>
  Object.values(content).some((media) => {
    const schema = member(media, "schema")
    const name = String(schema["$ref"] ?? "").replace(/^.*\//, "")
    const { minProperties, required } = name === "" ? schema : member(schemas, name)
    return Number(minProperties ?? 0) > 0 || (Array.isArray(required) && required.length > 0)
  })

/** The command of an operation, by its name. */
const commands: ReadonlyMap<string, string> = new Map(
  AdminApi.operations.map(({ command, endpoint }) => [endpoint.name, command.name])
)

const described = (
  operation: Json,
  route: Route.Route,
  {
    prefix,
    readings,
    schemas
  }: { readonly prefix: string; readonly readings: ReadonlySet<string>; readonly schemas: Json }
): Json => {
  const { parameters, requestBody, ...rest } = operation
  const given = Array.isArray(parameters) ? parameters : []
  const content = member(requestBody, "content")
  const refusals = Refusals.refusalsOf(route)
  const command = commands.get(route.name)
  return {
    ...rest,
    parameters: Conditional.isChange(route) && readings.has(route.pattern) ? [...given, ifMatch] : given,
    summary: route.reference.summary,
    description: route.reference.description,
    security: Security.securityOf(route),
    ...(route.handler.access === "key" && route.handler.permission !== null
      ? { "x-permission": route.handler.permission }
      : {}),
    ...(route.handler.access === "operator" ? { "x-role": route.handler.role } : {}),
    ...(command === undefined ? {} : { "x-command": command }),
    ...(requestBody === undefined
      ? {}
      : {
          requestBody: {
            required: route.handler.access === "hook" || isRequired(content, schemas),
            content: withExample(content, route.reference.request)
          }
        }),
    responses: {
      ...answersOf(operation, route, prefix),
      ...Object.fromEntries(
        Array.from(refusals, ([status, codes]) => [status, ref("responses", Refusals.nameOf(codes))])
      )
    }
  }
}

const pathOf = (pattern: string): string => pattern.replaceAll(/:(\w+)/g, "{$1}")

/** The senders of the engine: a host may have others than those of Sendwright. */
type Senders = Context.Tag.Service<Engine.Engine>["senders"]

/** "`http`: `url` and `secret`." for each sender that describes its configuration. */
const configurations = (senders: Senders): ReadonlyArray<string> =>
  senders.flatMap(({ configDescription, provider }) =>
    configDescription === undefined ? [] : [`\`${provider}\`: ${configDescription}.`]
  )

/** The component schemas whose content the engine decides, in the place of those that `api/` names. */
const schemasOf = (senders: Senders): Json => ({
  Provider: { type: "string", enum: senders.map(({ provider }) => provider) },
  SessionConfiguration: {
    type: "object",
    additionalProperties: true,
    description: ["What the provider asks for.", ...configurations(senders)].join(" ")
  }
})

/** A host, as far as its description tells of it. */
export interface Described {
  /** With the prefix; may be a path alone. */
  readonly baseUrl: string
  readonly prefix: string
  readonly routes: ReadonlyArray<Route.Route>
  readonly senders: Senders
}

/**
 * OpenAPI 3.1. Bodies of requests are closed, since nothing of them is ignored; answers, events and what platforms post
 * may grow, so these are open (contract.md §10 "Requests").
 */
export const openApi = ({ baseUrl, prefix, routes, senders }: Described): Json => {
  // As plain JSON, which is what is looked into. The builder gives each schema that takes anything the same `$id`.
  const spec: unknown = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)), (name, value) =>
    name === "$id" ? undefined : value
  )
  const events = Events.make()
  const schemas = {
    ...events.schemas,
    ...member(member(spec, "components"), "schemas"),
    ...schemasOf(senders),
    Problem: Refusals.problem
  }
  const paths: Record<string, Record<string, Json>> = {}
  const responses: Record<string, Json> = {}
  const closed = new Set<string>()
  const readings = new Set(routes.filter(Conditional.isReading).map(({ pattern }) => pattern))
  for (const route of routes) {
    const [path, method] = [pathOf(route.pattern), route.method.toLowerCase()]
    const operation = member(member(member(spec, "paths"), path), method)
    paths[path] = { ...paths[path], [method]: described(operation, route, { prefix, readings, schemas }) }
    for (const codes of Refusals.refusalsOf(route).values())
      responses[Refusals.nameOf(codes)] = Refusals.response(baseUrl, codes)
    if (route.handler.access !== "hook") referred(operation["requestBody"], schemas, closed)
  }
  const tags = isObject(spec) && Array.isArray(spec["tags"]) ? spec["tags"] : []
  // The builder brings schemas of a refusal that is none of ours.
  const used = new Set<string>()
  referred([paths, responses, events.webhooks], schemas, used)
  return {
    openapi: "3.1.0",
    info: {
      ...member(spec, "info"),
      contact: {
        name: "The operator of this service",
        ...(Url.parse(baseUrl) === undefined ? {} : { url: baseUrl })
      },
      license: { name: "MIT", identifier: "MIT" }
    },
    servers: [{ url: baseUrl === "" ? "/" : baseUrl }],
    tags: [...tags, Events.tag],
    paths,
    webhooks: events.webhooks,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).flatMap(([name, schema]) =>
          used.has(name) ? [[name, closed.has(name) ? schema : opened(schema)]] : []
        )
      ),
      responses,
      headers,
      securitySchemes: Security.schemes
    }
  }
}
