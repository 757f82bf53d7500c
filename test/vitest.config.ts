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
    maxWorkers: 2,
    minWorkers: 1,
    poolOptions: { forks: { isolate: false } }
  }
})
