/** Lines of a text in CSV (RFC 4180), whose quotes may be broken; read in one piece or in several, and written. */

export interface Line {
  /** Where in the file it begins, from 1. */
  readonly number: number
  readonly cells: ReadonlyArray<string>
  /** Why it cannot be read, or may be read wrongly; undefined for a line that is whole. */
  readonly fault: keyof typeof advice | undefined
  /** The line as it stands in the file, without its end; the beginning of one that is too long. */
  readonly text: string
}

export const separators = [",", ";", "\t"] as const
export type Separator = (typeof separators)[number]

/** A line has at most so many characters; a quote that is not closed within them is none. */
export const longestLine = 65_536

/** So much is shown of a line that is longer. */
const beginning = 1000

/** The mend of each fault. */
export const advice = {
  quotes: 'Put quotes around the whole cell and write a quote within it twice, such as "a ""b"" c".',
  length: `A line must have at most ${longestLine.toLocaleString("en")} characters.`
} as const

/** Excel's first line, which is none of the table. */
const announcement = /^\ufeff?"?sep=([^\r\n"]{0,99})"?[\t ]*(?:\r\n|\n|\r|$)/i

/** The separator that the text itself announces (`sep=;`); undefined when the text announces none. */
export const announced = (text: string): string | undefined => announcement.exec(text)?.[1]

/** The place up to which a text that comes in pieces has been read. */
export interface State {
  /** The beginning of a line whose end has not come. */
  readonly rest: string
  /** The number of that line. */
  readonly number: number
  /** True while the beginning of the text is still to come. */
  readonly isStart: boolean
  /** True while the rest of a line that was too long is passed over. */
  readonly isPassing: boolean
}

export const start: State = { rest: "", number: 1, isStart: true, isPassing: false }

const lineEnds = /\r\n|\n|\r/g

const cellEnds: Readonly<Record<Separator, RegExp>> = { ",": /[,\r\n]/g, ";": /[;\r\n]/g, "\t": /[\t\r\n]/g }

const indexOf = (text: string, pattern: RegExp, from: number): number => {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? -1
}

/** The end of a line break that begins here. */
const behindBreak = (text: string, at: number): number =>
  text[at] === "\r" && text[at + 1] === "\n" ? at + 2 : at + 1

/** True where what comes next decides whether a break is one character or two. */
const isOpenBreak = (text: string, at: number): boolean => text[at] === "\r" && at + 1 === text.length

/** The closing quote of a cell; -1 where it has none before `limit`, undefined where that is still to come. */
const closingQuote = (text: string, opening: number, limit: number, isLast: boolean): number | undefined => {
  for (let from = opening + 1; ; ) {
    const at = text.indexOf('"', from)
    if (at === -1 || at >= limit) return isLast || text.length >= limit ? -1 : undefined
    if (at + 1 === text.length && !isLast) return undefined
    if (text[at + 1] !== '"') return at
    from = at + 2
  }
}

interface Cell {
  readonly value: string
  /** True when a quote stands where none may. */
  readonly isBroken: boolean
  /** The cell's end, behind its quotes; -1 where nothing comes behind it. */
  readonly end: number
}

/** The cell that begins at a place; undefined while more of it may come. */
const cellAt = (
  text: string,
  at: number,
  {
    isLast,
    limit,
    separator
  }: { readonly isLast: boolean; readonly limit: number; readonly separator: Separator }
): Cell | undefined => {
  const closing = text[at] === '"' ? closingQuote(text, at, limit, isLast) : -1
  if (closing === undefined) return undefined
  const bare = closing === -1 ? at : closing + 1
  const end = indexOf(text, cellEnds[separator], bare)
  const behind = text.slice(bare, end === -1 ? text.length : end)
  return closing === -1
    ? { value: behind.trim(), isBroken: behind.includes('"'), end }
    : {
        value: text
          .slice(at + 1, closing)
          .replaceAll('""', '"')
          .trim(),
        isBroken: behind.trim() !== "",
        end
      }
}

interface Cut extends Pick<Line, "cells" | "fault"> {
  /** The end of the line, and the beginning of the next one. */
  readonly end: number
  readonly next: number
}

/** Cuts the line that begins at a place into cells; undefined while its end is still to come. */
const cut = (text: string, from: number, separator: Separator, isLast: boolean): Cut | undefined => {
  const limit = from + longestLine
  const cells: Array<string> = []
  let fault: Line["fault"]
  for (let at = from; ; ) {
    const cell = cellAt(text, at, { isLast, limit, separator })
    if (cell === undefined) return undefined
    const end = cell.end === -1 ? text.length : cell.end
    if (end > limit) return { cells: [], fault: "length", end: from + beginning, next: limit }
    if (!isLast && (cell.end === -1 || isOpenBreak(text, end))) return undefined
    cells.push(cell.value)
    if (cell.isBroken) fault = "quotes"
    if (text[end] !== separator)
      return { cells, fault, end, next: cell.end === -1 ? end : behindBreak(text, end) }
    at = end + 1
  }
}

/** The begin of the table, and its first line's number; undefined while that cannot be told. */
const tableStart = (
  text: string,
  isLast: boolean
): (Pick<Cut, "next"> & Pick<State, "number">) | undefined => {
  const end = indexOf(text, lineEnds, 0)
  // An announcement is told from a line when its end has come.
  if (!isLast && text.length <= longestLine && (end === -1 || isOpenBreak(text, end))) return undefined
  const head = announcement.exec(text)?.[0]
  return head === undefined
    ? { next: text.startsWith("\ufeff") ? 1 : 0, number: 1 }
    : { next: head.length, number: 2 }
}

/** The end of the rest of a line that is too long; undefined while that is still to come. */
const passed = (text: string, at: number, isLast: boolean): number | undefined => {
  const end = indexOf(text, lineEnds, at)
  return end === -1 || (!isLast && isOpenBreak(text, end)) ? undefined : behindBreak(text, end)
}

const isEmpty = ({ cells, fault }: Cut): boolean => fault === undefined && cells.every((cell) => cell === "")

/** The lines from a place on, the first with this number. */
function* linesFrom(
  text: string,
  { next, number: first }: Pick<Cut, "next"> & Pick<State, "number">,
  separator: Separator,
  isLast: boolean
): Generator<Line, State> {
  let at = next
  let number = first
  while (at < text.length) {
    const found = cut(text, at, separator, isLast)
    if (found === undefined) break
    const { cells, end, fault } = found
    if (!isEmpty(found)) yield { number, cells, fault, text: text.slice(at, end) }
    number += text.slice(at, found.next).match(lineEnds)?.length ?? 0
    at = found.next
    if (fault !== "length") continue
    const behind = passed(text, at, isLast)
    if (behind === undefined) return passing(text, at, number)
    at = behind
    number += 1
  }
  return { rest: text.slice(at), number, isStart: false, isPassing: false }
}

/** Within a line that is too long, of which nothing is kept but a break that may be cut in two. */
const passing = (text: string, at: number, number: number): State => ({
  rest: text.length > at && text.endsWith("\r") ? "\r" : "",
  number,
  isStart: false,
  isPassing: true
})

/**
 * Reads the lines that one more piece of a text completes, and returns where to go on: whatever the pieces are, their lines
 * are those of the whole. Cells lose the white space around them; empty lines, a byte order mark and an announcement are
 * passed over.
 *
 * @param isLast whether the text ends behind this piece
 */
export function* feed(
  state: State,
  piece: string,
  separator: Separator,
  isLast: boolean
): Generator<Line, State> {
  const text = state.rest + piece
  const { number } = state
  if (state.isPassing) {
    const next = passed(text, 0, isLast)
    return next === undefined
      ? passing(text, 0, number)
      : yield* linesFrom(text, { next, number: number + 1 }, separator, isLast)
  }
  const start = state.isStart ? tableStart(text, isLast) : { next: 0, number }
  return start === undefined ? { ...state, rest: text } : yield* linesFrom(text, start, separator, isLast)
}

/** The lines of a whole text, lazily. */
export function* read(text: string, separator: Separator): Generator<Line, void> {
  yield* feed(start, text, separator, true)
}

/**
 * Cells that a spreadsheet would take for a formula, and those that look kept from being one: an apostrophe before it makes
 * it text (OWASP, CSV injection). {@link unguarded} takes the apostrophe away.
 */
const formula = /^'*[=+\-@\t\r\n]/

const guardedFormula = /^'+[=+\-@\t\r\n]/

/** The cell without the apostrophe that {@link write} put before it. */
export const unguarded = (cell: string): string => (guardedFormula.test(cell) ? cell.slice(1) : cell)

/** A line, with its end. A cell that is null is empty. */
export const write = (cells: ReadonlyArray<string | number | boolean | null>): string =>
  `${cells
    .map((cell) => {
      if (typeof cell !== "string") return cell === null ? "" : String(cell)
      const guarded = formula.test(cell) ? `'${cell}` : cell
      return /[",;\t\r\n]|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
    })
    .join(",")}\r\n`
