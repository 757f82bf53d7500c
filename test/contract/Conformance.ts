/** Asks a host what the cases say, and compares what it answers with its description. */

import type { Description } from "../support/OpenApi.ts"
import * as OpenApi from "../support/OpenApi.ts"
import { oneOf } from "../support/Options.ts"
import type { Answer, TestHost } from "../support/TestHost.ts"
import { at, items } from "../support/TestHost.ts"
import type { Case } from "./Cases.ts"
import * as Cases from "./Cases.ts"
import * as Tenants from "./Tenants.ts"
import * as World from "./World.ts"

export interface Mismatch {
  readonly what: string
  readonly request: string
  readonly answer: string
}

/** Faults of a shape that the description tells in words only. */
const told: ReadonlyArray<readonly [operation: string, pointer: RegExp]> = [
  // Either of two parameters.
  ["admin.consents", /^\/query\/(phone|user_id)$/],
  ["admin.person", /^\/query\/(phone|user_id)$/],
  // One of two names, and one of three contents.
  ["public.sendDirect", /^\/(to|message)$/],
  ["v1.send", /^\/recipients\/\d+\/phone$/],
  ["v1.estimate", /^\/recipients\/\d+\/phone$/],
  ["admin.recordConsents", /^\/consents\/\d+\/phone$/],
  // The sender of the provider judges them.
  ["admin.createSession", /^\/config/],
  ["admin.changeSession", /^\/config/],
  ["admin.importTemplates", /^\/templates\//],
  ["admin.importRateCard", /^\/csv/],
  ["admin.addRateCard", /^\/prices\/\d+\/market$/]
]

const ofShape = new Set(["required", "unknown_field", "invalid_type", "invalid_json"])

const isTold = (operation: string, pointer: unknown): boolean =>
  told.some(([id, form]) => id === operation && form.test(String(pointer)))

/** What is wrong with an answer; undefined when it is as described. */
const fault = (
  description: Description,
  { isRight, operation }: Case,
  answer: Answer
): string | undefined => {
  const { headers, json, status, text } = answer
  if (status >= 500) return `answers ${status}`
  const described = operation.answers.get(status)
  if (described === undefined) return `answers ${status}, which is not described`
  const mediaType = (headers.get("content-type") ?? "").split(";")[0] ?? ""
  if (![described.mediaType, ...described.otherMediaTypes].includes(mediaType))
    return "answers another media type"
  const missing = described.headers.filter((name) => headers.get(name) === null)
  if (missing.length > 0) return `answers without ${missing.join(", ")}`
  const validate = description.validator(described.schema)
  if (
    !validate(
      described.mediaType.endsWith("json") && described.mediaType !== "application/x-ndjson" ? json : text
    )
  )
    return `answers what its schema does not take: ${JSON.stringify(validate.errors)}`
  if (!isRight && status < 400 && operation.access !== "hook") return "takes what the description refuses"
  const shape = items(json, "errors").filter(
    (each) => ofShape.has(String(at(each, "code"))) && !isTold(operation.id, at(each, "pointer"))
  )
  if (isRight && shape.length > 0) return `refuses what the description takes: ${JSON.stringify(shape)}`
  return undefined
}

const ask = async (host: TestHost, each: Case): Promise<Answer> => {
  const { body, headers, operation, path } = each
  return host.request(path, {
    method: operation.method,
    headers,
    ...(body === undefined ? {} : { raw: body })
  })
}

const atOnce = 4

export interface Options {
  /** Cases of each operation. */
  readonly count: number
  readonly seed: number
  /** The one operation to ask. */
  readonly only?: string | undefined
}

export interface Found {
  readonly asked: number
  readonly mismatches: ReadonlyArray<Mismatch>
  readonly statuses: Statuses
}

/** So many cases of every operation. */
export const run = async (host: TestHost, options: Options): Promise<Found> => {
  const platform = await World.platform()
  try {
    return await compare(host, options, platform.url)
  } finally {
    await platform.close()
  }
}

const compare = async (host: TestHost, options: Options, platform: string): Promise<Found> => {
  const description = OpenApi.read((await host.request("/openapi.json")).json)
  const caller = await Tenants.make(host, "https://receiver.example/hook")
  const mismatches: Array<Mismatch> = []
  const statuses = new Map<string, Map<number, number>>()
  let asked = 0
  const { operations } = description
  const ids = operations.map(({ id }) => id)
  const only = options.only === undefined ? undefined : oneOf("only", ids, options.only)
  for (const operation of operations) {
    if (only !== undefined && operation.id !== only) continue
    const known = World.known(host, await World.make(host, caller, platform))
    const cases = Cases.make(description, known, operation, options)
    const seen = new Map<number, number>()
    statuses.set(operation.id, seen)
    for (let from = 0; from < cases.length; from += atOnce) {
      await Promise.all(
        cases.slice(from, from + atOnce).map(async (each) => {
          const answer = await ask(host, each)
          asked += 1
          seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
          const what = fault(description, each, answer)
          if (what !== undefined)
            mismatches.push({
              what: `${operation.id} ${what}`,
              request: Cases.curl(host.base, each),
              answer: `${answer.status} ${answer.text.slice(0, 2000)}`
            })
        })
      )
    }
  }
  return { asked, mismatches, statuses }
}

/** How often each status was answered, by operation. */
export type Statuses = ReadonlyMap<string, ReadonlyMap<number, number>>
