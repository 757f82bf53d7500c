import Database from "better-sqlite3"
import "sendwright/vitest"
import { sqlite } from "sendwright/sqlite"
import { createTestSendwright } from "sendwright/testing"
import { beforeEach, expect, it } from "vitest"
import { makeApp } from "./app.ts"
import { prepare } from "./setup.ts"

const ana = "34600001234"
let database: Database.Database
let t: Awaited<ReturnType<typeof createTestSendwright>>
let app: ReturnType<typeof makeApp>

beforeEach(async () => {
  database = new Database(":memory:")
  t = await createTestSendwright({ store: sqlite({ database, migrate: true }) })
  await prepare(t.sw, t.session.id)
  app = makeApp({ database, sw: t.sw, accountId: t.account.id, sessionId: t.session.id, now: t.now })
  return async () => {
    await app.http.close()
    await t.stop()
    database.close()
  }
})

const inDays = (days: number) => new Date(t.now().getTime() + days * 86_400_000).toISOString()
const post = (given: object) => {
  const payload = { name: "Ana", phone: ana, at: inDays(3), remindMe: true, ...given }
  return app.http.inject({ method: "POST", url: "/appointments", payload })
}
const book = async (given: object = {}): Promise<string> => (await post(given)).json().id
const page = async (id: string) => (await app.http.inject(`/appointments/${id}`)).json()
const rows = () => database.prepare("SELECT id FROM appointments").all().length

it("confirms what is booked", async () => {
  const id = await book({ at: "2026-01-08T10:30:00Z" })
  expect(await page(id)).toMatchObject({ name: "Ana", confirmation: "queued", reminder: null })
  await t.advance("1 min")
  expect(t.person(ana)).toHaveBeenDelivered({ template: "confirmation", text: /Ana.*2026-01-08 10:30 UTC/ })
  expect(await page(id)).toMatchObject({ canceled: false, confirmation: "delivered" })
})

it("sends nothing of a booking that was rolled back", async () => {
  database.exec(`CREATE TEMP TRIGGER full AFTER UPDATE OF confirmation ON appointments
                 BEGIN SELECT RAISE(ABORT, 'The disk is full.'); END`)
  expect((await post({})).statusCode).toBe(500)
  await t.advance("3 days")
  expect(rows()).toBe(0)
  expect(t).toHaveSent(0)
})

it("books nothing for a number that nobody has, and says so", async () => {
  const answer = await post({ phone: "99900000000" })
  expect(answer.statusCode).toBe(422)
  expect(answer.json().issues).toMatchObject([{ path: "/to/0/phone" }])
  expect(rows()).toBe(0)
})

it("writes to nobody who left the box empty", async () => {
  const id = await book({ remindMe: false })
  await t.advance("2 days")
  app.remind()
  await t.advance("1 day")
  expect(await page(id)).toMatchObject({ confirmation: null, reminder: null })
  expect(t).toHaveSent(0)
})

it("reminds the day before, once, however often the loop runs", async () => {
  const id = await book()
  await t.advance("1 day")
  app.remind()
  expect((await page(id)).reminder).toBeNull()
  await t.advance("1 day")
  app.remind()
  app.remind()
  await t.advance("1 hour")
  app.remind()
  await t.advance("1 hour")
  expect(t.person(ana)).toHaveBeenDelivered({ template: "reminder", times: 1 })
  expect((await page(id)).reminder).toBe("delivered")
})

it("reminds nobody who booked on the day itself", async () => {
  const id = await book({ at: inDays(0.5) })
  app.remind()
  expect((await page(id)).reminder).toBeNull()
})

it("reminds once even where the table forgot", async () => {
  await book()
  await t.advance("2 days")
  app.remind()
  database.exec("UPDATE appointments SET reminder = NULL")
  app.remind()
  await t.advance("1 hour")
  expect(t.person(ana)).toHaveBeenDelivered({ template: "reminder", times: 1 })
})

it("CANCEL cancels the next appointment alone, says so, and is no STOP", async () => {
  const [next, later] = [await book(), await book({ at: inDays(10) })]
  await t.advance("2 days")
  t.platform.next(ana).isBusy("30 min")
  app.remind()
  await t.person(ana).replies("Cancel")
  await t.advance("1 hour")
  expect(await page(next)).toMatchObject({ canceled: true, reminder: "canceled" })
  expect(await page(later)).toMatchObject({ canceled: false })
  expect(t.person(ana)).toHaveBeenDelivered({ text: /is canceled/, times: 1 })
  expect(t.person(ana)).not.toHaveRefused()
  await t.advance("7 days")
  app.remind()
  await t.advance("1 hour")
  expect((await page(later)).reminder).toBe("delivered")
})

it("STOP ends reminders, until the box is checked again", async () => {
  const id = await book()
  await t.advance("1 min")
  await t.person(ana).replies("STOP")
  await t.advance("2 days")
  app.remind()
  await t.advance("1 hour")
  expect(t.person(ana)).toHaveRefused()
  expect(await page(id)).toMatchObject({ canceled: false, confirmation: "delivered", reminder: null })
  await book({ at: inDays(5) })
  await t.advance("1 min")
  expect(t.person(ana)).toHaveBeenDelivered({ template: "confirmation", times: 2 })
})

it("a busy platform gets it later, and a process that dies sends nothing twice", async () => {
  t.platform.next(ana).isBusy("30 s").next(ana).crashesAfterSending()
  const id = await book()
  await t.advance("1 hour")
  expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  expect((await page(id)).confirmation).toBe("delivered")
})
