import { describe, expect, it } from "@effect/vitest"
import { failureOf, ofErrors } from "../../../src/sender/whatsapp/Failure.ts"

const meant = (error: object, status: number | null = 400) => failureOf(error, status)

describe("an error of the Graph API (contract.md §11)", () => {
  it("of one recipient's country ends that recipient, and nobody else", () => {
    expect(meant({ code: 130497 })).toMatchObject({ code: "country_restricted", permanent: true })
  })

  it("of a rate of the app, the user, the page or the account is tried again", () => {
    for (const code of [4, 17, 32, 613, 80007]) {
      expect(meant({ code }), `${code}`).toMatchObject({ code: "provider_rate_limited", permanent: false })
    }
  })

  it("that says of itself that it passes is tried again, whatever its code and status are", () => {
    for (const code of [3018, 100, 131026]) {
      expect(meant({ code, is_transient: true, message: "Please retry." }), `${code}`).toEqual({
        code: "provider_unavailable",
        provider_code: String(code),
        message: "Please retry.",
        permanent: false
      })
    }
    expect(meant({ code: 131056, is_transient: true })).toMatchObject({ code: "pair_rate_limited" })
    expect(meant({ code: 131026, is_transient: false })).toMatchObject({ permanent: true })
    expect(meant({ code: 3018 })).toMatchObject({ code: "provider_refused", permanent: true })
  })

  it("is, of several of one status, the one that asks for most, with the words of all", () => {
    const errors = [{ code: 131026, title: "Undeliverable" }, "and more", { code: 131042, message: "Pay." }]
    expect(ofErrors(errors)).toMatchObject({
      code: "payment_required",
      provider_code: "131042",
      message: "Pay. Undeliverable and more"
    })
    expect(ofErrors([])).toMatchObject({
      code: "undeliverable",
      message: expect.stringContaining("without a reason")
    })
    expect(ofErrors(["No route"])).toMatchObject({
      code: "undeliverable",
      message: "The platform reports that the message failed, without a code: No route"
    })
  })
})
