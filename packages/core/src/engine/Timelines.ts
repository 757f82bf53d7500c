/** The story of a message: a caller's own, and any for the operator. */

import * as Effect from "effect/Effect"
import type { ApiKey } from "../domain/account/ApiKey.ts"
import { NotFound } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import * as Time from "../domain/Instant.ts"
import * as Timeline from "../domain/job/Timeline.ts"
import { JobStore } from "../storage/JobStore.ts"
import * as JobAccess from "./JobAccess.ts"
import * as Messages from "./Messages.ts"
import type { Caller } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export const make = Effect.gen(function* () {
  const jobs = yield* JobStore
  const waitsFor = yield* JobAccess.waiting
  const { costOf } = yield* Messages.make

  const told = Effect.fnUntraced(function* (messageId: string, key: ApiKey | undefined) {
    const publicKey = key?.publicKey
    const place = Ids.parseMessageId(messageId.toLowerCase())
    const now = yield* Time.now
    const rows = place === undefined ? null : yield* jobs.timeline({ ...place, publicKey, now })
    if (rows === null) return yield* new NotFound({ what: "message" })
    const { job, recipient, session } = rows
    const readsDirect = key === undefined || key.permissions.includes("direct:read")
    const waiting =
      recipient.nextAt === null ? null : yield* waitsFor(job, recipient.nextAt, session, [recipient])
    const actual = yield* costOf(job, recipient)
    return Timeline.story(rows, { now, waiting, actual, isOperator: key === undefined, readsDirect })
  })

  return {
    /** A message of any account. */
    any: (messageId: string) => told(messageId, undefined),
    /** Another key's message is refused like one that does not exist. */
    own: spanIfTraced("Engine.timeline", (caller: Caller, messageId: string) => told(messageId, caller.key))
  }
})
