/**
 * Where what a caller traces goes on: a send keeps the span that it was accepted in as W3C's header `traceparent` tells it
 * (Trace Context, level 1), and its attempts and webhooks are told below that, in whatever process they are made. Without a
 * tracer there are no spans, and a header is passed on as it came.
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"

/** The first version's form. A later one may go on behind it, and begins with the same fields. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const isNothing = (id: string): boolean => /^0+$/.test(id)

/** The span that a header names; undefined of a header that W3C says to take no notice of. */
export const parse = (header: string | null | undefined): Tracer.ExternalSpan | undefined => {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(header ?? "") ?? []
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined
  if (isNothing(traceId) || isNothing(spanId)) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

/** The header that names a span; null of one without ids, as where tracing is switched off. */
const format = ({ sampled, spanId, traceId }: Tracer.AnySpan): string | null => {
  const header = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
  return parse(header) === undefined ? null : header
}

/** Effect's default tracer discards spans. */
const discards = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** True where somebody gets the spans. */
export const hasTracer = ({ currentTracer }: Fiber.RuntimeFiber<unknown, unknown>): boolean =>
  currentTracer !== discards

/** The span that a fiber is in, if it has one, as a header. */
export const current: Effect.Effect<string | null> = Effect.withFiberRuntime(({ currentSpan }) =>
  Effect.succeed(currentSpan === undefined ? null : format(currentSpan))
)

/** Runs an effect below the span that a header names; as it is where that names none. */
export const below = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  header: string | undefined
): Effect.Effect<A, E, R> => {
  const parent = parse(header)
  return parent === undefined ? effect : Effect.withParentSpan(effect, parent)
}

/** The attributes of a span. None is a text from outside, which may have a number or a secret. */
type Attributes = Readonly<Record<string, string | number>>

/**
 * Asks somebody else for the sake of what was accepted in a span: in a span of its own below that one, where that is sampled
 * and somebody gets it. What breaks is not told, since its words may quote a message.
 *
 * @param header of the acceptance; null where nobody traced it
 * @param ask makes the request, with the header to pass on
 */
export const asking = <A>(
  header: string | null,
  name: string,
  attributes: () => Attributes,
  ask: (header: string | null) => Effect.Effect<A>,
  told: (answer: A) => Attributes
): Effect.Effect<A> => {
  const parent = header === null ? undefined : parse(header)
  if (parent === undefined) return ask(null)
  return Effect.withFiberRuntime((fiber) =>
    parent.sampled && hasTracer(fiber)
      ? Effect.flatten(
          Effect.useSpan(
            name,
            { parent, kind: "client", captureStackTrace: false, attributes: attributes() },
            (span) =>
              Effect.map(Effect.exit(ask(format(span))), (exit) => {
                const all = Exit.isSuccess(exit) ? told(exit.value) : { "error.type": "defect" }
                for (const [key, value] of Object.entries(all)) span.attribute(key, value)
                return exit
              })
          )
        )
      : ask(header)
  )
}
