/** A session's configuration: refused by its fields, kept as it is read, and never repeated. */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "../../effect/Either.ts"
import type { Make, Opened } from "./Setup.ts"
import { test } from "./Setup.ts"

type Config = Readonly<Record<string, unknown>>

const reading = (opened: Opened) => {
  const configure = opened.able("configure", opened.sender.configure)
  /** The paths of what is wrong. */
  return (given: Config): ReadonlyArray<string> => {
    const read = configure(given)
    if (Either.isRight(read)) return []
    opened.discreet(read.left)
    expect(read.left.length, "a refusal says why").toBeGreaterThan(0)
    for (const { message } of read.left) expect(message).toMatch(/\S \S/)
    return read.left.map(({ path }) => path.join("/"))
  }
}

const without = (config: Config, field: string): Config =>
  Object.fromEntries(Object.entries(config).filter(([name]) => name !== field))

export const suite = (make: Make): void => {
  describe("a configuration", () => {
    test(make, "is refused by the name of each field that is missing, and of no other", (opened) =>
      Effect.sync(() => {
        const faults = reading(opened)
        const { config, required } = opened.platform
        for (const field of Object.keys(config)) {
          const expected = required.includes(field) ? [`config/${field}`] : []
          expect(faults(without(config, field)), `without ${field}`).toEqual(expected)
        }
        expect([...faults({})].sort(), "all at once").toEqual(
          required.map((field) => `config/${field}`).sort()
        )
      })
    )

    test(make, "is refused by the name of a field that is of another kind, without repeating it", (opened) =>
      Effect.sync(() => {
        const faults = reading(opened)
        const { config, required, secrets } = opened.platform
        for (const field of required) {
          expect(faults({ ...config, [field]: [config[field]] }), field).toContain(`config/${field}`)
          expect(faults({ ...config, [field]: null }), field).toContain(`config/${field}`)
        }
        // Nobody's secret is told because it stands in the wrong place.
        for (const field of Object.keys(config)) {
          for (const secret of secrets) faults({ ...config, [field]: { [secret]: config[secret] } })
          for (const secret of secrets) faults({ ...config, [field]: config[secret] })
        }
      })
    )

    test(make, "is refused by the name of a field that nobody asked for", (opened) =>
      Effect.sync(() => {
        const faults = reading(opened)
        const { config } = opened.platform
        for (const name of ["nobody_asked_for", "constructor", "__proto__"]) {
          const given: Config = JSON.parse(
            JSON.stringify({ ...config, nobody: "this" }).replace(`"nobody":`, `"${name}":`)
          )
          expect(faults(given), name).toEqual([`config/${name}`])
        }
      })
    )

    test(make, "is the same when it is read again", (opened) =>
      Effect.sync(() => {
        opened.able("configure", opened.sender.configure)
        expect(opened.kept(opened.config)).toEqual(opened.config)
      })
    )

    test(make, "has a description that names each field that is required", (opened) =>
      Effect.sync(() => {
        const description = opened.able("configDescription", opened.sender.configDescription)
        for (const field of opened.platform.required) expect(description).toContain(`\`${field}\``)
      })
    )

    test(make, "has a pace that lets messages go", (opened) =>
      Effect.sync(() => {
        const pace = opened.able("pacing", opened.sender.pacing)(opened.config)
        for (const limit of [pace.messagesPerSecond, pace.pairIntervalMs]) {
          if (limit !== null) expect(limit).toBeGreaterThan(0)
        }
      })
    )
  })
}
