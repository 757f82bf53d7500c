/** What `../misbehaviour.ts` and its platform say to each other. */

export const ways = [
  "accept",
  "fault",
  "hang-sometimes",
  "hang",
  "retry-seconds",
  "retry-date",
  "retry-garbage",
  "retry-month",
  "drip",
  "flood",
  "wrong-json",
  "refuse-in-html",
  "long-headers",
  "reset-before-answer",
  "reset-before-body",
  "reset-in-body",
  "reset-after-body"
] as const
export type Way = (typeof ways)[number]

/** Not one way, but one after the other. */
export const byTurns = "by-turns"

/** What a platform says that asks for this much patience. */
export const monthWords = "Come back in a month."

export interface Told {
  /** Speaks HTTP: the first part of the path is a way, or {@link byTurns}. */
  readonly port: number
  /** Cuts every connection before a byte was read. */
  readonly cutting: number
  /** Messages that came again though the platform might have had them. */
  readonly repeated: number
}
