/**
 * The cookie by which a browser acts as an operator: the operator's token, sealed with the end of its use, so that it is checked
 * as a token is, dies with it, and a thief of cookies learns no token. No row stands for it.
 */
import { Instant } from "@sendwright/core"
import type { Cursors } from "@sendwright/core/contract"
import * as Address from "./Address.ts"
import type { Headers, PlainRequest } from "./Exchange.ts"
import { headerOf } from "./Exchange.ts"

const name = "sendwright_operator"
const place = "operator's cookie"
const life = 12 * Instant.hour

const given = new RegExp(`(?:^|; *)${name}=([A-Za-z0-9_-]+)`)

/** Undefined where none comes. */
export const of = (request: PlainRequest): string | undefined =>
  given.exec(headerOf(request, "cookie") ?? "")?.[1]

/** The server knows no scheme: a page tells its own by `Origin`, a proxy the client's by a header. */
const isSecure = (request: PlainRequest, baseUrl: string): boolean =>
  [headerOf(request, "origin") ?? baseUrl, request.url].some((each) => /^https:/i.test(each)) ||
  headerOf(request, "x-forwarded-proto") === "https"

/** @param baseUrl the API's own address: the cookie is sent to its admin API alone */
export const make = (cursors: Cursors.Cursors, baseUrl: string) => {
  const header = (request: PlainRequest, value: string, seconds: number): Headers => ({
    "set-cookie": [
      `${name}=${value}`,
      `Path=${Address.pathOf(baseUrl)}/admin/v1`,
      `Max-Age=${seconds}`,
      "HttpOnly",
      "SameSite=Strict",
      ...(isSecure(request, baseUrl) ? ["Secure"] : [])
    ].join("; ")
  })
  return {
    /** From now on the browser brings this token, for as long as it may. */
    begin: (request: PlainRequest, token: string, now: Instant.Instant): Headers => {
      const value = cursors.sealText(place, `${Instant.after(now, life)} ${token}`)
      return header(request, value, life / Instant.second)
    },
    end: (request: PlainRequest): Headers => header(request, "", 0),
    /** Undefined for what is no cookie of ours, or no longer. */
    tokenOf: (cookie: string, now: Instant.Instant): string | undefined => {
      const [, until, token] = /^(\d+) (.+)$/.exec(cursors.openText(place, cookie) ?? "") ?? []
      return now < Number(until) ? token : undefined
    }
  }
}
