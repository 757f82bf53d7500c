/** What other entries of the package know of a Sendwright that its users do not. */
import type { Engine } from "@sendwright/core"
import type * as Redacted from "effect/Redacted"
import type { Sendwright } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import type { Running } from "./Running.ts"

export interface Inside extends Pick<Running, "hold" | "runSync"> {
  readonly engine: Engine.Engine["Type"]
  readonly secretKeys: {
    readonly current: Redacted.Redacted<Uint8Array>
    readonly older: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  }
  /** Makes sure that the events of an account are kept for the handlers of this process. */
  readonly listenTo: (accountId: string) => Promise<void>
  /** Has something ended with the Sendwright, within the milliseconds that it is given. */
  readonly endWith: (end: (graceMs: number) => Promise<void>) => void
}

/** Registered, because a bundler may load the package once for each of its entries. */
const inside: unique symbol = Symbol.for("sendwright/inside")

interface Known extends Sendwright {
  readonly [inside]: Inside
}

export const make = (sw: Sendwright, known: Inside): Sendwright => {
  const made: Known = { ...sw, [inside]: known }
  return made
}

const isKnown = (sw: unknown): sw is Known => typeof sw === "object" && sw !== null && inside in sw

export const insideOf = (sw: unknown): Inside => {
  if (isKnown(sw)) return sw[inside]
  throw new SendwrightError("invalid_options", "The first argument must be what createSendwright made.")
}
