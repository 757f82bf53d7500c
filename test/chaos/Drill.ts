/**
 * The restore drill of docs/backup.md, by its own commands and a real host: a backup beside the host that sends, more sends,
 * the database is lost, the backup takes its place, and the operator opens it.
 */
import { execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import Pg from "pg"
import { mortal } from "../support/mortal.ts"
import type { PostgresServer } from "../support/PostgresServer.ts"
import type { Tenant } from "../support/TestHost.ts"
import * as TestHost from "../support/TestHost.ts"
import { at, consent, sendBody, tenant } from "../support/TestHost.ts"
import * as Gateway from "./Gateway.ts"
import * as Ledger from "./Ledger.ts"
import { sleep, until } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"

const main = fileURLToPath(new URL("../../packages/host/dist/cli/main.js", import.meta.url))

type Environment = Readonly<Record<string, string>>

/** What the command answers; where it fails, what it says is thrown. */
const sendwright = async (environment: Environment, ...args: ReadonlyArray<string>): Promise<unknown> => {
  const child = mortal(
    spawn(process.execPath, [main, ...args], { env: { PATH: process.env["PATH"] ?? "", ...environment } })
  )
  child.stdin.end()
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  if (child.exitCode !== 0)
    throw new Error(`sendwright ${args.join(" ")} ended with ${child.exitCode}: ${err}`)
  return JSON.parse(out)
}

/** How a database is backed up beside its host, and brought back after it was lost. */
export interface Place {
  readonly environment: Environment
  readonly backUp: () => Promise<void>
  /** With nobody on it. */
  readonly lose: () => Promise<void>
  readonly restore: () => Promise<void>
}

export const ofSqlite = (store: string): Place => {
  const file = store.replace("sqlite:", "")
  const environment = { DATABASE_URL: store }
  return {
    environment,
    backUp: async () => {
      await sendwright(environment, "backup", `${file}.backup`)
    },
    lose: async () => {
      for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true })
    },
    restore: async () => copyFileSync(`${file}.backup`, file)
  }
}

/**
 * A base backup of the whole server, as `pg_basebackup` makes it: its files are copied while it works, with the log that came
 * meanwhile. It comes back as the same server at an earlier time, which nobody can tell by itself.
 */
export const ofPostgres = (store: string, { folder, kill, start }: PostgresServer): Place => {
  const environment = { DATABASE_URL: store, SECRET_KEY: Buffer.alloc(32, 7).toString("base64") }
  const backup = `${folder}-backup`
  const copied = (part: string): void => {
    execFileSync("cp", ["-a", join(folder, part), backup])
  }
  return {
    environment,
    backUp: async () => {
      const client = new Pg.Client(store)
      await client.connect()
      await client.query("SELECT pg_backup_start('drill', true)")
      mkdirSync(backup, { mode: 0o700 })
      for (const part of readdirSync(folder)) if (part !== "postmaster.pid" && part !== "pg_wal") copied(part)
      const { rows } = await client.query<{ readonly label: string }>(
        "SELECT labelfile AS label FROM pg_backup_stop(false)"
      )
      copied("pg_wal")
      writeFileSync(join(backup, "backup_label"), rows[0]?.label ?? "")
      execFileSync("chown", ["--reference", folder, backup, join(backup, "backup_label")])
      await client.end()
    },
    lose: async () => {
      await kill()
      for (const part of readdirSync(folder)) rmSync(join(folder, part), { recursive: true })
    },
    restore: async () => {
      for (const part of readdirSync(backup)) renameSync(join(backup, part), join(folder, part))
      rmSync(backup, { recursive: true })
      await start()
      // It cannot be recognized (docs/backup.md, Restoring a backup).
      await sendwright(environment, "restore", "--hold", "true")
    }
  }
}

const phones = Array.from({ length: 50 }, (_, n) => `346125${String(n).padStart(5, "0")}`)

/** How long a held host is watched. */
const watchedMs = 2000

const startHost = (environment: Environment): Promise<TestHost.TestHost> =>
  TestHost.start({ LOG_LEVEL: "none", SENDER_ALLOWED_NETWORKS: "127.0.0.0/8", ...environment })

const killed = async (host: TestHost.TestHost): Promise<void> => {
  host.signal("SIGKILL")
  await host.ended
}

/** Accepts so many jobs, and answers their ids. */
const accept = async (owner: Tenant, count: number): Promise<ReadonlySet<string>> => {
  const ids = new Set<string>()
  for (let n = 0; n < count; n++) {
    const { json, status, text } = await owner.send(sendBody(owner.templateId, ...phones), randomUUID())
    if (status !== 202) throw new Error(`A send was answered with ${status}: ${text}`)
    ids.add(String(at(json, "job_id")))
  }
  return ids
}

/** The tenant's calls at another host of the same database. */
const atHost = (owner: Tenant, host: TestHost.TestHost): Tenant => ({
  ...owner,
  send: (body, key) =>
    host.request("/api/v1/template-messages/send", {
      headers: { ...owner.credentials, "idempotency-key": String(key) },
      body
    })
})

export const drill = async (setting: Setting, placeOf: (store: string) => Place): Promise<Ledger.Account> => {
  const store = await setting.freshStore()
  const place = placeOf(store)
  const gateway = await Gateway.start("plain", setting.random, { latencyMs: [20, 100], resets: 0 })
  const total = setting.jobs * phones.length
  const sent = (part: number) => async () => gateway.effects.size >= part * total

  let host = await startHost(place.environment)
  const owner = await tenant(host, {
    plan: { daily_template_recipients: null },
    session: {
      provider: "http",
      config: { url: gateway.url, secret: "a-secret-of-a-gateway" },
      pacing: { messages_per_second: Math.max(20, total / 12) }
    }
  })
  await host.admin(`/sessions/${owner.sessionId}/connect`, {})
  await consent(host, owner.accountId, ...phones)
  const before = await accept(owner, setting.jobs)

  await until("A third of all", sent(1 / 3), 60_000)
  await place.backUp()
  const after = await accept(owner, 2)
  await until("Two thirds of all", sent(2 / 3), 60_000)
  await killed(host)
  await place.lose()
  await place.restore()

  const atRestore = gateway.requests()
  const known = new Map(gateway.effects)
  host = await startHost(place.environment)
  const readiness = await host.request("/health/ready")
  const isToldHeld = readiness.status === 200 && readiness.text.includes("sendwright restore --open")
  const whileHeld = await accept(atHost(owner, host), 1)
  await sleep(watchedMs)
  const duringHold = gateway.requests() - atRestore
  const operator = { SENDWRIGHT_URL: host.base, SENDWRIGHT_TOKEN: host.adminToken }
  await sendwright(operator, "restore", "--open", "unknown", "--dry-run", "true")
  const opened = Number(
    at(await sendwright(operator, "restore", "--open", "unknown"), "restore", "counts", "unknown")
  )

  const ledger = Ledger.open(store)
  await until("The end of all jobs", async () => (await ledger.open()) === 0, 60_000)
  await host.stop()
  const rows = await ledger.recipients()
  await ledger.close()
  await gateway.close()
  const kept = new Set([...before, ...whileHeld])
  const missing = kept.size * phones.length - rows.filter(({ job }) => kept.has(job)).length
  const seen = (messageId: string): boolean => gateway.effects.has(messageId)
  const unknown = rows.filter(({ status }) => status === "unknown").length
  setting.say(
    `${known.size} of ${total + after.size * phones.length} were sent when it was lost, ${opened} were open in the backup, ${duringHold} requests while it was held`
  )
  return {
    fault: "the restore drill of docs/backup.md",
    faults: 1,
    sends: rows.length,
    lost: missing + rows.filter(({ messageId, status }) => status === "accepted" && !seen(messageId)).length,
    repeated: [...gateway.effects.values()].filter((effects) => effects > 1).length,
    // It sends nothing while it is held, says so, and opens what was open.
    unexplained:
      duringHold +
      (isToldHeld ? 0 : 1) +
      (opened > 0 ? 0 : 1) +
      rows.filter(({ job, status }) => whileHeld.has(job) && status !== "accepted").length,
    unknown,
    inFlight: opened,
    parked: 0
  }
}
