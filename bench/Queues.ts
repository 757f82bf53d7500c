/** The queues that drains and latencies are measured of. */
import { join } from "node:path"
import type { Bench, Database } from "./Bench.ts"
import { type Child, start } from "./Child.ts"
import type { Embedded, OwnQueue, Queue } from "./subjects/Queue.ts"

export const ours = { sqlite: "sendwright, SQLite", postgres: "sendwright, PostgreSQL" } as const
export type Store = keyof typeof ours

export const bullmq = { everysec: "BullMQ, synced every second", always: "BullMQ, synced always" } as const
export const graphile = "graphile-worker, batched"
export const graphilePlain = "graphile-worker"
export const pgBoss = "pg-boss, batched by hand"
export const plainjob = "plainjob, synced always"

export const noRedis = "There is no redis-server here, so BullMQ is not measured."

const scriptOf = (name: string): URL => new URL(`./subjects/${name}-queue.js`, import.meta.url)

/** A queue, and the PostgreSQL database that it is kept in, if it is. */
export interface Measured<Q extends Queue> {
  readonly queue: Child<Q>
  readonly database: Database | null
}

const inDatabase = async (name: string, database: Database): Promise<Measured<Queue>> => ({
  queue: await start<Queue>(scriptOf(name), [database.url]),
  database
})

const elsewhere = async (name: string, where: string): Promise<Measured<Queue>> => ({
  queue: await start<Queue>(scriptOf(name), [where]),
  database: null
})

export const sendwright = async (bench: Bench, store: Store): Promise<Measured<OwnQueue>> => {
  const database = store === "postgres" ? await bench.database() : null
  const where = database?.url ?? join(bench.folder("queue"), "queue.db")
  return { queue: await start<OwnQueue>(scriptOf("sendwright"), [store, where]), database }
}

type Named = ReadonlyArray<readonly [string, Measured<Queue>]>

/** By how it syncs; none where there is no Redis. A quick run has the peers that targets name, and no others. */
export const bullmqs = async (bench: Bench): Promise<Named> => {
  const queues: Array<readonly [string, Measured<Queue>]> = []
  for (const sync of bench.either(["everysec"] as const, ["everysec", "always"] as const)) {
    const port = await bench.redis(sync)
    if (port !== undefined) queues.push([bullmq[sync], await elsewhere("bullmq", String(port))])
  }
  return queues
}

export const graphileWorker = async (bench: Bench): Promise<Named> => [
  [graphile, await inDatabase("graphile", await bench.database())]
]

/** Those that take work in transactions of an app's, each in a database of its own. */
export const embedded = async (bench: Bench): Promise<ReadonlyArray<readonly [string, Child<Embedded>]>> => {
  const begin = async (name: string, ...given: ReadonlyArray<string>) =>
    start<Embedded>(scriptOf(name), given)
  return [
    [ours.postgres, await begin("sendwright", "postgres", (await bench.database()).url)],
    [graphilePlain, await begin("graphile", (await bench.database()).url, "plain")],
    [graphile, await begin("graphile", (await bench.database()).url)]
  ]
}

/** Those that no target names. */
export const others = async (bench: Bench): Promise<Named> =>
  bench.quick
    ? []
    : [
        [pgBoss, await inDatabase("pgboss", await bench.database())],
        [plainjob, await elsewhere("plainjob", join(bench.folder("plainjob"), "queue.db"))]
      ]
