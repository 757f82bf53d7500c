/**
 * One item that a store does not take must not keep those beside it from being stored, nor the loop that stores them
 * from going on (contract.md §10): where a batch is refused for its content it is halved until what is refused is
 * alone. A store that is down refuses nothing: its batch is kept by whoever has it, and stored later.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StorageError } from "../storage/StorageError.ts"

const isOf = (cause: Cause.Cause<StorageError>, ...faults: ReadonlyArray<StorageError["fault"]>): boolean =>
  Option.exists(Cause.failureOption(cause), ({ fault }) => faults.includes(fault))

/** True when the store says that it does not take what it was given. */
export const isContentRefused = (cause: Cause.Cause<StorageError>): boolean => isOf(cause, "content")

/** True when the store says that it may take later what it did not take now. */
export const isPassing = (cause: Cause.Cause<StorageError>): boolean =>
  isOf(cause, "collision", "unavailable")

/** True when the store says that nothing was made. A bug may have come after the commit. */
export const isNotMade = (cause: Cause.Cause<StorageError>): boolean => isOf(cause, "content", "collision")

/** A defect counts as a refusal: the store broke over what it was given. */
export const isRefusal = (cause: Cause.Cause<StorageError>): boolean =>
  Cause.isDie(cause) || isContentRefused(cause)

/** Stores items, which may be stored twice. */
interface Storing<A> {
  readonly items: ReadonlyArray<A>
  readonly store: (items: ReadonlyArray<A>) => Effect.Effect<unknown, StorageError>
  /** Called with an item that is refused alone. */
  readonly refused: (item: A, cause: Cause.Cause<StorageError>) => Effect.Effect<unknown, StorageError>
}

/** Stores all of the items in one batch, or in as few as there have to be. */
export const storeAll = <A>({ items, refused, store }: Storing<A>): Effect.Effect<void, StorageError> => {
  const [first] = items
  if (first === undefined) return Effect.void
  return Effect.catchAllCause(Effect.asVoid(store(items)), (cause) => {
    if (!isRefusal(cause)) return Effect.failCause(cause)
    if (items.length === 1) return Effect.asVoid(refused(first, cause))
    const middle = Math.ceil(items.length / 2)
    const half = (from: number, to?: number) => storeAll({ items: items.slice(from, to), refused, store })
    return Effect.zipRight(half(0, middle), half(middle))
  })
}
