/** Where the command line is read: at a terminal, with lines of some width and colours, or by a program, without. */
import { stripVTControlCharacters } from "node:util"
import * as Console from "effect/Console"
import type * as Effect from "effect/Effect"

/** A stream of the process. */
export interface Stream {
  readonly isTerminal: boolean
  readonly hasColors: boolean
  /** The characters of a line; 100 where there is no terminal. */
  readonly columns: number
  /** The lines of the terminal. */
  readonly rows: number
  /** Writes to a terminal what is drawn over again. */
  readonly draw: (text: string) => void
}

export interface Screen {
  readonly out: Stream
  readonly err: Stream
}

const widest = 100
const highest = 24

const program: Stream = {
  isTerminal: false,
  hasColors: false,
  columns: widest,
  rows: highest,
  draw: () => {}
}

/** Read by programs alone. */
export const none: Screen = { out: program, err: program }

interface Tty {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  readonly write?: (text: string) => unknown
}

/** A terminal that does not know its size says 0. */
const known = (size: number | undefined, otherwise: number): number =>
  size === undefined || size === 0 ? otherwise : size

const streamOf = (tty: Tty, noColor: string | undefined): Stream =>
  tty.isTTY === true
    ? {
        isTerminal: true,
        hasColors: noColor === undefined || noColor === "",
        // As they are when somebody asks: a window changes.
        get columns() {
          return known(tty.columns, widest)
        },
        get rows() {
          return known(tty.rows, highest)
        },
        draw: (text) => tty.write?.(text)
      }
    : program

/** @param noColor the variable NO_COLOR (no-color.org) */
export const make = (out: Tty, err: Tty, noColor: string | undefined): Screen => ({
  out: streamOf(out, noColor),
  err: streamOf(err, noColor)
})

type Told = ReadonlyArray<unknown>

const plain = (told: Told): Told =>
  told.map((each) => (typeof each === "string" ? stripVTControlCharacters(each) : each))

const shown = (told: Told, { hasColors }: Stream): Told => (hasColors ? told : plain(told))

/** Colours go to a terminal alone, also those of what the parser tells. */
export const within =
  ({ err, out }: Screen) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Console.consoleWith((console) =>
      Console.withConsole(effect, {
        ...console,
        log: (...told) => console.log(...shown(told, out)),
        error: (...told) => console.error(...shown(told, err))
      })
    )

/** In bold, where there are colours. */
export const strong = (text: string, { hasColors }: Stream): string =>
  hasColors ? `\u001b[1m${text}\u001b[22m` : text

/** Less bright, where there are colours. */
export const faint = (text: string, { hasColors }: Stream): string =>
  hasColors ? `\u001b[2m${text}\u001b[22m` : text

/** The words of a text in lines of at most so many characters; a longer word has a line of its own. */
export const wrap = (text: string, columns: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
