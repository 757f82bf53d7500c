/** Reads the files that the command line is given; `-` is the standard input. A file that cannot be used is an error of usage. */
import { isUtf8 } from "node:buffer"
import { buffer } from "node:stream/consumers"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as FileSystem from "@effect/platform/FileSystem"
import { Fault } from "@sendwright/core"
import { Body } from "@sendwright/http/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logs from "../Logs.ts"

export type Read<A> = Effect.Effect<A, HelpDoc.HelpDoc, FileSystem.FileSystem>

export const wrong = (file: string, reason: string): HelpDoc.HelpDoc =>
  HelpDoc.p(Logs.printable(`${file === "-" ? "The standard input" : file} ${reason}`))

const bytes = (file: string): Read<Uint8Array> =>
  file === "-"
    ? Effect.promise(() => buffer(process.stdin))
    : Effect.flatMap(FileSystem.FileSystem, (files) => files.readFile(file)).pipe(
        Effect.mapError(() => wrong(file, "cannot be read."))
      )

const messageOf = (fault: Fault.Fault): string =>
  fault.path.length === 0 ? fault.message : `At ${Fault.pointer(fault)}: ${fault.message}`

/** By the rules of a request's body, but for its size. */
export const json = (file: string): Read<unknown> =>
  Effect.flatMap(bytes(file), (content) =>
    Either.mapLeft(Body.parse(content), (faults) =>
      wrong(file, `cannot be used. ${faults.map(messageOf).join(" ")}`)
    )
  )

export const text = (file: string): Read<string> =>
  Effect.filterOrFail(bytes(file), isUtf8, () => wrong(file, "must be UTF-8.")).pipe(
    Effect.map((content) => new TextDecoder().decode(content))
  )
