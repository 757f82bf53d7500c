/** Messages that count against an account's caps, each once for its person. */
import * as Address from "../../domain/Address.ts"
import type { Caps } from "../../domain/account/Caps.ts"
import * as Cap from "../../domain/account/Caps.ts"
import * as Time from "../../domain/Instant.ts"
import * as Person from "../../domain/Person.ts"
import { Category } from "../../domain/template/Template.ts"
import type { CapQuery } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { exact, instant, table, word } from "./Columns.ts"
import { accounts } from "./codec/Account.ts"
import type { Database } from "./Database.ts"
import { insertRows } from "./Insert.ts"
import * as People from "./People.ts"
import { impersonal, personKey } from "./Personal.ts"

export const counted = table("sendwright_capped", {
  kept: "passing",
  part: "caps",
  goes: true,
  key: ["account", "person", "purpose", "message"]
})({
  account: exact("account", impersonal),
  person: exact("person", personKey),
  purpose: word("purpose", impersonal, Category.literals, "exact NOT NULL"),
  message: exact("message", impersonal),
  at: instant("at", impersonal)
})

const read = counted.only("message", "person", "at")

const ofCaps = accounts.only("caps")

const insert = insertRows("sendwright_capped", counted.names, {
  onConflict: "(account, person, purpose, message) DO UPDATE SET at = excluded.at"
})

const forget = "DELETE FROM sendwright_capped WHERE account = ? AND at < ?"

export const make = (db: Database["Type"]) => {
  const { dialect } = db
  const people = People.make(dialect)
  const { elements } = dialect
  const find = `SELECT ${read.list} FROM sendwright_capped
    WHERE account = ? AND purpose = ? AND person IN (SELECT ${elements.value} FROM ${elements.from})`

  function* capsOf(accountId: string): Program<Caps> {
    const row = yield* get(`SELECT ${ofCaps.list} FROM sendwright_account WHERE id = ?`, accountId)
    return row === undefined ? Cap.none : ofCaps.read(row).caps
  }

  /** Counts what is not one too many. Whoever counts for the account does so one after the other. */
  function* count({ accountId, messages, now, purpose }: CapQuery): Program<ReadonlySet<number>> {
    const cap = (yield* capsOf(accountId))[purpose]
    if (cap === null) return new Set()
    yield* run(forget, accountId, Time.before(now, Cap.countsForMs))
    const others = yield* people.othersOf(
      accountId,
      messages.flatMap(({ address }) => Address.keysOf(address))
    )
    const asked = messages.map(({ address, isAgain, message, since }) => ({
      message,
      keys: Person.keysAmong(Address.keysOf(address), others),
      since: since(cap.days),
      isAgain
    }))
    const keys = JSON.stringify([...new Set(asked.flatMap(({ keys }) => keys))])
    const known = (yield* all(find, accountId, purpose, keys)).map(read.read)
    const over = Cap.decide(cap, asked, known, now)
    yield* insert(
      asked.flatMap(({ keys: [person = ""], message }, place) =>
        over.has(place) ? [] : [counted.write({ account: accountId, person, purpose, message, at: now })]
      )
    )
    return over
  }

  return (query: CapQuery) => db.write("JobStore.overCap", () => count(query), `caps ${query.accountId}`)
}
