/** What the database says in the end, compared with what the gateway saw. Read from outside, by plain SQL. */
import { Ids } from "@sendwright/core"
import Sqlite from "better-sqlite3"
import Pg from "pg"
import type { Gateway } from "./Gateway.ts"

export interface Recipient {
  /** The number of its row. */
  readonly row: string
  readonly job: string
  readonly messageId: string
  readonly status: string
  /** Whether it was given up because processes died over it. */
  readonly parked: boolean
}

export interface Ledger {
  /** The rows of those that await an outcome. */
  readonly inFlight: () => Promise<ReadonlySet<string>>
  readonly open: () => Promise<number>
  readonly recipients: () => Promise<ReadonlyArray<Recipient>>
  readonly jobs: () => Promise<number>
  /** The ids of all events, and how many of their deliveries wait. */
  readonly events: () => Promise<{ readonly ids: ReadonlyArray<string>; readonly waiting: number }>
  readonly close: () => Promise<void>
}

interface Found {
  readonly row: string | number
  readonly job: string
  readonly place: string | number
  readonly status: string
  readonly failure: string | null
}

type Query = <Row>(text: string) => Promise<ReadonlyArray<Row>>

const over = (query: Query, close: () => Promise<void>): Ledger => ({
  inFlight: async () => {
    const rows = await query<{ readonly row: string | number }>(
      `SELECT seq AS "row" FROM sendwright_recipients WHERE is_in_flight = 1`
    )
    return new Set(rows.map(({ row }) => String(row)))
  },
  open: async () => {
    const [row] = await query<{ readonly open: string | number }>(
      "SELECT count(*) AS open FROM sendwright_recipients WHERE status IN ('queued', 'sending')"
    )
    return Number(row?.open ?? 0)
  },
  jobs: async () => {
    const [row] = await query<{ readonly jobs: string | number }>(
      "SELECT count(*) AS jobs FROM sendwright_job"
    )
    return Number(row?.jobs ?? 0)
  },
  events: async () => {
    const rows = await query<{ readonly id: string; readonly status: string }>(
      `SELECT event.id, delivery.status FROM sendwright_event AS event, sendwright_delivery AS delivery
       WHERE delivery.event = event.seq`
    )
    return {
      ids: rows.map(({ id }) => id),
      waiting: rows.filter(({ status }) => status !== "delivered").length
    }
  },
  recipients: async () => {
    const rows = await query<Found>(
      `SELECT seq AS "row", job, place, status, failure FROM sendwright_recipients`
    )
    return rows.map(({ failure, job, place, row, status }) => ({
      row: String(row),
      job,
      messageId: Ids.messageId(job, Number(place)),
      status,
      parked: status === "unknown" && failure !== null && failure.includes("poisoned")
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
  const ledger = over(query, () => pool.end())
  return {
    ...ledger,
    // What a process asked for as it was killed is still done by the server.
    inFlight: async () => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return ledger.inFlight()
    }
  }
}

/** One row of the table. */
export interface Account {
  readonly fault: string
  readonly faults: number
  readonly sends: number
  /** Acknowledged and not there, still open in the end, or recorded as accepted though the gateway never saw it. */
  readonly lost: number
  /** Messages that a person got more than once, and recipients of a job that nobody was told of. */
  readonly repeated: number
  /**
   * Sent by the gateway's word, and not recorded as accepted or `unknown`; `unknown` without having been in flight at a
   * fault; failed.
   */
  readonly unexplained: number
  /** Beside the parked. */
  readonly unknown: number
  /** The most that can be unknown. */
  readonly inFlight: number
  readonly parked: number
  /** For how long others had to wait at the longest, where that was watched. */
  readonly longestWaitMs?: number
}

export const account = async (
  ledger: Ledger,
  gateway: Gateway,
  told: {
    readonly fault: string
    readonly faults: number
    /** The jobs that were acknowledged, each with so many recipients. */
    readonly accepted: ReadonlySet<string>
    readonly each: number
    /** The rows of those that were in flight at the faults. */
    readonly inFlight: ReadonlySet<string>
  }
): Promise<Account> => {
  const { accepted, each, fault, faults, inFlight } = told
  const recipients = await ledger.recipients()
  const count = (holds: (recipient: Recipient) => boolean) => recipients.filter(holds).length
  const ended: ReadonlyArray<string> = ["accepted", "failed", "unknown"]
  const explains: ReadonlyArray<string> = ["accepted", "unknown"]
  const known = new Set(recipients.map(({ messageId }) => messageId))
  const seen = ({ messageId }: Recipient) => gateway.effects.has(messageId)
  const there = count(({ job }) => accepted.has(job))
  return {
    fault,
    faults,
    sends: recipients.length,
    lost:
      accepted.size * each -
      there +
      count((one) => !ended.includes(one.status) || (one.status === "accepted" && !seen(one))),
    repeated:
      recipients.length - there + [...gateway.effects.values()].filter((effects) => effects > 1).length,
    unexplained:
      count((one) => seen(one) && !explains.includes(one.status)) +
      count(({ row, status }) => status === "unknown" && !inFlight.has(row)) +
      count(({ status }) => status === "failed") +
      [...gateway.effects.keys()].filter((messageId) => !known.has(messageId)).length,
    unknown: count(({ parked, status }) => status === "unknown" && !parked),
    inFlight: inFlight.size,
    parked: count(({ parked }) => parked)
  }
}

/** One row for the same fault made several times over. */
export const sum = (accounts: ReadonlyArray<Account>): Account => {
  const [first] = accounts
  if (first === undefined) throw new Error("There is nothing to add up.")
  const total = (column: Exclude<keyof Account, "fault" | "longestWaitMs">): number =>
    accounts.reduce((all, account) => all + account[column], 0)
  return {
    fault: first.fault,
    faults: total("faults"),
    sends: total("sends"),
    lost: total("lost"),
    repeated: total("repeated"),
    unexplained: total("unexplained"),
    unknown: total("unknown"),
    inFlight: total("inFlight"),
    parked: total("parked")
  }
}
