import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import type { Page } from "../../domain/Page.ts"
import * as Paging from "../../domain/Page.ts"
import * as Told from "../../domain/Told.ts"
import type { Template, TemplateContent } from "../../domain/template/Template.ts"
import * as Templates from "../../domain/template/Template.ts"
import * as TemplateCheck from "../../domain/template/TemplateCheck.ts"
import * as Event from "../../domain/webhook/Event.ts"
import * as JobSteps from "../JobSteps.ts"
import { TemplateStore } from "../TemplateStore.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase, nextDue, putJob } from "./MemoryDatabase.ts"

/** The jobs that were paused for the template go on. */
const resume = (db: Database, template: Template, now: Instant): void => {
  const session = db.sessions.get(template.sessionId)?.value
  if (session === undefined) return
  for (const row of db.jobs.values()) {
    const { content, status } = row.job
    if (content.kind !== "template" || content.templateId !== template.templateId) continue
    const job = Transitions.resumeForTemplate(row.job, session, now)
    if (job === row.job) continue
    putJob(db, { ...row, job, nextDue: nextDue(row, job, now) })
    const draft = Event.jobChanged(job, status)
    if (draft !== undefined) Events.append(db, job.accountId, [draft], now)
  }
}

const checkOf = (db: Database, templateId: number): TemplateCheck.TemplateCheck =>
  db.templateChecks.get(templateId) ?? TemplateCheck.unchecked

/** The jobs that waited for the template's check go on, or stay paused; the misfits' ids while there are some. */
const endCheck = (db: Database, template: Template, now: Instant): ReadonlyArray<string> => {
  const { sessionId, templateId } = template
  const session = db.sessions.get(sessionId)?.value
  if (session === undefined) return []
  const waiting = [...db.jobs.values()].filter(
    ({ job: { content, pauseReason } }) =>
      pauseReason === "template_changed" && content.kind === "template" && content.templateId === templateId
  )
  const misfits = waiting.filter(({ job }) => !JobSteps.fitsTemplate(job, template))
  if (misfits.length > 0) return misfits.map(({ job }) => job.id)
  db.templateChecks.set(templateId, TemplateCheck.ended(checkOf(db, templateId), now))
  for (const row of waiting) {
    const job = Transitions.resumeChecked(row.job, template.status === "approved", session, now)
    putJob(db, { ...row, job, nextDue: nextDue(row, job, now) })
    const draft = Event.jobChanged(job, row.job.status)
    if (draft !== undefined) Events.append(db, job.accountId, [draft], now)
  }
  return []
}

/** By ascending number. */
const pageOf = (templates: ReadonlyArray<Template>, page: Page): Paging.Paged<Template> => {
  const found = templates
    .filter(({ templateId }) => templateId > (page.after ?? 0))
    .sort((a, b) => a.templateId - b.templateId)
    .slice(0, page.limit + 1)
  return Paging.cut(found, page.limit, ({ templateId }) => templateId)
}

interface OfSession {
  readonly accountId: string
  readonly sessionId: string
  readonly now: Instant
}

const toldOf = (db: Database, known: Template | null): Told.Told =>
  (known === null ? undefined : db.templatesTold.get(known.templateId)) ?? Told.nothing

const write = (
  db: Database,
  known: Template | null,
  { content, isChanged = false, told }: Pick<Templates.Heard, "content" | "told"> & { isChanged?: boolean },
  of: OfSession
): Template => {
  const template = writeContent(db, known, content, of)
  const { status, templateId } = template
  db.templatesTold.set(templateId, told)
  const check = checkOf(db, templateId)
  const asked = isChanged ? TemplateCheck.asked(check, null, of.now) : check
  db.templateChecks.set(templateId, TemplateCheck.followed(asked, status, of.now))
  return template
}

const writeContent = (
  db: Database,
  known: Template | null,
  content: TemplateContent,
  { accountId, now, sessionId }: OfSession
): Template => {
  const merged = Templates.merge(known, content)
  if (known !== null && merged === known) return known
  const templateId = known?.templateId ?? db.templates.size + 1
  const template = { ...merged, templateId, sessionId, updatedAt: now }
  db.templates.set(templateId, template)
  Happenings.note(db, Happening.ofTemplate(known, template, accountId, now))
  Events.append(db, accountId, [Event.templateUpdated(template)], now)
  if (template.status === "approved") resume(db, template, now)
  return template
}

export const layer: Layer.Layer<TemplateStore, never, MemoryDatabase> = Layer.effect(
  TemplateStore,
  Effect.map(MemoryDatabase, (db) => {
    const ofSession = (sessionId: string) =>
      [...db.templates.values()].filter((each) => each.sessionId === sessionId)
    const find = (sessionId: string, templateId: number): Template | null => {
      const found = db.templates.get(templateId)
      return found?.sessionId === sessionId ? found : null
    }
    return {
      importAll: ({ askedAt = null, contents, ...of }) =>
        Effect.sync(() =>
          contents.map((content) => {
            const known =
              ofSession(of.sessionId).find(
                ({ language, name }) => name === content.name && language === content.language
              ) ?? null
            return write(
              db,
              known,
              Templates.imported(known, toldOf(db, known), content, askedAt, of.now),
              of
            )
          })
        ),
      report: ({ report, templateId, ...of }) =>
        Effect.sync(() => {
          const before = find(of.sessionId, templateId)
          if (before === null) return null
          const heard = Templates.reported(before, toldOf(db, before), report, of.now)
          return { before, after: write(db, before, heard, of), isOlder: heard.isOlder }
        }),
      askAgain: ({ now, refusedSince, sessionId, templateId }) =>
        Effect.sync(() => {
          if (find(sessionId, templateId) === null) return false
          const check = checkOf(db, templateId)
          const next = TemplateCheck.asked(check, refusedSince, now)
          db.templateChecks.set(templateId, next)
          return next !== check
        }),
      claimChecks: ({ limit, now }) =>
        Effect.sync(() =>
          [...db.templateChecks]
            .filter(([, check]) => TemplateCheck.isDue(check, now))
            .slice(0, limit)
            .flatMap(([templateId, check]) => {
              const template = db.templates.get(templateId)
              const next = TemplateCheck.claimed(check, now)
              db.templateChecks.set(templateId, next)
              return template === undefined ? [] : [{ template, check: next }]
            })
        ),
      nextCheck: Effect.sync(() =>
        Time.firstOf([...db.templateChecks.values()].flatMap(({ at, recheckAt }) => [at, recheckAt]))
      ),
      endCheck: ({ check, now, sessionId, templateId }) =>
        Effect.sync(() => {
          const template = find(sessionId, templateId)
          const known = checkOf(db, templateId)
          if (template === null || !TemplateCheck.isInHand(known, check)) return []
          return endCheck(db, template, now)
        }),
      find: ({ sessionId, templateId }) =>
        Effect.sync(() =>
          sessionId === undefined ? (db.templates.get(templateId) ?? null) : find(sessionId, templateId)
        ),
      list: ({ page, sessionId, status }) =>
        Effect.sync(() => {
          const found = ofSession(sessionId).filter((each) => status === undefined || each.status === status)
          return pageOf(found, page)
        }),
      findNamed: ({ sessionId, ...meant }) =>
        Effect.sync(() => Templates.find(ofSession(sessionId), meant) ?? null),
      listPresent: ({ page, sessionId }) =>
        Effect.sync(() => {
          const found = ofSession(sessionId).filter(({ status }) => status !== "deleted")
          return pageOf(found, page)
        }),
      listApproved: ({ category, language, name, page, sessionId }) =>
        Effect.sync(() => {
          const found = ofSession(sessionId).filter(
            (each) =>
              each.status === "approved" &&
              (category === undefined || each.category === category) &&
              (language === undefined || each.language === language) &&
              (name === undefined || each.name === name)
          )
          return pageOf(found, page)
        })
    }
  })
)
