/** Tables at a terminal show what somebody asked for, however narrow it is. */
import { AdminApi, type Operation } from "@sendwright/core/contract"
import { describe, expect, it } from "vitest"
import * as Answer from "../../src/cli/Answer.ts"
import * as Screen from "../../src/cli/Screen.ts"

const stream = (columns: number) => Screen.make({ isTTY: true, columns }, {}, "1").out

const columnsOf = (name: string): Operation.Columns =>
  AdminApi.operations.find(({ command }) => command.name === name)?.command.columns ?? []

/** As a command tells it. */
const told = (name: string, body: unknown, columns: number): string =>
  Answer.text(body, stream(columns), { columns: columnsOf(name) })

const lines = (text: string): ReadonlyArray<string> => text.split("\n")

const headOf = (text: string): ReadonlyArray<string> => (lines(text)[0] ?? "").split(/ +/)

const id = (at: number): string => `01930000-0000-7000-8000-00000000000${at}`
const time = "2026-11-26T12:34:56.789Z"
const address = "https://hooks.shop.example/a/very/long/path/of/a/receiver?tenant=42"

const session = {
  id: id(1),
  account_id: id(2),
  name: "Orders of the shop",
  provider: "whatsapp_cloud",
  pacing: { messages_per_second: null, pair_interval_ms: null },
  retry_for: null,
  closed_markets: null,
  quiet_hours: { authentication: null, utility: null, marketing: null },
  keywords: { opt_out: null, opt_in: null },
  state: "disconnected",
  reason: null,
  blocked_until: null,
  unavailable_since: time,
  next_probe_at: time,
  connected_since: null,
  created_at: time,
  updated_at: time
}

const webhook = {
  id: id(1),
  account_id: id(2),
  url: address,
  events: ["job.completed", "recipient.failed"],
  description: null,
  enabled: true,
  disabled_reason: null,
  failing_since: time,
  deliveries_per_second: null,
  batch_recipients: false,
  secrets: [{ created_at: time, expires_at: null }],
  created_at: time,
  updated_at: time
}

const delivery = {
  id: id(1),
  webhook_id: id(2),
  event_id: id(3),
  event_type: "recipient.delivered",
  status: "exhausted",
  next_attempt_at: null,
  created_at: time,
  attempts: [200, 503].map((status, at) => ({
    number: at + 1,
    at: time,
    status,
    duration_ms: 41,
    reason: "status",
    response: "a text"
  }))
}

const counts = { total: 12, queued: 0, accepted: 0, sent: 0, delivered: 9, read: 0, failed: 3, unknown: 0 }

const job = {
  id: id(1),
  status: "completed",
  reference: null,
  template_id: 1,
  recipients: 12,
  counts,
  created_at: time,
  completed_at: time,
  links: { status: `/api/v1/template-messages/${id(1)}` },
  account_id: id(2),
  account: "The shop",
  session_id: id(3),
  session: "Orders",
  key: "pk_0123456789abcdef",
  idempotency_key: null,
  request_id: null,
  failures: [{ code: "recipient_unreachable", status: "failed", recipients: 3 }]
}

const entry = {
  id: id(1),
  at: time,
  operator: "cli:somebody",
  operation: "accounts.change",
  target: id(2),
  address: "203.0.113.7",
  request_id: id(3),
  before: { name: "My shop", plan: { subscription: false } },
  after: { name: "Our shop", plan: { subscription: true } }
}

const lists: ReadonlyArray<readonly [string, string, object, ReadonlyArray<string>]> = [
  ["sessions all", "sessions", session, ["id", "name", "state", "unavailable_since"]],
  ["sessions list", "sessions", session, ["id", "name", "state", "unavailable_since"]],
  ["webhooks all", "webhooks", webhook, ["id", "enabled", "failing_since", "url"]],
  ["webhooks list", "webhooks", webhook, ["id", "enabled", "failing_since", "url"]],
  ["deliveries list", "deliveries", delivery, ["id", "event_type", "status", "attempts", "answer"]],
  ["webhooks deliveries", "deliveries", delivery, ["id", "event_type", "status", "attempts", "answer"]],
  ["jobs list", "jobs", job, ["id", "status", "account", "counts.failed", "failures"]],
  ["audit", "entries", entry, ["at", "operator", "operation", "target", "address"]]
]

describe.each([80, 100, 160])("a table in %i columns", (width) => {
  it.each(lists)("of %s shows what is asked for, and says what it leaves out", (name, list, row, wanted) => {
    const text = told(name, { ok: true, [list]: [row, row], next_cursor: null }, width)
    expect(headOf(text)).toEqual(expect.arrayContaining([...wanted]))
    expect(lines(text).filter((line) => line.length > width)).toEqual([])
    expect(lines(text).at(-1)).toMatch(/^Left out: .*A pipe gets all as JSON\.$/)
  })
})

describe("a table", () => {
  it("leaves out what has no value in any row before it cuts, and keeps ids whole while there is room", () => {
    const text = told("sessions all", { ok: true, sessions: [session], next_cursor: null }, 160)
    expect(headOf(text)).not.toContain("blocked_until")
    expect(text).toContain(session.id)
    const calm = { ...session, unavailable_since: null }
    expect(headOf(told("sessions all", { ok: true, sessions: [calm] }, 80))).not.toContain(
      "unavailable_since"
    )
  })

  it("keeps a figure that one row has", () => {
    const none = { ...job, counts: { ...job.counts, failed: 0 }, failures: [] }
    const heads = [[none, job], [none]].map((jobs) => headOf(told("jobs list", { ok: true, jobs }, 80)))
    expect(heads.map((head) => head.includes("counts.failed"))).toEqual([true, false])
  })

  it("that fits has all of its columns, also those that nobody knows", () => {
    const estimates = [{ currency: "EUR", total: null, complete: false }]
    expect(lines(told("retries begin", { ok: true, estimates }, 80))).toEqual([
      "currency  total  complete",
      "EUR       -      false"
    ])
  })

  it("tells how often something was tried, and what was answered last", () => {
    const [head = "", first = ""] = lines(told("deliveries list", { ok: true, deliveries: [delivery] }, 160))
    const place = (name: string) => first.slice(head.indexOf(name)).split(" ")[0]
    expect([place("attempts"), place("answer")]).toEqual(["2", "503"])
  })

  it("without rows is none", () => {
    expect(told("accounts list", { ok: true, accounts: [], next_cursor: null }, 80)).toBe("accounts  none")
  })

  it("names no column that its operation does not answer", () => {
    const described = new Map(
      lists.map(([name, , row]) => [
        name,
        Answer.text({ ok: true, rows: [row] }, stream(2000), { columns: columnsOf(name) })
      ])
    )
    for (const [name, text] of described)
      expect(headOf(text).slice(0, columnsOf(name).length)).toEqual(
        columnsOf(name).map((each) => (typeof each === "string" ? each : each[0]))
      )
  })
})
