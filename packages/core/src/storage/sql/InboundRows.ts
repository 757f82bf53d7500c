/** Applies what came of people, within a verb that is serialized by `People.serialized`. */
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Person from "../../domain/Person.ts"
import * as InboundSteps from "../InboundSteps.ts"
import type { Inbound, Received } from "../InboundStore.ts"
import type { Program } from "../Program.ts"
import { all } from "../Program.ts"
import { unattributedItems } from "./codec/Unattributed.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertRows } from "./Insert.ts"
import * as People from "./People.ts"
import * as PerhapsRefusalRows from "./PerhapsRefusalRows.ts"
import { text } from "./RowReader.ts"
import * as WindowRows from "./WindowRows.ts"

const insertUnattributed = insertRows("sendwright_unattributed", unattributedItems.names)

export const make = (dialect: Dialect, ids: Ids) => {
  const { elements } = dialect
  const people = People.make(dialect)
  // Without the WHERE SQLite would take the ON for a join's.
  const remember = `INSERT INTO sendwright_inbound (id, at)
    SELECT ${elements.value}, ? FROM ${elements.from} WHERE true ON CONFLICT (id) DO NOTHING RETURNING id`

  return function* (
    { accountId, items: given, portfolio, sessionId }: Inbound,
    now: Instant
  ): Program<Received> {
    const known = given.flatMap(({ id }) => (id === null ? [] : [id]))
    const added = known.length === 0 ? [] : yield* all(remember, now, JSON.stringify(known))
    const fresh = InboundSteps.fresh(
      given,
      added.map((row) => text(row, "id"))
    )
    const introduced = InboundSteps.named(InboundSteps.introductions(fresh), portfolio, now)
    const directly = yield* people.linksOf(accountId, introduced)
    const items = InboundSteps.withoutKnown(fresh, portfolio, directly, now)
    const links = yield* people.linksFrom(accountId, InboundSteps.named(items, portfolio, now))
    const learnt = InboundSteps.learn(items, portfolio, links, now)
    yield* People.link(accountId, learnt)
    const circle = Person.circle(Person.withLearnt(links, learnt))
    const concerned = InboundSteps.concerned(items, portfolio, learnt, circle)
    const histories = yield* people.historiesOf(accountId, concerned)
    const batch = { sessionId, items, portfolio, learnt, circle, histories }
    const filed = InboundSteps.records(batch, ids, now)
    yield* people.file(accountId, filed)
    yield* insertUnattributed(
      items.flatMap(({ unattributed }) =>
        unattributed === null ? [] : [unattributedItems.write(unattributed)]
      )
    )
    yield* PerhapsRefusalRows.retain(accountId, InboundSteps.perhapsRefusals(items, portfolio))
    yield* WindowRows.open(sessionId, InboundSteps.windows(items, portfolio), now)
    yield* Events.append(ids, accountId, InboundSteps.drafts(sessionId, items, filed), now)
    return InboundSteps.received(learnt)
  }
}
