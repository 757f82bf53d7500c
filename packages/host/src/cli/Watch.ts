/** An answer that is asked for again and again: drawn over itself at a terminal, a line of JSON each where a program reads. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Screen from "./Screen.ts"
import type { View } from "./Summary.ts"

const pause = "2 seconds"

const esc = "\u001b["
/** Another screen than that of the shell, without its cursor; and back. */
const enter = `${esc}?1049h${esc}?25l`
const leave = `${esc}?25h${esc}?1049l`
const restOfLine = `${esc}K`
const restOfScreen = `${esc}J`

/** Over what is there: each line anew and nothing before, so that the screen does not flicker. */
const drawn = (text: string, { rows }: Screen.Stream): string => {
  const lines = text.split("\n").slice(0, Math.max(1, rows - 1))
  return `${esc}H${lines.map((line) => `${line}${restOfLine}`).join("\n")}${restOfScreen}`
}

/** A failure is told below the last answer, and it is asked again; the first one ends it. */
export const run = <E, R>(
  ask: Effect.Effect<unknown, E, R>,
  { text }: View,
  out: Screen.Stream,
  why: (error: E) => string
): Effect.Effect<never, E, R> =>
  Effect.gen(function* () {
    const first = yield* ask
    const show = (told: string): Effect.Effect<void> =>
      out.isTerminal ? Effect.sync(() => out.draw(drawn(told, out))) : Console.log(told)
    let last = text(first, out)
    const again = Effect.matchEffect(ask, {
      onSuccess: (body) => {
        last = text(body, out)
        return show(last)
      },
      onFailure: (error) =>
        out.isTerminal ? show(`${why(error)} It is asked again.\n\n${last}`) : Console.error(why(error))
    })
    const screen = out.isTerminal
      ? Effect.acquireRelease(
          Effect.sync(() => out.draw(enter)),
          () => Effect.sync(() => out.draw(leave))
        )
      : Effect.void
    return yield* Effect.scoped(
      Effect.zipRight(
        Effect.zipRight(screen, show(last)),
        Effect.forever(Effect.zipRight(Effect.sleep(pause), again))
      )
    )
  })
