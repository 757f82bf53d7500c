import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import type * as Fault from "../../src/domain/Fault.ts"
import * as RequestDecoder from "../../src/schema/RequestDecoder.ts"
import * as Requests from "../../src/schema/Requests.ts"
import * as SchemaFaults from "../../src/schema/SchemaFaults.ts"

const optional = Schema.optional

/** Every kind of node that a request may have. */
const Everything = Schema.Struct({
  text: Schema.String,
  whole: Schema.Int,
  number: Schema.Number.pipe(Schema.between(-5, 5)),
  flag: optional(Schema.Boolean),
  absent: optional(Schema.Undefined),
  kind: Schema.Literal("one", "two", 3, null, true),
  either: Schema.Union(Schema.Number, Schema.NonEmptyString, Schema.Null),
  list: Schema.Array(Schema.NullOr(Schema.Struct({ a: optional(Schema.Number) }))).pipe(
    Schema.minItems(1),
    Schema.maxItems(4)
  ),
  record: optional(Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) })),
  anything: Schema.Unknown,
  pair: optional(Schema.Tuple(Schema.String, Schema.Number)),
  tagged: optional(
    Schema.Union(
      Schema.Struct({ tag: Schema.Literal("a"), value: Schema.String }),
      Schema.Struct({ tag: Schema.Literal("b"), value: Schema.Number })
    )
  ),
  converted: optional(Schema.NumberFromString),
  fallen: optional(Schema.Int.annotations({ decodingFallback: () => Either.right(7) })),
  strict: optional(
    Schema.Struct({ a: Schema.Number }).annotations({ parseOptions: { onExcessProperty: "error" } })
  )
})

const everything = {
  text: "t",
  whole: 1,
  number: 2,
  flag: true,
  absent: undefined,
  kind: "one",
  either: "x",
  list: [null, { a: 1 }],
  record: { a: "b", c: null },
  anything: { deep: [1] },
  pair: ["a", 1],
  tagged: { tag: "b", value: 2 },
  converted: "12",
  fallen: "x",
  strict: { a: 1 }
}

const send = {
  template_id: 7,
  currency: "EUR",
  variables: { "body.1": "a" },
  recipients: [
    { phone: "34600000001", external_id: "1", variables: { "body.2": "b" } },
    { phone: "34600000002" }
  ]
}

const direct = { to: "34600000001", message: "Hello", linkPreview: true }

/** Not a bit of JSON only: an embedder may pass anything. */
const odd = FastCheck.oneof(
  FastCheck.jsonValue(),
  FastCheck.constantFrom<unknown>(
    undefined,
    null,
    -0,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e300,
    Symbol.iterator,
    "",
    "12",
    [],
    new Array(2),
    {},
    Object.create({ text: "inherited", phone: "inherited", flag: 1 }),
    Object.create(null),
    JSON.parse('{"__proto__":"own","a":"x"}'),
    JSON.parse('{"__proto__":{"phone":"own"}}'),
    { toString: 1, constructor: "x" },
    new Date(0),
    () => 1,
    Either.right(1)
  )
)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value with something else somewhere within it, something missing, or something besides. */
const mutated = (value: unknown): FastCheck.Arbitrary<unknown> => {
  const within =
    Array.isArray(value) && value.length > 0
      ? FastCheck.oneof(
          FastCheck.array(FastCheck.oneof(odd, FastCheck.constantFrom(...value)), { maxLength: 6 }),
          FastCheck.nat(value.length - 1).chain((at) =>
            mutated(value[at]).map((other) => value.with(at, other))
          )
        )
      : isObject(value) && Object.keys(value).length > 0
        ? FastCheck.constantFrom(...Object.keys(value)).chain((name) => {
            const { [name]: member, ...rest } = value
            return FastCheck.oneof(
              mutated(member).map((other) => ({ ...value, [name]: other })),
              odd.map((other) => ({ excess: other, ...value })),
              FastCheck.constantFrom<unknown>(rest, Object.assign(Object.create({ [name]: member }), rest))
            )
          })
        : odd
  return FastCheck.oneof({ arbitrary: within, weight: 4 }, { arbitrary: odd, weight: 1 })
}

const inputs = (valid: object) =>
  FastCheck.oneof(
    FastCheck.constant<unknown>(valid),
    mutated(valid),
    mutated(valid).chain(mutated),
    FastCheck.constant<unknown>(valid).map((value) => Object.assign(Object.create(null), value))
  )

const runs = { numRuns: 3000 }

const asInterpreted = <A, I>(schema: Schema.Schema<A, I>, valid: object): void => {
  it("answers what the interpreter answers, whatever comes, with all faults", () => {
    const decoder = RequestDecoder.decoder(schema, ["at"])
    const explained = Schema.decodeUnknownEither(schema, { ...SchemaFaults.strict, errors: "all" })
    FastCheck.assert(
      FastCheck.property(inputs(valid), (input) => {
        const explanation = Either.try(() => explained(input))
        // It throws at the tag of a union that cannot be written as text (`{"toString":1}`). No request has such a union.
        FastCheck.pre(Either.isRight(explanation))
        const decoded = decoder(input)
        if (Either.isRight(explanation.right)) {
          expect(decoded).toStrictEqual(explanation.right)
        } else {
          const told = Either.isLeft(decoded) ? decoded.left : []
          expect(told.length).toBeGreaterThan(0)
          // The length of a list is looked at before its items, where the interpreter does the reverse.
          if (!told.some(({ message }) => /at most \d+ items/.test(message))) {
            expect(outline(told)).toEqual(outline(SchemaFaults.ofIssue(explanation.right.left.issue, ["at"])))
          }
        }
      }),
      runs
    )
  }, 60_000)
}

/** Where and of which kind, in one order. */
const outline = (faults: ReadonlyArray<Fault.Fault>): ReadonlyArray<string> =>
  faults.map(({ code, path }) => `${code} ${JSON.stringify(path)}`).sort()

describe("the decoder of every kind of node", () => asInterpreted(Everything, everything))
describe("the decoder of a send", () => asInterpreted(Requests.TemplateMessageRequest, send))
describe("the decoder of a direct message", () => asInterpreted(Requests.DirectMessageRequest, direct))

describe("a list that is too long", () => {
  it("is refused before its items are looked at", () => {
    const item = Object.defineProperty({}, "phone", {
      enumerable: true,
      get: () => expect.unreachable("looked at")
    })
    const recipients = Array.from({ length: Requests.maximumRecipients + 1 }, () => item)
    const decoded = RequestDecoder.decoder(Requests.TemplateMessageRequest)({ template_id: 7, recipients })
    expect(Either.isLeft(decoded) && decoded.left.map(({ path }) => path)).toEqual([["recipients"]])
  })
})
