/** Import of templates in the platform's own form. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import type { Template, TemplateContent } from "../../domain/Template.ts"
import { parsePlatform } from "../../domain/Template.ts"
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
}

export const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* TemplateStore
  const wake = yield* Wake
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
    })
  }
  return templates
})
