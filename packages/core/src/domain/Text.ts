/**
 * How texts are measured and what counts as one (contract.md §10): lengths are in code points, as JSON Schema counts
 * them, and a text that shows nothing is blank.
 */
import * as Schema from "effect/Schema"

/** The index after the code point at `at`. */
const next = (text: string, at: number): number => at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)

/** The length in code points. */
export const length = (text: string): number => {
  let count = 0
  for (let at = 0; at < text.length; count += 1) at = next(text, at)
  return count
}

/** The first code points of a text. The rest of a long text is not read. */
export const head = (text: string, maximum: number): string => {
  let at = 0
  for (let count = 0; count < maximum && at < text.length; count += 1) at = next(text, at)
  return text.slice(0, at)
}

/**
 * True for a text of more than `maximum` code points. Most texts need not be counted, since a code point has one or
 * two units.
 */
export const isLonger = (text: string, maximum: number): boolean =>
  text.length > maximum && (text.length > 2 * maximum || length(text) > maximum)

const isShorter = (text: string, minimum: number): boolean =>
  text.length < 2 * minimum && (text.length < minimum || length(text) < minimum)

/**
 * A character that shows something. Of those that show nothing Unicode names white space, controls, format characters
 * and what is ignorable by default (fillers of Hangul, variation selectors); the Braille blank, the null notehead and
 * the blanks of hieroglyphs have no such name. The signs that stand over Arabic, Syriac and Kaithi numbers are format
 * characters and show.
 */
const visible =
  /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}]|[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u

/** True for a text that shows nothing. */
export const isBlank = (text: string): boolean => {
  // The first character decides for most texts: it is visible ASCII.
  const first = text.charCodeAt(0)
  return !(first > 0x20 && first < 0x7f) && !visible.test(text)
}

/** True for a text that every database can keep. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

/** A schema of texts of so many characters; `Schema.minLength` and `maxLength` count UTF-16 units. */
export const between = (minimum: number, maximum: number) =>
  Schema.String.pipe(
    Schema.filter((text) => !isShorter(text, minimum) && !isLonger(text, maximum), {
      jsonSchema: { minLength: minimum, maxLength: maximum }
    })
  )

/** True for a text that is well-formed and without control characters. */
export const isLine = (text: string): boolean => !/\p{Cc}/u.test(text) && text.isWellFormed()

/** A schema of names and other short texts that people read: 1 to so many characters, not blank, on one line. */
export const line = (maximum: number) =>
  between(1, maximum).pipe(
    Schema.filter((text) => !isBlank(text) && isLine(text), {
      description: "well-formed text that is not blank and has no control characters"
    })
  )
