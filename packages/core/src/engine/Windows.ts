/** Until when a person may be answered with free text (contract.md §14). */
import * as Effect from "effect/Effect"
import * as Address from "../domain/Address.ts"
import { WindowClosed } from "../domain/Errors.ts"
import * as Time from "../domain/Instant.ts"
import * as Window from "../domain/session/Window.ts"
import type * as SessionSender from "../sender/SessionSender.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type * as Checks from "./Checks.ts"
import type { Caller } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.fnUntraced(function* (checks: Checks.Checks, resolve: SessionSender.Resolve) {
  const inbound = yield* InboundStore

  const hasWindows = ({ session }: Caller) =>
    Effect.map(resolve(session), (found) => found?.sender.hasWindow === true)

  const told = Effect.fnUntraced(function* (caller: Caller, address: Address.Address, hasWindow: boolean) {
    const { account, session } = caller
    const keys = Address.keysOf(address)
    const heard = yield* inbound.window({ accountId: account.id, sessionId: session.id, keys })
    return Window.told(heard, hasWindow, yield* Time.now)
  })

  const find = Effect.fnUntraced(function* (caller: Caller, name: string) {
    return yield* told(caller, yield* checks.person(caller, name), yield* hasWindows(caller))
  })

  /** The refusal of free text that the platform would surely refuse; null where it may take it. */
  const refusal = Effect.fnUntraced(function* (caller: Caller, address: Address.Address) {
    // A platform without windows takes it, as `Window.told` says: nothing is looked up.
    if (!(yield* hasWindows(caller))) return null
    const found = yield* told(caller, address, true)
    return Window.isSurelyClosed(found) ? new WindowClosed({ until: found.until }) : null
  })

  return { refusal, find: spanIfTraced("Engine.window", find) }
})

export type Windows = Effect.Effect.Success<ReturnType<typeof make>>
