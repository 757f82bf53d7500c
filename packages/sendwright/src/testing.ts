/** Sendwright in your tests: in memory or over your SQLite, under a clock that only the test turns, without a network. */
import type { Assertions, Matchers, TestOptions, TestSendwright } from "./api/Testing.ts"
import * as Kit from "./inside/Kit.ts"
import * as Known from "./inside/Matchers.ts"

export type * from "./api/Testing.ts"

/**
 * Sendwright with an account, a session, the template `hello` and consent of whoever a test sends to.
 *
 * @example
 * const t = await createTestSendwright()
 * await t.send({ to: "34600001234" })
 * await t.advance("1 min")
 * assertions.toHaveBeenDelivered(t.person("34600001234"))
 */
export const createTestSendwright: (options?: TestOptions) => Promise<TestSendwright> =
  Kit.createTestSendwright

/** For vitest and jest: `expect.extend(matchers)`. */
export const matchers: Matchers = Known.matchers

/** For `node:test`: they throw where a matcher would fail. */
export const assertions: Assertions = Known.assertions
