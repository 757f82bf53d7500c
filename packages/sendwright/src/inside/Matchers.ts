/** Matchers for vitest and jest, and the same as assertions. A failure prints what happened with the person. */
import { AssertionError } from "node:assert"
import { types } from "node:util"
import * as Schema from "effect/Schema"
import type * as Api from "../api/Testing.ts"
import { input } from "./Input.ts"
import * as TestPeople from "./TestPeople.ts"

const NumberOfTimes = Schema.Int.pipe(Schema.nonNegative())
const timesOf = input(NumberOfTimes, { name: "times" })
const Pattern = Schema.declare(types.isRegExp, { title: "a regular expression" })
const expectedOf = input<Api.Expected>(
  Schema.Struct({
    template: Schema.optional(Schema.String),
    text: Schema.optional(Schema.Union(Schema.String, Pattern)),
    times: Schema.optional(NumberOfTimes)
  }),
  { name: "expected" }
)

const isPerson = (value: unknown): value is Api.Person =>
  typeof value === "object" && value !== null && "inbox" in value && "story" in value
const personOf = input(Schema.declare(isPerson, { title: "`t.person(phone)`" }), { name: "person" })
const isKit = (value: unknown): value is Api.TestSendwright =>
  typeof value === "object" && value !== null && "platform" in value && "person" in value
const kitOf = input(Schema.declare(isKit, { title: "what `createTestSendwright` answered" }), {
  name: "t"
})

const isLike = (received: Api.Received, { template, text }: Api.Expected): boolean =>
  (template === undefined || received.template === template) &&
  (text === undefined ||
    (typeof text === "string" ? received.text === text : received.text.search(text) >= 0))

const described = ({ template, text }: Api.Expected): string =>
  [
    template === undefined ? "" : ` of "${template}"`,
    text === undefined ? "" : ` saying ${String(text)}`
  ].join("")

/** So many of what somebody got are told. */
const mostTold = 5

const got = ({ inbox }: Api.Person): string =>
  inbox.length === 0
    ? ""
    : ` The inbox has ${inbox
        .slice(-mostTold)
        .map(({ template, text }) => `"${text}"${template === null ? "" : ` (${template})`}`)
        .join(", ")}.`

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

export const matchers: Api.Matchers = {
  toHaveBeenDelivered: (somebody, wish = {}) => {
    const person = personOf(somebody)
    const expected = expectedOf(wish)
    const found = person.inbox.filter((received) => isLike(received, expected)).length
    const pass = expected.times === undefined ? found > 0 : found === expected.times
    const wanted = expected.times === undefined ? "" : ` ${times(expected.times)}`
    return {
      pass,
      message: () =>
        `${person.phone ?? person.userId} should ${pass ? "not " : ""}have got a message${described(expected)}${wanted}, and got ${found}.${got(person)}\n\n${person.story()}`
    }
  },
  toHaveRefused: (somebody) => {
    const person = personOf(somebody)
    return {
      pass: person.refused,
      message: () =>
        `The last word of ${person.phone ?? person.userId} should ${person.refused ? "not " : ""}be a refusal.\n\n${person.story()}`
    }
  },
  toHaveSent: (kit, attempts, to) => {
    const t = kitOf(kit)
    const count = timesOf(attempts)
    const name = to === undefined ? undefined : TestPeople.name(to)
    const found = t.platform.attempts.filter(
      ({ phone, userId }) => name === undefined || phone === name || userId === name
    )
    const pass = found.length === count
    const names =
      name === undefined ? [...new Set(found.map(({ phone, userId }) => phone ?? userId ?? ""))] : [name]
    const whom = name === undefined ? "" : ` to ${name}`
    return {
      pass,
      message: () =>
        `The platform should ${pass ? "not " : ""}have been asked ${times(count)}${whom}, and was ${times(found.length)}.\n\n${names.map((each) => t.person(each).story()).join("\n\n")}`
    }
  }
}

const asserted = ({ message, pass }: Api.Matched): void => {
  if (!pass)
    throw new AssertionError({ message: message(), actual: pass, expected: true, operator: "sendwright" })
}

export const assertions: Api.Assertions = {
  toHaveBeenDelivered: (...given) => asserted(matchers.toHaveBeenDelivered(...given)),
  toHaveRefused: (...given) => asserted(matchers.toHaveRefused(...given)),
  toHaveSent: (...given) => asserted(matchers.toHaveSent(...given))
}
