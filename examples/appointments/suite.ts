/** The app, day by day, whichever store it has. */
import "sendwright/vitest"
import type { Session, Store } from "sendwright"
import { createTestSendwright } from "sendwright/testing"
import { beforeEach, expect, it } from "vitest"
import { makeApp } from "./app.ts"
import type { Calendar } from "./calendar.ts"
import { prepare } from "./setup.ts"

const ana = "34600001234"

/** A store with nothing in it, and the calendar beside it. */
export interface Place {
  readonly store?: Store
  readonly calendar: (session: Session) => Calendar | Promise<Calendar>
  readonly close: () => unknown
}

export const suite = (open: () => Place | Promise<Place>): void => {
  let t: Awaited<ReturnType<typeof createTestSendwright>>
  let app: ReturnType<typeof makeApp>

  beforeEach(async () => {
    const place = await open()
    t = await createTestSendwright({ store: place.store })
    await prepare(t.sw, t.session.id)
    const calendar = await place.calendar(t.session)
    app = makeApp({ calendar, sw: t.sw, accountId: t.account.id, sessionId: t.session.id, now: t.now })
    return async () => {
      await app.close()
      await t.stop()
      await place.close()
    }
  })

  const inDays = (days: number) => new Date(t.now().getTime() + days * 86_400_000).toISOString()
  const post = (given: object) => {
    const payload = { name: "Ana", phone: ana, at: inDays(3), remindMe: true, ...given }
    return app.inject({ method: "POST", url: "/appointments", payload })
  }
  const book = async (given: object = {}): Promise<string> => (await post(given)).json().id
  const page = async (id: string) => (await app.inject(`/appointments/${id}`)).json()
  const statuses = async (id: string) =>
    (await page(id)).messages.map(({ status }: { status: string }) => status)

  it("confirms what is booked, and reminds of it the day before, once", async () => {
    const id = await book({ at: "2026-01-08T10:30:00Z" })
    await t.advance("1 min")
    expect(t.person(ana)).toHaveBeenDelivered({ template: "confirmation", text: /Ana.*2026-01-08 10:30 UTC/ })
    expect(await page(id)).toMatchObject({
      canceled: false,
      messages: [{ status: "delivered" }, { at: "2026-01-07T10:30:00.000Z", status: "queued" }]
    })
    await t.advance("10 days")
    expect(t.person(ana)).toHaveBeenDelivered({ template: "reminder", times: 1 })
    expect(t.person(ana).inbox[1]?.at).toEqual(new Date("2026-01-07T10:30:00Z"))
    expect(await statuses(id)).toEqual(["delivered", "delivered"])
  })

  it("sends nothing for a time that somebody else has", async () => {
    await book()
    expect((await post({ phone: "34600005678" })).statusCode).toBe(409)
    await t.advance("3 days")
    expect(t).toHaveSent(2)
  })

  it("books nothing for a number that nobody has, and says so", async () => {
    const answer = await post({ phone: "99900000000" })
    expect(answer.statusCode).toBe(422)
    expect(answer.json().issues).toMatchObject([{ path: "/to/phone" }])
    expect((await post({})).statusCode).toBe(201)
  })

  it("writes to nobody who left the box empty", async () => {
    const id = await book({ remindMe: false })
    await t.advance("3 days")
    expect(await statuses(id)).toEqual([])
    expect(t).toHaveSent(0)
  })

  it("reminds nobody who booked on the day itself", async () => {
    const id = await book({ at: inDays(0.5) })
    await t.advance("1 day")
    expect(await statuses(id)).toEqual(["delivered"])
  })

  it("CANCEL cancels the next appointment alone, says so, and is no STOP", async () => {
    const [next, later] = [await book(), await book({ at: inDays(10) })]
    await t.advance("1 day")
    await t.person(ana).replies("Cancel")
    await t.advance("2 days")
    expect(await page(next)).toMatchObject({ canceled: true })
    expect(await statuses(next)).toEqual(["delivered", "canceled"])
    expect(await page(later)).toMatchObject({ canceled: false })
    expect(t.person(ana)).toHaveBeenDelivered({ text: /is canceled/, times: 1 })
    expect(t.person(ana)).not.toHaveRefused()
    await t.advance("7 days")
    expect(await statuses(later)).toEqual(["delivered", "delivered"])
  })

  it("STOP ends the reminder that was asked for before, until the box is checked again", async () => {
    const id = await book()
    await t.advance("1 min")
    await t.person(ana).replies("STOP")
    await t.advance("3 days")
    expect(t.person(ana)).toHaveRefused()
    expect(await statuses(id)).toEqual(["delivered", "skipped"])
    await book({ at: inDays(5) })
    await t.advance("1 min")
    expect(t.person(ana)).toHaveBeenDelivered({ template: "confirmation", times: 2 })
  })

  it("a busy platform gets it later, and a process that dies sends nothing twice", async () => {
    t.platform.next(ana).isBusy("30 s").next(ana).crashesAfterSending()
    const id = await book()
    await t.advance("1 hour")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
    expect(await statuses(id)).toEqual(["delivered", "queued"])
  })
}
