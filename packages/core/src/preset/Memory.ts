import * as SecretBox from "../secret/SecretBox.ts"
import * as Memory from "../storage/sqlite/Memory.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/**
 * The engine in memory: for tests, and to look around. It needs no key, since nothing of it is ever read again.
 *
 * @example
 * ```ts
 * import { layerMemory, Sandbox } from "@sendwright/core"
 *
 * const layer = layerMemory({ senders: [Sandbox.make()] })
 * ```
 */
export const layerMemory = (options: EngineOptions) =>
  layerOver(Memory.layer, options, options.secretKey === undefined ? SecretBox.layerRandom : undefined)
