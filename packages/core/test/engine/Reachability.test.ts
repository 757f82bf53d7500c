/** What an operator is told of a session's platform, without a message. */

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../src/domain/Instant.ts"
import * as Reachability from "../../src/engine/Reachability.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { place } from "../../src/sender/SessionSender.ts"

const failure = (code: string, permanent: boolean) => ({
  code,
  provider_code: null,
  message: "Because.",
  permanent
})

const platform = (some: Partial<Sender.Sender>): Sender.Sender => ({
  provider: "pigeon",
  deduplicates: false,
  configure: () => assert.fail("A configuration is read, not made."),
  send: () => Effect.dieMessage("A message was sent."),
  ...some
})

const found = (some: Partial<Sender.Sender>, unavailableSince: Time.Instant | null = null) =>
  Effect.gen(function* () {
    const box = yield* SecretBox.SecretBox
    const config = box.seal(place("one"), JSON.stringify({ loft: "north" }))
    return yield* Reachability.session({ id: "one", provider: "pigeon", config, unavailableSince })
  }).pipe(
    Effect.provide(Layer.merge(Sender.layer(platform(some)), SecretBox.layerRandom)),
    Effect.map(({ mend, verdict }) => ({ mend: mend ?? "", verdict }))
  )

describe("a session's platform", () => {
  it.effect("is asked with the session's configuration, or else connected to, and gets no message", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const answer = (config: unknown) => {
        asked.push(config)
        return Effect.succeed(null)
      }
      for (const some of [{ check: answer }, { reach: answer }, { check: answer, reach: answer }, {}])
        assert.strictEqual((yield* found(some)).verdict, "ok")
      assert.deepStrictEqual(asked, [{ loft: "north" }, { loft: "north" }, { loft: "north" }])
    })
  )

  it.effect("that refuses is to be put right there, one that does not answer is to be looked for", () =>
    Effect.gen(function* () {
      const refused = yield* found({ check: () => Effect.succeed(failure("anything", true)) })
      assert.strictEqual(refused.verdict, "failing")
      assert.include(refused.mend, "Correct it at the platform")
      const silent = yield* found({ check: () => Effect.succeed(failure("provider_unreachable", false)) })
      assert.strictEqual(silent.verdict, "failing")
      assert.include(silent.mend, "may reach it")
      const unreached = yield* found({ reach: () => Effect.succeed(failure("provider_unreachable", false)) })
      assert.strictEqual(unreached.verdict, "failing")
    })
  )

  it.effect("that answers while it is taken for out is doubtful", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* found({ check: () => Effect.succeed(null) }, Time.at(1000))).verdict,
        "warning"
      )
    })
  )

  it("of which only the newest were looked at says so", () => {
    assert.deepStrictEqual(Reachability.unseen("sessions", { first: [1, 2], all: 2 }), [])
    assert.include(Reachability.unseen("sessions", { first: [1, 2], all: 5 })[0]?.says ?? "", "3 older ones")
  })
})
