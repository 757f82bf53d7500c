/** What the demo prints: a step, a live line of progress, a table. */
import { stripVTControlCharacters } from "node:util"

const tty = process.stdout.isTTY === true || process.env["FORCE_COLOR"] === "1"
const paint = (code: number) => (text: string) => (tty ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
const green = paint(32)
const red = paint(31)
const yellow = paint(33)

export const step = (text: string): void => console.log(`${green("✓")} ${text}`)

const colors: Readonly<Record<string, (text: string) => string>> = {
  delivered: green,
  read: green,
  sent: green,
  accepted: green,
  failed: red,
  unknown: yellow,
  skipped: yellow
}

export const status = (text: string): string => (colors[text] ?? dim)(text)

let last = ""

/** One line that is rewritten on a terminal, and printed anew elsewhere when it changed. */
export const progress = (line: string): void => {
  if (line === last) return
  last = line
  if (tty) process.stdout.write(`\r\u001b[2K${line}`)
  else console.log(line)
}

export const endProgress = (): void => {
  if (tty && last !== "") process.stdout.write("\n")
  last = ""
}

const visible = (text: string): number => stripVTControlCharacters(text).length

export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): void => {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => visible(row[at] ?? ""))))
  const line = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - visible(cell)))
      .join("  ")
      .trimEnd()
  console.log(bold(line(head)))
  console.log(dim(widths.map((width) => "─".repeat(width)).join("  ")))
  for (const row of rows) console.log(line(row))
}
