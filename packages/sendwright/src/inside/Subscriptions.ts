/**
 * Events for handlers in the process: webhooks whose address is none of a network (docs/adr/0038). Events are written with the
 * changes that they tell, wait for whoever listens, and are told again until a handler was done with them, as those of any
 * webhook.
 *
 * Each pattern has an address of its own. A process delivers only to those that it listens to, and leaves the others to other
 * processes or to later; so what nobody hears is kept.
 */
import type { WebhookTransport } from "@sendwright/core"
import { Event } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type * as Events from "../api/Events.ts"
import type { Signal } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import { isEvent, ofWire } from "./EventView.ts"
import type { CoreAdmin } from "./Operators.ts"
import type { Running } from "./Running.ts"

const origin = "https://in-process.sendwright.invalid/"
const addressOf = (subscription: string): string => `${origin}${encodeURIComponent(subscription)}`

/** What is subscribed to at an address; undefined for an address of a network. */
const subscriptionAt = (url: string): string | undefined =>
  url.startsWith(origin) ? decodeURIComponent(url.slice(origin.length)) : undefined

/** The subscription of `events()`, whose readers share the events. */
const readers = "reader"

/** What a subscription hears. */
const patternOf = (subscription: string): string => (subscription === readers ? "*" : subscription)

/** How long a handler may take before it is called again. */
const patience = "30 seconds"

type AnyHandler = (event: Events.SendwrightEvent) => void | PromiseLike<void>
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

  get subscriptions(): ReadonlyArray<string> {
    return [...this.#handlers.keys()].toSorted()
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
const tell = async (handlers: ReadonlyArray<AnyHandler>, body: string): Promise<Answer> => {
  const event = ofWire(JSON.parse(body))
  if (!isEvent(event)) return answered(400, "No event.")
  const told = await Promise.allSettled(handlers.map(async (handle) => handle(event)))
  const failed = told.find((each) => each.status === "rejected")
  return failed === undefined ? answered(204) : answered(500, reason(failed.reason))
}

const transportTo = (handlers: Handlers, outside: Transport): Transport => ({
  post: (request) => {
    const subscription = subscriptionAt(request.url)
    if (subscription === undefined) return outside.post(request)
    return Effect.timeoutTo(
      Effect.promise(() => tell(handlers.of(subscription), request.body)),
      { duration: patience, onSuccess: (answer) => answer, onTimeout: () => late }
    )
  },
  reaches: (url) => {
    const subscription = subscriptionAt(url)
    return subscription === undefined
      ? (outside.reaches?.(url) ?? true)
      : handlers.of(subscription).length > 0
  }
})

/** Makes sure that an account has the webhook of a subscription. */
const ensuring =
  (admin: CoreAdmin, { pages, run }: Running) =>
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

/** What was asked for once is not asked for again, unless it failed. */
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

/** An event is done when the next one is asked for. What is left is told again. */
async function* reading(
  handlers: Handlers,
  ready: () => Promise<void>,
  signal: Signal | undefined
): AsyncGenerator<Events.SendwrightEvent, void> {
  const waiting: Array<Waiting> = []
  let wake = (): void => {}
  const remove = handlers.add(
    readers,
    (event) =>
      new Promise<void>((done, left) => {
        waiting.push({ event, done, left })
        wake()
      })
  )
  const aborted = (): void => wake()
  signal?.addEventListener("abort", aborted)
  let current: Waiting | undefined
  try {
    await ready()
    while (signal?.aborted !== true) {
      current = waiting.shift()
      if (current === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      yield current.event
      current.done()
      current = undefined
    }
  } finally {
    remove()
    signal?.removeEventListener("abort", aborted)
    const left = new Error("The reader left.")
    for (const each of current === undefined ? waiting : [current, ...waiting]) each.left(left)
  }
}

const isPattern = (name: string): name is Events.EventPattern => Event.isPattern(name)

const refusePattern = (name: string): never => {
  const message = `No event matches "${name}". Known are ${Event.patterns.join(", ")}.`
  throw new SendwrightError("invalid_options", message)
}

const matches = <Pattern extends Events.EventPattern>(
  pattern: Pattern,
  event: Events.SendwrightEvent
): event is Events.SendwrightEvent & Events.SendwrightEvent<Events.Matching<Pattern>> =>
  Event.matches([pattern], event.type)

type On = <Pattern extends Events.EventPattern>(
  pattern: Pattern,
  handler: Events.Handler<Pattern>
) => () => void

const listening =
  (handlers: Handlers): On =>
  (pattern, handler) => {
    if (!isPattern(pattern)) refusePattern(pattern)
    if (typeof handler !== "function")
      throw new SendwrightError("invalid_options", `The handler of "${pattern}" must be a function.`)
    return handlers.add(pattern, (event) => (matches(pattern, event) ? handler(event) : undefined))
  }

const onEach = (on: On, given: Events.Handlers): void => {
  const onOne = <Pattern extends Events.EventPattern>(pattern: Pattern): void => {
    const handler = given[pattern]
    if (handler !== undefined) on(pattern, handler)
  }
  for (const name of Object.keys(given)) onOne(isPattern(name) ? name : refusePattern(name))
}

export interface Subscriptions {
  /** Makes the webhooks of an account, where they are not yet. */
  readonly listenTo: (accountId: string) => Promise<void>
  /** Has made those of every account that there is. */
  readonly ready: () => Promise<void>
  readonly on: On
  readonly read: (signal: Signal | undefined) => AsyncGenerator<Events.SendwrightEvent, void>
}

/** Handlers, before there is an engine whose events they hear. */
export interface Local {
  /** Delivers to them, and by the other transport to every address of a network. */
  readonly beside: (outside: Transport) => Transport
  readonly over: (admin: CoreAdmin, running: Running) => Subscriptions
}

export const make = (given: Events.Handlers): Local => {
  const handlers = new Handlers()
  const on = listening(handlers)
  onEach(on, given)
  return {
    beside: (outside) => transportTo(handlers, outside),
    over: (admin, running) => {
      const ensure = once(ensuring(admin, running))
      const listenTo = async (accountId: string): Promise<void> => {
        for (const subscription of handlers.subscriptions) await ensure(accountId, subscription)
      }
      let readyFor = ""
      const ready = async (): Promise<void> => {
        const names = handlers.subscriptions.join(" ")
        if (names === readyFor) return
        for await (const { id } of running.pages(admin.accounts.list)) await listenTo(id)
        readyFor = names
      }
      return { listenTo, ready, on, read: (signal) => reading(handlers, ready, signal) }
    }
  }
}
