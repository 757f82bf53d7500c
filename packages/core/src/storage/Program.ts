/**
 * The work of a store's verb on a database: statements in order, and decisions between them. A program is a generator of
 * statements and can do nothing else, so that SQLite runs it in one synchronous step inside a group commit, and PostgreSQL
 * statement by statement over one connection.
 */

/** What a column holds. Integers are read as numbers. */
export type SqlValue = string | number | null | Uint8Array
export type SqlParameter = SqlValue | bigint
export type Row = Readonly<Record<string, SqlValue>>

export interface Statement {
  /** With `?` for each parameter and no other question mark. Kept prepared by its text: write it as a constant. */
  readonly text: string
  readonly parameters: ReadonlyArray<SqlParameter>
  /**
   * The part of the answer that the verb looks at. Where that is nothing the verb goes on at once, and a failure of the
   * statement fails what follows.
   */
  readonly wants: "row" | "rows" | "changes" | "nothing" | "script"
}

export interface Answer {
  readonly rows: ReadonlyArray<Row>
  readonly changes: number
}

export type Program<A> = Generator<Statement, A, Answer>

export function* get(text: string, ...parameters: ReadonlyArray<SqlParameter>): Program<Row | undefined> {
  return (yield { text, parameters, wants: "row" }).rows[0]
}

export function* all(text: string, ...parameters: ReadonlyArray<SqlParameter>): Program<ReadonlyArray<Row>> {
  return (yield { text, parameters, wants: "rows" }).rows
}

export function* run(text: string, ...parameters: ReadonlyArray<SqlParameter>): Program<void> {
  yield { text, parameters, wants: "nothing" }
}

/** Answers how many rows were changed. */
export function* changes(text: string, ...parameters: ReadonlyArray<SqlParameter>): Program<number> {
  return (yield { text, parameters, wants: "changes" }).changes
}

/** Several statements in one text, without parameters. */
export function* script(text: string): Program<void> {
  yield { text, parameters: [], wants: "script" }
}

/** Runs a verb in one synchronous step. */
export const perform = <A>(program: Program<A>, execute: (statement: Statement) => Answer): A => {
  let step = program.next()
  while (step.done !== true) {
    let answer: Answer
    try {
      answer = execute(step.value)
    } catch (cause) {
      step = program.throw(cause)
      continue
    }
    step = program.next(answer)
  }
  return step.value
}
