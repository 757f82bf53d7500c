/** Templates, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import type { Template, TemplateContent } from "../../domain/Template.ts"
import * as Templates from "../../domain/Template.ts"
import { TemplateStore } from "../TemplateStore.ts"
import type { Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertInto, integer, limited, templateColumns, toTemplate } from "./Rows.ts"

const byName = "SELECT * FROM sendwright_template WHERE session = ? AND name = ? AND language = ?"

const insert = `${insertInto("sendwright_template", templateColumns)} RETURNING id`

const update =
  "UPDATE sendwright_template SET category = ?, status = ?, content = ?, updated_at = ? WHERE id = ?"

/** The template under its lasting number; the same object when the import brings nothing new. */
const write = (
  sql: Statements,
  known: Template | null,
  content: TemplateContent,
  sessionId: string,
  now: Instant
) => {
  if (known !== null && Templates.sameContent(known, content)) return known
  const { category, language, name, status } = content
  const body = JSON.stringify(content)
  if (known !== null) {
    sql.run(update, category, status, body, now, known.templateId)
    return { ...content, templateId: known.templateId, sessionId, updatedAt: now }
  }
  const row = sql.get(insert, sessionId, name, language, category, status, body, now)
  return { ...content, templateId: integer(row ?? {}, "id"), sessionId, updatedAt: now }
}

export const layer: Layer.Layer<TemplateStore, never, Database> = Layer.effect(
  TemplateStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    return {
      importAll: ({ accountId, contents, now, sessionId }) =>
        db.write("TemplateStore.importAll", (sql) => {
          const drafts: Array<Event.Draft> = []
          const templates = contents.map((content) => {
            const row = sql.get(byName, sessionId, content.name, content.language)
            const known = row === undefined ? null : toTemplate(row)
            const template = write(sql, known, content, sessionId, now)
            if (template !== known) drafts.push(Event.templateUpdated(template))
            return template
          })
          Events.append(sql, ids, accountId, drafts, now)
          return templates
        }),
      find: ({ sessionId, templateId }) =>
        db.read("TemplateStore.find", (sql) => {
          const row = sql.get(
            "SELECT * FROM sendwright_template WHERE id = ? AND session = ?",
            templateId,
            sessionId
          )
          return row === undefined ? null : toTemplate(row)
        }),
      listApproved: ({ category, language, name, page, sessionId }) =>
        db.read("TemplateStore.listApproved", (sql) => {
          const rows = sql.all(
            `SELECT * FROM sendwright_template
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
          return Page.map(
            Page.cut(rows, page.limit, (row) => integer(row, "id")),
            toTemplate
          )
        })
    }
  })
)
