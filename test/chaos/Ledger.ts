/** What the database says in the end, compared with what the gateway saw. Read from outside, by plain SQL. */
import { Ids } from "@sendwright/core"
import Sqlite from "better-sqlite3"
import Pg from "pg"
import type { Gateway } from "./Gateway.ts"

export interface Ledger {
  /** Recipients by the numbers of their rows. */
  readonly inFlight: () => Promise<ReadonlySet<string>>
  readonly open: () => Promise<number>
  readonly recipients: () => Promise<
    ReadonlyArray<{ readonly row: string; readonly messageId: string; readonly status: string }>
  >
  readonly jobs: () => Promise<number>
  readonly close: () => Promise<void>
}

interface Found {
  readonly row: string | number
  readonly job: string
  readonly place: string | number
  readonly status: string
}

type Query = <Row>(text: string) => Promise<ReadonlyArray<Row>>

const over = (query: Query, close: () => Promise<void>): Ledger => ({
  inFlight: async () => {
    const rows = await query<{ readonly row: string | number }>(
      'SELECT seq AS "row" FROM sendwright_recipient WHERE fence IS NOT NULL'
    )
    return new Set(rows.map(({ row }) => String(row)))
  },
  open: async () => {
    const [row] = await query<{ readonly open: string | number }>(
      "SELECT count(*) AS open FROM sendwright_recipient WHERE status IN ('queued', 'sending')"
    )
    return Number(row?.open ?? 0)
  },
  jobs: async () => {
    const [row] = await query<{ readonly jobs: string | number }>(
      "SELECT count(*) AS jobs FROM sendwright_job"
    )
    return Number(row?.jobs ?? 0)
  },
  recipients: async () => {
    const rows = await query<Found>(
      `SELECT recipient.seq AS "row", job.id AS job, recipient.seq & 4095 AS place, recipient.status
       FROM sendwright_recipient AS recipient, sendwright_job AS job WHERE job.seq = recipient.seq >> 12`
    )
    return rows.map(({ job, place, row, status }) => ({
      row: String(row),
      messageId: Ids.messageId(job, Number(place)),
      status
    }))
  },
  close
})

export const open = (store: string): Ledger => {
  if (store.startsWith("sqlite:")) {
    const db = new Sqlite(store.replace("sqlite:", ""), { readonly: true, timeout: 5000 })
    return over(
      async <Row>(text: string) => db.prepare<[], Row>(text).all(),
      async () => {
        db.close()
      }
    )
  }
  const pool = new Pg.Pool({ connectionString: store, max: 2, connectionTimeoutMillis: 5000 })
  pool.on("error", () => {})
  // The server may be down at this moment.
  const query = async <Row>(text: string): Promise<ReadonlyArray<Row>> => {
    for (let tries = 0; ; tries++) {
      try {
        const { rows } = await pool.query<Row & Pg.QueryResultRow>(text)
        return rows
      } catch (error) {
        if (tries > 100) throw error
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }
  return over(query, () => pool.end())
}

/** One row of the table. */
export interface Account {
  readonly fault: string
  readonly faults: number
  readonly sends: number
  /** Still open in the end, or recorded as accepted though the gateway never saw it. */
  readonly lost: number
  /** Messages that a person got more than once. */
  readonly repeated: number
  /** Seen by the gateway, and neither recorded as accepted nor named `unknown` or `failed` with a reason. */
  readonly unexplained: number
  readonly unknown: number
  /** The most that can be unknown. */
  readonly inFlight: number
  readonly parked: number
}

export const account = async (
  ledger: Ledger,
  gateway: Gateway,
  told: { readonly fault: string; readonly faults: number; readonly inFlight: number }
): Promise<Account> => {
  const recipients = await ledger.recipients()
  const count = (holds: (each: { readonly messageId: string; readonly status: string }) => boolean) =>
    recipients.filter(holds).length
  const seen = (messageId: string) => gateway.effects.get(messageId) ?? 0
  return {
    ...told,
    sends: recipients.length,
    lost: count(
      ({ messageId, status }) =>
        status === "queued" || status === "sending" || (status === "accepted" && seen(messageId) === 0)
    ),
    repeated: [...gateway.effects.values()].filter((effects) => effects > 1).length,
    unexplained: count(
      ({ messageId, status }) =>
        seen(messageId) > 0 && status !== "accepted" && status !== "unknown" && status !== "failed"
    ),
    unknown: count(({ status }) => status === "unknown"),
    parked: count(({ status }) => status === "failed")
  }
}
