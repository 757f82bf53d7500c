/** The campaign, hour by hour, whichever store it has. */
import "sendwright/vitest"
import { readFileSync } from "node:fs"
import type { Job, Store } from "sendwright"
import { createTestSendwright } from "sendwright/testing"
import { beforeEach, expect, it } from "vitest"
import { makeCampaign } from "./campaign.ts"

const csv = readFileSync(new URL("readers.csv", import.meta.url), "utf8")
const [ana, bruno, chiyo, dan] = ["34600001234", "5511987654321", "819012345678", "447400123456"] as const

// A Tuesday. The test begins on the Monday before.
const newsletter = {
  name: "2026-03",
  template: "newsletter",
  from: "2026-01-13T10:00",
  until: "2026-01-15T20:00"
}

/** A store with nothing in it. */
export interface Place {
  readonly store?: Store
  readonly close: () => unknown
}

export const suite = (open: () => Place | Promise<Place>): void => {
  let t: Awaited<ReturnType<typeof createTestSendwright>>
  let publish: ReturnType<typeof makeCampaign>["publish"]

  beforeEach(async () => {
    const place = await open()
    t = await createTestSendwright({ store: place.store, now: new Date("2026-01-12T08:00:00Z") })
    const components = [{ type: "BODY", text: "Dear {{1}}, here is what is new. STOP ends it." }]
    const template = {
      name: "newsletter",
      language: "en",
      category: "MARKETING",
      status: "APPROVED",
      components
    }
    await t.sw.admin.templates.import({ sessionId: t.session.id, templates: [template] })
    publish = makeCampaign(t.sw, t.account.id, t.session).publish
    return async () => {
      await t.stop()
      await place.close()
    }
  })

  const jobs = async (): Promise<ReadonlyArray<Job>> => {
    const found: Array<Job> = []
    for await (const job of t.session.jobs({ reference: "newsletter-2026-03" })) found.push(job)
    return found
  }
  const delivered = async () => (await jobs()).reduce((sum, { counts }) => sum + counts.delivered, 0)
  /** A list of so many more, all in Madrid. */
  const many = (count: number) =>
    ["phone,name,time_zone,agreed_at"]
      .concat(
        Array.from(
          { length: count },
          (_, at) => `${34600100000 + at},Reader ${at},Europe/Madrid,2025-11-03T10:00:00Z`
        )
      )
      .join("\n")

  it("reaches each at ten where they are, and nobody who never agreed", async () => {
    await publish(newsletter, csv)
    await t.advance("4 days")
    const times = [ana, bruno, chiyo, dan].map((phone) =>
      t.person(phone).inbox.map(({ at }) => at.toISOString())
    )
    expect(times).toEqual([
      ["2026-01-13T09:00:00.000Z"],
      ["2026-01-13T13:00:00.000Z"],
      ["2026-01-13T01:00:00.000Z"],
      []
    ])
    expect(t.person(chiyo)).toHaveBeenDelivered({ text: /Chiyo, of Sapporo/ })
  })

  it("goes once, however often it is published", async () => {
    await publish(newsletter, csv)
    await publish(newsletter, csv)
    await t.advance("1 day")
    await publish(newsletter, csv)
    await t.advance("4 days")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
    expect(t).toHaveSent(3)
  })

  it("STOP keeps the next one away, whatever the list says, and the one that waits", async () => {
    await publish(newsletter, csv)
    await t.person(bruno).replies("STOP")
    await t.advance("4 days")
    const next = { ...newsletter, name: "2026-04", from: "2026-01-20T10:00", until: "2026-01-22T20:00" }
    await publish(next, csv)
    await t.advance("7 days")
    expect(t.person(bruno)).not.toHaveBeenDelivered()
    expect(t.person(ana)).toHaveBeenDelivered({ times: 2 })
  })

  it("keeps its pace, so that shop and platform can answer", async () => {
    await publish(newsletter, many(40))
    await t.advance("25 hours")
    await t.advance("30 s")
    expect(await delivered()).toBeGreaterThan(25)
    expect(await delivered()).toBeLessThan(40)
    await t.advance("1 hour")
    expect(await delivered()).toBe(40)
  })

  it("stops all of it once 5 % of the first 200 fail, and goes on when somebody resumes it", async () => {
    await publish(newsletter, many(280))
    for (let at = 0; at < 10; at += 1) t.platform.next(String(34600100000 + at)).fails("131026")
    await t.advance("26 hours")
    expect((await jobs()).map(({ pauseReason, status }) => [status, pauseReason]).sort()).toEqual([
      ["paused", "failing"],
      ["paused", "failing"]
    ])
    const before = await delivered()
    for (const { jobId } of await jobs()) await t.session.resume(jobId)
    await t.advance("30 s")
    expect(await delivered()).toBeGreaterThan(before + 20)
  })
}
