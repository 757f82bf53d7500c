/** Recipients of a job that are alike, together: a job of hundreds is a few rows. */
import type { Charge } from "../../../domain/billing/Spending.ts"
import type { Program } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import { keysOf } from "../RecipientKeys.ts"
import { flag, integer, seq } from "../RowReader.ts"
import { recipients } from "./RecipientColumns.ts"

const { address, market, price, pricing, status } = recipients.columns

const isDelivered = "CASE WHEN delivered_at IS NULL AND read_at IS NULL THEN 0 ELSE 1 END"

/** An address is told of those alone that the platform billed in another category, which is text within the JSON. */
const charges = `SELECT status, market, price, pricing, is_delivered, phone, count(*) AS recipients FROM (
    SELECT status, market, price, pricing, ${isDelivered} AS is_delivered,
      CASE WHEN pricing IS NULL OR pricing LIKE ? THEN '' ELSE phone END AS phone
    FROM sendwright_recipient WHERE seq BETWEEN ? AND ?
  ) AS recipient GROUP BY status, market, price, pricing, is_delivered, phone`

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

function* ofJob(job: number, category: string | null): Program<ReadonlyArray<Charge>> {
  const rows = yield* all(charges, `%"category":${JSON.stringify(category)}%`, ...keysOf(job))
  return rows.map((row) => ({
    status: status.read(row),
    market: market.read(row),
    price: price.read(row),
    pricing: pricing.read(row),
    address: address.read(row) || null,
    isDelivered: flag(row, "is_delivered"),
    recipients: integer(row, "recipients")
  }))
}

export function* ofJobs(
  jobs: ReadonlyArray<{ readonly id: string; readonly category: string | null }>
): Program<ReadonlyMap<string, ReadonlyArray<Charge>>> {
  const found = new Map<string, ReadonlyArray<Charge>>()
  for (const { category, id } of jobs) {
    const job = yield* get(seqOfJob, id)
    if (job !== undefined) found.set(id, yield* ofJob(seq(job), category))
  }
  return found
}
