/** The flood in short, so that what it showed stays: `npm run attack` is the whole of it. */
import { expect, it } from "vitest"
import { flood } from "./Flood.ts"

it("a flood without credentials takes little memory, refuses no good request, and is over soon", async () => {
  const figures = await flood.run({ size: "short", minutes: 1 })
  // How long requests take says more of the machine that the tests run on.
  const bounds = figures.filter(({ name }) => !name.includes("p99"))
  expect(bounds.filter(({ isMet }) => !isMet)).toEqual([])
  expect(figures.length).toBeGreaterThan(bounds.length)
}, 90_000)
