/** What the metrics of a test's process say. They are the process's, so that a test compares two readings. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"

type Labels = Readonly<Record<string, string>>

/** A counter's or a gauge's value, or how often a histogram was observed: of all series that have the labels together. */
export const value = (name: string, labels: Labels = {}): Effect.Effect<number> =>
  Effect.map(Metric.snapshot, (pairs) => {
    let sum = 0
    for (const { metricKey, metricState } of pairs) {
      const has = Object.entries(labels).every(([label, text]) =>
        metricKey.tags.some(({ key, value }) => key === label && value === text)
      )
      if (metricKey.name !== `sendwright_${name}` || !has) continue
      if (MetricState.isGaugeState(metricState)) sum += Number(metricState.value)
      else if (MetricState.isCounterState(metricState) || MetricState.isHistogramState(metricState))
        sum += Number(metricState.count)
    }
    return sum
  })

/** What a histogram observed in all, in its unit. */
export const total = (name: string): Effect.Effect<number> =>
  Effect.map(Metric.snapshot, (pairs) =>
    pairs.reduce(
      (sum, { metricKey, metricState }) =>
        metricKey.name === `sendwright_${name}` && MetricState.isHistogramState(metricState)
          ? sum + metricState.sum
          : sum,
      0
    )
  )

/** By how much something grows while an effect runs. */
export const growth = <A, E, R>(of: Effect.Effect<number>, during: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* of
    yield* during
    return (yield* of) - before
  })
