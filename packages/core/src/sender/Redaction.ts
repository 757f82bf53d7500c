/**
 * Takes a session's secrets out of what its platform says: platforms echo tokens and numbers in their errors, and tenants
 * read these. Every text of the configuration is taken for a secret. Of a URL that is its query, and what is as long in
 * its path as only keys are: a redirect has to be told with the rest.
 */

import type { Failure } from "../domain/job/Recipient.ts"
import * as Memo from "../domain/Memo.ts"
import * as Phone from "../domain/Phone.ts"
import * as Url from "../domain/Url.ts"

type Redact = (text: string) => string

/** Shorter texts are no secrets, and would be found in ordinary words. */
const shortest = 6

const shortestInPath = 20

/** Longer texts are cut before they are kept, so that the rest is never told. */
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

/** As it is, and as URLs and headers have it; base64 with and without its padding. */
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
