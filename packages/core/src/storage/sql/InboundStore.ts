/** Remembers, tells, links and records inbound items in one commit. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import * as Page from "../../domain/Page.ts"
import * as Person from "../../domain/Person.ts"
import { InboundStore } from "../InboundStore.ts"
import { unattributedItems } from "./codec/Unattributed.ts"
import { Database } from "./Database.ts"
import * as InboundRows from "./InboundRows.ts"
import * as IndexScan from "./IndexScan.ts"
import * as People from "./People.ts"
import * as PerhapsRefusalRows from "./PerhapsRefusalRows.ts"
import * as UnreadHookRows from "./UnreadHookRows.ts"
import * as WindowRows from "./WindowRows.ts"

const ofAccount = IndexScan.make("sendwright_unattributed", `seq, ${unattributedItems.list}`, ["account"])

export const layer: Layer.Layer<InboundStore, never, Database> = Layer.effect(
  InboundStore,
  Effect.gen(function* () {
    const db = yield* Database
    const people = People.make(db.dialect)
    const apply = InboundRows.make(db.dialect, Ids.make(yield* Ids.RandomBytes))
    return {
      receive: ({ now, ...inbound }) =>
        db.write("InboundStore.receive", () => apply(inbound, now), People.serialized(inbound.accountId)),
      toldOfUser: ({ accountId, userId }) =>
        db.read("InboundStore.toldOfUser", () => people.toldOfUser(accountId, userId)),
      others: ({ accountId, keys }) => db.read("InboundStore.others", () => people.othersOf(accountId, keys)),
      window: ({ accountId, keys, sessionId }) =>
        db.read("InboundStore.window", function* () {
          const named = Person.keysAmong(keys, yield* people.othersOf(accountId, keys))
          return yield* WindowRows.find(db.dialect, sessionId, named)
        }),
      heardOf: ({ accountId, keys }) =>
        db.readPage("InboundStore.heardOf", function* () {
          const windows = yield* WindowRows.ofAccount(db.dialect, accountId, keys)
          return { windows, words: yield* PerhapsRefusalRows.ofPerson(db.dialect, accountId, keys) }
        }),
      perhapsRefusals: ({ accountId, page }) =>
        db.readPage("InboundStore.perhapsRefusals", () => PerhapsRefusalRows.list(accountId, page)),
      perhapsRefusal: (id) => db.read("InboundStore.perhapsRefusal", () => PerhapsRefusalRows.find(id)),
      countPerhapsRefusals: ({ most }) =>
        db.readPage("InboundStore.countPerhapsRefusals", () => PerhapsRefusalRows.count(most)),
      forgetPerhapsRefusal: (id) =>
        Effect.asVoid(db.write("InboundStore.forgetPerhapsRefusal", () => PerhapsRefusalRows.forget(id))),
      unattributed: ({ accountId, page }) =>
        db.readPage("InboundStore.unattributed", function* () {
          return Page.map(yield* ofAccount.page([accountId], page), unattributedItems.read)
        }),
      retainUnread: ({ parts, sessionId }) =>
        db.write("InboundStore.retainUnread", function* () {
          yield* db.dialect.serialize(`unread ${sessionId}`)
          yield* UnreadHookRows.retain(sessionId, parts)
        }),
      countUnread: ({ most, since }) =>
        db.readPage("InboundStore.countUnread", () => UnreadHookRows.count(since, most)),
      unread: ({ page, sessionId }) =>
        db.readPage("InboundStore.unread", () => UnreadHookRows.list(sessionId, page))
    }
  })
)
