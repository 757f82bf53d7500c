/**
 * Events for handlers in the process: webhooks whose address is no address of a network. Events are written with the changes
 * that they tell, wait for whoever listens, and are told again until a handler was done with them, as those of any webhook.
 *
 * Each pattern has an address of its own. A process delivers only to those that it listens to, and leaves the others to other
 * processes or to later; so what nobody hears is kept.
 */
import type { WebhookTransport } from "@sendwright/core"
import { Event } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type * as Events from "../api/Events.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import { isEvent, ofWire } from "./EventView.ts"
import type { CoreAdmin } from "./Operators.ts"
import type { Running } from "./Running.ts"

const origin = "https://in-process.sendwright.invalid/"
const addressOf = (subscription: string): string => `${origin}${encodeURIComponent(subscription)}`

/** The address of `events()`, whose readers share the events. */
const readers = "reader"

/** How long a handler may take before it is called again. */
const patience = "30 seconds"

type AnyHandler = (event: Events.SendwrightEvent) => void | PromiseLike<void>

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

/** What a subscription hears, by its name. */
const patternOf = (subscription: string): string => (subscription === readers ? "*" : subscription)

export interface Subscriptions {
  /** Makes the webhooks of an account, where they are not yet. */
  readonly listenTo: (accountId: string) => Promise<void>
  /** Has made those of every account that there is. */
  readonly ready: () => Promise<void>
  readonly on: <Pattern extends Events.EventPattern>(
    pattern: Pattern,
    handler: Events.Handler<Pattern>
  ) => () => void
  readonly onAll: (handlers: Events.Handlers) => void
  readonly read: (signal: AbortSignal | undefined) => AsyncGenerator<Events.SendwrightEvent, void>
}

type Answer = Effect.Effect.Success<ReturnType<WebhookTransport.WebhookTransport["Type"]["post"]>>

const answered = (status: number, excerpt = ""): Answer => ({
  _tag: "Answered",
  status,
  retryAfter: null,
  excerpt
})

const late: Answer = { _tag: "Unanswered", reason: "timeout", status: null }

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Handlers, before there is an engine whose events they hear. */
export interface Local {
  /** Delivers to them, and by the other transport to every address of a network. */
  readonly beside: (
    outside: WebhookTransport.WebhookTransport["Type"]
  ) => WebhookTransport.WebhookTransport["Type"]
  readonly over: (admin: CoreAdmin, running: Running) => Subscriptions
}

export const make = (): Local => {
  const handlers = new Map<string, Set<AnyHandler>>()

  const tell = async (subscription: string, body: string): Promise<Answer> => {
    const event = ofWire(JSON.parse(body))
    if (!isEvent(event)) return answered(400, "No event.")
    // Each handler is called, whatever the others do.
    const told = await Promise.allSettled(
      [...(handlers.get(subscription) ?? [])].map(async (handle) => handle(event))
    )
    const failed = told.find((each) => each.status === "rejected")
    return failed === undefined ? answered(204) : answered(500, reason(failed.reason))
  }

  const subscriptionAt = (url: string): string | undefined =>
    url.startsWith(origin) ? decodeURIComponent(url.slice(origin.length)) : undefined

  const beside: Local["beside"] = (outside) => ({
    post: (request) => {
      const subscription = subscriptionAt(request.url)
      if (subscription === undefined) return outside.post(request)
      return Effect.timeoutTo(
        Effect.promise(() => tell(subscription, request.body)),
        { duration: patience, onSuccess: (answer) => answer, onTimeout: () => late }
      )
    },
    reaches: (url) => {
      const subscription = subscriptionAt(url)
      return subscription === undefined ? (outside.reaches?.(url) ?? true) : handlers.has(subscription)
    }
  })

  const over: Local["over"] = (admin, { pages, run }) => {
    /** Accounts and subscriptions that have their webhook. */
    const known = new Map<string, Promise<void>>()

    const ensure = async (accountId: string, subscription: string): Promise<void> => {
      const url = addressOf(subscription)
      const ofUrl = async () => {
        const found = []
        for await (const each of pages((page) => admin.webhooks.list(accountId, page)))
          if (each.url === url) found.push(each)
        return found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      }
      const [first] = await ofUrl()
      if (first === undefined) {
        const settings = { url, events: [patternOf(subscription)], description: "Handlers in the app." }
        const { endpoint } = await run(admin.webhooks.create(accountId, settings))
        // Of two processes that made one at the same time the later one takes its own back.
        if ((await ofUrl())[0]?.id !== endpoint.id) await run(admin.webhooks.remove(endpoint.id))
      } else if (!first.enabled) await run(admin.webhooks.change(first.id, { enabled: true }))
    }

    const ensureOnce = (accountId: string, subscription: string): Promise<void> => {
      const key = `${accountId} ${subscription}`
      const ensured =
        known.get(key) ??
        ensure(accountId, subscription).catch((error: unknown) => {
          known.delete(key)
          throw error
        })
      known.set(key, ensured)
      return ensured
    }

    const listenTo = async (accountId: string): Promise<void> => {
      for (const subscription of handlers.keys()) await ensureOnce(accountId, subscription)
    }

    let readyFor = ""
    const ready = async (): Promise<void> => {
      const names = [...handlers.keys()].toSorted().join(" ")
      if (names === readyFor) return
      for await (const { id } of pages(admin.accounts.list)) await listenTo(id)
      readyFor = names
    }

    const add = (subscription: string, handler: AnyHandler): (() => void) => {
      const set = handlers.get(subscription) ?? new Set()
      handlers.set(subscription, set.add(handler))
      return () => {
        set.delete(handler)
        if (set.size === 0) handlers.delete(subscription)
      }
    }

    const on: Subscriptions["on"] = (pattern, handler) => {
      if (!isPattern(pattern)) refusePattern(pattern)
      if (typeof handler !== "function")
        throw new SendwrightError("invalid_options", `The handler of "${pattern}" must be a function.`)
      return add(pattern, (event) => (matches(pattern, event) ? handler(event) : undefined))
    }

    const onAll: Subscriptions["onAll"] = (handlers) => {
      const onOne = <Pattern extends Events.EventPattern>(pattern: Pattern): void => {
        const handler = handlers[pattern]
        if (handler !== undefined) on(pattern, handler)
      }
      for (const name of Object.keys(handlers)) onOne(isPattern(name) ? name : refusePattern(name))
    }

    async function* read(signal: AbortSignal | undefined): AsyncGenerator<Events.SendwrightEvent, void> {
      const waiting: Array<{
        readonly event: Events.SendwrightEvent
        readonly done: () => void
        readonly left: (error: Error) => void
      }> = []
      let wake = (): void => {}
      const remove = add(
        readers,
        (event) =>
          new Promise<void>((done, left) => {
            waiting.push({ event, done, left })
            wake()
          })
      )
      const aborted = (): void => wake()
      signal?.addEventListener("abort", aborted)
      let current: (typeof waiting)[number] | undefined
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

    return { listenTo, ready, on, onAll, read }
  }

  return { beside, over }
}
