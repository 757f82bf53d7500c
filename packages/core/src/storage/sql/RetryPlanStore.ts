/** Retries of many jobs, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import type * as RetryPlan from "../../domain/job/RetryPlan.ts"
import * as Page from "../../domain/Page.ts"
import type { Program, Row } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import type { RetryPlanRows, StoredPlan } from "../policy/RetryPlanRows.ts"
import * as RetryPlans from "../policy/RetryPlans.ts"
import { mostRunning, RetryPlanStore } from "../RetryPlanStore.ts"
import { append } from "./AuditStore.ts"
import * as codec from "./codec/RetryPlan.ts"
import { outages, readOutages, sessions } from "./codec/Session.ts"
import { statusNow } from "./codec/Template.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as InboundRows from "./InboundRows.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto } from "./Insert.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as Rows from "./jobs/Rows.ts"
import { textOrNull } from "./RowReader.ts"

const insert = insertInto("sendwright_retry_plan", [...codec.plans.names, "idempotency_key", "fingerprint"])
const find = `SELECT ${codec.plans.list} FROM sendwright_retry_plan WHERE id = ?`
const ofKey = `SELECT ${codec.plans.list}, fingerprint FROM sendwright_retry_plan WHERE idempotency_key = ?`
const running = `SELECT ${codec.plans.list} FROM sendwright_retry_plan
  WHERE ended_at IS NULL AND seq + 0 > 0 ORDER BY seq + 0 LIMIT ${mostRunning}`
const update = `UPDATE sendwright_retry_plan SET ${codec.plans.assignments} WHERE id = ?`
const listed = IndexScan.make("sendwright_retry_plan", `seq, ${codec.plans.list}`, [])

const standing = sessions.only("state", "blockedUntil", "blockReason")
const sessionOf = `SELECT ${standing.list}, ${outages.list} FROM sendwright_session WHERE id = ?`
const templateOf = `SELECT ${statusNow} AS status FROM sendwright_template AS template WHERE template.id = ?`

const ofRow = (row: Row | undefined): StoredPlan | null =>
  row === undefined ? null : { plan: codec.read(row), fingerprint: textOrNull(row, "fingerprint") }

/** Plans that have not ended. */
export function* runningPlans(): Program<ReadonlyArray<RetryPlan.Plan>> {
  return (yield* all(running)).map(codec.read)
}

export function* savePlan(plan: RetryPlan.Plan): Program<void> {
  yield* run(update, ...codec.plans.write(codec.toRow(plan)), plan.id)
}

const rowsOf = (jobs: Jobs.StoredJobs, dialect: Dialect): RetryPlanRows => {
  const { actsOn, isQuarantined, lockJobsInTime, recipientsOf, saveJobs } = Rows.make(
    jobs,
    InboundRows.make(dialect, jobs.ids)
  )
  const locked = `${find}${dialect.forUpdate("sendwright_retry_plan")}`
  return {
    actsOn,
    isQuarantined,
    lockJobsInTime,
    recipientsOf,
    saveJobs,
    lockKey: function* (key) {
      yield* dialect.serialize(`retry plan ${key}`)
      return ofRow(yield* get(ofKey, key))
    },
    findByKey: function* (key) {
      return ofRow(yield* get(ofKey, key))
    },
    insert: function* (plan, key) {
      const row = codec.plans.write(codec.toRow(plan))
      yield* run(insert, ...row, key?.key ?? null, key?.fingerprint ?? null)
    },
    lock: function* (id) {
      const row = yield* get(locked, id)
      return row === undefined ? null : codec.read(row)
    },
    record: append,
    save: savePlan,
    readJobs: jobs.read,
    standing: function* ({ job: { content, sessionId } }) {
      const session = yield* get(sessionOf, sessionId)
      const template = content.kind === "template" ? yield* get(templateOf, content.templateId) : undefined
      return {
        session: session === undefined ? null : { ...standing.read(session), ...readOutages(session) },
        template: template === undefined ? null : textOrNull(template, "status")
      }
    }
  }
}

export const layer: Layer.Layer<RetryPlanStore, never, Database> = Layer.effect(
  RetryPlanStore,
  Effect.gen(function* () {
    const db = yield* Database
    const rows = rowsOf(Jobs.make(db.dialect, Ids.make(yield* Ids.RandomBytes)), db.dialect)
    return {
      add: (command) => db.write("RetryPlanStore.add", () => RetryPlans.add(rows, command)),
      findByKey: (key) => db.read("RetryPlanStore.findByKey", () => RetryPlans.findByKey(rows, key)),
      find: (id) =>
        db.read("RetryPlanStore.find", function* () {
          const row = yield* get(find, id)
          return row === undefined ? null : codec.read(row)
        }),
      list: (page) =>
        db.readPage("RetryPlanStore.list", function* () {
          return Page.map(yield* listed.page([], page), codec.read)
        }),
      running: db.read("RetryPlanStore.running", runningPlans),
      count: (query) => db.read("RetryPlanStore.count", () => RetryPlans.count(rows, query)),
      step: (command) => db.work("RetryPlanStore.step", () => RetryPlans.step(rows, command)),
      cancel: (command) => db.write("RetryPlanStore.cancel", () => RetryPlans.cancel(rows, command))
    }
  })
)
