/**
 * Where the state of rate limits lives. A refused request still counts as nothing, so consumption is one atomic
 * verb outside every other commit.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Decision } from "../domain/account/RateLimit.ts"
import type { Instant } from "../domain/Instant.ts"
import type { StorageError } from "./StorageError.ts"

export class RateLimitStore extends Context.Tag("@sendwright/core/storage/RateLimitStore")<
  RateLimitStore,
  {
    /** Takes one unit of `key`'s allowance when there is one, as `RateLimit.decide` says. */
    readonly consume: (command: {
      readonly key: string
      /** Units per period, and the burst. */
      readonly limit: number
      readonly periodMs: number
      readonly now: Instant
    }) => Effect.Effect<Decision, StorageError>
  }
>() {}
