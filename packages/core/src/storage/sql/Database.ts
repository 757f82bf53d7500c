/**
 * The parts of a database that the SQL stores need: a place to run their verbs, and the words that each dialect has of its own.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Measure } from "../../domain/Size.ts"
import type { Program, Row, SqlParameter, SqlValue } from "../Program.ts"
import type { StorageError } from "../StorageError.ts"

/** A column of rows that are written together. */
export interface Column {
  readonly name: string
  readonly type: "text" | "bigint"
}

/** SQL literals by column. */
export type Literals = Readonly<Record<string, string>>

/** Writes any number of rows, each with the columns' values in their order. */
export type WriteRows = (rows: ReadonlyArray<ReadonlyArray<SqlValue>>) => Program<void>

/**
 * Inserts a job and its recipients; neither where another job has its Idempotency-Key and `skips` says so.
 *
 * @param recipients their rows by the job's `seq`, in the order of their keys, with which each ends
 */
export type InsertJob = (
  job: ReadonlyArray<SqlValue>,
  recipients: (seq: number) => ReadonlyArray<ReadonlyArray<SqlValue>>
) => Program<void>

/** The few places where SQLite and PostgreSQL are not written alike. */
export interface Dialect {
  /** Ends a `SELECT` whose rows of a table are written next: others wait for them. */
  readonly forUpdate: (table: string) => string
  /** The same, and rows that others hold are passed over. */
  readonly skipLocked: (table: string) => string
  /** Lets nobody else pass until the commit who names the same. */
  readonly serialize: (name: string) => Program<void>
  /** The same without waiting: answers false when somebody else has passed and has not committed yet. */
  readonly trySerialize: (name: string) => Program<boolean>
  /**
   * The same, but where `waits` is true it waits for that commit: for a quarter of a second at most,
   * and not at all for one that it waited for in vain.
   */
  readonly serializeInTime: (name: string, waits: boolean) => Program<boolean>
  /**
   * Serializes without waiting and answers what a statement reads then, both in one exchange with a server. Answers no
   * rows when somebody else has passed and has not committed yet. Where `waits` is true it waits for that commit, but for
   * half a second at most: one that takes longer must not fail this one.
   *
   * @param text has the condition `isSerialized`
   */
  readonly readSerialized: (
    name: string,
    waits: boolean,
    text: string,
    ...parameters: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<Row>>
  /** A condition for the statement of `readSerialized`, and no other: true unless somebody else has passed. */
  readonly isSerialized: string
  /**
   * An expression that keeps embedders' transactions from writing an Idempotency-Key until the commit. 0 when one that is
   * open has written it, or may have: then it keeps nobody. Its parameters are the API key and the Idempotency-Key, which
   * may be null.
   */
  readonly tryKey: string
  /** Says in an embedder's transaction that it writes an Idempotency-Key, as long as it is open. */
  readonly noteKey: (publicKey: string, key: string) => Program<void>
  /** The transactions that are open in the database, of anybody, by names that come only once. */
  readonly openTransactions: () => Program<ReadonlyArray<string>>
  /** Tells who listens for `EmbeddedCommits`, once the transaction is committed; nobody where a claim waits for its end. */
  readonly announce: () => Program<void>
  /** The expressions as one JSON array, as text. */
  readonly jsonArray: (expressions: string) => string
  /** The same of every row, in an array of arrays. */
  readonly jsonArrays: (expressions: string) => string
  /**
   * An array for each expression with its values of all rows, in one array, as text. The columns are in one order. Of many
   * rows this costs PostgreSQL less than an array for each row, and SQLite a little more.
   */
  readonly jsonColumns: (expressions: ReadonlyArray<string>) => string
  /** The expressions as one JSON array, as a value inside those. What a subquery answers of it is a text to SQLite: {@link json} reads it. */
  readonly jsonValue: (expressions: string) => string
  /** A text that holds JSON, of a column or out of a subquery, as a value inside those. */
  readonly json: (column: string) => string
  /** The count of a status in a column of counts, in JSON; 0 where it is not there. */
  readonly countIn: (column: string, status: string) => string
  /** The elements of a parameter that is a JSON array of texts and nulls. */
  readonly elements: {
    readonly from: string
    readonly place: string
    readonly value: string
    /** The element, when it is a whole number. */
    readonly integer: string
    /** A condition: a column of texts has one of the elements. */
    readonly among: (column: string) => string
  }
  /** The members of a parameter that is a JSON object of texts and nulls by whole numbers. */
  readonly entries: { readonly from: string; readonly key: string; readonly value: string }
  /** Each row is found by its `seq`, which is the last column. */
  readonly update: (table: string, columns: ReadonlyArray<Column>) => WriteRows
  /** Each row's `seq` is the last column. */
  readonly insert: (table: string, columns: ReadonlyArray<Column>) => WriteRows
  /** Inserts a job, from parameters for its columns, and its recipients. */
  readonly insertJob: (
    columns: ReadonlyArray<string>,
    recipient: ReadonlyArray<Column>,
    same: Literals,
    skips?: boolean
  ) => InsertJob
  /** The size of the database. `shrink` gives back so many free pages at most, and answers whether many are left. */
  readonly size: {
    readonly kind: Measure["kind"]
    /** With the path of its file; null where there is none, or it is a server's. */
    readonly measure: () => Program<{ readonly bytes: number; readonly file: string | null }>
    readonly shrink: (pages: number) => Program<boolean>
  }
  /**
   * Where the order of jobs is certain: `last`, the number of the newest job, and what tells whether a transaction is over that
   * began before: one of a `mark` that is told after it, once `oldest` has reached that.
   */
  readonly horizon: () => Program<{ readonly last: number; readonly mark: number; readonly oldest: number }>
  /**
   * A condition: rows of one value of a column, between two of another, both exclusive, as an index of both has them. Its
   * parameters are the value, the lower bound, the value and the upper bound.
   */
  readonly within: (column: string, other: string) => string
  /** A condition: a text column has a parameter in it. */
  readonly contains: (column: string) => string
  /** Joins to each row before it those of a table that the condition selects by an index, one after the other. */
  readonly lookUp: (table: string, as: string, condition: string) => string
}

export class Database extends Context.Tag("@sendwright/core/storage/sql/Database")<
  Database,
  {
    readonly dialect: Dialect
    /**
     * Runs the verb whole or not at all, and answers after its COMMIT. A verb may be run again when it collided
     * with another or when another of its group failed, so it changes nothing outside the database. What the
     * database refuses is a StorageError, what the verb throws is a defect, and both roll it back.
     *
     * Interrupted before its turn, the verb never runs; once it has begun it is finished. Whoever must know which
     * of the two happened makes the call uninterruptible.
     *
     * Inside the caller's open transaction it runs at once, in a savepoint, and lasts if that transaction does.
     *
     * @param serialized what the verb serializes before all else, and so waits for others' commits by: verbs that name
     * the same may share one
     */
    readonly write: <A>(
      operation: string,
      verb: () => Program<A>,
      serialized?: string
    ) => Effect.Effect<A, StorageError>
    /**
     * Like `write`, for what the process does of itself: dispatch and reports. It has a share of its own, so that a
     * flood of requests does not hold up what was accepted before them, nor that the requests.
     */
    readonly work: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
    /** Like `work`, of what only reads: it costs no transaction where a connection plans all statements as one of `work` does. */
    readonly look: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
    /**
     * Like `write`, as a commit of its own inside the caller's open transaction, too: for what is true whatever becomes of
     * that. Where an open transaction holds up all writes it belongs to it all the same.
     */
    readonly writeApart: <A>(
      operation: string,
      verb: () => Program<A>,
      serialized?: string
    ) => Effect.Effect<A, StorageError>
    /** True when nobody else has the database open for as long as this process has. */
    readonly hasOneOwner: boolean
    /** Whether writes and work that are asked for in the same turn of the event loop share a commit. */
    readonly commitsInGroups: boolean
    /** True while the running fiber is in an open transaction of the embedder; see `storage/Transactions`. */
    readonly isEmbedded: Effect.Effect<boolean>
    /**
     * True while the running fiber is in a transaction that verbs do not join. Absent where the database has no client of
     * `@effect/sql` and none of its transactions are handed over: then each that such a client put into the fiber's context is.
     */
    readonly isForeign?: Effect.Effect<boolean>
    /** Makes one transaction of several verbs; see `storage/Transactions`. */
    readonly atomically: <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StorageError, R>
    /**
     * Removes what is left of deleted rows in the database's files, as far as that can be done beside others' work. Answers
     * what is left to be done by hand; null when it is nothing.
     */
    readonly wipe: Effect.Effect<string | null, StorageError>
    /** Runs the verb against committed state (or the caller's own transaction); it may not write. */
    readonly read: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
    /** The same, of a page of a list: it is planned for few rows in the order of an index, whatever statistics say. */
    readonly readPage: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
  }
>() {}
