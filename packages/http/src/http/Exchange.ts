/** A request and its answer without a server, and what becomes known of them on the way. */

import type { Masking, Problems, Route } from "@sendwright/core/contract"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

export interface PlainRequest {
  readonly method: string
  /** Path and query, or in the absolute form (RFC 9112 §3.2.2). */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The client's address; undefined when the server does not know it. */
  readonly address?: string | undefined
  /** As its server has it, for the app that it comes from. */
  readonly source?: unknown
  /** True when a body comes with it; it may be empty. */
  readonly hasBody: boolean
  /** Reads the body, at most so many bytes; `undefined` when there are more. */
  readonly body: (maximum: number) => Effect.Effect<Uint8Array | undefined, Unread>
}

/**
 * Why a body is not read: the memory for bodies that are still coming is used up, the service stops meanwhile, or somebody
 * before us has read it.
 */
export class Unread extends Data.TaggedError("Unread")<{
  readonly reason: "no room" | "stopping" | "taken"
}> {}

export type Headers = Readonly<Record<string, string>>

export interface PlainResponse {
  readonly status: number
  readonly headers: Headers
  /** Answers may share these bytes. */
  readonly body: string | Uint8Array
  /** The body instead, of an answer of any length: once. Where it fails the connection is to be cut, so that it is not whole. */
  readonly stream?: Streaming | undefined
}

/** Statuses whose answers have no body (RFC 9110 §15.3.5, §15.4.5). */
export const isBodyless = (status: number): boolean => status === 204 || status === 304

/** Begins to make a body, as fast as it is read. */
export type Streaming = () => AsyncIterable<Uint8Array>

export const none: Headers = {}

export const headerOf = ({ headers }: PlainRequest, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "object" ? value.join(", ") : value
}

/** A request in progress, with what is known of it. */
export class Exchange {
  readonly request: PlainRequest
  readonly requestId: string
  route: Route.Route | undefined
  /**
   * The route's name for metrics and the log. Never the path as received, since each path would be a series of its
   * own.
   */
  name = "none"
  /** The code of its refusal; null while it is not refused. */
  refused: Problems.Code | null = null
  /** How numbers are masked, once an operator is known who does not see them. */
  hide: Masking.Hide | null = null
  /** Known together with the caller; every later answer shows it. */
  rate: { readonly policy: string; readonly state: string } | undefined
  constructor(request: PlainRequest, requestId: string) {
    this.request = request
    this.requestId = requestId
  }
}
