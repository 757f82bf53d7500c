/** contract.md §10, "Keys and secrets": which processes may work on a store, by the master keys that it remembers. */

import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../src/domain/Instant.ts"
import * as Keyring from "../../src/domain/Keyring.ts"

const remembered = (...ids: ReadonlyArray<string>): ReadonlyArray<Keyring.Remembered> =>
  ids.map((id, at) => ({
    id: id.replace("!", ""),
    addedAt: Time.at(at),
    retiredAt: id.endsWith("!") ? Time.at(at) : null
  }))

describe("a store", () => {
  it("that is new remembers the first given key alone", () => {
    expect(Keyring.join([], [], ["new", "old"])).toEqual({ _tag: "Joined", add: ["new"] })
  })

  it("from before keys were remembered asks for the keys that sealed its secrets, and remembers all given ones", () => {
    expect(Keyring.join([], ["old"], ["new"])).toEqual({ _tag: "Missing", keys: ["old"] })
    expect(Keyring.join([], ["old"], ["old"])).toEqual({ _tag: "Joined", add: ["old"] })
    expect(Keyring.join([], ["old"], ["new", "old"])).toEqual({ _tag: "Joined", add: ["old", "new"] })
  })

  it("refuses a process that lacks one of its keys, whatever else it has", () => {
    expect(Keyring.join(remembered("old"), [], ["other"])).toEqual({ _tag: "Missing", keys: ["old"] })
    expect(Keyring.join(remembered("old", "new"), [], ["old"])).toEqual({ _tag: "Missing", keys: ["new"] })
    expect(Keyring.join(remembered("old", "new"), [], ["new"])).toEqual({ _tag: "Missing", keys: ["old"] })
  })

  it("adds a first key that it does not know, and not one that stands behind", () => {
    expect(Keyring.join(remembered("old"), [], ["new", "old"])).toEqual({ _tag: "Joined", add: ["new"] })
    expect(Keyring.join(remembered("old"), [], ["old", "new"])).toEqual({ _tag: "Joined", add: [] })
  })

  it("seals with the key that was added last, however a process orders its own", () => {
    const both = remembered("old", "new")
    expect(Keyring.join(both, [], ["old", "new"])).toEqual({ _tag: "Joined", add: [] })
    expect(Keyring.current(both)).toBe("new")
    expect(Keyring.current(remembered("old!", "new"))).toBe("new")
  })

  it("asks for no retired key, and does not take one back", () => {
    const rotated = remembered("old!", "new")
    expect(Keyring.join(rotated, [], ["new"])).toEqual({ _tag: "Joined", add: [] })
    expect(Keyring.join(rotated, [], ["new", "old"])).toEqual({ _tag: "Joined", add: [] })
    expect(Keyring.join(rotated, [], ["old", "new"])).toEqual({ _tag: "Retired", key: "old" })
  })

  it("lets no process in without every key that it asks for, and one that joined joins again", () => {
    const keys = FastCheck.uniqueArray(FastCheck.constantFrom("a", "b", "c", "d"), { minLength: 1 })
    FastCheck.assert(
      FastCheck.property(keys, keys, (asked, given) => {
        const joining = Keyring.join(remembered(...asked), [], given)
        expect(joining._tag === "Missing").toBe(asked.some((key) => !given.includes(key)))
        if (joining._tag !== "Joined") return
        const after = remembered(...asked, ...joining.add)
        expect(Keyring.join(after, [], given)).toEqual({ _tag: "Joined", add: [] })
        expect(given).toContain(Keyring.current(after))
      })
    )
  })
})

describe("a text under a key", () => {
  it("names it, and one of before names none", () => {
    expect(Keyring.read(Keyring.mark("abcdefgh", "text"))).toEqual({ key: "abcdefgh", text: "text" })
    expect(Keyring.read("0a1b")).toEqual({ key: null, text: "0a1b" })
    expect(Keyring.isUnder("abcdefgh", Keyring.mark("abcdefgh", "text"))).toBe(true)
    expect(Keyring.isUnder("abcdefg", Keyring.mark("abcdefgh", "text"))).toBe(false)
  })
})
