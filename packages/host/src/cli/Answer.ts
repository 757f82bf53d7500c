/** An answer as it is told: JSON for programs; at a terminal tables and lines, as wide as it is. */
import type { Route } from "@sendwright/http/contract"
import * as Predicate from "effect/Predicate"
import * as Logs from "../Logs.ts"
import * as Screen from "./Screen.ts"

type Entries = ReadonlyArray<readonly [name: string, value: unknown]>

/** A cell of a table is cut to so many characters. */
const widestCell = 40

const isGroup = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isRecord(value) && !Array.isArray(value)

const isTable = (value: unknown): value is ReadonlyArray<Readonly<Record<string, unknown>>> =>
  Array.isArray(value) && value.length > 0 && value.every(isGroup)

/** The fields, those of fields by both names. */
const flat = (group: Readonly<Record<string, unknown>>, before = ""): Entries =>
  Object.entries(group).flatMap(
    ([name, value]): Entries =>
      isGroup(value) ? flat(value, `${before}${name}.`) : [[`${before}${name}`, value]]
  )

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return ""
  const text = Array.isArray(value) && !value.some(Predicate.isObject) ? value.join(", ") : value
  return Logs.printable(typeof text === "string" ? text : JSON.stringify(text))
}

const cut = (text: string): string => (text.length > widestCell ? `${text.slice(0, widestCell - 1)}…` : text)

/** The columns that fit; how many do not is told below. */
export const table = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>, stream: Screen.Stream) => {
  const cells = rows.map((row) => new Map(flat(row).map(([name, value]) => [name, cut(shown(value))])))
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))].filter((name) =>
    cells.some((row) => (row.get(name) ?? "") !== "")
  )
  const widths = names.map((name) =>
    Math.max(name.length, ...cells.map((row) => (row.get(name) ?? "").length))
  )
  let width = -2
  const fitting = names.filter((_, at) => {
    width += (widths[at] ?? 0) + 2
    return at === 0 || width <= stream.columns
  })
  const line = (of: (name: string) => string): string =>
    fitting
      .map((name, at) => of(name).padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd()
  const hidden = names.length - fitting.length
  return [
    Screen.strong(
      line((name) => name),
      stream
    ),
    ...cells.map((row) => line((name) => row.get(name) ?? "")),
    ...(hidden === 0
      ? []
      : [Screen.faint(`${hidden} columns more: ${names.slice(fitting.length).join(", ")}`, stream)])
  ]
}

const lines = (entries: Entries, stream: Screen.Stream): ReadonlyArray<string> => {
  const widest = Math.max(0, ...entries.map(([name]) => name.length))
  return entries.map(([name, value]) =>
    `${Screen.faint(name.padEnd(widest), stream)}  ${shown(value)}`.trimEnd()
  )
}

/**
 * The answer's body in lines.
 *
 * @param page the answer as text to read, if it has that form
 */
export const text = (body: unknown, stream: Screen.Stream, page?: Route.TextForm): string => {
  if (!stream.isTerminal || !isGroup(body)) return Logs.printable(JSON.stringify(body))
  if (page?.type === "text/markdown") return page.make(body, Logs.printable).trimEnd()
  const { next_cursor: next, ok: _, ...rest } = body
  const entries = flat(rest)
  const single = entries.filter(([, value]) => !isTable(value))
  const parts = [
    ...(single.length === 0 ? [] : [lines(single, stream)]),
    ...entries.flatMap(([name, value]) =>
      isTable(value)
        ? [[...(single.length === 0 ? [] : [Screen.strong(name, stream)]), ...table(value, stream)]]
        : []
    ),
    ...(typeof next === "string" ? [[Screen.faint(`There is more: --cursor ${next}`, stream)]] : [])
  ]
  return parts.length === 0 ? "Done." : parts.map((part) => part.join("\n")).join("\n\n")
}
