/** The columns of `sendwright_template`. Its content holds all; the other columns are what templates are found by. */
import type { Template } from "../../../domain/template/Template.ts"
import * as Templates from "../../../domain/template/Template.ts"
import { integer, json, table, text, word } from "../Columns.ts"
import type { Row } from "../Program.ts"

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

export const readTemplate = (row: Row): Template => {
  const { content, ...known } = readable.read(row)
  return { ...Templates.ofStored(content), ...known }
}
