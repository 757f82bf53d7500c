import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as Recipient from "../../../src/domain/job/Recipient.ts"
import * as RetrySelection from "../../../src/domain/job/RetrySelection.ts"

const code = FastCheck.constantFrom("busy", "unreachable", "poisoned")
const phone = FastCheck.constantFrom("34600000001", "34600000002", "34600000003")
const optional = <A>(arbitrary: FastCheck.Arbitrary<A>) => FastCheck.option(arbitrary, { nil: undefined })

const recipient = FastCheck.record({
  address: phone,
  requeuedAt: FastCheck.constant(null),
  updatedAt: FastCheck.constant(Time.at(0)),
  status: FastCheck.constantFrom(...Recipient.statuses),
  failure: FastCheck.option(
    FastCheck.record({
      code,
      permanent: FastCheck.boolean(),
      message: FastCheck.constant("It broke."),
      provider_code: FastCheck.constant(null)
    })
  )
})

const selection = FastCheck.record({
  statuses: optional(FastCheck.subarray([...RetrySelection.statuses], { minLength: 1 })),
  codes: optional(FastCheck.array(code, { minLength: 1, maxLength: 3 })),
  phones: optional(FastCheck.array(phone, { minLength: 1, maxLength: 3 }))
})

const cases = FastCheck.tuple(selection, recipient)

type Judged = Parameters<ReturnType<typeof RetrySelection.judge>>[0]

/** The status by which a recipient is chosen; null when it is not. */
const chooser = (selection: RetrySelection.RetrySelection) => {
  const judge = RetrySelection.judge(selection)
  return (one: Judged) =>
    judge(one) === "chosen" ? (RetrySelection.statuses.find((each) => each === one.status) ?? null) : null
}

const holds = (
  property: (
    chosen: RetrySelection.Status | null,
    selection: RetrySelection.RetrySelection,
    recipient: Judged
  ) => void
) =>
  FastCheck.assert(
    FastCheck.property(cases, ([some, one]) => {
      property(chooser(some)(one), some, one)
    }),
    { numRuns: 5000 }
  )

describe("a retry", () => {
  it("chooses by default exactly the failed whose failure is not permanent", () => {
    const choose = chooser({})
    FastCheck.assert(
      FastCheck.property(recipient, (one) => {
        const expected = one.status === "failed" && one.failure?.permanent !== true ? "failed" : null
        expect(choose(one)).toBe(expected)
      })
    )
  })

  it("chooses by the recipient's own status, and only what failed or is unknown", () => {
    holds((chosen, _, one) => {
      expect([null, one.status]).toContain(chosen)
      expect([null, "failed", "unknown"]).toContain(chosen)
    })
  })

  it("chooses an unknown recipient only where the statuses name it", () => {
    holds((chosen, { statuses }) => {
      if (chosen === "unknown") expect(statuses).toContain("unknown")
    })
  })

  it("chooses a permanent failure only where its code or its phone is named", () => {
    holds((chosen, { codes, phones }, one) => {
      if (chosen !== "failed" || one.failure?.permanent !== true) return
      expect(codes?.includes(one.failure.code) === true || phones?.includes(one.address) === true).toBe(true)
    })
  })

  it("chooses nothing that a member which is there does not match", () => {
    holds((chosen, { codes, phones, statuses }, one) => {
      if (chosen === null) return
      expect(statuses === undefined || statuses.includes(chosen)).toBe(true)
      expect(codes === undefined || codes.includes(one.failure?.code ?? "")).toBe(true)
      expect(phones === undefined || phones.includes(one.address)).toBe(true)
    })
  })

  it("chooses every recipient that is named by its status and its phone", () => {
    holds((_, some, one) => {
      if (one.status !== "failed" && one.status !== "unknown") return
      const named = { statuses: [one.status], phones: [...(some.phones ?? []), one.address] }
      expect(chooser(named)(one)).toBe(one.status)
    })
  })

  const failed = {
    address: "34600000001",
    requeuedAt: null,
    updatedAt: Time.at(10),
    status: "failed",
    failure: { code: "busy", permanent: false, message: "It broke.", provider_code: null }
  } as const

  it.each([
    ["a failure of before", {}, "chosen"],
    ["one of that very moment", { updatedAt: Time.at(20) }, "chosen"],
    ["one that came later", { updatedAt: Time.at(21) }, "changed"],
    ["one that was retried before", { requeuedAt: Time.at(19) }, "chosen"],
    [
      "one that was retried since, whatever clocks say of its failure",
      { requeuedAt: Time.at(20) },
      "changed"
    ],
    [
      "a permanent one",
      { failure: { ...failed.failure, permanent: true }, updatedAt: Time.at(21) },
      "permanent"
    ],
    ["an unknown one", { status: "unknown" }, "unknown"],
    ["one that was sent", { status: "sent" }, "other"],
    ["one who was erased", { address: "erased:0123456789abcdef01234567" }, "other"]
  ] as const)("that begins at a time makes of %s: %s %s", (_, some, verdict) => {
    expect(RetrySelection.judge({}, Time.at(20))({ ...failed, ...some })).toBe(verdict)
  })

  it("tells unknown ones apart only where their code is asked for", () => {
    const unknown = { ...failed, status: "unknown" } as const
    expect(RetrySelection.judge({ codes: ["busy"] })(unknown)).toBe("unknown")
    expect(RetrySelection.judge({ codes: ["gone"] })(unknown)).toBe("other")
    expect(RetrySelection.judge({ codes: ["busy"], statuses: ["unknown"] })(unknown)).toBe("chosen")
  })
})
