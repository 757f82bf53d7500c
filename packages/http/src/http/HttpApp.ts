/**
 * The contract as an `HttpApp` of `@effect/platform`, for its servers and for web-standard requests. It needs nothing of
 * the request but what every server of the library has.
 */

import { Readable } from "node:stream"
import type * as Platform from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { AddressPolicy } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as BodyReader from "./BodyReader.ts"
import * as ClientAddress from "./ClientAddress.ts"
import { isBodyless } from "./Exchange.ts"
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
  /** The same for a server that is none of the library's, our host's among them. */
  readonly serve: (incoming: Incoming) => Effect.Effect<Steps.PlainResponse>
  readonly refuse: Steps.Refuse
  /** Requests whose handler had everything including the body before the stop, until the handler ends. */
  readonly underWay: InFlight.InFlight
  /** From now on requests are refused, also those whose body is still coming; what is under way goes on. */
  readonly stop: Effect.Effect<void>
  readonly isStopping: () => boolean
}

/** Begins to serve a request in a fiber of its own. */
export type Fork = (served: Effect.Effect<Steps.PlainResponse>) => Fiber.RuntimeFiber<Steps.PlainResponse>

/** Counts no fibers, and gives none a span. */
export const forking: Effect.Effect<Fork> = Effect.map(Effect.runtime(), (runtime) =>
  Runtime.runFork(
    runtime.pipe(
      Runtime.setFiberRef(FiberRef.currentTracerEnabled, false),
      Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics)
    )
  )
)

/** Ends what is done for a client that is gone. */
export const leave = (fiber: ReturnType<Fork>): void => fiber.unsafeInterruptAsFork(FiberId.none)

/** Whether a body comes with a request; it may be empty. */
export const hasBody = ({ headers, source }: Pick<Incoming, "headers" | "source">): boolean =>
  source instanceof Request
    ? source.body !== null
    : headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

const responseOf = (
  { body, headers, status, stream }: Steps.PlainResponse,
  method: string
): HttpServerResponse.HttpServerResponse =>
  isBodyless(status) || (stream !== undefined && method === "HEAD")
    ? HttpServerResponse.empty({ status, headers })
    : stream !== undefined
      ? // A stream of the library's that fails would end as if it were whole.
        HttpServerResponse.raw(Readable.from(stream(), { objectMode: false }), { status, headers })
      : HttpServerResponse.raw(body, {
          status,
          headers: { ...headers, "content-length": String(Buffer.byteLength(body)) }
        })

const nothing = Effect.succeed(new Uint8Array())
const dismissed = Effect.fail(new Steps.Unread({ reason: "stopping" }))
const taken = Effect.fail(new Steps.Unread({ reason: "taken" }))

/** A request as its server has it. */
export interface Incoming extends BodyReader.Coming {
  readonly method: string
  readonly url: string
  readonly headers: Steps.PlainRequest["headers"]
  /** Where it came from; undefined when the server does not know it. */
  readonly peer: string | undefined
  readonly hasBody: boolean
  /** Whether somebody has read of its body before. */
  readonly isTaken: boolean
}

const isTaken = (source: unknown): boolean =>
  source instanceof Readable
    ? source.readableDidRead
    : source instanceof Request && (source.bodyUsed || source.body?.locked === true)

const ofPlatform = (request: HttpServerRequest.HttpServerRequest, prefix: string): Incoming => {
  const { headers, method, originalUrl, source, url } = request
  return {
    method,
    // A router that the app is mounted in has removed the prefix.
    url: prefix === "" ? url : originalUrl,
    headers,
    peer: Option.getOrUndefined(request.remoteAddress),
    hasBody: hasBody(request),
    isTaken: isTaken(source),
    source,
    stream: () => request.stream
  }
}

/** Serves a handler of plain requests. `stopping` is set by its stop, and the handler looks at it. */
export const appOf = (
  handle: Steps.Handle,
  refuse: Steps.Refuse,
  {
    limits = HttpLimits.defaults,
    prefix = "",
    stopping,
    trustedProxies = []
  }: Options & Pick<Steps.Options, "prefix" | "stopping">
): Serving => {
  const clients = ClientAddress.make(trustedProxies)
  const bodies = BodyReader.make(limits)
  const underWay = InFlight.make()
  const serve = (incoming: Incoming): Effect.Effect<Steps.PlainResponse> => {
    const { hasBody, headers, method, peer, url } = incoming
    const address = peer === undefined ? undefined : clients.of(ClientAddress.normal(peer), headers)
    let isUnderWay = false
    const begin = (): boolean => {
      if (isUnderWay || MutableRef.get(stopping)) return isUnderWay
      underWay.begin()
      isUnderWay = true
      return true
    }
    const read = (maximum: number) => {
      if (!isUnderWay && MutableRef.get(stopping)) return dismissed
      if (!hasBody) return nothing
      if (incoming.isTaken) return taken
      const client = address === undefined ? undefined : ClientAddress.clientOf(address)
      return Effect.filterOrElse(bodies.read(incoming, maximum, client), begin, () => dismissed)
    }
    if (!hasBody || bodies.isComplete(incoming)) begin()
    const body = (maximum: number) => Effect.suspend(() => read(maximum))
    return Effect.onExit(
      handle({ method, url, headers, address, source: incoming.source, hasBody, body }),
      () => Effect.sync(() => isUnderWay && underWay.end())
    )
  }
  const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    // The library interrupts nothing outside of its routers: whoever left would be worked for to the end.
    Effect.interruptible(
      Effect.map(serve(ofPlatform(request, prefix)), (answer) => responseOf(answer, request.method))
    )
  )
  const stop = Effect.sync(() => {
    MutableRef.set(stopping, true)
    bodies.dismiss()
  })
  return { app, serve, refuse, underWay, stop, isStopping: () => MutableRef.get(stopping) }
}

/** Serves the contract over an engine. */
export const make = (options: Omit<Steps.Options, "stopping"> & Options) =>
  Effect.gen(function* () {
    const stopping = MutableRef.make(false)
    const handle = yield* Steps.make({ ...options, stopping })
    return appOf(handle, yield* Steps.refusing(options.baseUrl), { ...options, stopping })
  })
