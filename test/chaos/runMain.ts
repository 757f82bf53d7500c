/** Runs a process of the chaos: SIGTERM stops it, and its exit code says how it ended. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

export const runMain = <E>(program: Effect.Effect<unknown, E>): void => {
  const fiber = Effect.runFork(program)
  process.once("SIGTERM", () => Effect.runFork(Fiber.interrupt(fiber)))
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) process.exit(0)
    process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
    process.exit(1)
  })
}
