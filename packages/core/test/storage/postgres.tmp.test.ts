import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as StorageSuite from "../../src/testing/StorageSuite/index.ts"

let n = 0
const fresh = Layer.unwrapScoped(
  Effect.gen(function* () {
    const name = `t_${process.pid}_${++n}`
    const admin = new Pg.Client("postgres://postgres:password@127.0.0.1:55999/postgres")
    yield* Effect.promise(() => admin.connect())
    yield* Effect.promise(() => admin.query(`CREATE DATABASE ${name}`))
    yield* Effect.addFinalizer(() =>
      Effect.promise(async () => {
        await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
        await admin.end()
      })
    )
    return Postgres.layer({ url: Redacted.make(`postgres://postgres:password@127.0.0.1:55999/${name}`) })
  })
)
StorageSuite.suite("postgres", fresh)
