/** An app tells that somebody has another number now. */
import { expect, it } from "vitest"
import { ana, start } from "./Support.ts"

it("an app moves what was granted for a number, and its next owner gets nothing", async () => {
  const { account, session, sw } = await start()
  const move = { accountId: account.id, from: ana, to: "34600004321", reason: "told by Ana" }
  const moved = await sw.admin.consents.move(move)
  expect(moved.consents).toMatchObject([
    { phone: "34600004321", status: "granted", occurredAt: expect.any(Date) }
  ])
  expect(await sw.admin.consents.move(move)).toEqual(moved)
  const sent = session.send({ template: "hello", to: [{ phone: ana }], idempotencyKey: "1" })
  await expect(sent).rejects.toThrow(/^The number has a new owner since /)
  await session.send({ template: "hello", to: [{ phone: "34600004321" }], idempotencyKey: "2" })
})
