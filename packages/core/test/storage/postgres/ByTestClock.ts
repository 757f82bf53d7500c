/** A fresh PostgreSQL store that does not tell its time: the engine over it goes by the test's clock. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { emptyDatabase } from "../../../../../test/support/Postgres.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import { StoreTime } from "../../../src/storage/StoreTime.ts"

export const over = (url: string) =>
  Postgres.layer({ url: Redacted.make(url) }).pipe(Layer.map(Context.add(StoreTime, null)))

export const layer = Layer.unwrapScoped(Effect.map(emptyDatabase, over))
