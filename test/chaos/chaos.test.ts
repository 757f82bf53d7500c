/**
 * The short form of the chaos: each fault once, on the stores whose part it is; `npm run chaos` is the long one. Half of a
 * scenario is waiting, so some take place at the same time.
 */

import type { Restore } from "@sendwright/core"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { random } from "../support/Random.ts"
import * as Crashes from "./Crashes.ts"
import * as Hosts from "./Hosts.ts"
import * as Kills from "./Kills.ts"
import * as Later from "./Later.ts"
import type { Account } from "./Ledger.ts"
import * as Neighbours from "./Neighbours.ts"
import * as OptOuts from "./OptOuts.ts"
import * as Program from "./Program.ts"
import * as Restores from "./Restores.ts"
import type { Setting } from "./Scenario.ts"
import type { Stores } from "./Stores.ts"
import * as Store from "./Stores.ts"
import * as Timed from "./Timed.ts"
import * as Webhooks from "./Webhooks.ts"

const whole = ({ lost, repeated, unexplained }: Account) => ({ lost, repeated, unexplained })
const nothing = { lost: 0, repeated: 0, unexplained: 0 }

/** How many processes work on one store, and how many scenarios take place at once. */
interface Size {
  readonly nodes: number
  readonly lanes: number
}

type Check = (setting: Setting) => Promise<void>

const suite = (
  name: string,
  open: () => Promise<Stores>,
  { lanes, nodes }: Size,
  scenarios: Readonly<Record<string, Check>>
): void => {
  describe(name, () => {
    const free = Effect.unsafeMakeSemaphore(lanes)
    let stores: Stores
    beforeAll(async () => {
      stores = await open()
    }, 60_000)
    // PostgreSQL writes its pages before it ends, which takes a while on a busy machine.
    afterAll(() => stores.close(), 60_000)
    for (const [place, [title, check]] of Object.entries(scenarios).entries())
      it.concurrent(title, { timeout: 600_000 }, async () => {
        await Effect.runPromise(free.take(1))
        try {
          const told = { freshStore: stores.fresh, random: random(1 + place), say: () => {} }
          await check({ ...told, nodes, kills: 4, jobs: 4, recipients: 50 })
        } finally {
          Effect.runSync(free.release(1))
        }
      })
  })
}

const always: Readonly<Record<string, Check>> = {
  "loses nothing and repeats nothing at a gateway that deduplicates, killed at every point": async (
    setting
  ) => {
    expect(whole(await Kills.atPoints(setting, "deduplicating", 1))).toEqual(nothing)
  },
  "sends nothing twice to one that does not, and names all that it cannot know": async (setting) => {
    const account = await Kills.atRandom(setting, "plain")
    expect(whole(account)).toEqual(nothing)
    expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
  },
  "loses no opt-out, though hosts are killed and clients hang up while they come in": async (setting) => {
    expect(whole(await OptOuts.killed(setting, 3))).toEqual(nothing)
  },
  "ends every recipient of a platform whose ids no database takes as they are": async (setting) => {
    const account = await Kills.oddIds({ ...setting, jobs: 2 })
    expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
  },
  "starts no process with another master key": async (setting) => {
    const account = await Kills.wrongKey({ ...setting, jobs: 2 })
    expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
  }
}

const keepsNobodyWaiting: Check = async (setting) => {
  expect(whole(await Neighbours.beside({ ...setting, jobs: 2 }, 3))).toEqual(nothing)
}

const waitsForNobody =
  (...skewsMs: ReadonlyArray<number>): Check =>
  async (setting) => {
    const account = await Kills.farApart({ ...setting, jobs: 2 }, skewsMs)
    expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
  }

/** The way on is decided alike for all stores, and how a backup is told from the store is not. */
const restored =
  (way: Restore.Way): Check =>
  async (setting) => {
    expect(whole(await Restores.midDrain({ ...setting, jobs: 2 }, [way]))).toEqual(nothing)
  }

suite(
  "SQLite",
  async () => Store.sqlite(),
  { nodes: 1, lanes: 4 },
  {
    ...always,
    "leaves nothing unknown when it is stopped under load": async (setting) => {
      const account = await Kills.stopped({ ...setting, jobs: 6, recipients: 100 })
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    },
    "loses, repeats and mistimes nothing that waits for a time, for hours or for its client": async (
      setting
    ) => {
      expect(whole(await Timed.killed({ ...setting, jobs: 6, recipients: 20 }))).toEqual(nothing)
    },
    "waits for nobody's clock": waitsForNobody(86_400_000),
    "writes to nobody twice, nor after a STOP, when a backup takes its place": restored("unknown"),
    "parks nobody in a crash loop of another cause": async (setting) => {
      const account = await Crashes.ofAnotherCause({ ...setting, kills: 8 }, "deduplicating", Crashes.short)
      expect({ ...whole(account), parked: account.parked }).toEqual({ ...nothing, parked: 0 })
      expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
    },
    "parks a message that ends its process, after five deaths, and nobody beside it": async (setting) => {
      const { account, deaths } = await Crashes.poisoned({ ...setting, recipients: 250 }, 1, Crashes.short)
      expect({ ...whole(account), parked: account.parked, unknown: account.unknown }).toEqual({
        ...nothing,
        parked: 1,
        unknown: 0
      })
      expect(deaths).toBe(5)
    },
    "keeps no neighbour waiting for messages that end their process": keepsNobodyWaiting,
    "delivers every webhook though it is killed while it does": async (setting) => {
      expect(whole(await Webhooks.killed({ ...setting, jobs: 2 }, 4))).toEqual(nothing)
    },
    "loses no acknowledged send on a full disk, and works again when there is space": async (setting) => {
      const account = await Hosts.diskFull(setting)
      // Undefined where no file system can be mounted.
      if (account !== undefined) expect(whole(account)).toEqual(nothing)
    }
  }
)

// More at once, and a process that waits for its turn of the processor would be taken for dead.
suite(
  "PostgreSQL",
  Store.postgres,
  { nodes: 2, lanes: 2 },
  {
    ...always,
    "waits for nobody's clock": waitsForNobody(86_400_000, -3_600_000),
    "writes to nobody twice, nor after a STOP, when a backup takes its place": restored("send"),
    "sends nothing twice while clocks are ten minutes apart": async (setting) => {
      const account = await Kills.skewed({ ...setting, jobs: 2 })
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    },
    "loses nothing and repeats nothing while a later build works beside this one": async (setting) => {
      const programs = [Program.file(), await Later.program()]
      const account = await Kills.atRandom({ ...setting, programs }, "plain")
      expect(whole(account)).toEqual(nothing)
      expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
    },
    "makes one job of one key, wherever it is sent": async (setting) => {
      expect(whole(await Hosts.twins(setting, 400))).toEqual(nothing)
    }
  }
)

suite(
  "PostgreSQL behind a pooler",
  Store.pooler,
  { nodes: 2, lanes: 2 },
  {
    "loses nothing and repeats nothing while its processes are killed": async (setting) => {
      const account = await Kills.atRandom({ ...setting, jobs: 2 }, "plain")
      expect(whole(account)).toEqual(nothing)
      expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
    }
  }
)
