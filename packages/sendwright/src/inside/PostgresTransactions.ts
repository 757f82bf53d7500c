/**
 * Adapters: each makes one contract, {@link Query}, of a library's open transaction, and imports nothing of the library. What is
 * none of its transactions is refused with what to give.
 */

import type { Transaction } from "../api/Messages.ts"
import type * as Api from "../api/Postgres.ts"
import { adapterOf, isFunction, type Kinds, memberOf, postgres, refusal } from "./Transactions.ts"

const isRows = (value: unknown): value is Api.Rows => Array.isArray(value)

const rowsOf = (value: unknown): Api.Rows => {
  const rows = isRows(value) ? value : memberOf(value, "rows")
  if (isRows(rows)) return rows
  throw new TypeError("The transaction answered no rows.")
}

/** A statement by a method that takes the text and the values, whatever it answers. */
const by =
  (owner: object, method: unknown, textOf: (text: string) => string = (text) => text): Api.Query["query"] =>
  async (text, values) =>
    rowsOf(isFunction(method) ? await Reflect.apply(method, owner, [textOf(text), values]) : undefined)

/** As the server refuses a statement outside a transaction; the libraries refuse it in words of their own, or not at all. */
class Over extends Error {
  readonly code = "25P01"
}

interface Ends {
  /** True once the library knows that the transaction has ended. */
  readonly isOver?: () => boolean
  /** The same, by how it refuses a statement. */
  readonly tellsOver?: (error: unknown) => boolean
}

const never = (): boolean => false

const made = (query: Api.Query["query"], { isOver = never, tellsOver = never }: Ends = {}): Transaction =>
  postgres.mark<Transaction>(
    { database: "postgres" },
    {
      query: async (text, values) => {
        if (isOver()) throw new Over()
        try {
          return await query(text, values)
        } catch (error) {
          throw tellsOver(error) ? new Over() : error
        }
      }
    }
  )

/** By what no other library's has. A client of `pg` comes last: others have a `query`, too. */
const kinds: Kinds = {
  fromDrizzle: (given) => isFunction(memberOf(given, "rollback")) && memberOf(given, "session") !== undefined,
  fromKysely: (given) => isFunction(memberOf(given, "executeQuery")),
  fromKnex: (given) => isFunction(memberOf(given, "raw")),
  fromPrisma: (given) => isFunction(memberOf(given, "$queryRawUnsafe")),
  fromTypeorm: (given) =>
    memberOf(given, "queryRunner") !== undefined || memberOf(given, "isTransactionActive") !== undefined,
  fromPostgresJs: (given) => isFunction(memberOf(given, "unsafe")),
  fromPg: (given) => isFunction(memberOf(given, "query")) && !isPool(given)
}
const expect = (isIt: boolean, adapter: string, what: string, given: unknown): void => {
  if (!isIt) throw refusal(kinds, adapter, what, given)
}

/** A pool runs each statement on another connection. */
const isPool = (value: unknown): boolean => memberOf(value, "totalCount") !== undefined

/** A pool of `pg` gives a client another `release` each time that it hands it out: a later transaction of it is another's. */
const handedOut = (client: unknown): Ends => {
  const release = memberOf(client, "release")
  return { isOver: () => memberOf(client, "release") !== release }
}

export const fromPg = (client: Api.PgClient): Transaction => {
  expect(
    adapterOf(kinds, client) === "fromPg",
    "fromPg",
    "a client of `pool.connect()` after its BEGIN, not the pool",
    client
  )
  return made(by(client, client.query), handedOut(client))
}

/** The driver would encode a value again that is cast to JSON or an array, which is text already. */
const asText = (text: string): string => text.replace(/(\$\d+)::(?!text\b(?!\[))/g, "$1::text::")

export const fromPostgresJs = (sql: Api.PostgresJsTransaction): Transaction => {
  const isOpen = isFunction(memberOf(sql, "unsafe")) && isFunction(memberOf(sql, "savepoint"))
  expect(isOpen, "fromPostgresJs", "the `sql` that `sql.begin(async (sql) => …)` hands over", sql)
  return made(by(sql, sql.unsafe, asText))
}

export const fromDrizzle = (tx: Api.DrizzleTransaction): Transaction => {
  const client = memberOf(memberOf(tx, "session"), "client")
  const isOpen = isFunction(memberOf(tx, "rollback")) && typeof client !== "undefined" && !isPool(client)
  const unsafe = memberOf(client, "unsafe")
  const query = isFunction(unsafe) ? unsafe : memberOf(client, "query")
  const isKnown = isOpen && isFunction(query) && isObject(client)
  expect(isKnown, "fromDrizzle", "the `tx` of `db.transaction(async (tx) => …)` over `pg` or postgres.js", tx)
  const run = by(isObject(client) ? client : tx, query, isFunction(unsafe) ? asText : undefined)
  return made(run, handedOut(client))
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function"

export const fromKysely = (trx: Api.KyselyTransaction): Transaction => {
  const isOpen = memberOf(trx, "isTransaction") === true && isFunction(memberOf(trx, "executeQuery"))
  expect(isOpen, "fromKysely", "the `trx` of `db.transaction().execute(async (trx) => …)`", trx)
  // The app's plugins are for the app's rows: they rename columns, and read what looks like JSON.
  const plain = trx.withoutPlugins()
  const execute: unknown = plain.executeQuery
  return made(
    async (sql, parameters) => {
      const node = { kind: "RawNode", sqlFragments: [sql], parameters: [] }
      const query = { sql, parameters, query: node, queryId: { queryId: "sendwright" } }
      return rowsOf(isFunction(execute) ? await Reflect.apply(execute, plain, [query]) : undefined)
    },
    { tellsOver: (error) => /^Transaction is already /.test(String(memberOf(error, "message"))) }
  )
}

/** Knex writes `?` for each value, and takes a backslash before one that is an operator. */
const asQuestions = (text: string): string => text.replaceAll("?", "\\?").replace(/\$\d+/g, "?")

export const fromKnex = (trx: Api.KnexTransaction): Transaction => {
  const isOpen = isFunction(memberOf(trx, "raw")) && isFunction(memberOf(trx, "isCompleted"))
  expect(isOpen, "fromKnex", "the `trx` of `knex.transaction(async (trx) => …)`", trx)
  return made(by(trx, trx.raw, asQuestions), { isOver: () => trx.isCompleted() })
}

export const fromPrisma = (tx: Api.PrismaTransaction): Transaction => {
  const query = memberOf(tx, "$queryRawUnsafe")
  // A client that can connect is none. Newer ones can begin another transaction inside one.
  const isOpen = isFunction(query) && !isFunction(memberOf(tx, "$connect"))
  expect(isOpen, "fromPrisma", "the `tx` of `prisma.$transaction(async (tx) => …)`", tx)
  return made(async (text, values) => rowsOf(await tx.$queryRawUnsafe(asText(text), ...values)), {
    // The transaction was closed, or has lasted for longer than its `timeout`.
    tellsOver: (error) => memberOf(error, "code") === "P2028"
  })
}

export const fromTypeorm = (manager: Api.TypeormTransaction): Transaction => {
  const runner = memberOf(manager, "queryRunner") ?? manager
  const query = memberOf(runner, "query")
  const isOpen = isFunction(query) && isObject(runner) && memberOf(runner, "isTransactionActive") === true
  expect(isOpen, "fromTypeorm", "the `manager` of `dataSource.transaction(async (manager) => …)`", manager)
  const statement: Api.Query["query"] = async (text, values) => {
    const structured = isFunction(query)
      ? await Reflect.apply(query, runner, [text, values, true])
      : undefined
    return rowsOf(memberOf(structured, "records"))
  }
  return made(statement, { isOver: () => memberOf(runner, "isTransactionActive") !== true })
}
