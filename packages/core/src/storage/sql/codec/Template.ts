/** The columns of `sendwright_template`. Its content holds all; the other columns are what templates are found by. */

import type * as FieldVersions from "../../../domain/FieldVersions.ts"
import type { Instant } from "../../../domain/Instant.ts"
import type { Template } from "../../../domain/template/Template.ts"
import * as Templates from "../../../domain/template/Template.ts"
import { changedStatus } from "../../../domain/template/TemplateCheck.ts"
import type { Row } from "../../Program.ts"
import {
  exact,
  instant,
  instantOrNull,
  integer,
  json,
  noted,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import { impersonal } from "../Personal.ts"
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
  /** The platform's last word on each part; null for a template of which the platform said nothing. */
  readonly told: FieldVersions.FieldVersions | null
}

export const templates = table("sendwright_template", {
  kept: "registered",
  key: ["id"],
  unique: ["session", "name", "language"]
})<TemplateRow>({
  templateId: integer("id", impersonal, "publicKey"),
  sessionId: exact("session", impersonal),
  name: text("name", impersonal),
  language: text("language", impersonal),
  category: word("category", impersonal, Templates.Category.literals),
  status: text("status", impersonal),
  content: json("content", impersonal),
  updatedAt: instant("updated_at", impersonal),
  platformId: noted(
    "platform_id: the platform's own id. check_at: when the platform is asked for it next, since it may be another there than\nhere; its jobs wait until then. checks: how often it was asked without an answer. checked_at: when it answered last.",
    textOrNull("platform_id", impersonal)
  ),
  checkAt: instantOrNull("check_at", impersonal),
  checks: integer("checks", impersonal, "long NOT NULL DEFAULT 0"),
  checkedAt: instantOrNull("checked_at", impersonal),
  pausedAt: noted(
    "paused_at: since when it is paused. recheck_at: when the platform is asked whether it still is. told: what the platform said\nlast of each part, and when, in JSON.",
    instantOrNull("paused_at", impersonal)
  ),
  recheckAt: instantOrNull("recheck_at", impersonal),
  told: nullable(json("told", impersonal))
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
