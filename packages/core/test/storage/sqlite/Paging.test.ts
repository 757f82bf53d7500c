/** A page costs what it may, however much was ever accepted. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Page from "../../../src/domain/Page.ts"
import { JobStore } from "../../../src/storage/JobStore.ts"
import * as Sqlite from "../../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { owner } from "../../StorageSuite/Setup.ts"

it.effect(
  "a filter that few jobs pass looks on behind those that it looks at at once, until it has found one",
  () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const who = yield* owner
      let made = 0
      const accept = () => {
        made += 1
        const command = Fixtures.send(who, {
          key: null,
          jobId: `01900000-0000-7000-8000-${String(made).padStart(12, "0")}`
        })
        return Effect.as(jobs.accept(command), command)
      }
      const first = yield* accept()
      for (let n = 0; n < Page.mostLookedAt; n++) yield* accept()
      const list = (after: number | null, status: "queued" | "canceled" | undefined) =>
        jobs.list({
          by: { publicKey: who.publicKey },
          kind: "template",
          status,
          page: { limit: 2, after }
        })
      yield* jobs.cancel({ jobId: first.jobId, now: first.now })
      const found = yield* list(null, "canceled")
      expect([found.items.map(({ id }) => id), found.next]).toEqual([[first.jobId], null])
      // Who finds enough stops there.
      expect((yield* list(null, "queued")).items).toHaveLength(2)
      expect((yield* list(null, undefined)).items).toHaveLength(2)
    }).pipe(Effect.provide(Sqlite.layer({ filename: ":memory:" })))
)
