/** The columns of `sendwright_retry_plan`. */
import type { Instant } from "../../../domain/Instant.ts"
import type { Plan, Wanted } from "../../../domain/job/RetryPlan.ts"
import * as RetryPlan from "../../../domain/job/RetryPlan.ts"
import type { Row } from "../../Program.ts"
import {
  exact,
  exactOrNull,
  instant,
  instantOrNull,
  integerOrNull,
  json,
  noted,
  table,
  textOrNull,
  word
} from "../Columns.ts"
import { impersonal, mentionInFilter, mentionInKey, opaque } from "../Personal.ts"

interface PlanRow extends Omit<Plan, keyof Wanted> {
  readonly accountId: string | null
  readonly wanted: Wanted
  readonly endedAt: Instant | null
}

interface KeyedRow extends PlanRow {
  readonly idempotencyKey: string | null
  readonly fingerprint: string | null
}

export const rows = table("sendwright_retry_plan", {
  kept: { walk: "retryPlans", at: "begun_at", endedAt: "ended_at" },
  part: "retries"
})<KeyedRow>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  accountId: noted("Null of one that is about several.", exactOrNull("account", impersonal)),
  operator: exactOrNull("operator", impersonal),
  wanted: json("wanted", mentionInFilter),
  status: word("status", impersonal, RetryPlan.statuses),
  begunAt: instant("begun_at", impersonal),
  updatedAt: instant("updated_at", impersonal),
  endedAt: instantOrNull("ended_at", impersonal),
  place: integerOrNull("place", impersonal),
  expected: json("expected", impersonal),
  sums: json("sums", impersonal),
  idempotencyKey: exactOrNull("idempotency_key", mentionInKey),
  fingerprint: textOrNull("fingerprint", opaque)
})

export const plans = rows.without("idempotencyKey", "fingerprint")

export const toRow = ({ filter, selection, ...plan }: Plan): PlanRow => ({
  ...plan,
  accountId: filter.accountId ?? null,
  wanted: { filter, selection }
})

export const read = (row: Row): Plan => {
  const { accountId: _, wanted, ...plan } = plans.read(row)
  return { ...plan, ...wanted }
}
