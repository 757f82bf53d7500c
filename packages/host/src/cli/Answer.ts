/** An answer as it is told: JSON for programs; at a terminal tables and lines, as wide as it is. */
import type { Operation, Route } from "@sendwright/core/contract"
import * as Predicate from "effect/Predicate"
import * as Logs from "../Logs.ts"
import * as Screen from "./Screen.ts"
import * as Table from "./Table.ts"

const isTable = (value: unknown): value is ReadonlyArray<Readonly<Record<string, unknown>>> =>
  Array.isArray(value) && value.length > 0 && value.every(Table.isGroup)

const shown = (value: unknown): string =>
  Array.isArray(value) && value.length === 0
    ? "none"
    : value === null || value === undefined
      ? ""
      : Array.isArray(value) && value.some(Predicate.isObject)
        ? Logs.printable(JSON.stringify(value))
        : Table.shown(value)

const lines = (entries: Table.Entries, stream: Screen.Stream): ReadonlyArray<string> => {
  const widest = Math.max(0, ...entries.map(([name]) => name.length))
  return entries.map(([name, value]) =>
    `${Screen.faint(name.padEnd(widest), stream)}  ${shown(value)}`.trimEnd()
  )
}

/**
 * The answer's body in lines.
 *
 * @param told.page the answer as text to read, if it has that form
 * @param told.columns the first columns of its tables
 */
export const text = (
  body: unknown,
  stream: Screen.Stream,
  { columns, page }: { readonly columns?: Operation.Columns; readonly page?: Route.TextForm | undefined } = {}
): string => {
  if (!stream.isTerminal || !Table.isGroup(body)) return Logs.printable(JSON.stringify(body))
  if (page?.type === "text/markdown") return page.make(body, Logs.printable).trimEnd()
  const { next_cursor: next, ok: _, ...rest } = body
  const entries = Table.flat(rest)
  const single = entries.filter(([, value]) => !isTable(value))
  const parts = [
    ...(single.length === 0 ? [] : [lines(single, stream)]),
    ...entries.flatMap(([name, value]) =>
      isTable(value)
        ? [
            [
              ...(single.length === 0 ? [] : [Screen.strong(name, stream)]),
              ...Table.tableOf(value, stream, columns)
            ]
          ]
        : []
    ),
    ...(typeof next === "string" ? [[Screen.faint(`There is more: --cursor ${next}`, stream)]] : [])
  ]
  return parts.length === 0 ? "Done." : parts.map((part) => part.join("\n")).join("\n\n")
}
