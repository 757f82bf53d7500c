/** Words by which a person withdraws or gives consent in an inbound text (decisions.md §9): the whole text, or nothing. */
import type { Status } from "./Consent.ts"

export const optOutWords: ReadonlyArray<string> = [
  "STOP",
  "STOPALL",
  "UNSUBSCRIBE",
  "CANCEL",
  "END",
  "QUIT",
  "REVOKE",
  "OPTOUT"
]

export const optInWords: ReadonlyArray<string> = ["START", "YES", "UNSTOP"]

/** What an inbound text says of consent; `undefined` for any other text. */
export const read = (text: string): Status | undefined => {
  const word = text.trim().toUpperCase()
  if (optOutWords.includes(word)) return "revoked"
  return optInWords.includes(word) ? "granted" : undefined
}
