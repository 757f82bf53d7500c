/**
 * One HTTP exchange, and what is known of it afterwards: whether it surely never arrived, was answered, or may have
 * arrived. That is why it is undici's own dispatch: what is above it does not say at which moment it failed. It
 * follows no redirect and puts nothing of the caller's trace into the headers.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { RuntimeFiber } from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Dispatcher } from "undici"
import { Agent } from "undici"
import * as Deadlines from "./Deadlines.ts"

export interface Request {
  readonly method: "GET" | "POST"
  /** Absolute, http or https. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
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
export const Exchanged = Data.taggedEnum<Exchanged>()
const { Answered: answered, Lost: lost, Unsent: unsent } = Exchanged

/** The reason of what took longer than it may; others are the codes of Node and undici. */
export const timeout = "timeout"

/** The connection of an exchange that is interrupted is let go of when its fiber ends, or makes the next. */
export type HttpClient = (request: Request) => Effect.Effect<Exchanged>

const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && "code" in error ? String(error.code) : "error"
}

/** What undici is told of an exchange that nobody waits for any more. */
const abandoned = new Error("The exchange is over.")

/** undici tells how the exchange goes on; the first end counts. */
class Course implements Dispatcher.DispatchHandler {
  private readonly maximumBytes: number
  private readonly end: (exchanged: Exchanged) => void
  /** From the moment on at which bytes may have left. */
  private controller: Dispatcher.DispatchController | null = null
  private status: number | null = null
  private retryAfter: string | null = null
  private readonly chunks: Array<Buffer> = []
  private length = 0
  private isOver = false

  constructor(maximumBytes: number, end: (exchanged: Exchanged) => void) {
    this.maximumBytes = maximumBytes
    this.end = end
  }

  /** Without an answer: at the time limit, or because nobody waits for it. */
  stop(reason: string): void {
    this.fail(reason)
    this.controller?.abort(abandoned)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isOver) controller.abort(abandoned)
    else this.controller = controller
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    // 1xx announce the answer.
    if (status < 200) return
    this.status = status
    const retryAfter = headers["retry-after"]
    if (typeof retryAfter === "string") this.retryAfter = retryAfter
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk)
    this.length += chunk.length
    if (this.length < this.maximumBytes) return
    this.answer()
    controller.abort(abandoned)
  }

  onResponseEnd(): void {
    this.answer()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(codeOf(error))
  }

  private answer(): void {
    const { chunks, maximumBytes, retryAfter, status } = this
    const [first] = chunks
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    const body = bytes.toString("utf8", 0, maximumBytes)
    this.finish(answered({ status: status ?? 0, retryAfter, body }))
  }

  private fail(reason: string): void {
    const { controller, status } = this
    this.finish(controller === null ? unsent({ reason }) : lost({ reason, status }))
  }

  private finish(exchanged: Exchanged): void {
    if (this.isOver) return
    this.isOver = true
    this.end(exchanged)
  }
}

/** A fiber, and what it waits for. */
interface Asker {
  course: Course | null
}

type Fiber = RuntimeFiber<unknown, unknown>

/** How many URLs are kept taken apart. */
const keptTargets = 1000

interface Target {
  readonly origin: string
  readonly path: string
}

const targetOf = (url: string): Target => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

/** Connections are kept for as long as the scope lives. */
export const make = (
  options: Pick<Agent.Options, "connect" | "connections">
): Effect.Effect<HttpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const deadlines = yield* Deadlines.make
    const dispatcher = yield* Effect.acquireRelease(
      // One time limit for all of it is ours.
      Effect.sync(() => new Agent({ ...options, headersTimeout: 0, bodyTimeout: 0 })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const targets = new Map<string, Target>()
    const target = (url: string): Target => {
      const known = targets.get(url)
      if (known !== undefined) return known
      if (targets.size >= keptTargets) targets.clear()
      const fresh = targetOf(url)
      targets.set(url, fresh)
      return fresh
    }

    // Fibers make many exchanges, one after the other: a finalizer for each costs more than all else here.
    const askers = new WeakMap<Fiber, Asker>()
    const askerOf = (fiber: Fiber): Asker => {
      const known = askers.get(fiber)
      if (known !== undefined) return known
      const asker: Asker = { course: null }
      askers.set(fiber, asker)
      fiber.addObserver(() => asker.course?.stop("interrupted"))
      return asker
    }

    return ({ body, headers, maximumBytes, method, timeoutMs, url }) =>
      Effect.withFiberRuntime((fiber) =>
        Effect.async((resume) => {
          const { origin, path } = target(url)
          const asker = askerOf(fiber)
          asker.course?.stop("interrupted")
          const course = new Course(maximumBytes, (exchanged) => {
            lift()
            asker.course = null
            resume(Effect.succeed(exchanged))
          })
          asker.course = course
          const lift = deadlines(timeoutMs, () => course.stop(timeout))
          dispatcher.dispatch({ origin, path, method, headers, body: body ?? null }, course)
        })
      )
  })
