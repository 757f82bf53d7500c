/** How a sender asks its platform over HTTP, and what it means for the message that there is no answer. */

import type { Failure } from "../domain/Recipient.ts"
import * as HttpClient from "../http/HttpClient.ts"
import { SendResult } from "./Sender.ts"

export interface Options {
  /** To one platform at the most, as many as messages are under way at once; more than are needed cost time. */
  readonly connections?: number
}

/** Of a platform: many are asked by few. */
export const make = ({ connections = 64 }: Options = {}) =>
  HttpClient.make({ connections, connect: { timeout: 10_000 } })

/** A platform that was not reached: trying again does no harm. */
export const unreachable = (reason: string): Failure => ({
  code: "provider_unreachable",
  provider_code: null,
  message: `The platform could not be reached (${reason}).`,
  permanent: false
})

/** A platform that may have the message. */
export const unanswered = (reason: string): Failure => ({
  code: "outcome_unknown",
  provider_code: null,
  message: `The platform did not answer (${reason}); it may have the message.`,
  permanent: false
})

/** Where a redirect leads, without what may be secret in it; undefined when that is no web address. */
const targetOf = (location: string | null, url: string): string | undefined => {
  if (location === null || !URL.canParse(location, url)) return undefined
  const { host, pathname, protocol } = new URL(location, url)
  return /^https?:$/.test(protocol) ? `${protocol}//${host}${pathname}`.slice(0, 200) : undefined
}

/**
 * A redirect (3xx), of which the message says what to do; undefined for any other answer. Nobody has the message, and
 * the fault is the session's address and no recipient's: it is tried again.
 *
 * @param asked who was asked, where, and by which field of the configuration
 */
export const redirected = (
  { location, status }: Extract<HttpClient.Exchanged, { readonly _tag: "Answered" }>,
  asked: { readonly who: string; readonly code: string; readonly url: string; readonly field: string }
): Failure | undefined => {
  if (status < 300 || status >= 400) return undefined
  const target = targetOf(location, asked.url)
  const [to, where] =
    target === undefined ? ["", "the address that answers"] : [` to ${target}`, "that address"]
  return {
    code: asked.code,
    provider_code: String(status),
    message: `${asked.who} answered ${status}${to}; Sendwright does not follow redirects: set the session's \`${asked.field}\` to ${where}.`,
    permanent: false
  }
}

/** What may pass: the platform answered, and surely did not take it (RFC 9110 §15.5.9, §15.6; RFC 6585 §4). */
export const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** What became of an attempt; what an answer says is the sender's to tell. */
export const meaning = (
  exchanged: HttpClient.Exchanged,
  answered: (answer: Extract<HttpClient.Exchanged, { readonly _tag: "Answered" }>) => SendResult
): SendResult => {
  switch (exchanged._tag) {
    case "Unsent":
      return SendResult.Transient({ failure: unreachable(exchanged.reason), retryAfterMs: null })
    case "Lost":
      return SendResult.Ambiguous({ failure: unanswered(exchanged.reason) })
    case "Answered":
      return answered(exchanged)
  }
}
