/** Events that come without another change. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import { EventLog } from "../EventLog.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"

export const layer: Layer.Layer<EventLog, never, Database> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    return {
      append: ({ accountId, drafts, now }) =>
        db.write("EventLog.append", () => Events.append(ids, accountId, drafts, now))
    }
  })
)
