/**
 * Serves an {@link HttpApp} to web-standard requests, for an embedder whose server has them: Hono, Deno, Bun, Workers
 * with Node's modules. Connections, their limits and time limits are that server's.
 */
import { Engine } from "@sendwright/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as MutableRef from "effect/MutableRef"
import type * as Redacted from "effect/Redacted"
import * as ClientAddress from "./ClientAddress.ts"
import * as Cursors from "./Cursors.ts"
import type * as Guesses from "./Guesses.ts"
import type { PlainResponse } from "./HttpApp.ts"
import * as HttpApp from "./HttpApp.ts"
import * as InFlight from "./InFlight.ts"
import * as RequestRunner from "./RequestRunner.ts"
import * as Routes from "./Routes.ts"

export interface Options {
  /**
   * Where clients reach the API, without a slash at the end: what problems and the description link to. Where it has a path,
   * requests are handed over without it, and clients put it before `links.status`.
   */
  readonly baseUrl: string
  /** Without it there is no admin API. */
  readonly adminToken?: Redacted.Redacted<string> | undefined
  /** Seals the cursors of lists. Without it a key of this process does, so that other processes cannot read them. */
  readonly secretKey?: Redacted.Redacted<Uint8Array> | undefined
  /** The client's address, as the server knows it. Without it wrong credentials are counted by public key alone. */
  readonly address?: ((request: Request) => string | undefined) | undefined
  /** How many wrong credentials are answered before the rest is refused for a while. */
  readonly guesses?: Guesses.Limits | undefined
}

/** Answers a request; rejects only when its client no longer waits for the answer. */
export type Handler = (request: Request) => Promise<Response>

/** Reads at most `maximum` bytes; undefined for a longer body, whose rest is not read. */
const read = async (request: Request, maximum: number): Promise<Uint8Array | undefined> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.length
    if (length > maximum) return undefined
    chunks.push(chunk)
  }
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
}

const plain = (request: Request, address: string | undefined): HttpApp.PlainRequest => {
  const { pathname, search } = new URL(request.url)
  return {
    method: request.method,
    url: `${pathname}${search}`,
    headers: Object.fromEntries(request.headers),
    address: address === undefined ? undefined : ClientAddress.normal(address),
    hasBody: request.body !== null,
    // The client is gone, so that no answer can be sent.
    body: (maximum) =>
      Effect.orElse(
        Effect.tryPromise(() => read(request, maximum)),
        () => Effect.interrupt
      )
  }
}

const written = (method: string, { body, headers, status }: PlainResponse): Response =>
  status === 204
    ? new Response(null, { status, headers })
    : new Response(method === "HEAD" ? null : body, {
        status,
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) }
      })

/**
 * Serves the whole API over the engine: the same routes, refusals and headers as the host's own server. When the
 * scope closes, new requests are refused, and those in progress end.
 */
export const make = ({ address: addressOf, adminToken, baseUrl, guesses, secretKey }: Options) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const stopping = MutableRef.make(false)
    const inFlight = InFlight.make()
    const handle = yield* HttpApp.make({
      engine,
      ...Routes.ofApi(engine, baseUrl),
      baseUrl,
      adminToken,
      guesses,
      cursors: secretKey === undefined ? undefined : Cursors.make(secretKey),
      stopping
    })
    const run = yield* RequestRunner.runner<never>()
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        MutableRef.set(stopping, true)
        return inFlight.none
      })
    )
    const handler: Handler = (request) =>
      new Promise((resolve, reject) => {
        inFlight.begin()
        const fiber = run(handle(plain(request, addressOf?.(request))))
        const interrupt = (): void => fiber.unsafeInterruptAsFork(fiber.id())
        request.signal.addEventListener("abort", interrupt)
        fiber.addObserver((exit) => {
          inFlight.end()
          request.signal.removeEventListener("abort", interrupt)
          if (Exit.isSuccess(exit)) resolve(written(request.method, exit.value))
          else reject(Cause.squash(exit.cause))
        })
      })
    return handler
  })
