/**
 * Thousands of items are handled piece by piece, and others have their turn between (contract.md §10 "Requests").
 * Counted, and not timed: by the clock here every look at it is a millisecond later, so that some pieces have taken
 * their turn's share.
 */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { vi } from "vitest"
import * as Takers from "../../../../test/bodies/Takers.ts"

const hurried = Effect.acquireRelease(
  Effect.sync(() => {
    const began = { ms: performance.now(), nanos: process.hrtime.bigint() }
    let looks = 0
    return [
      vi.spyOn(performance, "now").mockImplementation(() => {
        looks += 1
        return began.ms + looks
      }),
      // Effect's Clock asks this one.
      vi.spyOn(process.hrtime, "bigint").mockImplementation(() => {
        looks += 1
        return began.nanos + BigInt(looks) * 1_000_000n
      })
    ]
  }),
  (clocks) =>
    Effect.sync(() => {
      for (const clock of clocks) clock.mockRestore()
    })
)

/** How often the event loop goes round while this runs. */
const turnsOf = <A>(running: Effect.Effect<A>) =>
  Effect.gen(function* () {
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
  })

const many = 3000
const list = <A>(item: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: many }, (_, index) => item(index))

const at = "2020-01-01T00:00:00Z"

const bodies: ReadonlyArray<readonly [route: string, least: number, body: () => object]> = [
  [
    "POST /admin/v1/accounts/:id/consents",
    3,
    () => ({ consents: list((n) => ({ phone: Takers.phone(n), source: "test" })) })
  ],
  [
    "PUT /admin/v1/sessions/:id/templates",
    5,
    () => ({ templates: list((n) => Takers.template(`order_${n}`)).slice(0, 1000) })
  ],
  [
    "PUT /admin/v1/rate-cards",
    1,
    () => ({
      currency: "EUR",
      effective_from: at,
      prices: list((n) => ({ market: "Spain", prefixes: [`34${n}`], category: "utility", price: "0.02" }))
    })
  ],
  // None of these can be read, so that nothing is committed: a commit takes a turn of its own.
  ["POST /hooks/http/:sessionId", 20, () => ({ receipts: list(() => ({})), messages: list(() => 1) })],
  [
    "POST /hooks/whatsapp/:sessionId",
    10,
    () => ({ entry: list(() => ({ id: "1", changes: [{}] })), object: "whatsapp_business_account" })
  ],
  // One item that is as long as thousands, and takes the decoder or the look before parsing as long.
  ["POST /hooks/http/:sessionId", 20, () => ({ receipts: [], more: "é".repeat(1_500_000) })],
  ["POST /hooks/whatsapp/:sessionId", 20, () => ({ entry: [], more: '"'.repeat(1_000_000) })]
]

describe("a long body", () => {
  it.live(
    "is handled in many turns",
    () =>
      Effect.gen(function* () {
        const { ask, takers } = yield* Takers.make
        const find = (route: string) =>
          Effect.fromNullable(takers.find(({ name }) => name === route)).pipe(Effect.orDie)
        yield* hurried
        for (const [route, least, body] of bodies) {
          const bytes = Buffer.from(JSON.stringify(body()))
          const { told, turns } = yield* turnsOf(ask(yield* find(route), bytes))
          expect([route, told.status < 300, turns >= least], `${turns} turns`).toEqual([route, true, true])
        }
      }).pipe(
        Effect.scoped,
        Effect.provide(Takers.engine()),
        Effect.provide(Logger.minimumLogLevel(LogLevel.None))
      ),
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
          expect(JSON.stringify(json)).toContain("at most 75,000 members and items in all")
        }
      }
    }).pipe(Effect.provide(Takers.engine()))
  )

  it.live("of a thousand updates with all that a platform tells of each is read", () =>
    Effect.gen(function* () {
      const { ask, takers } = yield* Takers.make
      const taker = takers.find(({ name }) => name === "POST /hooks/whatsapp/:sessionId")
      if (taker === undefined) return yield* Effect.dieMessage("There is no hook of WhatsApp")
      const change = (n: number) => ({
        field: "messages",
        value: {
          messaging_product: "whatsapp",
          metadata: { display_phone_number: "34600000000", phone_number_id: "106540352242922" },
          contacts: [
            { profile: { name: "Ana", username: "ana" }, wa_id: Takers.phone(n), user_id: `ES.${n}` }
          ],
          statuses: [
            {
              id: `wamid.${n}`,
              status: "failed",
              timestamp: "1750000000",
              recipient_id: Takers.phone(n),
              recipient_user_id: `ES.${n}`,
              biz_opaque_callback_data: "spring",
              conversation: { id: "c", expiration_timestamp: "1750000000", origin: { type: "utility" } },
              pricing: { billable: true, pricing_model: "PMP", type: "regular", category: "utility" },
              errors: [
                {
                  code: 131026,
                  title: "Undeliverable",
                  message: "Undeliverable",
                  error_data: { details: "No account" },
                  href: "https://developers.example/errors"
                }
              ]
            }
          ],
          messages: [
            {
              from: Takers.phone(n),
              from_user_id: `ES.${n}`,
              id: `wamid.m${n}`,
              timestamp: "1750000000",
              type: "interactive",
              context: { from: "34600000000", id: `wamid.${n}` },
              interactive: { type: "list_reply", list_reply: { id: "a", title: "A", description: "B" } }
            }
          ]
        }
      })
      const body = {
        object: "whatsapp_business_account",
        entry: list((n) => ({ id: "102290129340398", changes: [change(n)] })).slice(0, 1000)
      }
      const { json, status } = yield* ask(taker, Buffer.from(JSON.stringify(body)))
      expect([status, json]).toEqual([200, { ok: true }])
    }).pipe(Effect.provide(Takers.engine()), Effect.provide(Logger.minimumLogLevel(LogLevel.None)))
  )
})
