import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { DerivedEvent, Looked } from "../../src/domain/DerivedEvent.ts"
import * as Derived from "../../src/domain/DerivedEvent.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Job from "../../src/domain/job/Job.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

const { now } = Fixtures

const eventAt = (at: Time.Instant, subject: string): DerivedEvent => ({
  ...{ at, type: "session.connected", accountId: null, sessionId: null, jobId: null, messageId: null },
  ...{ sequence: null, subject, data: {} }
})

/** A store's rows, the newest first; it looks at no more than some of them at once where a filter leaves every third. */
const source = (name: string, times: ReadonlyArray<number>, most: number | null) => {
  const rows = [...times].sort((a, b) => b - a).map((at, place) => eventAt(Time.at(at), `${name}${place}`))
  const isLeft = (_: DerivedEvent, place: number) => most === null || place % 3 === 0
  const left = new Set(rows.filter(isLeft))
  const read = (to: number, limit: number): Looked<DerivedEvent> => {
    const behind = rows.filter(({ at }) => at < to)
    const looked = most === null ? behind : behind.slice(0, most)
    const items = looked.filter((each) => left.has(each)).slice(0, limit)
    const isWhole = items.length >= limit || looked.length === behind.length
    return { items, lookedTo: isWhole ? null : (looked.at(-1)?.at ?? null) }
  }
  return { all: [...left], read }
}

const times = FastCheck.array(FastCheck.integer({ min: now, max: now + 40 }), { maxLength: 60 })

/** All pages of sources, from the newest. */
const walk = (sources: ReadonlyArray<Pick<ReturnType<typeof source>, "read">>, limit: number) => {
  const found: Array<DerivedEvent> = []
  let place: Derived.Place | null = { at: Time.after(now, 1000), skip: 0 }
  for (let pages = 0; place !== null; pages += 1) {
    expect(pages).toBeLessThan(1000)
    const from: Derived.Place = place
    const looked = sources.map(({ read }) => read(from.at + 1, from.skip + limit + 1))
    const { items, next } = Derived.pageOf(looked, from, limit)
    expect(items.length).toBeLessThanOrEqual(limit)
    found.push(...items)
    place = next === null ? null : Derived.placeOf(next)
  }
  return found
}

describe("pages of derived events", () => {
  it("have every event of every source once, newest first, whatever they hold and however far a source looks", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.tuple(times, times, FastCheck.uniqueArray(FastCheck.integer({ min: now, max: now + 200 }))),
        FastCheck.integer({ min: 1, max: 9 }),
        FastCheck.integer({ min: 2, max: 7 }),
        ([one, two, filtered], limit, most) => {
          const sources = [source("a", one, null), source("b", two, null), source("c", filtered, most)]
          const found = walk(sources, limit)
          expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).sort((a, b) => b - a))
          const expected = sources.flatMap(({ all }) => all)
          expect(new Set(found)).toEqual(new Set(expected))
          expect(found).toHaveLength(expected.length)
        }
      )
    )
  })

  it("end, and have what is older, though one millisecond has more than a place can tell apart", () => {
    const many = Array.from({ length: 3000 }, () => now + 1)
    const found = walk([source("a", [...many, now, now + 2], null)], 100)
    expect([found.at(0)?.at, found.at(-1)?.at]).toEqual([now + 2, now])
    expect(new Set(found).size).toBe(found.length)
    expect(found.length).toBeGreaterThan(2048)
  })

  it("go on where they were, though something newer has come", () => {
    const rows = [3, 3, 3, 1].map((ms, place) => eventAt(Time.after(now, ms), String(place)))
    const first = Derived.pageOf([{ items: rows, lookedTo: null }], { at: Time.after(now, 9), skip: 0 }, 2)
    expect(first.items).toEqual(rows.slice(0, 2))
    const place = Derived.placeOf(first.next ?? 0)
    expect(place).toEqual({ at: now + 3, skip: 2 })
    expect(Derived.pageOf([{ items: rows, lookedTo: null }], place, 9)).toEqual({
      items: rows.slice(2),
      next: null
    })
  })
})

const accepted = (recipients: number, at = now): Job.Job => ({
  ...Job.newJob({
    ...Fixtures.send({ accountId: "a", sessionId: "s", publicKey: "k" }),
    recipients,
    requestId: null,
    idempotencyKey: null,
    now: at
  }),
  status: "completed",
  counts: { ...Recipient.noCounts, failed: 1, read: recipients - 1 },
  completedAt: Time.after(at, 50)
})

const recipient = (index: number, some: Partial<Job.RecipientResult>): Job.RecipientResult => ({
  ...Job.newRecipient(
    { address: `3460000000${index}`, externalId: null, values: [], market: null, price: null },
    index,
    now
  ),
  attempts: 1,
  sequence: 3,
  ...some
})

describe("the events of a job", () => {
  const job = accepted(2)
  const failure = { code: "broken", provider_code: null, message: "It broke.", permanent: true }
  const recipients = [
    recipient(0, {
      status: "read",
      attemptedAt: Time.after(now, 5),
      sentAt: Time.after(now, 6),
      deliveredAt: Time.after(now, 8),
      readAt: Time.after(now, 90),
      updatedAt: Time.after(now, 90)
    }),
    recipient(1, { status: "failed", failure, updatedAt: Time.after(now, 5), sequence: 1 })
  ]
  const all = (limit: number, after: number | null = null) =>
    Derived.pageOfJob(job, recipients, () => true, { limit, after })

  it("are its acceptance, each step of its recipients by its own time, and its end", () => {
    expect(all(100).items.map(({ at, sequence, type }) => [at - now, type, sequence])).toEqual([
      [90, "recipient.read", 3],
      [50, "job.completed", null],
      [8, "recipient.delivered", 3],
      [6, "recipient.sent", 3],
      [5, "recipient.failed", 1],
      [5, "recipient.attempted", 1],
      [5, "recipient.attempted", 3],
      [0, "job.created", null]
    ])
    const failed = all(100).items.find(({ type }) => type === "recipient.failed")
    expect(failed?.data).toMatchObject({ phone: "34600000001", error: failure })
  })

  it("come in pages, each once", () => {
    for (const limit of [1, 2, 3, 7]) {
      const found: Array<DerivedEvent> = []
      let after: number | null = null
      do {
        const page: ReturnType<typeof all> = all(limit, after)
        found.push(...page.items)
        after = page.next
      } while (after !== null)
      expect(found).toEqual(all(100).items)
    }
  })

  it("of a direct message are those of the message", () => {
    const direct = {
      ...job,
      recipients: 1,
      content: { kind: "direct", text: "Hi", linkPreview: false } as const
    }
    const { items } = Derived.pageOfJob(direct, recipients.slice(0, 1), () => true, { limit: 9, after: null })
    expect(items.map(({ type }) => type)).toEqual([
      "message.read",
      "message.delivered",
      "message.sent",
      "message.attempted",
      "message.created"
    ])
  })
})
