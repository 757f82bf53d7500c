/**
 * Effect's metrics as text that Prometheus reads, in its own format or in OpenMetrics 1.0. Those of a program around the engine are
 * among them; those that Effect keeps of its fibers are not.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

export type Format = "prometheus" | "openMetrics"

/** Names of a program's own may have letters that no metric may. */
const nameOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_")

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const quoted = (text: string): string => `"${escaped(text).replaceAll('"', '\\"')}"`

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY
    ? "+Inf"
    : value === Number.NEGATIVE_INFINITY
      ? "-Inf"
      : Number.isNaN(value)
        ? "NaN"
        : String(value)

/** The end of a bucket: the same text in both formats, or a series would have two names. */
const bound = (value: number): string => (Number.isInteger(value) ? value.toFixed(1) : number(value))

const sample = (name: string, labels: Labels, value: number): string => {
  const inside = labels.map(([label, text]) => `${label}=${quoted(text)}`).join(",")
  return `${name}${inside === "" ? "" : `{${inside}}`} ${number(value)}`
}

type Kind = "counter" | "gauge" | "histogram" | "info"

/** Null of kinds that neither format takes from us. */
const kindOf = ({ metricKey: { name }, metricState }: MetricPair.MetricPair.Untyped): Kind | null => {
  if (MetricState.isCounterState(metricState)) return "counter"
  if (MetricState.isHistogramState(metricState)) return "histogram"
  if (!MetricState.isGaugeState(metricState)) return null
  return name.endsWith("_info") ? "info" : "gauge"
}

const samplesOf = (
  name: string,
  { metricKey: { tags }, metricState }: MetricPair.MetricPair.Untyped
): ReadonlyArray<string> => {
  const labels: Labels = tags.map(({ key, value }) => [nameOf(key), value])
  if (MetricState.isCounterState(metricState)) return [sample(name, labels, Number(metricState.count))]
  if (MetricState.isGaugeState(metricState)) return [sample(name, labels, Number(metricState.value))]
  if (!MetricState.isHistogramState(metricState)) return []
  const { buckets, count, sum } = metricState
  return [
    ...[...buckets].map(([end, below]) => sample(`${name}_bucket`, [...labels, ["le", bound(end)]], below)),
    sample(`${name}_sum`, labels, sum),
    sample(`${name}_count`, labels, count)
  ]
}

/** OpenMetrics names a family without the ending that its samples have. */
const endings: Readonly<Partial<Record<Kind, string>>> = { counter: "_total", info: "_info" }

const headOf = (
  name: string,
  kind: Kind,
  help: Option.Option<string>,
  format: Format
): ReadonlyArray<string> => {
  const isOpen = format === "openMetrics"
  const family = isOpen ? name.slice(0, name.length - (endings[kind] ?? "").length) : name
  const unit = isOpen ? /_(seconds|bytes)$/.exec(family)?.[1] : undefined
  const told = Option.map(help, (text) => (isOpen ? quoted(text).slice(1, -1) : escaped(text)))
  return [
    ...(Option.isSome(told) ? [`# HELP ${family} ${told.value}`] : []),
    `# TYPE ${family} ${kind === "info" && !isOpen ? "gauge" : kind}`,
    ...(unit === undefined ? [] : [`# UNIT ${family} ${unit}`])
  ]
}

/** Everything that is measured, each family's samples together. */
export const render = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>, format: Format): string => {
  const families = new Map<string, Array<string>>()
  for (const pair of pairs) {
    const kind = kindOf(pair)
    const { description, name: given } = pair.metricKey
    if (kind === null || given.startsWith("effect_")) continue
    const ending = format === "openMetrics" ? (endings[kind] ?? "") : ""
    const name = nameOf(given.endsWith(ending) ? given : given + ending)
    const lines = families.get(name) ?? [...headOf(name, kind, description, format)]
    families.set(name, lines)
    lines.push(...samplesOf(name, pair))
  }
  const sorted = [...families].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, lines]) => lines)
  return [...sorted, ...(format === "openMetrics" ? ["# EOF", ""] : [""])].join("\n")
}

export const text = (format: Format): Effect.Effect<string> =>
  Effect.map(Metric.snapshot, (pairs) => render(pairs, format))
