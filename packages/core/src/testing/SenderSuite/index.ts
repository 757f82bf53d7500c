/**
 * The suite that every sender passes, by the promises of `Sender`. Its author gives the sender and a hand on its
 * platform; over HTTP `HttpPlatform` of `@sendwright/core/testing` is most of the latter. What the sender does not
 * have, or the platform cannot be made to do, is shown as skipped with the reason. Needs `@effect/vitest`.
 */
import { describe } from "@effect/vitest"
import * as abilities from "./abilities.ts"
import * as configuration from "./configuration.ts"
import * as endings from "./endings.ts"
import * as hook from "./hook.ts"
import * as outcomes from "./outcomes.ts"
import type { Make } from "./Setup.ts"

export * from "./Platform.ts"

/** `make` builds a sender and a platform for each test. */
export const suite = (name: string, make: Make): void => {
  describe(name, () => {
    outcomes.suite(make)
    endings.suite(make)
    abilities.suite(make)
    configuration.suite(make)
    hook.suite(make)
  })
}
