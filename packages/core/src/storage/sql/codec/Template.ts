/** The columns of `sendwright_template`. Its content holds all; the other columns are what templates are found by. */
import type { Instant } from "../../../domain/Instant.ts"
import type * as Told from "../../../domain/Told.ts"
import type { Template } from "../../../domain/template/Template.ts"
import * as Templates from "../../../domain/template/Template.ts"
import { changedStatus } from "../../../domain/template/TemplateCheck.ts"
import { instant, instantOrNull, integer, json, nullable, table, text, textOrNull, word } from "../Columns.ts"
import type { Row } from "../Program.ts"
import * as RowReader from "../RowReader.ts"

interface TemplateRow
  extends Pick<
    Template,
    "category" | "language" | "name" | "sessionId" | "status" | "templateId" | "updatedAt"
  > {
  readonly content: Templates.Stored
  readonly platformId: string | null
  /** When the platform is asked for it next; null where it is known as it is there. */
  readonly checkAt: Instant | null
  /** How often the platform was asked without an answer. */
  readonly checks: number
  /** When the platform answered last. */
  readonly checkedAt: Instant | null
  readonly pausedAt: Instant | null
  readonly recheckAt: Instant | null
  /** What the platform said last of each part; null of one of which it said nothing. */
  readonly told: Told.Told | null
}

export const templates = table<TemplateRow>({
  templateId: integer("id"),
  sessionId: text("session"),
  name: text("name"),
  language: text("language"),
  category: word("category", Templates.Category.literals),
  status: text("status"),
  content: json("content"),
  updatedAt: instant("updated_at"),
  platformId: textOrNull("platform_id"),
  checkAt: instantOrNull("check_at"),
  checks: integer("checks"),
  checkedAt: instantOrNull("checked_at"),
  pausedAt: instantOrNull("paused_at"),
  recheckAt: instantOrNull("recheck_at"),
  told: nullable(json("told"))
})

export const readable = templates.only("templateId", "sessionId", "content", "updatedAt")

/** The status that a claim goes by, beside a table `template`: one that is to be fetched is not approved. */
export const statusNow = `CASE WHEN template.check_at IS NULL OR template.status = 'paused' THEN template.status ELSE '${changedStatus}' END`

/** The template of a job as it is now, of a row with its status as `template` and its category; null where there is none. */
export const templateNow = (row: Row): Pick<Template, "category" | "status"> | null => {
  const status = RowReader.textOrNull(row, "template")
  return status === null ? null : { status, category: templates.columns.category.read(row) }
}

export const readTemplate = (row: Row): Template => {
  const { content, ...known } = readable.read(row)
  return { ...Templates.ofStored(content), ...known }
}
