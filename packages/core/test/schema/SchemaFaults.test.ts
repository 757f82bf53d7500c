/** contract.md §10 "Requests": nothing is ignored, lengths come before items, and a refusal costs a bounded amount. */
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Fault from "../../src/domain/Fault.ts"
import * as Suggestion from "../../src/domain/Suggestion.ts"
import * as RequestDecoder from "../../src/schema/RequestDecoder.ts"
import * as Requests from "../../src/schema/Requests.ts"
import * as SchemaFaults from "../../src/schema/SchemaFaults.ts"

const faultsOf = (decoded: Either.Either<unknown, ReadonlyArray<Fault.Fault>>) =>
  (Either.isLeft(decoded) ? decoded.left : []).map((fault) => [Fault.pointer(fault), fault.code])

const send = RequestDecoder.decoder(Requests.TemplateMessageRequest)
const decodeSend = (body: unknown) => faultsOf(send(body))
const valid = { template_id: 1, recipients: [{ phone: "34600000001" }] }

describe("a member that the schema does not define", () => {
  it("is refused by its pointer, at every depth", () => {
    expect(decodeSend({ ...valid, dry_run: true, deliver_at: "2026-01-01T00:00:00Z" })).toEqual([
      ["/dry_run", "unknown_field"],
      ["/deliver_at", "unknown_field"]
    ])
    expect(decodeSend({ ...valid, recipients: [{ phone: "34600000001", name: "Ana" }] })).toEqual([
      ["/recipients/0/name", "unknown_field"]
    ])
  })

  it("is refused under the names that every object inherits", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"]
    for (const name of names) {
      const body: unknown = JSON.parse(
        `{"${name}":{"template_id":2},"template_id":1,"recipients":[{"phone":"1"}]}`
      )
      expect(decodeSend(body), name).toEqual([[`/${name}`, "unknown_field"]])
      const within: unknown = JSON.parse(`{"template_id":1,"recipients":[{"phone":"1","${name}":1}]}`)
      expect(decodeSend(within), name).toEqual([[`/recipients/0/${name}`, "unknown_field"]])
    }
  })

  it("keeps a key of `variables`, which the template judges", () => {
    const variables: unknown = JSON.parse('{"__proto__":"x","anything":"y"}')
    expect(decodeSend({ ...valid, variables })).toEqual([])
  })

  it("is told with every other fault", () => {
    expect(decodeSend({ template_id: "1", staus: 1 })).toEqual([
      ["/template_id", "invalid_type"],
      ["/recipients", "required"],
      ["/staus", "unknown_field"]
    ])
  })

  it("is told by the object around it when its name is longer than a pointer should be", () => {
    const [fault] = SchemaFaults.faults(Requests.TemplateMessageRequest.ast, {
      ...valid,
      ["x".repeat(100_000)]: 1
    })
    expect(fault).toMatchObject({ path: [], code: "unknown_field" })
    expect(fault?.message.length).toBeLessThan(200)
  })

  it("is refused by a schema without members, whatever it is", () => {
    const nothing = RequestDecoder.nothing(["query"])
    expect(Either.isRight(nothing({}))).toBe(true)
    expect(faultsOf(nothing({ limit: "1" }))).toEqual([["/query/limit", "unknown_field"]])
    for (const odd of [null, [], "x", 1]) expect(faultsOf(nothing(odd))).toEqual([["/query", "invalid_type"]])
  })
})

describe("the suggestion", () => {
  it("is the name that was meant, and none when none is near", () => {
    const cases = [
      ["staus", ["phone", "status", "source"], "status"],
      ["permission", ["name", "permissions"], "permissions"],
      ["overlap", ["overlap_seconds"], "overlap_seconds"],
      ["templateId", ["template_id", "recipients"], "template_id"],
      ["recipeints", ["template_id", "recipients"], "recipients"],
      ["send_at", ["template_id", "recipients"], undefined],
      ["x", ["to", "message"], undefined],
      ["", ["to"], undefined],
      ["__proto__", ["to", "phone"], undefined]
    ] as const
    for (const [name, known, expected] of cases) expect(Suggestion.nearest(name, known), name).toBe(expected)
  })

  it("stands in the message", () => {
    const [fault] = SchemaFaults.faults(Requests.DirectMessageRequest.ast, {
      to: "1",
      message: "x",
      link_preview: true
    })
    expect(fault?.message).toContain("Did you mean `linkPreview`?")
  })
})

/** Counts what is read of it: each item is an object whose members are looked at through a proxy. */
const counted = (count: number, item: object) => {
  let reads = 0
  const watched = new Proxy(item, {
    get: (target, name) => {
      reads += 1
      return Reflect.get(target, name)
    },
    ownKeys: (target) => {
      reads += 1
      return Reflect.ownKeys(target)
    }
  })
  return { items: Array.from({ length: count }, () => watched), reads: () => reads }
}

describe("the length of an array", () => {
  it("is checked before its items, and none of them is checked if it is too long", () => {
    const { items, reads } = counted(251, { phone: "34600000001" })
    expect(decodeSend({ template_id: 1, recipients: items })).toEqual([["/recipients", "out_of_range"]])
    expect(reads()).toBe(0)
  })

  it("is looked at where nothing is compiled, too", () => {
    const decode = RequestDecoder.decoder(
      Schema.Struct({
        list: Schema.Array(Schema.Struct({ a: Schema.String })).pipe(Schema.maxItems(2))
      }).pipe(Schema.filter(() => true))
    )
    const { items, reads } = counted(3, {})
    expect(faultsOf(decode({ list: items }))).toEqual([["/list", "out_of_range"]])
    expect(reads()).toBe(0)
  })
})

describe("the work of a refusal", () => {
  it("ends with as many faults as are told", () => {
    const decode = RequestDecoder.decoder(
      Schema.Struct({ list: Schema.Array(Schema.Struct({ a: Schema.String })) })
    )
    const { items, reads } = counted(100_000, {})
    const told = faultsOf(decode({ list: items }))
    expect(told).toHaveLength(Fault.maximum)
    expect(reads()).toBeLessThan(10 * Fault.maximum)
  })

  it("of an object with too many members is one fault", () => {
    const variables = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`v${index}`, 1]))
    expect(decodeSend({ ...valid, variables })).toEqual([["/variables", "out_of_range"]])
    const most = Object.fromEntries(
      Array.from({ length: Requests.maximumVariables }, (_, at) => [`v${at}`, "x"])
    )
    expect(decodeSend({ ...valid, variables: most })).toEqual([])
  })

  it("of a hundred thousand unknown names is the first 250", () => {
    const names = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`unknown${index}`, 1]))
    const told = decodeSend({ ...valid, ...names })
    expect(told).toHaveLength(Fault.maximum)
    expect(told.every(([, code]) => code === "unknown_field")).toBe(true)
  })
})
