/** How a sender calls its platform over HTTP, and what a missing answer means for the message. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Fault from "../domain/Fault.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as PublicUrl from "../domain/PublicUrl.ts"
import * as Url from "../domain/Url.ts"
import * as HttpClient from "../http/HttpClient.ts"
import * as Reach from "../http/Reach.ts"
import { SendResult } from "./Sender.ts"

export interface Options {
  /**
   * The most connections to one platform, which bounds the messages in progress there; more connections than needed
   * cost time.
   */
  readonly connections?: number
  /** Networks that are not public and may hold a platform all the same (docs/adr/0023). This machine's own by default. */
  readonly networks?: ReadonlyArray<PublicUrl.Network>
  /** For name, TCP and TLS together; 10 seconds by default. */
  readonly connectTimeoutMs?: number
}

export interface PlatformHttp {
  readonly exchange: HttpClient.HttpClient
  /** Whether the platform can be connected to; nothing is sent. */
  readonly reach: Reach.Reach
  /** Why a session may not have the URL in this field of its configuration; none for what is no text. */
  readonly urlFaults: (field: string, url: unknown) => ReadonlyArray<Fault.Fault>
}

const maximumUrl = 2048
const patience = 10_000
const setting = "SENDER_ALLOWED_NETWORKS"

/** Connects to allowed addresses only, which are checked when a session is configured and at each connection. */
export const make = ({
  connectTimeoutMs = patience,
  connections = 64,
  networks = PublicUrl.loopback
}: Options = {}): Effect.Effect<PlatformHttp, never, Scope.Scope> => {
  const { allows, fault } = PublicUrl.make({
    protocols: ["http", "https"],
    maximum: maximumUrl,
    networks,
    setting
  })
  // Loaded together with undici, on which it is built.
  const connector = async () => {
    const { make } = await import("../http/GuardedConnector.ts")
    return make(allows, { timeoutMs: connectTimeoutMs })
  }
  return Effect.map(HttpClient.make({ connections }, connector), (exchange) => ({
    exchange,
    reach: Reach.make(connector),
    urlFaults: (field, url) => {
      const found = typeof url === "string" ? fault(url) : undefined
      return found === undefined
        ? []
        : [Fault.make(["config", field], "invalid_value", `\`${field}\` ${found}.`)]
    }
  }))
}

/** The failure of a message whose platform was not reached. Trying again does no harm. */
export const unreachable = (reason: string): Failure => ({
  code: "provider_unreachable",
  provider_code: null,
  message:
    reason === HttpClient.addressRefused
      ? `The platform was not asked: its address is inside a network or reserved. Give the session a public URL, or allow the network by ${setting}.`
      : `The platform could not be reached (${reason}).`,
  permanent: false
})

/** The failure of a message that the platform may have. */
export const unanswered = (reason: string): Failure => ({
  code: "outcome_unknown",
  provider_code: null,
  message: `The platform did not answer (${reason}); it may have the message.`,
  permanent: false
})

/** Where a redirect leads, without what may be secret in it; undefined when that is no web address. */
const targetOf = (location: string | null, url: string): string | undefined => {
  const target = location === null ? undefined : Url.parse(location, url)
  if (target === undefined) return undefined
  const { host, pathname, protocol } = target
  return /^https?:$/.test(protocol) ? `${protocol}//${host}${pathname}`.slice(0, 200) : undefined
}

/**
 * The failure of a redirect (3xx), whose message says what to do; undefined for any other answer. No platform has the
 * message. The cause is the session's address and not the recipient, so that the message is retried.
 *
 * @param asked which platform was called, where, and which field of the configuration has its address
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

/**
 * The statuses by which a platform that is in order asks to come again: too slow a request (408), a conflict (409), a
 * lock (423), too early (425), too many (429).
 */
const comeAgain: ReadonlySet<number> = new Set([408, 409, 423, 425, 429])

/** True when the platform asks to come again, and is not out of order. */
export const asksToComeAgain = (status: number): boolean => comeAgain.has(status)

/**
 * True when a retry may succeed: the platform answered, and surely did not accept the message (RFC 9110 §15.5.9,
 * §15.5.10, §15.6; RFC 4918 §11.3; RFC 6585 §4; RFC 8470 §5.2).
 */
export const mayPass = (status: number): boolean => comeAgain.has(status) || status >= 500

/** The result of an attempt. The sender interprets an answer's content. */
export const meaning = (
  exchanged: HttpClient.Exchanged,
  answered: (answer: Extract<HttpClient.Exchanged, { readonly _tag: "Answered" }>) => SendResult
): SendResult => {
  switch (exchanged._tag) {
    case "Unsent":
      return SendResult.Transient({
        failure: unreachable(exchanged.reason),
        retryAfterMs: null,
        answered: false
      })
    case "Lost":
      return SendResult.Ambiguous({ failure: unanswered(exchanged.reason), answered: false })
    case "Answered":
      return answered(exchanged)
  }
}
