/** The audit log, a row for each act. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Query } from "../../domain/Audit.ts"
import * as Audit from "../../domain/Audit.ts"
import * as Page from "../../domain/Page.ts"
import { AuditStore } from "../AuditStore.ts"
import type { Program, SqlParameter } from "../Program.ts"
import { all, run } from "../Program.ts"
import { auditEntries } from "./codec/AuditEntry.ts"
import { Database } from "./Database.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto } from "./Insert.ts"
import { end, limited } from "./RowReader.ts"

const insert = insertInto("sendwright_audit", auditEntries.names)

/** Looks at the oldest rows alone, however long the log is. */
const prune = `DELETE FROM sendwright_audit
  WHERE seq < (SELECT min(seq) FROM sendwright_audit) + ${Audit.prunedAtOnce} AND at < ?`

/** The index by time has another order, and is not to be taken for a filter. */
const filter = `${["target", "operation", "operator"].map((column) => `(CAST(? AS text) IS NULL OR ${column} = ?)`).join(" AND ")}
    AND at + 0 >= ? AND at + 0 < ?`

const walk = (...columns: ReadonlyArray<string>) =>
  IndexScan.make("sendwright_audit", `seq, ${auditEntries.list}`, columns, filter)

/** Each has its index. */
const walks = {
  target: walk("target"),
  operation: walk("operation"),
  operator: walk("operator"),
  all: walk()
}

/** Walks by the part of the query that leaves the fewest entries. */
const walkOf = ({
  operation,
  operator,
  target
}: Query): readonly [IndexScan.IndexScan, ReadonlyArray<SqlParameter>] => {
  if (target !== undefined) return [walks.target, [target]]
  if (operation !== undefined) return [walks.operation, [operation]]
  return operator !== undefined ? [walks.operator, [operator]] : [walks.all, []]
}

/** Undefined where the walk itself is all that was asked for. */
const filterOf = ({
  from,
  operation,
  operator,
  target,
  to
}: Query): ReadonlyArray<SqlParameter> | undefined => {
  const texts = [target, operation, operator]
  const isTime = from !== undefined || to !== undefined
  if (!isTime && texts.filter((each) => each !== undefined).length <= 1) return undefined
  return [...texts.flatMap((each) => [each ?? null, each ?? null]), from ?? -end, to ?? end]
}

/** A page of what the filters leave of the next rows, which may be nothing although others follow. */
function* list(query: Query): Program<Page.Paged<Audit.Entry>> {
  const [walk, values] = walkOf(query)
  return Page.map(yield* IndexScan.pageOf(walk, values, query.page, filterOf(query)), auditEntries.read)
}

export function* append(entry: Audit.Entry): Program<void> {
  yield* run(insert, ...auditEntries.write(entry))
}

const between = `SELECT ${auditEntries.list} FROM sendwright_audit
  WHERE at >= ? AND at < ? ORDER BY at DESC, seq DESC ${limited}`

export const layer: Layer.Layer<AuditStore, never, Database> = Layer.effect(
  AuditStore,
  Effect.map(Database, (db) => ({
    serialize: (target) => db.write("AuditStore.serialize", () => db.dialect.serialize(`act on ${target}`)),
    append: ({ entry, retainSince }) =>
      db.write("AuditStore.append", function* () {
        yield* run(prune, retainSince)
        yield* append(entry)
      }),
    between: ({ from, limit, to }) =>
      db.readPage("AuditStore.between", function* () {
        return (yield* all(between, from, to, limit)).map(auditEntries.read)
      }),
    list: (query) =>
      IndexScan.untilFound(
        (page) => db.readPage("AuditStore.list", () => list({ ...query, page })),
        query.page
      )
  }))
)
