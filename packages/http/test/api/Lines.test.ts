import { describe, expect, it } from "@effect/vitest"
import { StorageError } from "@sendwright/core"
import { Lines } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"

const rows = [
  { phone: "34600001234", name: "=1+1", sent_at: null, attempts: 2 },
  { phone: "34600001235", name: 'a "b", c', sent_at: "2026-01-31T12:00:00.000Z", attempts: 0 }
]
const columns = ["phone", "name", "sent_at", "attempts"]

const pages = Stream.make(rows.slice(0, 1), [], rows.slice(1))
const broken = Stream.concat(
  pages,
  Stream.fail(new StorageError.StorageError({ operation: "read", cause: new Error("secret") }))
)

const text = (format: Lines.Format, of: Parameters<typeof Lines.linesOf>[0]) =>
  Effect.map(Stream.mkString(Stream.decodeText(Lines.linesOf(of, format, columns))), (found) => found)

describe("an export", () => {
  it.effect("in NDJSON has a row on each line, and ends with one that says that it is whole", () =>
    Effect.gen(function* () {
      const lines = (yield* text("ndjson", pages)).split("\n")
      expect(lines.at(-1)).toBe("")
      expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual([...rows, { ok: true, rows: 2 }])
      expect(yield* text("ndjson", Stream.empty)).toBe('{"ok":true,"rows":0}\n')
    })
  )

  it.effect("in NDJSON that breaks off ends with why", () =>
    Effect.gen(function* () {
      const lines = (yield* text("ndjson", broken)).trimEnd().split("\n")
      expect(lines).toHaveLength(3)
      expect(JSON.parse(lines[2] ?? "")).toMatchObject({ ok: false, code: "unavailable" })
      expect(lines[2]).not.toContain("secret")
    })
  )

  it.effect("in CSV has its columns, whatever its rows are, and no formula", () =>
    Effect.gen(function* () {
      expect(yield* text("csv", pages)).toBe(
        `phone,name,sent_at,attempts\r\n34600001234,'=1+1,,2\r\n34600001235,"a ""b"", c",2026-01-31T12:00:00.000Z,0\r\n`
      )
      expect(yield* text("csv", Stream.empty)).toBe("phone,name,sent_at,attempts\r\n")
    })
  )

  it.effect("in CSV that breaks off fails, so that its connection is cut", () =>
    Effect.gen(function* () {
      expect(Exit.isFailure(yield* Effect.exit(text("csv", broken)))).toBe(true)
    })
  )
})
