/** contract.md §12 "Send again, as a plan": retries of many jobs, over a real socket. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

/** By their last digits: sent, refused for good, refused by a receipt, and never told of. */
const phones = ["34600000100", "34600000001", "34600000004", "34600000006"]

const codes = ["recipient_unreachable", "undeliverable"]

/** Jobs of one reference, once each of their recipients has come to its end. */
const campaign = async (owner: Tenant, reference: string, count: number) => {
  await consent(host, owner.accountId, ...phones)
  for (let job = 0; job < count; job++)
    await owner.send({ ...sendBody(owner.templateId, ...phones), reference }, `${reference}-${job}`)
  const jobs = () => host.admin(`/jobs?reference=${reference}`)
  const { json } = await eventually(jobs, (answer) =>
    items(answer.json, "jobs").every(
      (job) => at(job, "counts", "failed") === 2 && at(job, "counts", "unknown") === 1
    )
  )
  return items(json, "jobs").map((job) => String(at(job, "job_id")))
}

const retry = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  host.request("/admin/v1/jobs/retry", {
    method: "POST",
    headers: { authorization: `Bearer ${host.adminToken}`, ...headers },
    body
  })

const ended = (id: string) =>
  eventually(
    () => host.admin(`/retries/${id}`),
    ({ json }) => at(json, "retry", "status") !== "running"
  )

/** An operator of a name. */
const by = async (name: string) => {
  const { json } = await host.admin("/operators", { name, role: "support" })
  return `Bearer ${String(at(json, "token"))}`
}

const idOf = (answer: { readonly json: unknown }) => String(at(answer.json, "retry", "retry_id"))

describe("a retry of many jobs", () => {
  it("is counted by code, with unknown and permanent ones apart, and an estimate", async () => {
    const owner = await tenant(host)
    await host.admin(
      "/rate-cards",
      {
        currency: "EUR",
        effective_from: "2020-01-01T00:00:00Z",
        prices: [{ market: "*", category: "utility", price: "0.0200" }]
      },
      "PUT"
    )
    await campaign(owner, "counted", 2)
    const none = await retry({ filter: { reference: "counted" }, dry_run: true })
    expect(none.json).toEqual({
      ok: true,
      dry_run: true,
      retry: null,
      is_exact: true,
      counted: {
        jobs: 0,
        recipients: 0,
        counts: { failed: 0, unknown: 0 },
        codes: [],
        left: {
          unknown: [{ code: "outcome_unknown", status: "unknown", recipients: 2 }],
          permanent: codes.map((code) => ({ code, status: "failed", recipients: 2 })),
          changed: 0
        },
        refused: [],
        waiting: [],
        estimates: [],
        why: expect.stringMatching(/^\d+ are permanent: .* 2 are of unknown outcome: /)
      }
    })
    const named = await retry({
      filter: { reference: "counted", statuses: ["failed", "unknown"], codes: [...codes, "outcome_unknown"] },
      dry_run: true
    })
    expect(at(named.json, "counted")).toMatchObject({
      jobs: 2,
      recipients: 6,
      counts: { failed: 4, unknown: 2 },
      left: { unknown: [], permanent: [] },
      estimates: [{ currency: "EUR", total: "0.1200", complete: true }]
    })
    expect(items((await host.admin("/retries")).json, "retries")).toEqual([])
  })

  it("is of one job, by its id alone, and tells the same of it as the retry of that job", async () => {
    const owner = await tenant(host)
    const [job, other] = await campaign(owner, "one-job", 2)
    const counted = await retry({ filter: { job_id: job }, dry_run: true })
    expect(at(counted.json, "counted")).toMatchObject({
      jobs: 0,
      recipients: 0,
      why: expect.stringMatching(/^\d+ (is|are) permanent: /)
    })
    const alone = await host.admin(`/jobs/${job}/retry`, { dry_run: true })
    expect(at(alone.json, "counted")).toEqual(at(counted.json, "counted"))
    const begun = await retry({ filter: { job_id: job, codes } })
    expect(at(begun.json, "counted")).toMatchObject({
      jobs: 1,
      why: null,
      codes: codes.map((code) => ({ code, status: "failed", recipients: 1 })),
      estimates: [{ currency: "EUR", complete: true }]
    })
    const done = await ended(idOf(begun))
    expect(at(done.json, "retry")).toMatchObject({
      status: "completed",
      filter: { job_id: job },
      done: { jobs: 1 }
    })
    const both = await retry({ filter: { job_id: job, reference: "one-job" } })
    expect([both.status, at(both.json, "errors", 0, "pointer")]).toEqual([422, "/filter/job_id"])
    const none = await retry({ filter: { job_id: `${String(other).slice(0, -6)}ffffff` } })
    expect(none.status).toBe(404)
  })

  it("of two at once says of the second who sent them again, when and by what: by a plan and by hand", async () => {
    const owner = await tenant(host)
    const [job] = await campaign(owner, "twice", 2)
    const [ana, bob] = [{ authorization: await by("ana") }, { authorization: await by("bob") }]
    const filter = { reference: "twice", codes }
    await host.admin(`/sessions/${owner.sessionId}/disconnect`, undefined, "POST")
    const first = await retry({ filter }, ana)
    const second = await retry({ filter }, bob)
    const [one, two] = [await ended(idOf(first)), await ended(idOf(second))]
    expect(at(one.json, "retry", "done")).toMatchObject({ recipients: 4, why: null })
    expect(at(two.json, "retry", "done")).toMatchObject({
      recipients: 0,
      why: expect.stringMatching(new RegExp(`4 were sent again by ana in the retry ${idOf(first)} at \\d`))
    })
    const results = await host.admin(`/jobs/${job}?recipient_status=queued`)
    const story = await host.admin(
      `/messages/${String(at(results.json, "job", "results", 0, "message_id"))}/timeline`
    )
    expect(items(story.json, "timeline").find((each) => at(each, "kind") === "retried")).toMatchObject({
      text: `By ana in the retry ${idOf(first)}.`
    })
    const byHand = await host.admin(`/jobs/${job}/retry`, { codes })
    expect(at(byHand.json, "counted", "why")).toMatch(
      `2 were sent again by ana in the retry ${idOf(first)} at `
    )
  })

  it("says of a code that is none of the catalogue that it is none, and which one its failures have", async () => {
    const owner = await tenant(host)
    const [job] = await campaign(owner, "foreign", 1)
    const own = "131026 is the gateway's own code; its failures have the code `recipient_unreachable`."
    const asked = ["131026", "no_such_code"]
    const many = await retry({ filter: { reference: "foreign", codes: asked }, dry_run: true })
    const one = await host.admin(`/jobs/${job}/retry`, { dry_run: true, codes: asked })
    const why = `${own} no_such_code is no code of the catalogue.`
    expect([many, one].map(({ json }) => at(json, "counted", "why"))).toEqual([why, why])
    const begun = await retry({ filter: { job_id: job, codes: asked } })
    expect(at((await ended(idOf(begun))).json, "retry", "done", "why")).toBe(why)
    const known = await host.admin(`/jobs/${job}/retry`, { dry_run: true, codes: ["recipient_blocked"] })
    expect(at(known.json, "counted", "why")).toBe("Nobody that it asks for has failed.")
  })

  it("of two by hand at once says the same of the second", async () => {
    const owner = await tenant(host)
    const [job] = await campaign(owner, "twice-by-hand", 1)
    await host.admin(`/sessions/${owner.sessionId}/disconnect`, undefined, "POST")
    const hand = async (name: string) => {
      const headers = { authorization: await by(name) }
      return host.request(`/admin/v1/jobs/${job}/retry`, { method: "POST", headers, body: { codes } })
    }
    const both = [await hand("cleo"), await hand("dan")]
    expect(both.map(({ json }) => at(json, "counted", "recipients"))).toEqual([2, 0])
    expect(at(both[1]?.json, "counted", "why")).toMatch(/2 were sent again by cleo at \d/)
  })

  it("is carried out, and tells what it has done", async () => {
    const owner = await tenant(host)
    const jobs = await campaign(owner, "carried-out", 3)
    const filter = { reference: "carried-out", codes }
    const begun = await retry({ filter })
    expect([begun.status, at(begun.json, "retry", "expected")]).toEqual([
      200,
      { jobs: 3, recipients: 6, is_exact: true }
    ])
    const done = await ended(idOf(begun))
    expect(at(done.json, "retry")).toMatchObject({
      status: "completed",
      operator: "ADMIN_TOKEN",
      filter: { reference: "carried-out", codes, account_id: null, statuses: null },
      done: { jobs: 3, recipients: 6, counts: { failed: 6, unknown: 0 } }
    })
    const listed = await host.admin("/retries?limit=1")
    expect(items(listed.json, "retries")).toEqual([at(done.json, "retry")])
    // They fail again, and the retry that is over takes nobody.
    for (const job of jobs)
      await eventually(
        () => host.admin(`/jobs/${job}`),
        ({ json }) => at(json, "job", "counts", "failed") === 2
      )
    const again = await host.admin(`/retries/${idOf(begun)}`)
    expect(at(again.json, "retry")).toEqual(at(done.json, "retry"))
    const canceled = await host.admin(`/retries/${idOf(begun)}/cancel`, undefined, "POST")
    expect(at(canceled.json, "retry", "status")).toBe("completed")
    const log = await host.admin("/audit?operation=retries.begin&limit=1")
    expect(items(log.json, "entries")).toMatchObject([
      { target: idOf(begun), after: { filter: { reference: "carried-out", codes } } }
    ])
  })

  it("is made once for an Idempotency-Key", async () => {
    const owner = await tenant(host)
    const filter = { account_id: owner.accountId }
    const headers = { "idempotency-key": "again" }
    const first = await retry({ filter }, headers)
    const second = await retry({ filter }, headers)
    expect(idOf(second)).toBe(idOf(first))
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    const other = await retry({ filter: { ...filter, statuses: ["unknown"] } }, headers)
    expect([other.status, at(other.json, "code"), at(other.json, "retry_id")]).toEqual([
      409,
      "idempotency_conflict",
      idOf(first)
    ])
    const faulty = await retry({ filter }, { "idempotency-key": "a b" })
    expect(at(faulty.json, "errors", 0, "code")).toBe("idempotency_key_invalid")
  })

  it.each([
    ["no filter", {}, ["/filter"]],
    ["a filter of nothing", { filter: {} }, ["/filter"]],
    ["a filter of recipients alone", { filter: { codes: ["busy"] } }, ["/filter"]],
    ["an unknown member", { filter: { reference: "a", phones: ["34600000001"] } }, ["/filter/phones"]],
    [
      "what cannot be, together",
      {
        filter: {
          account_id: "x",
          statuses: [],
          codes: [" "],
          created_after: "2026-02-02T00:00:00Z",
          created_before: "2026-02-01T00:00:00Z"
        }
      },
      ["/filter/account_id", "/filter/codes/0", "/filter/created_after", "/filter/statuses"]
    ]
  ])("is refused for %s", async (_, body, pointers) => {
    const { json, status } = await retry(body)
    expect(status).toBe(422)
    expect(
      items(json, "errors")
        .map((each) => at(each, "pointer"))
        .toSorted()
    ).toEqual(pointers)
  })

  it("is not found where there is none, and is begun by admins alone", async () => {
    const absent = "01930000-0000-7000-8000-000000000001"
    expect((await host.admin(`/retries/${absent}`)).status).toBe(404)
    expect((await host.admin(`/retries/${absent}/cancel`, undefined, "POST")).status).toBe(404)
    expect((await retry({ filter: { account_id: absent } })).status).toBe(404)
    const operator = await host.admin("/operators", { name: "reader", role: "read" })
    const headers = { authorization: `Bearer ${String(at(operator.json, "token"))}` }
    expect((await retry({ filter: { reference: "a" }, dry_run: true }, headers)).status).toBe(403)
    expect((await host.request("/admin/v1/retries", { headers })).status).toBe(200)
  })
})
