/** What the engine relies on, proven for the store of this folder. */
import * as StorageSuite from "@sendwright/core/testing/StorageSuite"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const hasSqlite = major > 22 || (major === 22 && minor >= 16)

if (hasSqlite) {
  const Store = await import("./store.ts")
  StorageSuite.suite("node:sqlite", Store.layer({ filename: ":memory:" }))
}

describe("An engine on node:sqlite", () => {
  it("sends a message from end to end", async ({ skip }) => {
    if (!hasSqlite) skip(`node:sqlite needs Node 22.16 or later, and this is ${process.version}.`)
    const { program } = await import("./main.ts")
    expect(await Effect.runPromise(program)).toEqual([{ phone: "34600001234", status: "delivered" }])
  })
})
