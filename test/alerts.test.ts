/** docs/alerts.yml, docs/grafana.json and docs/metrics.md name metrics that there are, and none else. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Metrics } from "@sendwright/core/adapter"
import { describe, expect, it } from "vitest"
import * as PromQl from "./support/PromQl.ts"
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

/** As `promtool test rules` reads them. */
interface Cases {
  readonly tests: ReadonlyArray<{
    readonly name: string
    readonly input_series: ReadonlyArray<{ readonly series: string; readonly values: string }>
    readonly alert_rule_test: ReadonlyArray<{
      readonly eval_time: string
      readonly alertname: string
      readonly exp_alerts: ReadonlyArray<unknown>
    }>
  }>
}

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

  const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined
  it.skipIf(!hasPromtool)("is as `promtool` wants it, which finds its cases as they say", () => {
    for (const words of [
      ["check", "rules", path("alerts.yml")],
      ["test", "rules", path("alerts.test.json")]
    ]) {
      const { status, stderr, stdout } = spawnSync("promtool", words, { encoding: "utf8" })
      expect([status, stderr], stdout).toEqual([0, ""])
    }
  })

  const rules = new Map(
    [...text.matchAll(/- alert: (\w+)\n\s+expr: (.*)\n(?:\s+for: (\d+)m\n)?/g)].map(
      ([, name = "", expression = "", minutes = "0"]) => [name, { expression, minutes: Number(minutes) }]
    )
  )
  const cases: Cases = JSON.parse(read("alerts.test.json"))

  it.each(cases.tests.map((each) => [each.name, each] as const))(
    "%s",
    (_, { alert_rule_test, input_series }) => {
      const all = input_series.map(({ series: each, values }) => PromQl.seriesOf(each, values))
      for (const { alertname, eval_time, exp_alerts } of alert_rule_test) {
        const { expression, minutes } = rules.get(alertname) ?? { expression: "", minutes: 0 }
        const found = PromQl.evaluate(expression, all)
        const at = Number.parseInt(eval_time, 10)
        const isFiring = Array.from({ length: minutes + 1 }, (_, before) => found(at - before)).every(
          ({ length }) => length > 0
        )
        expect([alertname, eval_time, isFiring]).toEqual([alertname, eval_time, exp_alerts.length > 0])
      }
    }
  )

  it("has a case in which each rule fires, and one in which it does not", () => {
    const checks = cases.tests.flatMap(({ alert_rule_test }) => alert_rule_test)
    for (const isFiring of [true, false])
      expect(
        [...rules.keys()].filter(
          (name) =>
            !checks.some(
              ({ alertname, exp_alerts }) => alertname === name && exp_alerts.length > 0 === isFiring
            )
        )
      ).toEqual([])
  })
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

describe("docs/metrics.md", () => {
  it("says of every metric what it means, and of none that there is not", () => {
    const told = new Set(metricsIn(read("metrics.md")))
    expect(names.filter((name) => !told.has(name))).toEqual([])
    expect([...told].filter((name) => !names.includes(name) && !series.has(name))).toEqual([])
  })
})
