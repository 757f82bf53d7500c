/** The short form of the chaos: real processes, killed at random and at every named point; `npm run chaos` is the long one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { random } from "../support/Random.ts"
import * as Crashes from "./Crashes.ts"
import * as Hosts from "./Hosts.ts"
import * as Kills from "./Kills.ts"
import * as Later from "./Later.ts"
import type { Account } from "./Ledger.ts"
import * as OptOuts from "./OptOuts.ts"
import * as Program from "./Program.ts"
import * as Restores from "./Restores.ts"
import type { Setting } from "./Scenario.ts"
import type { Stores } from "./Stores.ts"
import * as Store from "./Stores.ts"
import * as Webhooks from "./Webhooks.ts"

const whole = ({ lost, repeated, unexplained }: Account) => ({ lost, repeated, unexplained })
const nothing = { lost: 0, repeated: 0, unexplained: 0 }

const suite = (name: string, open: () => Promise<Stores>, nodes: number): void => {
  describe(name, () => {
    let stores: Stores
    let setting: Setting
    beforeAll(async () => {
      stores = await open()
      const told = { freshStore: stores.fresh, random: random(1), say: () => {} }
      setting = { ...told, nodes, kills: 4, jobs: 4, recipients: 50 }
    }, 60_000)
    // PostgreSQL writes its pages before it ends, which takes a while on a busy machine.
    afterAll(() => stores.close(), 60_000)

    it("loses nothing and repeats nothing at a gateway that deduplicates, killed at every point", async () => {
      expect(whole(await Kills.atPoints(setting, "deduplicating"))).toEqual(nothing)
    }, 480_000)

    it("sends nothing twice to one that does not, and names all that it cannot know", async () => {
      const account = await Kills.atRandom(setting, "plain")
      expect(whole(account)).toEqual(nothing)
      expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
    }, 480_000)

    it("leaves nothing unknown when it is stopped under load", async () => {
      const account = await Kills.stopped({ ...setting, jobs: 6, recipients: 100 })
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    }, 120_000)

    it("loses no opt-out, though hosts are killed and clients hang up while they come in", async () => {
      expect(whole(await OptOuts.killed(setting, 3))).toEqual(nothing)
    }, 120_000)

    it("ends every recipient of a platform whose ids no database takes as they are", async () => {
      const account = await Kills.oddIds(setting)
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    }, 120_000)

    it("waits for nobody's clock", async () => {
      const account = await Kills.farApart({ ...setting, jobs: 2 }, [86_400_000, -3_600_000])
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    }, 120_000)

    it("starts no process with another master key", async () => {
      const account = await Kills.wrongKey({ ...setting, jobs: 2 })
      expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
    }, 120_000)

    it("writes to nobody twice, nor after a STOP, when a backup takes its place", async () => {
      expect(whole(await Restores.midDrain(setting))).toEqual(nothing)
    }, 480_000)

    if (nodes === 1) {
      for (const kind of ["deduplicating", "plain"] as const)
        it(`parks nobody in a crash loop of another cause, over a ${kind} gateway`, async () => {
          const account = await Crashes.ofAnotherCause({ ...setting, kills: 12 }, kind, Crashes.short)
          expect({ ...whole(account), parked: account.parked }).toEqual({ ...nothing, parked: 0 })
          expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
        }, 300_000)

      it("parks a message that ends its process, after five deaths, and nobody beside it", async () => {
        const { account, deaths } = await Crashes.poisoned({ ...setting, recipients: 250 }, 1, Crashes.short)
        expect({ ...whole(account), parked: account.parked, unknown: account.unknown }).toEqual({
          ...nothing,
          parked: 1,
          unknown: 0
        })
        expect(deaths).toBe(5)
      }, 300_000)

      it("delivers every webhook though it is killed while it does", async () => {
        expect(whole(await Webhooks.killed({ ...setting, jobs: 2 }, 4))).toEqual(nothing)
      }, 120_000)

      it("loses no acknowledged send on a full disk, and works again when there is space", async () => {
        const account = await Hosts.diskFull(setting)
        // Undefined where no file system can be mounted.
        if (account !== undefined) expect(whole(account)).toEqual(nothing)
      }, 120_000)
    } else {
      it("sends nothing twice while clocks are ten minutes apart", async () => {
        const account = await Kills.skewed(setting)
        expect({ ...whole(account), unknown: account.unknown }).toEqual({ ...nothing, unknown: 0 })
      }, 120_000)

      it("loses nothing and repeats nothing while a later build works beside this one", async () => {
        const programs = [Program.file(), await Later.program()]
        const account = await Kills.atRandom({ ...setting, programs }, "plain")
        expect(whole(account)).toEqual(nothing)
        expect(account.unknown).toBeLessThanOrEqual(account.inFlight)
      }, 120_000)

      it("makes one job of one key, wherever it is sent", async () => {
        expect(whole(await Hosts.twins(setting, 400))).toEqual(nothing)
      }, 120_000)
    }
  })
}

suite("SQLite", async () => Store.sqlite(), 1)
suite("PostgreSQL", Store.postgres, 3)
