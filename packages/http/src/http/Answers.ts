/** Answers and refusals, in the form that each has; every one of them is sealed on its way out. */
import { Errors, type Fault, Ids, Instant } from "@sendwright/core"
import { Metrics } from "@sendwright/core/adapter"
import { Problems } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import type { Exchange, Headers, PlainResponse, Streaming } from "./Exchange.ts"
import { none } from "./Exchange.ts"

/** A refusal on its way out. */
export class Refused {
  readonly _tag = "Refused"
  readonly problem: Problems.Problem
  readonly headers: Headers
  /** The cause, for the log alone. */
  readonly cause: unknown
  constructor(problem: Problems.Problem, headers: Headers = none, cause?: unknown) {
    this.problem = problem
    this.headers = headers
    this.cause = cause
  }
}

export const refused = (
  code: Problems.Code,
  detail: string,
  { headers, retryAfterMs }: { readonly headers?: Headers; readonly retryAfterMs?: number | null } = {}
) => new Refused(Problems.problem(code, detail, { retryAfterMs }), headers)

export const refuse = (...why: Parameters<typeof refused>) => Effect.fail(refused(...why))

/** A bug, whose details go only to the log. */
export const unexpected = (defect: unknown): Refused =>
  new Refused(Problems.broken, none, defect ?? "no cause")

export const stopping = refused("unavailable", "The service is stopping.", { retryAfterMs: 1000 })

export const invalid = (faults: ReadonlyArray<Fault.Fault>) =>
  Effect.fail(new Refused(Problems.describe(new Errors.InvalidRequest({ faults }))))

export const noRoute = refuse("not_found", "There is no such route.")
/** For the last answer of a connection, behind which nothing is read. */
export const lastAnswer: Headers = { connection: "close" }

/** The answer of a step; `sealed` adds what every answer has. */
export interface Answer {
  readonly status: number
  readonly contentType: string | undefined
  readonly headers: Headers
  readonly body: string | Uint8Array
  readonly stream?: Streaming
}

/** IETF draft-ietf-httpapi-ratelimit-headers. */
export const rateLimit = (limit: number, remaining: number, resetAfterMs: number) => ({
  policy: `"per-minute";q=${limit};w=60`,
  state: `"per-minute";r=${remaining};t=${Math.ceil(resetAfterMs / 1000)}`
})

/** One object literal to which members are added: reading an object made by spreads is slow. */
export const sealed = (
  { rate, requestId }: Pick<Exchange, "rate" | "requestId">,
  answer: Answer
): PlainResponse => {
  const headers: Record<string, string> = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-request-id": requestId
  }
  if (answer.contentType !== undefined) headers["content-type"] = answer.contentType
  if (rate !== undefined) {
    headers["ratelimit-policy"] = rate.policy
    headers["ratelimit"] = rate.state
  }
  if (answer.headers !== none) Object.assign(headers, answer.headers)
  return { status: answer.status, headers, body: answer.body, stream: answer.stream }
}

export const json = (status: number, body: unknown, headers: Headers): Answer => ({
  status,
  contentType: "application/json; charset=utf-8",
  headers,
  body: JSON.stringify(body)
})

/** To what wants no answer. */
export const accepted: Answer = { status: 202, contentType: undefined, headers: none, body: "" }

export const text = (contentType: string, body: string | Uint8Array, location?: string): Answer => ({
  status: location === undefined ? 200 : 302,
  contentType,
  headers: location === undefined ? none : { location },
  body
})

/** An answer of any length. */
export const streamed = (
  status: number,
  contentType: string,
  headers: Headers,
  stream: Streaming
): Answer => ({
  status,
  contentType,
  headers,
  body: "",
  stream
})

export const problemAnswer = (
  { headers, problem }: Refused,
  context: Parameters<typeof Problems.body>[1]
): Answer => ({
  status: Problems.statusOf(problem),
  contentType: "application/problem+json",
  headers:
    problem.retryAfterMs === null
      ? headers
      : { ...headers, "retry-after": String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))) },
  body: JSON.stringify(Problems.body(problem, context))
})

/** Refuses input that never became a request (bad HTTP, timeouts) in the same problem+json form. */
export const refusing = (baseUrl: string) =>
  Effect.map(Effect.all([Ids.RandomBytes, Effect.clock]), ([random, clock]) => {
    const ids = Ids.make(random)
    const metrics = Metrics.ofRequests()
    return (code: Problems.HostCode, detail: string, retryAfterMs: number | null = null): PlainResponse => {
      const requestId = ids.uuid(Instant.unsafeNow(clock))
      const answer = problemAnswer(refused(code, detail, { retryAfterMs }), {
        baseUrl,
        prefix: "",
        requestId
      })
      metrics.refused(code)
      return sealed({ requestId, rate: undefined }, answer)
    }
  })

export type Refuse = Effect.Effect.Success<ReturnType<typeof refusing>>
