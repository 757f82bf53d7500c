/** The store of happenings: events that no other row keeps have a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Happening } from "../../domain/Happening.ts"
import * as Happenings from "../../domain/Happening.ts"
import type { HappeningQuery } from "../HappeningStore.ts"
import { HappeningStore } from "../HappeningStore.ts"
import type { Program } from "../Program.ts"
import { all, run } from "../Program.ts"
import { exactOrNull, instant, json, table, textOrNull, word } from "./Columns.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { impersonal, mentionInJson } from "./Personal.ts"
import { limited } from "./RowReader.ts"

export const rows = table("sendwright_happening", { kept: "passing", part: "happenings" })<Happening>({
  at: instant("at", impersonal),
  type: word("type", impersonal, Happenings.types, "exact NOT NULL"),
  accountId: exactOrNull("account", impersonal),
  sessionId: exactOrNull("session", impersonal),
  subject: textOrNull("subject", impersonal),
  data: json("data", mentionInJson)
})

const insert = insertInto("sendwright_happening", rows.names)

const prune = `DELETE FROM sendwright_happening
  WHERE seq <= (SELECT max(seq) FROM sendwright_happening) - ${Happenings.kept}`

export function* note(happenings: ReadonlyArray<Happening>): Program<void> {
  if (happenings.length === 0) return
  for (const each of happenings) yield* run(insert, ...rows.write(each))
  yield* run(prune)
}

/** Types that are asked for stand between bars. */
const between = (condition: string): string => `SELECT ${rows.list} FROM sendwright_happening
  WHERE ${condition}at >= ? AND at < ? AND (CAST(? AS text) IS NULL OR CAST(? AS text) LIKE '%|' || type || '|%')
  ORDER BY at DESC, seq DESC ${limited}`

const ofSession = between("session = ? AND ")
/** Few rows are passed over for others' accounts and types: there are few. */
const ofAccount = between("account = ? AND ")
const ofAll = between("")

export function* find({
  accountId,
  from,
  limit,
  sessionId,
  to,
  types
}: HappeningQuery): Program<ReadonlyArray<Happening>> {
  const asked = types === undefined ? null : `|${types.join("|")}|`
  const rest = [from, to, asked, asked, limit]
  const found =
    sessionId !== undefined
      ? yield* all(ofSession, sessionId, ...rest)
      : accountId !== undefined
        ? yield* all(ofAccount, accountId, ...rest)
        : yield* all(ofAll, ...rest)
  return found.map(rows.read)
}

export const layer: Layer.Layer<HappeningStore, never, Database> = Layer.effect(
  HappeningStore,
  Effect.map(Database, (db) => ({
    note: (happening) => db.write("HappeningStore.note", () => note([happening])),
    between: (query) => db.readPage("HappeningStore.between", () => find(query))
  }))
)
