/**
 * All stores over a handle of the app's. It has one transaction at a time, and what any statement does while that is open
 * belongs to it. So the engine begins and ends its own within one turn of the event loop, that none of the app's statements
 * falls into them; and it waits while one of the app's is open, unless it was handed over (`within`). All steps are
 * synchronous: where nothing is waited for, `Effect.runSync` runs an operation as a whole.
 */

import { realpathSync } from "node:fs"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as Time from "../../domain/Instant.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import * as Timers from "../../runtime/Timers.ts"
import type { Program } from "../Program.ts"
import { perform } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import { Database } from "../sql/Database.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import { confirm, MigrationError } from "../sql/Migrations.ts"
import * as Slow from "../sql/Slow.ts"
import { InBackground } from "../Transactions.ts"
import { dialect } from "./Dialect.ts"
import * as Driver from "./Driver.ts"
import * as FileLock from "./FileLock.ts"
import * as Migrations from "./Migrations.ts"
import { migrations } from "./Schema.ts"
import { layer as stores } from "./Stores.ts"

export type { Handle } from "./Driver.ts"

/** Where a fiber is: in a transaction of the app's that was handed over, or in one of the engine's. */
interface Place {
  readonly handle: object
  readonly isApps: boolean
  isOpen: boolean
}

class CurrentPlace extends Context.Reference<CurrentPlace>()("@sendwright/core/storage/sqlite/CurrentPlace", {
  defaultValue: (): Place | null => null
}) {}

/** A fiber may outlive the hand-over; then nobody can say whose transaction it is in. */
const isOver = (place: Place | null): boolean => place?.isApps === true && !place.isOpen

/** The longest pause between two looks whether the app's transaction has ended, in milliseconds. */
const longestPauseMs = 5

/** A caller waits for so long for the end of a transaction that may be another request's, in milliseconds. */
const patienceMs = 250

const refused = (operation: string, reason: string): Effect.Effect<never, StorageError> =>
  new StorageError({ operation, cause: null, reason })

const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError> => {
  const code = Driver.codeOf(cause)
  return code === undefined
    ? Effect.die(cause)
    : Effect.fail(
        new StorageError({ operation, cause, fault: Driver.faultOf(code), reason: Driver.reasonOf(code) })
      )
}

/** Runs the step now, and answers what came of it: between a look at the handle and the step nothing else may run. */
const attempt = <A>(operation: string, step: () => A): Effect.Effect<A, StorageError> => {
  const began = performance.now()
  try {
    return Slow.answer(operation, began, step())
  } catch (cause) {
    return failure(operation, cause)
  }
}

/** Thrown to undo what an operation did that failed. */
class Undone {}

const ended = (driver: Driver.Driver, pauseMs: number): Effect.Effect<void> =>
  Effect.suspend(() =>
    driver.isInTransaction()
      ? Effect.zipRight(
          // The app's transaction ends by no other time: that of a test may stand still.
          Timers.clock.sleep(Duration.millis(pauseMs)),
          ended(driver, Math.min(pauseMs * 2, longestPauseMs))
        )
      : Effect.void
  )

const foreign = (operation: string): StorageError =>
  new StorageError({ operation, cause: new ForeignTransaction({ operation }) })

/**
 * Runs the step once no transaction of the app's is open; most end with the turn that they were begun in. A caller that
 * awaits the operation inside its own would wait for ever, and is refused.
 */
const outside = <A, E>(
  driver: Driver.Driver,
  operation: string,
  isBackground: boolean,
  step: () => Effect.Effect<A, E>
): Effect.Effect<A, E | StorageError> => {
  if (!driver.isInTransaction()) return step()
  const end = ended(driver, 1)
  const inTime = Effect.timeoutFail(end, {
    duration: Duration.millis(patienceMs),
    onTimeout: () => foreign(operation)
  })
  const waited = isBackground ? end : Effect.withClock(inTime, Timers.clock)
  return Effect.flatMap(Effect.zipRight(EventLoopBudget.nextTurn, waited), () =>
    // Between the look and the step a further transaction may have begun.
    outside(driver, operation, isBackground, step)
  )
}

const isForeign = Effect.withFiberRuntime<boolean>((fiber) => {
  const place = Context.get(fiber.currentContext, CurrentPlace)
  return Effect.succeed(isOver(place) || ForeignConnection.isAround(fiber))
})

const inTransaction = refused("Database.wipe", "a transaction is open on the handle.")

const emptyLog = "PRAGMA wal_checkpoint(TRUNCATE)"

/** The handle's settings are the app's, so that only it can say whether deleted content is overwritten. */
const wiped = (driver: Driver.Driver): Effect.Effect<string | null, StorageError> =>
  attempt("Database.wipe", () => {
    const [found] = driver.execute({ text: "PRAGMA secure_delete", parameters: [], wants: "rows" }).rows
    if (found?.["secure_delete"] !== 1)
      return "The handle's `secure_delete` is not ON, so that the file may still have what was erased: set it, and run VACUUM."
    driver.say(emptyLog)
    return null
  })

/** Runs a step whole or not at all: in a transaction of its own, or within the one that is open. */
const boundsOf = (driver: Driver.Driver) => {
  const fullDisk = Driver.afterFullDisk(() => driver.say(emptyLog))
  const around = <A>(begin: string, end: string, undo: string, body: () => A): A => {
    driver.say(begin)
    try {
      const value = body()
      driver.say(end)
      return value
    } catch (cause) {
      fullDisk.failed(cause)
      // SQLite ends a transaction by itself on a full disk and the like.
      if (driver.isInTransaction()) driver.say(undo)
      throw cause
    }
  }
  const transaction = <A>(body: () => A): A => {
    fullDisk.beforeWrite()
    return around("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", body)
  }
  const savepoint = <A>(body: () => A): A =>
    around("SAVEPOINT sendwright", "RELEASE sendwright", "ROLLBACK TO sendwright; RELEASE sendwright", body)
  return { transaction, savepoint }
}

const make = (handle: Driver.Handle, driver: Driver.Driver, isInMemory: boolean): typeof Database.Service => {
  const { savepoint, transaction } = boundsOf(driver)

  const isInside = (place: Place | null): boolean => place?.isOpen === true && place.handle === handle

  /** Runs a step where the fiber is: the one inside at once, the one of the root when the handle is free. */
  const at = <A, E>(
    operation: string,
    inside: () => Effect.Effect<A, E>,
    root: () => Effect.Effect<A, E>
  ): Effect.Effect<A, E | StorageError> =>
    Effect.withFiberRuntime((fiber) => {
      const place = Context.get(fiber.currentContext, CurrentPlace)
      if (ForeignConnection.isAround(fiber) || isOver(place)) return foreign(operation)
      if (driver.isClosed()) return refused(operation, "the database's handle was closed.")
      if (place?.isApps === true && place.handle !== handle)
        return refused(operation, "the handle that was handed over is not the one that the engine was given.")
      if (!isInside(place))
        return outside(driver, operation, Context.get(fiber.currentContext, InBackground), root)
      return driver.isInTransaction()
        ? inside()
        : refused(
            operation,
            "no transaction is open on the handle that was handed over. Call between its BEGIN and its COMMIT."
          )
    })

  const write = <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
    const body = () => perform(verb(), driver.execute)
    const within = (bounds: typeof savepoint) => () => attempt(operation, () => bounds(body))
    return at(operation, within(savepoint), within(transaction))
  }
  const read = <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
    const step = () => attempt(operation, () => perform(verb(), driver.execute))
    return at(operation, step, step)
  }

  const atomically = <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageError, R> =>
    Effect.flatMap(Effect.runtime<R>(), (runtime) => {
      const run = (): Exit.Exit<A, E> => {
        const place: Place = { handle, isApps: false, isOpen: true }
        const exit = Runtime.runSyncExit(runtime, Effect.provideService(operation, CurrentPlace, place))
        place.isOpen = false
        return exit
      }
      const within = (bounds: typeof savepoint) => () =>
        Effect.flatten(
          attempt("transaction", () => {
            let exit: Exit.Exit<A, E> | undefined
            try {
              return bounds(() => {
                exit = run()
                if (Exit.isFailure(exit)) throw new Undone()
                return exit
              })
            } catch (cause) {
              if (cause instanceof Undone && exit !== undefined) return exit
              throw cause
            }
          })
        )
      return at("transaction", within(savepoint), within(transaction))
    })

  return {
    dialect: isInMemory ? { ...dialect, size: { ...dialect.size, kind: "memory" } } : dialect,
    // Another process may have the file open: nobody keeps it out.
    hasOneOwner: false,
    commitsInGroups: false,
    write,
    writeApart: write,
    // Work that the process does of itself would keep all else out, since its steps wait for nothing.
    work: (operation, verb) => Effect.zipRight(EventLoopBudget.nextTurn, write(operation, verb)),
    look: (operation, verb) => Effect.zipRight(EventLoopBudget.nextTurn, read(operation, verb)),
    wipe: at(
      "Database.wipe",
      () => inTransaction,
      () => wiped(driver)
    ),
    read,
    readPage: read,
    atomically,
    isEmbedded: Effect.map(CurrentPlace, isInside),
    isForeign
  }
}

const driverOf = (handle: Driver.Handle): Effect.Effect<Driver.Driver, StorageError> =>
  Effect.try({
    try: () => Driver.make(handle),
    catch: (cause) =>
      new StorageError({
        operation: "open",
        cause,
        reason: cause instanceof TypeError ? cause.message : "the database's handle cannot be used."
      })
  })

/** Brings the database to this build's schema, in one step. No transaction may be open on the handle. */
export const migrate = (handle: Driver.Handle): Effect.Effect<void, MigrationError | StorageError> =>
  Effect.flatMap(Effect.all([driverOf(handle), Time.now]), ([driver, now]) =>
    Migrations.migrate(driver, migrations, now)
  )

/**
 * The SQL that {@link migrate} runs.
 *
 * @param after the last migration that the database has (`SELECT max(id) FROM sendwright_migration`)
 */
export const migrationSql = (after = 0): string => Migrations.migrationSql(migrations, after)

const confirmed = (driver: Driver.Driver) =>
  Effect.try({
    try: () => perform(confirm(migrations, Migrations.hasHistory), driver.execute),
    catch: (cause) =>
      cause instanceof MigrationError ? cause : new StorageError({ operation: "open", cause })
  })

const isConnection = (value: unknown): value is FileLock.Connection =>
  typeof Reflect.get(Object(value), "exec") === "function" &&
  typeof Reflect.get(Object(value), "close") === "function"

/** Opens a file by the library that the handle is of. */
const connectAs =
  (handle: Driver.Handle) =>
  (file: string): FileLock.Connection => {
    const made: unknown = Reflect.construct(handle.constructor, [file, { timeout: FileLock.busyTimeout }])
    if (isConnection(made)) return made
    throw new TypeError(
      "The handle is no Database of better-sqlite3 and no DatabaseSync of node:sqlite itself."
    )
  }

/** Keeps every other engine out, before anything of the database is touched. Answers its file; null in memory. */
const claimed = (handle: Driver.Handle, driver: Driver.Driver) =>
  Effect.gen(function* () {
    const failed = (cause: unknown): StorageError =>
      new StorageError({
        operation: "open",
        cause,
        reason: `The database's handle cannot be kept for this process: ${cause instanceof Error ? cause.message : String(cause)}`
      })
    const path = yield* Effect.try({
      try: () => {
        const databases = driver.execute({ text: "PRAGMA database_list", parameters: [], wants: "rows" }).rows
        const file = databases.find(({ name }) => name === "main")?.["file"]
        return typeof file === "string" && file !== "" ? realpathSync(file) : null
      },
      catch: failed
    })
    yield* path === null
      ? FileLock.claimHere(handle, "The database in memory")
      : FileLock.claim(path, connectAs(handle), failed)
    return path
  })

export interface Options {
  /** Stays yours: it is not closed, and its settings (`synchronous`, the write-ahead log) are as you chose them. */
  readonly database: Driver.Handle
  /** Whether the schema is brought to this build's at the start; not unless told. */
  readonly migrate?: boolean | undefined
}

/**
 * The stores over your own handle, for one engine in one process: a second one on the same file is refused. What is called inside {@link within} belongs to your transaction. A backup
 * that was restored is not noticed (docs/adr/0036): hold the store by hand before it sends.
 */
export const layer = ({
  database,
  migrate: migrates = false
}: Options): Layer.Layer<Stores, MigrationError | StorageError> =>
  Layer.provide(
    stores,
    Layer.scoped(
      Database,
      Effect.gen(function* () {
        const driver = yield* driverOf(database)
        const path = yield* claimed(database, driver)
        yield* migrates ? migrate(database) : confirmed(driver)
        return make(database, driver, path === null)
      })
    )
  )

/**
 * Runs the engine's operations inside the open transaction of your handle: what they write is committed or rolled back by it,
 * and a send goes out after its commit. An operation that fails leaves the transaction as it was. Nothing in it waits, so that
 * `Effect.runSync` runs a send inside a synchronous transaction, such as better-sqlite3's `database.transaction(…)`.
 */
export const within =
  (database: Driver.Handle) =>
  <A, E, R>(operations: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.sync((): Place => ({ handle: database, isApps: true, isOpen: true })),
      (place) => Effect.provideService(operations, CurrentPlace, place),
      (place) =>
        Effect.sync(() => {
          place.isOpen = false
        })
    )
