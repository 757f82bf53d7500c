/** The columns of `sendwright_template`. Its content holds all; the other columns are what templates are found by. */
import type { Template } from "../../../domain/template/Template.ts"
import * as Templates from "../../../domain/template/Template.ts"
import { integer, json, table, text, word } from "../Columns.ts"
import type { Row } from "../Program.ts"
import * as RowReader from "../RowReader.ts"

interface TemplateRow
  extends Pick<
    Template,
    "category" | "language" | "name" | "sessionId" | "status" | "templateId" | "updatedAt"
  > {
  readonly content: Templates.Stored
}

export const templates = table<TemplateRow>({
  templateId: integer("id"),
  sessionId: text("session"),
  name: text("name"),
  language: text("language"),
  category: word("category", Templates.Category.literals),
  status: text("status"),
  content: json("content"),
  updatedAt: integer("updated_at")
})

export const readable = templates.only("templateId", "sessionId", "content", "updatedAt")

/** The template of a job as it is now, of a row with its status as `template` and its category; null where there is none. */
export const templateNow = (row: Row): Pick<Template, "category" | "status"> | null => {
  const status = RowReader.textOrNull(row, "template")
  return status === null ? null : { status, category: templates.columns.category.read(row) }
}

export const readTemplate = (row: Row): Template => {
  const { content, ...known } = readable.read(row)
  return { ...Templates.ofStored(content), ...known }
}
