/** Which record decides on a person's consent (contract.md §4). In which order they count: `Order.test.ts`. */

import { describe, expect, it } from "@effect/vitest"
import * as Consent from "../../../src/domain/consent/Consent.ts"
import * as Time from "../../../src/domain/Instant.ts"

describe("consent", () => {
  const record = (
    purpose: Consent.Scope,
    status: Consent.Status,
    occurredAt: Time.Instant
  ): Consent.ConsentRecord => ({
    id: "id",
    phone: "34600000001",
    userId: null,
    purpose,
    status,
    source: "test",
    proof: null,
    occurredAt,
    reportedAt: null,
    datedBy: null,
    recordedAt: occurredAt
  })

  it("is decided by the record that occurred last, of the purpose's and of all's", () => {
    const granted = record("marketing", "granted", Time.at(1))
    const revoked = record("all", "revoked", Time.at(2))
    expect(Consent.decide([granted, revoked], "marketing")._tag).toBe("Revoked")
    expect(Consent.decide([revoked, granted], "marketing")._tag).toBe("Revoked")
    expect(Consent.decide([record("utility", "granted", Time.at(3))], "marketing")._tag).toBe("Missing")
    expect(Consent.decide([revoked, record("marketing", "granted", Time.at(2))], "marketing")._tag).toBe(
      "Granted"
    )
  })

  const end = (purpose: Consent.Scope, occurredAt: number) => ({
    ...record(purpose, "revoked", Time.at(occurredAt)),
    source: Consent.numberChanged
  })
  const purposesOf = (given: ReadonlyArray<Consent.Given>) =>
    given.map(({ purpose, record: { occurredAt } }) => `${purpose} ${occurredAt}`)

  it("tells whether the person refuses, or the number has a new owner", () => {
    const said = (given: Consent.ConsentRecord) => {
      const verdict = Consent.decide([given], "marketing")
      return verdict._tag === "Granted" ? "" : Consent.refusalText(verdict, "marketing")
    }
    expect(said(record("all", "revoked", Time.at(1)))).toMatch(
      /^The recipient withdrew consent on 1970.* or register what they gave since, with its time\.$/
    )
    expect(said(end("all", 1))).toMatch(
      /^The number has a new owner since 1970.* Register what the new owner gave/
    )
  })

  it("moves what the owner of a number gave, and nothing of the owners before and after", () => {
    const history = [
      record("utility", "granted", Time.at(1)),
      end("utility", 2),
      record("marketing", "granted", Time.at(3))
    ]
    expect(Consent.movable(history.slice(0, 1))).toMatchObject({
      ended: [],
      standing: [{ purpose: "utility" }]
    })
    const twice = Consent.movable([...history, end("marketing", 4), end("marketing", 4)])
    expect([purposesOf(twice.ended), twice.standing]).toEqual([["marketing 3"], []])
    const next = Consent.movable(history)
    expect([purposesOf(next.ended), purposesOf(next.standing)]).toEqual([["utility 1"], ["marketing 3"]])
  })

  it("moves no purpose that the old or the new number refuses", () => {
    const history = [record("all", "granted", Time.at(1)), record("marketing", "revoked", Time.at(2))]
    const { standing } = Consent.movable([...history])
    const { ended } = Consent.movable([
      ...history,
      ...["utility", "authentication", "direct"].map(() => end("utility", 3))
    ])
    expect(purposesOf(ended)).toEqual(purposesOf(standing))
    expect(Consent.moved(standing, []).map(({ purpose }) => purpose)).toEqual([
      "utility",
      "authentication",
      "direct"
    ])
    const ofNew = [
      record("direct", "revoked", Time.at(0)),
      record("utility", "granted", Time.at(0)),
      end("utility", 9)
    ]
    expect(Consent.moved(standing, ofNew).map(({ purpose }) => purpose)).toEqual([
      "utility",
      "authentication"
    ])
    expect(Consent.moved(Consent.movable(history.slice(0, 1)).standing, [])).toMatchObject([
      { purpose: "all" }
    ])
  })
})
