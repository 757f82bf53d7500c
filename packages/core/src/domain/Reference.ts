/** The client's own name for a send or a direct message (decisions.md §10): kept with it, and in every event of it. */
import * as Schema from "effect/Schema"

/** In code points. */
export const maximumLength = 255

const isShort = (text: string): boolean =>
  text.length <= maximumLength || (text.length <= 2 * maximumLength && [...text].length <= maximumLength)

/** One character that is neither a space nor invisible. */
const visible = /[^\s\p{Default_Ignorable_Code_Point}]/u

const isText = (text: string): boolean =>
  visible.test(text) && text.isWellFormed() && !text.includes("\u0000")

export const Reference = Schema.String.pipe(
  Schema.filter(isShort, {
    description: `at most ${maximumLength} characters`,
    jsonSchema: { maxLength: maximumLength }
  }),
  Schema.filter(isText, { description: "well-formed text that is not blank and holds no NUL" })
)
