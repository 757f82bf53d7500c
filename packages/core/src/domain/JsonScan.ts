/** Looks at a JSON text without parsing it: the parser takes a second for a million empty objects. */

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c

/** The place behind a string whose opening quote is at `start`. */
export const endOfString = (text: string, start: number): number => {
  const next = text.indexOf('"', start + 1)
  if (next === -1) return text.length
  if (text.charCodeAt(next - 1) !== backslash) return next
  // Half a million escaped quotes would be as many searches.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at += 1
  }
  return text.length
}

/** The most that a text may hold: levels of nesting, and members and items in all. */
export interface Bounds {
  readonly levels: number
  readonly values: number
}

/** Whether a text stays within bounds. */
export const isWithin = (text: string, { levels, values }: Bounds): boolean => {
  let open = 0
  let found = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at)
        break
      // A member or an item comes behind one of the next three.
      case 0x7b:
      case 0x5b:
        open += 1
        found += 1
        if (open > levels || found > values) return false
        break
      case comma:
        found += 1
        if (found > values) return false
        break
      case 0x7d:
      case 0x5d:
        open -= 1
    }
  }
  return true
}
