/**
 * Events for handlers in the process: webhooks whose address is none of a network (docs/adr/0038). Events are written with the
 * changes that they tell, wait for whoever listens, and are told again until a handler was done with them, as those of any
 * webhook.
 *
 * Each pattern has an address of its own. A process delivers only to those that it listens to, and leaves the others to other
 * processes or to later; so what nobody hears is kept.
 */
import type { Engine, WebhookTransport } from "@sendwright/core"
import { Event } from "@sendwright/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Events from "../api/Events.ts"
import type { Sendwright, Signal } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import { isEvent, ofWire } from "./EventView.ts"
import { type Running, stopped } from "./Running.ts"

const origin = "https://in-process.sendwright.invalid/"
const addressOf = (subscription: string): string => `${origin}${encodeURIComponent(subscription)}`

/** The subscription that an address of ours stands for; undefined for an address of a network. */
const subscriptionAt = (url: string): string | undefined =>
  url.startsWith(origin) ? decodeURIComponent(url.slice(origin.length)) : undefined

/** The subscription of `events()`, whose readers share the events. */
const readers = "reader"

/** The topic of failures in this process, which are told to no address. */
const errors = "error"

/** The pattern of events that a subscription hears. */
const patternOf = (subscription: string): string => (subscription === readers ? "*" : subscription)

/** How long a handler may take before it is called again. */
const patience = "30 seconds"

type AnyHeard = Events.SendwrightEvent | SendwrightError
type AnyHandler = (heard: AnyHeard) => void | PromiseLike<void>
type Transport = WebhookTransport.WebhookTransport["Type"]
type Answer = Effect.Effect.Success<ReturnType<Transport["post"]>>

/** Handlers by what they subscribed to. */
class Handlers {
  readonly #handlers = new Map<string, Set<AnyHandler>>()

  add(subscription: string, handler: AnyHandler): () => void {
    const set = this.#handlers.get(subscription) ?? new Set()
    this.#handlers.set(subscription, set.add(handler))
    return () => {
      set.delete(handler)
      if (set.size === 0) this.#handlers.delete(subscription)
    }
  }

  of(subscription: string): ReadonlyArray<AnyHandler> {
    return [...(this.#handlers.get(subscription) ?? [])]
  }

  /** The topics that events are kept for. */
  get subscriptions(): ReadonlyArray<string> {
    return [...this.#handlers.keys()].filter((each) => each !== errors).toSorted()
  }

  /** Tells each handler of errors, whatever the others do. */
  tell(error: SendwrightError): ReadonlyArray<Promise<void>> {
    return this.of(errors).map(async (handle) => handle(error))
  }
}

const answered = (status: number, excerpt = ""): Answer => ({
  _tag: "Answered",
  status,
  retryAfter: null,
  excerpt
})

const late: Answer = { _tag: "Unanswered", reason: "timeout", status: null }

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Calls each handler, whatever the others do. */
const callEach = async (
  handlers: ReadonlyArray<AnyHandler>,
  event: Events.SendwrightEvent
): Promise<void> => {
  const told = await Promise.allSettled(handlers.map(async (handle) => handle(event)))
  const failed = told.find((each) => each.status === "rejected")
  if (failed !== undefined) throw failed.reason
}

/** Whoever wrote the handler looks into the log, or listens to `error`, before they look at deliveries. */
const failing = (
  subscription: string,
  { id, type }: Events.SendwrightEvent,
  cause: unknown
): Effect.Effect<void> => {
  // A reader has left, and left this event to the next one.
  if (subscription === readers) return Effect.void
  const message = `A handler of "${subscription}" failed, and is called again later: ${reason(cause)}`
  const details = { pattern: subscription, eventId: id, eventType: type }
  const error = new SendwrightError("handler_failed", message, { cause, details })
  return Effect.logError("A handler failed", Cause.fail(error))
}

const tell = (handlers: Handlers, subscription: string, body: string): Effect.Effect<Answer> => {
  const event = ofWire(JSON.parse(body))
  if (!isEvent(event)) return Effect.succeed(answered(400, "No event."))
  return Effect.tryPromise({
    try: () => callEach(handlers.of(subscription), event),
    catch: (cause) => ({ cause, answer: answered(500, reason(cause)) })
  }).pipe(
    Effect.as(answered(204)),
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => ({ cause: new Error(`It took longer than ${patience}.`), answer: late })
    }),
    Effect.catchAll(({ answer, cause }) => Effect.as(failing(subscription, event, cause), answer))
  )
}

const transportTo = (handlers: Handlers, outside: Transport): Transport => ({
  post: (request) => {
    const subscription = subscriptionAt(request.url)
    return subscription === undefined ? outside.post(request) : tell(handlers, subscription, request.body)
  },
  reaches: (url) => {
    const subscription = subscriptionAt(url)
    return subscription === undefined
      ? (outside.reaches?.(url) ?? true)
      : handlers.of(subscription).length > 0
  },
  receiverAt: (url) => {
    const subscription = subscriptionAt(url)
    if (subscription === undefined) return outside.receiverAt?.(url)
    return subscription === readers ? "the readers of `events()`" : `the handlers of "${subscription}"`
  }
})

/** Makes sure that an account has the webhook of a subscription. */
const ensuring =
  (admin: Engine.Engine["Type"]["admin"], { pages, run }: Running) =>
  async (accountId: string, subscription: string): Promise<void> => {
    const url = addressOf(subscription)
    const oldest = async () => {
      const found = []
      for await (const each of pages((page) => admin.webhooks.list(accountId, page)))
        if (each.url === url) found.push(each)
      return found.toSorted((a, b) => (a.id < b.id ? -1 : 1))[0]
    }
    const known = await oldest()
    if (known === undefined) {
      const settings = { url, events: [patternOf(subscription)], description: "Handlers in the app." }
      const { endpoint } = await run(admin.webhooks.create(accountId, settings))
      // Of two processes that made one at the same time the later one takes its own back.
      if ((await oldest())?.id !== endpoint.id) await run(admin.webhooks.remove(endpoint.id))
    } else if (!known.enabled) await run(admin.webhooks.change(known.id, { enabled: true }))
  }

/** A subscription that was asked for once is not asked for again, unless it failed. */
const once = (step: (accountId: string, subscription: string) => Promise<void>) => {
  const known = new Map<string, Promise<void>>()
  return (accountId: string, subscription: string): Promise<void> => {
    const key = `${accountId} ${subscription}`
    const begun =
      known.get(key) ??
      step(accountId, subscription).catch((error: unknown) => {
        known.delete(key)
        throw error
      })
    known.set(key, begun)
    return begun
  }
}

interface Waiting {
  readonly event: Events.SendwrightEvent
  readonly done: () => void
  readonly left: (error: Error) => void
}

/** The readers of a process: each event goes to one of them. What is left is told again. */
class Readers {
  readonly #handlers: Handlers
  readonly #wakes = new Set<() => void>()
  #waiting: Array<Waiting> = []
  #remove = (): void => {}
  #isOver = false

  constructor(handlers: Handlers) {
    this.#handlers = handlers
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#wakes) wake()
  }

  #enter(wake: () => void): void {
    this.#wakes.add(wake)
    if (this.#wakes.size > 1) return
    this.#remove = this.#handlers.add(
      readers,
      (event) =>
        new Promise<void>((done, left) => {
          if ("type" in event) this.#waiting.push({ event, done, left })
          this.#wake()
        })
    )
  }

  #leave(wake: () => void, current: Waiting | undefined): void {
    const left = new Error("The reader left.")
    current?.left(left)
    this.#wakes.delete(wake)
    if (this.#wakes.size > 0) return
    this.#remove()
    for (const each of this.#waiting) each.left(left)
    this.#waiting = []
  }

  /** An event is done when the next one is asked for. */
  async *read(
    ready: () => Promise<void>,
    hold: Running["hold"],
    signal: Signal | undefined
  ): AsyncGenerator<Events.SendwrightEvent, void> {
    let resume = (): void => {}
    const wake = (): void => resume()
    let current: Waiting | undefined
    const release = hold()
    this.#enter(wake)
    signal?.addEventListener("abort", wake)
    try {
      await ready()
      while (!this.#isOver && signal?.aborted !== true) {
        current = this.#waiting.shift()
        if (current === undefined) {
          await new Promise<void>((resolve) => {
            resume = resolve
          })
          continue
        }
        yield current.event
        current.done()
        current = undefined
      }
    } finally {
      signal?.removeEventListener("abort", wake)
      this.#leave(wake, current)
      release()
    }
  }
}

const isTopic = (name: string): name is Events.Topic => name === errors || Event.isPattern(name)

const refuseTopic = (name: string): never => {
  const message = `No event matches "${name}". Known are ${Event.patterns.join(", ")}, and "${errors}".`
  throw new SendwrightError("invalid_options", message)
}

const isOf = <Of extends Events.Topic>(topic: Of, heard: AnyHeard): heard is AnyHeard & Events.Heard<Of> =>
  "type" in heard ? Event.matches([topic], heard.type) : topic === errors

type On = Sendwright["on"]

const listening =
  (handlers: Handlers): On =>
  (topic, handler) => {
    if (!isTopic(topic)) refuseTopic(topic)
    if (typeof handler !== "function")
      throw new SendwrightError("invalid_options", `The handler of "${topic}" must be a function.`)
    return handlers.add(topic, (heard) => (isOf(topic, heard) ? handler(heard) : undefined))
  }

const onEach = (on: On, given: Events.Handlers): void => {
  const onOne = <Of extends Events.Topic>(topic: Of): void => {
    const handler = given[topic]
    if (handler !== undefined) on(topic, handler)
  }
  for (const name of Object.keys(given)) onOne(isTopic(name) ? name : refuseTopic(name))
}

export interface Subscriptions {
  /** Makes the webhooks of an account, where they are not yet. */
  readonly listenTo: (accountId: string) => Promise<void>
  /** Begins that; the log tells what goes wrong. */
  readonly beginListening: (accountId: string) => void
  /** Has made those of every account that there is. */
  readonly ready: () => Promise<void>
  /** Has made those of accounts that other processes have created since. */
  readonly look: () => Promise<void>
  readonly on: On
  readonly read: (signal: Signal | undefined) => AsyncGenerator<Events.SendwrightEvent, void>
  /** Ends every reader, and refuses handlers and readers that come later. */
  readonly end: () => void
}

/** Handlers, before there is an engine whose events they hear. */
export interface Local {
  /** Delivers to them, and by the other transport to every address of a network. */
  readonly beside: (outside: Transport) => Transport
  readonly over: (admin: Engine.Engine["Type"]["admin"], running: Running) => Subscriptions
  /** Calls the handlers of errors. */
  readonly tell: (error: SendwrightError) => ReadonlyArray<Promise<void>>
}

/** So many of the newest accounts are looked at each time: their order is that of their beginnings, not of their commits. */
const newest = 100

/** Makes the webhooks of accounts. */
const keeping = (handlers: Handlers, admin: Engine.Engine["Type"]["admin"], running: Running) => {
  const ensure = once(ensuring(admin, running))
  const heard = new Set<string>()
  const listenTo = async (accountId: string): Promise<void> => {
    for (const subscription of handlers.subscriptions) await ensure(accountId, subscription)
    heard.add(accountId)
  }
  let readyFor = ""
  let making: Promise<void> | undefined
  const make = async (): Promise<void> => {
    // Handlers that are given in one go are asked for together.
    await Promise.resolve()
    const names = handlers.subscriptions.join(" ")
    for await (const { id } of running.pages(admin.accounts.list)) await listenTo(id)
    readyFor = names
  }
  const ready = async (): Promise<void> => {
    while (handlers.subscriptions.join(" ") !== readyFor) {
      making ??= make().finally(() => {
        making = undefined
      })
      await making
    }
  }
  const look = async (): Promise<void> => {
    await ready()
    if (handlers.subscriptions.length === 0) return
    let looked = 0
    for await (const { id } of running.pages(admin.accounts.list, newest)) {
      const isKnown = heard.has(id)
      await listenTo(id)
      looked += 1
      if (isKnown && looked >= newest) return
    }
  }
  return { listenTo, ready, look }
}

/** What nobody waits for tells the log what went wrong. Once this process was stopped, there is nobody to tell. */
const beginning =
  ({ run }: Running) =>
  (step: Promise<void>): void => {
    const told = (cause: unknown) =>
      run(
        Effect.logError(
          "Events may not be kept yet for handlers; the next call tries again",
          Cause.fail(cause)
        )
      )
    step.catch(told).catch(() => {})
  }

export const make = (given: Events.Handlers): Local => {
  const handlers = new Handlers()
  const all = new Readers(handlers)
  const on = listening(handlers)
  onEach(on, given)
  return {
    beside: (outside) => transportTo(handlers, outside),
    tell: (error) => handlers.tell(error),
    over: (admin, running) => {
      const { listenTo, look, ready } = keeping(handlers, admin, running)
      const begin = beginning(running)
      let isOver = false
      const open = (): void => {
        if (isOver) throw stopped()
      }
      return {
        listenTo,
        // Behind the transaction that it is begun in, where that is synchronous.
        beginListening: (accountId) => begin(Promise.resolve().then(() => listenTo(accountId))),
        ready: async () => {
          open()
          await ready()
        },
        look,
        on: (pattern, handler) => {
          open()
          const remove = on(pattern, handler)
          begin(ready())
          return remove
        },
        read: (signal) => {
          open()
          return all.read(ready, running.hold, signal)
        },
        end: () => {
          isOver = true
          all.end()
        }
      }
    }
  }
}
