/** An app sees all processes over its store, its own among them. */
import { expect, it, vi } from "vitest"
import { ana, start } from "./Support.ts"

it("an app's process is shown, with what waits and what needs somebody", async () => {
  const { session, sw } = await start()
  await session.send({ template: "hello", to: [{ phone: ana }], idempotencyKey: "1" })
  // It says so of itself, which nobody waits for.
  const { at, attention, minutes, processes, sessions, waiting } = await vi.waitUntil(async () => {
    const seen = await sw.admin.overview()
    return seen.processes.length > 0 && seen
  }, 20_000)
  expect(processes).toMatchObject([{ role: "embedded", version: expect.stringMatching(/^\d+\.\d+\.\d+/) }])
  expect(waiting).toMatchObject({ total: 1, totalIsExact: true, oldestAt: expect.any(Date) })
  expect(minutes).toHaveLength(60)
  expect(at).toBeInstanceOf(Date)
  expect(sessions).toMatchObject([{ name: "main", account: "Shop", waiting: 1, since: expect.any(Date) }])
  // Nothing was started that sends it.
  expect(attention.map(({ kind }) => kind)).toEqual(["no_worker"])
  const { lines, verdict } = await sw.admin.health()
  expect(verdict).toBe("failing")
  expect(lines[0]?.next).toContain("Start a process")
})
