/** Applies what came of people, within a verb. */
import type { PerhapsRefusal } from "../../domain/consent/PerhapsRefusal.ts"
import * as PerhapsRefusals from "../../domain/consent/PerhapsRefusal.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Person from "../../domain/Person.ts"
import * as InboundSteps from "../InboundSteps.ts"
import type { Inbound, InPortfolio, Received } from "../InboundStore.ts"
import * as Events from "./Events.ts"
import type { Database } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

/** Keeps some more of an account, and forgets the oldest. */
const retain = (db: Database, accountId: string, some: ReadonlyArray<InPortfolio<PerhapsRefusal>>): void => {
  if (some.length === 0) return
  const added = some.map((value) => ({ position: db.nextPosition(), value }))
  const all = [...(db.perhapsRefusals.get(accountId) ?? []), ...added]
  db.perhapsRefusals.set(accountId, all.slice(-PerhapsRefusals.maximumOfAccount))
}

export const apply = (
  db: Database,
  { accountId, items: given, portfolio, sessionId }: Inbound,
  now: Instant
): Received => {
  const ids = given.flatMap(({ id }) => (id === null || db.inbound.has(id) ? [] : [id]))
  const fresh = InboundSteps.fresh(given, ids)
  const introduced = InboundSteps.named(InboundSteps.introductions(fresh), portfolio, now)
  const directly = People.linksOf(db, accountId, introduced)
  const items = InboundSteps.withoutKnown(fresh, portfolio, directly, now)
  const links = People.linksFrom(db, accountId, InboundSteps.named(items, portfolio, now))
  const learnt = InboundSteps.learn(items, portfolio, links, now)
  const circle = Person.circle(Person.withLearnt(links, learnt))
  const concerned = InboundSteps.concerned(items, portfolio, learnt, circle)
  const histories = People.historiesOf(db, accountId, concerned)
  const batch = { sessionId, items, portfolio, learnt, circle, histories }
  const filed = InboundSteps.records(batch, db.ids, now)
  const drafts = InboundSteps.drafts(sessionId, items, filed)
  for (const id of ids) db.inbound.set(id, now)
  People.link(db, accountId, learnt)
  for (const each of filed) People.file(db, accountId, each)
  for (const { unattributed } of items)
    if (unattributed !== null) db.unattributed.push({ position: db.nextPosition(), value: unattributed })
  retain(db, accountId, InboundSteps.perhapsRefusals(items, portfolio))
  Events.append(db, accountId, drafts, now)
  return InboundSteps.received(learnt)
}
