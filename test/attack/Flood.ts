/**
 * A flood without credentials, from another process and simultaneously: clients that pipeline and never read, requests
 * that never end, and bodies that come byte by byte.
 */

import { attack } from "./Attackers.ts"
import type { Attack, Figure } from "./Figures.ts"
import { atMost, sleep, told } from "./Figures.ts"
import type { Crowd } from "./hostile.ts"
import { connectionsAt, memoryOf, metricOf, startTarget, watch, watchFor } from "./Target.ts"

const nobody = "0190a0a0-0000-7000-8000-000000000000"

const post = (path: string, length: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n`

const crowdsOf = (part: number, gatewaySession: string): ReadonlyArray<Crowd> => {
  const get = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
  const large = `Content-Length: ${4 * 1024 * 1024}`
  const none = { times: 1, drip: "" }
  const of = (sockets: number): number => Math.ceil(sockets * part)
  return [
    // More requests in the pipeline than a connection may have, and just as many.
    { ...none, sockets: of(500), text: get, times: 1500 },
    { ...none, sockets: of(500), text: get, times: 16 },
    {
      ...none,
      sockets: of(1000),
      text: `GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ${"x".repeat(8000)}`,
      drip: "x"
    },
    { ...none, sockets: of(200), text: post(`/hooks/http/${nobody}`, large), drip: "x" },
    { ...none, sockets: of(100), text: post(`/hooks/http/${gatewaySession}`, large), drip: "x" },
    {
      ...none,
      sockets: of(100),
      text: `${post(`/hooks/http/${gatewaySession}`, "Transfer-Encoding: chunked")}8000\r\n${"x".repeat(32_768)}\r\n`,
      drip: "1\r\nx\r\n"
    },
    { ...none, sockets: of(100), text: post("/api/v1/template-messages/send", large), drip: "x" }
  ]
}

/** The short form runs beside other tests: a stop that waits for a connection takes the whole grace period there, too, of 25 seconds. */
const shapes = {
  full: { part: 1, before: 10_000, during: 30_000, stopWithinMs: 1000, environment: {} },
  short: {
    part: 0.2,
    before: 2000,
    during: 3000,
    stopWithinMs: 5000,
    environment: { LIMIT_HEADERS_TIME: "2", LIMIT_REQUEST_TIME: "3", LIMIT_STALLED: "2" }
  }
}

/** Nothing that a client does holds anything for longer. */
const freedWithinMs = 30_000
/** The connections of the good client, and of who reads the metrics. */
const ourOwn = 5

export const flood: Attack = {
  name: "flood",
  run: async ({ size }) => {
    const { before, during, environment, part, stopWithinMs } = shapes[size]
    const target = await startTarget(environment)
    const { host } = target
    try {
      // The first reader of a page waits until it is made, and so does everybody else.
      for (const page of ["/openapi.json", "/docs"]) await host.request(page)
      const base = await watchFor(target, before)
      const baseMemory = memoryOf(host.pid)
      const port = Number(new URL(host.base).port)
      const crowds = crowdsOf(part, target.gatewaySession)
      const watching = watch(target)
      const { end } = await attack(host.base, crowds)
      const began = performance.now()
      const open = connectionsAt(port)
      let freed = Number.POSITIVE_INFINITY
      for (let elapsed = 0; elapsed < during || freed > elapsed; elapsed = performance.now() - began) {
        if (elapsed > freedWithinMs + 10_000) break
        await sleep(500)
        if (freed > elapsed && connectionsAt(port) <= ourOwn) freed = performance.now() - began
      }
      const seen = await watching.end()
      const refused = await metricOf(host, "sendwright_refusals_total")
      host.signal("SIGTERM")
      const { afterMs, code } = await host.ended
      end()
      const figures: ReadonlyArray<Figure> = [
        told("sockets that attack", String(crowds.reduce((sum, { sockets }) => sum + sockets, 0))),
        told("of them open once all had come", String(open)),
        told("refused or cut", String(refused)),
        atMost("memory over the base", seen.peakMemory - baseMemory, 150, "MB"),
        told("memory before", `${Math.round(baseMemory)} MB`),
        told("good requests, p50 before and during", `${base.p50.toFixed(1)} and ${seen.p50.toFixed(1)} ms`),
        atMost("good requests, p99 during", seen.p99, 2 * base.p99, "ms"),
        told("good requests answered", String(seen.answered)),
        atMost(
          "good requests refused",
          Object.values(seen.refused).reduce((a, b) => a + b, 0),
          0,
          ""
        ),
        atMost("until all connections are free", freed / 1000, freedWithinMs / 1000, "s"),
        atMost("stop", afterMs, stopWithinMs, "ms"),
        atMost("exit code", code ?? 1, 0, "")
      ]
      return figures
    } finally {
      host.signal("SIGKILL")
      await host.stop()
    }
  }
}
