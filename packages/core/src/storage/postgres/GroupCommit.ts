/**
 * Verbs that share a commit. Those that serialize the same would wait for each other's commit anyway, so while one group
 * is under way the next gathers: under load a transaction, its lock and its sync to the disk are shared, and nothing waits
 * for a timer.
 */
import * as Effect from "effect/Effect"
import type Pg from "pg"
import type { Program } from "../Program.ts"
import type { StorageError } from "../StorageError.ts"
import * as Slow from "../sql/Slow.ts"
import type { Prepare, Source } from "./PipelinedConnection.ts"
import { failure, isUsable, Refused, transact } from "./PipelinedConnection.ts"

/** Enough to share the cost of a commit, few enough that other processes need not wait long for what is locked. */
const most = 16

interface Write {
  /** Runs the verb and answers what tells of it. */
  readonly attempt: () => Program<() => void>
  readonly fail: (cause: unknown) => void
}

export type WriteInGroup = <A>(
  name: string,
  operation: string,
  verb: () => Program<A>
) => Effect.Effect<A, StorageError>

/** Whole or not at all, each: when one fails, each is run in a transaction of its own. Answers what failed last. */
const commit = async (
  client: Pg.PoolClient,
  prepare: Prepare,
  group: ReadonlyArray<Write>,
  serialize: () => Program<void>
): Promise<unknown> => {
  try {
    const answers = await transact(client, prepare, function* () {
      yield* serialize()
      const answers: Array<() => void> = []
      for (const { attempt } of group) answers.push(yield* attempt())
      return answers
    })
    for (const answer of answers) answer()
    return undefined
  } catch (cause) {
    const [first] = group
    if (first === undefined || group.length === 1) {
      first?.fail(cause)
      return cause
    }
    let failed: unknown
    for (const write of group) failed = (await commit(client, prepare, [write], serialize)) ?? failed
    return failed
  }
}

export const make = (
  source: Source,
  prepare: Prepare,
  serialize: (name: string) => Program<void>
): WriteInGroup => {
  /** By name; there while a group of it is under way. */
  const waiting = new Map<string, Set<Write>>()

  const writeAll = async (name: string, writes: Set<Write>): Promise<void> => {
    while (writes.size > 0) {
      let client: Pg.PoolClient
      try {
        client = await source.connect()
      } catch (cause) {
        for (const { fail } of writes) fail(new Refused(cause))
        break
      }
      // Writes that were withdrawn meanwhile are gone.
      const group = [...writes].slice(0, most)
      for (const write of group) writes.delete(write)
      const failed = await commit(client, prepare, group, () => serialize(name))
      source.giveBack(client, failed !== undefined && !isUsable(failed))
    }
    waiting.delete(name)
  }

  return <A>(name: string, operation: string, verb: () => Program<A>) =>
    Effect.async<A, StorageError>((resume) => {
      let end = (): void => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      const answer = (outcome: Effect.Effect<A, StorageError>): void => {
        resume(outcome)
        end()
      }
      const write: Write = {
        attempt: function* () {
          const began = performance.now()
          const value = yield* verb()
          const slowly = Slow.answer(operation, began, value)
          return () => answer(slowly)
        },
        fail: (cause) => answer(failure(operation, cause))
      }
      const others = waiting.get(name)
      const writes = others ?? new Set<Write>()
      writes.add(write)
      if (others === undefined) {
        waiting.set(name, writes)
        void writeAll(name, writes)
      }
      return Effect.suspend(() => (writes.delete(write) ? Effect.void : Effect.promise(() => ended)))
    })
}
