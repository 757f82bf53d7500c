/** The description as tests look into it: its operations, and validators of its schemas by JSON Schema 2020-12. */
import type { ValidateFunction } from "ajv/dist/2020.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { at, items } from "./TestHost.ts"

export type Json = Readonly<Record<string, unknown>>

export interface Parameter {
  readonly name: string
  readonly in: "header" | "path" | "query"
  readonly required: boolean
  readonly schema: Json
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** With `{name}` for parameters. */
  readonly path: string
  readonly access: "anyone" | "hook" | "key" | "operator"
  readonly permission: string | null
  readonly parameters: ReadonlyArray<Parameter>
  /** What its body is to be; undefined where it takes none. */
  readonly body: Json | undefined
  readonly example: unknown
  /** By status. */
  readonly answers: ReadonlyMap<number, Answer>
}

export interface Answer {
  readonly mediaType: string
  /** The others that its caller may ask for. */
  readonly otherMediaTypes: ReadonlyArray<string>
  readonly schema: Json
  readonly examples: ReadonlyArray<unknown>
  /** The names, in lower case, of headers that it always has. */
  readonly headers: ReadonlyArray<string>
}

export interface Description {
  readonly json: unknown
  readonly operations: ReadonlyArray<Operation>
  /** Resolves a reference to a component. */
  readonly resolve: (value: unknown) => Json
  readonly validator: (schema: Json) => ValidateFunction
  /** Of the body of an event, by its type. */
  readonly event: (type: string) => ValidateFunction | undefined
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const object = (value: unknown): Json => (isObject(value) ? value : {})

const accessOf = (schemes: ReadonlyArray<string>): Operation["access"] =>
  schemes.length === 0
    ? "anyone"
    : schemes.includes("adminToken")
      ? "operator"
      : schemes.includes("publicKey")
        ? "key"
        : "hook"

export const read = (json: unknown): Description => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
  addFormats.default(ajv)
  const id = "https://description.test/schemas"
  const moved = (schema: unknown): Json =>
    object(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', `"${id}#/$defs/`)))
  ajv.addSchema({ $id: id, $defs: moved(at(json, "components", "schemas")) })

  const resolve = (value: unknown): Json => {
    const ref = at(value, "$ref")
    return typeof ref === "string" ? object(at(json, ...ref.slice(2).split("/"))) : object(value)
  }
  const validators = new Map<string, ValidateFunction>()
  const validator = (schema: Json): ValidateFunction => {
    const text = JSON.stringify(schema)
    const known = validators.get(text) ?? ajv.compile(moved(schema))
    validators.set(text, known)
    return known
  }
  const answerOf = (value: unknown): Answer => {
    const found = resolve(value)
    const [[mediaType = "", media] = [], ...others] = Object.entries(object(found["content"]))
    const examples = Object.values(object(at(media, "examples"))).map((each) => at(each, "value"))
    return {
      mediaType,
      otherMediaTypes: others.map(([name]) => name),
      schema: object(at(media, "schema")),
      examples: at(media, "example") === undefined ? examples : [at(media, "example"), ...examples],
      headers: Object.entries(object(found["headers"])).flatMap(([name, header]) =>
        resolve(header)["required"] === true ? [name.toLowerCase()] : []
      )
    }
  }
  const operations = Object.entries(object(at(json, "paths"))).flatMap(([path, methods]) =>
    Object.entries(object(methods)).map(([method, operation]): Operation => {
      const media = at(operation, "requestBody", "content", "application/json")
      const permission = at(operation, "x-permission")
      return {
        id: String(at(operation, "operationId")),
        method: method.toUpperCase(),
        path,
        access: accessOf(items(operation, "security").flatMap((each) => Object.keys(object(each)))),
        permission: typeof permission === "string" ? permission : null,
        parameters: items(operation, "parameters").map((each) => {
          const place = String(at(each, "in"))
          return {
            name: String(at(each, "name")),
            in: place === "path" || place === "header" ? place : "query",
            required: at(each, "required") === true,
            schema: object(at(each, "schema"))
          }
        }),
        body: media === undefined ? undefined : object(at(media, "schema")),
        example: at(media, "example"),
        answers: new Map(
          Object.entries(object(at(operation, "responses"))).map(([status, answer]) => [
            Number(status),
            answerOf(answer)
          ])
        )
      }
    })
  )
  return {
    json,
    operations,
    resolve,
    validator,
    event: (type) => {
      const schema = at(
        json,
        "webhooks",
        type,
        "post",
        "requestBody",
        "content",
        "application/json",
        "schema"
      )
      return isObject(schema) ? validator(schema) : undefined
    }
  }
}
