/** Events that come without another change. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import { EventLog, rememberedMs } from "../EventLog.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { changes, run } from "./Program.ts"

const remember = "INSERT INTO sendwright_inbound (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"

export const layer: Layer.Layer<EventLog, never, Database> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    return {
      append: ({ accountId, drafts, now }) =>
        db.write("EventLog.append", () => Events.append(ids, accountId, drafts, now)),
      appendOnce: ({ accountId, drafts, id, now }) =>
        db.write("EventLog.appendOnce", function* () {
          yield* run("DELETE FROM sendwright_inbound WHERE at <= ?", now - rememberedMs)
          if ((yield* changes(remember, id, now)) === 0) return false
          yield* Events.append(ids, accountId, drafts, now)
          return true
        })
    }
  })
)
