/** The whole engine in one layer: what every embedding wires, over any stores. */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { ForeignTransaction, InsideTransaction } from "../domain/Errors.ts"
import * as Engine from "../engine/Engine.ts"
import type { WrongMasterKey } from "../secret/MasterKeys.ts"
import * as SecretBox from "../secret/SecretBox.ts"
import * as Sender from "../sender/Sender.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import * as AddressPolicy from "../webhook/AddressPolicy.ts"
import * as UndiciTransport from "../webhook/UndiciTransport.ts"
import type { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Worker from "../worker/Worker.ts"

export interface EngineOptions extends Partial<Worker.Options>, Partial<Engine.Retained>, Engine.Described {
  /** `Sandbox.make()`, `WhatsApp.make()`, `HttpGateway.make()`, and senders of your own. */
  readonly senders: ReadonlyArray<Sender.Sender | Effect.Effect<Sender.Sender, never, Scope.Scope>>
  /**
   * 32 bytes in base64 (`openssl rand -base64 32`), the same at every start; several with commas between, the current one
   * first. The setting `SECRET_KEY` where it is left out.
   */
  readonly secretKey?: Redacted.Redacted | undefined
  /** Private networks that webhooks may go to; none unless said. */
  readonly webhookNetworks?: ReadonlyArray<AddressPolicy.Network> | undefined
  /** How webhooks are posted; by HTTP unless said. */
  readonly webhooks?: Layer.Layer<WebhookTransport> | undefined
  /** Whether the loops run for as long as the layer lives (they do), or the process accepts only, or drains. */
  readonly start?: boolean | undefined
}

/** All that the engine refuses to start for, besides its store. */
export type EngineFailure =
  | ConfigError.ConfigError
  | ForeignTransaction
  | InsideTransaction
  | StorageError
  | WrongMasterKey

const secretKey = "SECRET_KEY"

const secrets = (given: Redacted.Redacted | undefined) =>
  Layer.unwrapEffect(
    Effect.flatMap(given === undefined ? Config.redacted(secretKey) : Effect.succeed(given), (text) => {
      const keys = SecretBox.parse(Redacted.value(text))
      return keys === undefined
        ? Effect.fail(
            ConfigError.InvalidData(
              [secretKey],
              `It must be ${SecretBox.masterBytes} bytes in base64 (openssl rand -base64 32), or several with commas between, the current one first.`
            )
          )
        : Effect.succeed(SecretBox.layer(keys.current, ...keys.older))
    })
  )

/**
 * The engine and its worker over stores, of which all is at hand, too.
 *
 * @param box where the secrets' keys come from; the options say unless it is given
 */
export const layerOver = <Provided, E>(
  stores: Layer.Layer<Provided | Stores, E>,
  options: EngineOptions,
  box: Layer.Layer<SecretBox.SecretBox, ConfigError.ConfigError> = secrets(options.secretKey)
): Layer.Layer<Engine.Engine | Worker.Worker | Provided | Stores, E | EngineFailure> => {
  const { senders, start = true, webhookNetworks = [], webhooks = UndiciTransport.layer() } = options
  const engine = Engine.layer(options).pipe(
    Layer.provideMerge(stores),
    Layer.provide(
      Layer.unwrapScoped(
        Effect.map(
          Effect.forEach(senders, (sender) => (Effect.isEffect(sender) ? sender : Effect.succeed(sender))),
          (made) => Sender.layer(...made)
        )
      )
    ),
    Layer.provide(webhooks),
    Layer.provide(AddressPolicy.layer(webhookNetworks)),
    Layer.provide(box)
  )
  return start ? Layer.provideMerge(Worker.layerLoops, engine) : engine
}
