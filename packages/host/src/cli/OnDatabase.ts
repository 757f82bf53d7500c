/** Does one operation of the admin API on the configured database, by the API's own handler. */
import { userInfo } from "node:os"
import { Acting, Engine } from "@sendwright/core"
import { Cursors, type Operation, type Problems, Route } from "@sendwright/core/contract"
import { InFlight } from "@sendwright/http/server"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as EngineLayer from "../EngineLayer.ts"
import * as HostConfig from "../HostConfig.ts"
import * as Logs from "../Logs.ts"
import * as StartFailure from "../StartFailure.ts"

/** The database was not opened, so that nothing was tried. */
export class NotOpened extends Data.TaggedError("NotOpened")<{ readonly message: string }> {}

const alreadyOpen =
  " While a host runs on it, ask the host: --url and --token (SENDWRIGHT_URL, SENDWRIGHT_TOKEN)."

const notOpened = (error: StartFailure.StartFailure): NotOpened =>
  new NotOpened({ message: StartFailure.reason(error, alreadyOpen) })

/** Without the worker's loops: what is to be sent is left to a host. */
const open = (config: HostConfig.HostConfig, options: EngineLayer.Options) =>
  Effect.map(
    Layer.build(EngineLayer.layer(config, { attempts: InFlight.make(), webhooks: InFlight.make() }, options)),
    (context) => Context.get(context, Engine.Engine)
  )

/** The user whom the audit log names. A process may run as a user without a name. */
const user = Effect.orElseSucceed(
  Effect.try(() => `cli:${userInfo().username}`),
  () => "cli"
)

type Asked = Pick<Route.Raw, "body" | "path" | "query">

/** Does an operation by its handler; its answer. */
export type Perform = (
  operation: Pick<Operation.Operation<unknown>, "route">,
  given: Asked
) => Effect.Effect<Route.Reply, Problems.EngineError>

/** Opens the database, for as many operations as are done with it. */
export const within = <A, E>(
  options: EngineLayer.Options,
  use: (perform: Perform) => Effect.Effect<A, E>
): Effect.Effect<A, E | NotOpened> =>
  Effect.gen(function* () {
    const config = yield* Effect.mapError(HostConfig.load, notOpened)
    // Quiet, as `Cli` begins, unless LOG_LEVEL says otherwise.
    const level = yield* Effect.orElse(HostConfig.logLevel, () =>
      FiberRef.get(FiberRef.currentMinimumLogLevel)
    )
    const operator = yield* user
    return yield* Effect.gen(function* () {
      const engine = yield* Effect.mapError(open(config, options), notOpened)
      const cursors = Cursors.make(config.secretKey, ...config.olderSecretKeys)
      const perform: Perform = ({ route }, given) => {
        const known = { cursors, prefix: "", requestId: undefined }
        return Acting.as({ operator, address: null, requestId: null })(
          Route.perform(route(engine), given, known)
        )
      }
      return yield* use(perform)
      // Standard output is the answer's.
    }).pipe(
      Effect.scoped,
      Logger.withMinimumLogLevel(level),
      Effect.provide(Logs.layer(config.logFormat, "stderr"))
    )
  })
