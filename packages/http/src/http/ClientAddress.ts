/**
 * The address of a client behind proxies (`TRUST_PROXY`). Each proxy adds the address that it was called from
 * to the right of `X-Forwarded-For`, so the list is read from there: the first address that is no trusted proxy is the
 * client's. What stands left of it is what that client wrote, and says nothing.
 */
import { isIP, isIPv6 } from "node:net"
import { AddressPolicy } from "@sendwright/core"

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface ClientAddress {
  /** True when a peer is a trusted proxy. */
  readonly isProxy: (peer: string) => boolean
  /** The client of a request from a peer: the peer itself unless trusted proxies name another. */
  readonly of: (peer: string, headers: Headers) => string
}

/** The longest chain of proxies that is read, from the right. */
const mostHops = 16

/** `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]:443`, and nothing else. */
const form = /^(?:\[([0-9a-f:.]{2,45})\]|([0-9.]{7,15}))(?::\d{1,5})?$/i

/** The IPv4 address in one that is mapped into IPv6, as two groups of the canonical spelling (RFC 4291 §2.5.5.2). */
const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/

/**
 * One spelling for each address (RFC 5952), without a zone; an IPv4 one mapped into IPv6 is the IPv4 one, in whichever
 * form it is written. What is no address stays as it is.
 */
export const normal = (address: string): string => {
  if (!address.includes(":")) return address
  const bare = address.replace(/%.*$/, "")
  if (!isIPv6(bare)) return address
  const canonical = new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const groups = mapped.exec(canonical)?.slice(1)
  if (groups === undefined) return canonical
  return groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".")
}

const parse = (hop: string): string | undefined => {
  const text = hop.trim()
  if (text.length > 64 || text.includes("%")) return undefined
  const [, v6, v4] = form.exec(text) ?? []
  const address = v6 ?? v4 ?? text
  return isIP(address) === 0 ? undefined : normal(address)
}

/** The leading groups of an IPv6 address that a provider gives to one customer: 64 bits (RFC 6177). */
const customerGroups = 4

/** The key that limits per address count by: an IPv4 address, and of an IPv6 one the /64, whose owner has all of it. */
export const clientOf = (address: string): string => {
  const spelled = normal(address)
  if (!isIPv6(spelled)) return spelled
  const [before = [], after = []] = spelled.split("::").map((part) => (part === "" ? [] : part.split(":")))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return [...before, ...zeros, ...after].slice(0, customerGroups).join(":")
}

/** The last entries of a list, right to left, without looking at the rest of it. */
const fromRight = (list: string): ReadonlyArray<string> => {
  const hops: Array<string> = []
  for (let end = list.length; end >= 0 && hops.length < mostHops; ) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1)
    hops.push(list.slice(comma + 1, end))
    end = comma
  }
  return hops
}

export const make = (trusted: ReadonlyArray<AddressPolicy.Network>): ClientAddress => {
  const isProxy = (peer: string): boolean => trusted.length > 0 && AddressPolicy.isWithin(peer, trusted)
  return {
    isProxy,
    of: (peer, headers) => {
      const given = headers["x-forwarded-for"]
      if (given === undefined || !isProxy(peer)) return peer
      let client = peer
      for (const hop of fromRight(typeof given === "object" ? given.join(",") : given)) {
        const address = parse(hop)
        // A trusted proxy never writes this, so that the chain ends at the last address that one wrote.
        if (address === undefined) return client
        client = address
        if (!isProxy(address)) return client
      }
      return client
    }
  }
}
