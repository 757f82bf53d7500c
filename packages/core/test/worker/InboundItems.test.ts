/** The items of a hook: thousands are made one by one, so that others have their turn between. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Keywords from "../../src/domain/consent/Keywords.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as QuietHours from "../../src/domain/session/QuietHours.ts"
import type { Session } from "../../src/domain/session/Session.ts"
import type { InboundItem } from "../../src/storage/InboundStore.ts"
import * as InboundItems from "../../src/worker/InboundItems.ts"

const session: Session = {
  id: "s",
  accountId: "a",
  name: "Shop",
  provider: "http",
  config: "",
  pacing: { messagesPerSecond: null, pairIntervalMs: null },
  retryForMs: null,
  closedMarkets: null,
  quietHours: QuietHours.none,
  keywords: Keywords.standard,
  state: "connected",
  reason: null,
  blockedUntil: null,
  blockReason: null,
  blockCode: null,
  repliesBlockedUntil: null,
  told: {},
  outage: null,
  lastOutage: null,
  connectedSince: Time.at(0),
  mendedAt: null,
  failing: null,
  createdAt: Time.at(0),
  updatedAt: Time.at(0)
}

const phone = (index: number): string => `346${String(index).padStart(8, "0")}`
const now = Time.at(1_750_000_000_000)

describe("the items of a hook", () => {
  it.effect("are read and made one by one, in the order in which they came", () =>
    Effect.gen(function* () {
      const ids = Ids.make(yield* Ids.RandomBytes)
      const places = Array.from({ length: 1000 }, (_, index) => index)
      const making = InboundItems.make(
        session,
        {
          people: places.map((index) => ({ phone: phone(index), userId: `ES.${index}` })),
          messages: places.map((index) => ({ id: `m${index}`, from: phone(index), text: "STOP", at: now })),
          preferences: places.map((index) => ({
            phone: phone(index),
            purpose: "marketing",
            status: "revoked",
            at: now,
            proof: "Said so"
          }))
        },
        ids,
        now
      )
      let pieces = 0
      let made = making.next()
      for (; made.done !== true; made = making.next()) pieces += 1
      const phones = places.map(phone)
      const of = (kind: (item: InboundItem) => boolean) =>
        made.value.filter(kind).map(({ identity }) => identity?.person.phone)
      // Each text is told by one item, and what it says of consent by another.
      expect(of(({ message }) => message !== null)).toEqual(phones)
      expect(of(({ word }) => word !== null)).toEqual([...phones, ...phones])
      expect(made.value).toHaveLength(4 * places.length)
      expect(pieces).toBe(3 * places.length)
    })
  )

  it.effect("that came aside say what they say of consent once, and are told when they come to us", () =>
    Effect.gen(function* () {
      const ids = Ids.make(yield* Ids.RandomBytes)
      const stop = { id: "m1", from: phone(1), text: "STOP", at: now }
      const aside = { ...stop, isAside: true }
      const messages = [{ ...aside, id: "m0", text: "Hello" }, aside, stop]
      const making = InboundItems.make(session, { messages, people: [], preferences: [] }, ids, now)
      let made = making.next()
      while (made.done !== true) made = making.next()
      const window = { openUntil: now + Time.day, freeUntil: null, closedAt: null, asideAt: null }
      const itAside = { ...window, asideAt: now }
      expect(made.value).toMatchObject([
        { word: null, message: null, window: itAside },
        { word: null, message: null, window: itAside },
        { word: { status: "revoked" }, message: null },
        { word: null, message: { id: "m1", windowUntil: now + Time.day }, window },
        { word: { status: "revoked" }, message: null }
      ])
      const [, , first, , again] = made.value
      expect(again?.id).toBe(first?.id)
    })
  )
})

describe("a call, and what others answer", () => {
  it.effect(
    "open a window, or none, at the told time and never later than it came; neither is a message",
    () =>
      Effect.gen(function* () {
        const ids = Ids.make(yield* Ids.RandomBytes)
        const contacts = [
          { kind: "call", phone: phone(1), userId: null, at: Time.before(now, Time.hour) },
          { kind: "call", phone: null, userId: "ES.1", at: Time.after(now, Time.day), isAside: true },
          { kind: "answer", phone: phone(2), userId: null, at: null },
          { kind: "call", phone: null, userId: null, at: now }
        ] as const
        const brought = { contacts, messages: [], people: [], preferences: [] }
        const making = InboundItems.make(session, brought, ids, now)
        let made = making.next()
        while (made.done !== true) made = making.next()
        const none = { freeUntil: null, closedAt: null, asideAt: null }
        expect(made.value).toMatchObject([
          { message: null, word: null, window: { ...none, openUntil: now + 23 * Time.hour } },
          { message: null, word: null, window: { ...none, openUntil: now + Time.day, asideAt: now } },
          { message: null, word: null, window: { ...none, openUntil: 0, asideAt: now } }
        ])
        expect(made.value).toHaveLength(3)
      })
  )
})
