/**
 * The contract as an `HttpApp` of `@effect/platform`, for its servers and for web-standard requests. It needs nothing of
 * the request but what every server of the library has.
 */
import type * as Platform from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { AddressPolicy } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as BodyReader from "./BodyReader.ts"
import * as ClientAddress from "./ClientAddress.ts"
import * as HttpLimits from "./HttpLimits.ts"
import * as InFlight from "./InFlight.ts"
import * as Steps from "./Steps.ts"

export interface Options {
  readonly limits?: HttpLimits.Limits | undefined
  /** Proxies whose `X-Forwarded-For` names the client; nobody's does unless they are given. */
  readonly trustedProxies?: ReadonlyArray<AddressPolicy.Network> | undefined
}

export interface Serving {
  readonly app: Platform.Default
  readonly refuse: Steps.Refuse
  /** Requests whose handler had everything including the body before the stop, until the handler ends. */
  readonly underWay: InFlight.InFlight
  /** From now on requests are refused, also those whose body is still coming; what is under way goes on. */
  readonly stop: Effect.Effect<void>
  readonly isStopping: () => boolean
}

/** Gives no request a span of the library's, which would hold every header and the query, secrets among them. */
export const untraced = <R>(runtime: Runtime.Runtime<R>): Runtime.Runtime<R> =>
  runtime.pipe(
    Runtime.setFiberRef(HttpMiddleware.currentTracerDisabledWhen, () => true),
    Runtime.setFiberRef(FiberRef.currentTracerEnabled, false)
  )

/** Whether a body comes with a request; it may be empty. */
export const hasBody = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean =>
  source instanceof Request
    ? source.body !== null
    : headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

const responseOf = ({ body, headers, status }: Steps.PlainResponse): HttpServerResponse.HttpServerResponse =>
  status === 204
    ? HttpServerResponse.empty({ status, headers })
    : HttpServerResponse.raw(body, {
        status,
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) }
      })

const nothing = Effect.succeed(new Uint8Array())
const dismissed = Effect.fail(new Steps.Unread({ reason: "stopping" }))

/** Serves a handler of plain requests. `stopping` is set by its stop, and the handler looks at it. */
export const of = (
  handle: Steps.Handle,
  refuse: Steps.Refuse,
  { limits = HttpLimits.defaults, trustedProxies = [], stopping }: Options & Pick<Steps.Options, "stopping">
): Serving => {
  const clients = ClientAddress.make(trustedProxies)
  const bodies = BodyReader.make(limits)
  const underWay = InFlight.make()
  const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { headers, method, url } = request
    const peer = Option.getOrUndefined(Option.map(request.remoteAddress, ClientAddress.normal))
    const address = peer === undefined ? undefined : clients.of(peer, headers)
    const comesWithBody = hasBody(request)
    let isUnderWay = false
    const begin = (): boolean => {
      if (isUnderWay || MutableRef.get(stopping)) return isUnderWay
      underWay.begin()
      isUnderWay = true
      return true
    }
    const read = (maximum: number) => {
      if (!isUnderWay && MutableRef.get(stopping)) return dismissed
      if (!comesWithBody) return nothing
      const client = address === undefined ? undefined : ClientAddress.clientOf(address)
      return Effect.filterOrElse(bodies.read(request, maximum, client), begin, () => dismissed)
    }
    if (!comesWithBody || bodies.isComplete(request)) begin()
    const handled = handle({
      method,
      url,
      headers,
      address,
      hasBody: comesWithBody,
      body: (maximum) => Effect.suspend(() => read(maximum))
    })
    // The library interrupts nothing outside of its routers: whoever left would be worked for to the end.
    return Effect.interruptible(Effect.map(handled, responseOf)).pipe(
      Effect.onExit(() => Effect.sync(() => isUnderWay && underWay.end()))
    )
  })
  const stop = Effect.sync(() => {
    MutableRef.set(stopping, true)
    bodies.dismiss()
  })
  return { app, refuse, underWay, stop, isStopping: () => MutableRef.get(stopping) }
}

/** Serves the contract over an engine. */
export const make = (options: Omit<Steps.Options, "stopping"> & Options) =>
  Effect.gen(function* () {
    const stopping = MutableRef.make(false)
    const handle = yield* Steps.make({ ...options, stopping })
    return of(handle, yield* Steps.refusing(options.baseUrl), { ...options, stopping })
  })
