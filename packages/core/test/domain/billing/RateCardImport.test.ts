import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import metadata from "libphonenumber-js/min/metadata"
import examples from "libphonenumber-js/mobile/examples"
import type { Price, RateCard } from "../../../src/domain/billing/RateCard.ts"
import * as Rates from "../../../src/domain/billing/RateCard.ts"
import * as Import from "../../../src/domain/billing/RateCardImport.ts"
import * as Time from "../../../src/domain/Instant.ts"

const runs = { numRuns: 300 }

/** Calling codes as the platform's table prints them; the module derives them from countries. */
const countries: Record<string, string> = {
  Argentina: "54",
  Brazil: "55",
  Chile: "56",
  Colombia: "57",
  Egypt: "20",
  France: "33",
  Germany: "49",
  India: "91",
  Indonesia: "62",
  Israel: "972",
  Italy: "39",
  Malaysia: "60",
  Mexico: "52",
  Netherlands: "31",
  Nigeria: "234",
  Pakistan: "92",
  Peru: "51",
  Russia: "7",
  "Saudi Arabia": "966",
  "South Africa": "27",
  Spain: "34",
  Turkey: "90",
  "United Arab Emirates": "971",
  "United Kingdom": "44"
}

/** Markets of their own only in later lists, with the market that has them before. */
const later: Record<string, readonly [prefix: string, before: string]> = {
  "Hong Kong": ["852", "Rest of Asia Pacific"],
  Hungary: ["36", "Rest of Central & Eastern Europe"],
  Poland: ["48", "Rest of Central & Eastern Europe"],
  Qatar: ["974", "Rest of Middle East"],
  Romania: ["40", "Rest of Central & Eastern Europe"],
  Singapore: ["65", "Rest of Asia Pacific"],
  Bangladesh: ["880", "Rest of Asia Pacific"],
  Iraq: ["964", "Rest of Middle East"],
  Kazakhstan: ["77", "*"],
  Kuwait: ["965", "Rest of Middle East"],
  Morocco: ["212", "Rest of Africa"],
  Nepal: ["977", "Rest of Asia Pacific"],
  Oman: ["968", "Rest of Middle East"],
  "Sri Lanka": ["94", "Rest of Asia Pacific"],
  Ukraine: ["380", "Rest of Central & Eastern Europe"]
}

const regions: Record<string, string> = {
  "North America": "1202 1212 1416 1604 1",
  "Rest of Africa":
    "213 244 229 267 226 257 237 235 242 291 251 241 220 233 245 225 254 266 231 218 261 265 223 222 258 " +
    "264 227 250 221 232 252 211 249 268 255 228 216 256 260 263",
  "Rest of Asia Pacific": "93 61 855 86 81 856 976 64 675 63 886 992 66 993 998 84",
  "Rest of Central & Eastern Europe": "355 374 994 375 359 385 420 995 30 371 370 373 389 381 421 386",
  "Rest of Latin America":
    "591 506 1809 1829 1849 593 503 502 509 504 1658 1876 505 507 595 1787 1939 598 58",
  "Rest of Middle East": "973 962 961 967",
  "Rest of Western Europe": "43 32 45 358 353 47 351 46 41"
}

const everyMarket = [...Object.keys(countries), ...Object.keys(later), ...Object.keys(regions), "Other"]

/** What the table says of a number when the list names the given later markets. */
const prefixes = (named: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(countries).map(([market, prefix]): [string, string] => [prefix, market]),
    ...Object.entries(later).map(([market, [prefix, before]]): [string, string] => [
      prefix,
      named.includes(market) ? market : before
    ]),
    ...Object.entries(regions).flatMap(([market, all]) =>
      all.split(" ").map((prefix): [string, string] => [prefix, market])
    )
  ])

type Row = readonly [market: string, marketing: string, utility: string, authentication: string]

const csv = (rows: ReadonlyArray<Row>): string =>
  ["Market,Marketing,Utility,Authentication", ...rows.map((row) => row.join(","))].join("\n")

const read = (text: string, currency = "USD"): ReadonlyArray<Price> =>
  Either.getOrThrowWith(Import.read(text, { currency }), (faults) => new Error(JSON.stringify(faults))).prices

const faultsOf = (text: string, currency = "USD") =>
  Either.match(Import.read(text, { currency }), { onLeft: (faults) => faults, onRight: () => [] })

const pathsOf = (text: string, currency = "USD") => faultsOf(text, currency).map(({ path }) => path)

const card = (prices: ReadonlyArray<Price>): RateCard => ({
  id: "c",
  currency: "USD",
  effectiveFrom: Time.at(0),
  createdAt: Time.at(0),
  prices
})

/** A price of its own for each market, so that a price tells the market. */
const numbered = (markets: ReadonlyArray<string>): ReadonlyArray<Row> =>
  markets.map((market, at) => [market, `1.${at}`, `2.${at}`, `3.${at}`])

const full = (markets: ReadonlyArray<string>): RateCard => card(read(csv(numbered(markets))))

/** A few rows in the form of the platform's own files. */
const published = [
  "Cost per message in USD, effective 2026-07-01,,,,,,",
  '"Note: rates may change, see ""Pricing"".",,,,,,',
  "Market,Currency,Marketing,Utility,Authentication,Authentication-International,Service",
  "Argentina,$US,0.0618,0.0260,0.0260,n/a,n/a",
  "India,$US,0.0118,0.0014,0.0014,0.0280,n/a",
  "Other,$US,0.0604,0.0077,--,n/a,",
  ""
].join("\r\n")

describe("a price list", () => {
  it("is read in its published form, prices exactly as written", () => {
    const rest = { market: "*", prefixes: null }
    expect(read(published)).toEqual([
      { market: "Argentina", prefixes: ["54"], category: "marketing", price: "0.0618" },
      { market: "Argentina", prefixes: ["54"], category: "utility", price: "0.0260" },
      { market: "Argentina", prefixes: ["54"], category: "authentication", price: "0.0260" },
      { market: "India", prefixes: ["91"], category: "marketing", price: "0.0118" },
      { market: "India", prefixes: ["91"], category: "utility", price: "0.0014" },
      { market: "India", prefixes: ["91"], category: "authentication", price: "0.0014" },
      { market: "India", prefixes: ["91"], category: "authentication_international", price: "0.0280" },
      { ...rest, category: "marketing", price: "0.0604" },
      { ...rest, category: "utility", price: "0.0077" }
    ])
  })

  it("reads back whatever way it is written", () => {
    const amount = FastCheck.stringMatching(/^(0|[1-9]\d{0,5})(\.\d{1,8})?$/)
    const cell = FastCheck.oneof(
      { weight: 4, arbitrary: amount },
      FastCheck.constantFrom("", "n/a", "N/A", "--", "-", "—")
    )
    const layout = FastCheck.record({
      separator: FastCheck.constantFrom(",", ";"),
      end: FastCheck.constantFrom("\r\n", "\n", "\r"),
      mark: FastCheck.constantFrom("", "\ufeff"),
      tail: FastCheck.boolean(),
      preamble: FastCheck.array(FastCheck.constantFrom("", "Rates, and; more", "Market rates"), {
        maxLength: 3
      }),
      currency: FastCheck.constantFrom("USD", "$US", "US$", "usd", undefined),
      order: FastCheck.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }),
      upper: FastCheck.boolean(),
      quote: FastCheck.infiniteStream(FastCheck.boolean()),
      noise: FastCheck.infiniteStream(
        FastCheck.string({ unit: FastCheck.constantFrom('"', ",", ";", "\n", "a") })
      )
    })
    const rows = FastCheck.shuffledSubarray(everyMarket, { minLength: 1 }).chain((markets) =>
      FastCheck.tuple(
        ...markets.map((market) => FastCheck.tuple(FastCheck.constant(market), cell, cell, cell))
      )
    )
    FastCheck.assert(
      FastCheck.property(rows, layout, (rows, layout) => {
        const names = ["Market", "Marketing", "Utility", "Authentication"]
        const write = (text: string): string =>
          /["\r\n,;]/.test(text) || layout.quote.next().value
            ? `"${text.replaceAll('"', '""')}"`
            : ` ${text} `
        const line = (cells: ReadonlyArray<string>): string =>
          layout.order
            .flatMap((at) => cells[at] ?? [])
            .map(write)
            .join(layout.separator)
        const currency = layout.currency === undefined ? [] : ["Currency"]
        const header = [...names, "Authentication - International", "Remarks", ...currency]
        const text =
          layout.mark +
          [
            ...layout.preamble.map(write),
            line(header.map((name) => (layout.upper ? name.toUpperCase() : name))),
            ...rows.map((row) =>
              line([
                ...row,
                "0.5",
                `x${layout.noise.next().value}`,
                ...currency.map(() => layout.currency ?? "")
              ])
            )
          ].join(layout.end) +
          (layout.tail ? layout.end : "")
        const expected = rows.flatMap(([market, ...cells]) =>
          Rates.categories.slice(0, 4).flatMap((category, at) => {
            const price = [...cells, "0.5"][at] ?? ""
            return /\d/.test(price) ? [[market === "Other" ? "*" : market, category, price]] : []
          })
        )
        const prices = read(text)
        const main = prices.filter(({ market, prefixes }) => market !== "*" || prefixes === null)
        expect(main.map(({ category, market, price }) => [market, category, price])).toEqual(expected)
        expect(Rates.faults(prices)).toEqual([])
      }),
      runs
    )
  })

  it("is read in the currency asked for", () => {
    const list = ["Market;Currency;Utility", "Spain;€;0.1", "Spain;$US;0.2", "Spain;INR;0.3", "Peru;EUR;0.4"]
    const pricesIn = (currency: string) => read(list.join("\n"), currency).map(({ price }) => price)
    expect(pricesIn("EUR")).toEqual(["0.1", "0.4"])
    expect(pricesIn("USD")).toEqual(["0.2"])
    expect(pricesIn("INR")).toEqual(["0.3"])
  })

  it("names markets with other accents, spaces, hyphens and ands", () => {
    const names = ["Türkiye", "saudi-arabia", "REST OF CENTRAL AND EASTERN EUROPE"]
    const prices = read(csv(names.map((name) => [name, "1", "", ""])))
    expect(prices.map(({ market }) => market)).toEqual(names)
    expect(prices.map(({ prefixes }) => prefixes?.[0])).toEqual(["90", "966", "355"])
  })

  it("takes a text alone in its row for a note", () => {
    expect(read(`${csv([["Spain", "1", "", ""]])}\nRates change each quarter.,,,`)).toHaveLength(1)
  })
})

describe("a number", () => {
  const ofTemplates = ["marketing", "utility", "authentication"] as const
  const marketOf = (rates: RateCard, phone: string) =>
    ofTemplates.map((category) => Rates.rate(rates, category, phone)?.market)
  const thrice = <A>(value: A): ReadonlyArray<A> => [value, value, value]

  it("has the price of its market, whichever countries the list names on their own", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.subarray(Object.keys(later)),
        FastCheck.stringMatching(/^\d{7}$/),
        FastCheck.constantFrom("9", "4"),
        (named, digits, first) => {
          const markets = [...Object.keys(countries), ...named, ...Object.keys(regions), "Other"]
          const rates = full(markets)
          for (const [prefix, market] of prefixes(named)) {
            const phone = `${prefix}${prefix === "1" ? "20255" : first}${digits}`
            expect([phone, marketOf(rates, phone)]).toEqual([phone, thrice(market)])
            const price = Rates.rate(rates, "utility", phone)?.unitPrice
            expect(price).toBe(`2.${markets.indexOf(market === "*" ? "Other" : market)}`)
          }
        }
      ),
      { numRuns: 30 }
    )
  })

  it("of any country in the world has the market that the platform's table gives its country", () => {
    const rates = full(everyMarket)
    const table = prefixes(Object.keys(later))
    const own = "AG AI AS BB BM BS DM GD GU KN KY LC MP MS SX TC TT VC VG VI".split(" ")
    for (const [code, holders] of Object.entries(metadata.country_calling_codes)) {
      for (const holder of holders) {
        const phone = `${code}${examples[holder]}`
        const longest = [4, 3, 2, 1].map((length) => table.get(phone.slice(0, length))).find(Boolean)
        const market = own.includes(holder) ? "*" : (longest ?? "*")
        expect([holder, phone, ...marketOf(rates, phone)]).toEqual([holder, phone, ...thrice(market)])
      }
    }
  })

  it("of +1 is not North American for its first digit", () => {
    const rates = full(["North America", "Rest of Latin America", "Other"])
    const found = (phone: string) => Rates.rate(rates, "utility", phone)?.market
    for (const phone of ["12025550100", "14165550100"]) expect(found(phone)).toBe("North America")
    for (const area of ["809", "829", "849", "658", "876", "787", "939"])
      expect(found(`1${area}5550100`)).toBe("Rest of Latin America")
    for (const area of ["242", "868", "340"]) expect(found(`1${area}5550100`)).toBe("*")
  })

  it("of +7 76 and 77 is Kazakhstan's, or of the rest of the world", () => {
    const found = (markets: ReadonlyArray<string>, phone: string) =>
      Rates.rate(full(markets), "utility", phone)?.market
    expect(found(["Russia", "Kazakhstan"], "77012345678")).toBe("Kazakhstan")
    expect(found(["Russia", "Kazakhstan"], "76012345678")).toBe("Kazakhstan")
    expect(found(["Russia", "Kazakhstan"], "79161234567")).toBe("Russia")
    expect(found(["Russia", "Other"], "77012345678")).toBe("*")
    expect(found(["Russia"], "77012345678")).toBe("Russia")
  })

  it("has the rest's price when its own market has none in the category", () => {
    const rates = card(
      read(
        csv([
          ["North America", "1", "1", "1"],
          ["Rest of Latin America", "2", "n/a", ""],
          ["Russia", "3", "3", "3"],
          ["Kazakhstan", "4", "n/a", "4"],
          ["Other", "5", "6", ""]
        ])
      )
    )
    const found = (phone: string) =>
      ofTemplates.map((category) => Rates.rate(rates, category, phone)?.unitPrice)
    expect(found("18095550100")).toEqual(["2", "6", "1"])
    expect(found("77012345678")).toEqual(["4", "6", "4"])
    expect(found("50688881234")).toEqual(["2", "6", undefined])
  })
})

describe("a row of a market that is not known", () => {
  it("is left out and told by its line, and the others are taken", () => {
    const text = "sep=;\nMarket;Utility\nVietnam;0.01\nSpain;0.02\nRest of Oceania;none of it is looked at\n"
    const { prices, skipped } = Either.getOrThrow(Import.read(text, { currency: "USD" }))
    expect(prices).toEqual([{ market: "Spain", prefixes: ["34"], category: "utility", price: "0.02" }])
    expect(skipped.map(({ line, market }) => [line, market])).toEqual([
      [3, "Vietnam"],
      [5, "Rest of Oceania"]
    ])
    for (const { reason } of skipped) expect(reason).toMatch(/^[A-Z].*\.$/)
  })

  it("refuses the list when no market is known", () => {
    expect(faultsOf("Market,Utility\nVietnam,0.01")).toMatchObject([{ path: ["rows"], code: "required" }])
  })
})

describe("a list", () => {
  it("has prices of authentication from abroad and of messages without a template", () => {
    expect(
      read("Market,Authentication-International,Service\nIndia,0.0280,0.0014").map(({ category, price }) => [
        category,
        price
      ])
    ).toEqual([
      ["authentication_international", "0.0280"],
      ["service", "0.0014"]
    ])
  })

  it("may have commas between thousands, and no comma in the place of a point", () => {
    expect(read('Market,Utility\nIndonesia,"2,276.53"\nSpain,"1,234,567"').map(({ price }) => price)).toEqual(
      ["2276.53", "1234567"]
    )
    for (const amount of ["0,06", "1,2345", "12,34.5", "1,234,56"])
      expect(pathsOf(`Market,Utility\nSpain,"${amount}"`), amount).toEqual([["rows", 2, "Utility"]])
  })
})

describe("a refusal", () => {
  it("says all that is wrong, each with line and column", () => {
    const text = [
      "Rates",
      "",
      "Market,Currency,Marketing,Utility,Remarks",
      'Spain,USD,"0,06",free,"two',
      'lines"',
      "Atlantis,USD,0.1,-1,",
      "Peru,USD,0.1,0.2,",
      "PERU,USD,0.1,0.2,",
      "Italy,?,0.1,0.2,",
      ",USD,0.1,0.2,",
      "Chile,USD,0,1,0,2",
      '"Egypt,USD,0.1,0.2,',
      "India,EUR,nothing,0.2,"
    ].join("\r\n")
    expect(pathsOf(text)).toEqual([
      ["rows", 4, "Marketing"],
      ["rows", 4, "Utility"],
      ["rows", 8, "Market"],
      ["rows", 9, "Currency"],
      ["rows", 10, "Market"],
      ["rows", 11],
      ["rows", 12]
    ])
    const [cell, , again] = faultsOf(text)
    expect(cell?.message).toContain("plain decimal such as 0.0618")
    expect(again?.message).toContain("line 7")
    for (const { message } of faultsOf(text)) expect(message).toMatch(/^[A-Z].*\.$/)
  })

  it("asks for a header row, and for a column of prices", () => {
    for (const text of ["", "Spain,0.1", "Country,Marketing\nSpain,0.1"]) {
      expect(faultsOf(text)).toEqual([
        expect.objectContaining({
          path: ["rows"],
          code: "required",
          message: expect.stringContaining("header row")
        })
      ])
    }
    expect(pathsOf("\nMarket,Currency,Remarks\nSpain,USD,0.1")).toEqual([["rows", 2]])
    expect(pathsOf("Market,Utility,UTILITY\nSpain,1,2")).toEqual([["rows", 1, "UTILITY"]])
  })

  it("looks for the header row above the rows only, and at no list that is too long", () => {
    const below = (lines: number): string => `${"A note\n".repeat(lines)}Market,Utility\nSpain,x`
    expect(pathsOf(below(99))).toEqual([["rows", 101, "Utility"]])
    expect(pathsOf(below(100))).toEqual([["rows"]])
    expect(faultsOf("x".repeat(200_000)).map(({ code }) => code)).toEqual(["out_of_range"])
  })

  it("ends with as many faults as are told", () => {
    expect(faultsOf(`Market,Utility\n${"Spain,x\n".repeat(5000)}`)).toHaveLength(250)
  })

  it("asks for a list in the currency, and tells which ones this has", () => {
    const [fault, ...more] = faultsOf("Market,Currency,Utility\nSpain,€,0.1\nPeru,₹,0.1", "GBP")
    expect(more).toEqual([])
    expect(fault).toMatchObject({ path: ["rows"], code: "required" })
    expect(fault?.message).toContain("GBP")
    expect(fault?.message).toContain("EUR, INR")
    expect(pathsOf("Market,Utility")).toEqual([["rows"]])
  })

  it("takes two names of one market for one", () => {
    expect(
      pathsOf(
        csv([
          ["Turkey", "1", "", ""],
          ["Türkiye", "1", "", ""]
        ])
      )
    ).toEqual([["rows", 3, "Market"]])
  })

  it("is never a crash, and what is read is a card", () => {
    const piece = FastCheck.constantFrom(
      '"',
      '""',
      ",",
      ";",
      "\n",
      "\r",
      "Market",
      "Utility",
      "Spain",
      "Other",
      "1",
      "x"
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 40 }), (pieces) => {
        for (const text of [pieces.join(""), `Market,Utility\n${pieces.join("")}`]) {
          const found = Import.read(text, { currency: "USD" })
          if (Either.isRight(found)) expect(Rates.faults(found.right.prices)).toEqual([])
          else expect(found.left.length).toBeGreaterThan(0)
        }
      }),
      { numRuns: 2000 }
    )
  })
})
