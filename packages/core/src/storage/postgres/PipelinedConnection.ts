/** How a verb runs over a connection: prepared statements, in a transaction, again after a collision. */
import { createHash } from "node:crypto"
import { TransactionConnection } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import Pg from "pg"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as Timers from "../../runtime/Timers.ts"
import type { Answer, Program, Row, SqlParameter, Statement } from "../Program.ts"
import { fullDisk, StorageError } from "../StorageError.ts"
import * as Slow from "../sql/Slow.ts"
import type { Server } from "./Server.ts"
import * as SqlState from "./SqlState.ts"

/** The longest that a statement waits for a lock, in milliseconds. */
export const lockTimeout = 5_000

// Every statement of ours has its index and asks for few rows by it. A table that was empty at its last ANALYZE looks
// small to the planner, which would read the whole of it: row by row, or once to hash or merge it. So a plan that knows
// the parameters is no better than one for all, and that one is made once.
// No statement of ours takes long: what takes longer has lost its server or waits for a lock that stays.
const settings: ReadonlyArray<string> = [
  "statement_timeout = 10000",
  `lock_timeout = ${lockTimeout}`,
  "idle_in_transaction_session_timeout = 10000",
  "enable_seqscan = off",
  "enable_hashjoin = off",
  "enable_mergejoin = off",
  "plan_cache_mode = force_generic_plan",
  // Such plans look dear, and a server with LLVM would compile them for 80 ms each time.
  "jit = off"
]

const begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

const setAll = (scope: "SET" | "SET LOCAL"): string =>
  settings.map((setting) => `${scope} ${setting}`).join("; ")

/** `int8` and sums, which the driver leaves as text; none of ours is beyond 2^53. */
const toNumber = Number
const int8 = 20

const types: Pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === int8 && format !== "binary" ? toNumber : Pg.types.getTypeParser(type, format)
}

interface Prepared {
  /** Undefined where a connection may not have what was prepared on it. */
  readonly name: string | undefined
  readonly text: string
}

export interface Prepare {
  /** The statement in PostgreSQL's notation of parameters, under a name that each connection prepares once. */
  readonly statement: (text: string) => Prepared
  /** Hears what the server refused: a connection without what was prepared on it is shared, and names end. */
  readonly refused: (error: unknown) => void
  /**
   * Sets on a connection of the engine's own what its transactions need, so that none of them has to. Once it is there, since a
   * pooler refuses to begin one with settings; one that shares connections would give them to other clients.
   */
  readonly settle: (client: Pg.Client) => Promise<void>
  /** True where no transaction has to set what it needs for itself. */
  readonly isSettled: (client: Pg.Client) => boolean
  /** Begins a transaction. Where the connection is another's, too, it sets what it needs for itself. */
  readonly begin: (client: Pg.Client) => string
}

/** A name means one text in every process and every build, whoever shares the server's connection (contract.md §13). */
const statementName = (text: string): string =>
  `sendwright_${createHash("sha256").update(text).digest("base64url").slice(0, 32)}`

/** A prepared statement that is not there, and one that is there already. Nothing happened. */
const strange: ReadonlyArray<string> = ["26000", "42P05"]

/** @param onShared is called when a pooler is found that was not there before */
export const makePrepare = (server: Server, onShared: () => void = () => {}): Prepare => {
  const prepared = new Map<string, Prepared>()
  const settled = new WeakSet<Pg.Client>()
  const isSettled = (client: Pg.Client): boolean => settled.has(client) && !server.isShared
  const named = (text: string): Prepared => {
    const known = prepared.get(text)
    if (known !== undefined) return known
    let place = 0
    const numbered = text.replaceAll("?", () => {
      place += 1
      return `$${place}`
    })
    const fresh = { name: statementName(numbered), text: numbered }
    prepared.set(text, fresh)
    return fresh
  }
  return {
    statement: (text) => (server.isShared ? { ...named(text), name: undefined } : named(text)),
    refused: (error) => {
      if (server.isShared || !strange.includes(SqlState.sqlStateOf(error))) return
      server.isShared = true
      onShared()
    },
    settle: async (client) => {
      if (server.isShared) return
      await client.query(setAll("SET"))
      settled.add(client)
    },
    isSettled,
    begin: (client) => (isSettled(client) ? begin : `${begin}; ${setAll("SET LOCAL")}`)
  }
}

/**
 * PostgreSQL's text has no NUL. What callers give us has none either; what platforms and receivers answer may have,
 * and must not keep the rest of their answer from being recorded.
 */
const storable = (parameter: SqlParameter): SqlParameter =>
  typeof parameter === "string" && parameter.includes("\0") ? parameter.replaceAll("\0", "\ufffd") : parameter

/** An error of the driver or the server; anything else that is thrown in a verb is a bug of ours. */
export class Refused {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/**
 * Serialization failure, deadlock, and a row that another committed after we had looked for it: nothing happened, and it
 * passes when it is done again.
 */
const isCollision = (cause: unknown): boolean =>
  ["40001", "40P01", "23505", ...strange].includes(SqlState.sqlStateOf(cause))

const lockNotGiven = "55P03"

/** A lock that was not given in time. */
export const isLockTimeout = (cause: unknown): boolean =>
  cause instanceof Refused && SqlState.sqlStateOf(cause.cause) === lockNotGiven

/** Data exceptions, integrity constraints and program limits (PostgreSQL's documentation, appendix A). */
const ofContent = /^(22|23|54)/

/** Transactions that were rolled back, and locks that were not given in time. But for one: 40003 does not say what was made. */
const collisions = /^(40(?!003)|55P03)/

/**
 * Connections, transactions that only read or took too long, savepoints that were not made after an earlier failure,
 * prepared statements of another client's, resources, cancellations and stops, errors of the system.
 */
const passing = /^(08|25006|25P0[34]|26000|3B001|40|42P05|53|55|57|58)/

/** As `StorageError.fault`. */
const faultOf = (cause: unknown): StorageError["fault"] => {
  const code = SqlState.sqlStateOf(cause)
  if (ofContent.test(code)) return "content"
  if (collisions.test(code)) return "collision"
  return passing.test(code) ? "unavailable" : undefined
}

/** Why a transaction that was handed over cannot be used, by its SQLSTATE. */
const unusable: Readonly<Record<string, string>> = {
  "25001":
    "its isolation level is not READ COMMITTED, in which alone this operation sees what others have committed. Hand over one of READ COMMITTED, which is PostgreSQL's default; a send takes any.",
  "25006": "the transaction is read only. Hand over one that may write.",
  "25P01":
    "no transaction is open on the client that was handed over. Hand over the client that it was begun on, and not a pool, between its BEGIN and its COMMIT.",
  "25P02": "an earlier statement of the transaction failed, and nothing but a rollback is left of it.",
  "42501":
    "its role may not write the engine's tables. Grant it SELECT, INSERT, UPDATE and DELETE on them, and the use of their sequences.",
  "42P01":
    "the transaction is of a database, or of a search_path, without the engine's tables. Hand over one of the engine's own database."
}

/** The same, where the server refuses no statement. */
export class Unusable extends Error {}

/** Serialization failures and deadlocks: to repeat the operation in the same transaction helps nothing. */
const collided = (code: string): string | undefined =>
  collisions.test(code) && code !== lockNotGiven
    ? `another transaction was in the way (SQLSTATE ${code}). Roll back, and run the whole transaction again.`
    : undefined

const reasonOf = (cause: unknown): string | undefined => {
  const code = SqlState.sqlStateOf(cause)
  return cause instanceof Unusable ? cause.message : (unusable[code] ?? collided(code))
}

/**
 * The part of a client's error that is kept. The error's own words and members may quote the statement's values: phones, texts,
 * their variables.
 */
class ClientError extends Error {
  override readonly name = "ClientError"
  /** The SQLSTATE; empty where the server said none. */
  readonly code: string

  constructor(error: unknown) {
    const code = SqlState.sqlStateOf(error)
    const kind = Predicate.hasProperty(error, "name") ? ` (${error.name})` : ""
    super(
      `${code === "" ? "The client failed" : `The server refused a statement with SQLSTATE ${code}`}${kind}.`
    )
    this.code = code
  }
}

const told = (cause: unknown): unknown =>
  cause instanceof Unusable || cause instanceof ForeignTransaction ? cause : new ClientError(cause)

/** As {@link failure}, of what was handed over. */
export const failureWithin = (operation: string, error: unknown): Effect.Effect<never, StorageError> => {
  const cause = error instanceof SqlError ? error.cause : error instanceof Refused ? error.cause : undefined
  const reason = reasonOf(cause)
  return cause === undefined
    ? failure(operation, error)
    : Effect.mapError(failure(operation, new Refused(told(cause))), (failed) =>
        reason === undefined ? failed : new StorageError({ ...failed, reason })
      )
}

/** Every connection of the embedder's pool is in use, and stays so. */
export class NoneFree extends Error {}

const refusalOf = (cause: unknown): string | undefined => {
  if (cause instanceof NoneFree) return cause.message
  return SqlState.sqlStateOf(cause) === "53100" ? fullDisk : undefined
}

/** How often a verb that collides is run. */
const tries = 10

export const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError> =>
  cause instanceof Refused
    ? Effect.fail(
        new StorageError({
          operation,
          cause: cause.cause,
          fault: cause.cause instanceof NoneFree ? "unavailable" : faultOf(cause.cause),
          reason: refusalOf(cause.cause)
        })
      )
    : Effect.die(cause)

/** The statements of one connection, in order. Only those whose result is asked for are waited for; both kinds go out together. */
export interface Pipeline {
  /** Sends a statement without waiting. Its result is known with the next answer: a failure here fails that one. */
  readonly send: (query: Query) => void
  readonly query: (query: Query) => Promise<Pg.QueryResult<Row>>
  readonly prepare: Prepare
  /** Ends once all that was sent is on its way. */
  readonly settled: () => Promise<void>
}

type Query = string | Pg.QueryConfig

const queryOf = ({ parameters, text, wants }: Statement, prepare: Prepare): Query => {
  if (wants === "script") return text
  return { ...prepare.statement(text), values: parameters.map(storable), types }
}

type Answered = (error: Error | null, result: Pg.QueryResult<Row> | undefined) => void

/** How a connection is told a query. */
interface Line {
  readonly say: (query: Query, answered: Answered) => void
  /** Ends once all that was said is on its way. */
  readonly settled: () => Promise<void>
}

/** Over a connection with `pipeline` on: one write for all of a turn of the event loop, since it costs more than a statement. */
const pipelined = (client: Pg.Client): Line => {
  const { stream } = client.connection
  return {
    say: (query, answered) => {
      stream.cork()
      Timers.setImmediate(() => stream.uncork())
      client.query<Row>(query, answered)
    },
    settled: async () => {}
  }
}

/** Over one of the embedder's pool: the driver is told one query at a time. */
const inTurn = (client: Pg.Client): Line => {
  let last: Promise<void> = Promise.resolve()
  return {
    say: (query, answered) => {
      const turn = last
      last = new Promise((resolve) => {
        void turn.then(() =>
          client.query<Row>(query, (error, result) => {
            answered(error, result)
            resolve()
          })
        )
      })
    },
    settled: () => last
  }
}

const isPipelined = (client: Pg.Client): boolean =>
  Predicate.hasProperty(client, "pipeline") && client.pipeline === true

export const pipelineOf = (client: Pg.Client, prepare: Prepare): Pipeline => {
  let failed: Refused | undefined
  const line = isPipelined(client) ? pipelined(client) : inTurn(client)
  const send = (query: Query, answered: (result: Pg.QueryResult<Row> | undefined) => void): void =>
    line.say(query, (error, result) => {
      if (error) {
        failed ??= new Refused(error)
        prepare.refused(error)
      }
      answered(error ? undefined : result)
    })
  return {
    prepare,
    settled: line.settled,
    send: (query) => send(query, () => {}),
    query: (query) =>
      new Promise((resolve, reject) => {
        send(query, (result) => {
          if (failed === undefined && result !== undefined) return resolve(result)
          reject(failed)
          failed = undefined
        })
      })
  }
}

const nothing: Answer = { rows: [], changes: 0 }

/** Runs a verb. Its last statements may be on their way still: what is asked next tells what became of them. */
export const perform = async <A>(program: Program<A>, pipeline: Pipeline): Promise<A> => {
  let step = program.next()
  while (step.done !== true) {
    let answer = nothing
    if (step.value.wants === "nothing") pipeline.send(queryOf(step.value, pipeline.prepare))
    else {
      try {
        const { rowCount, rows } = await pipeline.query(queryOf(step.value, pipeline.prepare))
        answer = { rows, changes: rowCount ?? 0 }
      } catch (cause) {
        step = program.throw(cause)
        continue
      }
    }
    step = program.next(answer)
  }
  return step.value
}

const rollBack = async (client: Pg.Client, { settled }: Pipeline): Promise<boolean> => {
  try {
    await settled()
    await client.query("ROLLBACK")
    return true
  } catch {
    // The pool drops a connection that was ended, and the server rolls back.
    client.end(() => {})
    return false
  }
}

/** A transaction around the verb. Throws what made it fail, with nothing left open. */
export const transact = async <A>(
  client: Pg.Client,
  prepare: Prepare,
  verb: () => Program<A>
): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    const pipeline = pipelineOf(client, prepare)
    try {
      pipeline.send(prepare.begin(client))
      const value = await perform(verb(), pipeline)
      // A transaction that a statement broke is rolled back by COMMIT, without an error.
      if ((await pipeline.query("COMMIT")).command !== "COMMIT") {
        throw new Refused(new Error("The transaction was rolled back"))
      }
      return value
    } catch (cause) {
      const clean = await rollBack(client, pipeline)
      const again = clean && cause instanceof Refused && isCollision(cause.cause) && attempt < tries
      if (!again) throw cause
    }
  }
}

/** The same of a verb that only reads, which needs no transaction for settings that its connection has. */
export const look: typeof transact = (client, prepare, verb) =>
  prepare.isSettled(client) ? perform(verb(), pipelineOf(client, prepare)) : transact(client, prepare, verb)

/** Where connections come from, and where they go back to: a pool, or one that looks at each of them first. */
export interface Source {
  readonly connect: () => Promise<Pg.PoolClient>
  readonly giveBack: (client: Pg.PoolClient, isBroken?: boolean) => void
}

export const ofPool = (pool: Pg.Pool): Source => ({
  connect: () => pool.connect(),
  giveBack: (client, isBroken) => client.release(isBroken)
})

/** Who asks in one turn of the event loop gets one connection, so that what they read is asked for in one write. */
export const sharing = ({ connect, giveBack }: Source, server: Server): Source => {
  interface Turn {
    users: number
    isBroken: boolean
    readonly client: Promise<Pg.PoolClient>
  }
  let current: Turn | undefined
  const turns = new WeakMap<Pg.PoolClient, Turn>()
  return {
    connect: async () => {
      // A pooler may give each statement another connection of the server, and need not keep their order.
      if (server.isShared) return connect()
      let turn = current
      if (turn === undefined || turn.users === 0) {
        turn = current = { users: 0, isBroken: false, client: connect() }
        Timers.setImmediate(() => {
          current = undefined
        })
      }
      turn.users += 1
      const client = await turn.client
      turns.set(client, turn)
      return client
    },
    giveBack: (client, isBroken = false) => {
      const turn = turns.get(client) ?? { users: 1, isBroken }
      turn.users -= 1
      turn.isBroken ||= isBroken
      if (turn.users > 0) return
      turns.delete(client)
      giveBack(client, turn.isBroken)
    }
  }
}

const connect = (source: Source): Effect.Effect<Pg.PoolClient, Refused> =>
  Effect.async((resume) => {
    let waiting = true
    source.connect().then(
      (client) => {
        if (waiting) resume(Effect.succeed(client))
        else source.giveBack(client)
      },
      (cause: unknown) => resume(Effect.fail(new Refused(cause)))
    )
    return Effect.sync(() => {
      waiting = false
    })
  })

/** Whether what failed left its connection in order. */
export const isUsable = (cause: unknown): boolean =>
  cause instanceof Refused && SqlState.sqlStateOf(cause.cause) !== ""

/** Runs a step on a connection of its own. One that failed is not used again: its state is not known. */
export const onConnection = <A>(
  source: Source,
  operation: string,
  step: (client: Pg.PoolClient) => Promise<A>
): Effect.Effect<A, StorageError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.matchEffect(restore(connect(source)), {
      onFailure: (refused) => failure(operation, refused),
      onSuccess: (client) =>
        Effect.async<A, StorageError>((resume) => {
          const began = performance.now()
          step(client).then(
            (value) => {
              source.giveBack(client)
              resume(Slow.answer(operation, began, value))
            },
            (cause: unknown) => {
              source.giveBack(client, !isUsable(cause))
              resume(failure(operation, cause))
            }
          )
        })
    })
  )

// Inside the embedder's transaction

/**
 * The embedder's connection reads by the embedder's types, and need not say how many rows a statement changed: the
 * statement answers it.
 */
const countedText = (text: string): string =>
  `WITH changed AS (${text} RETURNING 1) SELECT count(*)::int AS changes FROM changed`

const isRenamed = /[A-Z-]/

/** Ours have neither capitals nor hyphens. */
const ourName = (column: string): string =>
  column
    .replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? "" : "_"}${letter.toLowerCase()}`)
    .replaceAll("-", "_")

/** The columns by our names: a client may be set to write all names as the embedder does. */
const named = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  Object.keys(rows[0] ?? {}).some((column) => isRenamed.test(column))
    ? rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([column, value]) => [ourName(column), value]))
      )
    : rows

/** Runs a verb over the connection of the transaction that the fiber is in. */
const over = <A>(
  connection: Connection,
  prepare: Prepare,
  verb: () => Program<A>
): Effect.Effect<A, Refused> => {
  const ask = (
    text: string,
    parameters: Statement["parameters"]
  ): Effect.Effect<ReadonlyArray<Row>, Refused> =>
    Effect.mapBoth(
      connection.executeUnprepared(prepare.statement(text).text, parameters.map(storable), undefined),
      {
        onFailure: (error) => new Refused(error.cause),
        onSuccess: named
      }
    )
  const execute = ({ parameters, text, wants }: Statement): Effect.Effect<Answer, Refused> =>
    wants === "changes"
      ? Effect.map(ask(countedText(text), parameters), ([row]) => ({
          rows: [],
          changes: Number(row?.["changes"])
        }))
      : Effect.map(ask(text, parameters), (rows) => ({ rows, changes: 0 }))
  const follow = (
    program: Program<A>,
    next: () => IteratorResult<Statement, A>
  ): Effect.Effect<A, Refused> => {
    try {
      const step = next()
      if (step.done === true) return Effect.succeed(step.value)
      return Effect.matchEffect(execute(step.value), {
        onFailure: (refused) => follow(program, () => program.throw(refused)),
        onSuccess: (answer) => follow(program, () => program.next(answer))
      })
    } catch (cause) {
      return cause instanceof Refused ? Effect.fail(cause) : Effect.die(cause)
    }
  }
  return Effect.suspend(() => {
    const program = verb()
    return follow(program, () => program.next())
  })
}

export const joined = <A>(prepare: Prepare, verb: () => Program<A>): Effect.Effect<A, Refused> =>
  Effect.flatMap(Effect.orDie(Effect.serviceOptional(TransactionConnection)), ([connection]) =>
    over(connection, prepare, verb)
  )
