/** Lines of a text in CSV (RFC 4180), whose quotes may be broken. */

export interface Line {
  /** Where in the file it begins, from 1. */
  readonly number: number
  readonly cells: ReadonlyArray<string>
  /** True when a quote stands where RFC 4180 allows none, so that one cell may contain others. */
  readonly broken: boolean
}

export const separators = [",", ";", "\t"] as const
export type Separator = (typeof separators)[number]

/** Excel's first line, which is none of the table. */
const announcement = /^\ufeff?"?sep=([^\r\n"]*)"?[\t ]*(?:\r\n|\n|\r|$)/i

/** What the text itself says stands between its cells (`sep=;`); undefined when it says nothing. */
export const announced = (text: string): string | undefined => announcement.exec(text)?.[1]

/** Reads lines lazily. Cells lose the white space around them; empty lines and a byte order mark are skipped. */
export function* read(text: string, separator: Separator): Generator<Line, void> {
  const source = `(?:"([^"]*(?:""[^"]*)*)")?([^${separator}\\r\\n]*)(${separator}|\\r\\n|\\n|\\r|$)`
  const head = announcement.exec(text)?.[0]
  const table = head === undefined ? text.replace(/^\ufeff/, "") : text.slice(head.length)
  let number = head === undefined ? 1 : 2
  let below = number
  let cells: Array<string> = []
  let broken = false
  for (const [all, quoted, bare = "", end = ""] of table.matchAll(new RegExp(source, "gy"))) {
    cells.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"').trim())
    broken ||= bare.includes('"') || (quoted !== undefined && bare.trim() !== "")
    below += all.match(/\r\n|\n|\r/g)?.length ?? 0
    if (end === separator) continue
    if (cells.some((cell) => cell !== "")) yield { number, cells, broken }
    number = below
    cells = []
    broken = false
    if (end === "") return
  }
}
