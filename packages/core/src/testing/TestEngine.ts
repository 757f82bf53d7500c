/**
 * The whole engine in memory: sandbox sender without delays, recorded webhooks, time from the test's clock. Send,
 * `drain`, look: a whole flow takes milliseconds and no network.
 */
import * as Layer from "effect/Layer"
import * as Engine from "../engine/Engine.ts"
import * as SecretBox from "../secret/SecretBox.ts"
import * as Sandbox from "../sender/Sandbox.ts"
import * as Sender from "../sender/Sender.ts"
import type { Stores } from "../storage/Stores.ts"
import * as Memory from "../storage/sqlite/Memory.ts"
import * as AddressPolicy from "../webhook/AddressPolicy.ts"
import type { Worker } from "../worker/Worker.ts"
import * as RecordingTransport from "./RecordingTransport.ts"

/** Sends and receipts take no time; `options` makes them take some. */
export const layerWith = (
  options: Partial<Sandbox.Options>
): Layer.Layer<Engine.Engine | Worker | Stores | RecordingTransport.Recorder> =>
  Engine.layer().pipe(
    // A store in memory refuses no key.
    Layer.orDie,
    Layer.provideMerge(Memory.layer),
    Layer.provideMerge(RecordingTransport.layer),
    Layer.provide(
      Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0, resolutionDelayMs: 0, ...options }))
    ),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

export const layer = Layer.suspend(() => layerWith({}))
