/**
 * Connects to public addresses only. A name is looked up for every connection, and only addresses that the policy
 * allows are tried; an address in the URL itself is checked before anything is sent; and the socket's remote address
 * is checked again before a byte of the request is written. A look-up hook alone would not do, since it is never
 * called for an IP literal. Redirects are not checked here, because the clients above follow none.
 */
import type { LookupAddress, LookupOptions } from "node:dns"
import { Resolver, lookup as systemLookup } from "node:dns"
import { isIP } from "node:net"
import { buildConnector } from "undici"
import { addressRefused } from "./HttpClient.ts"

export class AddressRefused extends Error {
  readonly code = addressRefused
  constructor() {
    super("The address is not public.")
  }
}

export type Allows = (address: string) => boolean

type Callback = (
  error: NodeJS.ErrnoException | null,
  address: string | Array<LookupAddress>,
  family?: number
) => void

type All = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
) => void

const guardedLookup =
  (allows: Allows, lookup: All) =>
  (hostname: string, options: LookupOptions, callback: Callback): void =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const allowed = addresses.filter(({ address }) => allows(address))
      const [first] = allowed
      if (first === undefined) return callback(new AddressRefused(), [])
      if (options.all === true) return callback(null, allowed)
      return callback(null, first.address, first.family)
    })

/**
 * Looks a name up at the name servers directly and not in the system's few look-up threads, where a silent name
 * server would block other names. The system is asked for names that the servers do not know, such as those of a
 * hosts file.
 */
export const lookup: All = (hostname, options, callback) => {
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  const found: Array<LookupAddress> = []
  const errors: Array<NodeJS.ErrnoException> = []
  let asked = 2
  const done = (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses?: Array<string>) => {
    if (error !== null) errors.push(error)
    found.push(...(addresses ?? []).map((address) => ({ address, family })))
    asked -= 1
    if (asked > 0) return
    const [first] = errors
    if (found.length > 0)
      callback(
        null,
        found.toSorted((a, b) => a.family - b.family)
      )
    else if (first?.code === "ETIMEOUT") callback(first, [])
    else systemLookup(hostname, options, callback)
  }
  if (!hostname.includes(".") || hostname.endsWith(".localhost")) systemLookup(hostname, options, callback)
  else {
    resolver.resolve4(hostname, done(4))
    resolver.resolve6(hostname, done(6))
  }
}

/**
 * A connector for undici's `Agent`.
 *
 * @param options.timeoutMs for name, TCP and TLS together
 * @param options.lookup how names are looked up; {@link lookup} unless said otherwise
 */
export const make = (
  allows: Allows,
  options: { readonly timeoutMs: number; readonly lookup?: All }
): buildConnector.connector => {
  const connect = buildConnector({
    timeout: options.timeoutMs,
    lookup: guardedLookup(allows, options.lookup ?? lookup)
  })
  return (target, callback) => {
    const literal = target.hostname.replace(/^\[|\]$/g, "")
    if (isIP(literal) !== 0 && !allows(literal)) return callback(new AddressRefused(), null)
    return connect(target, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (socket.remoteAddress !== undefined && allows(socket.remoteAddress)) return callback(null, socket)
      socket.destroy()
      return callback(new AddressRefused(), null)
    })
  }
}
