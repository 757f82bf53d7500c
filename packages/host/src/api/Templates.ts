/** Templates: read with an API key (interface.md §2.2), imported and synchronized by operators (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Admin } from "@sendwright/core"
import * as Domain from "@sendwright/core/Template"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { MaximumValues } from "./MaximumValues.ts"
import { forKey, forOperator } from "./Operation.ts"
import { id, page, paging, WholeNumber } from "./Parameters.ts"
import { Count, Fault, fault, NextCursor, NullableText, Ok, ok, Text, type View } from "./Wire.ts"

const optional = Schema.optional

const Templates = Schema.Struct({ ok: Ok, templates: Schema.Array(Domain.Wire), next_cursor: NextCursor })
const Template = Schema.Struct({ ok: Ok, template: Domain.Wire })

const Filter = Schema.Struct({
  ...paging,
  category: optional(
    Schema.Literal(...Domain.Category.literals).annotations({
      description: "Only templates of this category."
    })
  ),
  language: optional(Schema.String.annotations({ description: "Only templates in this language." })),
  name: optional(Schema.String.annotations({ description: "Only templates of this name." }))
})

/** Read one by one: what is no template is told by its item. */
const PlatformTemplate = Schema.Unknown.annotations({
  jsonSchema: {
    description: "A template as the platform's API writes it. What cannot be read is refused by its item."
  }
})

/** One for each item, in the order given. */
const ImportResult = Schema.Struct({
  index: Count,
  name: NullableText,
  language: NullableText,
  status: Schema.Literal("imported", "refused"),
  template_id: optional(Count),
  sendable: optional(Schema.Boolean),
  unsendable_reason: optional(NullableText),
  errors: optional(Schema.Array(Fault))
}).annotations({ identifier: "ImportResult" })

const importResult = (result: Admin.ImportResult, index: number): View<typeof ImportResult> => {
  if (result._tag === "Refused") {
    const { faults, language, name } = result
    return { index, name, language, status: "refused", errors: faults.map(fault) }
  }
  const { language, name, sendable, templateId, unsendableReason } = result.template
  return {
    index,
    name,
    language,
    status: "imported",
    template_id: templateId,
    sendable,
    unsendable_reason: unsendableReason
  }
}

const Imported = Schema.Struct({
  ok: Ok,
  imported: Count,
  templates: Schema.Array(Domain.Wire),
  results: Schema.Array(ImportResult)
})

const imported = ({ results, templates }: Admin.Imported): View<typeof Imported> => ({
  ok: true,
  imported: templates.length,
  templates: templates.map(Domain.toWire),
  results: results.map(importResult)
})

const Synced = Schema.Struct({
  ...Imported.fields,
  /** The platform's templates that could not be listed here, and why. */
  skipped: Schema.Array(Schema.Struct({ name: Text, language: Text, reason: Text }))
})

/** Those that were refused are told as skipped, too. */
const synced = (found: Admin.Imported): View<typeof Synced> => ({
  ...imported(found),
  skipped: found.results.flatMap((result) =>
    result._tag === "Refused"
      ? [
          {
            name: result.name ?? "",
            language: result.language ?? "",
            reason: result.faults.map(({ message }) => message).join(" ")
          }
        ]
      : []
  )
})

const example = Examples.template

const platformExample = {
  name: example.name,
  language: example.language,
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: example.components[0].text }]
}

const importedExample: View<typeof Imported> = {
  ...ok,
  imported: 1,
  templates: [example],
  results: [
    {
      index: 0,
      name: example.name,
      language: example.language,
      status: "imported",
      template_id: example.template_id,
      sendable: true,
      unsendable_reason: null
    }
  ]
}

export const versioned = [
  forKey(
    HttpApiEndpoint.get("templates", "/api/v1/templates").setUrlParams(Filter).addSuccess(Templates),
    "templates:read",
    {
      summary: "List approved templates",
      description: "Those of the key's session. Only approved ones are listed.",
      answer: { ...ok, templates: [example], next_cursor: null }
    },
    (engine) =>
      (caller) =>
      ({ after, cursor, query }) =>
        Effect.map(engine.templates(caller, { ...query, page: page(query, after) }), ({ items, next }) =>
          reply({ ...ok, templates: items.map(Domain.toWire), next_cursor: cursor(next) })
        )
  ),
  forKey(
    HttpApiEndpoint.get("template", "/api/v1/templates/:templateId")
      .setPath(Schema.Struct({ templateId: WholeNumber }))
      .addSuccess(Template),
    "templates:read",
    {
      summary: "Read a template and its variables",
      description:
        "`variables` lists what a send must give. A template that is unknown, not approved or another session's is not found.",
      answer: { ...ok, template: example },
      refusals: ["not_found"]
    },
    (engine) =>
      (caller) =>
      ({ path }) =>
        Effect.map(engine.template(caller, path.templateId), (found) =>
          reply({ ...ok, template: Domain.toWire(found) })
        )
  )
]

export const admin = [
  forOperator(
    HttpApiEndpoint.put("importTemplates", "/admin/v1/sessions/:id/templates")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          templates: Schema.Array(PlatformTemplate).pipe(Schema.minItems(1), Schema.maxItems(6000))
        })
      )
      .addSuccess(Imported)
      // 6,000 of a body alone have 54,000.
      .annotate(MaximumValues, 55_000),
    {
      summary: "Import templates",
      description:
        "Each by its name and language. What cannot be expressed is imported as not sendable; what cannot be read is refused by its item. When none can be read nothing is imported.",
      request: { templates: [platformExample] },
      answer: importedExample,
      refusals: ["not_found"],
      command: { name: "templates import", description: "Import templates in the platform's form." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.templates.importAll(path.id, payload.templates), (found) => reply(imported(found))),
    ({ admin }) =>
      ({ payload: { templates = [] } }) =>
        admin.templates.faults(templates)
  ),
  forOperator(
    HttpApiEndpoint.post("syncTemplates", "/admin/v1/sessions/:id/templates/sync")
      .setPath(id)
      .addSuccess(Synced),
    {
      summary: "Take over the platform's templates",
      description: "All pages of them. What the platform has no more can no longer be sent.",
      answer: { ...importedExample, skipped: [] },
      refusals: ["not_found"],
      command: { name: "templates sync", description: "Import all templates from the platform." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.templates.sync(path.id), (found) => reply(synced(found)))
  )
]
