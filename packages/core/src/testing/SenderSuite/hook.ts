/** What comes to a session's hook: believed when it is the platform's, and else not even looked at. */

import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../domain/Instant.ts"
import type { HookRequest, HookResult } from "../../sender/Sender.ts"
import type { Hook } from "./Platform.ts"
import type { Make, Opened } from "./Setup.ts"
import { now, test } from "./Setup.ts"

interface Receiving {
  readonly hook: Hook
  /** What becomes of a request; says nothing that is secret. */
  readonly receive: (request: HookRequest, config?: unknown) => Effect.Effect<HookResult>
}

const receiving = (opened: Opened): Receiving => {
  const receive = opened.able("receive", opened.sender.receive)
  return {
    hook: opened.beside("hook", opened.platform.hook),
    receive: (request, config = opened.config) => Effect.tap(receive(request, config), opened.discreet)
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const suite = (make: Make): void => {
  describe("a hook", () => {
    test(make, "brings the report of an accepted message, by an id that we know", (opened) =>
      Effect.gen(function* () {
        const { hook, receive } = receiving(opened)
        const message = opened.platform.situations.accepts(opened.message())
        const sent = yield* opened.send(message)
        const providerId = sent._tag === "Accepted" ? sent.providerId : null
        const result = yield* receive(hook.signed(hook.delivered(message, providerId), now))
        expect(result).toMatchObject({
          _tag: "Content",
          unread: [],
          reports: [{ status: "delivered", failure: null }]
        })
        const [report] = result._tag === "Content" ? result.reports : []
        expect(
          report?.messageId === message.messageId ||
            (report?.providerId === providerId && providerId !== null),
          "the report names the message"
        ).toBe(true)
        expect([null, message.messageId]).toContain(report?.messageId)
        expect([null, providerId]).toContain(report?.providerId)
      })
    )

    test(make, "is closed to what is not signed, is signed by another, or was altered", (opened) =>
      Effect.gen(function* () {
        const { hook, receive } = receiving(opened)
        const genuine = hook.signed(hook.delivered(opened.message(), "id-1"), now)
        expect((yield* receive(genuine))._tag).toBe("Content")
        const text = new TextDecoder().decode(genuine.body)
        expect((yield* receive({ ...genuine, headers: {} }))._tag, "not signed").toBe("Forged")
        expect((yield* receive(genuine, opened.foreign()))._tag, "signed by another").toBe("Forged")
        expect((yield* receive({ ...genuine, body: bytes(`${text} `) }))._tag, "longer").toBe("Forged")
        expect((yield* receive({ ...genuine, body: bytes(text.slice(1)) }))._tag, "shorter").toBe("Forged")
        const other = hook.signed(hook.delivered(opened.message(), "id-2"), now)
        expect((yield* receive({ ...genuine, body: other.body }))._tag, "another's body").toBe("Forged")
        const empty = Object.fromEntries(Object.keys(genuine.headers).map((name) => [name, ""]))
        expect((yield* receive({ ...genuine, headers: empty }))._tag, "empty headers").toBe("Forged")
        expect((yield* receive({ ...genuine, method: "GET", body: bytes("") }))._tag, "a GET").toBe("Forged")
      })
    )

    test(make, "parses nothing before it knows from whom it is", (opened) =>
      Effect.gen(function* () {
        const { hook, receive } = receiving(opened)
        const genuine = hook.signed("{}", now)
        for (const body of [bytes("not JSON"), new Uint8Array([0xff, 0xfe]), bytes("")]) {
          expect((yield* receive({ ...genuine, body }))._tag).toBe("Forged")
        }
      })
    )

    test(make, "is closed to what is older, or newer, than the platform repeats it", (opened) =>
      Effect.gen(function* () {
        const { hook, receive } = receiving(opened)
        const age = opened.given(hook.staleAfterMs)
        const body = hook.delivered(opened.message(), "id-1")
        const from = (...times: ReadonlyArray<number>) =>
          Effect.forEach(times, (at) =>
            Effect.map(receive({ ...hook.signed(body, Time.at(at)), now }), ({ _tag }) => _tag)
          )
        expect(yield* from(now - age + 1000, now + age - 1000)).toEqual(["Content", "Content"])
        expect(yield* from(now - age - 1000, now + age + 1000)).toEqual(["Forged", "Forged"])
      })
    )

    test(make, "lives through whatever is signed", (opened) =>
      Effect.gen(function* () {
        const { hook, receive } = receiving(opened)
        const genuine = hook.delivered(opened.message(), "id-1")
        const cut = Array.from({ length: 10 }, (_, tenth) => genuine.slice(0, (genuine.length * tenth) / 10))
        for (const body of ["not JSON", "null", "7", "[]", "{}", '{"entry":7}', ...cut]) {
          const result = yield* receive(hook.signed(body, now))
          expect(["Content", "Malformed"], body).toContain(result._tag)
          expect(result._tag === "Content" ? result.reports : [], body).toEqual([])
        }
      })
    )
  })
}
