/** Applies what came of people, within a verb. */
import type { Instant } from "../../domain/Instant.ts"
import * as Person from "../../domain/Person.ts"
import * as InboundSteps from "../InboundSteps.ts"
import type { Inbound } from "../InboundStore.ts"
import { rememberedMs } from "../InboundStore.ts"
import * as Events from "./Events.ts"
import type { Database } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

export const apply = (
  db: Database,
  { accountId, items: given, portfolio, sessionId }: Inbound,
  now: Instant
): void => {
  for (const [id, at] of db.inbound) if (now - at >= rememberedMs) db.inbound.delete(id)
  const ids = given.flatMap(({ id }) => (id === null || db.inbound.has(id) ? [] : [id]))
  const items = InboundSteps.fresh(given, ids)
  const links = People.linksFrom(db, accountId, InboundSteps.named(items, portfolio))
  const learnt = InboundSteps.learnt(items, portfolio, links)
  const circle = Person.circle([...learnt, ...links])
  const concerned = [
    ...InboundSteps.linked(learnt, circle),
    ...(InboundSteps.revoking(items, portfolio, circle)?.keys ?? [])
  ]
  const histories = new Map(concerned.map((key) => [key, People.historyOf(db, accountId, key)]))
  const batch = { items, portfolio, learnt, circle, histories }
  const filed = InboundSteps.records(batch, db.ids, now)
  const drafts = InboundSteps.drafts(sessionId, items, filed)
  for (const id of ids) db.inbound.set(id, now)
  People.link(db, accountId, learnt)
  for (const { keys, record } of filed) People.file(db, accountId, record, keys)
  for (const { unattributed } of items)
    if (unattributed !== null) db.unattributed.push({ position: db.nextPosition(), value: unattributed })
  Events.append(db, accountId, drafts, now)
}
