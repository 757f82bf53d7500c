/** `/metrics`: Effect's metrics as Prometheus text. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"

const label = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

/** Counters and gauges; nothing else is measured here. */
export const text: Effect.Effect<string> = Effect.map(Metric.snapshot, (pairs) => {
  const families = new Map<string, Array<string>>()
  for (const { metricKey, metricState } of pairs) {
    const { description, name, tags } = metricKey
    const counter = MetricState.isCounterState(metricState)
    if (!counter && !MetricState.isGaugeState(metricState)) continue
    const value = counter ? metricState.count : metricState.value
    const labels = tags.map((tag) => `${tag.key}="${label(tag.value)}"`).join(",")
    const help = description._tag === "Some" ? [`# HELP ${name} ${description.value}`] : []
    const lines = families.get(name) ?? [...help, `# TYPE ${name} ${counter ? "counter" : "gauge"}`]
    lines.push(`${name}${labels === "" ? "" : `{${labels}}`} ${value}`)
    families.set(name, lines)
  }
  return `${[...families.values()].flat().join("\n")}\n`
})
