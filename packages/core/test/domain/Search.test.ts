import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Search from "../../src/domain/Search.ts"

const ids = Ids.make((count) => new Uint8Array(count).fill(7))
const now = Time.at(1_764_158_400_000)

describe("what a text may name", () => {
  it("is a person by a phone in any spelling, in all ways to write the number", () => {
    for (const text of [
      "34600123456",
      "+34 600 12-34 56",
      "0034600123456",
      "tel:+34.600.123.456",
      " 34600123456 "
    ])
      expect(Search.meaningsOf(text).phones).toEqual(["34600123456"])
    const { jobs, phones } = Search.meaningsOf("+52 1 55 1234 5678")
    expect(phones).toEqual(["5215512345678", "525512345678"])
    expect(jobs.recipients).toEqual([...phones, "+52 1 55 1234 5678"])
    expect(Search.withNames(jobs, ["34600123456"]).recipients).toEqual([...jobs.recipients, "34600123456"])
  })

  it("is a user id where it is one word", () => {
    expect(Search.meaningsOf("ES.13491208655302741918").userIds).toEqual(["ES.13491208655302741918"])
    expect(Search.meaningsOf("order 17").userIds).toEqual([])
  })

  it("is a job or a message by its id, in either case", () => {
    const jobId = ids.jobId(now)
    expect(Search.meaningsOf(jobId.toUpperCase()).jobs).toMatchObject({ jobId, message: null })
    const message = Ids.messageId(jobId, 41)
    expect(Search.meaningsOf(message).jobs).toMatchObject({ jobId: null, message: { jobId, index: 41 } })
  })

  it("is a request by its own id, or by the time of one of ours", () => {
    const id = ids.uuid(now)
    const { request, requestId } = Search.meaningsOf(id).jobs
    expect([requestId, request?.id]).toEqual([null, id])
    const between = (at: Time.Instant) => {
      const jobId = ids.jobId(at)
      return request !== null && jobId >= request.from && jobId < request.before
    }
    expect([now - 1, now, now + 29_999, now + 30_000].map((at) => between(Time.at(at)))).toEqual([
      false,
      true,
      true,
      false
    ])
    expect(Search.meaningsOf("request-17").jobs).toMatchObject({ requestId: "request-17", request: null })
  })

  it("is no reference, Idempotency-Key or request that nobody could have given", () => {
    const long = "x".repeat(300)
    expect(Search.meaningsOf(long).jobs).toMatchObject({
      reference: null,
      idempotencyKey: null,
      requestId: null
    })
    expect(Search.meaningsOf("order 17").jobs).toMatchObject({
      reference: "order 17",
      idempotencyKey: null,
      requestId: null
    })
  })

  it("is a template by three digits or more, and a key by the form of one", () => {
    expect(Search.meaningsOf("1017").templateId).toBe(1017)
    expect(Search.meaningsOf("0017").templateId).toBe(null)
    expect(Search.meaningsOf("pk_4fT0aZqL9xYw2RkVb7NcHd").publicKey).toBe("pk_4fT0aZqL9xYw2RkVb7NcHd")
    expect(Search.meaningsOf("pk_4fT0").publicKey).toBe(null)
  })

  it("is asked for with three characters at least, on one line and well-formed", () => {
    const isAsked = (text: string) => Either.isRight(Schema.decodeUnknownEither(Search.Query)(text))
    for (const text of ["abc", "a b", "x".repeat(512), " +34 600123456 "])
      expect([text, isAsked(text)]).toEqual([text, true])
    for (const text of [
      "",
      "ab",
      " ab ",
      "   ",
      "a\nbc",
      "a\ud800bc",
      "a\u0000bc",
      "x".repeat(513),
      "\u200b\u200b\u200b"
    ])
      expect([text, isAsked(text)]).toEqual([text, false])
  })

  it("is told of every text that may be asked for", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ minLength: 3, unit: "grapheme" }), (text) => {
        const { jobs } = Search.meaningsOf(text)
        expect(jobs.recipients.length).toBeGreaterThan(0)
      })
    )
  })
})
