/** Which span a header names (W3C Trace Context, level 1), and what a tracer is told of a request to somebody else. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import * as Traces from "../../src/runtime/Traces.ts"

const trace = "0af7651916cd43dd8448eb211c80319c"
const span = "b7ad6b7169203331"

describe("a header", () => {
  it("names a span, in a later version too", () => {
    const named = { traceId: trace, spanId: span, sampled: true }
    for (const header of [`00-${trace}-${span}-01`, `00-${trace}-${span}-03`, `cc-${trace}-${span}-01-more`])
      expect(Traces.parse(header), header).toMatchObject(named)
    expect(Traces.parse(`00-${trace}-${span}-00`)).toMatchObject({ sampled: false })
  })

  it("that W3C says to ignore names none", () => {
    for (const header of [
      undefined,
      "",
      "nonsense",
      `ff-${trace}-${span}-01`,
      `00-${trace}-${span}-01-more`,
      `cc-${trace}-${span}-01more`,
      `00-${trace.toUpperCase()}-${span}-01`,
      `00-${"0".repeat(32)}-${span}-01`,
      `00-${trace}-${"0".repeat(16)}-01`,
      `00-${trace}-${span}-1`,
      `00-${trace}-${span}-01, 00-${trace}-${span}-01`
    ])
      expect(Traces.parse(header), String(header)).toBeUndefined()
  })
})

describe("a request to somebody else", () => {
  const ask = (header: string | null, answer: Effect.Effect<string>) =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        context: native.context,
        span: (...given) => {
          const made = native.span(...given)
          spans.push(made)
          return made
        }
      })
      const passed: Array<string | null> = []
      const asking = Traces.asking(
        header,
        "ask",
        () => ({ id: "1" }),
        (each) => Effect.suspend(() => answer.pipe(Effect.tap(() => passed.push(each)))),
        (length) => ({ length: length.length })
      )
      yield* Effect.exit(asking)
      const exit = yield* Effect.exit(Effect.withTracer(asking, tracer))
      return { exit, passed, spans }
    })

  it.effect("has a span where it is sampled and somebody gets it, and the header of that", () =>
    Effect.gen(function* () {
      const header = `00-${trace}-${span}-01`
      const { passed, spans } = yield* ask(header, Effect.succeed("answer"))
      const [made] = spans
      expect(passed).toEqual([header, `00-${trace}-${made?.spanId}-01`])
      expect(Object.fromEntries(made?.attributes ?? [])).toEqual({ id: "1", length: 6 })
    })
  )

  it.effect("has none where it is not, and passes on what came", () =>
    Effect.gen(function* () {
      for (const header of [null, `00-${trace}-${span}-00`])
        expect(yield* ask(header, Effect.succeed("answer"))).toMatchObject({
          passed: [header, header],
          spans: []
        })
    })
  )

  it.effect("that breaks tells the tracer nothing of how", () =>
    Effect.gen(function* () {
      const { exit, spans } = yield* ask(`00-${trace}-${span}-01`, Effect.dieMessage("34600000001"))
      expect(Exit.isFailure(exit)).toBe(true)
      const [made] = spans
      expect(made?.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Success" } })
      expect(Object.fromEntries(made?.attributes ?? [])).toEqual({ id: "1", "error.type": "defect" })
    })
  )
})
