/** What is broken around real hosts and asked over HTTP: a full disk, and one key from everywhere at once. */
import { execFileSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Answer } from "../support/TestHost.ts"
import { at, consent, sendBody, start, tenant } from "../support/TestHost.ts"
import * as Fleet from "./Fleet.ts"
import type { Account } from "./Ledger.ts"
import * as Ledger from "./Ledger.ts"
import { sleep, startNode, until } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

const none = { lost: 0, repeated: 0, unexplained: 0, unknown: 0, inFlight: 0, parked: 0 }

const phones = Array.from({ length: 100 }, (_, n) => `346123${String(n).padStart(5, "0")}`)

/** A small file system of its own; `undefined` where this user may not mount one. */
const mount = (folder: string, size = "4m"): boolean => {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/**
 * Sends until the disk is full, and for as long again; then space comes back. Every acknowledged send has to be there,
 * every other one has to have been told so, and it has to work again within 5 seconds.
 */
export const diskFull = async (setting: Setting): Promise<Account | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-disk-"))
  if (!mount(folder)) {
    setting.say("left out: no file system can be mounted here (it needs root)")
    return undefined
  }
  const ballast = join(folder, "ballast")
  try {
    writeFileSync(ballast, Buffer.alloc(1_500_000))
    const file = join(folder, "full.db")
    const host = await start({ DATABASE_URL: `sqlite:${file}`, ROLE: "api", LOG_LEVEL: "none" })
    const owner = await tenant(host)
    await consent(host, owner.accountId, ...phones)
    const acknowledged = new Set<string>()
    let refused = 0
    const send = async (key: string): Promise<number> => {
      const answer = await owner.send(sendBody(owner.templateId, ...phones), key)
      if (answer.status === 202) acknowledged.add(String(at(answer.json, "job_id")))
      else if (answer.status === 503 && at(answer.json, "code") === "unavailable") refused += 1
      else throw new Error(`A full disk was answered with ${answer.status}: ${answer.text}`)
      return answer.status
    }
    let sends = 0
    while (refused < 20) sends += (await send(`key-${sends}`)) > 0 ? 1 : 0
    rmSync(ballast)
    const freed = performance.now()
    while ((await send(`key-${sends}`)) !== 202) {
      if (performance.now() - freed > 5000)
        throw new Error("It did not work within 5 s of space coming back.")
    }
    setting.say(`works ${(performance.now() - freed).toFixed(0)} ms after space came back`)
    await host.stop()
    const again = await start({ DATABASE_URL: `sqlite:${file}`, ROLE: "api", LOG_LEVEL: "none" })
    let lost = 0
    for (const jobId of acknowledged) {
      if ((await again.admin(`/jobs/${jobId}`)).status !== 200) lost += 1
    }
    const ledger = Ledger.open(`sqlite:${file}`)
    const jobs = await ledger.jobs()
    await ledger.close()
    await again.stop()
    return {
      ...none,
      fault: "a full disk while accepting",
      faults: refused,
      sends: acknowledged.size,
      lost,
      repeated: jobs - acknowledged.size
    }
  } finally {
    execFileSync("umount", [folder], { stdio: "ignore" })
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Fills what is left of a file system, to the last page. */
const fill = (file: string): void => {
  const descriptor = openSync(file, "w")
  try {
    for (let bytes = 65_536; bytes >= 4096; ) {
      try {
        writeSync(descriptor, Buffer.alloc(bytes))
      } catch {
        bytes /= 2
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The disk is full for some seconds while a process sends, and again. What was on its way then may be unknown; nothing is
 * sent twice, and all goes on with space.
 */
export const diskFullSending = async (setting: Setting, count: number): Promise<Account | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-disk-"))
  if (!mount(folder, "64m")) {
    setting.say("left out: no file system can be mounted here (it needs root)")
    return undefined
  }
  const ballast = join(folder, "ballast")
  try {
    const { account, drain, gateway, ledger, order } = await Scenario.begin(
      { ...setting, freshStore: async () => `sqlite:${join(folder, "sending.db")}` },
      "plain",
      { latencyMs: [20, 100], resets: 0 },
      { messagesPerSecond: Math.max(20, (setting.jobs * setting.recipients) / 12) }
    )
    const node = startNode(order)
    const inFlight = new Set<string>()
    for (let fault = 1; fault <= count; fault++) {
      const wanted = (fault * setting.jobs * setting.recipients) / (count + 1)
      await until("The next part of all", async () => gateway.effects.size >= wanted, 60_000)
      fill(ballast)
      await sleep(3000)
      for (const row of await ledger.inFlight()) inFlight.add(row)
      const before = gateway.requests()
      await sleep(2000)
      setting.say(
        `full for 5 s: ${gateway.requests() - before} requests in the last 2, ${await ledger.open()} recipients open`
      )
      rmSync(ballast)
    }
    await drain([node], 120_000)
    const lines = node
      .output()
      .split("\n")
      .filter((line) => line.includes("disk is full")).length
    setting.say(`${lines} lines of the log name the disk`)
    return await account({ fault: "a full disk while sending", faults: count, inFlight })
  } finally {
    execFileSync("umount", [folder], { stdio: "ignore" })
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One Idempotency-Key, so many requests at once over four hosts that share a database: one job. */
export const twins = async (setting: Setting, count: number): Promise<Account> => {
  const store = await setting.freshStore()
  const fleet = await Fleet.start(store, 4, setting.random)
  const owner = await tenant(fleet.first)
  await consent(fleet.first, owner.accountId, ...phones)
  const body = sendBody(owner.templateId, ...phones)
  const answers = new Map<string, number>()
  let refusals = 0
  const ask = async (): Promise<void> => {
    const host = fleet.any()
    // With so many at once some sockets are reset, and some are told to come again: their key lets them.
    const again = async (left: number): Promise<Answer> => {
      const answer = await host
        .request("/api/v1/template-messages/send", {
          headers: { ...owner.credentials, "idempotency-key": "twins" },
          body
        })
        .catch((error: unknown) => {
          if (left === 0) throw error
          return undefined
        })
      if (answer !== undefined && (answer.status !== 503 || left === 0)) return answer
      refusals += answer === undefined ? 0 : 1
      await sleep(1000 * setting.random())
      return again(left - 1)
    }
    const answer = await again(60)
    const told = answer.status === 202 ? String(at(answer.json, "job_id")) : `${answer.status}`
    answers.set(told, (answers.get(told) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: count }, ask))
  const ledger = Ledger.open(store)
  const jobs = await ledger.jobs()
  await ledger.close()
  await fleet.stop()
  const [[told, times] = ["", 0]] = [...answers].sort(([, a], [, b]) => b - a)
  setting.say(
    `${times} of ${count} answered ${told}; ${answers.size} different answers; ${jobs} job(s); ${refusals} refusals`
  )
  return {
    ...none,
    fault: "one key from everywhere at once, 4 hosts",
    faults: count,
    sends: jobs,
    lost: count - times,
    repeated: jobs - 1
  }
}
