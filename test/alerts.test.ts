/** docs/alerts.yml, docs/grafana.json and docs/operating.md name metrics that there are, and none else. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Metrics } from "@sendwright/core/adapter"
import { describe, expect, it } from "vitest"
import { items } from "./support/TestHost.ts"

const path = (name: string): string => fileURLToPath(new URL(`../docs/${name}`, import.meta.url))
const read = (name: string): string => readFileSync(path(name), "utf8")

const keys = Object.values(Metrics.keys)
const names = keys.map(({ name }) => name)
const histograms = keys.flatMap(({ keyType, name }) => ("boundaries" in keyType ? name : []))
const series = new Set([
  ...names.filter((name) => !histograms.includes(name)),
  ...histograms.flatMap((name) => ["_bucket", "_sum", "_count"].map((ending) => name + ending))
])

const metricsIn = (text: string): ReadonlyArray<string> => text.match(/\bsendwright_[a-z_]+/g) ?? []

const expressions = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^\s+expr: (.*)$/gm)].map(([, expression = ""]) => expression)

describe("docs/alerts.yml", () => {
  const text = read("alerts.yml")

  it("has eight rules, whose expressions name series that there are", () => {
    const rules = expressions(text)
    expect(rules).toHaveLength(8)
    expect(text.match(/- alert: \w+/g)).toHaveLength(8)
    for (const rule of rules) {
      expect(metricsIn(rule).length, rule).toBeGreaterThan(0)
      expect(metricsIn(rule).filter((name) => !series.has(name))).toEqual([])
    }
    // What its sentences name is a family.
    expect(metricsIn(text).filter((name) => !series.has(name) && !names.includes(name))).toEqual([])
  })

  const promtool = spawnSync("promtool", ["check", "rules", path("alerts.yml")], { encoding: "utf8" })
  it(
    promtool.error === undefined
      ? "is as `promtool check rules` wants it"
      : "could not be checked by `promtool check rules`, which is not installed here",
    () => {
      if (promtool.error === undefined) expect([promtool.status, promtool.stderr]).toEqual([0, ""])
    }
  )
})

describe("docs/grafana.json", () => {
  it("has panels whose expressions name series that there are", () => {
    const panels = items(JSON.parse(read("grafana.json")), "panels")
    const found = panels.flatMap((panel) => items(panel, "targets").map((target) => JSON.stringify(target)))
    expect(found.length).toBeGreaterThan(10)
    for (const target of found) {
      expect(metricsIn(target).length, target).toBeGreaterThan(0)
      expect(metricsIn(target).filter((name) => !series.has(name))).toEqual([])
    }
  })
})

describe("docs/operating.md", () => {
  it("says of every metric what it means, and of none that there is not", () => {
    const told = new Set(metricsIn(read("operating.md")))
    expect(names.filter((name) => !told.has(name))).toEqual([])
    expect([...told].filter((name) => !names.includes(name) && !series.has(name))).toEqual([])
  })
})
