/**
 * The address of the API: where clients reach the server that it is mounted in, and the path below which it is mounted there.
 * The paths of all requests and links begin with that prefix.
 */
import { Url } from "@sendwright/core/adapter"

/** An origin and a path, of the characters of a URL (RFC 3986 §2): it stands in links and types, and in the log. */
export const baseUrl = (text: string): string | undefined => {
  const url = /^https?:\/\/[\w.\-~:/%!$&'()*+,;=@[\]]+$/i.test(text) ? Url.parse(text) : undefined
  return url?.username === "" && url.password === "" ? text.replace(/\/+$/, "") : undefined
}

/** The path of the API's own address, as clients ask for it, without a slash at its end. */
export const pathOf = (baseUrl: string): string =>
  (Url.parse(baseUrl)?.pathname ?? baseUrl).replace(/\/$/, "")

/** Characters that a URL writes otherwise, or reads as the end of its path. */
const unwritable = /[\s\\?#]/

/** `/api/messaging` in the spelling of requests, without a slash at its end; undefined for what is no prefix. */
export const prefix = (text: string): string | undefined => {
  const path = text.endsWith("/") ? text.slice(0, -1) : text
  if (path === "") return ""
  const spelled = Url.parse(`http://prefix${path}`)?.pathname
  if (!path.startsWith("/") || unwritable.test(path) || spelled === undefined) return undefined
  const segments = spelled.split("/").slice(1)
  // `.` and `..` are gone by now.
  const isWhole = segments.length === path.split("/").length - 1
  return isWhole && segments.every((segment) => segment !== "") ? spelled : undefined
}

/** The path of the contract that a path of the server stands for; undefined where it is not below the prefix. */
export const below = (prefix: string, path: string): string | undefined => {
  if (prefix === "") return path
  if (!path.startsWith(prefix)) return undefined
  const rest = path.slice(prefix.length)
  return rest === "" || rest.startsWith("/") ? rest : undefined
}
