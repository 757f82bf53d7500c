/**
 * What a column says of itself is what becomes of it. In a table that no other code knows, one that tells of a person is found, shown,
 * masked, taken when they are erased, and purged; and in each table that there is nothing is left of who was erased.
 */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Masking from "../../src/api/Masking.ts"
import * as Erasure from "../../src/domain/Erasure.ts"
import * as Person from "../../src/domain/Person.ts"
import * as Retention from "../../src/domain/Retention.ts"
import { ErasureStore } from "../../src/storage/ErasureStore.ts"
import { all, run, type SqlValue } from "../../src/storage/Program.ts"
import * as PostgresDatabase from "../../src/storage/postgres/Database.ts"
import { migrations as ofPostgres } from "../../src/storage/postgres/Schema.ts"
import type { Described, DescribedTable } from "../../src/storage/sql/Columns.ts"
import { exact, instant, table, text, textOrNull } from "../../src/storage/sql/Columns.ts"
import { Database } from "../../src/storage/sql/Database.ts"
import * as SqlErasureStore from "../../src/storage/sql/ErasureStore.ts"
import { searchedOf, tables } from "../../src/storage/sql/ErasureTables.ts"
import { insertInto } from "../../src/storage/sql/Insert.ts"
import * as Personal from "../../src/storage/sql/Personal.ts"
import { walkOf } from "../../src/storage/sql/RetentionRows.ts"
import { everyTable } from "../../src/storage/sql/Schema.ts"
import * as SqliteDatabase from "../../src/storage/sqlite/Database.ts"
import { migrations as ofSqlite } from "../../src/storage/sqlite/Schema.ts"
import { now } from "../StorageSuite/Setup.ts"

const databases = {
  SQLite: SqliteDatabase.layer({ filename: ":memory:", migrations: ofSqlite }),
  PostgreSQL: Layer.unwrapScoped(
    Effect.map(migratedDatabase, (url) =>
      PostgresDatabase.layer({ url: Redacted.make(url), migrations: ofPostgres })
    )
  )
}

const [phone, other] = ["34600000000", "34600000001"]
const userId = "ES.12"
const names: ReadonlyArray<Erasure.Name> = [
  { kind: "phone", text: phone, token: Erasure.tokenOf("aa") },
  { kind: "user", text: userId, token: Erasure.tokenOf("bb") }
]
const sought: Erasure.Sought = { names: { given: names, ofAccounts: {} }, accounts: null }

const notes = table("scratch_note", {
  kept: { walk: "unattributed", at: "noted_at" },
  part: "texts",
  key: ["seq"]
})({
  account: exact("account", Personal.impersonal),
  phone: text("phone", Personal.phone),
  nickname: textOrNull("nickname", Personal.said),
  remark: text("remark", Personal.mention),
  noted_at: instant("noted_at", Personal.impersonal)
})

const create = `CREATE TABLE scratch_note (seq BIGINT PRIMARY KEY, account TEXT NOT NULL, phone TEXT NOT NULL, nickname TEXT,
  remark TEXT NOT NULL, noted_at BIGINT NOT NULL)`
const insert = insertInto("scratch_note", ["seq", ...notes.names])

/** A text of a column that names them, in the form that it has. */
const namingThem = ({ isJson, name, personal }: Described): string => {
  if (personal === Personal.event)
    return JSON.stringify({
      type: "message.received",
      data: { from: phone, user_id: userId, text: `+${phone}` }
    })
  if (personal === Personal.report)
    return JSON.stringify({ named: { phone, userId }, failure: { message: phone } })
  if (personal === Personal.mentionInFilter)
    return JSON.stringify({ filter: { reference: `for ${phone}` }, selection: {} })
  if (personal === Personal.personKey) return name === "other" ? Person.keyOfUser(userId, "p") : phone
  if (personal === Personal.phone || personal === Personal.knownPhone) return phone
  if (personal === Personal.knownUserId) return userId
  return isJson || personal === Personal.mentionInJson
    ? JSON.stringify({ of: `+${phone} and ${userId}` })
    : `+${phone} and ${userId}`
}

const valueOf = (column: Described): SqlValue => {
  if (column.personal !== null) return namingThem(column)
  return column.type === "bigint" ? 1 : column.isJson ? "{}" : "x"
}

const isNumber = ({ sql }: Described): boolean => sql === "key"

/** A row of which each column that is personal names them. */
const fill = (filled: DescribedTable) => {
  const columns = filled.ordered.filter((column) => !isNumber(column))
  return run(
    insertInto(
      filled.name,
      columns.map(({ name }) => name)
    ),
    ...columns.map(valueOf)
  )
}

describe.each(Object.entries(databases))("columns that tell of a person (%s)", (_, database) => {
  const layer = SqlErasureStore.layer.pipe(Layer.provideMerge(database))

  it.effect("are found, shown, masked, erased and purged by what they say of themselves", () =>
    Effect.gen(function* () {
      const db = yield* Database
      yield* db.write("create", function* () {
        yield* run(create)
        yield* run(insert, 1, "account", phone, "Ana", "likes tea", now)
        yield* run(insert, 2, "account", other, "Ben", `friend of ${phone}`, now)
        yield* run(insert, 3, "account", other, "Ben", "likes tea", now)
      })
      const searched = searchedOf(notes)
      const { rows } = yield* db.read("find", () =>
        SqlErasureStore.searching(db.dialect, searched)(sought, null)
      )
      expect(rows.map((row) => row["seq"])).toEqual([1, 2])
      const redaction = Erasure.redactions(sought)(null)
      const shown = rows.map((row) => searched.shown(row, redaction))
      const theirs = { account_id: "account", phone, nickname: "Ana", remark: "likes tea" }
      expect(shown).toEqual([{ ...theirs, noted_at: new Date(now).toISOString() }, {}])
      const masked = Masking.maskOf(Schema.Unknown)(shown, Masking.hiding("/"))
      expect(JSON.stringify(masked)).not.toContain(phone)

      yield* db.write("erase", function* () {
        for (const row of rows) yield* searched.erase(row, redaction)
      })
      const read = db.read("read", () =>
        all(`SELECT ${notes.names.join(", ")} FROM scratch_note ORDER BY seq`)
      )
      expect((yield* read).map(({ nickname, phone, remark }) => [phone, nickname, remark])).toEqual([
        ["erased:aa", null, "likes tea"],
        [other, "Ben", "friend of erased:aa"],
        [other, "Ben", "likes tea"]
      ])

      const walk = walkOf(notes, 10)
      const query = { after: null, limit: 10, accounts: [] }
      const [first, ...rest] = yield* db.read("page", () => walk.page(query))
      expect([first?.bytes, first?.at, rest.length]).toEqual(["erased:aalikes tea".length + 10, now, 2])
      expect(
        Retention.isDue(
          "unattributed",
          first ?? { endedAt: null, isDone: true, retention: Retention.defaults },
          now
        )
      ).toBe(false)
      yield* db.write("purge", () => walk.remove(rest, now))
      expect(yield* read).toHaveLength(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are all looked through by the part of an erasure that they name", () =>
    Effect.gen(function* () {
      const db = yield* Database
      const store = yield* ErasureStore
      for (const searched of Object.values(tables)) {
        const { name, ordered, part = "texts" } = searched.table
        yield* db.write("fill", () => fill(searched.table))
        const { found } = yield* store.find({ part, after: null, sought })
        const personal = ordered.filter((column) => column.personal !== null)
        expect([name, found.length]).toEqual([name, 1])
        yield* store.erase({ erasureId: "none", part, after: null, sought, now })
        const left = yield* db.read("left", () =>
          all(`SELECT ${personal.map(({ name }) => name).join(", ")} FROM ${name}`)
        )
        const text = JSON.stringify(left)
        expect([name, text.includes(phone), text.includes(userId)]).toEqual([name, false, false])
      }
      const looked = new Set(Object.values(tables).map(({ table }) => table.name))
      const ofPeople = everyTable.filter(({ part }) => part !== undefined && part !== "recipients")
      expect(ofPeople.filter(({ name }) => !looked.has(name))).toEqual([])
    }).pipe(Effect.provide(layer))
  )
})
