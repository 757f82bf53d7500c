import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AddressPolicy, layer, parseNetwork } from "../../src/webhook/AddressPolicy.ts"
import { inside } from "../http/Inside.ts"

const policy = (...networks: ReadonlyArray<string>) =>
  Effect.runSync(
    Effect.scoped(
      Effect.map(
        Layer.build(
          layer(
            networks.flatMap((cidr) => {
              const network = parseNetwork(cidr)
              return network === undefined ? [] : [network]
            })
          )
        ),
        Context.get(AddressPolicy)
      )
    )
  )

const { allows, check } = policy()

describe("a webhook's address", () => {
  it.each(inside)("is refused at registration: %s", (host) => {
    expect(check(`http://${host}/hook`)).toMatch(/`url`/)
  })

  it.each([
    "https://receiver.example.com/hook",
    "http://receiver.example.com:8443/a?b=c",
    "https://93.184.216.34/",
    "https://[2606:2800:220:1:248:1893:25c8:1946]/",
    "https://bücher.example/"
  ])("may be any public one: %s", (url) => {
    expect(check(url)).toBeUndefined()
  })

  it.each([
    "ftp://receiver.example.com/",
    "file:///etc/passwd",
    "gopher://receiver.example.com/",
    "receiver.example.com",
    "//receiver.example.com",
    "https://user@receiver.example.com/",
    "https://user:password@receiver.example.com/",
    "https://receiver.example.com/#fragment",
    "https://receiver.example.com/ x",
    "https:\n//receiver.example.com/",
    "https://receiver.example.com/\u0000",
    "https://receiver.example.com/\ud800",
    `https://receiver.example.com/${"a".repeat(2048)}`,
    "https://receiver.example.com:99999/",
    "https://[::1",
    ""
  ])("is http or https, whole, without credentials and fragment: %s", (url) => {
    expect(check(url)).toMatch(/`url`/)
  })

  it.each(["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])(
    "may be connected to when it is public: %s",
    (address) => {
      expect(allows(address)).toBe(true)
    }
  )

  it.each([
    "127.0.0.1",
    "0.0.0.0",
    "10.255.255.255",
    "172.31.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "198.19.255.255",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:53aa:64c::f5ff:fffe",
    "2001:db8::5efe:7f00:1",
    "2606:2800::5efe:a00:1",
    "2606:2800::200:5efe:a00:1",
    "100::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
    ""
  ])("is not connected to when it is not: %s", (address) => {
    expect(allows(address)).toBe(false)
  })

  it("may be in a network that the operator names, and in no other", () => {
    const development = policy("127.0.0.0/8", "fd00::/64")
    expect(development.check("http://127.0.0.1:3000/")).toBeUndefined()
    expect(development.check("http://localhost:3000/")).toBeUndefined()
    expect(development.allows("::ffff:127.0.0.1")).toBe(true)
    expect(development.allows("fd00::5")).toBe(true)
    expect(development.allows("10.0.0.1")).toBe(false)
    expect(development.allows("::1")).toBe(false)
    expect(parseNetwork("10.0.0.0")).toBeUndefined()
    expect(parseNetwork("10.0.0.0/33")).toBeUndefined()
  })
})
