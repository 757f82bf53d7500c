/**
 * Connections to public addresses only. A name is asked for at every connection, and only addresses that the policy
 * allows are tried; an address in the URL itself is asked for before anything is sent; and what the socket is really
 * connected to is asked for again before a byte is written. A look-up hook alone would not do: it is never called for
 * an IP literal. Redirects are nobody's here: the clients on top follow none.
 */
import type { LookupAddress, LookupOptions } from "node:dns"
import { lookup as systemLookup } from "node:dns"
import { isIP } from "node:net"
import { buildConnector } from "undici"

export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED"
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
 * A connector for undici's `Agent`.
 *
 * @param options.timeoutMs for name, TCP and TLS together
 * @param options.lookup how names are looked up; as the system does it unless said otherwise
 */
export const make = (
  allows: Allows,
  options: { readonly timeoutMs: number; readonly lookup?: All }
): buildConnector.connector => {
  const connect = buildConnector({
    timeout: options.timeoutMs,
    lookup: guardedLookup(allows, options.lookup ?? systemLookup)
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
