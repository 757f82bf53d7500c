/** The rows of `sendwright_perhaps_refusal`: texts that an operator may record as opt-outs. */

import type { PerhapsRefusal } from "../../domain/consent/PerhapsRefusal.ts"
import * as Domain from "../../domain/consent/PerhapsRefusal.ts"
import * as Time from "../../domain/Instant.ts"
import type { DoubtCount } from "../../domain/overview/StoreReadings.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Pages from "../../domain/Page.ts"
import type { Key } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import type { InPortfolio } from "../InboundStore.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { exact, instant, instantOrNull, table, text, textOrNull } from "./Columns.ts"
import type { Dialect } from "./Database.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertRows } from "./Insert.ts"
import { impersonal, knownPhone, knownUserId, mention, said } from "./Personal.ts"
import { limited, integer as whole, text as words } from "./RowReader.ts"

export const perhapsRefusals = table("sendwright_perhaps_refusal", {
  kept: { walk: "perhapsRefusals", at: "recorded_at" },
  part: "refusals",
  goes: true
})<InPortfolio<PerhapsRefusal>>({
  id: text("id", impersonal, "TEXT NOT NULL UNIQUE"),
  accountId: exact("account", impersonal),
  sessionId: exact("session", impersonal),
  portfolio: text("portfolio", impersonal),
  phone: textOrNull("phone", knownPhone),
  userId: textOrNull("user_id", knownUserId),
  messageId: textOrNull("message_id", said),
  text: text("text", mention),
  occurredAt: instant("occurred_at", impersonal),
  reportedAt: instantOrNull("reported_at", impersonal),
  recordedAt: instant("recorded_at", impersonal)
})

const insert = insertRows("sendwright_perhaps_refusal", perhapsRefusals.names)

const forgetOldest = `DELETE FROM sendwright_perhaps_refusal WHERE account = ? AND seq <= (
    SELECT seq FROM sendwright_perhaps_refusal WHERE account = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`

/** Keeps some more of an account, and forgets the oldest. */
export function* retain(accountId: string, some: ReadonlyArray<InPortfolio<PerhapsRefusal>>): Program<void> {
  if (some.length === 0) return
  yield* insert(some.map((each) => perhapsRefusals.write(each)))
  yield* run(forgetOldest, accountId, accountId, Domain.maximumOfAccount)
}

const ofAccount = IndexScan.make("sendwright_perhaps_refusal", `seq, ${perhapsRefusals.list}`, ["account"])

export function* list(accountId: string, page: Page): Program<Paged<PerhapsRefusal>> {
  return Pages.map(yield* ofAccount.page([accountId], page), perhapsRefusals.read)
}

const mostOfPerson = 20

/** The newest of a person in an account. */
export function* ofPerson(
  { elements }: Dialect,
  accountId: string,
  keys: ReadonlyArray<Key>
): Program<ReadonlyArray<PerhapsRefusal>> {
  const named = keys.map(Person.ofKey)
  const rows = yield* all(
    `SELECT ${perhapsRefusals.list} FROM sendwright_perhaps_refusal
     WHERE account = ? AND (${elements.among("phone")} OR ${elements.among("user_id")}) ORDER BY seq DESC LIMIT ${mostOfPerson}`,
    accountId,
    JSON.stringify(named.flatMap(({ phone }) => phone ?? [])),
    JSON.stringify(named.flatMap(({ userId }) => userId ?? []))
  )
  return rows.map(perhapsRefusals.read)
}

export function* find(id: string): Program<InPortfolio<PerhapsRefusal> | null> {
  const row = yield* get(`SELECT ${perhapsRefusals.list} FROM sendwright_perhaps_refusal WHERE id = ?`, id)
  return row === undefined ? null : perhapsRefusals.read(row)
}

const counted = `SELECT count(*) AS count, min(recorded_at) AS first_at, min(account) AS account FROM (
    SELECT recorded_at, account FROM sendwright_perhaps_refusal ORDER BY seq DESC ${limited}
  ) AS newest`

export function* count(most: number): Program<DoubtCount | null> {
  const row = yield* get(counted, most)
  return row === undefined || whole(row, "count") === 0
    ? null
    : {
        count: whole(row, "count"),
        firstAt: Time.at(whole(row, "first_at")),
        accountId: words(row, "account")
      }
}

export const forget = (id: string): Program<unknown> =>
  run("DELETE FROM sendwright_perhaps_refusal WHERE id = ?", id)
