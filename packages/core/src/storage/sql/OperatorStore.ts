/** Operators, a row each with the hashes of their tokens. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import type { Operator } from "../../domain/Operator.ts"
import * as Page from "../../domain/Page.ts"
import { OperatorStore } from "../OperatorStore.ts"
import type { Program } from "../Program.ts"
import { all, changes, get, run } from "../Program.ts"
import { operators } from "./codec/Operator.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { limited, newestFirst, seq } from "./RowReader.ts"

const insert = `${insertInto("sendwright_operator", operators.names)} ON CONFLICT (name) DO NOTHING`

const byName = `SELECT ${operators.list} FROM sendwright_operator WHERE name = ?`

/** An unknown name reads another operator, as in `ApiKeyStore`. */
const byNameOrAny = `SELECT ${operators.list} FROM sendwright_operator WHERE seq = coalesce(
  (SELECT seq FROM sendwright_operator WHERE name = ?), (SELECT max(seq) FROM sendwright_operator)
)`

const changeable = operators.only("status", "secrets")

const update = `UPDATE sendwright_operator SET ${changeable.assignments} WHERE name = ?`

export const layer: Layer.Layer<OperatorStore, never, Database> = Layer.effect(
  OperatorStore,
  Effect.map(Database, (db) => {
    const toChange = byName + db.dialect.forUpdate("sendwright_operator")

    /** Changes an operator that is locked meanwhile; null when there is none. */
    function* change(name: string, changed: (found: Operator) => Operator): Program<Operator | null> {
      const row = yield* get(toChange, name)
      if (row === undefined) return null
      const operator = changed(operators.read(row))
      yield* run(update, ...changeable.write(operator), name)
      return operator
    }

    return {
      create: (operator) =>
        db.write("OperatorStore.create", function* () {
          return (yield* changes(insert, ...operators.write(operator))) > 0
        }),
      find: (name) =>
        db.read("OperatorStore.find", function* () {
          const row = yield* get(byNameOrAny, name)
          const found = row === undefined ? null : operators.read(row)
          return found?.name === name ? found : null
        }),
      list: (page) =>
        db.readPage("OperatorStore.list", function* () {
          const rows = yield* all(
            `SELECT seq, ${operators.list} FROM sendwright_operator WHERE seq < ? ORDER BY seq DESC ${limited}`,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), operators.read)
        }),
      rotate: ({ expireOthersAt, name, now, secret }) =>
        db.write("OperatorStore.rotate", () =>
          change(name, (found) => ApiKey.rotate(found, secret, expireOthersAt, now))
        ),
      revoke: (name) =>
        db.write("OperatorStore.revoke", () => change(name, (found) => ({ ...found, status: "revoked" }))),
      rehash: ({ from, name, to }) =>
        db.write("OperatorStore.rehash", function* () {
          yield* change(name, (found) => ApiKey.rehash(found, from, to))
        }),
      touch: ({ name, now }) =>
        db.write("OperatorStore.touch", function* () {
          yield* run("UPDATE sendwright_operator SET last_used_at = ? WHERE name = ?", now, name)
        })
    }
  })
)
