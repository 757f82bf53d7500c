/** A session's secrets do not come back in what its platform says. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as EventLoopBudget from "../../src/runtime/EventLoopBudget.ts"
import * as Sanitize from "../../src/sender/Sanitize.ts"
import { SendResult } from "../../src/sender/Sender.ts"

const config = {
  url: "https://gateway.example/send/a-key-that-is-in-the-path?key=in-the-query&tenant=4711%2F0815",
  secret: "signs-both-ways-1234",
  headers: {
    authorization: "Bearer of-a-header",
    "x-odd": "ünïcode??>>~~",
    "x-longer": "Bearer of-a-header-and-more",
    "x-short": "abc"
  },
  nested: { list: [{ token: "deep/inside=" }] }
}

const told = (message: string, providerCode: string | null = null) => {
  const failure = { code: "gateway_refused", provider_code: providerCode, message, permanent: true }
  const result = Sanitize.sendResult(SendResult.Rejected({ failure }), config)
  return result._tag === "Rejected" ? result.failure : failure
}

describe("a platform's words", () => {
  it.each([
    ["signs-both-ways-1234", "a secret"],
    ["Bearer of-a-header", "a header's value"],
    ["Bearer of-a-header-and-more", "a value that begins with another"],
    ["deep/inside=", "a value within others"],
    ["deep%2Finside%3D", "a value as a URL has it"],
    [Buffer.from("Bearer of-a-header").toString("base64"), "a value in base64"],
    [Buffer.from("signs-both-ways-1234").toString("base64"), "a value in base64 with padding"],
    [Buffer.from("signs-both-ways-1234").toString("base64").replace("=", ""), "a value without its padding"],
    [Buffer.from("ünïcode??>>~~").toString("base64url"), "a value in base64url"],
    ["a-key-that-is-in-the-path", "a key in the URL's path"],
    ["in-the-query", "a parameter of the URL"],
    ["4711/0815", "a decoded parameter of the URL"]
  ])("have %s hidden, which is %s", (secret) => {
    const { message, provider_code } = told(`Invalid: "${secret}" (${secret}).`, secret)
    expect(message).toBe('Invalid: "[hidden]" ([hidden]).')
    expect(provider_code).toBe("[hidden]")
  })

  it("have a secret hidden that is cut with the rest", () => {
    const { message } = told(`${"a".repeat(1015)}signs-both-ways-1234`)
    expect(message).not.toContain("signs")
    expect(Array.from(message).length).toBeLessThanOrEqual(1024)
  })

  it("keep what is no secret", () => {
    const message = "abc: set the session's `url` to https://gateway.example/other (131026)."
    expect(told(message, "131026")).toMatchObject({ message, provider_code: "131026" })
  })

  it("have phone numbers by their last four digits", () => {
    expect(told("No 34600001234, no +34 600 001 234.").message).toBe("No …1234, no …1234.")
  })

  it("of a hook are without secrets, too", async () => {
    const pieces = Sanitize.hookContent(
      {
        reports: [
          {
            messageId: "m",
            providerId: null,
            status: "failed",
            at: Time.at(0),
            failure: { code: "a", provider_code: null, message: "of signs-both-ways-1234", permanent: true }
          }
        ],
        messages: [],
        preferences: [
          {
            phone: "34600001234",
            purpose: "marketing",
            status: "revoked",
            at: null,
            proof: "signs-both-ways-1234"
          }
        ],
        templates: [],
        unread: [
          { field: "receipts", reason: "of signs-both-ways-1234", content: { is: "signs-both-ways-1234" } }
        ]
      },
      config
    )
    const content = await Effect.runPromise(EventLoopBudget.runInPieces(pieces))
    expect(JSON.stringify(content)).not.toContain("signs-both-ways")
    expect(content.preferences[0]?.phone).toBe("34600001234")
  })

  it("are cut of a session that has no configuration", () => {
    const failure = { code: "a", provider_code: null, message: "b".repeat(2000), permanent: false }
    const result = Sanitize.sendResult(SendResult.Ambiguous({ failure }), undefined)
    expect(result._tag === "Ambiguous" && result.failure.message).toHaveLength(1024)
  })
})
