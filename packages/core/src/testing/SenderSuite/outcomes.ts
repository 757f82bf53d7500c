/** What the platform does with a message is what the sender says of it. */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { isAnswered } from "../../sender/Sender.ts"
import * as Fixtures from "../Fixtures.ts"
import type { Make } from "./Setup.ts"
import { test } from "./Setup.ts"

export const suite = (make: Make): void => {
  describe("an attempt", () => {
    test(make, "is accepted when the platform takes it", ({ message, platform, send }) =>
      Effect.gen(function* () {
        expect((yield* send(platform.situations.accepts(message())))._tag).toBe("Accepted")
      })
    )

    test(make, "brings a text to its number, under the platform's id of it", (opened) =>
      Effect.gen(function* () {
        const { message, platform, send, taken } = opened
        const text = platform.situations.accepts(
          message({ content: { kind: "direct", text: "Hello Zoë 🎉", linkPreview: true } })
        )
        const result = yield* send(text)
        const [found] = taken(text)
        expect(found).toMatchObject({ to: text.to, content: expect.stringContaining("Hello Zoë 🎉") })
        expect(result).toMatchObject({ _tag: "Accepted", providerId: found?.providerId })
      })
    )

    test(make, "brings a template with its values to its number", ({ message, platform, send, taken }) =>
      Effect.gen(function* () {
        const content = { kind: "template", templateId: 1, template: Fixtures.template() } as const
        const template = platform.situations.accepts(message({ content, values: ["Zoë 🎉"] }))
        expect((yield* send(template))._tag).toBe("Accepted")
        expect(taken(template)).toMatchObject([
          { to: template.to, content: expect.stringContaining("Zoë 🎉") }
        ])
      })
    )

    test(make, "is held when the platform has it and looks at it first", (opened) =>
      Effect.gen(function* () {
        const held = opened.given(opened.platform.situations.holds)(opened.message())
        expect((yield* opened.send(held))._tag).toBe("Held")
      })
    )

    test(make, "is rejected when the platform refuses for good", (opened) =>
      Effect.gen(function* () {
        const refused = opened.given(opened.platform.situations.refuses)(opened.message())
        expect((yield* opened.send(refused))._tag).toBe("Rejected")
      })
    )

    test(make, "may pass later when the platform is busy, and not before it says so", (opened) =>
      Effect.gen(function* () {
        const busy = opened.given(opened.platform.situations.busy)(opened.message())
        const { retryAfterMs } = opened.platform
        const result = yield* opened.send(busy)
        expect(result).toMatchObject({ _tag: "Transient", retryAfterMs })
        expect(isAnswered(result)).toBe(true)
      })
    )

    test(make, "is neither accepted nor given up when something in between answers an error page", (opened) =>
      Effect.gen(function* () {
        const failed = opened.given(opened.platform.situations.fails)(opened.message())
        expect(["Transient", "Ambiguous"]).toContain((yield* opened.send(failed))._tag)
      })
    )

    test(make, "may pass later when the platform is not reached", (opened) =>
      Effect.gen(function* () {
        const config = opened.kept(opened.given(opened.platform.unreachable))
        const result = yield* opened.send(opened.message({ config }))
        expect([result._tag, isAnswered(result)]).toEqual(["Transient", false])
      })
    )

    test(make, "is open when the connection breaks before the answer: the platform may have it", (opened) =>
      Effect.gen(function* () {
        const cut = opened.given(opened.platform.situations.resets)(opened.message())
        expect((yield* opened.send(cut))._tag).toBe("Ambiguous")
      })
    )

    test(make, "is never said not to have arrived by a success that nobody can read", (opened) =>
      Effect.gen(function* () {
        const babbled = opened.given(opened.platform.situations.babbles)(opened.message())
        expect(["Accepted", "Ambiguous"]).toContain((yield* opened.send(babbled))._tag)
      })
    )

    test(make, "gets its own answer among two hundred at once", (opened) =>
      Effect.gen(function* () {
        const { message, platform, send } = opened
        const refuses = opened.given(platform.situations.refuses)
        const messages = Array.from({ length: 200 }, (_, index) =>
          index % 3 === 0 ? refuses(message()) : platform.situations.accepts(message())
        )
        const results = yield* Effect.forEach(messages, send, { concurrency: "unbounded" })
        expect(results.map(({ _tag }) => _tag)).toEqual(
          messages.map((_, index) => (index % 3 === 0 ? "Rejected" : "Accepted"))
        )
        const providerIds = results.flatMap((result) =>
          result._tag === "Accepted" && result.providerId !== null ? [result.providerId] : []
        )
        expect(new Set(providerIds).size).toBe(providerIds.length)
        if (platform.received instanceof Function) {
          expect(new Set(providerIds)).toEqual(
            new Set(platform.received().flatMap(({ providerId }) => providerId ?? []))
          )
        }
      })
    )
  })
}
