/** What bounds bodies, addresses and rates, apart from any server. */
import { AddressPolicy, Instant } from "@sendwright/core"
import { describe, expect, it } from "vitest"
import { bodyMemory } from "../../src/http/BodyReader.ts"
import * as ClientAddress from "../../src/http/ClientAddress.ts"
import * as Rates from "../../src/http/Rates.ts"

describe("the memory for bodies", () => {
  it("is shared by addresses, and no one of them takes all", () => {
    const memory = bodyMemory({ bodies: 100, bodiesPerAddress: 60 })
    expect(memory.reserve("a", 60)).toBe(true)
    expect(memory.reserve("a", 1)).toBe(false)
    expect(memory.reserve("b", 41)).toBe(false)
    expect(memory.reserve("b", 40)).toBe(true)
    memory.release("a", 60)
    expect([memory.reserve("c", 60), memory.reserve(undefined, 1), memory.used()]).toEqual([true, false, 100])
  })
})

describe("the client's address", () => {
  const trusted = ["10.0.0.0/8", "fd00::/8"].flatMap((cidr) => {
    const network = AddressPolicy.parseNetwork(cidr)
    return network === undefined ? [] : [network]
  })
  const of = (peer: string, list?: string) =>
    ClientAddress.make(trusted).of(peer, list === undefined ? {} : { "x-forwarded-for": list })

  it("is the peer's, whatever one that is no trusted proxy says", () => {
    expect(of("192.0.2.1", "203.0.113.9")).toBe("192.0.2.1")
    expect(ClientAddress.make([]).of("10.0.0.1", { "x-forwarded-for": "203.0.113.9" })).toBe("10.0.0.1")
  })

  it("is the rightmost one that is no trusted proxy", () => {
    expect(of("10.0.0.1", "198.51.100.1, 203.0.113.9")).toBe("203.0.113.9")
    expect(of("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.1.1.1,fd00::1")).toBe("203.0.113.9")
    expect(of("fd00::1", "2001:DB8::1")).toBe("2001:db8::1")
    expect(of("10.0.0.1", "[2001:db8::1]:4711")).toBe("2001:db8::1")
    expect(of("10.0.0.1", "203.0.113.9:80")).toBe("203.0.113.9")
    expect(of("10.0.0.1", "::ffff:203.0.113.9")).toBe("203.0.113.9")
    expect(of("10.0.0.1", "::ffff:cb00:7109")).toBe("203.0.113.9")
    expect(of("10.0.0.1", "[0:0:0:0:0:FFFF:cb00:7109]:80")).toBe("203.0.113.9")
    expect(of("::ffff:a00:1", "203.0.113.9, ::ffff:a01:101")).toBe("203.0.113.9")
    expect(of("10.0.0.1", "10.2.2.2, 10.1.1.1")).toBe("10.2.2.2")
    expect(of("10.0.0.1")).toBe("10.0.0.1")
  })

  it("is the last that a proxy vouches for where the list cannot be read on", () => {
    for (const hop of ["", "unknown", "_hidden", "203.0.113.999", "fe80::1%eth0", "x".repeat(9000), "1:2"]) {
      expect(of("10.0.0.1", hop)).toBe("10.0.0.1")
      expect(of("10.0.0.1", `198.51.100.1, ${hop}, 10.1.1.1`)).toBe("10.1.1.1")
    }
    expect(of("10.0.0.1", Array(2000).fill("10.3.3.3").join(","))).toBe("10.3.3.3")
  })

  it("has one spelling, in which an IPv4 one that is mapped into IPv6 is the IPv4 one", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["192.0.2.1", "192.0.2.1"],
      ["::ffff:1.2.3.4", "1.2.3.4"],
      ["::ffff:102:304", "1.2.3.4"],
      ["::FFFF:0102:0304", "1.2.3.4"],
      ["0:0:0:0:0:ffff:102:304", "1.2.3.4"],
      ["::ffff:0:0", "0.0.0.0"],
      ["2001:0DB8:0:0::0001", "2001:db8::1"],
      ["::102:304", "::102:304"],
      ["fe80::1%eth0", "fe80::1"],
      ["::ffff:1.2.3.400", "::ffff:1.2.3.400"],
      ["unknown", "unknown"]
    ]
    for (const [address, spelled] of cases) expect(ClientAddress.normal(address)).toBe(spelled)
  })

  it("counts with those of one customer, which of IPv6 has a /64", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["192.0.2.1", "192.0.2.1"],
      ["::ffff:192.0.2.1", "192.0.2.1"],
      ["::FFFF:c000:201", "192.0.2.1"],
      ["2001:db8:0:7::1", "2001:db8:0:7"],
      ["2001:db8:0:7:ffff::", "2001:db8:0:7"],
      ["2001:0db8:0000:0007:1:2:3:4", "2001:db8:0:7"],
      ["2001:db8::1", "2001:db8:0:0"],
      ["2001:db8:1:2:3:4:5::", "2001:db8:1:2"],
      ["::1", "0:0:0:0"],
      ["64:ff9b::192.0.2.1", "64:ff9b:0:0"],
      ["fe80::1%eth0", "fe80:0:0:0"],
      ["unknown", "unknown"]
    ]
    for (const [address, holder] of cases) expect(ClientAddress.clientOf(address)).toBe(holder)
  })
})

describe("rates", () => {
  it("are each key's own, and come back with time", () => {
    const take = Rates.make({ limit: 2, periodMs: 1000 })
    expect([take("a", Instant.at(0)), take("a", Instant.at(0)), take("b", Instant.at(0))]).toEqual([0, 0, 0])
    expect(take("a", Instant.at(0))).toBeGreaterThan(0)
    expect(take("a", Instant.at(500))).toBe(0)
    expect(take("a", Instant.at(500))).toBeGreaterThan(0)
  })

  it("keep a bounded number of keys, and those beyond share one allowance", () => {
    const take = Rates.make({ limit: 1, periodMs: 1000 })
    for (let key = 0; key < 10_000; key++) take(`key ${key}`, Instant.at(5000))
    expect(take("one", Instant.at(5000))).toBe(0)
    expect(take("another", Instant.at(5000))).toBeGreaterThan(0)
    expect(take("another", Instant.at(7000))).toBe(0)
    expect(take("one more", Instant.at(7000))).toBe(0)
  })
})
