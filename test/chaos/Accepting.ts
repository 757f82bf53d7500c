/**
 * Hosts are killed, and their database restarted, while clients send over HTTP and send again until they are answered.
 * Every acknowledged send is there, whole and once, and its key answers the same job for ever.
 */
import type { PostgresServer } from "../support/PostgresServer.ts"
import { at, consent, sendBody, tenant } from "../support/TestHost.ts"
import * as Fleet from "./Fleet.ts"
import type { Account } from "./Ledger.ts"
import * as Ledger from "./Ledger.ts"
import { sleep } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"

const clients = 8
const phones = Array.from({ length: 20 }, (_, n) => `346124${String(n).padStart(5, "0")}`)

/** What is broken, and how often, while so many hosts accept. */
interface Breaking {
  readonly fault: string
  readonly faults: number
  readonly count: number
  readonly once: (fleet: Fleet.Fleet) => Promise<void>
}

const accepting = async (setting: Setting, breaking: Breaking): Promise<Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  const fleet = await Fleet.start(store, breaking.count, random)
  const owner = await tenant(fleet.first, { plan: { daily_template_recipients: null } })
  await consent(fleet.first, owner.accountId, ...phones)
  const body = sendBody(owner.templateId, ...phones)

  /** What each key was answered, over all of its requests. */
  const answers = new Map<string, Set<string>>()
  let unavailable = 0
  let longestMs = 0
  const send = async (key: string): Promise<void> => {
    const began = performance.now()
    for (;;) {
      const headers = { ...owner.credentials, "idempotency-key": key }
      // A host that is not there, or dies under the request, answers nothing.
      const answer = await fleet
        .any()
        .request("/api/v1/template-messages/send", { headers, body })
        .catch(() => undefined)
      if (answer?.status === 202) {
        answers.get(key)?.add(String(at(answer.json, "job_id")))
        longestMs = Math.max(longestMs, performance.now() - began)
        return
      }
      if (answer !== undefined && answer.status !== 503) {
        throw new Error(`A send was answered with ${answer.status}: ${answer.text}`)
      }
      unavailable += 1
      if (performance.now() - began > 60_000) throw new Error(`${key} was not accepted within a minute.`)
      await sleep(50 * random())
    }
  }
  let over = false
  const client = async (): Promise<void> => {
    while (!over) {
      const key = `key-${answers.size}`
      answers.set(key, new Set())
      await send(key)
      if (random() < 0.3) await send(`key-${Math.floor(random() * answers.size)}`)
      await sleep(20 * random())
    }
  }
  const running = Promise.all(Array.from({ length: clients }, client))
  const broken = (async () => {
    for (let fault = 0; fault < breaking.faults; fault++) await breaking.once(fleet)
    over = true
  })()
  try {
    await Promise.all([running, broken])
    // Once more, when all is quiet: every key still answers its job.
    for (const key of answers.keys()) await send(key)
  } finally {
    over = true
    await Promise.allSettled([running, broken])
    await fleet.stop()
  }

  const ledger = Ledger.open(store)
  const sizes = new Map<string, number>()
  for (const { job } of await ledger.recipients()) sizes.set(job, (sizes.get(job) ?? 0) + 1)
  const jobs = await ledger.jobs()
  await ledger.close()
  const told = [...answers.values()].flatMap((each) => [...each])
  setting.say(
    `${answers.size} keys, ${unavailable} refusals, the longest wait for an answer ${longestMs.toFixed(0)} ms`
  )
  return {
    fault: breaking.fault,
    faults: breaking.faults,
    sends: answers.size,
    lost: told.filter((job) => sizes.get(job) !== phones.length).length,
    repeated: Math.abs(jobs - answers.size) + (told.length - answers.size),
    unexplained: 0,
    unknown: 0,
    inFlight: 0,
    parked: 0
  }
}

/** SIGKILL of one host after the other. */
export const killed = (setting: Setting, kills: number): Promise<Account> =>
  accepting(setting, {
    fault: "kill -9 of hosts that accept",
    faults: kills,
    count: setting.nodes,
    once: async (fleet) => {
      await sleep(800 * setting.random())
      await fleet.kill()
    }
  })

/** PostgreSQL killed without a checkpoint and started again. */
export const restarted = (setting: Setting, server: PostgresServer, restarts: number): Promise<Account> =>
  accepting(setting, {
    fault: "PostgreSQL restarted while hosts accept",
    faults: restarts,
    count: 2,
    once: async () => {
      await sleep(2000 + 3000 * setting.random())
      await server.kill()
      await sleep(1500 * setting.random())
      await server.start()
    }
  })
