/** `effect/MetricKey`; `Version.ts` says why it is not imported as such. */
import * as effect from "effect"
import type * as Module from "effect/MetricKey"

export type Counter = Module.MetricKey.Counter<number>
export type Gauge = Module.MetricKey.Gauge<number>
export type Histogram = Module.MetricKey.Histogram

export const { counter, gauge, histogram, taggedWithLabels } = effect.MetricKey
