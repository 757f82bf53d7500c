/** Templates, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as FieldVersions from "../../domain/FieldVersions.ts"
import * as Happening from "../../domain/Happening.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import * as Page from "../../domain/Page.ts"
import type { Template, TemplateContent } from "../../domain/template/Template.ts"
import * as Templates from "../../domain/template/Template.ts"
import * as TemplateCheck from "../../domain/template/TemplateCheck.ts"
import * as Event from "../../domain/webhook/Event.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Program, Row } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { TemplateStore } from "../TemplateStore.ts"
import { readable, readTemplate, templates } from "./codec/Template.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto } from "./Insert.ts"
import type { StoredJobs } from "./jobs/Jobs.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as RateCards from "./RateCardStore.ts"
import { instantOrNull, integer, integerOrNull, limited, text } from "./RowReader.ts"
import { findSession, toChange } from "./SessionStore.ts"

/** How many templates are kept read. */
const maximumCached = 256

const byId = `SELECT ${readable.list} FROM sendwright_template WHERE id = ? AND session = ?`

/** Has a row in any case, without a template where there is none. */
const withCard = `SELECT (${RateCards.numberInForce}) AS card, ${readable.list}
  FROM (SELECT 1 AS one) AS one LEFT JOIN sendwright_template ON id = ? AND session = ?`

const byIdAlone = `SELECT ${readable.list} FROM sendwright_template WHERE id = ?`

const ofStatus = `SELECT ${readable.list} FROM sendwright_template
  WHERE session = ? AND id > ? AND status = coalesce(?, status) ORDER BY id ${limited}`

const ofAll = `SELECT ${readable.list} FROM sendwright_template
  WHERE id > ? AND id <= ? AND status = coalesce(?, status) ORDER BY id ${limited}`

const lastId = "SELECT coalesce(max(id), 0) AS id FROM sendwright_template"

const idOf = (row: Row): number => integer(row, "id")

/** Of all sessions; it looks at so many numbers at most, and may be empty although others follow. */
function* pageOfAll(status: string | null, { after, limit }: Page.Page): Program<Page.Paged<Row>> {
  const from = after ?? 0
  const until = from + Page.mostLookedAt
  const rows = yield* all(ofAll, from, until, status, limit + 1)
  const isOver = idOf((yield* get(lastId)) ?? { id: 0 }) <= until
  return Page.cut(rows, limit, idOf, isOver ? null : until)
}

const present = `SELECT ${readable.list} FROM sendwright_template
  WHERE session = ? AND id > ? AND status <> 'deleted' ORDER BY id ${limited}`

/** Names are in lower case on platforms, and few languages have one name. */
const meantBy = `SELECT ${readable.list} FROM sendwright_template WHERE session = ? AND platform_id = ?
  UNION SELECT ${readable.list} FROM sendwright_template WHERE session = ? AND name IN (?, ?)`

const checks = templates.only("checkAt", "checks", "checkedAt", "pausedAt", "recheckAt")
const toldOf = templates.only("told")
/** All that a change needs of a template. */
const whole = `${readable.list}, ${checks.list}, ${toldOf.list}`
const checkById = `SELECT ${checks.list} FROM sendwright_template WHERE id = ? AND session = ?`
const dueChecks = `SELECT ${readable.list}, ${checks.list} FROM sendwright_template WHERE check_at <= ? OR recheck_at <= ?
  ORDER BY coalesce(check_at, recheck_at), id ${limited}`
const byName = `SELECT ${whole} FROM sendwright_template WHERE session = ? AND name = ? AND language = ?`
const wholeById = `SELECT ${whole} FROM sendwright_template WHERE id = ? AND session = ?`
const updateTold = `UPDATE sendwright_template SET ${toldOf.assignments} WHERE id = ?`
const updateCheck = `UPDATE sendwright_template SET ${checks.assignments} WHERE id = ?`

const readCheck = (row: Row): TemplateCheck.TemplateCheck => {
  const { checkAt, checkedAt, checks: count, pausedAt, recheckAt } = checks.read(row)
  return { at: checkAt, count, answeredAt: checkedAt, pausedAt, recheckAt }
}

const writeCheck = ({ answeredAt, at, count, ...pause }: TemplateCheck.TemplateCheck) =>
  checks.write({ checkAt: at, checks: count, checkedAt: answeredAt, ...pause })

const pausedJobs = `SELECT job.id FROM sendwright_progress AS progress CROSS JOIN sendwright_job AS job
  WHERE job.seq = progress.seq AND progress.session = ? AND progress.status IN ('queued', 'processing', 'paused')
    AND progress.status = 'paused' AND job.template = ?`

const inserted = templates.only(
  "sessionId",
  "name",
  "language",
  "category",
  "status",
  "content",
  "updatedAt",
  "platformId"
)

const insert = `${insertInto("sendwright_template", inserted.names)} RETURNING id`

const imported = templates.only("category", "status", "content", "updatedAt", "platformId")

const update = `UPDATE sendwright_template SET ${imported.assignments} WHERE id = ?`

interface OfSession {
  readonly accountId: string
  readonly sessionId: string
  readonly now: Instant
}

/** A template with what is known of its platform's words. */
interface Known {
  readonly template: Template | null
  readonly told: FieldVersions.FieldVersions
  readonly check: TemplateCheck.TemplateCheck
}

const unknown: Known = { template: null, told: FieldVersions.nothing, check: TemplateCheck.unchecked }

const knownOf = (row: Row | undefined): Known =>
  row === undefined
    ? unknown
    : {
        template: readTemplate(row),
        told: toldOf.read(row).told ?? FieldVersions.nothing,
        check: readCheck(row)
      }

/** The template under its lasting number; the same object when what was heard of it brings nothing new. */
function* write(
  known: Known,
  { content, isChanged = false, told }: Pick<Templates.Heard, "content" | "told"> & { isChanged?: boolean },
  of: OfSession
): Program<Template> {
  const template = yield* writeContent(known.template, content, of)
  const { templateId } = template
  if (told !== known.told) yield* run(updateTold, ...toldOf.write({ told }), templateId)
  const asked = isChanged ? TemplateCheck.asked(known.check, null, of.now) : known.check
  const check = TemplateCheck.followed(asked, template.status, of.now)
  if (check !== known.check) yield* run(updateCheck, ...writeCheck(check), templateId)
  return template
}

function* writeContent(
  known: Template | null,
  content: TemplateContent,
  { accountId, now, sessionId }: OfSession
): Program<Template> {
  const merged = Templates.merge(known, content)
  if (known !== null && merged === known) return known
  const row = {
    ...merged,
    content: merged,
    sessionId,
    updatedAt: now,
    platformId: merged.platformId ?? null
  }
  if (known !== null) {
    yield* run(update, ...imported.write(row), known.templateId)
    const changed = { ...merged, templateId: known.templateId, sessionId, updatedAt: now }
    yield* Happenings.note(Happening.ofTemplate(known, changed, accountId, now))
    return changed
  }
  const answer = yield* get(insert, ...inserted.write(row))
  return { ...merged, templateId: integer(answer ?? {}, "id"), sessionId, updatedAt: now }
}

/**
 * The jobs that were paused for the templates go on, or wait for the session as it is. The session is locked before its
 * jobs, as by all who change it: a session that is being connected is waited for. The jobs of all templates are locked
 * together, because every commit locks jobs in the order of their ids.
 */
function* resume(
  rows: StoredJobs,
  lockSession: string,
  sessionId: string,
  approved: ReadonlyArray<Template>,
  now: Instant
): Program<void> {
  if (approved.length === 0) return
  const session = yield* findSession(sessionId, lockSession)
  if (session === null) return
  const paused: Array<string> = []
  for (const { templateId } of approved)
    for (const row of yield* all(pausedJobs, sessionId, templateId)) paused.push(text(row, "id"))
  const locked = yield* rows.lock(paused)
  const steps = locked.flatMap((each) =>
    JobSteps.withJob(each, Transitions.resumeForTemplate(each.job, session, now))
  )
  yield* rows.save(steps, now)
}

const firstCheck = `SELECT min(first_at) AS first_at FROM (
  SELECT min(check_at) AS first_at FROM sendwright_template WHERE check_at IS NOT NULL
  UNION ALL SELECT min(recheck_at) FROM sendwright_template WHERE recheck_at IS NOT NULL
) AS due`

export const layer: Layer.Layer<TemplateStore, never, Database> = Layer.effect(
  TemplateStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = Jobs.make(db.dialect, ids)
    const lockSession = toChange(db.dialect)
    const cardOf = RateCards.reader()

    /** As they were read last, by number: one object for all sends lets what is worked out of it be kept. */
    const read = new Map<number, { readonly row: Row; readonly template: Template }>()

    const templateOf = (row: Row): Template => {
      const id = integer(row, "id")
      const last = read.get(id)
      if (last !== undefined && Object.keys(row).every((name) => last.row[name] === row[name])) {
        return last.template
      }
      const template = readTemplate(row)
      const [oldest] = read.keys()
      if (read.size >= maximumCached && oldest !== undefined) read.delete(oldest)
      read.set(id, { row, template })
      return template
    }

    /** Resumes the jobs of those that are approved, and appends an event for each. */
    function* announce(
      changed: ReadonlyArray<Template>,
      { accountId, now, sessionId }: OfSession
    ): Program<void> {
      const approved = changed.filter(({ status }) => status === "approved")
      yield* resume(rows, lockSession, sessionId, approved, now)
      yield* Events.append(ids, accountId, changed.map(Event.templateUpdated), now)
    }

    return {
      importAll: ({ askedAt = null, contents, ...of }) =>
        db.write("TemplateStore.importAll", function* () {
          const { now, sessionId } = of
          const changed: Array<Template> = []
          const templates: Array<Template> = []
          yield* db.dialect.serialize(`templates ${sessionId}`)
          for (const content of contents) {
            const known = knownOf(yield* get(byName, sessionId, content.name, content.language))
            const heard = Templates.imported(known.template, known.told, content, askedAt, now)
            const template = yield* write(known, heard, of)
            templates.push(template)
            if (template !== known.template) changed.push(template)
          }
          yield* announce(changed, of)
          return templates
        }),
      report: ({ report, templateId, ...of }) =>
        db.write("TemplateStore.report", function* () {
          const { now, sessionId } = of
          yield* db.dialect.serialize(`templates ${sessionId}`)
          const known = knownOf(yield* get(wholeById, templateId, sessionId))
          const { template: before } = known
          if (before === null) return null
          const heard = Templates.reported(before, known.told, report, now)
          const after = yield* write(known, heard, of)
          if (after !== before) yield* announce([after], of)
          return { before, after, isOlder: heard.isOlder }
        }),
      askAgain: ({ now, refusedSince, sessionId, templateId }) =>
        db.write("TemplateStore.askAgain", function* () {
          yield* db.dialect.serialize(`templates ${sessionId}`)
          const row = yield* get(checkById, templateId, sessionId)
          if (row === undefined) return false
          const check = readCheck(row)
          const next = TemplateCheck.asked(check, refusedSince, now)
          if (next !== check) yield* run(updateCheck, ...writeCheck(next), templateId)
          return next !== check
        }),
      claimChecks: ({ limit, now }) =>
        db.write("TemplateStore.claimChecks", function* () {
          const found: Array<{ template: Template; check: TemplateCheck.Claimed }> = []
          for (const row of yield* all(
            dueChecks + db.dialect.skipLocked("sendwright_template"),
            now,
            now,
            limit
          )) {
            const next = TemplateCheck.claimed(readCheck(row), now)
            const template = readTemplate(row)
            yield* run(updateCheck, ...writeCheck(next), template.templateId)
            found.push({ template, check: next })
          }
          return found
        }),
      nextCheck: db.read("TemplateStore.nextCheck", function* () {
        return instantOrNull((yield* get(firstCheck)) ?? {}, "first_at")
      }),
      endCheck: ({ check, now, sessionId, templateId }) =>
        db.write("TemplateStore.endCheck", function* () {
          yield* db.dialect.serialize(`templates ${sessionId}`)
          const known = yield* get(checkById, templateId, sessionId)
          if (known === undefined) return []
          const inHand = readCheck(known)
          if (!TemplateCheck.isInHand(inHand, check)) return []
          const row = yield* get(byId, templateId, sessionId)
          const session = row === undefined ? null : yield* findSession(sessionId, lockSession)
          if (row === undefined || session === null) return []
          const template = readTemplate(row)
          const paused = yield* all(pausedJobs, sessionId, templateId)
          const locked = yield* rows.lock(paused.map((each) => text(each, "id")))
          const waiting = locked.filter(({ job }) => job.pauseReason === "template_changed")
          const misfits = waiting.filter(({ job }) => !JobSteps.fitsTemplate(job, template))
          if (misfits.length > 0) return misfits.map(({ job }) => job.id)
          yield* run(updateCheck, ...writeCheck(TemplateCheck.ended(inHand, now)), templateId)
          const isApproved = template.status === "approved"
          const steps = waiting.flatMap((each) =>
            JobSteps.withJob(each, Transitions.resumeChecked(each.job, isApproved, session, now))
          )
          yield* rows.save(steps, now)
          return []
        }),
      find: ({ sessionId, templateId }) =>
        db.read("TemplateStore.find", function* () {
          const row =
            sessionId === undefined
              ? yield* get(byIdAlone, templateId)
              : yield* get(byId, templateId, sessionId)
          return row === undefined ? null : templateOf(row)
        }),
      findWithCard: ({ currency, now, sessionId, templateId }) =>
        db.read("TemplateStore.findWithCard", function* () {
          const { card = null, ...row } = (yield* get(withCard, currency, now, templateId, sessionId)) ?? {}
          return {
            template: integerOrNull(row, "id") === null ? null : templateOf(row),
            card: yield* cardOf(integerOrNull({ card }, "card"))
          }
        }),
      list: ({ page, sessionId, status = null }) =>
        IndexScan.untilFound(
          (page) =>
            db.readPage("TemplateStore.list", function* () {
              if (sessionId === undefined) return Page.map(yield* pageOfAll(status, page), readTemplate)
              const rows = yield* all(ofStatus, sessionId, page.after ?? 0, status, page.limit + 1)
              return Page.map(Page.cut(rows, page.limit, idOf), readTemplate)
            }),
          page
        ),
      findNamed: ({ sessionId, ...meant }) =>
        db.read("TemplateStore.findNamed", function* () {
          const { name, platformId = null } = meant
          const rows = yield* all(meantBy, sessionId, platformId, sessionId, name, name.toLowerCase())
          return Templates.find(rows.map(readTemplate), meant) ?? null
        }),
      listPresent: ({ page, sessionId }) =>
        db.read("TemplateStore.listPresent", function* () {
          const rows = yield* all(present, sessionId, page.after ?? 0, page.limit + 1)
          return Page.map(Page.cut(rows, page.limit, idOf), readTemplate)
        }),
      listApproved: ({ category, language, name, page, sessionId }) =>
        db.readPage("TemplateStore.listApproved", function* () {
          const rows = yield* all(
            `SELECT ${readable.list} FROM sendwright_template
             WHERE session = ? AND id > ? AND status = 'approved' AND category = coalesce(?, category)
               AND language = coalesce(?, language) AND name = coalesce(?, name)
             ORDER BY id ${limited}`,
            sessionId,
            page.after ?? 0,
            category ?? null,
            language ?? null,
            name ?? null,
            page.limit + 1
          )
          return Page.map(Page.cut(rows, page.limit, idOf), readTemplate)
        })
    }
  })
)
