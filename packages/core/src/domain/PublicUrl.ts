/**
 * URLs and addresses of the public Internet (contract.md §7, §10): one policy for the webhooks and platforms that the
 * engine calls and for the media that a platform fetches. It looks at the text alone and never asks DNS; connections are
 * held to it by `http/GuardedConnector`.
 */
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"
import * as Text from "./Text.ts"
import * as Url from "./Url.ts"

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** An address and how many leading bits of it count. */
export type Network = readonly [Address, number]

/** Reads `10.0.0.0/8`, `::1/128`; `undefined` for anything else. */
export const parseNetwork = (cidr: string): Network | undefined =>
  ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined

/** This machine's own addresses. */
export const loopback: ReadonlyArray<Network> = [ipaddr.parseCIDR("127.0.0.0/8"), ipaddr.parseCIDR("::1/128")]

/** True when an IP address is in one of the networks; an IPv4 one mapped into IPv6 is the IPv4 one. */
export const isWithin = (text: string, networks: ReadonlyArray<Network>): boolean => {
  if (isIP(text) === 0) return false
  const address = ipaddr.process(text)
  return networks.some(
    ([network, bits]) => network.kind() === address.kind() && address.match([network, bits])
  )
}

export interface Rules {
  readonly protocols: ReadonlyArray<"http" | "https">
  /** The longest URL, in code points. */
  readonly maximum: number
  /** Networks that are not public and allowed all the same. */
  readonly networks: ReadonlyArray<Network>
  /** The setting that names such networks, for messages; absent where nobody can allow any. */
  readonly setting?: string
}

export interface Policy {
  /** Why a URL is refused, as what it must be or have; `undefined` when nothing speaks against it. */
  readonly fault: (url: string) => string | undefined
  /** True for an IP address that is public or in an allowed network. */
  readonly allows: (address: string) => boolean
}

const globalUnicastV6 = ipaddr.IPv6.parseCIDR("2000::/3")

/** Metadata services that a cloud put on public-looking addresses. */
const metadata: ReadonlySet<string> = new Set(["168.63.129.16"])

/** The IPv4 address inside an ISATAP one (RFC 5214 §6.1), which a router of that tunnel would go to. */
const tunneled = (address: Address): string | undefined => {
  const bytes = address.toByteArray()
  const [flags = 0, zero, high, low, ...embedded] = bytes.slice(8)
  return bytes.length === 16 && (flags & 0xfd) === 0 && zero === 0 && high === 0x5e && low === 0xfe
    ? embedded.join(".")
    : undefined
}

/** Names that only a resolver inside a network answers. */
const insideName = /(^|\.)(localdomain|local|internal|intranet|lan|home\.arpa)$/

/** The parser of URLs would drop or encode them without a word. */
const unfit = /[\s\p{Cc}\p{Cs}]/u

export const make = ({ maximum, networks, protocols, setting }: Rules): Policy => {
  const allows = (text: string): boolean => {
    const plain = text.split("%")[0] ?? ""
    if (isIP(plain) === 0) return false
    if (isWithin(plain, networks)) return true
    const address = ipaddr.process(plain)
    if (address.range() !== "unicast" || metadata.has(address.toString())) return false
    const within = tunneled(address)
    if (within !== undefined) return allows(within)
    return address.kind() === "ipv4" || address.match(globalUnicastV6)
  }

  const mayBeLocal = allows("127.0.0.1") || allows("::1")
  /** Names of inside networks lead to inside networks: where one is allowed, the connection decides. */
  const mayBeInside = networks.some(([network]) => network.range() !== "loopback")

  const hint = setting === undefined ? "" : ` (${setting} allows networks)`
  const insideAddress = `must name a public address; this one is inside a network or reserved${hint}`
  const insideHost = `must name a public host${hint}`

  /** The URL's parser has written every spelling of an IPv4 address as four decimals. */
  const hostFault = (hostname: string): string | undefined => {
    const host = hostname.replace(/^\[|\]$/g, "")
    if (isIP(host) !== 0) {
      return allows(host) ? undefined : insideAddress
    }
    if (host.endsWith(".")) return "must name its host without a trailing dot"
    if (/(^|\.)localhost$/.test(host)) return mayBeLocal ? undefined : insideHost
    return !mayBeInside && (!host.includes(".") || insideName.test(host)) ? insideHost : undefined
  }

  const absolute = `must be an absolute ${protocols.join(" or ")} URL`
  const schemes: ReadonlySet<string> = new Set(protocols.map((protocol) => `${protocol}:`))

  const fault = (text: string): string | undefined => {
    if (Text.isLonger(text, maximum)) return `must be at most ${maximum} characters`
    if (unfit.test(text)) return `${absolute} without white space`
    const url = Url.parse(text)
    if (url === undefined || !schemes.has(url.protocol)) return absolute
    if (url.username !== "" || url.password !== "") return "must carry no credentials"
    if (url.hash !== "") return "must have no fragment"
    return hostFault(url.hostname)
  }

  return { fault, allows }
}
