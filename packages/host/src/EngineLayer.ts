/** The engine as the host and the command line have it: storage, senders and webhooks, by the configuration. */
import {
  AddressPolicy,
  Engine,
  HttpGateway,
  Sandbox,
  SecretBox,
  Sender,
  type StorageError,
  UndiciTransport,
  WebhookTransport,
  WhatsApp,
  type Worker,
  type WrongMasterKey
} from "@sendwright/core"
import type { MigrationError } from "@sendwright/core/sqlite"
import type { InFlight } from "@sendwright/http/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HostConfig } from "./HostConfig.ts"
import { senderNetworksOf } from "./HostConfig.ts"

/** The share of a stop's time for attempts in progress. The rest is for settling them and for closing the database. */
export const graceShare = 0.9

/** The only place that chooses the stores; each is loaded only when it is used. */
const stores = ({ database, onFailover }: Pick<HostConfig, "database" | "onFailover">) =>
  database.kind === "sqlite"
    ? Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("@sendwright/core/sqlite")),
          ({ Sqlite }) => Sqlite.layer({ filename: database.filename })
        )
      )
    : Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("@sendwright/core/postgres")),
          ({ Postgres }) => Postgres.layer({ url: database.url, onFailover })
        )
      )

/** Each attempt is counted while it is under way, and told at debug level by the id that the platform is given. */
const watched = (sender: Sender.Sender, attempts: InFlight.InFlight): Sender.Sender => ({
  ...sender,
  send: (message) =>
    Effect.zipRight(
      Effect.logDebug("An attempt leaves", { messageId: message.messageId, attempt: message.attempt }),
      attempts.during(sender.send(message))
    )
})

/** The parts of a host that its program gives it, not its configuration. */
export interface Options {
  /** Senders of one's own, beside the three that come with Sendwright. */
  readonly senders?: ReadonlyArray<Sender.Sender>
}

type PlatformOptions = NonNullable<Parameters<typeof HttpGateway.make>[0]>

/** `/hooks/whatsapp/{sessionId}` belongs to `whatsapp_cloud`, so that a sender of this name would never get a post. */
const reserved = "whatsapp"

/**
 * All that come with Sendwright, and those of one's own.
 *
 * @param also what is done with each
 */
export const senders = (
  config: HostConfig,
  { senders: own = [] }: Options,
  also: (sender: Sender.Sender) => Sender.Sender,
  patience: Pick<PlatformOptions, "connectTimeoutMs"> = {}
) => {
  if (own.some(({ provider }) => provider === reserved)) {
    const mistake = `The hooks at /hooks/${reserved} are of \`whatsapp_cloud\`: give your sender another \`provider\`.`
    return Layer.effect(Sender.Senders, Effect.dieMessage(mistake))
  }
  const { sandboxLatencyMs: latencyMs, workerConcurrency: connections } = config
  const options = { connections, networks: senderNetworksOf(config), ...patience }
  return Layer.unwrapScoped(
    Effect.map(Effect.all([HttpGateway.make(options), WhatsApp.make(options)]), (made) =>
      Sender.layer(...[Sandbox.make({ latencyMs }), ...made, ...own].map(also))
    )
  )
}

/** Each webhook is counted while it is under way. */
const counting = ({ webhookProxy: proxy }: HostConfig, webhooks: InFlight.InFlight) =>
  Layer.map(UndiciTransport.layer({ proxy }), (context) => {
    const { post } = Context.get(context, WebhookTransport.WebhookTransport)
    return Context.make(WebhookTransport.WebhookTransport, {
      post: (request) => webhooks.during(post(request))
    })
  })

interface Counters {
  readonly attempts: InFlight.InFlight
  readonly webhooks: InFlight.InFlight
}

/** The engine and its worker, whose loops do not run yet. */
export const layer = (
  config: HostConfig,
  { attempts, webhooks }: Counters,
  options: Options & Engine.Described = {}
): Layer.Layer<Engine.Engine | Worker.Worker, StorageError.StorageError | MigrationError | WrongMasterKey> =>
  Engine.layer({
    concurrency: config.workerConcurrency,
    process: options.process,
    headerNames: config.webhookHeaders,
    deliveryJitter: config.webhookJitter,
    auditRetentionMs: config.auditRetentionMs,
    graceMs: config.stopGraceMs * graceShare
  }).pipe(
    Layer.provideMerge(stores(config)),
    Layer.provide(senders(config, options, (sender) => watched(sender, attempts))),
    Layer.provide(counting(config, webhooks)),
    Layer.provide(AddressPolicy.layer(config.allowedNetworks)),
    Layer.provide(SecretBox.layer(config.secretKey, ...config.olderSecretKeys))
  )
