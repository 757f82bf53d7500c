/** `effect/Either`; `Version.ts` says why it is not imported as such. */
import * as effect from "effect"
import type * as Module from "effect/Either"

export type Either<R, L = never> = Module.Either<R, L>

const { try: try_, void: void_ } = effect.Either

export { try_ as try, void_ as void }

export const {
  flatMap,
  getOrElse,
  getOrNull,
  getOrThrowWith,
  getOrUndefined,
  isLeft,
  isRight,
  left,
  map,
  mapLeft,
  match,
  right
} = effect.Either
