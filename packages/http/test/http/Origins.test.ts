/** Whose pages may ask as agents (contract.md §13 "Embedding"). */
import { describe, expect, it } from "vitest"
import * as Origins from "../../src/http/Origins.ts"

const base = "https://messages.example/api"
const refused = (
  origin: string | undefined,
  host: string,
  address = "192.0.2.1",
  allowed: ReadonlyArray<string> = []
) => Origins.refusal({ origin, host, address }, base, allowed) !== null

describe("an origin", () => {
  it("is the host's own, one that was allowed, or refused", () => {
    expect(refused("https://messages.example", "messages.example")).toBe(false)
    expect(refused("http://messages.example", "messages.example")).toBe(true)
    expect(refused("https://agents.example", "messages.example")).toBe(true)
    expect(refused("https://agents.example", "messages.example", undefined, ["https://agents.example"])).toBe(
      false
    )
    // A name of the page's owner is no name of ours, although it is the one that was called.
    expect(refused("https://evil.example", "evil.example")).toBe(true)
  })

  it("over a loopback address comes with a host that is this machine, or that a proxy in front is called by", () => {
    for (const address of ["127.0.0.1", "::1"]) {
      for (const host of ["localhost:8080", "127.0.0.1", "[::1]:8080", "messages.example"])
        expect(refused(undefined, host, address), host).toBe(false)
      for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"])
        expect(refused(undefined, host, address), host).toBe(true)
    }
  })

  it("is written as a browser does", () => {
    expect(Origins.parse("https://Agents.example/")).toBe("https://agents.example")
    for (const wrong of [
      "agents.example",
      "https://a.example/path",
      "https://u:p@a.example",
      "ftp://a.example",
      "*"
    ])
      expect(Origins.parse(wrong), wrong).toBeUndefined()
  })
})
