/** Templates: read with an API key (contract.md §A2.2), imported and synchronized by operators (contract.md §8). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Either from "../effect/Either.ts"
import type { Admin } from "../index.ts"
import { Template as Domain, Errors, Fault } from "../index.ts"
import { codec, computed, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forKey, forOperator, one, pageOf } from "./Operation.ts"
import { id, paging, Uuid, WholeNumber, word } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const status = optional(word("Only templates of this status, such as `paused`."))

export const template = codec(Domain.Wire, Domain.toWire)

const Owned = Schema.Struct({ ...Domain.Wire.fields, session_id: Wire.Id }).annotations({
  identifier: "OwnedTemplate"
})

/** With its session, where templates of several are told. */
const owned = codec(Owned, (template: Domain.Template) => ({
  ...Domain.toWire(template),
  session_id: template.sessionId
}))

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
  index: Wire.Count,
  name: Wire.NullableText,
  language: Wire.NullableText,
  status: Schema.Literal("imported", "refused"),
  template_id: optional(Wire.Count),
  sendable: optional(Schema.Boolean),
  unsendable_reason: optional(Wire.NullableText),
  errors: optional(Schema.Array(Wire.Fault.schema))
}).annotations({ identifier: "ImportResult" })

const importResult = (result: Admin.ImportResult, index: number): typeof ImportResult.Type => {
  if (result._tag === "Refused") {
    const { faults, language, name } = result
    return { index, name, language, status: "refused", errors: Wire.faults(faults) }
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

const imported = {
  ok: Wire.isOk,
  imported: computed(Wire.Count, ({ templates }: Admin.Imported) => templates.length),
  templates: computed(Schema.Array(Domain.Wire), ({ templates }: Admin.Imported) =>
    templates.map(Domain.toWire)
  ),
  results: computed(Schema.Array(ImportResult), ({ results }: Admin.Imported) => results.map(importResult))
}

/** The platform's templates that could not be listed here, and why; those that were refused are among them. */
const skipped = computed(
  Schema.Array(Schema.Struct({ name: Wire.Text, language: Wire.Text, reason: Wire.Text })),
  ({ results }: Admin.Imported) =>
    results.flatMap((result) =>
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
)

const example = Examples.template

const platformExample = {
  name: example.name,
  language: example.language,
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: example.components[0].text }]
}

const importedExample = {
  ...Wire.ok,
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
} as const

export const versioned = [
  forKey(
    Endpoint.get("templates", "/api/v1/templates").setUrlParams(Filter),
    "templates:read",
    pageOf("templates", template, example),
    {
      summary: "List approved templates",
      description: "Those of the key's session. Only approved ones are listed."
    },
    (engine, caller, { page, query }) => engine.templates(caller, { ...query, page })
  ),
  forKey(
    Endpoint.get("template", "/api/v1/templates/:templateId").setPath(
      Schema.Struct({ templateId: WholeNumber })
    ),
    "templates:read",
    one("template", template, example),
    {
      summary: "Read a template and its variables",
      description:
        "`variables` lists what a send must give. A template that is unknown, not approved or another session's is not found."
    },
    (engine, caller, { path }) => engine.template(caller, path.templateId)
  )
]

const shown = struct(
  {
    template_id: computed(Wire.Count, ({ template }: Admin.Preview) => template.templateId),
    name: computed(Wire.Text, ({ template }: Admin.Preview) => template.name),
    language: computed(Wire.Text, ({ template }: Admin.Preview) => template.language),
    status: computed(Wire.Text, ({ template }: Admin.Preview) => template.status),
    header: computed(Wire.NullableText, ({ rendered }: Admin.Preview) => rendered.header ?? null),
    body: computed(Wire.Text, ({ rendered }: Admin.Preview) => rendered.body),
    footer: computed(Wire.NullableText, ({ rendered }: Admin.Preview) => rendered.footer ?? null),
    buttons: computed(
      Schema.Array(
        Schema.Struct({
          type: Wire.Text,
          text: Wire.Text,
          url: Wire.NullableText
        })
      ),
      ({ rendered }: Admin.Preview) =>
        (rendered.buttons ?? []).map(({ text, type, url }) => ({ type, text, url: url ?? null }))
    ),
    missing: Schema.Array(Wire.Text).annotations({
      description: "The keys of required variables that were not given."
    })
  },
  "TemplatePreview"
)

const Values = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))

const variablesFault = Fault.make(
  ["query", "variables"],
  "invalid_value",
  '`variables` must be a JSON object of texts, such as {"body.1":"Ana"}.'
)

const valuesOf = (
  given: string | undefined
): Either.Either<Readonly<Record<string, string>>, Errors.InvalidRequest> =>
  given === undefined
    ? Either.right({})
    : Either.mapLeft(
        Schema.decodeUnknownEither(Values)(given),
        () => new Errors.InvalidRequest({ faults: [variablesFault] })
      )

export const admin = [
  forOperator(
    Endpoint.get("allTemplates", "/admin/v1/sessions/:id/templates")
      .setPath(id)
      .setUrlParams(
        Schema.Struct({
          ...paging,
          status
        })
      ),
    pageOf("templates", template, example),
    {
      summary: "List a session's templates, whatever their status",
      description: "By ascending number; deleted ones, too.",
      command: { name: "templates list", description: "List a session's templates of any status." }
    },
    ({ admin }, { page, path, query }) => admin.templates.list(path.id, { status: query.status, page })
  ),
  forOperator(
    Endpoint.get("templatesOfAll", "/admin/v1/templates").setUrlParams(
      Schema.Struct({ ...paging, session_id: optional(Uuid), status })
    ),
    pageOf("templates", owned, { ...example, session_id: Examples.ids.session }),
    {
      summary: "List templates of all sessions, whatever their status",
      description: "By ascending number, each with its session; deleted ones, too.",
      command: { name: "templates all", description: "List templates of all sessions and of any status." }
    },
    ({ admin }, { page, query }) =>
      admin.templates.all({ sessionId: query.session_id, status: query.status, page })
  ),
  forOperator(
    Endpoint.get("previewTemplate", "/admin/v1/templates/:templateId/preview")
      .setPath(Schema.Struct({ templateId: WholeNumber }))
      .setUrlParams(
        Schema.Struct({
          variables: optional(
            Schema.String.annotations({
              description:
                'Values in JSON, such as `{"body.1":"Ana"}`. Where one is not given its example stands, or its key in braces.'
            })
          )
        })
      ),
    one("preview", shown, {
      template_id: example.template_id,
      name: example.name,
      language: example.language,
      status: example.status,
      header: null,
      body: "Hello Ana, your order is on its way.",
      footer: null,
      buttons: [],
      missing: []
    }),
    {
      summary: "Show the text of a template with values in place",
      description: "As a recipient would read it. Nothing is sent.",
      refusals: ["invalid_request"],
      command: { name: "templates preview", description: "Show the text of a template with values in place." }
    },
    ({ admin }, { path, query }) =>
      Effect.flatMap(valuesOf(query.variables), (values) => admin.templates.preview(path.templateId, values))
  ),
  forOperator(
    Endpoint.put("importTemplates", "/admin/v1/sessions/:id/templates")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          templates: Schema.Array(PlatformTemplate).pipe(Schema.minItems(1), Schema.maxItems(6000))
        })
      )
      // 6,000 of a body alone have 54,000.
      .setMaximumValues(55_000),
    answer(struct(imported), importedExample),
    {
      summary: "Import templates",
      description:
        "Each by its name and language. What cannot be expressed is imported as not sendable; what cannot be read is refused by its item. When none can be read nothing is imported.",
      request: { templates: [platformExample] },
      command: { name: "templates import", description: "Import templates in the platform's form." }
    },
    ({ admin }, { path, payload }) => admin.templates.importAll(path.id, payload.templates),
    ({ admin }, { payload: { templates = [] } }) => admin.templates.faults(templates)
  ),
  forOperator(
    Endpoint.post("syncTemplates", "/admin/v1/sessions/:id/templates/sync").setPath(id),
    answer(struct({ ...imported, skipped }), { ...importedExample, skipped: [] }),
    {
      summary: "Take over the platform's templates",
      description: "All pages of them. What the platform has no more can no longer be sent.",
      command: { name: "templates sync", description: "Import all templates from the platform." }
    },
    ({ admin }, { path }) => admin.templates.sync(path.id)
  )
]
