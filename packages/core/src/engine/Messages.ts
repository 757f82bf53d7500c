/** Reading direct messages: a caller's own, and an account's for the operator. */
import * as Effect from "effect/Effect"
import { NotFound } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Job } from "../domain/job/Job.ts"
import type { Page } from "../domain/Page.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { Caller, Message } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.gen(function* () {
  const jobs = yield* JobStore

  const ofJob = (job: Job) =>
    Effect.map(jobs.results({ jobId: job.id, page: { limit: 1, after: null } }), ({ items }) =>
      items.map((recipient): Message => ({ job, recipient }))
    )

  /** Another key's message, and the id of a template's recipient, are refused like an id that does not exist. */
  const find = Effect.fnUntraced(function* (caller: Caller, messageId: string) {
    const place = Ids.parseMessageId(messageId)
    const job = place?.index === 0 ? yield* jobs.find(place.jobId) : null
    if (job !== null && job.publicKey === caller.key.publicKey && job.content.kind === "direct") {
      const [message] = yield* ofJob(job)
      if (message !== undefined) return message
    }
    return yield* new NotFound({ what: "message" })
  })

  const list = Effect.fnUntraced(function* (accountId: string, page: Page) {
    const found = yield* jobs.list({ by: { accountId }, kind: "direct", page })
    const items = yield* Effect.forEach(found.items, ofJob)
    return { items: items.flat(), next: found.next }
  })

  return { find: spanIfTraced("Engine.message", find), list }
})
