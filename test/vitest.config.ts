import { defineConfig } from "vitest/config"

const conditions = ["@sendwright/source"]

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    testTimeout: 20_000,
    // The files of a worker share its modules: loading Effect and our sources for each would be a third of the run. So a
    // file replaces nothing for the whole process without putting it back, and mocks no module.
    isolate: false,
    maxWorkers: 2,
    minWorkers: 1
  }
})
