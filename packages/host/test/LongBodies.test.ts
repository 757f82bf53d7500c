/**
 * Thousands of items are handled piece by piece, and others have their turn between (decisions.md §10 "Requests").
 * Counted, and not timed: by the clock here every look at it is ten milliseconds later, so that each piece has taken
 * its turn's share.
 */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { vi } from "vitest"
import * as Takers from "../../../test/bodies/Takers.ts"

const hurried = Effect.acquireRelease(
  Effect.sync(() => {
    let now = performance.now()
    return vi.spyOn(performance, "now").mockImplementation(() => {
      now += 10
      return now
    })
  }),
  (clock) => Effect.sync(() => clock.mockRestore())
)

/** How often the event loop goes round while this runs. */
const turnsOf = <A>(running: Effect.Effect<A>) =>
  Effect.gen(function* () {
    yield* hurried
    let turns = 0
    let next = setImmediate(function tick() {
      turns += 1
      next = setImmediate(tick)
    })
    const told = yield* Effect.ensuring(
      running,
      Effect.sync(() => clearImmediate(next))
    )
    return { told, turns }
  }).pipe(Effect.scoped)

const many = 3000
const list = <A>(item: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: many }, (_, index) => item(index))

const at = "2020-01-01T00:00:00Z"

const bodies: ReadonlyArray<readonly [route: string, least: number, body: () => object]> = [
  [
    "POST /admin/v1/accounts/:id/consents",
    many / 250,
    () => ({ consents: list((n) => ({ phone: Takers.phone(n), source: "test" })) })
  ],
  [
    "PUT /admin/v1/sessions/:id/templates",
    1000 / 50,
    () => ({ templates: list((n) => Takers.template(`order_${n}`)).slice(0, 1000) })
  ],
  [
    "PUT /admin/v1/rate-cards",
    2,
    () => ({
      currency: "EUR",
      effective_from: at,
      prices: list((n) => ({ market: "Spain", prefixes: [`34${n}`], category: "utility", price: "0.02" }))
    })
  ],
  [
    "POST /hooks/http/:sessionId",
    (3 * many) / 32,
    () => ({ messages: list((n) => ({ id: `m-${n}`, from: Takers.phone(n), text: "Hello", at })) })
  ],
  [
    "POST /hooks/http/:sessionId",
    many / 32,
    () => ({ receipts: list((n) => ({ id: `r-${n}`, status: "delivered", at })) })
  ]
]

const whatsApp = (example: object): object => {
  const { entry, object } = Object(example)
  const [{ changes, id }] = entry
  const [{ field, value }] = changes
  const [message] = value.messages
  const messages = list((n) => ({ ...message, id: `wamid.${n}`, from: Takers.phone(n) }))
  return { object, entry: [{ id, changes: [{ field, value: { ...value, messages } }] }] }
}

describe("a long body", () => {
  it.live(
    "is handled in many turns",
    () =>
      Effect.gen(function* () {
        const { ask, takers } = yield* Takers.make
        const find = (route: string) =>
          Effect.fromNullable(takers.find(({ name }) => name === route)).pipe(Effect.orDie)
        const hook = yield* find("POST /hooks/whatsapp/:sessionId")
        const all = [...bodies, [hook.name, (3 * many) / 32, () => whatsApp(hook.example())] as const]
        for (const [route, least, body] of all) {
          const bytes = Buffer.from(JSON.stringify(body()))
          const { told, turns } = yield* turnsOf(ask(yield* find(route), bytes))
          expect([route, told.status < 300, turns >= least], `${turns} turns`).toEqual([route, true, true])
        }
      }).pipe(Effect.provide(Takers.engine()), Effect.provide(Logger.minimumLogLevel(LogLevel.None))),
    60_000
  )

  it.live("that a platform signed is refused where it holds more than can be read at once", () =>
    Effect.gen(function* () {
      const { ask, takers } = yield* Takers.make
      for (const { example, ...taker } of takers.filter(({ isHook }) => isHook)) {
        const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
        const wide = `[${"{},".repeat(200_000)}{}]`
        for (const value of [deep, wide]) {
          const body = JSON.stringify({ ...example(), more: 0 }).replace('"more":0', `"more":${value}`)
          const { json, status } = yield* ask(taker, Buffer.from(body))
          expect([taker.name, status]).toEqual([taker.name, 422])
          expect(JSON.stringify(json)).toContain("at most 100,000 members and items in all")
        }
      }
    }).pipe(Effect.provide(Takers.engine()))
  )
})
