/** The master keys that the database remembers, a row each, and the rows that hold what is under them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Remembered } from "../../domain/Keyring.ts"
import * as Keyring from "../../domain/Keyring.ts"
import * as Page from "../../domain/Page.ts"
import type { EndpointSecret } from "../../domain/webhook/Webhook.ts"
import type { SealedPlace } from "../KeyringStore.ts"
import { KeyringStore } from "../KeyringStore.ts"
import type { Program, Row } from "../Program.ts"
import { all, changes, get, run } from "../Program.ts"
import { apiKeys } from "./codec/ApiKey.ts"
import { Database } from "./Database.ts"
import { instant, instantOrNull, limited, seq, text } from "./RowReader.ts"

const toRemembered = (row: Row): Remembered => ({
  id: text(row, "id"),
  addedAt: instant(row, "added_at"),
  retiredAt: instantOrNull(row, "retired_at")
})

export function* remembered(): Program<ReadonlyArray<Remembered>> {
  const rows = yield* all("SELECT id, added_at, retired_at FROM sendwright_master_key ORDER BY seq")
  return rows.map(toRemembered)
}

/** All that is sealed, looked at once: when a store of before remembers its keys. */
function* sealedBy(): Program<ReadonlyArray<string>> {
  const start = Keyring.mark("", "").length
  const sessions = yield* all(`SELECT DISTINCT substr(config, 1, ${start + Keyring.idLength}) AS config
    FROM sendwright_session`)
  const endpoints = yield* all("SELECT secrets FROM sendwright_endpoint")
  const ofErasures = yield* all("SELECT sealed FROM sendwright_erasure_secret")
  const sealed = [
    ...sessions.map((row) => text(row, "config")),
    ...ofErasures.map((row) => text(row, "sealed")),
    ...endpoints.flatMap((row) => secretsOf(text(row, "secrets")).map(({ sealed }) => sealed))
  ]
  const keys = sealed.flatMap((each) => Keyring.read(each).key ?? [])
  return [...new Set(keys)]
}

const secretsOf = (secrets: string): ReadonlyArray<EndpointSecret> => JSON.parse(secrets)

const page = (table: string, columns: string): string =>
  `SELECT seq, ${columns} FROM ${table} WHERE seq > ? ORDER BY seq ${limited}`

const toPlace: Readonly<
  Record<SealedPlace["kind"], { readonly page: string; readonly of: (row: Row) => SealedPlace }>
> = {
  session: {
    page: page("sendwright_session", "id, config"),
    of: (row) => ({ kind: "session", id: text(row, "id"), sealed: [text(row, "config")] })
  },
  webhook: {
    page: page("sendwright_endpoint", "id, secrets"),
    of: (row) => ({
      kind: "webhook",
      id: text(row, "id"),
      sealed: secretsOf(text(row, "secrets")).map(({ sealed }) => sealed)
    })
  },
  erasure: {
    page: page("sendwright_erasure_secret", "id, sealed"),
    of: (row) => ({ kind: "erasure", id: text(row, "id"), sealed: [text(row, "sealed")] })
  }
}

const resealSession = "UPDATE sendwright_session SET config = ? WHERE id = ? AND config = ?"
const resealErasure = "UPDATE sendwright_erasure_secret SET sealed = ? WHERE id = ? AND sealed = ?"
const resealEndpoint = "UPDATE sendwright_endpoint SET secrets = ? WHERE id = ?"

const fromStart = ({ after, limit }: Page.Page) => [after ?? 0, limit + 1] as const

/** @param isShared whether other processes can be on the database */
export const layer = (isShared: boolean): Layer.Layer<KeyringStore, never, Database> =>
  Layer.effect(
    KeyringStore,
    Effect.map(Database, (db) => {
      const secretsToChange = `SELECT secrets FROM sendwright_endpoint WHERE id = ?${db.dialect.forUpdate("sendwright_endpoint")}`

      function* resealWebhook(id: string, from: string, to: string): Program<number> {
        const row = yield* get(secretsToChange, id)
        const secrets = row === undefined ? [] : secretsOf(text(row, "secrets"))
        if (!secrets.some(({ sealed }) => sealed === from)) return 0
        const after = secrets.map((secret) => (secret.sealed === from ? { ...secret, sealed: to } : secret))
        yield* run(resealEndpoint, JSON.stringify(after), id)
        return 1
      }

      return {
        isShared,
        remembered: db.read("KeyringStore.remembered", remembered),
        join: ({ given, now }) =>
          db.write("KeyringStore.join", function* () {
            yield* db.dialect.serialize("master keys")
            const before = yield* remembered()
            const joining = Keyring.join(before, before.length === 0 ? yield* sealedBy() : [], given)
            if (joining._tag !== "Joined") return { joining, remembered: before }
            for (const id of joining.add) {
              yield* run("INSERT INTO sendwright_master_key (id, added_at) VALUES (?, ?)", id, now)
            }
            return { joining, remembered: yield* remembered() }
          }),
        retire: ({ keys, now }) =>
          db.write("KeyringStore.retire", function* () {
            yield* db.dialect.serialize("master keys")
            for (const id of keys) {
              yield* run("UPDATE sendwright_master_key SET retired_at = ? WHERE id = ?", now, id)
            }
          }),
        sealed: (kind, page) =>
          db.read("KeyringStore.sealed", function* () {
            const rows = yield* all(toPlace[kind].page, ...fromStart(page))
            return Page.map(Page.cut(rows, page.limit, seq), toPlace[kind].of)
          }),
        reseal: (resealings) =>
          db.write("KeyringStore.reseal", function* () {
            let count = 0
            for (const { from, id, kind, to } of resealings) {
              count +=
                kind === "webhook"
                  ? yield* resealWebhook(id, from, to)
                  : yield* changes(kind === "session" ? resealSession : resealErasure, to, id, from)
            }
            return count
          }),
        apiKeys: (range) =>
          db.read("KeyringStore.apiKeys", function* () {
            const rows = yield* all(page("sendwright_api_key", apiKeys.list), ...fromStart(range))
            return Page.map(Page.cut(rows, range.limit, seq), apiKeys.read)
          })
      }
    })
  )
