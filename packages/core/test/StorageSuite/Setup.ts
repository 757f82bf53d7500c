/** What the parts of the suite share. */

import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Time from "../../src/domain/Instant.ts"
import * as Retention from "../../src/domain/Retention.ts"
import type { News } from "../../src/domain/session/Circuit.ts"
import * as EventData from "../../src/domain/webhook/EventData.ts"
import * as EventType from "../../src/domain/webhook/EventType.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import type { Slice } from "../../src/storage/RetentionStore.ts"
import { RetentionStore } from "../../src/storage/RetentionStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

export type Stored = Layer.Layer<Stores, unknown>

export const { now } = Fixtures

/** An account with a connected session and a key. */
export const owner: Effect.Effect<Owner, unknown, Stores> = Effect.gen(function* () {
  const account = Fixtures.account()
  const session = Fixtures.session(account.id)
  const key = Fixtures.apiKey(session.id)
  yield* (yield* AccountStore).create(account)
  yield* (yield* SessionStore).create(session)
  yield* (yield* ApiKeyStore).create(key)
  return { accountId: account.id, sessionId: session.id, publicKey: key.publicKey }
})

/** Claims at a time, up to a limit. */
export const claim = Effect.fnUntraced(function* (limit = 250, at = now, worker = "worker-1") {
  const jobs = yield* JobStore
  const { claimed } = yield* jobs.settleAndClaim({
    now: at,
    settlements: [],
    claim: { worker, limit }
  })
  return claimed
})

/** Looks until a segment is begun: transactions of other tests, on the same server, hold it up for as long as they are open. */
export const beginSegment = Effect.flatMap(JobStore, ({ writeSegments }) =>
  Effect.repeat(writeSegments, { until: (goesOn) => goesOn })
)

export const writeSegment = Effect.flatMap(JobStore, ({ writeSegments }) =>
  Effect.zipRight(beginSegment, Effect.repeat(writeSegments, { while: (goesOn) => goesOn }))
)

/** Tells the store what a process found of a session's platform; answers whether an outage began or ended with it. */
export const tell = Effect.fnUntraced(function* (sessionId: string, what: News["what"], at: Time.Instant) {
  const news = [{ sessionId, what }]
  const { turned } = yield* (yield* JobStore).settleAndClaim({ now: at, settlements: [], news, claim: null })
  return turned.includes(sessionId)
})

export const results = Effect.fnUntraced(function* (jobId: string) {
  const jobs = yield* JobStore
  const { items } = yield* jobs.results({ jobId, page: { limit: 250, after: null } })
  return items
})

export const find = Effect.fnUntraced(function* (jobId: string) {
  const jobs = yield* JobStore
  return (yield* jobs.find(jobId)) ?? (yield* Effect.dieMessage("The job is gone."))
})

const decodeEvent = Schema.decodeUnknownSync(
  Schema.parseJson(
    Schema.Struct({
      type: Schema.Literal(...EventType.types, EventType.batchType),
      data: Schema.Record({ key: Schema.String, value: Schema.Unknown })
    })
  )
)

/** Claims the events that wait for an endpoint of all events, oldest first: the next call answers those that came since. */
export const events = Effect.fnUntraced(function* (at = now + 1) {
  const webhooks = yield* WebhookStore
  const claimed = yield* webhooks.settleAndClaim({
    now: at,
    settlements: [],
    claim: Fixtures.deliveryClaim({ worker: "events" })
  })
  return claimed.claimed.map(({ body }) => {
    const { data, type } = decodeEvent(body)
    // Whatever it tells, its data are those of its type, of which each says whose it is.
    Schema.validateSync(Schema.make(EventData.byType[type].ast), { onExcessProperty: "error" })(data)
    return { type, data }
  })
})

export const listen = Effect.fnUntraced(function* (accountId: string) {
  const endpoint = Fixtures.endpoint(accountId)
  yield* (yield* WebhookStore).create(endpoint)
  return endpoint
})

/** Chooses every recipient of a job that failed or is unknown, as {@link failure} says. */
export const everyLost = { statuses: ["failed", "unknown"], codes: ["broken"] } as const

export const failure = { code: "broken", provider_code: "1", message: "It broke.", permanent: true }

/** The rest of a walk from a place on, in slices; answers what went of whom. */
export const purgeWalk = Effect.fnUntraced(function* (walk: Retention.Walk, at: Time.Instant, limit = 100) {
  const store = yield* RetentionStore
  const shares: Array<Retention.Share> = []
  let after: Retention.Place | null = null
  do {
    const slice: Slice = yield* store.purge({ walk, after, limit, now: at })
    if (slice._tag === "Busy") return yield* Effect.dieMessage("Somebody else purges.")
    shares.push(...slice.shares)
    after = slice.next
  } while (after !== null)
  return Retention.merge(shares)
})

/** A whole purge. */
export const purgeAll = Effect.fnUntraced(function* (at: Time.Instant, limit = 100) {
  const shares: Array<Retention.Share> = []
  for (const walk of Retention.walkNames) shares.push(...(yield* purgeWalk(walk, at, limit)))
  return Retention.merge(shares)
})
