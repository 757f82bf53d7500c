/**
 * A backup is made in the midst of a drain, more is sent and people say STOP; then the backup takes the place of the store.
 * It sends nothing before the opt-outs are recorded again, from what the receiver of the events has, and it is opened.
 */
import { copyFileSync, rmSync } from "node:fs"
import { Ids, type Restore } from "@sendwright/core"
import Sqlite from "better-sqlite3"
import Pg from "pg"
import type * as Gateway from "./Gateway.ts"
import * as Ledger from "./Ledger.ts"
import type { Order } from "./node.ts"
import { type Node, sleep, startNode, until } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

/** Makes a backup while nobody works, and answers how it is restored: the store of then. */
type BackUp = (store: string) => Promise<() => Promise<string>>

const ofSqlite: BackUp = async (store) => {
  const file = store.replace("sqlite:", "")
  const backup = `${file}.backup`
  const db = new Sqlite(file)
  db.exec(`VACUUM INTO '${backup}'`)
  db.close()
  return async () => {
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true })
    copyFileSync(backup, file)
    return store
  }
}

/** A copy of a database has what a dump has, and is another database. */
const ofPostgres: BackUp = async (store) => {
  const url = new URL(store)
  const name = url.pathname.slice(1)
  url.pathname = `/${name}_restored`
  const restored = url.href
  url.pathname = "/postgres"
  const client = new Pg.Client(url.href)
  await client.connect()
  // The server may not have noticed yet that the processes are dead.
  await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name])
  await until(
    "The end of all connections",
    async () =>
      (await client.query("SELECT FROM pg_stat_activity WHERE datname = $1", [name])).rowCount === 0,
    10_000
  )
  await client.query(`CREATE DATABASE ${name}_restored TEMPLATE ${name}`)
  await client.end()
  return async () => restored
}

/** Runs a task to its end, and answers what it told. */
const done = async (order: Order): Promise<string> => {
  const node = startNode(order)
  const end = await node.ended
  if (end !== 0) throw new Error(`${order.task} ended with ${end}:\n${node.output()}`)
  return node.output()
}

const killAll = async (nodes: ReadonlyArray<Node>): Promise<void> => {
  for (const node of nodes) node.kill("SIGKILL")
  await Promise.all(nodes.map(({ ended }) => ended))
}

/** How long a held store is watched. */
const watchedMs = 2000

const restoredBy = async (setting: Setting, way: Restore.Way): Promise<Ledger.Account> => {
  const { jobs, nodes: count, recipients } = setting
  const total = jobs * recipients
  // What is sent again must meet a gateway that knows it: nobody else can be asked to.
  const kind: Gateway.Kind = way === "send" ? "deduplicating" : "plain"
  const scenario = await Scenario.begin(
    setting,
    kind,
    { latencyMs: [20, 100], resets: 0 },
    { messagesPerSecond: Math.max(20, total / 12) }
  )
  const { gateway, order } = scenario
  await scenario.ledger.close()
  const stops = Math.ceil(recipients / 10)
  const works = (of: Order): ReadonlyArray<Node> => Array.from({ length: count }, () => startNode(of))
  const sent = (part: number) => async () => gateway.effects.size >= part * total

  let nodes = works(order)
  await until("A third of all", sent(1 / 3), 60_000)
  await killAll(nodes)
  const restore = await (order.store.startsWith("postgres") ? ofPostgres : ofSqlite)(order.store)

  await done({ ...order, task: "stop", stops })
  const stopped = (messageId: string): boolean => (Ids.parseMessageId(messageId)?.index ?? stops) < stops
  const before = new Map([...gateway.effects].filter(([id]) => stopped(id)))
  nodes = works(order)
  await until("Two thirds of all", sent(2 / 3), 60_000)
  await killAll(nodes)

  const store = await restore()
  const restored = { ...order, store }
  const atRestore = gateway.requests()
  nodes = works(restored)
  await Promise.all(nodes.map(({ up }) => up))
  await sleep(watchedMs)
  const duringHold = gateway.requests() - atRestore
  await killAll(nodes)
  await done({ ...restored, task: "stop", stops })
  const told = await done({ ...restored, task: "open", way })

  const ledger = Ledger.open(store)
  nodes = works(restored)
  await until("The end of all jobs", async () => (await ledger.open()) === 0, 60_000)
  await Promise.all(
    nodes.map((node) => {
      node.kill("SIGTERM")
      return node.ended
    })
  )
  const rows = await ledger.recipients()
  await ledger.close()
  await gateway.close()
  const afterStop = [...gateway.effects].filter(
    ([id, effects]) => stopped(id) && effects > (before.get(id) ?? 0)
  ).length
  const counts: Restore.Counts = JSON.parse(/opened (\{.*\})/.exec(told)?.[1] ?? "{}")
  const opened = counts.unknown + counts.canceled + counts.sent
  setting.say(
    `${way}: ${gateway.effects.size} of ${total} were sent, ${opened} were open in the backup, ${duringHold} requests while it was held, ${afterStop} after STOP`
  )
  const seen = (messageId: string): boolean => gateway.effects.has(messageId)
  return {
    fault: "a backup of a drain's midst restored, each way on",
    faults: 1,
    sends: total,
    lost:
      total -
      rows.length +
      rows.filter(({ messageId, status }) => status === "accepted" && !seen(messageId)).length,
    repeated: [...gateway.effects.values()].filter((effects) => effects > 1).length,
    // A held store sends nothing, an opened one nothing after STOP, and what it opens is what was open.
    unexplained: duringHold + afterStop + (opened > 0 ? 0 : 1),
    unknown: rows.filter(({ status }) => status === "unknown").length,
    inFlight: opened,
    parked: 0
  }
}

export const midDrain = async (
  setting: Setting,
  ways: ReadonlyArray<Restore.Way> = ["unknown", "cancel", "send"]
): Promise<Ledger.Account> => {
  const accounts: Array<Ledger.Account> = []
  for (const way of ways) accounts.push(await restoredBy(setting, way))
  return Ledger.sum(accounts)
}
