/** Traces and metrics by OTLP over HTTP, in JSON. Loaded where a collector is named, and nowhere else. */
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Tracer from "effect/Tracer"
import type { Telemetry } from "./HostConfig.ts"
import * as Version from "./Version.ts"

const failed = Exit.fail(new Error("It failed: the log says why."))

/** A tracer that gets no words of errors and log lines: they may quote a platform or a message. */
const discreet = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    context: tracer.context,
    span: (...given) => {
      const span = tracer.span(...given)
      const end = span.end.bind(span)
      return Object.assign(span, {
        end: (at: bigint, exit: Exit.Exit<unknown, unknown>) =>
          end(at, Exit.isSuccess(exit) || Exit.isInterrupted(exit) ? exit : failed),
        event: () => {}
      })
    }
  })

export const layer = ({ endpoint, headers, resource, service }: Telemetry): Layer.Layer<never> => {
  const options = (signal: string) => ({
    url: `${endpoint.replace(/\/+$/, "")}/v1/${signal}`,
    headers: Redacted.value(headers),
    resource: { serviceName: service, serviceVersion: Version.read(), attributes: resource }
  })
  return Layer.mergeAll(
    Layer.unwrapScoped(
      Effect.map(OtlpTracer.make(options("traces")), (tracer) => Layer.setTracer(discreet(tracer)))
    ),
    OtlpMetrics.layer(options("metrics"))
  ).pipe(
    Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson]),
    // The variables of the resource are read by the settings already, as OpenTelemetry has them.
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map())))
  )
}
