/** How far something long has come: a bar at a terminal, and a line now and then where a program reads. */
import { Instant } from "@sendwright/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Screen from "./Screen.ts"

export interface Reached {
  readonly lines: number
  /** Of a whole, from 0 to 1; null where nobody knows how much there is. */
  readonly part: number | null
  /** Lines of an import that were refused so far. */
  readonly refused?: number
}

/** How often it is told, in milliseconds. */
const everyDrawing = 200
const everyLine = 10_000

const widestBar = 30

const number = (value: number): string => Math.round(value).toLocaleString("en")

const duration = (seconds: number): string => {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/**
 * In words.
 *
 * @param since what was reached then, so many milliseconds ago
 */
export const told = (
  { lines, part, refused = 0 }: Reached,
  since: Reached & { readonly ms: number }
): string => {
  const seconds = Math.max(since.ms, 1) / 1000
  const done = part === null ? 0 : part - (since.part ?? 0)
  return [
    ...(part === null ? [] : [`${Math.floor(100 * part)} %`]),
    `${number(lines)} lines`,
    ...(refused === 0 ? [] : [`${number(refused)} refused`]),
    `${number((lines - since.lines) / seconds)} a second`,
    ...(part === null || done <= 0 ? [] : [`${duration((seconds * (1 - part)) / done)} left`])
  ].join(", ")
}

/** With a bar before it, where there is room for one. */
export const drawn = (text: string, part: number | null, columns: number): string => {
  const room = Math.min(widestBar, columns - text.length - 4)
  if (part === null || room < 5) return text.slice(0, columns - 1)
  const full = Math.round(part * room)
  return `[${"#".repeat(full)}${"-".repeat(room - full)}] ${text}`
}

export interface Progress {
  /** Tells it, if it was not told a moment ago. The rate is that since the first time. */
  readonly reach: (reached: Reached) => Effect.Effect<void>
  /** Takes the bar away. */
  readonly end: Effect.Effect<void>
}

/** Tells on a stream how far it is. */
export const make = ({ columns, draw, isTerminal }: Screen.Stream): Progress => {
  let first: (Reached & { readonly at: number }) | undefined
  let toldAt = -Infinity
  const every = isTerminal ? everyDrawing : everyLine
  return {
    reach: (reached) =>
      Effect.flatMap(Instant.now, (now) => {
        if (first === undefined) {
          first = { ...reached, at: now }
          toldAt = now
        }
        if (now - toldAt < every) return Effect.void
        toldAt = now
        const text = told(reached, { ...first, ms: now - first.at })
        if (!isTerminal) return Console.error(text)
        return Effect.sync(() => draw(`\r\u001b[2K${drawn(text, reached.part, columns)}`))
      }),
    end: Effect.sync(() => {
      if (isTerminal && first !== undefined) draw("\r\u001b[2K")
    })
  }
}
