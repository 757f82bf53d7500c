/** Runs one seed: days of random life of an installation, faults and crashes included, then peace, then the sum. */

import { createHash } from "node:crypto"
import { Instant } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Invariants from "./Invariants.ts"
import type { Machine } from "./Machine.ts"
import { odd, providers } from "./Platform.ts"
import type { Store } from "./Stores.ts"
import * as Stores from "./Stores.ts"
import type { World } from "./World.ts"
import * as Worlds from "./World.ts"

const minute = 60_000
const hour = 60 * minute

export interface Result {
  readonly steps: number
  readonly simulatedMs: number
  readonly jobs: number
  readonly messages: number
  readonly crashes: number
  /** Of all that happened: the same for the same seed. */
  readonly digest: string
}

const pick = <A>(world: World, items: ReadonlyArray<A>): A => {
  const item = items[Math.floor(world.draws() * items.length)]
  if (item === undefined) throw new Error("There is nothing to pick from.")
  return item
}

const some = (world: World): ReadonlyArray<string> => {
  const count = 1 + Math.floor(world.draws() * 5)
  const start = Math.floor(world.draws() * Worlds.phones.length)
  return Array.from({ length: count }, (_, n) => Worlds.phones[(start + n) % Worlds.phones.length] ?? "")
}

/** Nobody has written to this one before the calm, or of this one. */
const newcomer = "34600000099"

/** What people write, and now and then what nobody should. */
const textOf = (world: World, text: string): string => (world.draws() < 0.05 ? pick(world, odd) : text)

/** Work goes on in the background; what it answers is written down when it comes. */
const begin = <A, E>(
  world: World,
  machine: Machine,
  what: string,
  effect: Effect.Effect<A, E>,
  done: (value: A) => void = () => {}
): void => {
  world.log.push(what)
  void machine.run(effect).then((exit) => {
    if (Exit.isSuccess(exit)) done(exit.value)
  })
}

type Action = (world: World, machine: Machine) => void

const send: Action = (world, machine) => {
  const tenant = pick(world, world.tenants)
  const key = `key-${Math.floor(world.draws() * 40)}`
  const recipients = some(world).map((phone) => ({ phone, variables: { "body.1": textOf(world, key) } }))
  const request = { templateId: tenant.templateId, recipients }
  const name = `${tenant.caller.key.publicKey} ${key}`
  begin(
    world,
    machine,
    `send ${tenant.provider} ${key} to ${recipients.length}`,
    machine.engine.send(tenant.caller, { idempotencyKey: key, request }),
    ({ jobId }) => {
      const before = world.promised.get(name)
      if (before !== undefined && before !== jobId) throw new Error(`${name} became two jobs`)
      world.promised.set(name, jobId)
    }
  )
}

const direct: Action = (world, machine) => {
  const tenant = pick(world, world.tenants)
  const to = pick(world, Worlds.phones)
  const key = world.draws() < 0.5 ? `direct-${Math.floor(world.draws() * 20)}` : undefined
  const command = { idempotencyKey: key, request: { to, message: textOf(world, "Hello") } }
  begin(
    world,
    machine,
    `direct ${tenant.provider} to ${to}`,
    machine.engine.sendDirect(tenant.caller, command)
  )
}

const consent: Action = (world, machine) => {
  const { accountId } = pick(world, world.tenants)
  const phone = pick(world, Worlds.phones)
  const status = world.draws() < 0.4 ? ("revoked" as const) : ("granted" as const)
  const record = machine.engine.admin.consents.record(accountId, [{ phone, status, source: "simulation" }])
  begin(world, machine, `consent ${phone} ${status}`, record)
}

const anyJob = (world: World): string | undefined => {
  const ids = [...world.view.jobs.keys()]
  return ids.length === 0 ? undefined : pick(world, ids)
}

const cancel: Action = (world, machine) => {
  const job = anyJob(world)
  if (job !== undefined) begin(world, machine, `cancel ${job}`, machine.engine.admin.jobs.cancel(job))
}

/** Counted before it is asked for: the commit may be made though its answer is lost. */
const retry: Action = (world, machine) => {
  const job = anyJob(world)
  if (job === undefined) return
  const { recipients = [] } = world.view.jobs.get(job) ?? {}
  for (const { index } of recipients) {
    const id = Worlds.messageId(job, index)
    world.retried.set(id, (world.retried.get(id) ?? 0) + 1)
  }
  const selection = world.draws() < 0.5 ? {} : ({ statuses: ["failed", "unknown"] } as const)
  begin(world, machine, `retry ${job}`, machine.engine.admin.jobs.retry(job, selection))
}

const connection: Action = (world, machine) => {
  const { sessionId } = pick(world, world.tenants)
  const { connect, disconnect } = machine.engine.admin.sessions
  const gone = world.draws() < 0.4
  begin(world, machine, gone ? "disconnect" : "connect", gone ? disconnect(sessionId) : connect(sessionId))
}

const template: Action = (world, machine) => {
  const { sessionId } = pick(world, world.tenants)
  const status = world.draws() < 0.4 ? "PAUSED" : "APPROVED"
  const imported = machine.engine.admin.templates.importAll(sessionId, [Worlds.template(status)])
  begin(world, machine, `template ${status}`, imported)
}

/** Receipts of what the platform has: late, repeated, out of order, before our own commit. */
const receipts: Action = (world, machine) => {
  const known = [...world.platform.effects.keys()]
  if (known.length === 0) return
  const reports = Array.from({ length: 1 + Math.floor(world.draws() * 6) }, () => {
    const status = pick(world, ["sent", "delivered", "read", "failed", "accepted"] as const)
    const failure =
      status === "failed"
        ? {
            code: "undeliverable",
            provider_code: null,
            message: textOf(world, "It was not delivered."),
            permanent: true
          }
        : null
    return {
      messageId: pick(world, known),
      status,
      at: Instant.at(world.time.now()),
      failure,
      providerId: null
    }
  })
  begin(world, machine, `receipts ${reports.length}`, machine.engine.receive(reports))
}

const work: Action = (world, machine) => {
  begin(world, machine, "work", machine.engine.drain)
}

const outage: Action = (world) => {
  const provider = pick(world, providers)
  const ms = Math.floor(world.draws() * 30 * minute)
  const hangs = world.draws() < 0.5
  world.log.push(`${provider} ${hangs ? "hangs" : "is down"} for ${ms}`)
  world.platform.goDown(provider, ms, hangs)
}

const crash: Action = (world, machine) => {
  world.log.push("crash")
  machine.crash()
}

const freeze: Action = (world, machine) => {
  const ms = Math.floor(world.draws() * minute)
  world.log.push(`freeze ${ms}`)
  machine.freeze(ms)
}

const jump: Action = (world) => {
  const ms = Math.floor((world.draws() - 0.3) * 20 * minute)
  world.log.push(`the clocks jump by ${ms}`)
  world.time.jump(ms)
}

const actions: ReadonlyArray<readonly [weight: number, action: Action]> = [
  [14, send],
  [4, direct],
  [4, consent],
  [2, cancel],
  [2, retry],
  [3, connection],
  [2, template],
  [8, receipts],
  [30, work],
  [2, crash],
  [2, freeze],
  [2, outage],
  [1, jump]
]

const deck = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))

/** Three machines, those that died replaced. */
const keepUp = async (world: World): Promise<number> => {
  const dead = world.machines.filter((machine) => !machine.isAlive())
  for (const machine of dead) world.machines.splice(world.machines.indexOf(machine), 1)
  while (world.machines.length < 3) await world.startMachine()
  return dead.length
}

const span = (world: World): number => {
  const draw = world.draws()
  if (world.isSkewed) return draw * 20_000
  return draw < 0.6 ? draw * 1000 : draw < 0.85 ? draw * 20_000 : draw * 2 * hour
}

export const run = async (seed: number, store: Store = Stores.memory, steps = 120): Promise<Result> => {
  const world = await Worlds.make(seed, store)
  const invariants = Invariants.make()
  const began = world.time.now()
  let crashes = 0
  const told = (error: unknown, step: number): Error =>
    new Error(
      `Seed ${seed}, step ${step}: ${error instanceof Error ? error.message : String(error)}\nReplay it by: npm run simulate -- --seed ${seed}\n${world.log.slice(-15).join("\n")}`,
      { cause: error }
    )
  for (let step = 0; step < steps; step++) {
    try {
      crashes += await keepUp(world)
      const machine = pick(world, world.machines)
      pick(world, deck)(world, machine)
      await world.time.pass(span(world))
      if ((step + 1) % store.lookEvery > 0) continue
      await world.look()
      invariants.afterStep(world)
    } catch (error) {
      throw told(error, step)
    }
  }
  // Peace: whoever is alive works on until nothing is left.
  try {
    await world.heal()
    // What was begun ends first: an operator's last word may be on its way over a machine that is frozen.
    for (const machine of world.machines) machine.freeze(0)
    await world.time.pass(minute)
    const [last = world.machines[0]] = world.machines.slice(-1)
    if (last === undefined) throw new Error("Nobody is left.")
    const { admin, drain } = last.engine
    // Whatever a life was like, each session sends once more, unless the quota of its day is used up.
    const calm = Effect.forEach(world.tenants, ({ accountId, caller, sessionId, templateId }) =>
      Effect.gen(function* () {
        yield* admin.sessions.connect(sessionId)
        yield* admin.templates.importAll(sessionId, [Worlds.template("APPROVED")])
        yield* admin.consents.record(accountId, [{ phone: newcomer, source: "simulation" }])
        const recipients = [{ phone: newcomer, variables: { "body.1": "calm" } }]
        const request = { templateId, recipients }
        yield* Effect.ignore(last.engine.send(caller, { idempotencyKey: "calm", request }))
      })
    )
    begin(world, last, "calm", calm)
    await world.time.pass(minute)
    await world.look()
    for (let quarter = 0; quarter < 4 * 14 && !isQuiet(world); quarter++) {
      begin(world, last, "work", drain)
      await world.time.pass(quarter < 8 ? minute : 15 * minute)
      for (const machine of world.machines) machine.freeze(0)
      await world.look()
    }
    invariants.inTheEnd(world)
  } catch (error) {
    throw told(error, steps)
  }
  const summary = [...world.view.jobs.values()].map(({ job, recipients }) => [
    job.id,
    job.status,
    recipients.map(({ attempts, sequence, status }) => [status, attempts, sequence])
  ])
  await world.close()
  const digest = createHash("sha256")
    .update(JSON.stringify([world.log, summary]))
    .digest("hex")
  return {
    steps,
    simulatedMs: world.time.now() - began,
    jobs: world.view.jobs.size,
    messages: world.platform.effects.size,
    crashes,
    digest
  }
}

const isQuiet = ({ view }: World): boolean =>
  [...view.jobs.values()].every(({ job }) => job.completedAt !== null) &&
  view.deliveries.every(({ status }) => status !== "pending")
