/**
 * Nobody fills the memory for bodies where no body is taken, or before it is known who calls. Made from what is served,
 * so that a new route is asked, too.
 */
import { describe, expect, it } from "@effect/vitest"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Handler from "./Handler.ts"

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** The host's own handler; a body is read as one in chunks is, and tells how much it was asked for. */
const host = Effect.gen(function* () {
  const { content, credentials, handle } = yield* Handler.make({
    guesses: { perAddress: 1e6, perSubject: 1e6, perMinute: 60 }
  })
  const ask = (method: string, url: string, text: string, headers: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const body = (maximum: number) => {
        asked.push(maximum)
        return Effect.succeed(text.length > maximum ? undefined : Buffer.from(text))
      }
      const { status } = yield* handle({
        method,
        url,
        headers: { "content-type": "application/json", ...headers },
        hasBody: true,
        body
      })
      return { status, most: Math.max(0, ...asked) }
    })
  return { ask, content, credentials }
})

const id = "01930000-0000-7000-8000-000000000000"

const filled = (pattern: string): string => pattern.replaceAll(/:(\w+)/g, id)

const declared = { "content-length": String(mebibyte) }

const asked = ({ content }: Effect.Effect.Success<typeof host>, isOpen: boolean) => [
  ...content.routes
    .filter(({ acceptsBody, handler }) =>
      isOpen
        ? !acceptsBody && ["anyone", "browser"].includes(handler.access)
        : !acceptsBody && handler.access !== "hook"
    )
    .map(({ method, pattern }) => [method, filled(pattern)] as const),
  ...Array.from(content.pages.keys(), (path) => ["GET", path] as const)
]

describe("a body that no route asks for", () => {
  it.effect("is read up to 1 KiB, and one that is declared longer is not read at all", () =>
    Effect.gen(function* () {
      const served = yield* host
      const routes = asked(served, false)
      expect(routes.length).toBeGreaterThan(25)
      for (const [method, path] of routes) {
        const { ask, credentials } = served
        const route = [method, path]
        const long = yield* ask(method, path, " ".repeat(mebibyte), { ...credentials, ...declared })
        expect([...route, long]).toEqual([...route, { status: 413, most: 0 }])
        const chunked = yield* ask(method, path, " ".repeat(mebibyte), credentials)
        expect([...route, chunked]).toEqual([...route, { status: 413, most: kibibyte }])
        const empty = yield* ask(method, path, "{}", { ...credentials, "content-length": "2" })
        expect([...route, empty.most]).toEqual([...route, kibibyte])
        expect([413, 415]).not.toContain(empty.status)
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is never read beyond 1 KiB for anyone, and not at all for whom is not known", () =>
    Effect.gen(function* () {
      const served = yield* host
      const open = asked(served, true).filter(([, path]) => path !== "/metrics")
      expect(open.map(([, path]) => path)).toEqual(expect.arrayContaining(["/health/live", "/docs"]))
      for (const [method, path] of open) {
        const { most } = yield* served.ask(method, path, " ".repeat(mebibyte), {})
        expect([method, path, most]).toEqual([method, path, kibibyte])
      }
      for (const { handler, method, pattern } of served.content.routes) {
        if (handler.access === "anyone" || pattern === "/admin/v1/sign-out") continue
        const { most } = yield* served.ask(method, filled(pattern), " ".repeat(mebibyte), {})
        // Whose token it is, is known by the body of a sign-in.
        expect([method, pattern, most]).toEqual([
          method,
          pattern,
          handler.access === "browser" ? 4 * kibibyte : 0
        ])
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
