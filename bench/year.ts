/**
 * The size of a SQLite file over simulated days: so many recipients a day in jobs of 50, each with an event and a delivery, and
 * a purge each day by the defaults of retention. Results are kept for 400 days, so the file is flat from then on.
 *
 *   npx tsx --conditions=@sendwright/source bench/year.ts [recipients a day] [days]
 */

import { existsSync, statSync } from "node:fs"
import { Instant, Retention } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import { JobStore, RetentionStore, SizeStore, WebhookStore } from "@sendwright/core/storage"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fixtures from "../packages/core/src/testing/Fixtures.ts"
import { claim, listen, now, owner } from "../packages/core/test/StorageSuite/Setup.ts"
import { file } from "./support.ts"

const perDay = Number(process.argv[2] ?? 100)
const days = Number(process.argv[3] ?? 500)
const perJob = 50
const dayMs = 86_400_000

const accepted = JobStore.Outcome.Accepted({ providerId: null, status: "sent" })

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0)

const program = Effect.fnUntraced(function* (filename: string) {
  const jobs = yield* JobStore.JobStore
  const webhooks = yield* WebhookStore.WebhookStore
  const retention = yield* RetentionStore.RetentionStore
  const sizes = yield* SizeStore.SizeStore
  const who = yield* owner
  yield* listen(who.accountId)
  for (let day = 0; day <= days; day += 1) {
    const at = Instant.after(now, day * dayMs)
    for (let sent = 0; sent < perDay; sent += perJob)
      yield* jobs.accept(Fixtures.send(who, { now: at, phones: perJob }))
    const settlements = (yield* claim(perDay, at)).flatMap(({ fence, jobId, recipients }) =>
      recipients.map(({ index }) => ({ jobId, fence, index, outcome: accepted }))
    )
    yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
    const { claimed } = yield* webhooks.settleAndClaim({
      now: at,
      settlements: [],
      claim: Fixtures.deliveryClaim()
    })
    yield* webhooks.settleAndClaim({
      now: at,
      settlements: claimed.map(({ deliveryId, fence }) => ({
        deliveryId,
        fence,
        next: "delivered" as const,
        disable: null,
        attempt: { at, status: 204, durationMs: 9, reason: null, excerpt: "" }
      })),
      claim: null
    })
    for (const walk of Retention.walkNames) {
      let after: Retention.Place | null = null
      do {
        const query: RetentionStore.SliceQuery = { walk, after, limit: 1000, now: at }
        const slice: RetentionStore.Slice = yield* retention.purge(query)
        after = slice._tag === "Busy" ? null : slice.next
      } while (after !== null)
    }
    while ((yield* sizes.shrink({ pages: 100 })).hasMore) yield* Effect.void
    if (day % 50 === 0) {
      const { bytes } = yield* sizes.measure
      yield* Console.log(`day ${day}: ${bytes} bytes, its log ${sizeOf(`${filename}-wal`)}`)
    }
  }
})

await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(file, (filename) => Effect.provide(program(filename), Sqlite.layer({ filename })))
  )
)
