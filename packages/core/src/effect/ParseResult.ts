/** `effect/ParseResult`; `Version.ts` says why it is not imported as such. */
import * as effect from "effect"

export const { Composite, decodeUnknownEither, fail, Pointer, succeed, Type } = effect.ParseResult
