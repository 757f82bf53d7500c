/** What came in: remembered, told, linked and recorded in one commit. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import * as Page from "../../domain/Page.ts"
import * as Person from "../../domain/Person.ts"
import * as InboundSteps from "../InboundSteps.ts"
import { InboundStore, rememberedMs } from "../InboundStore.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertRows } from "./Insert.ts"
import * as People from "./People.ts"
import { all, run } from "./Program.ts"
import {
  fromUnattributed,
  limited,
  newestFirst,
  seq,
  text,
  toUnattributed,
  unattributedColumns
} from "./Rows.ts"

const insertUnattributed = insertRows("sendwright_unattributed", unattributedColumns)

const listed = `SELECT * FROM sendwright_unattributed WHERE account = ? AND seq < ? ORDER BY seq DESC ${limited}`

export const layer: Layer.Layer<InboundStore, never, Database> = Layer.effect(
  InboundStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const { elements } = db.dialect
    const people = People.make(db.dialect)
    // Without the WHERE SQLite would take the ON for a join's.
    const remember = `INSERT INTO sendwright_inbound (id, at)
      SELECT ${elements.value}, ? FROM ${elements.from} WHERE true ON CONFLICT (id) DO NOTHING RETURNING id`
    return {
      receive: ({ accountId, items: given, now, portfolio, sessionId }) =>
        db.write(
          "InboundStore.receive",
          function* () {
            yield* run("DELETE FROM sendwright_inbound WHERE at <= ?", now - rememberedMs)
            const known = given.flatMap(({ id }) => (id === null ? [] : [id]))
            const added = known.length === 0 ? [] : yield* all(remember, now, JSON.stringify(known))
            const items = InboundSteps.fresh(
              given,
              added.map((row) => text(row, "id"))
            )
            const links = yield* people.linksFrom(accountId, InboundSteps.named(items, portfolio))
            const learnt = InboundSteps.learnt(items, portfolio, links)
            yield* People.link(accountId, learnt, now)
            const circle = Person.circle([...learnt, ...links])
            const concerned = InboundSteps.concerned(items, portfolio, learnt, circle)
            const histories = yield* people.historiesOf(accountId, concerned)
            const batch = { items, portfolio, learnt, circle, histories }
            const filed = InboundSteps.records(batch, ids, now)
            for (const { keys, record } of filed) yield* People.file(accountId, record, keys)
            yield* insertUnattributed(
              items.flatMap(({ unattributed }) =>
                unattributed === null ? [] : [fromUnattributed(unattributed)]
              )
            )
            yield* Events.append(ids, accountId, InboundSteps.drafts(sessionId, items, filed), now)
          },
          People.serialized(accountId)
        ),
      unattributed: ({ accountId, page }) =>
        db.read("InboundStore.unattributed", function* () {
          const rows = yield* all(listed, accountId, ...newestFirst(page))
          return Page.map(Page.cut(rows, page.limit, seq), toUnattributed)
        })
    }
  })
)
