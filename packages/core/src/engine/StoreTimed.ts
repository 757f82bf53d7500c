import type { StoreClock } from "../worker/StoreClock.ts"
import { everyOperation } from "./EveryOperation.ts"

/** Wraps a service so that all of its operations, and those of objects inside it, use the store's clock. */
export const storeTimed = <S extends object>(service: S, { isOwn, within }: typeof StoreClock.Service): S =>
  isOwn ? service : everyOperation(service, () => within)
