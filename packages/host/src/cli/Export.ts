/** Writes an export to standard output as it comes, and says whether it came whole. */
import { Json } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import * as Progress from "./Progress.ts"
import { type Refused, told } from "./Refused.ts"
import type { Screen } from "./Screen.ts"

/** Waits until it is written, so that no more is asked for than is read. */
const put = (bytes: Uint8Array): Effect.Effect<void, Refused> =>
  Effect.async((resume) => {
    process.stdout.write(bytes, (error) =>
      resume(error ? Effect.fail(told("The export is not whole: it cannot be written.")) : Effect.void)
    )
  })

const newline = 0x0a

/** The part of an export that has come: how many lines, and the end of the last piece, which has the last line. */
interface Came {
  readonly lines: number
  readonly end: string
}

const countLines = (bytes: Uint8Array): number => {
  let found = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) found += 1
  return found
}

/** The last line of NDJSON says that it is whole, or why it is not. */
const broken = (end: string): Refused | undefined => {
  const last = Either.getOrElse(
    Either.try((): unknown => JSON.parse(end.trimEnd().split("\n").at(-1) ?? "")),
    () => undefined
  )
  if (Json.valueAt(last, "ok") === true) return undefined
  const why = Json.textAt(last, "detail")
  return told(`The export is not whole.${why === undefined ? "" : ` ${why}`}`)
}

export const write = <E>(
  pieces: Stream.Stream<Uint8Array, E>,
  format: unknown,
  { err, out }: Screen
): Effect.Effect<void, E | Refused> =>
  Effect.gen(function* () {
    const progress = Progress.make(err)
    const decoder = new TextDecoder()
    const { end } = yield* Stream.runFoldEffect(pieces, { lines: 0, end: "" } as Came, (came, bytes) =>
      Effect.gen(function* () {
        yield* put(bytes)
        const lines = came.lines + countLines(bytes)
        // A bar would stand among the lines of a terminal.
        if (!out.isTerminal) yield* progress.reach({ lines, part: null })
        return { lines, end: (came.end + decoder.decode(bytes, { stream: true })).slice(-longestEnd) }
      })
    ).pipe(Effect.ensuring(progress.end))
    const refused = format === "csv" ? undefined : broken(end)
    if (refused !== undefined) return yield* refused
  })

/** The last line of NDJSON is shorter. */
const longestEnd = 4096
