/**
 * One HTTP exchange and its certainty: the request surely never arrived, was answered, or may have arrived. It uses
 * undici's dispatch, since undici's higher APIs do not say at which moment an exchange failed. It follows no
 * redirect, ignores interim responses, and adds no trace headers.
 */
import type * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Agent, buildConnector, Dispatcher } from "undici"
import * as Memo from "../domain/Memo.ts"
import * as Deadlines from "../runtime/Deadlines.ts"
import * as Timers from "../runtime/Timers.ts"
import * as InterimResponses from "./InterimResponses.ts"

export interface Request {
  readonly method: "GET" | "POST"
  /** Absolute, http or https. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The time limit of the whole exchange: name look-up, connection, headers and body. A whole number. */
  readonly timeoutMs: number
  /** The most bytes of the answer's body that are read. */
  readonly maximumBytes: number
}

export type Exchanged = Data.TaggedEnum<{
  Answered: {
    readonly status: number
    /** As it came. */
    readonly retryAfter: string | null
    /** Of a redirect (3xx), as it came. */
    readonly location: string | null
    /** UTF-8; cut at the maximum. */
    readonly body: string
  }
  /** Nothing was sent: no name, no connection, no TLS. */
  Unsent: { readonly reason: string }
  /** The request was sent at least in part, and no complete answer came. */
  Lost: {
    readonly reason: string
    /** When the headers came and the body did not. */
    readonly status: number | null
  }
}>

/** The reason of an exchange that took too long. Other reasons are the codes of Node and undici. */
export const timeout = "timeout"

/** The reason of an exchange whose address the connector's policy refuses. */
export const addressRefused = "ADDRESS_REFUSED"

/** Runs one exchange. If its fiber is interrupted, its connection is closed when the fiber ends. */
export type HttpClient = (request: Request) => Effect.Effect<Exchanged>

/** The code of Node or undici, or `error`. */
export const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "error"
}

/** The error that ends an abandoned exchange in undici. */
const abandoned = new Error("The exchange is over.")

/** A header's first value in undici's raw headers, which alternate names and values. */
const valueOf = (headers: ReadonlyArray<Buffer>, name: string): string | null => {
  for (let at = 0; at < headers.length; at += 2) {
    const each = headers[at]
    if (each?.length === name.length && each.toString("latin1").toLowerCase() === name) {
      return headers[at + 1]?.toString("latin1") ?? null
    }
  }
  return null
}

/**
 * Receives undici's events of an exchange; the first end counts. It has the handler form that undici's own clients
 * use: the newer form needs a wrapping handler and a controller, and parses all headers.
 */
class ResponseHandler implements Dispatcher.DispatchHandler {
  private readonly maximumBytes: number
  private readonly end: (exchanged: Exchanged) => void
  /** Set from the moment at which bytes may have been sent. */
  private abort: ((error: Error) => void) | null = null
  private status: number | null = null
  private retryAfter: string | null = null
  private location: string | null = null
  private readonly chunks: Array<Buffer> = []
  private length = 0
  /** True when the exchange has ended or was abandoned. */
  isOver = false

  constructor(maximumBytes: number, end: (exchanged: Exchanged) => void) {
    this.maximumBytes = maximumBytes
    this.end = end
  }

  /** Ends the exchange without an answer: at its time limit, or because its fiber was interrupted. */
  stop(reason: string): void {
    this.fail(reason)
    this.abort?.(abandoned)
  }

  onConnect(abort: (error?: Error) => void): void {
    if (this.isOver) abort(abandoned)
    else this.abort = abort
  }

  onHeaders(status: number, headers: Array<Buffer>): boolean {
    this.status = status
    this.retryAfter = valueOf(headers, "retry-after")
    if (status >= 300 && status < 400) this.location = valueOf(headers, "location")
    return true
  }

  onData(chunk: Buffer): boolean {
    this.chunks.push(chunk)
    this.length += chunk.length
    if (this.length >= this.maximumBytes) {
      this.answer()
      this.abort?.(abandoned)
    }
    return true
  }

  onComplete(): void {
    this.answer()
  }

  onError(error: Error): void {
    this.fail(codeOf(error))
  }

  private answer(): void {
    const { chunks, location, maximumBytes, retryAfter, status } = this
    const [first] = chunks
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    const body = bytes.toString("utf8", 0, maximumBytes)
    this.finish({ _tag: "Answered", status: status ?? 0, retryAfter, location, body })
  }

  private fail(reason: string): void {
    const { abort, status } = this
    this.finish(abort === null ? { _tag: "Unsent", reason } : { _tag: "Lost", reason, status })
  }

  private finish(exchanged: Exchanged): void {
    if (this.isOver) return
    this.isOver = true
    this.end(exchanged)
  }
}

/** How many parsed URLs are cached. */
const cachedTargets = 1000

interface Target {
  readonly origin: string
  readonly path: string
}

const targetOf = (url: string): Target => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

/**
 * Opens connections and reuses them until the scope ends.
 *
 * @param connector opens a connection; undici's own by default
 */
export const make = (
  options: Pick<Agent.Options, "connections">,
  connector?: () => Promise<buildConnector.connector>
): Effect.Effect<HttpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const deadlines = yield* Deadlines.make
    const targets = Memo.make<Target>(cachedTargets)
    let agent: Agent | undefined
    let opening: Promise<Agent> | undefined

    /** Loads undici with the first exchange, because it is nearly half of the code that a start would read. */
    const open = async (): Promise<Agent> => {
      const { Agent, buildConnector } = await import("undici")
      const { connections = null } = options
      const connected = connector === undefined ? buildConnector({}) : await connector()
      const connect: buildConnector.connector = (target, callback) =>
        connected(target, (error, socket) =>
          error === null ? callback(null, InterimResponses.dropFrom(socket)) : callback(error, null)
        )
      // undici's own time limits are off: `deadlines` limits the whole exchange.
      agent = new Agent({ connections, connect, headersTimeout: 0, bodyTimeout: 0 })
      return agent
    }
    yield* Effect.addFinalizer(() =>
      Effect.promise(async () => {
        await (await opening)?.destroy()
      })
    )

    const exchange = (
      agent: Agent,
      { body, headers, maximumBytes, method, timeoutMs, url }: Request
    ): Effect.Effect<Exchanged> =>
      Effect.withFiberRuntime((fiber) =>
        Effect.async((resume) => {
          const { origin, path } = targets(url, () => targetOf(url))
          const handler = new ResponseHandler(maximumBytes, (exchanged) => {
            cancelTimeout()
            fiber.removeObserver(onInterrupt)
            resume(Effect.succeed(exchanged))
          })
          const cancelTimeout = deadlines(timeoutMs, () => handler.stop(timeout))
          // An observer of the fiber, since a finalizer would cost more than the rest of this function.
          const onInterrupt = () => handler.stop("interrupted")
          fiber.addObserver(onInterrupt)
          // A connection is free one turn after its answer. An immediate dispatch would open another one.
          Timers.setImmediate(() => {
            if (handler.isOver) return
            agent.dispatch({ origin, path, method, headers, body: body ?? null }, handler)
          })
        })
      )

    return (request) => {
      if (agent !== undefined) return exchange(agent, request)
      const opened = Effect.promise(() => {
        opening ??= open()
        return opening
      })
      return Effect.flatMap(opened, (agent) => exchange(agent, request))
    }
  })
