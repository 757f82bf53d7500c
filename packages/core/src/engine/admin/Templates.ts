/** Import of templates in the platform's own form. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { InvalidRequest, NotFound, PlatformUnavailable } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import { textAt } from "../../domain/Json.ts"
import type { Paged } from "../../domain/Page.ts"
import type { Template, TemplateContent } from "../../domain/Template.ts"
import { parsePlatform } from "../../domain/Template.ts"
import * as Lines from "../../sender/Lines.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { TemplateStore } from "../../storage/TemplateStore.ts"
import { Wake } from "../../worker/Wake.ts"
import { refuse } from "./Faults.ts"

export interface Templates {
  /** All of them or none; by name and language. */
  readonly importAll: (
    sessionId: string,
    templates: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<Template>, InvalidRequest | NotFound | StorageError>
  /**
   * Mirrors the platform's templates, over all pages. What we cannot read is skipped and told; what the platform does
   * not have any more is `deleted`.
   */
  readonly sync: (
    sessionId: string
  ) => Effect.Effect<Synced, InvalidRequest | NotFound | PlatformUnavailable | StorageError>
}

export interface Synced {
  readonly templates: ReadonlyArray<Template>
  readonly skipped: ReadonlyArray<{
    readonly name: string
    readonly language: string
    readonly reason: string
  }>
}

export const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* TemplateStore
  const wake = yield* Wake
  const open = yield* Lines.make

  /** All that may be sent now: what the platform has withdrawn is among them. */
  const everyTemplate = Effect.fnUntraced(function* (sessionId: string) {
    const found: Array<Template> = []
    let after: number | null = null
    do {
      const page: Paged<Template> = yield* store.listApproved({ sessionId, page: { limit: 100, after } })
      found.push(...page.items)
      after = page.next
    } while (after !== null)
    return found
  })

  const templates: Templates = {
    importAll: Effect.fnUntraced(function* (sessionId, given) {
      const session = yield* sessions.find(sessionId)
      if (session === null) return yield* new NotFound({ what: "session" })
      const faults: Array<Fault.Fault> = []
      const contents: Array<TemplateContent> = []
      const seen = new Set<string>()
      given.forEach((json, index) => {
        const path = ["templates", index]
        Either.match(parsePlatform(json), {
          onLeft: (found) => {
            faults.push(...found.map((fault) => ({ ...fault, path: [...path, ...fault.path] })))
          },
          onRight: (content) => {
            const identity = `${content.name} ${content.language}`
            if (seen.has(identity)) {
              faults.push(
                Fault.make(
                  [...path, "name"],
                  "invalid_value",
                  "This name and language are in the import twice."
                )
              )
            }
            seen.add(identity)
            contents.push(content)
          }
        })
      })
      yield* refuse(faults)
      const now = yield* Clock.currentTimeMillis
      const imported = yield* store.importAll({ accountId: session.accountId, sessionId, contents, now })
      yield* wake.deliveries.notify
      return imported
    }),
    sync: Effect.fnUntraced(function* (sessionId) {
      const session = yield* sessions.find(sessionId)
      if (session === null) return yield* new NotFound({ what: "session" })
      const line = yield* open(session)
      const read = line?.sender.templates
      if (line === undefined || read === undefined) {
        const message = `Templates of the provider "${session.provider}" are imported, not synced.`
        return yield* new InvalidRequest({ faults: [Fault.make(["path", "id"], "invalid_value", message)] })
      }
      const given = yield* Effect.mapError(
        read(line.config),
        ({ message: reason }) => new PlatformUnavailable({ reason })
      )
      const contents = new Map<string, TemplateContent>()
      const skipped: Array<Synced["skipped"][number]> = []
      const seen = new Set<string>()
      for (const json of given) {
        // However broken the rest of it is.
        const [name, language] = [textAt(json, "name") ?? "", textAt(json, "language") ?? ""]
        seen.add(`${name} ${language}`)
        Either.match(parsePlatform(json), {
          onLeft: (faults) => {
            skipped.push({ name, language, reason: faults.map(({ message }) => message).join(" ") })
          },
          onRight: (content) => contents.set(`${content.name} ${content.language}`, content)
        })
      }
      const now = yield* Clock.currentTimeMillis
      const gone = (yield* everyTemplate(sessionId)).filter(
        ({ language, name }) => !seen.has(`${name} ${language}`)
      )
      const all = [...contents.values(), ...gone.map((template) => ({ ...template, status: "deleted" }))]
      const { accountId } = session
      const templates = yield* store.importAll({ accountId, sessionId, contents: all, now })
      yield* Effect.zipRight(wake.deliveries.notify, wake.sends.notify)
      return { templates: templates.slice(0, contents.size), skipped }
    })
  }
  return templates
})
