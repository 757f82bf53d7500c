import { describe, expect, it } from "@effect/vitest"
import * as JsonTemplate from "../../src/domain/JsonTemplate.ts"

/** Signs of JSON, of marks and of what no text is. */
const texts = [
  "",
  "Zoë 🎉",
  '"quoted" \\ /',
  "\\u0000",
  "line\nand\ttab\u0000\u001f\u007f\u2028",
  "lone \ud83d",
  "\udc00 lone",
  "<0>",
  "<0>1<0>",
  "<1>0<1>",
  "$& $1",
  "{{1}}",
  "null"
]

describe("a form", () => {
  it("is the JSON that would be written of the same texts, whatever is in them and around them", () => {
    for (const around of ["", " ", "<0>", "<0", "<", "0>", "\\", "\\u0000", '"', "<0><1>", "é"]) {
      const shape = ([first, second]: ReadonlyArray<string>) => ({
        whole: first,
        [around]: [1, null, { around, both: `${around}${first}${around}${second}${first}${around}` }],
        second
      })
      const fill = JsonTemplate.make(2, shape)
      for (const first of texts) {
        for (const second of texts) {
          const written = fill([first, second])
          expect(JSON.parse(written)).toEqual(shape([first, second]))
          expect(written.isWellFormed()).toBe(true)
        }
      }
      expect(fill(["a", "Zoë\n"])).toBe(JSON.stringify(shape(["a", "Zoë\n"])))
    }
  })

  it("is written once", () => {
    let shaped = 0
    const fill = JsonTemplate.make(1, ([text]) => {
      shaped += 1
      return { text }
    })
    const before = shaped
    expect([fill(["a"]), fill(["b"])]).toEqual(['{"text":"a"}', '{"text":"b"}'])
    expect(shaped).toBe(before)
  })
})
