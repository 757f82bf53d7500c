/**
 * One HTTP exchange, and what is known of it afterwards: whether it surely never arrived, was answered, or may have
 * arrived. That is why it is undici's own dispatch: what is above it does not say at which moment it failed. It
 * follows no redirect, ignores interim responses, and puts nothing of the caller's trace into the headers.
 */
import type * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Agent, buildConnector, Dispatcher } from "undici"
import * as Memo from "../domain/Memo.ts"
import * as Deadlines from "../runtime/Deadlines.ts"
import * as InterimResponses from "./InterimResponses.ts"

export interface Request {
  readonly method: "GET" | "POST"
  /** Absolute, http or https. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** For all of it: name, connection, headers and body. A whole number. */
  readonly timeoutMs: number
  /** Of the answer's body, in bytes: the rest is not read. */
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
  /** It was sent, or some of it, and no whole answer came. */
  Lost: {
    readonly reason: string
    /** When the headers came and the body did not. */
    readonly status: number | null
  }
}>

/** The reason of what took longer than it may; others are the codes of Node and undici. */
export const timeout = "timeout"

/** The reason of what the connector did not connect to: the address is not one of the allowed. */
export const addressRefused = "ADDRESS_REFUSED"

/** The connection of an exchange that is interrupted is let go of when its fiber ends. */
export type HttpClient = (request: Request) => Effect.Effect<Exchanged>

const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "error"
}

/** What undici is told of an exchange that nobody waits for any more. */
const abandoned = new Error("The exchange is over.")

/** Of undici's raw headers, names and values in turn; the first where there are several. */
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
 * undici tells how the exchange goes on; the first end counts. In the form that undici's own clients use: the newer one
 * costs a handler and a controller around this one, and all headers read.
 */
class ResponseHandler implements Dispatcher.DispatchHandler {
  private readonly maximumBytes: number
  private readonly end: (exchanged: Exchanged) => void
  /** From the moment on at which bytes may have left. */
  private abort: ((error: Error) => void) | null = null
  private status: number | null = null
  private retryAfter: string | null = null
  private location: string | null = null
  private readonly chunks: Array<Buffer> = []
  private length = 0
  /** Nobody waits for it any more. */
  isOver = false

  constructor(maximumBytes: number, end: (exchanged: Exchanged) => void) {
    this.maximumBytes = maximumBytes
    this.end = end
  }

  /** Without an answer: at the time limit, or because nobody waits for it. */
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

/** How many URLs are kept taken apart. */
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
 * Connections are kept for as long as the scope lives.
 *
 * @param connector who connects; undici itself unless said otherwise
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

    /** undici is loaded with the first exchange: it is nearly half of what a start would have to read. */
    const open = async (): Promise<Agent> => {
      const { Agent, buildConnector } = await import("undici")
      const { connections = null } = options
      const connected = connector === undefined ? buildConnector({}) : await connector()
      const connect: buildConnector.connector = (target, callback) =>
        connected(target, (error, socket) =>
          error === null ? callback(null, InterimResponses.dropFrom(socket)) : callback(error, null)
        )
      // One time limit for all of it is ours.
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
          // Cheaper than a finalizer of the fiber's, which costs more than all else here.
          const onInterrupt = () => handler.stop("interrupted")
          fiber.addObserver(onInterrupt)
          // A connection is free in the turn after its answer; who asks before opens another one.
          setImmediate(() => {
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
