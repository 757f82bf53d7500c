/** Brings the tables of a store up to date without an engine, which would need them. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Store } from "../api/Sendwright.ts"
import * as Failures from "./Failures.ts"
import * as Stores from "./Stores.ts"

export const migrate = async (store: Store): Promise<void> => {
  const exit = await Effect.runPromiseExit(Stores.partsOf(store).migrate ?? Effect.void)
  if (Exit.isFailure(exit)) throw Failures.ofCore(Cause.squash(exit.cause))
}
