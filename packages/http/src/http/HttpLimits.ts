/**
 * Every limit of the host in one table: what it bounds, its setting and default, and what happens beyond it. A test
 * compares the table of docs/limits.md with it. Bodies have limits of their own, which belong to the contract (`Body`).
 */
import { Metrics } from "@sendwright/core/adapter"
import * as Record from "effect/Record"

/** How much one of a setting's unit is in the host: counts, milliseconds, bytes. */
const units = { "": 1, "per second": 1, seconds: 1000, KiB: 1024, MiB: 1024 * 1024 } as const

export interface Limit {
  /** The environment variable. */
  readonly setting: string
  /** In the setting's unit, like the range. */
  readonly value: number
  readonly unit: keyof typeof units
  readonly from: number
  readonly to: number
  readonly bounds: string
  readonly over: string
}

/** A count from 1 on, unless it is said otherwise. */
const limit = (given: Omit<Limit, "from" | "unit"> & Partial<Limit>): Limit => ({
  from: 1,
  unit: "",
  ...given
})

export const table = {
  connections: limit({
    setting: "LIMIT_CONNECTIONS",
    value: 5000,
    to: 1_000_000,
    bounds: "open connections",
    over: "a new connection gets 503 with `Retry-After` and is closed"
  }),
  connectionsPerAddress: limit({
    setting: "LIMIT_CONNECTIONS_PER_ADDRESS",
    value: 2000,
    to: 1_000_000,
    bounds: "open connections of one address; those of trusted proxies (`TRUST_PROXY`) are not counted",
    over: "a new connection gets 503 with `Retry-After` and is closed"
  }),
  pipelined: limit({
    setting: "LIMIT_PIPELINED",
    value: 16,
    to: 1000,
    bounds: "requests of one connection that have no answer yet",
    over: "the connection is cut; its requests that wait are not begun"
  }),
  heads: limit({
    setting: "LIMIT_HEADS",
    value: 32,
    unit: "KiB",
    from: 32,
    to: 100_000,
    bounds:
      "request lines and headers of one connection's requests that have no answer yet; each header counts 64 bytes more",
    over: "the connection is cut; its requests that wait are not begun"
  }),
  headers: limit({
    setting: "LIMIT_HEADERS",
    value: 100,
    from: 20,
    to: 200,
    bounds: "headers of one request",
    over: "431, and the connection is closed"
  }),
  concurrent: limit({
    setting: "LIMIT_CONCURRENT",
    value: 2,
    to: 1000,
    bounds: "requests of one connection that are worked on, or whose answers the client has not read yet",
    over: "the next one waits"
  }),
  stalled: limit({
    setting: "LIMIT_STALLED",
    value: 10,
    unit: "seconds",
    to: 3600,
    bounds: "how long a client may take to read an answer",
    over: "the connection is cut"
  }),
  headersTime: limit({
    setting: "LIMIT_HEADERS_TIME",
    value: 10,
    unit: "seconds",
    to: 3600,
    bounds:
      "how long the headers of a request may take to come, and how long a new connection may stay silent",
    over: "408, and the connection is closed"
  }),
  requestTime: limit({
    setting: "LIMIT_REQUEST_TIME",
    value: 15,
    unit: "seconds",
    to: 3600,
    bounds: "how long a whole request (headers and body) may take to come",
    over: "408, and the connection is closed"
  }),
  idleTime: limit({
    setting: "LIMIT_IDLE_TIME",
    value: 5,
    unit: "seconds",
    to: 3600,
    bounds: "how long a connection stays open between two requests",
    over: "the connection is closed"
  }),
  bodies: limit({
    setting: "LIMIT_BODIES",
    value: 64,
    unit: "MiB",
    from: 5,
    to: 100_000,
    bounds:
      "memory for bodies that are still coming; only bytes that have come are counted, not those announced",
    over: "503 with `Retry-After`, and the connection is closed without reading the body"
  }),
  bodiesPerAddress: limit({
    setting: "LIMIT_BODIES_PER_ADDRESS",
    value: 32,
    unit: "MiB",
    from: 5,
    to: 100_000,
    bounds: "the part of that memory which one client address may take",
    over: "503 with `Retry-After`, and the connection is closed without reading the body"
  }),
  pages: limit({
    setting: "LIMIT_PAGES",
    value: 100,
    unit: "per second",
    to: 1_000_000,
    bounds: "requests for `/docs` and `/openapi.json`, which are long and open to anybody",
    over: "503 with `Retry-After`, and the connection is closed"
  }),
  pagesPerAddress: limit({
    setting: "LIMIT_PAGES_PER_ADDRESS",
    value: 20,
    unit: "per second",
    to: 1_000_000,
    bounds: "requests for these two pages from one client address",
    over: "429 with `Retry-After`, and the connection is closed"
  }),
  hooksPerSession: limit({
    setting: "LIMIT_HOOKS_PER_SESSION",
    value: 1000,
    unit: "per second",
    to: 1_000_000,
    bounds: "hooks for one session from one client address",
    over: "429 with `Retry-After`; the body is not read, and platforms send the hook again"
  }),
  hooksPerAddress: limit({
    setting: "LIMIT_HOOKS_PER_ADDRESS",
    value: 2000,
    unit: "per second",
    to: 1_000_000,
    bounds: "hooks from one client address, for known sessions or unknown ones",
    over: "429 with `Retry-After`; the store is not asked, and the body is not read"
  })
}

export type Name = keyof typeof table

/** The unit of each limit: a count, milliseconds or bytes. */
export type Limits = Readonly<Record<Name, number>>

/** A setting's value as the host counts. */
export const counted = (name: Name, value: number): number => value * units[table[name].unit]

export const defaults: Limits = Record.map(table, ({ value }, name) => counted(name, value))

/** Counts a connection that was cut without an answer, by the setting of the limit. */
export const cutting = () => {
  const { refused } = Metrics.ofRequests()
  return (name: Name): void => refused(table[name].setting)
}
