/** The story of a message is told from its rows alone: each kind of row has its entry, and what no row tells is null. */

import { describe, expect, it } from "@effect/vitest"
import type { Happening } from "../../../src/domain/Happening.ts"
import * as Time from "../../../src/domain/Instant.ts"
import type { EarlierAttempt } from "../../../src/domain/job/Attempts.ts"
import * as Jobs from "../../../src/domain/job/Job.ts"
import * as Obstacles from "../../../src/domain/job/Obstacles.ts"
import * as Timeline from "../../../src/domain/job/Timeline.ts"
import * as Transitions from "../../../src/domain/job/Transitions.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"

const { now } = Fixtures
const minute = 60_000
const account = Fixtures.account({ name: "Shop" })
const session = Fixtures.session(account.id, { name: "Orders" })
const command = Fixtures.send(
  { accountId: account.id, sessionId: session.id, publicKey: "pk_1" },
  { requestId: "request-1", estimatedCost: "0.0100", key: "key-1" }
)
const job: Jobs.Job = Jobs.newJob({
  ...command,
  requestId: "request-1",
  idempotencyKey: "key-1",
  recipients: 1
})
const fresh = Jobs.newRecipient(
  command.recipients[0] ?? { address: "", externalId: null, values: [], market: null, price: null },
  0,
  now
)
const failure = {
  code: "recipient_unreachable",
  provider_code: "131026",
  message: "Not there.",
  permanent: true
}

const rows = (some: Partial<Timeline.Rows> = {}): Timeline.Rows => ({
  job,
  recipient: fresh,
  account,
  session,
  earlier: [],
  decisions: [],
  words: [],
  happenings: [],
  acts: [],
  sessionActs: [],
  deliveries: [],
  replies: [],
  cut: [],
  ...some
})

const known: Timeline.Known = {
  now: Time.after(now, 10 * minute),
  waiting: null,
  actual: null,
  isOperator: true,
  readsDirect: true
}

const story = (some: Partial<Timeline.Rows> = {}, more: Partial<Timeline.Known> = {}) =>
  Timeline.story(rows(some), { ...known, ...more })

/** The entries of a kind, by some of their members. */
const told = (kind: Timeline.Kind, some: Partial<Timeline.Rows>, more: Partial<Timeline.Known> = {}) =>
  story(some, more).timeline.filter((each) => each.kind === kind)

const settled = (at: Time.Instant, outcome: Transitions.Settled, recipient = Transitions.claim(fresh, at)) =>
  Transitions.settle(job, recipient, outcome, at)

const accepted = (at: Time.Instant) =>
  settled(at, { _tag: "Accepted", providerId: "wamid.1", status: "accepted" })

const reported = (
  recipient: Jobs.RecipientResult,
  status: "delivered" | "failed" | "read" | "sent",
  at: Time.Instant
) =>
  Transitions.report(
    recipient,
    { status, at, failure: status === "failed" ? failure : null, providerId: "wamid.1" },
    Time.after(at, 500)
  )

const happening = (type: Happening["type"], at: Time.Instant, data: Happening["data"] = {}): Happening => ({
  at,
  type,
  accountId: account.id,
  sessionId: session.id,
  subject: session.id,
  data
})

const earlier = (some: Partial<EarlierAttempt>): EarlierAttempt => ({
  number: 1,
  at: Time.after(now, minute),
  outcome: "retried",
  code: "rate_limited",
  providerCode: "130429",
  message: null,
  ms: 200,
  process: "process-1",
  ...some
})

describe("what is told of a message", () => {
  it("is who it is for, what it said, and what it costs", () => {
    const { message } = story({ recipient: accepted(Time.after(now, 1)) }, { actual: "0" })
    expect(message).toMatchObject({
      jobId: job.id,
      messageId: `${job.id.slice(0, -3)}001`,
      phone: fresh.address,
      status: "accepted",
      template: { templateId: 1, name: "greeting", language: "en" },
      account: "Shop",
      session: "Orders",
      estimated: "0.0100",
      actual: "0",
      isErased: false,
      content: { header: null, body: "Hello Name 0", footer: null, buttons: [] }
    })
  })

  it("is that its variables, and its person, are forgotten", () => {
    const expired = { ...job, contentExpiredAt: Time.after(now, minute) }
    const gone = { ...accepted(Time.after(now, 1)), address: `erased:${"0".repeat(24)}`, values: [] }
    const { message, next, timeline } = story({
      job: expired,
      recipient: { ...gone, status: "failed", failure }
    })
    expect(message).toMatchObject({
      isErased: true,
      contentExpiredAt: now + minute,
      content: { body: "Hello {{1}}" }
    })
    expect(timeline[0]?.text).toContain("forgotten")
    expect(next.find(({ action }) => action === "retry")).toMatchObject({
      allowed: false,
      why: "What it said is kept no longer."
    })
    const erased = story({ recipient: { ...gone, status: "failed", failure } })
    expect(erased.next.find(({ action }) => action === "retry")).toMatchObject({
      allowed: false,
      why: "The person was erased."
    })
  })

  it("is the acceptance, by its key and its request", () => {
    const [first, ...others] = told("accepted", {})
    expect(others).toEqual([])
    expect(first).toMatchObject({
      at: now,
      key: "pk_1",
      requestId: "request-1",
      address: null,
      about: { of: "job", id: job.id }
    })
    expect(first?.text).toContain("key-1")
  })

  it("is each attempt, counted on over retries, in the words of then, beside what receipts said", () => {
    const requeued = { ...accepted(Time.after(now, 4 * minute)), requeuedAt: Time.after(now, 3 * minute) }
    const rows = {
      recipient: requeued,
      earlier: [
        earlier({
          at: Time.after(now, minute),
          outcome: "released",
          code: "credentials_rejected",
          message: "Token expired."
        }),
        earlier({ at: Time.after(now, 2 * minute), outcome: "accepted", code: null, providerCode: null }),
        earlier({
          at: Time.after(now, 2 * minute + 1),
          outcome: "reported",
          code: "undelivered",
          message: "Not there."
        })
      ]
    } as const
    expect(told("attempt", rows).map(({ number, outcome, text }) => [number, outcome, text])).toEqual([
      [1, "released", "Token expired. The platform's own code is 130429."],
      [2, "accepted", null],
      [3, "accepted", null]
    ])
    expect(told("receipt", rows).map(({ code, title }) => [title, code])).toEqual([
      ["Failed, as the platform reports", "undelivered"]
    ])
    const late = reported(
      settled(Time.after(now, minute), { _tag: "Unknown", failure }),
      "delivered",
      Time.after(now, 2 * minute)
    )
    const unknown = earlier({ outcome: "unknown", message: "It did not answer." })
    const both = { recipient: late, earlier: [unknown] }
    expect(told("attempt", both).map(({ number, outcome }) => [number, outcome])).toEqual([[1, "unknown"]])
    expect(told("receipt", both).map(({ title }) => title)).toEqual(["Delivered"])
  })

  it("is the pace of then, and who changed it since", () => {
    const paced = { ...session, pacing: { messagesPerSecond: 50, pairIntervalMs: null } }
    const view = (pace: number) => ({ pacing: { messages_per_second: pace, pair_interval_ms: null } })
    const raised = Fixtures.auditEntry({
      at: Time.after(now, 2 * minute),
      operator: "ana",
      operation: "sessions.change",
      before: view(1),
      after: view(50)
    })
    const rows = { recipient: accepted(Time.after(now, minute)), session: paced, sessionActs: [raised] }
    expect(told("waited", rows)[0]?.text).toBe(
      `Its session sent 1 messages a second, and had others before it. ana changed that at ${new Date(now + 2 * minute).toISOString()}, to 50.`
    )
    expect(told("waited", rows, { isOperator: false })[0]?.text).toContain("An operator changed that")
    expect(told("attempt", rows)[0]).toMatchObject({ pace: 1 })
    expect(told("attempt", { ...rows, sessionActs: [] })[0]).toMatchObject({ pace: 50 })
  })

  it("is no key of an acceptance in the engine's own process", () => {
    const [first] = told("accepted", { job: { ...job, publicKey: job.sessionId } })
    expect(first).toMatchObject({ key: null })
    expect(first?.text).toContain("In the engine's own process, in the request request-1.")
  })

  it("is no text of a direct message to a key that may not read these", () => {
    const direct = { ...job, content: { kind: "direct", text: "Ready.", linkPreview: false } as const }
    expect(story({ job: direct }).message.content.body).toBe("Ready.")
    expect(story({ job: direct }, { isOperator: false, readsDirect: false }).message.content.body).toBeNull()
    expect(story({}, { isOperator: false, readsDirect: false }).message.content.body).toBe("Hello Name 0")
  })

  it("is the consent that decided, once where one decided twice, and its refusal", () => {
    const record = Fixtures.consent(fresh.address, { source: "checkout" })
    const later = Fixtures.consent(fresh.address, { purpose: "utility", recordedAt: Time.after(now, 5) })
    const recipient = accepted(Time.after(now, minute))
    const decisions = [
      { at: now, record },
      { at: Time.after(now, minute), record }
    ]
    expect(told("consent", { recipient, decisions })).toHaveLength(1)
    const both = told("consent", {
      recipient,
      decisions: [
        { at: now, record },
        { at: Time.after(now, minute), record: later }
      ]
    })
    expect(both.map(({ at, title }) => [at - now, title])).toEqual([
      [0, "Consent was granted for messages of every purpose"],
      [minute, "Consent was granted for utility messages"]
    ])
    expect(both[0]?.text).toContain("checkout")
    expect(told("consent", { decisions: [{ at: now, record: null }] })[0]?.title).toContain(
      "No consent record"
    )
    const consentRevoked = {
      code: "consent_revoked",
      provider_code: null,
      message: "Revoked.",
      permanent: true
    }
    const skipped = settled(Time.after(now, minute), { _tag: "Skipped", failure: consentRevoked })
    const refused = told("consent", {
      recipient: skipped,
      decisions: [
        { at: now, record },
        { at: Time.after(now, minute), record: { ...later, status: "revoked" } }
      ]
    })
    expect(refused.map(({ at, code }) => [at - now, code])).toEqual([
      [0, null],
      [minute, "consent_revoked"]
    ])
    expect(told("attempt", { recipient: skipped })).toEqual([])
  })

  it("is each attempt: earlier ones with their time and process, the last where it has a row", () => {
    const recipient = { ...accepted(Time.after(now, 3 * minute)), attempts: 2 }
    expect(
      told("attempt", { earlier: [earlier({})], recipient }).map(
        ({ at, code, ms, number, outcome, process }) => ({
          at: at - now,
          code,
          ms,
          number,
          outcome,
          process
        })
      )
    ).toEqual([
      { at: minute, number: 1, outcome: "retried", code: "rate_limited", ms: 200, process: "process-1" },
      { at: 3 * minute, number: 2, outcome: "accepted", code: null, ms: null, process: null }
    ])
    const own = { number: 2, code: null, providerCode: null, ms: 70 }
    for (const outcome of ["accepted", "unknown"] as const)
      expect(
        told("attempt", {
          earlier: [earlier({}), earlier({ ...own, at: Time.after(now, 3 * minute), outcome })],
          recipient
        })
      ).toMatchObject([
        { number: 1, outcome: "retried" },
        { number: 2, outcome, ms: 70, process: "process-1" }
      ])
    // One that waits for its next attempt has told of its last one.
    const waiting = settled(Time.after(now, minute), {
      _tag: "Retry",
      at: Time.after(now, 20 * minute),
      failure,
      maybeSent: false
    })
    expect(told("attempt", { earlier: [earlier({})], recipient: waiting })).toHaveLength(1)
    const flying = { ...Transitions.claim(fresh, Time.after(now, minute)) }
    expect(told("attempt", { recipient: flying })).toMatchObject([{ outcome: "under_way", number: 1 }])
    const unknown = settled(Time.after(now, minute), {
      _tag: "Unknown",
      failure: { ...failure, code: "outcome_unknown" }
    })
    expect(told("attempt", { recipient: unknown })).toMatchObject([{ outcome: "unknown", at: now + minute }])
  })

  it("is a failure by an attempt, by a receipt, and with its whole job, each in its own way", () => {
    const failed = settled(Time.after(now, minute), { _tag: "Failed", failure })
    expect(told("attempt", { recipient: failed })).toMatchObject([
      { outcome: "failed", code: failure.code, text: "Not there. The platform's own code is 131026." }
    ])
    expect(told("receipt", { recipient: failed })).toEqual([])
    const late = reported(accepted(Time.after(now, minute)), "failed", Time.after(now, 2 * minute))
    expect(told("attempt", { recipient: late })).toMatchObject([
      { outcome: "accepted", at: now + minute, code: null }
    ])
    expect(told("receipt", { recipient: late })).toMatchObject([
      { code: failure.code, at: now + 2 * minute + 500 }
    ])
    const abandoned = Transitions.abandon(fresh, failure, Time.after(now, minute))
    expect(told("attempt", { recipient: abandoned })).toMatchObject([{ number: null, outcome: "failed" }])
  })

  it("is each receipt, behind the attempt although the platform's second began before it", () => {
    const attempted = Time.after(now, 1900)
    const sent = reported(accepted(attempted), "sent", Time.after(now, 1000))
    const read = reported(reported(sent, "delivered", Time.after(now, 3000)), "read", Time.after(now, 9000))
    const { timeline } = story({ recipient: { ...read, pricing: { category: "utility", free: false } } })
    expect(
      timeline.flatMap(({ at, kind, title }) => (kind === "waited" ? [] : [[kind, title, at - now]]))
    ).toEqual([
      ["accepted", "Accepted", 0],
      ["attempt", "Attempt 1: the platform took it", 1900],
      ["receipt", "Sent by the platform", 1000],
      ["receipt", "Delivered", 3000],
      ["receipt", "Read", 9000]
    ])
    expect(timeline.find(({ title }) => title === "Delivered")?.text).toBe(
      "The platform bills it as utility."
    )
  })

  it("is the attempt before its own receipts, and what these led to, although its end was written after them", () => {
    const early = reported(
      reported(accepted(Time.after(now, 589)), "sent", Time.after(now, 551)),
      "delivered",
      Time.after(now, 556)
    )
    const { timeline } = story({ recipient: early, replies: [{ at: Time.after(now, 570), text: "Thanks" }] })
    expect(timeline.map(({ at, kind }) => [kind, at - now])).toEqual([
      ["accepted", 0],
      ["attempt", 589],
      ["receipt", 551],
      ["receipt", 556],
      ["inbound", 570]
    ])
  })

  it("is what people answered, and what they said of consent since", () => {
    const word = Fixtures.consent(fresh.address, {
      status: "revoked",
      source: "inbound-message",
      recordedAt: Time.after(now, 2 * minute)
    })
    const found = told("inbound", {
      words: [word],
      replies: [{ at: Time.after(now, minute), text: "Where is it?" }]
    })
    expect(found.map(({ at, text, title }) => [at - now, title, text])).toMatchObject([
      [minute, "A message came from the number", "Where is it?"],
      [
        2 * minute,
        "The person revoked consent for messages of every purpose",
        expect.stringContaining("inbound")
      ]
    ])
  })

  it("is each webhook with its endpoint, its answer and its time", () => {
    const endpoint = { id: "webhook-1", url: "https://user:secret@shop.example/in?token=1", enabled: true }
    const delivery: Timeline.ToldDelivery = {
      id: "delivery-1",
      endpointId: endpoint.id,
      eventId: "event-1",
      eventType: "recipient.delivered",
      status: "pending",
      nextAt: Time.after(now, 7 * minute),
      createdAt: now,
      endpoint,
      attempts: [
        { number: 1, at: Time.after(now, 10), status: 503, durationMs: 40, reason: "status" },
        { number: 2, at: Time.after(now, 5000), status: null, durationMs: 10_000, reason: "timeout" }
      ]
    }
    const deliveries = [delivery, { ...delivery, id: "delivery-2", attempts: [] }]
    const found = told("webhook", { deliveries })
    expect(found.map(({ answer, code, endpoint, ms }) => [endpoint, answer, code, ms])).toEqual([
      ["webhook-1", null, null, null],
      ["webhook-1", 503, "status", 40],
      ["webhook-1", null, "timeout", 10_000]
    ])
    expect(found[1]?.text).toBe("https://shop.example/in. It answered otherwise than with success.")
    expect(found[2]?.text).toContain("tried again at")
    expect(JSON.stringify(found)).not.toMatch(/secret|token/)
    const old = reported(accepted(Time.after(now, 1)), "delivered", Time.after(now, 2))
    const month = 31 * 24 * 60 * minute
    expect(told("webhook", { recipient: old }, { now: Time.after(now, month) })).toMatchObject([
      { code: "expired" }
    ])
    expect(told("webhook", { recipient: old })).toEqual([])
  })

  it("is that an operator had it sent again, who canceled it, and from where", () => {
    const failed = settled(Time.after(now, minute), { _tag: "Failed", failure })
    const requeued = Transitions.requeue(failed, Time.after(now, 5 * minute))
    const act = Fixtures.auditEntry({
      at: Time.after(now, 5 * minute + 3),
      operation: "jobs.retry",
      target: job.id,
      after: { dry_run: false }
    })
    const again = told("retried", {
      recipient: requeued,
      earlier: [earlier({ outcome: "failed" })],
      acts: [{ ...act, at: Time.after(now, 4 * minute), after: { dry_run: true } }, act]
    })
    expect(again).toMatchObject([
      { at: now + 5 * minute, text: "By ana.", address: "203.0.113.7", about: { of: "acts", id: job.id } }
    ])
    const canceled = { ...job, status: "canceled" as const }
    const by = Fixtures.auditEntry({ operation: "jobs.cancel", target: job.id, at: Time.after(now, minute) })
    const recipient = Transitions.cancel(fresh, Time.after(now, minute))
    const [found] = told("canceled", { job: canceled, recipient, acts: [by] })
    expect(found).toMatchObject({ at: now + minute, text: "By ana.", address: "203.0.113.7" })
    expect(told("canceled", { job: canceled, recipient })).toMatchObject([{ text: "With its job." }])
  })

  it("is what became of it by a restore", () => {
    const unknown = Transitions.restore(Transitions.claim(fresh, now), "unknown", Time.after(now, minute))
    expect(told("restored", { recipient: unknown })).toMatchObject([{ at: now + minute, code: "restored" }])
    expect(told("attempt", { recipient: unknown })).toEqual([])
    const opened = { ...happening("restore.opened", Time.after(now, minute)), sessionId: null }
    expect(
      told("restored", { recipient: accepted(Time.after(now, 2 * minute)), happenings: [opened] })
    ).toHaveLength(1)
  })

  it("is, to who has an API key, without addresses, processes, operators and what only these read", () => {
    const recipient = {
      ...Transitions.requeue(settled(now, { _tag: "Failed", failure }), Time.after(now, minute))
    }
    const act = Fixtures.auditEntry({
      operation: "jobs.retry",
      target: job.id,
      at: Time.after(now, minute),
      after: {}
    })
    const { timeline } = story({ recipient, acts: [act], earlier: [earlier({})] }, { isOperator: false })
    expect(timeline.flatMap((each) => (each.kind === "retried" ? [each.text] : []))).toEqual([
      "By an operator."
    ])
    for (const each of timeline) {
      expect(each).not.toHaveProperty("address")
      expect([each.process, each.about?.of ?? "job"]).toEqual([null, "job"])
    }
  })

  it("is that more was there than was read", () => {
    expect(told("webhook", { cut: [{ kind: "webhook", at: now }] })).toMatchObject([
      { code: "not_all", about: { of: "deliveries", id: account.id } }
    ])
  })
})

describe("what a message waited for", () => {
  const waits = (some: Partial<Timeline.Rows>, more: Partial<Timeline.Known> = {}) =>
    told("waited", some, more).map(({ at, limiter, ms, until }) => [
      limiter,
      (at - now) / minute,
      until === null || until === undefined ? null : (until - now) / minute,
      ms === null ? null : ms / minute
    ])

  it("is each obstacle between two times, and its turn beside them", () => {
    const recipient = accepted(Time.after(now, 9 * minute))
    const happenings = [
      happening("session.unavailable", Time.after(now, minute)),
      happening("session.available", Time.after(now, 3 * minute)),
      happening("session.disconnected", Time.after(now, 4 * minute), { reason: "logged_out" }),
      happening("session.connected", Time.after(now, 6 * minute))
    ]
    expect(waits({ recipient, happenings })).toEqual([
      ["worker", 0, 1, 1],
      ["platform", 1, 3, 2],
      ["worker", 3, 4, 1],
      ["session", 4, 6, 2],
      ["worker", 6, 9, 3]
    ])
    const paced = { ...session, pacing: { ...session.pacing, messagesPerSecond: 5 } }
    expect(waits({ recipient, session: paced })).toEqual([["pace", 0, 9, 9]])
    expect(told("waited", { recipient, happenings })[3]?.text).toContain("logged_out")
  })

  it("is its template alone, and a restore", () => {
    const recipient = accepted(Time.after(now, 4 * minute))
    const status = (subject: string, status: string, at: Time.Instant) => ({
      ...happening("template.status", at, { status }),
      subject
    })
    const happenings = [
      status("2", "paused", now),
      status("1", "paused", Time.after(now, minute)),
      status("1", "approved", Time.after(now, 2 * minute)),
      { ...happening("restore.opened", Time.after(now, 3 * minute)), sessionId: null }
    ]
    // Since when it was held is not known: as long as it was looked for.
    expect(waits({ recipient, happenings })).toEqual([
      ["restore", 0, 3, 3],
      ["worker", 3, 4, 1]
    ])
    expect(waits({ recipient, happenings: happenings.slice(0, 3) })).toEqual([
      ["worker", 0, 1, 1],
      ["template", 1, 2, 1],
      ["worker", 2, 4, 2]
    ])
  })

  it("is the time of a retry between two attempts, and nothing of what took less than a second", () => {
    const recipient = { ...accepted(Time.after(now, 5 * minute)), attempts: 2 }
    const first = earlier({ at: Time.after(now, 900), ms: 200 })
    const [only, ...others] = told("waited", { recipient, earlier: [first] })
    expect(others).toEqual([])
    expect(only).toMatchObject({ limiter: "retry", at: now + 900, until: now + 5 * minute })
  })

  it("is, while it waits, what it waits for now and until when", () => {
    const waiting = { limiter: "platform", until: Time.after(now, 12 * minute) } as const
    const happenings = [happening("session.unavailable", Time.after(now, 2 * minute))]
    expect(waits({ happenings }, { waiting })).toEqual([
      ["worker", 0, 2, 2],
      ["platform", 2, 12, null]
    ])
    const retrying = settled(Time.after(now, minute), {
      _tag: "Retry",
      at: Time.after(now, 20 * minute),
      failure,
      maybeSent: false
    })
    const some = { recipient: retrying, earlier: [earlier({ ms: 0 })] }
    expect(waits(some, { waiting: { limiter: "retry", until: Time.after(now, 20 * minute) } })).toEqual([
      ["worker", 0, 1, 1],
      ["retry", 1, 20, null]
    ])
    expect(waits({}, { waiting: null })).toEqual([["worker", 0, null, null]])
    expect(waits({ recipient: Transitions.claim(fresh, Time.after(now, 10)) })).toEqual([])
  })

  it("begins anew where an operator had it sent again", () => {
    const failed = settled(Time.after(now, minute), { _tag: "Failed", failure })
    const again = settled(
      Time.after(now, 8 * minute),
      { _tag: "Accepted", providerId: "wamid.2", status: "accepted" },
      Transitions.claim(Transitions.requeue(failed, Time.after(now, 6 * minute)), Time.after(now, 8 * minute))
    )
    expect(waits({ recipient: again, earlier: [earlier({ outcome: "failed", ms: null })] })).toEqual([
      ["worker", 0, 1, 1],
      ["worker", 6, 8, 2]
    ])
  })

  it("is of two obstacles at once the first, and then the rest of the other", () => {
    const found = Obstacles.obstaclesOf(
      [
        happening("session.blocked", Time.after(now, 1), { until: "later" }),
        happening("session.unavailable", Time.after(now, 2)),
        happening("session.unblocked", Time.after(now, 3)),
        happening("session.disconnected", Time.after(now, 5))
      ],
      null
    )
    expect(
      Obstacles.within(now, Time.after(now, 9), found).map(({ from, obstacle, to }) => [
        from - now,
        to - now,
        obstacle?.limiter
      ])
    ).toEqual([
      [0, 1, undefined],
      [1, 3, "session"],
      [3, 5, "platform"],
      [5, 9, "session"]
    ])
  })
})

describe("what may be done with a message", () => {
  const next = (recipient: Jobs.RecipientResult, some: Partial<Jobs.Job> = {}) =>
    Object.fromEntries(
      story({ recipient, job: { ...job, ...some } }).next.map(({ action, allowed, why }) => [
        action,
        [allowed, why]
      ])
    )

  it("is to wait or to cancel while it waits, and nothing of both once it is over", () => {
    expect(next(fresh)).toMatchObject({
      wait: [true, expect.any(String)],
      cancel: [true, expect.any(String)]
    })
    expect(next(Transitions.claim(fresh, now))).toMatchObject({
      cancel: [false, expect.stringContaining("in flight")]
    })
    const failed = settled(now, { _tag: "Failed", failure: { ...failure, permanent: false } })
    expect(next(failed, { status: "completed" })).toMatchObject({
      wait: [false, expect.any(String)],
      retry: [true, expect.any(String)],
      cancel: [false, "Its job has ended."]
    })
    expect(next(accepted(now))).toMatchObject({
      wait: [true, expect.any(String)],
      retry: [false, expect.any(String)]
    })
  })

  it("is to send again only what an operator's retry takes, and as it has to be named there", () => {
    expect(next(settled(now, { _tag: "Failed", failure }))).toMatchObject({
      retry: [true, expect.stringContaining(failure.code)]
    })
    expect(next(settled(now, { _tag: "Unknown", failure }))).toMatchObject({
      retry: [true, expect.stringContaining("twice")]
    })
    expect(next(settled(now, { _tag: "Failed", failure }), { status: "canceled" })).toMatchObject({
      retry: [false, "Its job was canceled, which is final."]
    })
    const content = { kind: "direct", text: "Hello", linkPreview: false } as const
    expect(next(settled(now, { _tag: "Failed", failure }), { content })).toMatchObject({
      retry: [false, expect.stringContaining("anew")],
      cancel: [false, expect.stringContaining("direct")]
    })
  })
})

describe("where events of a message are looked for", () => {
  it("is at the moments of its commits, and behind the platform's times of receipts", () => {
    expect(Timeline.looks(fresh, [])).toEqual({ commits: [], receipts: [] })
    const delivered = reported(accepted(now), "delivered", Time.after(now, 1000))
    const read = reported(delivered, "read", Time.after(now, 9000))
    const { commits, receipts } = Timeline.looks(read, [earlier({ outcome: "failed" }), earlier({})])
    expect(commits.map((at) => at - now)).toEqual([minute, 0, 9500])
    expect(receipts.map(({ from, status, to }) => [status, from - now, to - now - 60 * minute])).toEqual([
      ["delivered", 0, 1000],
      ["read", 8000, 9000],
      [null, 8000, 9000]
    ])
  })
})
