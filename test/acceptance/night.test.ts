/** Sixteen questions that a bad night asks, each answered by one call (contract.md §12, docs/night.md). */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Night } from "../support/Night.ts"
import { badNight } from "../support/Night.ts"
import { at, eventually, items } from "../support/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-night-"))
let night: Night
beforeAll(async () => {
  night = await badNight({ DATABASE_URL: `sqlite:${join(folder, "host.db")}` })
}, 60_000)
afterAll(async () => {
  await night.end()
  rmSync(folder, { recursive: true, force: true })
})

/** The answer's JSON; nothing else is asked. */
const asked = async (path: string, body?: unknown): Promise<unknown> => {
  const answer = await night.host.admin(path, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}
const overview = async (...path: ReadonlyArray<string | number>) =>
  at(await asked("/overview"), "overview", ...path)
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe("in a bad night one call tells", () => {
  it("1. whether it is up", async () => {
    const ready = await night.host.request("/health/ready")
    expect([ready.status, at(ready.json, "ok")]).toEqual([200, true])
  })

  it("2. which version runs, in which role, since when, and 3. which processes live", async () => {
    const processes = items(await overview("processes"))
    expect(processes).toContainEqual(
      expect.objectContaining({ role: "all", version: "0.1.0", since: time, seen_at: time, slots: 64 })
    )
    // The one that was killed is among them until its successor has taken over what it had.
    expect(processes.length).toBeLessThanOrEqual(2)
  })

  it("4. how deep the queue is, how old, and what holds it", async () => {
    const { by, oldest_at, total } = Object(await overview("waiting"))
    expect([total, oldest_at]).toEqual([22, time])
    expect(by).toEqual(expect.arrayContaining([{ limiter: "platform", recipients: 20, until: time }]))
  })

  it("5. the rate and the outcomes of each minute", async () => {
    const minutes = items(await overview("minutes"))
    expect(minutes).toHaveLength(60)
    const { rates } = Object(await overview())
    expect(rates).toEqual({
      accepted_per_minute: expect.any(Number),
      outcomes_per_minute: expect.any(Number)
    })
  })

  it("6. which platform fails, since when, whom it costs what, and what to do", async () => {
    const { report } = Object(await asked("/health/report"))
    expect(report.verdict).toBe("degraded")
    expect(report.lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          lacks: "flowing",
          since: time,
          kind: "session_unavailable",
          says: expect.stringMatching(
            /(does not answer, or|answers) with errors\. 20 recipients wait for it/
          ),
          link: `/admin/v1/sessions/${night.outageSession}`
        })
      ])
    )
  })

  it("7. which sessions are down, over all accounts", async () => {
    const found = items(await asked("/sessions?down=true"), "sessions")
    expect(found.map((each) => at(each, "id"))).toEqual([night.outageSession])
  })

  it("8. why a job does not move", async () => {
    const job = at(await asked(`/jobs/${night.waitingJobId}`), "job")
    expect(job).toMatchObject({ pause_reason: "platform_unavailable", waiting_for: { limiter: "platform" } })
    // One message may have gone before the template was paused: then the pace holds the others first.
    const paused = at(await asked(`/jobs/${night.pausedJobId}`), "job", "waiting_for")
    expect(paused).toMatchObject({ limiter: expect.stringMatching(/^(pace|template)$/) })
  })

  it("9. which jobs had failures tonight", async () => {
    const [job, ...others] = items(
      await asked("/jobs?has=failed&completed_after=2026-01-01T00:00:00Z"),
      "jobs"
    )
    expect(others).toEqual([])
    expect(job).toMatchObject({
      job_id: night.jobId,
      failures: [
        { code: "outcome_unknown", status: "unknown", recipients: 1 },
        { code: "recipient_unreachable", status: "failed", recipients: 1 }
      ]
    })
  })

  it("10. what would go again, of a campaign, at what cost", async () => {
    const { counted } = Object(
      await asked("/jobs/retry", {
        filter: { reference: "spring", statuses: ["failed", "unknown"] },
        dry_run: true
      })
    )
    expect(counted).toMatchObject({
      recipients: 1,
      left: { permanent: [{ code: "recipient_unreachable", recipients: 1 }] }
    })
  })

  it("11. whether a number got it", async () => {
    const found = items(await asked("/search?q=%2B34%20600%20600%20001"), "results")
    expect(found).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: "message", status: "failed" })])
    )
  })

  it("12. a message's story, attempt by attempt, and what may be done", async () => {
    const [sent] = items(await asked(`/jobs/${night.jobId}`), "job", "results")
    const { next, timeline } = Object(await asked(`/messages/${at(sent, "message_id")}/timeline`))
    const kinds = items(timeline).map((each) => at(each, "kind"))
    expect(kinds.slice(0, 3)).toEqual(["accepted", "consent", "attempt"])
    expect(kinds).toContain("webhook")
    expect(items(next).map((each) => at(each, "action"))).toEqual(["wait", "retry", "cancel"])
  })

  it("13. which webhooks fail, and how much waits for them", async () => {
    const found = items(await asked("/webhooks?failing=true"), "webhooks")
    expect(found.map((each) => at(each, "id"))).toEqual([night.webhookId])
    expect(await overview("webhooks")).toMatchObject({ failing: 1, waiting: expect.any(Number) })
  })

  it("14. which job a request has made", async () => {
    const found = items(await asked(`/search?q=${night.requestId}`), "results")
    expect(found).toMatchObject([{ kind: "job", id: night.jobId }])
  })

  it("15. for how long the disk lasts", async () => {
    expect(at(await asked("/storage"), "storage")).toMatchObject({
      bytes: expect.any(Number),
      free_bytes: expect.any(Number)
    })
  })

  it("16. who revoked a key", async () => {
    const found = items(await asked(`/audit?target=${night.revokedKey}&operation=keys.revoke`), "entries")
    expect(found).toMatchObject([{ operator: "ADMIN_TOKEN", at: time, address: "127.0.0.1" }])
  })

  it("and needs no look at what is well", async () => {
    // The process that died is known of once its successor takes over what it had.
    const kinds = await eventually(
      async () => items(await overview("attention")).map((each) => at(each, "kind")),
      (found) => found.includes("process_lost"),
      40_000
    )
    expect(new Set(kinds)).toEqual(
      new Set(["process_lost", "session_unavailable", "template_paused", "unknown_outcomes", "quota_full"])
    )
    expect(night.refused.status).toBe(402)
  }, 60_000)
})
