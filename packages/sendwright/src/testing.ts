/** Sendwright in your tests: in memory or over your SQLite, under a clock that only the test turns, without a network. */
import type { Assertions, Matchers, TestOptions, TestSendwright } from "./api/Testing.ts"
import * as Kit from "./inside/Kit.ts"
import * as Known from "./inside/Matchers.ts"

export type * from "./api/Testing.ts"

/**
 * Sendwright with an account, a session, the template `hello` and consent of whoever a test sends to.
 *
 * @example
 * ```ts
 * import { assertions, createTestSendwright } from "sendwright/testing"
 *
 * const t = await createTestSendwright()
 * await t.send({ to: "34600001234" })
 * await t.advance("1 min")
 * assertions.toHaveBeenDelivered(t.person("34600001234"))
 * await t.stop()
 * ```
 */
export const createTestSendwright: (options?: TestOptions) => Promise<TestSendwright> =
  Kit.createTestSendwright

/**
 * For jest: `expect.extend(matchers)`. In vitest `import "sendwright/vitest"` does it.
 *
 * @example
 * ```ts
 * import { expect } from "vitest"
 * import { createTestSendwright, matchers } from "sendwright/testing"
 *
 * expect.extend(matchers)
 *
 * const t = await createTestSendwright()
 * await t.person("34600001234").replies("STOP")
 * matchers.toHaveRefused(t.person("34600001234")).pass // what `expect(…).toHaveRefused()` asks for
 * ```
 */
export const matchers: Matchers = Known.matchers

/**
 * For `node:test`: they throw where a matcher would fail.
 *
 * @example
 * ```ts
 * import { test } from "node:test"
 * import { assertions, createTestSendwright } from "sendwright/testing"
 *
 * test("STOP is heard", async () => {
 *   const t = await createTestSendwright()
 *   await t.person("34600001234").replies("STOP")
 *   assertions.toHaveRefused(t.person("34600001234"))
 *   await t.stop()
 * })
 * ```
 */
export const assertions: Assertions = Known.assertions
