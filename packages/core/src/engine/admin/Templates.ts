/** Import of templates in the platform's own form. */

import * as Effect from "effect/Effect"
import * as Audit from "../../domain/Audit.ts"
import {
  type ForeignTransaction,
  type InsideTransaction,
  InvalidRequest,
  NotFound,
  PlatformUnavailable
} from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import { textAt } from "../../domain/Json.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { Session } from "../../domain/session/Session.ts"
import * as PlatformTemplate from "../../domain/template/PlatformTemplate.ts"
import * as Rendering from "../../domain/template/Rendering.ts"
import type { Template, TemplateContent } from "../../domain/template/Template.ts"
import * as Variables from "../../domain/template/Variables.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import { Signals } from "../../runtime/Signals.ts"
import * as Sanitize from "../../sender/Sanitize.ts"
import * as SessionSender from "../../sender/SessionSender.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { TemplateStore } from "../../storage/TemplateStore.ts"
import * as OutsideTransaction from "../../worker/OutsideTransaction.ts"
import * as Recorder from "./Recorder.ts"
import { refuseIf } from "./RefuseIf.ts"

/** The result of one item. One that cannot be sent is imported all the same, and says why. */
export type ImportResult =
  | { readonly _tag: "Imported"; readonly template: Template }
  | PlatformTemplate.Refused

export interface Imported {
  /** In the order given. */
  readonly templates: ReadonlyArray<Template>
  /** One for each item, in the order given. */
  readonly results: ReadonlyArray<ImportResult>
}

export interface Preview {
  readonly template: Template
  readonly rendered: Rendering.Rendered
  /** The keys of required variables that were not given. */
  readonly missing: ReadonlyArray<string>
}

/** A template with the values in place that are given. */
const previewOf = (template: Template, values: Variables.Values): Preview => {
  const given = Variables.namesOf(template).map((names) => {
    const name = names.find((each) => Object.hasOwn(values, each))
    return name === undefined ? undefined : values[name]
  })
  const shown = template.variables.map(({ example, key }, place) => given[place] ?? example ?? `{{${key}}}`)
  const missing = template.variables.flatMap(({ key, required }, place) =>
    required && given[place] === undefined ? [key] : []
  )
  return { template, rendered: Rendering.render(template, shown), missing }
}

export interface Templates {
  /**
   * Inserts or replaces by name and language, fifty in one commit. If one fails, the earlier ones are imported, and
   * repeating the import does no harm. An item without a readable name, language, category or status is refused
   * alone, as is the second of two with the same name and language. If every item is refused, so is the request, with
   * the faults of all.
   */
  readonly importAll: (
    sessionId: string,
    templates: ReadonlyArray<unknown>
  ) => Effect.Effect<Imported, InvalidRequest | NotFound | StorageError>
  /** Of every status, or of one, by ascending number. */
  readonly list: (
    sessionId: string,
    query: { readonly status?: string | undefined; readonly page: Page }
  ) => Effect.Effect<Paged<Template>, NotFound | StorageError>
  /** The same of all sessions. */
  readonly all: (query: {
    readonly sessionId?: string | undefined
    readonly status?: string | undefined
    readonly page: Page
  }) => Effect.Effect<Paged<Template>, StorageError>
  /** The text that a recipient would read; where a value is not given its example stands, or its key in braces. */
  readonly preview: (
    templateId: number,
    values: Variables.Values
  ) => Effect.Effect<Preview, InvalidRequest | NotFound | StorageError>
  /** The faults of each item that is not taken. */
  readonly faults: (templates: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Fault.Fault>>
  /**
   * Mirrors all of the platform's templates, item by item as `importAll`. A template that the platform no longer has
   * becomes `deleted`.
   */
  readonly sync: (
    sessionId: string
  ) => Effect.Effect<
    Imported,
    ForeignTransaction | InsideTransaction | InvalidRequest | NotFound | PlatformUnavailable | StorageError
  >
}

/** Items that are read or committed in one turn of the event loop. */
const atOnce = 50

const contentsOf = (items: ReadonlyArray<PlatformTemplate.Item>): ReadonlyArray<TemplateContent> =>
  items.flatMap((item) => (item._tag === "Read" ? [item.content] : []))

const faultsOf = (items: ReadonlyArray<PlatformTemplate.Item>): ReadonlyArray<Fault.Fault> => {
  const faults = new Fault.Faults()
  for (const item of items) {
    if (faults.isFull) break
    if (item._tag === "Refused") faults.addAll(item.faults)
  }
  return faults.list
}

/** @param templates of the items that were read, in their order */
const outcome = (
  items: ReadonlyArray<PlatformTemplate.Item>,
  templates: ReadonlyArray<Template>
): Imported => {
  const known = new Map(templates.map((template) => [PlatformTemplate.identityOf(template), template]))
  const results = items.flatMap((item): ReadonlyArray<ImportResult> => {
    if (item._tag === "Refused") return [item]
    const template = known.get(PlatformTemplate.identityOf(item.content))
    return template === undefined ? [] : [{ _tag: "Imported", template }]
  })
  return { templates, results }
}

/** Yields between parts, since there may be thousands of items. */
const readAll = Effect.fnUntraced(function* (given: ReadonlyArray<unknown>) {
  const read = PlatformTemplate.itemReader()
  const items: Array<PlatformTemplate.Item> = []
  for (const [index, json] of given.entries()) {
    if (index % atOnce === atOnce - 1) yield* EventLoopBudget.yieldIfSpent
    items.push(read(json, index))
  }
  return items
})

export const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* TemplateStore
  const signals = yield* Signals
  const resolve = yield* SessionSender.make
  const outside = yield* OutsideTransaction.make
  const record = yield* Recorder.make

  /** All templates that the platform had when it told of them last, whatever their status. */
  const everyTemplate = Effect.fnUntraced(function* (sessionId: string) {
    const found: Array<Template> = []
    let after: number | null = null
    do {
      const page: Paged<Template> = yield* store.listPresent({ sessionId, page: { limit: 100, after } })
      found.push(...page.items)
      after = page.next
    } while (after !== null)
    return found
  })

  /** Imports templates, and resumes jobs whose template is approved again. */
  const importContents = Effect.fnUntraced(function* (
    session: Session,
    contents: ReadonlyArray<TemplateContent>,
    asked: { readonly askedAt?: Instant } = {}
  ) {
    const of = { accountId: session.accountId, sessionId: session.id, ...asked }
    const imported: Array<Template> = []
    for (let from = 0; from < contents.length; from += atOnce) {
      if (from > 0) yield* EventLoopBudget.yieldIfSpent
      const some = contents.slice(from, from + atOnce)
      imported.push(...(yield* store.importAll({ ...of, contents: some, now: yield* Time.now })))
    }
    yield* Effect.zipRight(signals.deliveries.notify, signals.sends.notify)
    return imported
  }, Effect.uninterruptible)

  const templates: Templates = {
    importAll: Effect.fnUntraced(function* (sessionId, given) {
      const session = yield* sessions.find(sessionId)
      if (session === null) return yield* new NotFound({ what: "session" })
      const items = yield* readAll(given)
      const contents = contentsOf(items)
      if (contents.length === 0) yield* refuseIf(faultsOf(items))
      return outcome(items, yield* importContents(session, contents))
    }),
    list: Effect.fnUntraced(function* (sessionId, query) {
      if ((yield* sessions.find(sessionId)) === null) return yield* new NotFound({ what: "session" })
      return yield* store.list({ sessionId, ...query })
    }),
    all: (query) => store.list(query),
    preview: Effect.fnUntraced(function* (templateId, values) {
      const template = yield* store.find({ templateId })
      if (template === null) return yield* new NotFound({ what: "template" })
      yield* refuseIf(Variables.checkCommon(template, values))
      return previewOf(template, values)
    }),
    faults: (given) => Effect.map(readAll(given), faultsOf),
    sync: Effect.fnUntraced(function* (sessionId) {
      const session = yield* sessions.find(sessionId)
      if (session === null) return yield* new NotFound({ what: "session" })
      const sessionSender = yield* resolve(session)
      const read = sessionSender?.sender.templates
      if (sessionSender === undefined || read === undefined) {
        const message = `Templates of the provider "${session.provider}" are imported, not synced.`
        return yield* new InvalidRequest({ faults: [Fault.make(["path", "id"], "invalid_value", message)] })
      }
      const askedAt = yield* Time.now
      const given = yield* Effect.mapError(
        read(sessionSender.config),
        ({ failure }) =>
          new PlatformUnavailable({ reason: Sanitize.failure(failure, sessionSender.config).message })
      )
      const items = yield* readAll(given)
      const contents = contentsOf(items)
      // A refused item still exists on the platform, however broken the rest of it is.
      const there = new Set(
        given.map((json) =>
          PlatformTemplate.identityOf({
            name: textAt(json, "name") ?? "",
            language: textAt(json, "language") ?? ""
          })
        )
      )
      const gone = (yield* everyTemplate(sessionId)).filter(
        (template) => !there.has(PlatformTemplate.identityOf(template))
      )
      const deleted = gone.map((template) => ({ ...template, status: "deleted" }))
      const imported = Effect.map(
        importContents(session, [...contents, ...deleted], { askedAt }),
        (templates) => outcome(items, templates.slice(0, contents.length))
      )
      const after = (imported: Imported) => ({ ...Audit.templates(imported), deleted: deleted.length })
      const entry = (imported: Imported) => ({ target: sessionId, after: after(imported) })
      return yield* record({ operation: "templates.sync", entry }, imported)
    }, outside("admin.templates.sync"))
  }
  return templates
})
