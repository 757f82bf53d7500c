/** Erases people in slices of a table's key, since no index is by name. */

import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import * as Address from "../../domain/Address.ts"
import type { Counts, Part, Sought } from "../../domain/Erasure.ts"
import * as Erasure from "../../domain/Erasure.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Content } from "../../domain/job/Job.ts"
import * as Page from "../../domain/Page.ts"
import * as Person from "../../domain/Person.ts"
import type { Erased, Finding } from "../ErasureStore.ts"
import { ErasureStore } from "../ErasureStore.ts"
import type { Program, Row } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import type { ErasureRows } from "../policy/ErasureRows.ts"
import * as Erasures from "../policy/Erasures.ts"
import { erasures } from "./codec/Erasure.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import type { Searched } from "./ErasureTables.ts"
import { blanking, tables } from "./ErasureTables.ts"
import * as InboundRows from "./InboundRows.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto, insertRows } from "./Insert.ts"
import * as Contents from "./jobs/Contents.ts"
import * as EarlierAttempts from "./jobs/EarlierAttempts.ts"
import * as Jobs from "./jobs/Jobs.ts"
import { recipients, textNames } from "./jobs/RecipientColumns.ts"
import * as Rows from "./jobs/Rows.ts"
import * as Segments from "./jobs/Segments.ts"
import * as People from "./People.ts"
import { inSql, recipientKey } from "./RecipientKeys.ts"
import { instant, integer, seq, text, textOrNull } from "./RowReader.ts"
import { ofJobs } from "./Schema.ts"

const counted = erasures.only("counts")
const countsOf = `SELECT ${counted.list} FROM sendwright_erasure WHERE id = ?`
const insertErasure = insertInto("sendwright_erasure", erasures.names)
const saveErasure = `UPDATE sendwright_erasure SET ${erasures.assignments} WHERE id = ?`
const listed = IndexScan.make("sendwright_erasure", `seq, ${erasures.list}`, [])

/** The name of the key by which names are hashed; no erasure has such an id. */
const hashKey = "key"
const secretOf = "SELECT sealed FROM sendwright_erasure_secret WHERE id = ?"
const insertSecret = `${insertInto("sendwright_erasure_secret", ["id", "sealed"])} ON CONFLICT (id) DO NOTHING`
const due = `SELECT ${erasures.of("erasure")}, secret.sealed FROM sendwright_erasure AS erasure
  JOIN sendwright_erasure_secret AS secret ON secret.id = erasure.id
  WHERE erasure.next_at IS NOT NULL AND erasure.next_at <= ? ORDER BY erasure.seq`

/** Stands for all accounts. */
const everywhere = ""

const insertHashes = insertRows("sendwright_erased", ["account", "hash", "at"], {
  onConflict: "(account, hash) DO UPDATE SET at = excluded.at"
})

function* mark({ sweptAt }: Erasure.Erasure, marks: ReadonlyArray<Erasure.Mark>): Program<void> {
  yield* insertHashes(marks.map(({ accountId, hash }) => [accountId ?? everywhere, hash, sweptAt]))
}

/** Recipients that one slice looks at. */
const recipientsAtOnce = 4000

const lastRecipient = `SELECT seq FROM sendwright_recipient WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ${recipientsAtOnce - 1}`

/** The columns by which a search finds a recipient. */
const searchedOf = `SELECT ${recipients.only("address", ...textNames).list} FROM sendwright_recipient WHERE seq = ?`

/** Early reports of a message. The platform's id may tell the number that it went to. */
const forgetReports = `DELETE FROM sendwright_parked WHERE session = ? AND provider_id IN (
    SELECT provider_id FROM sendwright_recipient WHERE seq = ?)`

/** Stands where the text of a direct message stood. */
const blankContent: Content = { kind: "direct", text: "", linkPreview: false }
const snapshotOf = "SELECT snapshot FROM sendwright_job WHERE seq = ?"
const moveContent = "UPDATE sendwright_job SET snapshot = ? WHERE seq = ?"
const dropContent = `DELETE FROM sendwright_snapshot WHERE seq = ? AND NOT EXISTS (
    SELECT 1 FROM sendwright_job WHERE kind = 'direct' AND snapshot = ?)`
const forgetRequest = "UPDATE sendwright_job SET fingerprint = ? WHERE seq = ? AND fingerprint IS NOT NULL"
/** No body has it: a repetition of the request is refused as another one. */
const noFingerprint = "erased"

/** Whatever is kept of a recipient. */
const blankings = ofJobs("recipients").flatMap(({ by, table }) =>
  table.part === undefined ? [] : blanking(table, by)
)

const isIn = ({ accounts }: Sought, account: string | null): boolean =>
  accounts === null || account === null || accounts.has(account)

const accountOf = (row: Row): string | null => textOrNull(row, "of_account")

const rowsOf = (jobs: Jobs.StoredJobs, dialect: Dialect, ids: Ids.Ids): ErasureRows => {
  const { lockJobs, recipientsAt, saveJobs } = Rows.make(jobs, InboundRows.make(dialect, ids))
  const { elements } = dialect
  const ofPerson = `SELECT job.id, job.account, recipient.phone, ${inSql.placeOf("recipient.seq")} AS place
    FROM sendwright_recipient AS recipient JOIN sendwright_job AS job ON job.seq = ${inSql.jobOf("recipient.seq")}
    WHERE recipient.seq > ? AND recipient.seq <= ? AND (${elements.among("recipient.phone")} OR recipient.phone LIKE '%@%')
    ORDER BY recipient.seq`
  return {
    lockJobs,
    recipientsAt,
    saveJobs,
    readJobs: jobs.read,
    earlierAttempts: ({ seq }, index) => EarlierAttempts.earlierAttemptsOf(recipientKey(seq, index)),
    recipientsOfPerson: function* (sought, after) {
      const from = after === null ? -1 : Number(after)
      const end = yield* get(lastRecipient, from)
      const until = end === undefined ? Number.MAX_SAFE_INTEGER : seq(end)
      const phones = Erasure.allNames(sought.names).flatMap(({ kind, text }) =>
        kind === "phone" ? [text] : []
      )
      const found = yield* all(ofPerson, from, until, JSON.stringify(phones))
      const isTheirs = (account: string, address: Address.Address): boolean => {
        const { phone, userId } = Address.personOf(address)
        return (
          isIn(sought, account) &&
          Erasure.namesIn(sought.names, account).some(({ text }) => text === phone || text === userId)
        )
      }
      return {
        places: found
          .filter((row) => isTheirs(text(row, "account"), text(row, "phone")))
          .map((row) => ({ jobId: text(row, "id"), index: integer(row, "place") })),
        next: end === undefined ? null : String(until)
      }
    },
    saveErased: function* ({ job, seq }, erased, redaction) {
      for (const { index } of erased) {
        const key = recipientKey(seq, index)
        const before = (yield* get(searchedOf, key)) ?? {}
        yield* run(forgetReports, job.sessionId, key)
        for (const blank of blankings) yield* blank(key, redaction)
        const texts = Object.values(before).filter((each) => typeof each === "string")
        const names = Object.values(Address.personOf(text(before, "phone"))).filter((each) => each !== null)
        yield* Segments.forgetKeys(key, [...texts, ...names])
      }
      if (job.recipients > 1) return
      yield* run(forgetRequest, noFingerprint, seq)
      if (job.content.kind !== "direct") return
      const before = integer((yield* get(snapshotOf, seq)) ?? {}, "snapshot")
      const blank = yield* Contents.freeze(blankContent)
      if (before === blank) return
      yield* run(moveContent, blank, seq)
      yield* run(dropContent, before, before)
    }
  }
}

/** Reads a table's rows that mention somebody, a slice at a time. */
export const searching = ({ elements }: Dialect, searched: Searched) => {
  const { account, atOnce, isFoundByToken, joined, key, mentions, table } = searched
  const names = key.map(({ name }) => name)
  const place = `(${names.map((name) => `item.${name}`).join(", ")})`
  const given = `(${names.map(() => "?").join(", ")})`
  const others = table.ordered.flatMap(({ name }) => (names.includes(name) ? [] : `item.${name}`))
  const selected = [
    ...names.map((name) => `item.${name}`),
    ...others,
    ...joined.columns,
    `${account} AS of_account`
  ]
  const mentioned = mentions.map((column) => `${column} LIKE ${elements.value} ESCAPE '\\'`).join(" OR ")
  const condition = `EXISTS (SELECT 1 FROM ${elements.from} WHERE ${mentioned})`
  const order = names.map((name) => `item.${name}`).join(", ")
  const descending = names.map((name) => `item.${name} DESC`).join(", ")
  // Whatever an estimate says: a slice is read by its key, and what is joined row by row.
  const statement = `WITH slice AS MATERIALIZED (
      SELECT * FROM ${table.name} AS item WHERE ${place} > ${given} ORDER BY ${order} LIMIT ${atOnce})
    SELECT ${selected.join(", ")}, CASE WHEN ${condition} THEN 1 ELSE 0 END AS is_mentioned, (SELECT count(*) FROM slice) AS looked
    FROM slice AS item ${joined.from}
    WHERE ${condition} OR ${place} = (SELECT ${order} FROM slice AS item ORDER BY ${descending} LIMIT 1) ORDER BY ${order}`
  const placeOf = (row: Row) => names.map((name) => row[name] ?? null)

  return function* (
    sought: Sought,
    after: string | null
  ): Program<{ readonly rows: ReadonlyArray<Row>; readonly next: string | null }> {
    const since =
      after === null
        ? key.map(({ isTime, type }) => (type === "text" ? "" : isTime ? Number.MIN_SAFE_INTEGER : -1))
        : JSON.parse(after)
    const names = Erasure.allNames(sought.names)
    const tokens = isFoundByToken ? names.map(({ token }) => token) : []
    const patterns = JSON.stringify(
      [...Erasure.searched(names), ...tokens].map(
        (name) => `%${name.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
      )
    )
    const found = yield* all(statement, ...since, patterns, patterns)
    const last = found.at(-1)
    return {
      rows: found.filter((row) => integer(row, "is_mentioned") === 1 && isIn(sought, accountOf(row))),
      next: last !== undefined && integer(last, "looked") === atOnce ? JSON.stringify(placeOf(last)) : null
    }
  }
}

const consentsOf =
  "SELECT * FROM sendwright_consent WHERE account = ? AND person >= ? AND person < ? ORDER BY person, seq"

/** The acts of erasure, and the hashes by which they are remembered. */
const registryOf = (
  db: typeof Database.Service
): Pick<typeof ErasureStore.Service, "due" | "erased" | "hashKey" | "list" | "openTransactions" | "save"> => {
  const { elements } = db.dialect
  const hashed = `SELECT hash, max(at) AS at FROM sendwright_erased
    WHERE account IN (?, '${everywhere}') AND ${elements.among("hash")} GROUP BY hash`
  const isKnown = "SELECT 1 AS known FROM sendwright_consent WHERE account = ? AND person = ? LIMIT 1"
  return {
    hashKey: (sealed) =>
      Effect.flatMap(
        db.read("ErasureStore.hashKey", () => get(secretOf, hashKey)),
        (row) =>
          row !== undefined
            ? Effect.succeed(text(row, "sealed"))
            : db.write("ErasureStore.hashKey", function* () {
                yield* run(insertSecret, hashKey, sealed)
                return text((yield* get(secretOf, hashKey)) ?? {}, "sealed")
              })
      ),
    erased: ({ accountId, names }) =>
      db.read("ErasureStore.erased", function* () {
        const found = new Map<string, Erased>()
        if (names.size === 0) return found
        for (const row of yield* all(hashed, accountId, JSON.stringify([...names.keys()]))) {
          const hash = text(row, "hash")
          const known = yield* get(isKnown, accountId, names.get(hash) ?? "")
          found.set(hash, { at: instant(row, "at"), isKnownAgain: known !== undefined })
        }
        return found
      }),
    save: ({ erasure, marks }) =>
      db.work("ErasureStore.save", function* () {
        yield* run(saveErasure, ...erasures.write(erasure), erasure.id)
        yield* mark(erasure, marks)
        if (erasure.nextAt === null)
          yield* run("DELETE FROM sendwright_erasure_secret WHERE id = ?", erasure.id)
      }),
    openTransactions: db.read("ErasureStore.openTransactions", () => db.dialect.openTransactions()),
    due: (now) =>
      db.read("ErasureStore.due", function* () {
        return (yield* all(due, now)).map((row) => ({ ...erasures.read(row), sealed: text(row, "sealed") }))
      }),
    list: (page) =>
      db.readPage("ErasureStore.list", function* () {
        return Page.map(yield* listed.page([], page), erasures.read)
      })
  }
}

export const layer: Layer.Layer<ErasureStore, never, Database> = Layer.effect(
  ErasureStore,
  Effect.gen(function* () {
    const db = yield* Database
    const { dialect } = db
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = rowsOf(Jobs.make(dialect, ids), dialect, ids)
    const people = People.make(dialect)
    const search = Object.fromEntries(
      Object.entries(tables).map(([part, searched]) => [
        part,
        { searched, read: searching(dialect, searched) }
      ])
    )
    const searchOf = (part: Part) => {
      const found = search[part]
      if (found === undefined) throw new TypeError(`No table is searched for ${part}`)
      return found
    }

    function* erasePart(part: Part, sought: Sought, after: string | null, now: Instant) {
      if (part === "recipients") return yield* Erasures.eraseRecipients(rows, sought, after, now)
      const redactionOf = Erasure.redactions(sought)
      const { read, searched } = searchOf(part)
      const slice = yield* read(sought, after)
      let count = 0
      for (const row of slice.rows) if (yield* searched.erase(row, redactionOf(accountOf(row)))) count += 1
      const counts: Counts = { ...Erasure.noCounts, [part]: count }
      return { counts, next: slice.next }
    }

    return {
      ...registryOf(db),
      keys: ({ accountId, phones, userIds }) =>
        db.read("ErasureStore.keys", function* () {
          const keys: Array<Person.Key> = [...Person.written(phones)]
          for (const userId of userIds) keys.push(...(yield* People.keysOfUser(accountId, userId)))
          return Person.circle(yield* people.linksFrom(accountId, keys)).same(keys)
        }),
      begin: ({ accounts, erasure, marks, sealed, sought }) =>
        db.write("ErasureStore.begin", function* () {
          const redactionOf = Erasure.redactions(sought)
          yield* run(insertSecret, erasure.id, sealed)
          yield* mark(erasure, marks)
          let count = 0
          for (const accountId of accounts) {
            yield* dialect.serialize(People.serialized(accountId))
            for (const { kind, text: name } of Erasure.namesIn(sought.names, accountId)) {
              const [from, before] = kind === "phone" ? [name, `${name} `] : Person.keysOfUser(name)
              for (const row of yield* all(consentsOf, accountId, from, before))
                if (yield* tables.consents.erase(row, redactionOf(accountId))) count += 1
            }
          }
          const counts = { ...Erasure.noCounts, consents: count }
          yield* run(insertErasure, ...erasures.write({ ...erasure, counts }))
          return counts
        }),
      erase: ({ after, erasureId, now, part, sought }) =>
        db.work("ErasureStore.erase", function* () {
          const slice = yield* erasePart(part, sought, after, now)
          const row = yield* get(countsOf, erasureId)
          if (row === undefined) return slice
          const before = counted.read(row).counts
          const counts = Erasure.addSlice(before, slice.counts)
          if (!Equal.equals(Data.struct(before), Data.struct(counts)))
            yield* run(
              `UPDATE sendwright_erasure SET ${counted.assignments} WHERE id = ?`,
              ...counted.write({ counts }),
              erasureId
            )
          return slice
        }),
      find: ({ after, part, sought }) =>
        db.read("ErasureStore.find", function* () {
          if (part === "recipients") return yield* Erasures.findRecipients(rows, sought, after)
          const redactionOf = Erasure.redactions(sought)
          const { read, searched } = searchOf(part)
          const slice = yield* read(sought, after)
          const found = slice.rows.flatMap((row): ReadonlyArray<Finding> => {
            const shown = searched.shown(row, redactionOf(accountOf(row)))
            return shown === null ? [] : [shown]
          })
          return { found, next: slice.next }
        }),
      wipe: db.wipe
    }
  })
)
