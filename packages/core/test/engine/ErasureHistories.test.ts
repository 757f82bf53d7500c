/**
 * Random histories of a shop whose people ask to be forgotten, at any moment: while a message of theirs waits, is under way, was
 * answered or is read; with hooks that come late and twice, receivers that fail, and old lists that are imported again. When an
 * erasure is done, the bytes of the database and the log have nothing of the person but the hash, and nothing goes to them.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { connection, migratedDatabase } from "../../../../test/support/Postgres.ts"
import { random } from "../../../../test/support/Random.ts"
import * as Seeds from "../../../../test/support/Seeds.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as ByTestClock from "../storage/postgres/ByTestClock.ts"
import type { Sent } from "./NamingPlatform.ts"
import * as NamingPlatform from "./NamingPlatform.ts"

interface Subject {
  readonly stores: Layer.Layer<Stores, unknown>
  /** All that the database keeps, with what is left of what it kept. */
  readonly content: Effect.Effect<string>
}

const sqlite: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-erasure-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )
  const read = (name: string) => readFileSync(join(folder, name)).toString("latin1")
  return {
    stores: Sqlite.layer({ filename: join(folder, "shop.db") }),
    content: Effect.sync(() =>
      existsSync(folder)
        ? readdirSync(folder)
            .map((name) => read(name))
            .join("\n")
        : ""
    )
  }
})

const postgres: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const client = yield* connection(url)
  const content = Effect.promise(async () => {
    const { rows: tables } = await client.query<{ readonly name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
    )
    const found: Array<string> = []
    for (const { name } of tables) {
      const { rows } = await client.query(`SELECT row_to_json(each)::text AS text FROM ${name} AS each`)
      for (const { text } of rows) found.push(text)
    }
    return found.join("\n")
  })
  return { stores: ByTestClock.over(url), content }
})

interface Someone {
  /** As the shop knows them, and as the platform names them. */
  readonly phone: string
  readonly account: string
  readonly userId: string
  readonly name: string
  readonly crm: string
  readonly words: string
  erased: "no" | "asked" | "done"
}

/** Where a text stands in another; empty where it does not. */
const around = (text: string, part: string): string => {
  const place = text.indexOf(part)
  return place < 0 ? "" : text.slice(Math.max(0, place - 200), place + 100)
}

const mexican = (rest: string): readonly [string, string] => [`52155${rest}`, `5255${rest}`]
const spanish = (rest: string): readonly [string, string] => [`346${rest}`, `346${rest}`]
const strange = (rest: string): readonly [string, string] => [`22507${rest}`, `225${rest}`]

const play = (seed: number, steps: number, { content, stores }: Subject) =>
  Effect.gen(function* () {
    const draw = random(seed)
    const upTo = (count: number) => Math.floor(draw() * count)
    const pick = <A>(all: ReadonlyArray<A>): A | undefined => all[upTo(all.length)]
    const digits = (count: number) => Array.from({ length: count }, () => upTo(10)).join("")

    const lines: Array<string> = []
    const logged = Logger.replace(
      Logger.defaultLogger,
      Logger.make((entry) => void lines.push(Logger.jsonLogger.log(entry)))
    )
    const shop = yield* Effect.provide(NamingPlatform.shopOver(stores), logged)
    const { account, admin, engine } = shop
    const people = [spanish, mexican, strange].map((kind): Someone => {
      const [phone, named] = kind(digits(8))
      return {
        phone,
        account: named,
        userId: `ES.${digits(18)}`,
        name: `Ana${digits(9)}`,
        crm: `crm-${digits(9)}`,
        words: `I am from ${digits(9)}`,
        erased: "no"
      }
    })
    for (const { account: named, phone, userId } of people)
      shop.names.set(phone, { phone: named, userId: draw() < 0.5 ? userId : null })

    const components = [{ type: "BODY", text: "Hello {{1}}", example: { body_text: [["Ana"]] } }]
    const { templates } = yield* admin.templates.importAll(shop.session.id, [
      { name: "greeting", language: "en", category: "UTILITY", status: "APPROVED", components }
    ])
    const greeting = templates[0]?.templateId ?? 0
    const url = "https://receiver.example/hooks"
    yield* admin.webhooks.create(account.id, { url, events: ["*"], batchRecipients: draw() < 0.3 })

    const owners = new Map<Sent, Someone>()
    const repeated: Array<Effect.Effect<void, unknown>> = []
    let count = 0
    let refusals = 0

    const consent = ({ phone }: Someone, occurredAt?: string) =>
      admin.consents.record(account.id, [
        { phone, source: "list", proof: `signed by ${phone}`, ...(occurredAt && { occurredAt }) }
      ])
    for (const someone of people) yield* consent(someone)
    const begun = Time.format(Time.at((yield* shop.seconds) * 1000))

    const send = Effect.fnUntraced(function* (some: ReadonlyArray<Someone>) {
      count += 1
      const who = yield* shop.caller
      const request = {
        templateId: greeting,
        recipients: some.map(({ crm, name, phone }) => ({
          phone,
          externalId: crm,
          variables: { "body.1": name }
        }))
      }
      return yield* Effect.either(
        engine.send(who, { idempotencyKey: `key-${some[0]?.phone}-${count}`, request })
      )
    })
    const write = Effect.fnUntraced(function* ({ name, phone }: Someone) {
      count += 1
      const who = yield* shop.caller
      return yield* Effect.either(
        engine.sendDirect(who, {
          idempotencyKey: `direct-${phone}-${count}`,
          request: { to: phone, message: `Hello ${name}` }
        })
      )
    })

    const ofErased = (all: ReadonlyArray<Someone>) => all.filter(({ erased }) => erased !== "no")

    const offer = Effect.gen(function* () {
      const some = people.filter(() => draw() < 0.6)
      if (some.length === 0) return
      const answer = yield* send(some)
      if (ofErased(some).length > 0) expect([seed, Either.isLeft(answer)]).toEqual([seed, true])
      if (Either.isLeft(answer)) refusals += 1
    })
    const chat = Effect.gen(function* () {
      const someone = pick(people)
      if (someone === undefined) return
      // One that is under way when its person is erased goes out.
      const { erased } = someone
      const answer = yield* write(someone)
      if (erased !== "no") expect([seed, Either.isLeft(answer)]).toEqual([seed, true])
    })
    const drain = Effect.gen(function* () {
      const before = shop.sent.length
      yield* shop.drain
      for (const message of shop.sent.slice(before)) {
        const someone = people.find(({ phone }) => phone === message.to)
        if (someone !== undefined) owners.set(message, someone)
      }
    })
    const receipt = Effect.gen(function* () {
      const found = pick([...owners])
      if (found === undefined) return
      const [message, { account: named, userId }] = found
      yield* shop.report(message, { phone: named, userId: draw() < 0.5 ? userId : null })
    })
    /** By the platform's id alone. */
    const bareReceipt = Effect.gen(function* () {
      const found = pick([...owners])
      if (found === undefined) return
      const [message, { account: named }] = found
      yield* shop.report({ ...message, messageId: "" }, { phone: named, userId: null })
    })
    const say = (body: (someone: Someone) => string) =>
      Effect.gen(function* () {
        const someone = pick(people.filter(({ erased }) => erased === "no"))
        if (someone === undefined) return
        const at = yield* shop.seconds
        const theirs = [...owners].filter(([, owner]) => owner === someone).map(([message]) => message)
        const context = draw() < 0.4 ? pick(theirs)?.wamid : undefined
        count += 1
        const id = `wamid.${Buffer.from(`${someone.account}.${count}`).toString("base64url")}`
        const hook = shop.message(
          { phone: someone.account, userId: draw() < 0.5 ? someone.userId : null },
          {
            id,
            type: "text",
            text: { body: body(someone) },
            ...(context === undefined ? {} : { context: { id: context } })
          },
          at
        )
        repeated.push(hook)
        yield* hook
      })
    const repeat = Effect.suspend(() => pick(repeated) ?? Effect.void)
    const unread = Effect.gen(function* () {
      const someone = pick(people.filter(({ erased }) => erased === "no"))
      if (someone === undefined) return
      yield* shop.hook({ odd: { wa_id: someone.account, name: someone.name } }, "odd_news")
    })
    const fail = Effect.gen(function* () {
      // Receivers name nobody whom they are told no more.
      const someone = pick(people.filter(({ erased }) => erased === "no"))
      if (someone === undefined) return
      const excerpt = `No customer ${someone.name} with ${someone.phone}`
      const status = draw() < 0.5 ? 500 : 200
      yield* shop.recorder.answer(url, { _tag: "Answered", status, retryAfter: null, excerpt })
    })
    const erase = (someone: Someone) =>
      Effect.gen(function* () {
        if (someone.erased === "no") someone.erased = "asked"
        yield* shop.recorder.answer(url, { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" })
        const by =
          draw() < 0.7
            ? { phone: draw() < 0.5 ? `+${someone.phone}` : `00${someone.phone}` }
            : { phone: someone.phone }
        const { erasure } = yield* admin.people.erase({ ...by, reason: `asked by ${someone.phone}` })
        expect(erasure?.nextAt).not.toBe(null)
      }).pipe(Effect.orDie)
    const forget = Effect.gen(function* () {
      const someone = pick(people.slice(0, 2))
      if (someone === undefined || draw() < 0.6) return
      if (draw() < 0.5) yield* erase(someone)
      else if (shop.meanwhile.length === 0) {
        yield* send([someone])
        shop.meanwhile.push(erase(someone))
      }
    })
    const oldList = Effect.gen(function* () {
      const someone = pick(people)
      if (someone === undefined) return
      const [result] = yield* consent(someone, begun)
      if (someone.erased !== "no") expect([seed, result?._tag]).toEqual([seed, "Refused"])
    })

    const kinds = [
      offer,
      offer,
      offer,
      chat,
      drain,
      drain,
      receipt,
      receipt,
      bareReceipt,
      say(({ words }) => words),
      say(() => "STOP"),
      say(() => "START"),
      say(({ words }) => `can you stop the order, ${words}`),
      repeat,
      unread,
      fail,
      oldList,
      forget
    ]
    const steps_ = Effect.fnUntraced(function* (times: number) {
      for (let step = 0; step < times; step++) {
        yield* TestClock.adjust("3 seconds")
        yield* pick(kinds) ?? Effect.void
      }
    })

    yield* Effect.gen(function* () {
      yield* steps_(steps)
      shop.meanwhile.length = 0
      const [first] = people
      if (first !== undefined) yield* erase(first)
      yield* steps_(Math.floor(steps / 4))
      shop.meanwhile.length = 0
      // What was under way ends, and the last sweeps come.
      for (let minute = 0; minute < 3; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* drain
      }
      const gone = ofErased(people)
      const unfinished = (yield* admin.people.erasures({ limit: 100, after: null })).items.filter(
        ({ nextAt }) => nextAt !== null
      )
      expect([seed, unfinished]).toEqual([seed, []])
      for (const someone of gone) someone.erased = "done"
      // Late, and again.
      for (const message of owners.keys()) {
        const someone = owners.get(message)
        if (someone !== undefined)
          yield* shop.report(message, { phone: someone.account, userId: someone.userId })
      }
      for (const hook of repeated) yield* hook
      yield* steps_(5)
      yield* drain
      for (const someone of gone) {
        expect([seed, Either.isLeft(yield* send([someone]))]).toEqual([seed, true])
        expect([seed, Either.isLeft(yield* write(someone))]).toEqual([seed, true])
      }
      const stored = yield* content
      const log = lines.join("\n")
      for (const { account: named, crm, name, phone, userId, words } of gone) {
        for (const secret of [phone, named, userId, name, crm, words.slice(10)]) {
          // Platforms' ids of messages have the number in them, in Base64.
          for (const form of [secret, Buffer.from(secret).toString("base64url").slice(0, 12)]) {
            expect([seed, form, around(stored, form)]).toEqual([seed, form, ""])
            expect([seed, form, around(log, form)]).toEqual([seed, form, ""])
          }
        }
      }
      const [, , other] = people
      if (other?.erased === "no") expect([seed, stored.includes(other.phone)]).toEqual([seed, true])
    }).pipe(Effect.provide(logged))
    return { gone: ofErased(people).length, refusals }
  })

const histories = (subject: Effect.Effect<Subject, never, Scope.Scope>, seeds: ReadonlyArray<Seeds.Seeds>) =>
  Effect.gen(function* () {
    const total = { gone: 0, refusals: 0, histories: 0 }
    for (const { from, until } of seeds) {
      for (let seed = from; seed <= until; seed++) {
        const { gone, refusals } = yield* Effect.scoped(
          Effect.flatMap(subject, (each) => play(seed, 40, each))
        )
        total.gone += gone
        total.refusals += refusals
        total.histories += 1
      }
    }
    expect(total.gone).toBeGreaterThanOrEqual(total.histories)
    return total
  })

// `ERASURE_SEEDS=200` plays so many on each database.
const asked = Seeds.asked("ERASURE_SEEDS")

describe("random histories with erasures", () => {
  it.scoped(
    "leave nothing of who was erased in a SQLite file",
    () => histories(sqlite, asked ?? Seeds.handful(2, 1)),
    1_800_000
  )
  it.scoped(
    "leave nothing of them in PostgreSQL",
    () => histories(postgres, asked ?? Seeds.handful(1, 1)),
    1_800_000
  )
})
