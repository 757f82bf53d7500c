/** The matchers of the test kit in vitest: `import "sendwright/vitest"`, in a test or in its setup file. */
import { expect } from "vitest"
import type { Checks } from "./api/Testing.ts"
import { matchers } from "./testing.ts"

expect.extend(matchers)

declare module "vitest" {
  interface Assertion<T> extends Checks<T> {}
}
