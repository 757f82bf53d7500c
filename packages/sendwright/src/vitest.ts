/**
 * The matchers of the test kit in vitest: in a test, or in its setup file.
 *
 * @example
 * ```ts
 * import "sendwright/vitest"
 * import { createTestSendwright } from "sendwright/testing"
 * import { expect, it } from "vitest"
 *
 * it("says hello", async () => {
 *   const t = await createTestSendwright()
 *   await t.send({ to: "34600001234" })
 *   await t.advance("1 min")
 *   expect(t.person("34600001234")).toHaveBeenDelivered({ template: "hello" })
 *   await t.stop()
 * })
 * ```
 */
import { expect } from "vitest"
import type { Checks } from "./api/Testing.ts"
import { matchers } from "./testing.ts"

expect.extend(matchers)

// vitest has this interface for it, from 3.2 on. `Assertion` is merged or not by the order of the program's files.
declare module "vitest" {
  interface Matchers<T> extends Checks<T> {}
}
