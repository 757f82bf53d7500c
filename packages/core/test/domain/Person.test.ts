/** Circles of a person's phones and user ids (contract.md §10 "Consent"): bounded, and never smaller than they were. */

import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../src/domain/Instant.ts"
import type { Key, Known, Link } from "../../src/domain/Person.ts"
import * as Person from "../../src/domain/Person.ts"

const phones = Array.from({ length: 12 }, (_, n) => `3460000000${n}`)
const users = Array.from({ length: 12 }, (_, n) => Person.keyOfUser(`u${n}`, n % 3 === 0 ? "q" : "p"))
const keys = [...phones, ...users]

/** What hooks tell, each in a commit of its own. */
const tellings = FastCheck.array(
  FastCheck.record({
    person: FastCheck.constantFrom(...keys),
    other: FastCheck.constantFrom(...keys),
    reportedTogether: FastCheck.boolean(),
    back: FastCheck.boolean()
  }).filter(({ other, person }) => other !== person),
  { maxLength: 60 }
)

const linksOf = ({
  back,
  other,
  person,
  reportedTogether
}: {
  readonly person: Key
  readonly other: Key
  readonly reportedTogether: boolean
  readonly back: boolean
}): ReadonlyArray<Link> => [
  { person, other, reportedTogether },
  ...(back || reportedTogether ? [{ person: other, other: person, reportedTogether }] : [])
]

/** What is known after each commit; the clock stands still, and once it is set back. */
const histories = (reportedTogether: ReadonlyArray<Parameters<typeof linksOf>[0]>) => {
  let known: ReadonlyArray<Known> = []
  return reportedTogether.map((each, commit) => {
    const learnt = Person.learn(linksOf(each), known, commit === 7 ? Time.at(1) : Time.at(1000))
    known = Person.withLearnt(known, learnt)
    return { known, learnt }
  })
}

/** The plain reference: the oldest link that leads out of what is reached, again and again. */
const reachedFrom = (known: ReadonlyArray<Known>, key: Key): ReadonlySet<Key> => {
  const found = new Set([key])
  for (;;) {
    const [oldest] = known
      .filter(({ other, person }) => found.has(person) && !found.has(other))
      .toSorted(
        (a, b) =>
          a.at - b.at || (a.person < b.person ? -1 : a.person > b.person ? 1 : a.other < b.other ? -1 : 1)
      )
    if (oldest === undefined || found.size === Person.maximumKeys) break
    found.add(oldest.other)
  }
  for (const { other, person } of known) if (person === key) found.add(other)
  return found
}

const sorted = (some: Iterable<Key>): ReadonlyArray<Key> => [...some].sort()

describe("a circle", () => {
  it.prop("is as the plain reference has it, for any keys", [tellings], ([reportedTogether]) => {
    const { known = [] } = histories(reportedTogether).at(-1) ?? {}
    const circle = Person.circle(known)
    for (const key of keys) expect(sorted(circle.everything([key]))).toEqual(sorted(reachedFrom(known, key)))
    const both = circle.everything([phones[0] ?? "", users[0] ?? ""])
    expect(sorted(both)).toEqual(
      sorted(new Set([...reachedFrom(known, phones[0] ?? ""), ...reachedFrom(known, users[0] ?? "")]))
    )
  })

  it.prop("loses nobody by what is learnt later", [tellings], ([reportedTogether]) => {
    let before: ReadonlyArray<ReadonlyArray<Key>> = keys.map((key) => [key])
    for (const { known } of histories(reportedTogether)) {
      const circle = Person.circle(known)
      const now = keys.map((key) => circle.everything([key]))
      for (const [place, some] of before.entries())
        expect(now[place]).toEqual(expect.arrayContaining([...some]))
      before = now
    }
  })

  it.prop(
    "has a bound, with the keys told directly and those they came with",
    [tellings],
    ([reportedTogether]) => {
      for (const { known, learnt } of histories(reportedTogether)) {
        const circle = Person.circle(known)
        for (const { other, person } of learnt.retained) expect(circle.everything([person])).toContain(other)
        for (const key of keys) {
          expect(known.filter(({ person }) => person === key).length).toBeLessThanOrEqual(Person.maximumLinks)
          expect(circle.everything([key]).length).toBeLessThanOrEqual(
            Person.maximumKeys + Person.maximumLinks
          )
        }
      }
    }
  )

  it.prop(
    "grants no further than what was told together, and not by what is full",
    [tellings],
    ([reportedTogether]) => {
      const { known = [] } = histories(reportedTogether).at(-1) ?? {}
      const circle = Person.circle(known)
      const full = (key: Key) => known.filter(({ person }) => person === key).length >= Person.maximumLinks
      const isPhone = (key: Key) => !key.startsWith("@")
      for (const key of keys) {
        for (const other of circle.together([key])) {
          if (other === key) continue
          expect(known).toContainEqual(
            expect.objectContaining({ person: key, other, reportedTogether: true })
          )
          if (!(isPhone(key) && isPhone(other))) expect([full(key), full(other)]).toEqual([false, false])
        }
      }
    }
  )

  it.prop("leads to a key from all whose links lead there within it", [tellings], ([reportedTogether]) => {
    const { known = [] } = histories(reportedTogether).at(-1) ?? {}
    const circle = Person.circle(known)
    for (const key of keys) {
      const leading = circle.leadingTo(key)
      expect(circle.everything([key])).toEqual(expect.arrayContaining([...leading]))
      for (const { other, person } of known)
        if (other === key && circle.everything([key]).includes(person)) expect(leading).toContain(person)
    }
  })
})

describe("what is learnt", () => {
  const link = (n: number): Link => ({
    person: "34600000000",
    other: Person.keyOfUser(`u${n}`, "p"),
    reportedTogether: true
  })
  const many = Array.from({ length: Person.maximumLinks + 3 }, (_, n) => link(n))

  it("is stored in the order it comes up to the maximum, and the rest is always returned as beyond", () => {
    const first = Person.learn(many, [], Time.at(1))
    expect(first.retained.map(({ other }) => other)).toEqual(
      many.slice(0, Person.maximumLinks).map(({ other }) => other)
    )
    expect(first.beyond).toEqual(many.slice(Person.maximumLinks))
    expect(Person.learn(many, first.retained, Time.at(2))).toEqual({
      left: [],
      retained: [],
      beyond: first.beyond,
      ended: []
    })
  })

  it("marks a replaced key as reported together, and keeps its age", () => {
    const replaced = { ...link(0), reportedTogether: false }
    const { retained } = Person.learn([replaced], [], Time.at(1))
    expect(Person.learn([link(0)], retained, Time.at(9))).toEqual({
      left: [],
      retained: [{ ...link(0), at: 1 }],
      beyond: [],
      ended: []
    })
    expect(Person.learn([replaced], [{ ...link(0), at: Time.at(1) }], Time.at(9))).toEqual({
      left: [],
      retained: [],
      beyond: [],
      ended: []
    })
  })
})
