/**
 * The marks of columns that tell of people. Each column has its mark where it is described. The rows that an erasure looks
 * through, the fields that an export shows and the texts that stay follow from the marks (docs/adr/0044).
 */
import * as Address from "../../domain/Address.ts"
import type { Redaction } from "../../domain/Erasure.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import type { Report } from "../JobStore.ts"

/**
 * The part of a stored text that stays.
 *
 * @param seq of its row
 */
type Reading = (stored: string, redaction: Redaction, seq: number) => string | null

export interface Personal {
  /** True when it says that its row is about the person. */
  readonly isAbout: (stored: string, redaction: Redaction) => boolean
  /** In a row about the person. */
  readonly ofTheirs: Reading
  /** In any other row, which may name them. */
  readonly ofOthers: Reading
}

/** Tells nothing of people: also counts, prices and times of theirs, which stay. */
export const impersonal = null

/** A hash, a sealed text, or the platform's id, in which only that reads a number: nothing finds it, and it goes with its row. */
export const opaque = null

const never = (): boolean => false

const inText: Reading = (stored, { text }) => text(stored)

/** Where it names nobody it stays as it is written. */
const inJson: Reading = (stored, { json }) => {
  const anew = json(stored)
  return anew === JSON.stringify(JSON.parse(stored)) ? stored : anew
}

/** Two keys that become one text stay two. */
const inKey: Reading = (stored, { text }, seq) => {
  const anew = text(stored)
  return anew === stored ? stored : `${anew}:${seq}`
}

const isNamed = (stored: string, { text }: Redaction): boolean => text(stored) !== stored

/** May name anybody. */
export const mention: Personal = { isAbout: never, ofTheirs: inText, ofOthers: inText }
export const mentionInJson: Personal = { isAbout: never, ofTheirs: inJson, ofOthers: inJson }
/** Names a request once and for all. */
export const mentionInKey: Personal = { isAbout: never, ofTheirs: inKey, ofOthers: inKey }

/** The filter of a retry. */
export const mentionInFilter: Personal = ((read: Reading) => ({
  isAbout: never,
  ofTheirs: read,
  ofOthers: read
}))((stored, { text }) => {
  const wanted: RetryPlan.Wanted = JSON.parse(stored)
  const without = RetryPlan.withReference(wanted, text)
  return without === wanted ? stored : JSON.stringify(without)
})

/** What the person said, or what an account or the platform calls them. */
export const said: Personal = { isAbout: never, ofTheirs: () => null, ofOthers: inText }

/** The same, a list in JSON. */
export const saidTexts: Personal = {
  isAbout: never,
  ofTheirs: (stored) => JSON.stringify(JSON.parse(stored).map(() => "")),
  ofOthers: inJson
}

/** Whoever it names, the row is theirs. */
export const within: Personal = { isAbout: isNamed, ofTheirs: () => "", ofOthers: inText }

/** Names whom the row is about. */
export const phone: Personal = {
  isAbout: (stored, { isName }) => isName("phone", stored),
  ofTheirs: inText,
  ofOthers: (stored) => stored
}
/** The same by one name or two (`Address`). */
export const address: Personal = ((
  tokenOf: (stored: string, redaction: Redaction) => string | undefined
) => ({
  isAbout: (stored: string, redaction: Redaction) => tokenOf(stored, redaction) !== undefined,
  ofTheirs: (stored: string, redaction: Redaction) => tokenOf(stored, redaction) ?? stored,
  ofOthers: (stored: string) => stored
}))((stored, redaction) =>
  Address.keysOf(stored)
    .map(redaction.tokenOf)
    .find((token) => token !== undefined)
)

/** The same as a key of the account's (`Person.Key`). */
export const personKey: Personal = {
  isAbout: (stored, { tokenOf }) => tokenOf(stored) !== undefined,
  ofTheirs: (stored, { tokenOf }) => tokenOf(stored) ?? stored,
  ofOthers: (stored) => stored
}

/** The same where it may be unknown. */
const known = (kind: "phone" | "user"): Personal => ({
  isAbout: (stored, { isName }) => isName(kind, stored),
  ofTheirs: () => null,
  ofOthers: (stored, { isName }) => (isName(kind, stored) ? null : stored)
})
export const knownPhone: Personal = known("phone")
export const knownUserId: Personal = known("user")

const inEvent: Reading = (stored, { event }) => event(stored)

/** The body of an event. */
export const event: Personal = {
  isAbout: (stored, { isAbout }) => isAbout(stored),
  ofTheirs: inEvent,
  ofOthers: inEvent
}

/** A report of a message, which may mention others. */
export const report: Personal = {
  isAbout: (stored, { isName }) => {
    const { named }: Pick<Report, "named"> = JSON.parse(stored)
    return isName("phone", named?.phone ?? null) || isName("user", named?.userId ?? null)
  },
  ofTheirs: inJson,
  ofOthers: inJson
}
