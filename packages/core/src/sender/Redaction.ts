/**
 * Removes a session's secrets from its platform's texts: platforms repeat tokens and numbers in their errors, and
 * tenants read these. Every text of the configuration counts as a secret. Of a URL these are its query and path
 * segments as long as keys, because a redirect's message has to show the rest.
 */

import type { Failure } from "../domain/job/Recipient.ts"
import * as Memo from "../domain/Memo.ts"
import * as Phone from "../domain/Phone.ts"
import * as Url from "../domain/Url.ts"

type Redact = (text: string) => string

/** Shorter texts are no secrets, and would be found in ordinary words. */
const shortest = 6

const shortestInPath = 20

/** A longer text is cut first, so that a secret in the rest is never shown. */
const longest = 16 * 1024

const hidden = "[hidden]"

const ofText = (text: string): ReadonlyArray<string> => {
  const url = /^https?:/i.test(text) ? Url.parse(text) : undefined
  if (url === undefined) return [text]
  const { pathname, search, searchParams } = url
  const keys = pathname.split("/").filter((part) => part.length >= shortestInPath)
  return [search.slice(1), ...searchParams.values(), ...keys]
}

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return ofText(value)
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** The spellings of a text in URLs and headers, base64 with and without padding included. */
const spellingsOf = (text: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(text)
  const padded = bytes.toString("base64")
  const bare = padded.replace(/=+$/, "")
  return [text, encodeURIComponent(text.toWellFormed()), padded, bare, bytes.toString("base64url")]
}

const ofConfig = Memo.ofObject((config: object): Redact => {
  const texts = textsOf(config).filter((text) => text.length >= shortest)
  const spellings = new Set(texts.flatMap(spellingsOf))
  // The longest first: one may be a part of another.
  const secrets = [...spellings].toSorted((a, b) => b.length - a.length)
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, hidden), text.slice(0, longest))
})

const nothing: Redact = (text) => text

const redactOf = (config: unknown): Redact =>
  typeof config === "object" && config !== null ? ofConfig(config) : nothing

/** Without what is secret in a session's configuration. */
export const text = (given: string, config: unknown): string => redactOf(config)(given)

/** A failure as others may read it. */
export const failure = (given: Failure, config: unknown): Failure => {
  const redact = redactOf(config)
  const { message, provider_code } = given
  return {
    code: given.code,
    provider_code: provider_code === null ? null : redact(provider_code),
    message: Phone.shorten(redact(message)),
    permanent: given.permanent
  }
}
