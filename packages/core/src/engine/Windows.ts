/** Until when a person may be answered with free text (contract.md §14). */
import * as Effect from "effect/Effect"
import * as Address from "../domain/Address.ts"
import { WindowClosed } from "../domain/Errors.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Window from "../domain/session/Window.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type * as Checks from "./Checks.ts"
import type { Caller } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.fnUntraced(function* (checks: Checks.Checks) {
  const inbound = yield* InboundStore

  const heard = ({ account, session }: Caller, address: Address.Address, now: Instant) =>
    inbound.window({ accountId: account.id, sessionId: session.id, keys: Address.keysOf(address), now })

  const find = Effect.fnUntraced(function* (caller: Caller, name: string) {
    const address = yield* checks.person(caller, name)
    const now = yield* Time.now
    return Window.told(yield* heard(caller, address, now), now)
  })

  /** The refusal of free text that the platform would surely refuse; null where it may take it. */
  const refusal = Effect.fnUntraced(function* (caller: Caller, address: Address.Address) {
    const now = yield* Time.now
    const found = yield* heard(caller, address, now)
    return Window.isSurelyClosed(found, now)
      ? new WindowClosed({ until: Window.told(found, now).until })
      : null
  })

  return { refusal, find: spanIfTraced("Engine.window", find) }
})

export type Windows = Effect.Effect.Success<ReturnType<typeof make>>
