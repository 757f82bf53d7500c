/**
 * Which addresses webhooks may reach (decisions.md §7): only public ones, unless the operator allows named networks.
 * `check` tells at registration what can be told of a URL; `allows` decides at connection time, on the address that
 * was really connected to.
 */
import { isIP } from "node:net"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import ipaddr from "ipaddr.js"

export class AddressPolicy extends Context.Tag("@sendwright/core/webhook/AddressPolicy")<
  AddressPolicy,
  {
    /** What is wrong with a URL; `undefined` when it may be registered. */
    readonly check: (url: string) => string | undefined
    /** Whether an IP address may be connected to. */
    readonly allows: (address: string) => boolean
  }
>() {}

/** An address and how many leading bits of it count. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Reads `10.0.0.0/8`, `::1/128`; `undefined` for anything else. */
export const parseNetwork = (cidr: string): Network | undefined =>
  ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined

const globalUnicastV6 = ipaddr.IPv6.parseCIDR("2000::/3")

/** Metadata services that a cloud put on public-looking addresses. */
const metadata: ReadonlySet<string> = new Set(["168.63.129.16"])

/** The IPv4 address inside an ISATAP one (RFC 5214 §6.1), which a router of that tunnel would go to. */
const tunneled = (address: ipaddr.IPv4 | ipaddr.IPv6): string | undefined => {
  const bytes = address.toByteArray()
  const [flags = 0, zero, high, low, ...embedded] = bytes.slice(8)
  return bytes.length === 16 && (flags & 0xfd) === 0 && zero === 0 && high === 0x5e && low === 0xfe
    ? embedded.join(".")
    : undefined
}

const maximumUrl = 2048

const insideName = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)$/

const make = (networks: ReadonlyArray<Network>): Context.Tag.Service<AddressPolicy> => {
  const allows = (text: string): boolean => {
    const plain = text.split("%")[0] ?? ""
    if (isIP(plain) === 0) return false
    const address = ipaddr.process(plain)
    if (
      networks.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits]))
    ) {
      return true
    }
    if (address.range() !== "unicast" || metadata.has(address.toString())) return false
    const within = tunneled(address)
    if (within !== undefined) return allows(within)
    return address.kind() === "ipv4" || address.match(globalUnicastV6)
  }

  const hostFault = (hostname: string): string | undefined => {
    const host = hostname.replace(/^\[|\]$/g, "")
    if (isIP(host) !== 0) {
      return allows(host)
        ? undefined
        : "`url` must name a public address; this one is inside a network or reserved."
    }
    if (host.endsWith(".")) return "`url` must name its host without a trailing dot."
    const loopback = allows("127.0.0.1") || allows("::1")
    if (host === "localhost" && loopback) return undefined
    return !host.includes(".") || insideName.test(host) ? "`url` must name a public host." : undefined
  }

  const check = (text: string): string | undefined => {
    if (text.length > maximumUrl) return `\`url\` must be at most ${maximumUrl} characters.`
    if (!URL.canParse(text) || /\s/.test(text)) return "`url` must be an absolute http or https URL."
    const url = new URL(text)
    if (url.protocol !== "https:" && url.protocol !== "http:")
      return "`url` must be an absolute http or https URL."
    if (url.username !== "" || url.password !== "") return "`url` must carry no credentials."
    if (url.hash !== "") return "`url` must have no fragment."
    return hostFault(url.hostname)
  }

  return { check, allows }
}

/** @param allowed inside networks that may be reached all the same, for development */
export const layer = (allowed: ReadonlyArray<Network>): Layer.Layer<AddressPolicy> =>
  Layer.succeed(AddressPolicy, make(allowed))
