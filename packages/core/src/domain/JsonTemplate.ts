/** JSON that differs only in some texts: it is encoded once and then filled in, which takes a fraction of the time. */

/** The JSON with the texts in place, in the order of their marks. */
export type Fill = (texts: ReadonlyArray<string>) => string

/**
 * Characters that JSON leaves as they are (ECMA-262, QuoteJSONString), apart from surrogates, of which it escapes
 * lone ones.
 */
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/** A text as JSON writes it between quotes. */
const within = (text: string): string => (plain.test(text) ? text : JSON.stringify(text).slice(1, -1))

/**
 * A sign that does not occur in the JSON. Its first and last characters differ, so that none can arise together with
 * the text beside it.
 */
const signFor = (json: string): string => {
  let count = 0
  while (json.includes(`<${count}>`)) count += 1
  return `<${count}>`
}

/**
 * @param count the number of texts
 * @param shape the value to encode, with the given marks in the texts' places; a mark may be part of a longer text,
 *   and `shape` must not use it in any other way
 */
export const make = (count: number, shape: (marks: ReadonlyArray<string>) => unknown): Fill => {
  const places = Array.from({ length: count }, (_, place) => place)
  const sign = signFor(JSON.stringify(shape(places.map(() => ""))))
  const pieces = JSON.stringify(shape(places.map((place) => `${sign}${place}${sign}`))).split(sign)
  const [first = ""] = pieces
  const rest = pieces.flatMap((piece, at) =>
    at % 2 === 1 ? [{ place: Number(piece), after: pieces[at + 1] ?? "" }] : []
  )
  return (texts) => {
    const written = texts.map(within)
    let json = first
    for (const { after, place } of rest) json += (written[place] ?? "") + after
    return json
  }
}
