/** contract.md §11 "People": whom the platform ties together by a message of ours is one person, from send to send. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import * as NamingPlatform from "./NamingPlatform.ts"
import { named } from "./NamingPlatform.ts"

/** A number of Ivory Coast, and the id of its account, which is older than the two digits before it. */
const [asked, waId, userId] = ["2250707123456", "22507123456", "CI.1"]
const brazilian = ["5511987654399", "551187654399"] as const

const scenario = <E>(
  test: (shop: Effect.Effect.Success<typeof NamingPlatform.shop>) => Effect.Effect<void, E>
) => Effect.flatMap(NamingPlatform.shop, test)

describe("a number by which the platform names whom we asked for by another", () => {
  /** The ways in which the platform tells of it. */
  const ways = [
    ["in its answer", { answer: named(waId) }],
    [
      "in its answer, beside a user id that says STOP",
      { answer: named(waId, userId), by: named(null, userId) }
    ],
    ["in a receipt", { receipt: named(waId) }],
    ["in a receipt, by a user id that says STOP", { receipt: named(null, userId), by: named(null, userId) }],
    ["as the sender of a reply", { reply: named(waId) }],
    ["as the sender of the STOP itself", { replied: true }]
  ] as const
  it.scoped.each(ways)("%s stops the next message to it, and those that wait", ([, way]) =>
    scenario(({ drain, names, register, report, say, send, sent, statuses }) =>
      Effect.gen(function* () {
        const {
          answer,
          by = named(waId),
          receipt,
          replied = false,
          reply
        } = {
          answer: undefined,
          by: undefined,
          receipt: undefined,
          replied: undefined,
          reply: undefined,
          ...way
        }
        yield* register(asked)
        if (answer !== undefined) names.set(asked, answer)
        yield* send(asked)
        yield* drain
        const [first] = sent
        if (first === undefined) return yield* Effect.dieMessage("Nothing was sent.")
        yield* TestClock.adjust("2 seconds")
        if (receipt !== undefined) yield* report(first, receipt)
        if (reply !== undefined) yield* say(reply, "Hello", first.wamid)
        yield* TestClock.adjust("2 seconds")
        const waiting = yield* send(asked)
        yield* say(by, "STOP", replied ? first.wamid : undefined)
        yield* TestClock.adjust("2 seconds")
        yield* drain
        expect(sent).toHaveLength(1)
        const refused = yield* send(asked)
        expect(Either.isLeft(refused) && refused.left._tag).toBe("ConsentRequired")
        if (Either.isRight(waiting)) expect(yield* statuses(waiting.right.jobId)).toEqual(["skipped"])
        yield* say(by, "START", replied ? first.wamid : undefined)
        yield* TestClock.adjust("2 seconds")
        expect(Either.isRight(yield* send(asked))).toBe(true)
      })
    )
  )

  it.scoped("is read from the contact of a request for it", () =>
    scenario(({ message, register, say, send }) =>
      Effect.gen(function* () {
        yield* register(waId)
        yield* message(named(null, userId), {
          type: "contacts",
          contacts: [{ origin: "contact_request", phones: [{ phone: `+${waId}`, wa_id: waId }] }]
        })
        yield* TestClock.adjust("2 seconds")
        yield* say(named(null, userId), "STOP")
        expect(Either.isLeft(yield* send(waId))).toBe(true)
      })
    )
  )

  it.scoped("is no more the person's in a group, where others answer", () =>
    scenario(({ drain, message, register, say, send, sent }) =>
      Effect.gen(function* () {
        yield* register(asked)
        yield* send(asked)
        yield* drain
        const context = { id: sent[0]?.wamid }
        yield* message(named(waId), { type: "text", text: { body: "Hi" }, context, group_id: "g" })
        yield* TestClock.adjust("2 seconds")
        yield* say(named(waId), "STOP")
        expect(Either.isRight(yield* send(asked))).toBe(true)
      })
    )
  )
})

describe("two recipients of one send who are one person", () => {
  it.scoped("are a duplicate by both forms of a number, and by what the platform has told", () =>
    scenario(({ drain, names, register, send }) =>
      Effect.gen(function* () {
        const another = "34600000002"
        for (const phone of [asked, waId, another, ...brazilian]) yield* register(phone)
        const faultsOf = Effect.fnUntraced(function* (...phones: ReadonlyArray<string>) {
          const answer = yield* send(...phones)
          return Either.isLeft(answer) && answer.left._tag === "InvalidRequest"
            ? answer.left.faults.map(({ code, message, path }) => [code, path.join("."), message])
            : []
        })
        const both = yield* faultsOf(another, ...brazilian)
        expect(both).toEqual([
          [
            "recipient_duplicate",
            "recipients.2",
            "Recipient 1 (5511987654399) and recipient 2 (551187654399) are one person and have the same values."
          ]
        ])
        expect(yield* faultsOf(asked, waId)).toEqual([])
        names.set(asked, named(waId))
        yield* send(asked)
        yield* drain
        expect((yield* faultsOf(waId, another, asked)).map(([code, path]) => [code, path])).toEqual([
          ["recipient_duplicate", "recipients.2"]
        ])
        expect(yield* faultsOf(asked, another)).toEqual([])
      })
    )
  )
})
