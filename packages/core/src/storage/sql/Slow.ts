/** Says in the log which verb kept the database busy for long: by its name, without its statements' values. */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { StorageError } from "../StorageError.ts"
import type { Database } from "./Database.ts"
import type { Program } from "./Program.ts"

/** From here on it is said, in milliseconds. */
export const slowMs = 1000

type Service = Context.Tag.Service<Database>

const momentOf = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

/** Measures from its first statement to its last, and not what it waits for before. */
const timed = <A>(
  operation: string,
  verb: () => Program<A>,
  run: (verb: () => Program<A>) => Effect.Effect<A, StorageError>
): Effect.Effect<A, StorageError> =>
  Effect.clockWith((clock) => {
    let ms = 0
    const measured = function* (): Program<A> {
      const began = momentOf(clock)
      const value = yield* verb()
      ms = momentOf(clock) - began
      return value
    }
    const report = Effect.suspend(() =>
      ms <= slowMs
        ? Effect.void
        : Effect.annotateLogs(Effect.logWarning(`${operation} took ${Math.round(ms)} ms in the database`), {
            operation,
            ms: Math.round(ms)
          })
    )
    return Effect.zipLeft(run(measured), report)
  })

export const watched = (db: Service): Service => ({
  ...db,
  write: (operation, verb, serialized) =>
    timed(operation, verb, (verb) => db.write(operation, verb, serialized)),
  writeApart: (operation, verb, serialized) =>
    timed(operation, verb, (verb) => db.writeApart(operation, verb, serialized)),
  work: (operation, verb) => timed(operation, verb, (verb) => db.work(operation, verb)),
  read: (operation, verb) => timed(operation, verb, (verb) => db.read(operation, verb)),
  readPage: (operation, verb) => timed(operation, verb, (verb) => db.readPage(operation, verb))
})
