import { expect, it } from "@effect/vitest"
import * as Url from "../../src/domain/Url.ts"

it("a URL with letters beyond ASCII is one, however often another one was read before", () => {
  for (let times = 0; times < 100_000; times++) Url.parse("https://example.com/")
  expect(Url.parse("https://bücher.example/")?.hostname).toBe("xn--bcher-kva.example")
  expect(Url.parse("ü", "https://example.com/a")?.pathname).toBe("/%C3%BC")
  expect(Url.parse("no URL")).toBeUndefined()
})
