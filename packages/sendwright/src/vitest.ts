/** The matchers of the test kit in vitest: `import "sendwright/vitest"`, in a test or in its setup file. */
import { expect } from "vitest"
import type { Checks } from "./api/Testing.ts"
import { matchers } from "./testing.ts"

expect.extend(matchers)

// vitest has this interface for it, from 3.2 on. `Assertion` is merged or not by the order of the program's files.
declare module "vitest" {
  interface Matchers<T> extends Checks<T> {}
}
