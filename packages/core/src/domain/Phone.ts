/** Phone numbers (contract.md §3): digits only, starting with a country calling code that exists. */
import metadata from "libphonenumber-js/min/metadata"

/** The form of a number. {@link check} also says whether its first digits are a calling code. */
export const form = /^[1-9][0-9]{6,14}$/

/** Every assigned calling code, those of no country (international freephone and the like) included. */
const callingCodes: ReadonlySet<string> = new Set([
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic)
])

/** The calling code that a number begins with; no code is the beginning of another. */
export const callingCode = (phone: string): string | undefined => {
  for (let length = 1; length <= 3; length++) {
    const code = phone.slice(0, length)
    if (callingCodes.has(code)) return code
  }
  return undefined
}

/** True at the index of each three-digit number that begins with a calling code. */
const beginsWithCode: ReadonlyArray<boolean> = Array.from(
  { length: 1000 },
  (_, first) => callingCode(String(first).padStart(3, "0")) !== undefined
)

const digit = (phone: string, at: number): number => phone.charCodeAt(at) - 0x30

const isValid = (phone: string): boolean =>
  form.test(phone) && beginsWithCode[digit(phone, 0) * 100 + digit(phone, 1) * 10 + digit(phone, 2)] === true

/**
 * The longest text that is read as a number, in characters. It leaves room for everything people write between
 * digits.
 */
const longest = 64

const malformed =
  "The number must be 7 to 15 digits with the country calling code, without +, spaces or separators."

/** A spreadsheet's number: digits, a point and digits. */
const decimal = /^(\d{7,})\.(\d+)$/

/** Two numbers with a slash between. */
const two = /^[^/]*(?:\d[^\d/]*){7,}\/./

/** The digits before a zero in parentheses, which some countries dial and others do not. */
const trunk = /^[^\d]*(?:00)?(\d{1,3})[^\d]*\(\s*0\s*\)/

/**
 * The digits of a number that is written with separators. Undefined where joining them could make another number: of a
 * fraction, of two numbers, and of a zero in parentheses behind the calling code.
 */
const joined = (text: string): string | undefined => {
  const [, whole, fraction = ""] = decimal.exec(text) ?? []
  if (whole !== undefined) return /^0+$/.test(fraction) ? whole : undefined
  return two.test(text) || callingCodes.has(trunk.exec(text)?.[1] ?? "")
    ? undefined
    : text.replaceAll(/[\s+().\-/\u00a0]/g, "").replace(/^00/, "")
}

/** The digits of a number that was written with separators; undefined where they are no number, or might be another one. */
export const digitsOf = (text: string): string | undefined => {
  const digits = text.length > longest ? undefined : joined(text)
  return digits !== undefined && isValid(digits) ? digits : undefined
}

/** Says what is wrong with a number and, where it is known, how to write it; `undefined` when nothing is wrong. */
export const check = (text: string): string | undefined => {
  if (isValid(text)) return undefined
  const digits = digitsOf(text)
  if (digits !== undefined) return `Write the number as digits only: ${digits}.`
  return form.test(text) ? "The number begins with no country calling code that exists." : malformed
}

/**
 * Countries where one mobile number is written in two ways, and where platforms answer in the other one than they were
 * asked in (contract.md §W1.5): 1 after Mexico's code, 9 after Argentina's, and Brazil's ninth digit. It is a first
 * guess, for numbers that no platform has told of yet: other countries have two ways, too (`domain/Person`).
 */
const twoForms: ReadonlyArray<readonly [form: RegExp, other: string]> = [
  [/^521([0-9]{10})$/, "52$1"],
  [/^52([0-9]{10})$/, "521$1"],
  [/^549([1-8][0-9]{9})$/, "54$1"],
  [/^54([1-8][0-9]{9})$/, "549$1"],
  [/^55([1-9]{2})9([6-9][0-9]{7})$/, "55$1$2"],
  [/^55(?<area>[1-9]{2})(?<rest>[6-9][0-9]{7})$/, "55$<area>9$<rest>"]
]

/** The other way to write the same number; undefined where there is one way. */
export const otherForm = (phone: string): string | undefined => {
  const found = twoForms.find(([form]) => form.test(phone))
  return found === undefined ? undefined : phone.replace(...found)
}

/** The ways to write a number, as far as they can be guessed: that which is given first. */
export const forms = (phone: string): ReadonlyArray<string> => {
  const other = otherForm(phone)
  return other === undefined ? [phone] : [phone, other]
}

/** The start of a number: not inside a UUID, a longer word or a fraction. The `tel` of a link may stand before it. */
const begins = String.raw`(?:(?<![A-Za-z0-9-]|[0-9]\.)|(?<=\btel))`
const ends = String.raw`(?![A-Za-z0-9-]|\.[0-9])`

/**
 * The texts that are cut as phone numbers: a plus and its digits, written as people, URLs or JSON write them; eight
 * or more bare digits, since platforms' codes are shorter; and groups of digits after a calling code, separated by
 * spaces or hyphens. Dots do not separate groups, because IP addresses have them.
 */
const written = String.raw`(?:\+|%2b|\\u002b)[1-9](?:[ ().\-/]{0,2}[0-9]){6,14}(?![0-9])`
const bare = `${begins}(?:00)?[1-9][0-9]{7,14}${ends}`
const grouped = String.raw`${begins}(?:00[ \u00a0-]?)?(?<code>[1-9][0-9]{0,2})(?<groups>(?:[ \u00a0-][0-9]{2,4}){2,6})${ends}`
const numbers = new RegExp(`${written}|${bare}|${grouped}`, "gi")

/** True when the groups are a phone number and not a date, whose eight digits may begin with the day. */
const isGrouped = (code: string, groups: string): boolean => {
  const digits = code + groups.replace(/[^0-9]/g, "")
  return callingCodes.has(code) && digits.length > 8 && form.test(digits)
}

/** Cuts each phone number in a text to its last four digits, for logs and for texts that other people read. */
export const shorten = (text: string): string =>
  text.replace(numbers, (number: string, code?: string, groups = "") =>
    code === undefined || isGrouped(code, groups) ? `…${number.replace(/[^0-9]/g, "").slice(-4)}` : number
  )

/** Digits of all scripts, and those that keyboards put in circles, above the line or below it. */
const figure = String.raw`[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468]`
/** Separators between two digits of a number, also as URLs and JSON write them: all but letters, and what parts values. */
const between = String.raw`(?:%[0-9a-f]{2}|\\u[0-9a-f]{4}|\\[nrt]|[^\p{L}\p{N}"{}[\]<>=&?])`
const plus = String.raw`(?:[+\uff0b\ufe62]|%2b|\\u002b)${between}{0,2}`
const run = `(?:${plus})?${figure}(?:${between}{0,3}${figure})*`

const octet = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
/**
 * Digits that surely are no phone: ids and tokens of ours, times and dates, the host of a URL, and amounts where a member's name
 * says so.
 */
const kept = [
  "(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])",
  String.raw`\bpk_[0-9a-z]{22}\b`,
  String.raw`(?<!\p{N})[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})`,
  String.raw`(?<!\p{N}${between}{0,3})(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?!${between}{0,3}\p{N})`,
  String.raw`(?<=://)${octet}(?:\.${octet}){3}(?::[0-9]{1,5})?(?=[/?#"\s]|$)`,
  String.raw`(?<="[a-z_]*(?:cost|price)":")[0-9]+\.[0-9]{4}(?=")`
].join("|")

/** WhatsApp's ids of messages have the number in them. */
const wamid = String.raw`\bwamid\.[a-z0-9+/=_-]+`

/** Much of it is no number: what is not known to be something else is masked with them. */
const masked = new RegExp(`(?<kept>${kept})|(?<wamid>${wamid})|${run}`, "giu")
const figures = new RegExp(figure, "gu")
const runs = new RegExp(run, "giu")
/** A number without anything between its digits. */
const block = new RegExp(`(?:${plus})?${figure}{7,}`, "giu")
const [shortest, longestNumber] = [7, 15]

/** The value of a digit of any script: those of a script follow each other, beginning with zero. */
const valueOf = (found: string): string => {
  const plain = found.normalize("NFKC")
  if (/^[0-9]$/.test(plain)) return plain
  const at = plain.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(at - value - 1))) value++
  return String(value)
}

/** The digits of a run, without what stands for a plus, a separator or a leading 00. */
const digitsIn = (text: string): string =>
  text
    .replaceAll(/%[0-9a-f]{2}|\\u[0-9a-f]{4}/gi, " ")
    .replaceAll(/[^\p{N}]/gu, "")
    .replaceAll(figures, valueOf)
    .replace(/^00/, "")

/** A number for whoever is not to know it, `+34 600 ··· 234`: three digits are hidden at least, mostly more. */
export const mask = (phone: string): string => {
  const code = callingCode(phone) ?? ""
  const national = phone.slice(code.length)
  const tail = Math.max(0, Math.min(3, national.length - 3))
  const head = Math.max(0, Math.min(3, national.length - tail - 3))
  const parts = [`+${code}`, national.slice(0, head), "···", national.slice(national.length - tail)]
  return parts.filter((part) => part !== "" && part !== "+").join(" ")
}

/** Digits and what stands between them: one number, or several where it has too many digits for one. */
const maskRun = (text: string): string => {
  const digits = digitsIn(text)
  if (digits.length < shortest) return text
  if (digits.length <= longestNumber) return mask(digits)
  const blocks = [...text.matchAll(block)]
  if (blocks.length === 0) return `··· ${digits.slice(-3)}`
  let from = 0
  const parts = blocks.flatMap(({ 0: found, index }) => {
    const before = text.slice(from, index)
    from = index + found.length
    // More digits in one block than a number has: it is an id of some platform.
    return [before.replace(runs, maskRun), digitsIn(found).length > longestNumber ? found : maskRun(found)]
  })
  return [...parts, text.slice(from).replace(runs, maskRun)].join("")
}

/** Masks each phone number in a text. */
const maskEach = (text: string): string =>
  text.replace(masked, (found: string, isKept: unknown, isWamid: unknown) => {
    if (isKept !== undefined) return found
    return isWamid === undefined ? maskRun(found) : `wamid.···${found.slice(-6)}`
  })

/** A number with anything between its digits, with or without its calling code. */
const anyhow = (phone: string): string => {
  const code = callingCode(phone) ?? ""
  const [first, second] = [code, phone.slice(code.length)].map((digits) =>
    [...digits].join(`${between}{0,16}`)
  )
  // A short one without its code would be many other things.
  const isLong = phone.length - code.length >= shortest - 1
  return `(?:${plus})?(?:00)?(?:${first}${between}{0,16})${isLong ? "?" : ""}${second}`
}

/**
 * Masks each phone number in a text.
 *
 * @param known numbers that the reader has, by which the text was asked for: they are masked in spellings, too, that would mean
 * too much otherwise
 */
export const masker = (known: ReadonlyArray<string>): ((text: string) => string) => {
  const masks = known.map((phone) => {
    const found = new RegExp(`(?<kept>${kept})|(?<!\\p{N})${anyhow(phone)}(?!\\p{N})`, "giu")
    return (text: string) =>
      text.replace(found, (each: string, isKept: unknown) => (isKept === undefined ? mask(phone) : each))
  })
  return (text) => masks.reduce((done, next) => next(done), maskEach(text))
}

/** {@link masker} of no number that is known. */
export const maskIn = maskEach
