import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Csv from "../../src/domain/Csv.ts"

/** The lines of a text that comes in these pieces. */
const inPieces = (pieces: ReadonlyArray<string>, separator: Csv.Separator): ReadonlyArray<Csv.Line> => {
  const lines: Array<Csv.Line> = []
  let state = Csv.start
  for (const [place, piece] of pieces.entries()) {
    const isLast = place === pieces.length - 1
    const reading = Csv.feed(state, piece, separator, isLast)
    for (let next = reading.next(); ; next = reading.next()) {
      if (next.done === true) {
        state = next.value
        break
      }
      lines.push(next.value)
    }
  }
  return lines
}

const cut = (text: string, places: ReadonlyArray<number>): ReadonlyArray<string> => {
  const ends = [...new Set([0, ...places.map((place) => place % (text.length + 1)), text.length])].sort(
    (a, b) => a - b
  )
  return text === "" ? [""] : ends.slice(1).map((end, at) => text.slice(ends[at], end))
}

const separator = FastCheck.constantFrom(...Csv.separators)

/** What tells lines and cells apart, more often than not. */
const text = FastCheck.array(
  FastCheck.constantFrom('"', '""', ",", ";", "\t", "\r", "\n", "\r\n", "\ufeff", "sep=;", "a", " ", "é"),
  { maxLength: 60 }
).map((parts) => parts.join(""))

const places = FastCheck.array(FastCheck.nat(400), { maxLength: 20 })

const cellsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  [...Csv.read(text, ",")].map(({ cells }) => cells)

describe("a text in CSV", () => {
  it("has the same lines in whatever pieces it comes", () => {
    FastCheck.assert(
      FastCheck.property(text, separator, places, (whole, by, at) => {
        expect(inPieces(cut(whole, at), by)).toEqual([...Csv.read(whole, by)])
      }),
      { numRuns: 2000 }
    )
  })

  it("has the same lines one character at a time", () => {
    FastCheck.assert(
      FastCheck.property(text, separator, (whole, by) => {
        expect(inPieces(whole === "" ? [""] : whole.split(""), by)).toEqual([...Csv.read(whole, by)])
      }),
      { numRuns: 500 }
    )
  })

  it("is read as it was written, but for white space around cells", () => {
    const cell = FastCheck.oneof(
      FastCheck.string(),
      FastCheck.array(FastCheck.constantFrom('"', ",", "\n", "=", "+", "-", "@", "'", "a"), {
        maxLength: 8
      }).map((parts) => parts.join(""))
    ).map((each) => each.trim())
    FastCheck.assert(
      FastCheck.property(FastCheck.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
        const [line] = Csv.read(Csv.write(["id", ...cells]), ",")
        expect(line).toMatchObject({ fault: undefined, number: 1 })
        expect(line?.cells.slice(1).map(Csv.unguarded)).toEqual(cells)
      }),
      { numRuns: 1000 }
    )
  })

  it("holds quotes, separators and breaks in quoted cells, and numbers lines as editors do", () => {
    const lines = [...Csv.read('\ufeffa,"b ""c""\r\nd,e"\r\n\r\n  f  ,g\rh', ",")]
    expect(lines.map(({ cells, number }) => [number, ...cells])).toEqual([
      [1, "a", 'b "c"\r\nd,e'],
      [4, "f", "g"],
      [5, "h"]
    ])
    expect(lines.map((line) => line.text)).toEqual(['a,"b ""c""\r\nd,e"', "  f  ,g", "h"])
  })

  it("tells quotes astray at their line, and goes on below", () => {
    const lines = [...Csv.read('a,"b\nc,d\n"e"f,g\nh"i\nj', ",")]
    expect(lines.map(({ fault, number }) => [number, fault])).toEqual([
      [1, "quotes"],
      [4, "quotes"],
      [5, undefined]
    ])
    const lone = [...Csv.read('a,"b\nc,d\n', ",")]
    expect(lone.map(({ cells, fault }) => [fault, ...cells])).toEqual([
      ["quotes", "a", '"b'],
      [undefined, "c", "d"]
    ])
  })

  it("never holds more of a line than it may have", () => {
    const long = "x".repeat(Csv.longestLine)
    const pieces = Array.from({ length: 40 }, () => long)
    let state = Csv.start
    let held = 0
    const found: Array<Csv.Line> = []
    for (const piece of ["a\n", '"', ...pieces, "\nb\n", `${long}\n`, `${long}y\n`, "c"]) {
      const reading = Csv.feed(state, piece, ",", piece === "c")
      let next = reading.next()
      for (; next.done !== true; next = reading.next()) found.push(next.value)
      state = next.value
      held = Math.max(held, state.rest.length)
    }
    expect(held).toBeLessThanOrEqual(Csv.longestLine)
    expect(found.map(({ fault, number, text }) => [number, fault, text.length])).toEqual([
      [1, undefined, 1],
      [2, "length", 1000],
      [3, undefined, 1],
      [4, undefined, Csv.longestLine],
      [5, "length", 1000],
      [6, undefined, 1]
    ])
  })

  it("keeps a spreadsheet from taking a cell for a formula, and numbers as they are", () => {
    expect(Csv.write(["=1+1", "+34600", "-2", "@a", "\tb", 'c,"d"', -3, null, true])).toBe(
      `'=1+1,'+34600,'-2,'@a,"'\tb","c,""d""",-3,,true\r\n`
    )
    expect(cellsOf("'=1+1,'a,''=b").map((cells) => cells.map(Csv.unguarded))).toEqual([["=1+1", "'a", "'=b"]])
  })
})
