/**
 * JSON that is the same for many but for some texts: it is written once, and filled in for each. That takes a part of
 * the time that it would to write it anew.
 */

/** The JSON with the texts in place, in the order of their marks. */
export type Fill = (texts: ReadonlyArray<string>) => string

/** Characters that JSON writes as they are (ECMA-262, QuoteJSONString), surrogates apart, of which it does so with pairs. */
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/** A text as it stands between quotes. */
const within = (text: string): string => (plain.test(text) ? text : JSON.stringify(text).slice(1, -1))

/** A sign that the JSON has nowhere; it does not end as it begins, so none comes about beside another text. */
const signFor = (json: string): string => {
  let count = 0
  while (json.includes(`<${count}>`)) count += 1
  return `<${count}>`
}

/**
 * @param count how many texts there are
 * @param shape what is to be written, with the given marks for the texts: whole, or as a part of a longer one; it does
 *   nothing else with them
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
