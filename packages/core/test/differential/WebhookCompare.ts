/**
 * Runs one history of webhooks over several stores side by side and compares, after every step, all that a caller can
 * see: the answer, endpoints, deliveries with their attempts, and what is due next. Deliveries and events have ids of
 * their store's own, so they are told by their endpoint and how many were made for it before.
 */

import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import type { Endpoint } from "../../src/domain/webhook/Webhook.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import type { DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Difference, Subject } from "./Compare.ts"
import { idsOfRun, partings, seen } from "./Compare.ts"
import type { Ending, Step, WebhookHistory } from "./WebhookHistory.ts"
import { accountOf, accounts, endpoints } from "./WebhookHistory.ts"

const everything = { limit: 250, after: null }

/** An attempt that was given out. */
interface Given {
  readonly delivery: string
  readonly fence: number
}

/** What all stores of a run are told the same of. */
interface Cast {
  now: Time.Instant
  /** How many steps were made: what they create is told apart by it. */
  step: number
  readonly idOf: (place: number) => string
  /** Every attempt that was given out, in the order of the claims. */
  readonly given: Array<Given>
}

/** Deliveries by their names, of one store. */
type Names = ReadonlyMap<string, string>

const accountIdOf = ({ idOf }: Cast, account: number): string => idOf(100 + account)
const endpointIdOf = ({ idOf }: Cast, endpoint: number): string => idOf(200 + endpoint)
const workerOf = (place: number): string => `worker-${place}`

/** Names every delivery that there is; those of an endpoint in the order in which they were made. */
const naming = Effect.fnUntraced(function* (world: Cast) {
  const store = yield* WebhookStore
  const names = new Map<string, string>()
  for (let endpoint = 0; endpoint < endpoints; endpoint++) {
    const { items } = yield* store.deliveries({ endpointId: endpointIdOf(world, endpoint), page: everything })
    for (const [place, { id }] of items.toReversed().entries()) names.set(`${endpoint}.${place}`, id)
  }
  return names
})

const settlementOf = (
  deliveryId: string,
  fence: number,
  ending: Ending,
  now: Time.Instant
): DeliverySettlement => {
  const isDelivered = ending.end === "delivered"
  const next =
    "afterMs" in ending ? Time.after(now, ending.afterMs) : ending.end === "exhausted" ? null : "delivered"
  return {
    deliveryId,
    fence,
    attempt: {
      at: now,
      status: isDelivered ? 204 : ending.end === "gone" ? 410 : 500,
      durationMs: 7,
      reason: isDelivered ? null : "status",
      excerpt: ending.end
    },
    next,
    disable: ending.end === "gone" ? "The receiver answered 410 Gone." : null
  }
}

/** What a store is asked by a step. */
const perform = (step: Step, world: Cast, names: Names): Effect.Effect<unknown, unknown, Stores> =>
  Effect.gen(function* () {
    const { now } = world
    const store = yield* WebhookStore
    switch (step.do) {
      case "create": {
        const { events, perSecond } = step
        const id = endpointIdOf(world, step.endpoint)
        if ((yield* store.find(id)) !== null) return null
        const some = { id, events, deliveriesPerSecond: perSecond, createdAt: now, updatedAt: now }
        return yield* store.create(Fixtures.endpoint(accountIdOf(world, accountOf(step.endpoint)), some))
      }
      case "change": {
        const { enabled, endpoint, events, perSecond } = step
        const change = {
          ...(enabled !== undefined && { enabled, disabledReason: enabled ? null : "by an operator" }),
          ...(events !== undefined && { events }),
          ...(perSecond !== undefined && { deliveriesPerSecond: perSecond })
        }
        return yield* store.change({ id: endpointIdOf(world, endpoint), change, now })
      }
      case "remove":
        return yield* store.remove(endpointIdOf(world, step.endpoint))
      case "rotate": {
        const secret = { sealed: `sealed ${world.step}`, createdAt: now, expiresAt: null }
        const id = endpointIdOf(world, step.endpoint)
        return yield* store.rotate({ id, secret, expireOthersAt: Time.after(now, 60_000), now })
      }
      case "test": {
        const endpointId = endpointIdOf(world, step.endpoint)
        const test = Event.webhookTest(endpointId)
        const draft = { ...test, data: { ...test.data, message: `Step ${world.step}.` } }
        return (yield* store.send({ endpointId, draft, now })) !== null
      }
      case "tell": {
        const records = Array.from({ length: step.events }, (_, place) =>
          Fixtures.consent(`3460000${world.step}0${place}`, {
            id: world.idOf(1000 + 10 * world.step + place),
            status: step.granted ? "granted" : "revoked",
            recordedAt: now
          })
        )
        const accountId = accountIdOf(world, step.account)
        return yield* Effect.asVoid((yield* ConsentStore).record({ accountId, records }))
      }
      case "exchange": {
        const settlements = step.settle.flatMap(([place, ending]) => {
          const given = world.given.at(-1 - (place % Math.max(1, world.given.length)))
          return given === undefined
            ? []
            : [settlementOf(names.get(given.delivery) ?? "", given.fence, ending, now)]
        })
        const { claim } = step
        const { claimed, disabled, settled } = yield* store.settleAndClaim({
          now,
          settlements,
          claim:
            claim === null
              ? null
              : {
                  worker: workerOf(claim.worker),
                  limit: claim.limit,
                  full: claim.full.map((each) => endpointIdOf(world, each)),
                  room: () => claim.room
                }
        })
        return {
          settled,
          disabled,
          claimed: claimed.map(({ body, deliveryId, eventId, ...others }) => {
            const { created_at, data, id, type } = JSON.parse(body)
            return { ...others, deliveryId, event: { created_at, data, type, isItself: id === eventId } }
          })
        }
      }
      case "rescue": {
        const { beats } = step
        return yield* store.rescue({
          worker: workerOf(step.worker),
          now,
          ...(beats !== null && { beats })
        })
      }
      case "beat": {
        const { beats } = step
        const jobs = yield* JobStore
        return yield* jobs.heartbeat({ workers: [workerOf(step.worker)], beats, dispatchesAt: null })
      }
      case "replay": {
        const made = [...names].filter(([name]) => name.startsWith(`${step.endpoint}.`))
        const [, deliveryId = "nobody's"] = made.at(-1 - (step.back % Math.max(1, made.length))) ?? []
        return (yield* store.replay({ deliveryId, now })) !== null
      }
      case "replayFailed":
      case "replayMissing": {
        const endpointId = endpointIdOf(world, step.endpoint)
        return yield* store[step.do]({ endpointId, since: Time.before(now, step.sinceMs), now })
      }
      case "makeDue":
        return yield* store.makeDue({ now: () => now })
      case "clock":
        return null
    }
  })

/** All that a caller can see, beside the answers. */
const look = (world: Cast) =>
  Effect.gen(function* () {
    const store = yield* WebhookStore
    const { now } = world
    const known: Array<Endpoint> = []
    for (let account = 0; account < accounts; account++) {
      const { items } = yield* store.list({ accountId: accountIdOf(world, account), page: everything })
      known.push(...items)
    }
    const deliveries = yield* Effect.forEach(known, ({ id }) =>
      Effect.map(store.deliveries({ endpointId: id, page: everything }), ({ items }) =>
        items.map(({ eventId: _, ...others }) => others)
      )
    )
    return {
      workers: [...(yield* (yield* JobStore).workers)].sort((a, b) => (a.worker < b.worker ? -1 : 1)),
      nextDue: yield* store.nextDue({ now, full: [] }),
      nextDueOfOthers: yield* store.nextDue({ now, full: [endpointIdOf(world, 0)] }),
      known,
      deliveries
    }
  })

/** As text, with the deliveries' names in the place of their ids. */
const textOf = (value: unknown, names: Names): string => {
  let text = JSON.stringify(value)
  for (const [name, id] of names) text = text.replaceAll(id, name)
  return text
}

interface Claimed {
  readonly deliveryId: string
  readonly fence: number
}

const givenIn = (text: string): ReadonlyArray<Given> => {
  const { answer }: { readonly answer: { readonly claimed?: ReadonlyArray<Claimed> } | null } =
    JSON.parse(text)
  return (answer?.claimed ?? []).map(({ deliveryId, fence }) => ({ delivery: deliveryId, fence }))
}

/** Runs the history over all of them; null when they answer and show the same after every step. */
export const compare = (
  subjects: ReadonlyArray<Subject>,
  history: WebhookHistory
): Effect.Effect<Difference | null> =>
  Effect.gen(function* () {
    const world: Cast = { now: Fixtures.now, step: 0, idOf: idsOfRun(), given: [] }
    const names = new Map<Subject, Names>()
    for (const subject of subjects) {
      yield* subject.clear
      // Where nothing waits, the next claim begins with the first endpoint.
      const empty = { now: world.now, settlements: [], claim: Fixtures.deliveryClaim() }
      const begin = Effect.flatMap(WebhookStore, (store) => store.settleAndClaim(empty))
      yield* Effect.provide(begin, subject.stores)
    }
    const observe = Effect.fnUntraced(function* (subject: Subject, step: Step) {
      const known = names.get(subject) ?? new Map<string, string>()
      const run = Effect.gen(function* () {
        const answer = yield* seen(perform(step, world, known))
        const now = yield* naming(world)
        names.set(subject, now)
        // Those that the step removed keep their names.
        return textOf(
          { answer: answer ?? null, state: yield* seen(look(world)) },
          new Map([...known, ...now])
        )
      })
      return yield* Effect.provide(run, subject.stores)
    })
    for (const [place, step] of history.entries()) {
      world.step = place
      if (step.do === "clock") world.now = Time.after(world.now, step.ms)
      let expected: readonly [name: string, text: string] | undefined
      for (const subject of subjects) {
        const text = yield* observe(subject, step)
        if (expected === undefined) expected = [subject.name, text]
        const [name, first] = expected
        if (text === first) continue
        // Members may come in another order.
        const [at] = partings(JSON.parse(first), JSON.parse(text), "")
        if (at !== undefined) return { step: place, stores: `${name} and ${subject.name}`, at }
      }
      if (expected !== undefined) world.given.push(...givenIn(expected[1]))
    }
    return null
  }).pipe(Effect.orDie)
