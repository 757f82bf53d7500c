/** `effect/ParseResult`; `Version.ts` says why it is not imported as such. */
import * as effect from "effect"
import type * as Module from "effect/ParseResult"

export type ParseIssue = Module.ParseIssue

export const { Composite, decodeUnknownEither, fail, Pointer, succeed, Type } = effect.ParseResult
