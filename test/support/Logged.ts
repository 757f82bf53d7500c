/** The lines that a test's processes log at the default level. */
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"

export interface Line {
  readonly level: string
  readonly text: string
  /** What stands beside it. */
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Runs an effect, and answers what it logged. */
export const during = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<ReadonlyArray<Line>, E, R> =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    const logger = Logger.make<unknown, void>(({ annotations, logLevel, message }) => {
      if (logLevel.label === "DEBUG") return
      const text = Array.isArray(message) ? message.map(String).join(" ") : String(message)
      lines.push({
        level: logLevel.label,
        text,
        annotations: Object.fromEntries(HashMap.toEntries(annotations))
      })
    })
    return Effect.as(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), lines)
  })
