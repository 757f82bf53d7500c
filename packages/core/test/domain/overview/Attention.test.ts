/** What needs somebody, and the verdict by the same rule (contract.md §12). */
import { describe, expect, it } from "vitest"
import * as Plan from "../../../src/domain/account/Plan.ts"
import type { Happening } from "../../../src/domain/Happening.ts"
import * as Time from "../../../src/domain/Instant.ts"
import type { Tally } from "../../../src/domain/job/Tally.ts"
import type { Item, Kind } from "../../../src/domain/overview/Attention.ts"
import * as Attention from "../../../src/domain/overview/Attention.ts"
import * as Figures from "../../../src/domain/overview/Figures.ts"
import * as Health from "../../../src/domain/overview/Health.ts"
import type { StoreReadings, Troubled } from "../../../src/domain/overview/StoreReadings.ts"
import * as Circuit from "../../../src/domain/session/Circuit.ts"
import * as Webhook from "../../../src/domain/webhook/Webhook.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { account, group, now, over, session, waits, well } from "./Support.ts"

const itemsOf = (facts: StoreReadings): ReadonlyArray<Item> =>
  Attention.attentionOf(facts, Figures.sessionsOf(facts))

const look = (some: Partial<StoreReadings>): ReadonlyArray<Item> => itemsOf({ ...well, ...some })

const minute = Time.before(now, now % Time.minute)

const tally = (some: Partial<Tally>): Tally => ({
  minute,
  sessionId: session.id,
  outcome: "failed",
  code: "rejected",
  count: 1,
  ...some
})

const happening = (some: Partial<Happening>): Happening => ({
  at: Time.before(now, 60_000),
  type: "process.lost",
  accountId: null,
  sessionId: null,
  subject: "p9",
  data: {},
  ...some
})

const outage = Circuit.begin(Time.before(now, 90_000))
const out = { ...session, outage }
const endpoint = Fixtures.endpoint(account.id, { url: "https://receiver.example/hook?token=secret" })
const troubled = (some: Partial<Webhook.Endpoint>, last: Troubled["last"] = null) => ({
  webhooks: { ...well.webhooks, troubled: [{ endpoint: { ...endpoint, ...some }, waiting: 3, last }] }
})
const template = {
  ...Fixtures.template({ name: "offer", language: "en", status: "paused" }),
  names: [],
  templateId: 7,
  sessionId: session.id,
  updatedAt: Time.before(now, 3000)
}

/** Each with what is wrong, since when it is, how many it costs something, and the verdict. */
const paced = { ...session, pacing: { ...session.pacing, messagesPerSecond: 1 } }

const cases: ReadonlyArray<readonly [Kind, Partial<StoreReadings>, number | null, number, Item["verdict"]]> =
  [
    [
      "restore_held",
      {
        quarantine: {
          reason: "older",
          since: Time.before(now, 7),
          counts: { jobs: 0, unknown: 0, canceled: 0, sent: 0 }
        },
        ...waits(group(5))
      },
      now - 7,
      5,
      "failing"
    ],
    ["no_worker", { isDispatched: false, processes: [], ...waits(group(5)) }, now - 5000, 5, "failing"],
    [
      "disk_full",
      { storage: { ...well.storage, bytesPerDay: 400_000_000, fullAt: Time.after(now, 54 * Time.hour) } },
      null,
      0,
      "failing"
    ],
    [
      "disk_full",
      { storage: { ...well.storage, bytesPerDay: 45_000_000, fullAt: Time.after(now, 20 * Time.day) } },
      null,
      0,
      "degraded"
    ],
    [
      "session_unavailable",
      {
        ...over({ outage }),
        ...waits(group(5, { session: out }), group(4, { session: Fixtures.session("b") }))
      },
      now - 90_000,
      5,
      "degraded"
    ],
    [
      "session_unavailable",
      { ...over({ outage }), ...waits(group(5, { session: out })) },
      now - 90_000,
      5,
      "failing"
    ],
    ["session_blocked", over({ blockedUntil: Time.after(now, 9) }), now - 1000, 0, "degraded"],
    [
      "session_disconnected",
      over({ state: "disconnected", reason: "The token is over" }),
      now - 1000,
      0,
      "degraded"
    ],
    [
      "session_disconnected",
      {
        ...over({ state: "disconnected", reason: "operator" }),
        ...waits(group(2, { status: "paused", session: { ...session, state: "disconnected" } }))
      },
      now - 1000,
      2,
      "failing"
    ],
    ["process_lost", { happenings: [happening({})] }, now - 60_000, 0, "degraded"],
    [
      "template_paused",
      {
        templates: [template],
        ...waits(group(6, { status: "paused", pauseReason: "template_paused", templateId: 7 }), group(1))
      },
      now - 3000,
      6,
      "degraded"
    ],
    [
      "template_paused",
      {
        happenings: [
          happening({
            type: "template.status",
            sessionId: session.id,
            subject: "8",
            data: { name: "a", language: "en", before: "approved", status: "disabled" }
          })
        ]
      },
      now - 60_000,
      0,
      "degraded"
    ],
    [
      "queue_slow",
      waits(group(8, { oldestAt: Time.before(now, Time.hour) })),
      now - Time.hour,
      8,
      "degraded"
    ],
    [
      "failures_rising",
      { tallies: [tally({ count: 30 }), tally({ outcome: "accepted", code: "", count: 70 })] },
      minute,
      30,
      "degraded"
    ],
    [
      "failures_rising",
      {
        tallies: [
          tally({ count: 30 }),
          tally({ count: 25, code: "template_paused" }),
          tally({ outcome: "mended", count: 25, code: "template_paused" }),
          tally({ outcome: "retried", count: 400, code: "provider_error" }),
          tally({ outcome: "accepted", code: "", count: 70 })
        ]
      },
      minute,
      30,
      "degraded"
    ],
    [
      "queue_slow",
      waits(group(8, { session: paced, oldestAt: Time.before(now, Time.hour + 1) })),
      now - Time.hour - 1,
      8,
      "degraded"
    ],
    [
      "poisoned",
      { tallies: [tally({ outcome: "unknown", code: "poisoned", count: 2 })] },
      minute,
      2,
      "degraded"
    ],
    [
      "unknown_outcomes",
      { unknowns: { recipients: 3, jobs: 2, since: Time.before(now, 11) } },
      now - 11,
      3,
      "degraded"
    ],
    [
      "webhook_disabled",
      troubled({
        enabled: false,
        disabledReason: "Every delivery failed for 5 days.",
        updatedAt: Time.before(now, 4)
      }),
      now - 4,
      3,
      "degraded"
    ],
    ["webhook_failing", troubled({ failingSince: Time.before(now, 61_000) }), now - 61_000, 3, "degraded"],
    [
      "quota_full",
      { usage: [{ account, template: Plan.defaults.dailyTemplateRecipients ?? 0, direct: 0 }] },
      null,
      100_000,
      "degraded"
    ],
    [
      "refusals_doubtful",
      { doubts: { count: 2, firstAt: Time.before(now, 7), accountId: account.id } },
      now - 7,
      2,
      "degraded"
    ],
    [
      "hooks_unread",
      { unread: { count: 4, firstAt: Time.before(now, 8), sessionId: session.id } },
      now - 8,
      4,
      "degraded"
    ],
    [
      "erasure_stuck",
      { stuckErasures: [Time.before(now, 9), Time.before(now, 10)] },
      now - 10,
      2,
      "degraded"
    ],
    ["clock_differs", { clock: { differenceMs: -6000, uncertain: false } }, null, 0, "degraded"]
  ]

describe("attention", () => {
  it("names no code that nobody failed with, and has nothing once all was sent again", () => {
    const failed = [tally({ count: 30 }), tally({ outcome: "retried", count: 99, code: "provider_error" })]
    const codes = look({ tallies: failed }).map(({ cause }) => cause)
    expect(codes).toEqual([expect.not.stringContaining("provider_error")])
    const mended = tally({ outcome: "mended", count: 30 })
    expect(look({ tallies: [...failed, mended] })).toEqual([])
    const poisoned = tally({ outcome: "unknown", code: "poisoned", count: 2 })
    expect(look({ tallies: [poisoned, tally({ outcome: "mended", code: "poisoned", count: 2 })] })).toEqual(
      []
    )
  })

  it("leaves alone what its pace keeps for less than an hour", () => {
    expect(look(waits(group(8, { session: paced, oldestAt: Time.before(now, Time.hour) })))).toEqual([])
  })

  it("has nothing where all is well", () => {
    expect(itemsOf(well)).toEqual([])
    expect(look(waits(group(50)))).toEqual([])
  })

  it.each(cases)("has %s", (kind, facts, since, count, verdict) => {
    expect(look(facts)).toMatchObject([{ kind, since, count, verdict }])
    const [item] = look(facts)
    for (const text of [item?.title, item?.cost, item?.cause, item?.next]) expect(text).not.toBe("")
    // Sentences, of which each ends.
    for (const text of [item?.cost, item?.cause, item?.next]) expect(text).toMatch(/[.!?]$/)
  })

  it("has a case for each kind", () => {
    expect([...new Set(cases.map(([kind]) => kind))]).toEqual(Attention.kinds)
  })

  it("tells a dead process by its silence, once, with what it has in its hands", () => {
    const dead = {
      id: "p9",
      role: "worker",
      version: "1",
      since: Time.at(0),
      seenAt: Time.before(now, 15_001),
      inFlight: 4,
      slots: 8
    }
    const processes = [...well.processes, dead]
    const happenings = [happening({})]
    expect(look({ processes, happenings })).toMatchObject([
      { kind: "process_lost", count: 4, since: dead.seenAt }
    ])
    const lives = { ...dead, seenAt: Time.before(now, 14_999) }
    expect(look({ processes: [lives] })).toEqual([])
  })

  it("leaves alone what is meant so, and what may mend itself in a moment", () => {
    expect(look(over({ state: "disconnected", reason: "operator" }))).toEqual([])
    expect(look(over({ state: "disconnected", reason: "never_connected" }))).toEqual([])
    expect(look({ isDispatched: false, processes: [] })).toEqual([])
    expect(look(troubled({ enabled: false, disabledReason: Webhook.disabledByOperator }))).toEqual([])
    expect(look(troubled({ failingSince: Time.before(now, 59_000) }))).toEqual([])
    expect(look({ tallies: [tally({ count: 19 })] })).toEqual([])
    const always = [tally({ count: 30 }), tally({ minute: Time.at(minute - 30 * Time.minute), count: 300 })]
    expect(look({ tallies: always })).toEqual([])
    const paced = { ...session, pacing: { messagesPerSecond: 1, pairIntervalMs: null } }
    expect(look(waits(group(8, { session: paced, oldestAt: Time.before(now, Time.hour) })))).toEqual([])
    const mended = ["approved", "paused"].map((status) =>
      happening({ type: "template.status", sessionId: session.id, subject: "8", data: { status } })
    )
    expect(look({ happenings: mended })).toEqual([])
  })

  it("puts first what stops everything, then the kinds in their order, and of a kind what costs most", () => {
    const other = Fixtures.session(account.id, { outage })
    const found = look({
      sessions: [
        { session: { ...session, outage }, account },
        { session: other, account }
      ],
      ...waits(
        group(1, { session: out }),
        group(9, { session: other }),
        group(5, { session: Fixtures.session("c") })
      ),
      storage: { ...well.storage, bytesPerDay: 0, freeBytes: 100_000_000, fullAt: null },
      unknowns: { recipients: 99, jobs: 1, since: now }
    })
    expect(found.map(({ count, kind }) => [kind, count])).toEqual([
      ["disk_full", 0],
      ["session_unavailable", 9],
      ["session_unavailable", 1],
      ["unknown_outcomes", 99]
    ])
  })

  it("is short however much is wrong: the most of a kind, and the others in one", () => {
    const sessions = Array.from({ length: 40 }, () => ({
      session: Fixtures.session(account.id, { outage }),
      account
    }))
    const found = look({ sessions })
    expect(found).toHaveLength(11)
    expect(found.at(-1)?.title).toMatch(/^30 more: /)
  })

  it("tells of an outage how its attempts end lately, and is no surer than that", () => {
    const titled = (...tallies: ReadonlyArray<Tally>) => look({ ...over({ outage }), tallies })[0]
    const retried = (code: string, ago = 0): Tally =>
      tally({ outcome: "retried", code, count: 7 - ago, minute: Time.at(minute - ago * Time.minute) })
    expect(titled(retried("provider_unavailable"))).toMatchObject({
      title: "The platform of News (sandbox, Acme) answers with errors",
      cause: expect.stringContaining("provider_unavailable")
    })
    expect(titled(retried("provider_unreachable"))?.title).toMatch(/cannot be reached$/)
    expect(titled(retried("outcome_unknown"))?.title).toMatch(/does not answer$/)
    // What was so half an hour ago says nothing of now.
    const long = { ...retried("provider_unreachable", 30), count: 900 }
    expect(titled(long, retried("provider_unavailable"))?.title).toMatch(/answers with errors$/)
    expect(titled(long, tally({ code: "recipient_invalid", count: 99 }))).toMatchObject({
      title: expect.stringMatching(/does not answer, or with errors$/),
      cause: "It is out, cannot be reached from here, or answers with errors."
    })
  })

  it("tells what a receiver answered last", () => {
    const cause = (last: Troubled["last"]) => look(troubled({ failingSince: Time.at(0) }, last))[0]?.cause
    expect(cause({ status: 503, reason: "status" })).toBe("It answered 503, where 2xx is asked for.")
    expect(cause({ status: null, reason: "timeout" })).toBe(
      "It does not answer: an attempt ended with timeout."
    )
    expect(cause(null)).toMatch(/its last deliveries tell how/)
  })

  it("does not say that nothing waits for a template that jobs may come to", () => {
    const happenings = [
      happening({ type: "template.status", sessionId: session.id, subject: "8", data: { status: "paused" } })
    ]
    const [item] = look({ happenings, ...waits(group(2)) })
    expect(item?.cost).toMatch(/^What waits with it is kept as its turn comes\./)
    // Whatever else keeps them.
    const held = {
      reason: "older",
      since: Time.before(now, 7),
      counts: { jobs: 0, unknown: 0, canceled: 0, sent: 0 }
    } as const
    const paused = group(6, { status: "paused", pauseReason: "template_paused", templateId: 7 })
    const found = look({ quarantine: held, templates: [template], ...waits(paused) })
    expect(found.find(({ kind }) => kind === "template_paused")?.count).toBe(6)
  })

  it("tells of a template what its provider can do, and no surer cause than is known", () => {
    const facts = {
      templates: [template],
      ...waits(group(6, { status: "paused", pauseReason: "template_paused", templateId: 7 }))
    }
    const [read] = look(facts)
    expect(read?.next).toContain(`sendwright templates sync ${session.id}`)
    expect(read?.cause).toMatch(/or it was imported so\.$/)
    const [imported] = look({ ...facts, synced: new Set() })
    expect(imported?.next).toContain(`sendwright templates import ${session.id} <file.json>`)
    expect(imported?.cause).toBe("It was imported with this status, or its platform told it.")
  })

  it("names the flag that raises a quota, and times to the second", () => {
    const { dailyDirectMessages, dailyTemplateRecipients } = Plan.defaults
    const used = { account, template: dailyTemplateRecipients ?? 0, direct: dailyDirectMessages ?? 0 }
    const steps = look({ usage: [used] }).map(({ next }) => next)
    expect(steps[0]).toContain(`accounts change ${account.id} --daily-template-recipients <number>.`)
    if (dailyDirectMessages !== null) expect(steps[1]).toContain("--daily-direct-messages <number>.")
    expect(steps[0]).toMatch(/at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/)
  })

  it("tells no part of an address that may be secret", () => {
    expect(JSON.stringify(look(troubled({ failingSince: Time.at(0) })))).not.toContain("secret")
  })
})

describe("the report of health", () => {
  const report = (some: Partial<StoreReadings>, checks: ReadonlyArray<Health.Check> = []) =>
    Health.healthOf({ attention: look(some) }, checks, { at: now, version: "1" })

  it("is ok without a line where all is well", () => {
    expect(report({})).toEqual({ at: now, version: "1", verdict: "ok", lines: [] })
  })

  it("is as bad as the worst that needs somebody", () => {
    const degraded = { unread: { count: 4, firstAt: Time.before(now, 8), sessionId: session.id } }
    expect(report(degraded).verdict).toBe("degraded")
    const failing = report({ ...degraded, isDispatched: false, ...waits(group(5)) })
    expect(failing.verdict).toBe("failing")
    expect(failing.lines.map(({ lacks }) => lacks)).toEqual(["flowing", "fresh"])
    expect(failing.lines.map(({ kind }) => kind)).toEqual(["no_worker", "hooks_unread"])
  })

  it("fails where the process is not ready, or the store cannot be read", () => {
    const check = { name: "storage", fault: "A small write did not end within 2 seconds." }
    expect(report({}, [check])).toMatchObject({
      verdict: "failing",
      lines: [{ kind: "not_ready", cause: check.fault }]
    })
    const told = { at: now, version: null }
    expect(Health.healthOf(null, [], told)).toMatchObject({ verdict: "failing", lines: [{}] })
    expect(Health.healthOf(null, [check], told).lines).toHaveLength(1)
  })
})
