/** How the scenarios of nodes that send begin and end: jobs in a store of their own, a gateway, and the account of both. */
import type { Random } from "../support/Random.ts"
import * as Gateway from "./Gateway.ts"
import * as Ledger from "./Ledger.ts"
import type { Order } from "./node.ts"
import { fill, type Node, until } from "./Processes.ts"

export interface Setting {
  /** Makes an empty store, as {@link Order.store}. */
  readonly freshStore: () => Promise<string>
  readonly random: Random
  /** Processes at once: one on SQLite. */
  readonly nodes: number
  readonly kills: number
  readonly jobs: number
  readonly recipients: number
  /** The programs of its processes, in turn; that of this build unless told. */
  readonly programs?: ReadonlyArray<string>
  readonly say: (text: string) => void
}

/**
 * Short, so that a process that lives for a second takes back what the one before it held. Where several live, one that
 * has to wait for its turn of the processor must not be taken for dead.
 */
const leaseOf = ({ nodes }: Setting): number => (nodes === 1 ? 300 : 1500)

export const orderOf = (setting: Setting, store: string, gateway: string, kind: Gateway.Kind): Order => ({
  task: "work",
  store,
  gateway,
  kind,
  leaseMs: leaseOf(setting),
  concurrency: 16,
  dies: null,
  skew: null,
  times: null,
  jobs: setting.jobs,
  recipients: setting.recipients,
  messagesPerSecond: null,
  receiver: null,
  oddIds: false,
  keyByte: 0,
  youthMs: 2000,
  suspectWaits: [1000, 2000, 4000],
  killers: []
})

export interface Scenario {
  readonly gateway: Gateway.Gateway
  readonly ledger: Ledger.Ledger
  /** The jobs that were acknowledged, in their order. */
  readonly accepted: ReadonlySet<string>
  /** For the nodes that work. */
  readonly order: Order
  /** Everything ends once nobody is killed any more; these live until then, and are stopped. */
  readonly drain: (nodes: ReadonlyArray<Node>, withinMs?: number) => Promise<void>
  /** Closes the scenario. */
  readonly account: (told: {
    readonly fault: string
    readonly faults: number
    /** The rows of those that were in flight at the faults; nobody unless told. */
    readonly inFlight?: ReadonlySet<string>
  }) => Promise<Ledger.Account>
}

/** Queues the jobs of the setting, by processes that die so, in each of so many sessions. */
export const begin = async (
  setting: Setting,
  kind: Gateway.Kind,
  weather: Parameters<typeof Gateway.start>[2],
  some: Partial<Order> = {},
  dies: Parameters<typeof fill>[1] = [],
  sessions = 1
): Promise<Scenario> => {
  const store = await setting.freshStore()
  const gateway = await Gateway.start(kind, setting.random, weather)
  const order = { ...orderOf(setting, store, gateway.url, kind), ...some }
  const accepted = new Set<string>()
  for (let session = 0; session < sessions; session++)
    for (const jobId of await fill(order, dies, setting.programs)) accepted.add(jobId)
  const ledger = Ledger.open(store)
  return {
    gateway,
    ledger,
    accepted,
    order,
    drain: async (nodes, withinMs = 60_000) => {
      await until("The end of all jobs", async () => (await ledger.open()) === 0, withinMs)
      for (const node of nodes) {
        if (!node.isAlive()) throw new Error(`A node died:\n${node.output()}`)
        node.kill("SIGTERM")
      }
      await Promise.all(nodes.map(({ ended }) => ended))
    },
    account: async ({ fault, faults, inFlight = new Set() }) => {
      const each = setting.recipients
      const told = { fault, faults, accepted, each, inFlight }
      const account = await Ledger.account(ledger, gateway, told)
      await ledger.close()
      await gateway.close()
      return account
    }
  }
}
