/** The columns of `sendwright_retry_plan`. */
import type { Instant } from "../../../domain/Instant.ts"
import type { Plan, Wanted } from "../../../domain/job/RetryPlan.ts"
import * as RetryPlan from "../../../domain/job/RetryPlan.ts"
import { instant, instantOrNull, integerOrNull, json, table, text, textOrNull, word } from "../Columns.ts"
import type { Row } from "../Program.ts"

interface PlanRow extends Omit<Plan, keyof Wanted> {
  readonly accountId: string | null
  readonly wanted: Wanted
  readonly endedAt: Instant | null
}

export const plans = table<PlanRow>({
  id: text("id"),
  accountId: textOrNull("account"),
  operator: textOrNull("operator"),
  wanted: json("wanted"),
  status: word("status", RetryPlan.statuses),
  begunAt: instant("begun_at"),
  updatedAt: instant("updated_at"),
  endedAt: instantOrNull("ended_at"),
  place: integerOrNull("place"),
  expected: json("expected"),
  sums: json("sums")
})

export const toRow = ({ filter, selection, ...plan }: Plan): PlanRow => ({
  ...plan,
  accountId: filter.accountId ?? null,
  wanted: { filter, selection }
})

export const read = (row: Row): Plan => {
  const { accountId: _, wanted, ...plan } = plans.read(row)
  return { ...plan, ...wanted }
}
