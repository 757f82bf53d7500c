import type { Sendwright, Session } from "sendwright"
import "sendwright/vitest"
import { createTestSendwright } from "sendwright/testing"
import { beforeEach, expect, it } from "vitest"

// The app: it reminds people of appointments, hears who cannot come, and lists whom to call instead.
const remind = (session: Session, { id, name, phone }: { id: string; name: string; phone: string }) =>
  session.send({
    template: "reminder",
    to: [{ phone, variables: { "body.1": name } }],
    idempotencyKey: `appointment-${id}`
  })
const listen = (sw: Sendwright) => {
  const toCall: Array<string | null> = []
  const canceled: Array<string> = []
  sw.on("recipient.failed", ({ data }) => void toCall.push(data.phone))
  sw.on("message.received", ({ data }) => {
    if (data.from !== null && /can't come/i.test(data.text)) canceled.push(data.from)
  })
  return { toCall, canceled }
}

const ana = { id: "1", name: "Ana", phone: "34600001234" }
let t: Awaited<ReturnType<typeof createTestSendwright>>
beforeEach(async () => {
  t = await createTestSendwright()
  await t.template("reminder", "Dear {{1}}, see you tomorrow.")
  await t.consent(ana.phone)
  return () => t.stop()
})

it("1. a message arrives with its values, and is read", async () => {
  const { jobId } = await remind(t.session, ana)
  await t.advance("1 min")
  expect(t.person(ana.phone)).toHaveBeenDelivered({ text: "Dear Ana, see you tomorrow." })
  await t.person(ana.phone).reads()
  expect((await t.session.job(jobId)).counts.read).toBe(1)
})

it("2. what is asked for twice goes out once", async () => {
  await Promise.all([remind(t.session, ana), remind(t.session, ana)])
  await t.advance("1 day")
  expect(t.person(ana.phone)).toHaveBeenDelivered({ times: 1 })
})

it("3. nobody is written to who has not agreed", async () => {
  const bea = { id: "2", name: "Bea", phone: "34600005678" }
  await expect(remind(t.session, bea)).rejects.toMatchObject({ code: "consent_required" })
  expect(t).toHaveSent(0)
})

it("4. STOP ends it, also for what was accepted before", async () => {
  await remind(t.session, ana)
  await t.person(ana.phone).replies("STOP")
  await t.advance("1 min")
  expect(t.person(ana.phone)).toHaveRefused()
  expect(t.person(ana.phone)).not.toHaveBeenDelivered()
  await expect(remind(t.session, { ...ana, id: "2" })).rejects.toMatchObject({ code: "consent_required" })
})

it("5. a reply reaches the app, once", async () => {
  const { canceled } = listen(t.sw)
  await remind(t.session, ana)
  await t.advance("1 min")
  await t.person(ana.phone).replies("Sorry, I can't come.")
  await t.advance("1 day")
  expect(canceled).toEqual([ana.phone])
})

it("6. a busy platform gets it later", async () => {
  t.platform.next(ana.phone).isBusy("30 s").next(ana.phone).isBusy("5 min")
  await remind(t.session, ana)
  await t.advance("1 hour")
  expect(t.person(ana.phone)).toHaveBeenDelivered({ times: 1 })
  expect(t).toHaveSent(3, ana.phone)
})

it("7. a refusal is heard of, with its reason", async () => {
  const { toCall } = listen(t.sw)
  t.platform.next(ana.phone).fails("131026")
  const { jobId } = await remind(t.session, ana)
  await t.advance("2 days")
  expect(toCall).toEqual([ana.phone])
  expect((await t.session.job(jobId)).results[0]?.error?.code).toBe("recipient_unreachable")
})

it("8. silence is no reason to send twice; a late receipt settles it", async () => {
  t.platform.next(ana.phone).answersLate("10 min")
  const { jobId } = await remind(t.session, ana)
  await t.advance("5 min")
  expect((await t.session.job(jobId)).counts.unknown).toBe(1)
  await t.advance("10 min")
  expect((await t.session.job(jobId)).counts.delivered).toBe(1)
  expect(t).toHaveSent(1)
})

it("9. a process that dies in the midst sends nothing twice", async () => {
  t.platform.next(ana.phone).crashesAfterSending()
  await remind(t.session, ana)
  await t.advance("1 hour")
  expect(t.person(ana.phone)).toHaveBeenDelivered({ times: 1 })
})

it("10. a handler that fails is told again", async () => {
  let tries = 0
  t.sw.on("job.completed", () => {
    tries += 1
    if (tries < 3) throw new Error("The database of the app is down.")
  })
  await remind(t.session, ana)
  await t.advance("10 min")
  expect(tries).toBe(3)
})
