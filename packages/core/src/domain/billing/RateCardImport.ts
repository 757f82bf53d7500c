/**
 * Reads the price list that the platform publishes as CSV into the prices of a rate card, so that nobody
 * types them. The list names markets; which countries a market holds is the table "Country calling codes" of
 * the platform's pricing page (developers.facebook.com/docs/whatsapp/pricing, read in public copies of 2026;
 * contract.md §W1.9), and calling codes of countries are libphonenumber's.
 */

import metadata from "libphonenumber-js/min/metadata"
import * as Either from "../../effect/Either.ts"
import * as Csv from "../Csv.ts"
import * as Fault from "../Fault.ts"
import * as Phone from "../Phone.ts"
import * as Money from "./Money.ts"
import * as RateCard from "./RateCard.ts"

const words = (text: string): ReadonlyArray<string> => text.split(" ")

const standalone = {
  Argentina: "AR",
  Bangladesh: "BD",
  Brazil: "BR",
  Chile: "CL",
  Colombia: "CO",
  Egypt: "EG",
  France: "FR",
  Germany: "DE",
  "Hong Kong": "HK",
  Hungary: "HU",
  India: "IN",
  Indonesia: "ID",
  Iraq: "IQ",
  Israel: "IL",
  Italy: "IT",
  Kazakhstan: "KZ",
  Kuwait: "KW",
  Malaysia: "MY",
  Mexico: "MX",
  Morocco: "MA",
  Nepal: "NP",
  Netherlands: "NL",
  Nigeria: "NG",
  Oman: "OM",
  Pakistan: "PK",
  Peru: "PE",
  Poland: "PL",
  Qatar: "QA",
  Romania: "RO",
  Russia: "RU",
  "Saudi Arabia": "SA",
  Singapore: "SG",
  "South Africa": "ZA",
  Spain: "ES",
  "Sri Lanka": "LK",
  Turkey: "TR",
  Türkiye: "TR",
  Ukraine: "UA",
  "United Arab Emirates": "AE",
  "United Kingdom": "GB"
}

/**
 * Regions also name the countries that became markets of their own later (HK, HU, PL, QA, RO and SG in 2026;
 * BD, IQ, KW, LK, MA, NP, OM and UA on 2026-10-01): a list without such a market prices the country by its
 * region.
 */
const regions = {
  "North America": "CA US",
  "Rest of Africa":
    "AO BF BI BJ BW CG CI CM DZ ER ET GA GH GM GW KE LR LS LY MA MG ML MR MW MZ NA NE RW SD SL SN SO SS SZ " +
    "TD TG TN TZ UG ZM ZW",
  "Rest of Asia Pacific": "AF AU BD CN HK JP KH LA LK MN NP NZ PG PH SG TH TJ TM TW UZ VN",
  "Rest of Central & Eastern Europe": "AL AM AZ BG BY CZ GE GR HR HU LT LV MD MK PL RO RS SI SK UA",
  "Rest of Latin America": "BO CR DO EC GT HN HT JM NI PA PR PY SV UY VE",
  "Rest of Middle East": "BH IQ JO KW LB OM QA YE",
  "Rest of Western Europe": "AT BE CH DK FI IE NO PT SE"
}

/**
 * The area codes that tell markets apart in the two numbering plans that countries share as a whole: those of +1 (NANPA) but
 * those of the United States and Canada, and Kazakhstan in +7. Elsewhere the market has the whole code.
 */
const areas: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  Object.entries({
    AG: "1268",
    AI: "1264",
    AS: "1684",
    BB: "1246",
    BM: "1441",
    BS: "1242",
    DM: "1767",
    DO: "1809 1829 1849",
    GD: "1473",
    GU: "1671",
    JM: "1658 1876",
    KN: "1869",
    KY: "1345",
    KZ: "76 77",
    LC: "1758",
    MP: "1670",
    MS: "1664",
    PR: "1787 1939",
    SX: "1721",
    TC: "1649",
    TT: "1868",
    VC: "1784",
    VG: "1284",
    VI: "1340"
  }).map(([country, prefixes]) => [country, words(prefixes)])
)

const callingCodes: ReadonlyMap<string, string> = new Map(
  Object.entries(metadata.country_calling_codes).flatMap(([code, countries]) =>
    countries.map((country): [string, string] => [country, code])
  )
)

const prefixesOf = (country: string): ReadonlyArray<string> => {
  const code = callingCodes.get(country)
  return areas.get(country) ?? (code === undefined ? [] : [code])
}

/** A name without what differs from list to list: case, accents, spaces, hyphens, `&` or "and". */
const plain = (name: string): string =>
  name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("&", " and ")
    .replaceAll(/[^a-z]+/g, " ")
    .trim()

interface Market {
  readonly kind: "country" | "region" | "other"
  readonly countries: ReadonlyArray<string>
}

const other: Market = { kind: "other", countries: [] }

const markets: ReadonlyMap<string, Market> = new Map<string, Market>([
  ...Object.entries(standalone).map(([name, country]): [string, Market] => [
    plain(name),
    { kind: "country", countries: [country] }
  ]),
  ...Object.entries(regions).map(([name, countries]): [string, Market] => [
    plain(name),
    { kind: "region", countries: words(countries) }
  ]),
  ["other", other]
])

const symbols: ReadonlyMap<string, string> = new Map([
  ["$US", "USD"],
  ["US$", "USD"],
  ["€", "EUR"],
  ["£", "GBP"],
  ["₹", "INR"],
  ["RP", "IDR"],
  ["$A", "AUD"],
  ["A$", "AUD"],
  ["R$", "BRL"],
  ["RM", "MYR"],
  ["S$", "SGD"]
])

/** The ISO 4217 code that a cell such as `USD`, `$US` or `USD ($)` means. */
const currencyOf = (cell: string): string | undefined => {
  const text = cell.trim().toUpperCase()
  return symbols.get(text) ?? /(?<![A-Z])[A-Z]{3}(?![A-Z])/.exec(text)?.[0]
}

interface Column {
  readonly category: RateCard.Category
  readonly name: string
  readonly at: number
}

interface Table {
  readonly header: Csv.Line
  /** Read as they are asked for, and once. */
  readonly rows: Iterable<Csv.Line>
  readonly market: number
  readonly currency: number
  readonly columns: ReadonlyArray<Column>
}

/** So many lines may stand above the rows: titles and notes. */
const maximumHeading = 100

const headerOf = (header: Csv.Line): Omit<Table, "rows"> | undefined => {
  const names = header.cells.map(plain)
  const market = names.indexOf("market")
  if (market < 0) return undefined
  const columns = RateCard.categories.flatMap((category): ReadonlyArray<Column> => {
    const at = names.indexOf(plain(category))
    return at < 0 ? [] : [{ category, name: header.cells[at] ?? category, at }]
  })
  return { header, market, currency: names.indexOf("currency"), columns }
}

/** The table below the first row that has a column "Market" and one of prices, else below the first with the former. */
const tableOf = (text: string, separator: Csv.Separator): Table | undefined => {
  const rows = Csv.read(text, separator)
  let bare: Table | undefined
  for (let place = 0; place < maximumHeading; place++) {
    const line = rows.next()
    if (line.done === true) break
    const found = headerOf(line.value)
    if (found === undefined) continue
    if (found.columns.length > 0) return { ...found, rows }
    bare ??= { ...found, rows: [] }
  }
  return bare
}

/** Commas are looked for first, then semicolons and tabs, until one makes a table with prices. */
const find = (text: string): Table | undefined => {
  const announced = Csv.separators.find((each) => each === Csv.announced(text))
  if (announced !== undefined) return tableOf(text, announced)
  const tables = Csv.separators.flatMap((separator) => tableOf(text, separator) ?? [])
  return tables.find(({ columns }) => columns.length > 0) ?? tables[0]
}

interface Row {
  readonly name: string
  readonly market: Market
  readonly cells: ReadonlyArray<string>
}

const noPrice = /^(|n\/?a|[-–—]+)$/i

/** The faults of a table, each at its row and column. */
class RowFaults {
  private readonly table: Table
  private readonly faults: Fault.Faults

  constructor(table: Table, faults: Fault.Faults) {
    this.table = table
    this.faults = faults
  }

  get isFull(): boolean {
    return this.faults.isFull
  }

  ofRow(row: number, message: string): void {
    this.faults.add(["rows", row], "invalid_value", message)
  }

  /** @param column where the cell stands */
  ofCell(row: number, column: number, code: Fault.Code, message: string): void {
    this.faults.add(["rows", row, this.table.header.cells[column] ?? ""], code, message)
  }

  ofTable(message: string): void {
    this.faults.add(["rows"], "required", message)
  }
}

type Line = Table["rows"] extends Iterable<infer Each> ? Each : never

/** A row that was left out, by its line in the file. */
export interface Skipped {
  readonly line: number
  readonly market: string
  readonly reason: string
}

export interface List {
  readonly prices: ReadonlyArray<RateCard.Price>
  /** Rows of markets that this version does not know, at most as many as faults are told. */
  readonly skipped: ReadonlyArray<Skipped>
}

/** The market that a row names, unless a row before has it already; `undefined` for a name that is not known. */
const marketOf = (
  { cells, number }: Line,
  column: number,
  seen: Map<string, number>,
  faults: RowFaults
): Market | undefined => {
  const name = cells[column] ?? ""
  const market = markets.get(plain(name))
  if (market === undefined) return undefined
  const identity = market.countries.join(" ")
  const first = seen.get(identity)
  if (first === undefined) seen.set(identity, number)
  else
    faults.ofCell(
      number,
      column,
      "invalid_value",
      `Keep one row of this market: line ${first} has it already.`
    )
  return market
}

const addPriceFaults = ({ cells, number }: Line, table: Table, faults: RowFaults): void => {
  for (const { at } of table.columns) {
    const cell = cells[at] ?? ""
    if (noPrice.test(cell) || Money.isAmount(cell)) continue
    const message = "Write a plain decimal such as 0.0618, or n/a where there is no price."
    faults.ofCell(number, at, "invalid_value", message)
  }
  if (cells.slice(table.header.cells.length).some((cell) => cell !== "")) {
    const message =
      "The row has more cells than the header row: put quotes around cells that hold a separator."
    faults.ofRow(number, message)
  }
}

const unknownMarket =
  "Sendwright does not know the market: the row was left out, and its numbers have the price of another one. Add a card with its prefixes where that matters."

/** Thousands with commas between, as spreadsheets write them; a decimal comma is no such text. */
const grouped = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/

const amountOf = (cell: string): string => (grouped.test(cell) ? cell.replaceAll(",", "") : cell)

/** The prices of a list that has none in the currency asked for, in words. */
const pricesIn = (currencies: ReadonlySet<string>): string =>
  currencies.size === 0 ? "no prices below its header row" : `prices in ${[...currencies].join(", ")} only`

/** The currency that a row names; `undefined` for a fault. */
const currencyAt = ({ cells, number }: Line, column: number, faults: RowFaults): string | undefined => {
  const code = currencyOf(cells[column] ?? "")
  if (code !== undefined) return code
  const message = "Write the row's currency as a code such as USD."
  faults.ofCell(number, column, "invalid_value", message)
  return undefined
}

/** Rows of the currency, with amounts as plain decimals. A text alone in its row is a note, not a market. */
const rowsOf = (
  table: Table,
  currency: string,
  found: Fault.Faults
): { readonly rows: ReadonlyArray<Row>; readonly skipped: ReadonlyArray<Skipped> } => {
  const faults = new RowFaults(table, found)
  const rows: Array<Row> = []
  const skipped: Array<Skipped> = []
  const seen = new Map<string, number>()
  const currencies = new Set<string>()
  const skip = (line: number, name: string): void => {
    if (skipped.length < Fault.maximum)
      skipped.push({ line, market: name.slice(0, maximumName), reason: unknownMarket })
  }
  let matches = 0
  for (const read of table.rows) {
    const line = {
      ...read,
      cells: read.cells.map((cell, at) =>
        table.columns.some((column) => column.at === at) ? amountOf(cell) : cell
      )
    }
    const { cells, fault, number } = line
    if (faults.isFull) break
    if (fault !== undefined) {
      faults.ofRow(number, Csv.advice[fault])
      continue
    }
    if (cells.every((cell, at) => at === table.market || cell === "")) continue
    if (table.currency >= 0) {
      const code = currencyAt(line, table.currency, faults)
      if (code !== undefined) currencies.add(code)
      if (code !== currency) continue
    }
    matches += 1
    const name = cells[table.market] ?? ""
    if (name === "")
      faults.ofCell(number, table.market, "required", "Name the row's market, or remove the row.")
    else if (!markets.has(plain(name))) {
      skip(number, name)
      continue
    }
    const market = marketOf(line, table.market, seen, faults)
    if (market !== undefined) rows.push({ name, market, cells })
    addPriceFaults(line, table, faults)
  }
  if (matches === 0) {
    faults.ofTable(`Give a list with prices in ${currency}: this one has ${pricesIn(currencies)}.`)
  } else if (rows.length === 0 && found.list.length === 0) {
    faults.ofTable(
      "Give a list with a market of the platform's, such as Spain or Rest of Africa: this one has none."
    )
  }
  return { rows, skipped }
}

/** Of a market's name that is told. */
const maximumName = 255

/** Prices of the rows, each with the prefixes that no other market of the list has in its category. */
const pricesOf = (table: Table, rows: ReadonlyArray<Row>): ReadonlyArray<RateCard.Price> => {
  const alone = new Set(rows.flatMap(({ market }) => (market.kind === "country" ? market.countries : [])))
  const prefixes = ({ countries, kind }: Market): ReadonlyArray<string> => [
    ...new Set(countries.filter((each) => kind === "country" || !alone.has(each)).flatMap(prefixesOf))
  ]
  const priced = (row: Row, { at }: Column): boolean => !noPrice.test(row.cells[at] ?? "")
  return rows.flatMap((row) =>
    table.columns
      .filter((column) => priced(row, column))
      .flatMap((column): ReadonlyArray<RateCard.Price> => {
        const { category } = column
        const price = row.cells[column.at] ?? ""
        if (row.market.kind !== "other")
          return [{ market: row.name, prefixes: prefixes(row.market), category, price }]
        const rest: RateCard.Price = { market: "*", prefixes: null, category, price }
        const used = new Set(
          rows.filter((each) => priced(each, column)).flatMap(({ market }) => prefixes(market))
        )
        const gaps = [...areas.values()]
          .flat()
          .filter((prefix) => !used.has(prefix) && used.has(Phone.callingCode(prefix) ?? ""))
        return gaps.length === 0 ? [rest] : [rest, { ...rest, prefixes: gaps }]
      })
  )
}

/** Many times what a platform publishes. */
const maximumCharacters = 128 * 1024
const maximumCells = 20_000

/** Ends at the first cell too many. */
const isOver = (text: string): boolean => {
  let cells = 0
  for (let at = 0; at < text.length && cells <= maximumCells; at++)
    if (",;\r\n".includes(text.charAt(at))) cells += 1
  return cells > maximumCells
}

/**
 * The prices of a list in one currency, in its order; a list without a column of currencies is taken to be in
 * the currency asked for. A row of a market that is not known is left out and told; the others are taken.
 *
 * "Other" is `*`. Beside +1 and +7 it has a second price, of the same market, for the prefixes in those plans
 * that belong to no market of the list (the Bahamas are not North America): the platform counts every country
 * that its table does not name as "Other".
 *
 * Faults have the line of the file and the column in their path, and come all at once, as many as are told. The header
 * row stands in the first 100 lines of text.
 */
export const read = (
  text: string,
  options: { readonly currency: string }
): Either.Either<List, ReadonlyArray<Fault.Fault>> => {
  if (text.length > maximumCharacters) {
    const message = `Give a list of at most ${maximumCharacters.toLocaleString("en")} characters.`
    return Either.left([Fault.make(["rows"], "out_of_range", message)])
  }
  if (isOver(text)) {
    const message = `Give a list of at most ${maximumCells.toLocaleString("en")} cells.`
    return Either.left([Fault.make(["rows"], "out_of_range", message)])
  }
  const table = find(text)
  if (table === undefined) {
    const message = "Give a header row with the columns Market, Marketing, Utility and Authentication."
    return Either.left([Fault.make(["rows"], "required", message)])
  }
  const { columns, header } = table
  if (columns.length === 0) {
    const message = "Give the header row a column of prices: Marketing, Utility or Authentication."
    return Either.left([Fault.make(["rows", header.number], "required", message)])
  }
  const faults = new Fault.Faults()
  const known = ["market", "currency", ...RateCard.categories.map(plain)]
  const names = header.cells.map(plain)
  header.cells.forEach((name, at) => {
    if (!known.includes(names[at] ?? "") || names.indexOf(names[at] ?? "") === at) return
    const message = "Keep one column of this name."
    faults.add(["rows", header.number, name], "invalid_value", message)
  })
  const { rows, skipped } = rowsOf(table, options.currency.trim().toUpperCase(), faults)
  return faults.list.length === 0
    ? Either.right({ prices: pricesOf(table, rows), skipped })
    : Either.left(faults.list)
}
