/** One simulated installation: its tenants, what happens to it, and what was promised to whom. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Ids from "../../packages/core/src/domain/Ids.ts"
import { RandomBytes } from "../../packages/core/src/domain/Ids.ts"
import type { Provider } from "../../packages/core/src/domain/session/Session.ts"
import type { Caller } from "../../packages/core/src/engine/Operations.ts"
import type { Random } from "../support/Random.ts"
import { random } from "../support/Random.ts"
import { greeting } from "../support/Template.ts"
import type { Machine, Surroundings } from "./Machine.ts"
import * as Machines from "./Machine.ts"
import * as Platform from "./Platform.ts"
import type { Store } from "./Stores.ts"
import * as Time from "./Time.ts"
import type { View } from "./View.ts"

export interface Tenant {
  readonly accountId: string
  readonly sessionId: string
  readonly provider: Provider
  readonly caller: Caller
  readonly secretKey: string
  readonly templateId: number
  readonly quota: number
}

export interface World {
  readonly draws: Random
  readonly time: Time.Time
  /** Whether its machines have clocks that are wrong. They ask the store for its time every two seconds. */
  readonly isSkewed: boolean
  /** As it was seen last. */
  view: View
  /** Looks at the store. */
  readonly look: () => Promise<void>
  readonly close: () => Promise<void>
  readonly platform: Platform.Platform
  readonly machines: Array<Machine>
  readonly tenants: ReadonlyArray<Tenant>
  /** What was said to have been accepted, by tenant's key and Idempotency-Key. */
  readonly promised: Map<string, string>
  /** How often an operator queued a recipient again, by message id. */
  readonly retried: Map<string, number>
  /** The bodies that each receiver has seen, by event id. */
  readonly received: ReadonlyMap<string, ReadonlySet<string>>
  readonly log: Array<string>
  readonly heal: () => Promise<void>
  readonly startMachine: () => Promise<void>
}

export const phones = Array.from({ length: 12 }, (_, n) => `346000000${String(n).padStart(2, "0")}`)

export const healthy = "https://healthy.example/hook"
export const flaky = "https://flaky.example/hook"

export const template = (status: string) => ({ ...greeting, status })

/** By how much the clocks of an installation are wrong where they are: by nothing, seconds, minutes, a day. */
const skews = [0, 3000, -3000, 300_000, -300_000, 86_400_000, -86_400_000]

export const make = async (seed: number, store: Store): Promise<World> => {
  const draws = random(seed)
  const bytesOf = random(seed ^ 0x5eed)
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(bytesOf() * 256))
  const time = Time.make(1_700_000_000_000)
  const platform = Platform.make(draws, time.now)
  const scope = Effect.runSync(Scope.make())
  const { look, stores } = await Effect.runPromise(
    store.open.pipe(
      Effect.provideService(RandomBytes, bytes),
      Effect.provideService(Scope.Scope, scope),
      Effect.withClock(time.clock)
    )
  )
  let faulty = false
  const isSkewed = draws() < 0.2

  const received = new Map<string, Set<string>>()
  const post = (url: string, body: string): number => {
    const draw = faulty ? draws() : 1
    if (url === flaky && draw < 0.5) return draw < 0.2 ? 0 : 500
    const { id }: { readonly id: string } = JSON.parse(body)
    if (url === healthy) {
      const bodies = received.get(id) ?? new Set()
      bodies.add(body)
      received.set(id, bodies)
    }
    return 200
  }

  const surroundings: Omit<Surroundings, "wrongBy"> = {
    time,
    draws,
    bytes,
    stores,
    platform,
    post,
    faulty: () => faulty
  }
  const machines: Array<Machine> = []
  const startMachine = async (): Promise<void> => {
    const wrongBy = isSkewed ? (skews[Math.floor(draws() * skews.length)] ?? 0) : null
    machines.push(await Machines.start({ ...surroundings, wrongBy }))
  }
  await startMachine()
  const [first] = machines
  if (first === undefined) throw new Error("There is no machine.")

  const prepare = Effect.forEach(Platform.providers, (provider) =>
    Effect.gen(function* () {
      const { admin, identify } = first.engine
      const quota = 40 + Math.floor(draws() * 100)
      const account = yield* admin.accounts.create({
        name: provider,
        plan: { minimumWaitMs: 0, dailyTemplateRecipients: quota, requestsPerMinute: 100_000 }
      })
      const pacing = draws() < 0.3 ? { messagesPerSecond: 5 } : undefined
      // Most give up soon: a day of attempts at a platform that is down is a thousand steps for a seed.
      const retryFor = draws() < 0.2 ? null : 300
      const request = { name: provider, provider, pacing, retryFor }
      const session = yield* admin.sessions.create(account.id, request)
      yield* admin.sessions.connect(session.id)
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const {
        templates: [imported]
      } = yield* admin.templates.importAll(session.id, [template("APPROVED")])
      for (const url of [healthy, flaky]) yield* admin.webhooks.create(account.id, { url, events: ["*"] })
      yield* admin.consents.record(
        account.id,
        phones.map((phone) => ({ phone, source: "simulation" }))
      )
      const caller = yield* identify({ publicKey: key.publicKey, secretKey })
      const templateId = imported?.templateId ?? 0
      return {
        accountId: account.id,
        sessionId: session.id,
        provider,
        caller,
        secretKey,
        templateId,
        quota
      }
    })
  )
  const preparing = first.run(prepare)
  await time.pass(0)
  const prepared = await preparing
  if (Exit.isFailure(prepared)) throw new Error(`The world could not be made: ${String(prepared.cause)}`)
  faulty = true

  const accountIds = prepared.value.map(({ accountId }) => accountId)
  const world: World = {
    draws,
    time,
    isSkewed,
    view: { jobs: new Map(), claims: null, usage: new Map(), deliveries: [] },
    look: async () => {
      world.view = await Effect.runPromise(look(accountIds))
    },
    close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
    platform,
    machines,
    tenants: prepared.value,
    promised: new Map(),
    retried: new Map(),
    received,
    log: [],
    startMachine,
    heal: async () => {
      faulty = false
      platform.heal()
      for (const machine of machines) if (!machine.isAlive()) machines.splice(machines.indexOf(machine), 1)
      await startMachine()
    }
  }
  return world
}

/** A message id, for maps that go by it. */
export const messageId = (jobId: string, index: number): string => Ids.messageId(jobId, index)
