/** The store's own verb, `JobStore.accept`. Given: "sqlite" and a file, or "postgres" and a URL. */
import { Ids, Instant } from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import { JobStore } from "@sendwright/core/storage"
import { Fixtures } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { expose } from "../Child.ts"
import { during, recipients, type Writer } from "./Writer.ts"

const [store, where = ""] = process.argv.slice(2)
const owner = { accountId: "account", sessionId: "session", publicKey: "pk_bench" }

const program = Effect.gen(function* () {
  const ids = Ids.make(yield* Ids.RandomBytes)
  const { accept } = yield* JobStore.JobStore
  // One template is sent again and again; and the recipients are given, as they are to the driver alone.
  const send = Fixtures.send(owner, { phones: recipients })
  expose<Writer>({
    write: (ms, atOnce) =>
      during(ms, atOnce, () =>
        Effect.suspend(() => {
          const now = Instant.at(Date.now())
          const [jobId, key] = [ids.jobId(now), ids.uuid(now)]
          return accept({ ...send, now, jobId, idempotency: { key, fingerprint: key } })
        }).pipe(Effect.runPromise)
      )
  })
  yield* Effect.never
})

const stores =
  store === "postgres" ? Postgres.layer({ url: Redacted.make(where) }) : Sqlite.layer({ filename: where })
await Effect.runPromise(Effect.provide(program, stores))
