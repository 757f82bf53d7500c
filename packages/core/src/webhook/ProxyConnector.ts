/** Connections through an HTTP proxy, by CONNECT (RFC 9110 §9.3.6): for undici's `Agent`, with one time limit. */
import { request as overHttp } from "node:http"
import { request as overHttps } from "node:https"
import type { Socket } from "node:net"
import { buildConnector } from "undici"

/** The proxy answered something else than 2xx, or nothing in time. */
class ProxyRefused extends Error {
  readonly code: "PROXY_REFUSED" | "PROXY_TIMEOUT"
  constructor(code: "PROXY_REFUSED" | "PROXY_TIMEOUT") {
    super("The proxy did not connect us.")
    this.code = code
  }
}

const authorization = ({ password, username }: URL): Readonly<Record<string, string>> => {
  if (username === "") return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` }
}

/** @param proxy http or https, with a user and a password if it asks for them */
export const make = (proxy: URL, timeoutMs: number): buildConnector.connector => {
  const secure = buildConnector({ timeout: timeoutMs })
  const ask = proxy.protocol === "https:" ? overHttps : overHttp
  const headers = authorization(proxy)
  return (target, callback) => {
    const isSecure = target.protocol === "https:"
    const authority = `${target.hostname}:${target.port === "" ? (isSecure ? 443 : 80) : target.port}`
    let ended = false
    const end = (error: Error | null, socket: Socket | null): void => {
      if (ended) {
        socket?.destroy()
        return
      }
      ended = true
      if (error !== null || socket === null) callback(error ?? new ProxyRefused("PROXY_REFUSED"), null)
      else if (isSecure) secure({ ...target, httpSocket: socket }, callback)
      else callback(null, socket)
    }
    const connecting = ask({
      hostname: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port,
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...headers },
      timeout: timeoutMs,
      agent: false
    })
    connecting.once("timeout", () => {
      end(new ProxyRefused("PROXY_TIMEOUT"), null)
      connecting.destroy()
    })
    connecting.once("connect", ({ statusCode = 0 }, socket: Socket) => {
      // From here on the time is the request's.
      connecting.removeAllListeners("timeout")
      if (statusCode >= 200 && statusCode < 300) end(null, socket)
      else {
        socket.destroy()
        end(new ProxyRefused("PROXY_REFUSED"), null)
      }
    })
    connecting.once("response", () => {
      connecting.destroy()
      end(new ProxyRefused("PROXY_REFUSED"), null)
    })
    connecting.on("error", () => end(new ProxyRefused("PROXY_REFUSED"), null))
    connecting.end()
  }
}
