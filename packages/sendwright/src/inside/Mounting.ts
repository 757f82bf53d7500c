/** The API of `@sendwright/http` over the engine of a Sendwright. */
import { AddressPolicy, Engine, Fault, Operator, RequestDecoder } from "@sendwright/core"
import { type Handlers, handlers, type Options } from "@sendwright/http"
import { Address, AdminToken } from "@sendwright/http/server"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type {
  Client,
  ConsoleOperator,
  ConsoleOptions,
  Handler,
  HandlerOptions,
  NodeHandler
} from "../api/Http.ts"
import type { Sendwright } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"
import * as Known from "./Known.ts"
import * as Running from "./Running.ts"

const { optional } = Schema

const place = {
  prefix: optional(Schema.String),
  baseUrl: optional(Schema.String),
  trustedProxies: optional(Schema.Array(Schema.String))
}

const ofHandler = RequestDecoder.decoder(Schema.Struct({ ...place, adminToken: optional(Schema.String) }))
const ofConsole: typeof ofHandler = RequestDecoder.decoder(Schema.Struct(place))

const wrong = (name: string, message: string): Fault.Fault =>
  Fault.make([name], "invalid_value", `\`${name}\` ${message}`)

/** Reads the options of the mount, or throws with their faults. */
const read = (given: HandlerOptions): Options => {
  const { prefix = "", trustedProxies = [] } = given
  const spelled = Address.prefix(prefix)
  const baseUrl = given.baseUrl === undefined ? undefined : Address.baseUrl(given.baseUrl)
  const adminToken = given.adminToken === undefined ? undefined : Redacted.make(given.adminToken)
  const proxies = trustedProxies.map(AddressPolicy.parseNetwork)
  const networks = proxies.flatMap((network) => (network === undefined ? [] : [network]))
  const checks: ReadonlyArray<readonly [isWrong: boolean, fault: Fault.Fault]> = [
    [
      spelled === undefined,
      wrong("prefix", "must be a path such as /api/messaging, without what a URL writes otherwise.")
    ],
    [
      given.baseUrl !== undefined && baseUrl === undefined,
      wrong("baseUrl", "must be a URL such as https://shop.example, without user, password and query.")
    ],
    [
      adminToken !== undefined && AdminToken.isWeak(adminToken),
      wrong(
        "adminToken",
        `must have at least ${AdminToken.minimumLength} characters, and not one repeated (openssl rand -base64 24). Leave it out for no admin API.`
      )
    ],
    [
      networks.length < proxies.length,
      wrong("trustedProxies", "must be networks such as 10.0.0.0/8 or 2001:db8::/32.")
    ]
  ]
  const faults = checks.flatMap(([isWrong, fault]) => (isWrong ? [fault] : []))
  if (faults.length > 0) throw Failures.invalid(faults, "invalid_options")
  return { prefix: spelled, baseUrl, adminToken, trustedProxies: networks }
}

const optionsOf = (decoded: typeof ofHandler, given: unknown): Options => {
  const found = decoded(given)
  if (found._tag === "Left") throw Failures.invalid(found.left, "invalid_options")
  return read(found.right)
}

/** An engine whose callers are heard, as those of this package's own calls are. */
const heard = ({ engine, listenTo }: Known.Inside): Engine.Engine["Type"] => {
  const known = new Set<string>()
  const listen = (accountId: string): Effect.Effect<void> => {
    if (known.has(accountId)) return Effect.void
    return Effect.tryPromise(() => listenTo(accountId)).pipe(
      Effect.tap(() => Effect.sync(() => known.add(accountId))),
      Effect.catchAll((error) =>
        Effect.logError(
          "Events may not be kept yet for handlers; the next call tries again",
          Cause.fail(error)
        )
      )
    )
  }
  const { accounts } = engine.admin
  return {
    ...engine,
    identify: (credentials) =>
      Effect.tap(engine.identify(credentials), ({ account }) =>
        known.has(account.id) ? Effect.void : listen(account.id)
      ),
    admin: {
      ...engine.admin,
      accounts: {
        ...accounts,
        create: (input) => Effect.tap(accounts.create(input), ({ id }) => listen(id))
      }
    }
  }
}

/** The same API for Node, by which `toNodeHandler` knows a handler. Registered, as in `Known`. */
const ofNode: unique symbol = Symbol.for("sendwright/node")

interface Mounted extends Handler {
  readonly [ofNode]: NodeHandler
}

const mounted = ({ node, web }: Handlers, hold: Known.Inside["hold"]): Mounted => {
  const handler: Handler = (request: Request, client?: Client) =>
    (client === undefined ? web(request) : web(request, client)).finally(hold())
  const nodeHandler: NodeHandler = (request, response, next) => {
    response.once("close", hold())
    node(request, response, next)
  }
  return Object.assign(handler, { [ofNode]: nodeHandler })
}

const mount = (sw: Sendwright, given: Options): Handler => {
  const inside = Known.insideOf(sw)
  const { endWith, hold, runSync, secretKeys } = inside
  const made = runSync(
    Effect.flatMap(Scope.make(), (scope) =>
      handlers({ ...given, secretKey: secretKeys.current, olderSecretKeys: secretKeys.older }).pipe(
        Effect.provideService(Engine.Engine, heard(inside)),
        Scope.extend(scope)
      )
    )
  )
  endWith((graceMs) => Running.onMachine(made.stop(graceMs)))
  return mounted(made, hold)
}

export const createHandler = (sw: Sendwright, options: HandlerOptions = {}): Handler => {
  Known.insideOf(sw)
  return mount(sw, optionsOf(ofHandler, options))
}

const isRole = (role: unknown): role is ConsoleOperator["role"] =>
  role === "read" || role === "support" || role === "admin"

const operatorRule =
  "`authorize` must answer null or `{ name, role }`: a name of 1 to 64 visible characters, and the role read, support or admin; `maskPhones` is of the role read alone."

/** An operator of the app's, whose name is that of none of ours: those have no colon. */
const actingOf = (found: unknown): Operator.Acting | null => {
  if (found === null) return null
  const { maskPhones: masksPhones = false, name, role } = Object(found)
  const isRight =
    typeof name === "string" &&
    /^[\x21-\x7e]{1,64}$/.test(name) &&
    isRole(role) &&
    typeof masksPhones === "boolean" &&
    (!masksPhones || role === "read")
  if (!isRight) throw new TypeError(operatorRule)
  return { ...Operator.environment, name: `app:${name}`, role, masksPhones }
}

export const createConsole = <Asked>(sw: Sendwright, options: ConsoleOptions<Asked>): Handler => {
  Known.insideOf(sw)
  const { authorize, ...others } = Object(options)
  if (typeof authorize !== "function")
    throw Failures.invalid(
      [wrong("authorize", "must be a function that says who asks: `{ name, role }`, or null.")],
      "invalid_options"
    )
  return mount(sw, {
    ...optionsOf(ofConsole, others),
    console: true,
    // An error that the app's function throws is a bug of the app's, and nobody is an operator then.
    authorize: (source) => Effect.promise(async () => actingOf(await authorize(source)))
  })
}

const isMounted = (handler: unknown): handler is Mounted => typeof handler === "function" && ofNode in handler

export const toNodeHandler = (handler: Handler): NodeHandler => {
  if (isMounted(handler)) return handler[ofNode]
  throw new SendwrightError(
    "invalid_options",
    "toNodeHandler takes what createHandler made. What is to happen before it belongs into the server, as a middleware."
  )
}
