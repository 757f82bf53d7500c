/**
 * Pages of other origins, kept from what a browser on an operator's machine could reach for them: a name of theirs may lead to
 * this machine (DNS rebinding), so neither its `Origin` nor its `Host` is ours (Model Context Protocol, Transports, "Security
 * Warning"; contract.md §13 "Embedding").
 */
import { Url } from "@sendwright/core/adapter"

/** `https://agents.example`, as a browser writes it; undefined for what is no origin of the web. */
export const parse = (text: string): string | undefined => {
  const url = Url.parse(text)
  return url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    text.replace(/\/$/, "").toLowerCase() === url.origin
    ? url.origin
    : undefined
}

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname)

const isLoopbackAddress = (address: string): boolean => address === "::1" || isLoopback(address)

/**
 * Why a page may not use an operator's cookie; null where it may. Whoever leads a name of theirs to this machine has no cookie of
 * that name, so the host that was called counts as its own.
 */
export const refusalOfPage = (
  { host, origin }: Pick<Asked, "host" | "origin">,
  baseUrl: string
): string | null => {
  const from = origin === undefined ? undefined : Url.parse(origin)
  return from !== undefined &&
    (from.host === Url.parse(`${from.protocol}//${host}`)?.host || from.origin === Url.parse(baseUrl)?.origin)
    ? null
    : `The header Origin must be of this host's own page, and is ${origin === undefined ? "missing" : JSON.stringify(origin)}. Behind a proxy set BASE_URL to the address that browsers use.`
}

export interface Asked {
  readonly origin: string | undefined
  readonly host: string | undefined
  /** The client's address; undefined when the server does not know it. */
  readonly address: string | undefined
}

/**
 * Why a request is refused; null for one that is not.
 *
 * @param baseUrl the API's own address; empty where it is not known
 * @param allowed further origins
 */
export const refusal = (
  { address, host, origin }: Asked,
  baseUrl: string,
  allowed: ReadonlyArray<string>
): string | null => {
  const called = host === undefined ? undefined : Url.parse(`http://${host}`)
  const known = [Url.parse(baseUrl), ...allowed.map((each) => Url.parse(each))].filter(
    (each) => each !== undefined
  )
  if (address !== undefined && isLoopbackAddress(address)) {
    const isOwn =
      called !== undefined &&
      (isLoopback(called.hostname) || known.some(({ hostname }) => hostname === called.hostname))
    if (!isOwn)
      return "The header Host names another host than this one. Call it by its own address (BASE_URL)."
  }
  if (origin === undefined) return null
  const from = Url.parse(origin)
  const isSame =
    from !== undefined &&
    (known.some((each) => each.origin === from.origin) ||
      // Behind the check of Host this is our own address, in a spelling of its own.
      (from.host === called?.host && (baseUrl === "" || isLoopback(from.hostname))))
  return isSame
    ? null
    : "The header Origin names another origin than this host's. Allow it by MCP_ORIGINS, if you trust it."
}
