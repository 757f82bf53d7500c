import { describe, expect, it } from "vitest"
import { furnish, open } from "./Support.ts"

describe("how long rows are kept", () => {
  it("is said of an account, and a purge says what it did", async () => {
    const sw = await open()
    const { account } = await furnish(sw)
    expect(account.retention).toMatchObject({ deliveriesDays: 30, consentsDays: null })
    const retention = { contentsDays: null, resultsDays: 7 }
    const changed = await sw.admin.accounts.change({ id: account.id, retention })
    expect(changed.retention).toEqual({ ...account.retention, ...retention })
    const done = { isComplete: true, accounts: [] }
    expect(await sw.admin.purge({ dryRun: true })).toMatchObject({ ...done, dryRun: true })
    expect(await sw.admin.purge()).toMatchObject({ ...done, dryRun: false })
    const { bytes, ...size } = await sw.admin.storage()
    expect(bytes).toBeGreaterThan(100_000)
    expect(size).toEqual({
      kind: "memory",
      bytesPerDay: null,
      freeBytes: null,
      fullAt: null,
      oldest: { events: null, results: null }
    })
  })

  it("is refused where it is no number of days, by its name", async () => {
    const sw = await open()
    const refused = sw.admin.accounts.create({ name: "Shop", retention: { resultsDays: 6 } })
    await expect(refused).rejects.toMatchObject({ issues: [{ path: "/retention/resultsDays" }] })
  })
})
