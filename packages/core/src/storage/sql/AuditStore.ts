/** The audit log, a row for each act. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Audit from "../../domain/Audit.ts"
import * as Page from "../../domain/Page.ts"
import { AuditStore } from "../AuditStore.ts"
import { auditEntries } from "./codec/AuditEntry.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import type { SqlParameter } from "./Program.ts"
import { all, run } from "./Program.ts"
import { limited, newestFirst, seq } from "./RowReader.ts"

const insert = insertInto("sendwright_audit", auditEntries.names)

/** Looks at the oldest rows alone, however long the log is. */
const prune = `DELETE FROM sendwright_audit
  WHERE seq < (SELECT min(seq) FROM sendwright_audit) + ${Audit.prunedAtOnce} AND at < ?`

const conditions = {
  operator: "operator = ?",
  operation: "operation = ?",
  target: "target = ?",
  from: "at >= ?",
  to: "at < ?"
} as const

const names = ["operator", "operation", "target", "from", "to"] as const

export const layer: Layer.Layer<AuditStore, never, Database> = Layer.effect(
  AuditStore,
  Effect.map(Database, (db) => ({
    serialize: (target) => db.write("AuditStore.serialize", () => db.dialect.serialize(`act on ${target}`)),
    append: ({ entry, retainSince }) =>
      db.write("AuditStore.append", function* () {
        yield* run(prune, retainSince)
        yield* run(insert, ...auditEntries.write(entry))
      }),
    list: ({ page, ...query }) =>
      db.read("AuditStore.list", function* () {
        const given = names.flatMap((name): ReadonlyArray<readonly [string, SqlParameter]> => {
          const value = query[name]
          return value === undefined ? [] : [[conditions[name], value]]
        })
        const where = ["seq < ?", ...given.map(([condition]) => condition)].join(" AND ")
        const [before, limit] = newestFirst(page)
        const rows = yield* all(
          `SELECT seq, ${auditEntries.list} FROM sendwright_audit WHERE ${where} ORDER BY seq DESC ${limited}`,
          before,
          ...given.map(([, value]) => value),
          limit
        )
        return Page.map(Page.cut(rows, page.limit, seq), auditEntries.read)
      })
  }))
)
