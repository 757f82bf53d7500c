/** Which route a path stands for, where several patterns are of it. */
import { Engine } from "@sendwright/core"
import { Endpoint, Operation } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import * as Router from "../../src/http/Router.ts"

const nobody = Engine.Engine.of(Object.create(null))

const route = (method: "GET" | "POST", pattern: `/${string}`) => {
  const endpoint = method === "GET" ? Endpoint.get("name", pattern) : Endpoint.post("name", pattern)
  return Operation.forAnyone(
    endpoint,
    Operation.done,
    { summary: "", description: "" },
    () => Effect.void
  ).route(nobody)
}

const routes = [
  route("POST", "/hooks/http/:sessionId"),
  route("GET", "/hooks/:provider/:sessionId"),
  route("POST", "/hooks/:provider/:sessionId"),
  route("GET", "/hooks/http/known")
]

/** The methods of a path, with the pattern and the parameters of each. */
const found = (router: Router.Router, path: string) =>
  Object.fromEntries(
    Array.from(router(path), ([method, matched]) => [method, [matched.route.pattern, matched.path]])
  )

describe.each([
  ["the first", routes],
  ["the last", routes.toReversed()]
])("a pattern with a text where others have a parameter, %s", (_, given) => {
  const router = Router.make(given)

  it("has a path alone, with its own methods", () => {
    expect(found(router, "/hooks/http/a")).toEqual({ POST: ["/hooks/http/:sessionId", { sessionId: "a" }] })
  })

  it("leaves other paths to the others", () => {
    const parameters = { provider: "pigeon", sessionId: "a" }
    expect(found(router, "/hooks/pigeon/a")).toEqual({
      GET: ["/hooks/:provider/:sessionId", parameters],
      POST: ["/hooks/:provider/:sessionId", parameters]
    })
  })

  it("leaves a known path to its own route", () => {
    expect(found(router, "/hooks/http/known")).toEqual({ GET: ["/hooks/http/known", {}] })
  })
})

describe("a parameter", () => {
  const router = Router.make(routes)

  it("is decoded, and is kept as it came where it cannot be", () => {
    expect(router("/hooks/pige%6Fn/a").get("GET")?.path).toEqual({ provider: "pigeon", sessionId: "a" })
    expect(router("/hooks/a%2Fb/%E0%A4%A").get("GET")?.path).toEqual({
      provider: "a/b",
      sessionId: "%E0%A4%A"
    })
  })

  it("is never empty", () => {
    expect([router("/hooks//a").size, router("/hooks/pigeon/").size, router("/hooks/pigeon").size]).toEqual([
      0, 0, 0
    ])
  })
})
