/**
 * A host at 70 % of what it can do for minutes, with refusals, hang-ups and slow readers in between: its memory stays
 * where it was after three minutes.
 */
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { consent, sendBody } from "../support/TestHost.ts"
import type { Attack } from "./Figures.ts"
import { atMost, sleep, told } from "./Figures.ts"
import type { Target } from "./Target.ts"
import { memoryOf, metricOf, startTarget } from "./Target.ts"

interface Asked {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const phone = "34600001000"

/** Of 100 requests: 5 sends, 15 that are refused, and 80 that read. */
const mixOf = ({ owner }: Target): ((place: number) => Asked) => {
  const json = { ...owner.credentials, "content-type": "application/json" }
  const path = "/api/v1/template-messages/send"
  const body = JSON.stringify(sendBody(owner.templateId, phone))
  const reading: Asked = { method: "GET", path: "/api/v1/connection", headers: owner.credentials }
  const refused: ReadonlyArray<Asked> = [
    { method: "POST", path, headers: json, body: '{"recipients":[]}' },
    { method: "POST", path, headers: json, body: "no JSON" },
    { method: "GET", path: "/nothing", headers: {} },
    { method: "GET", path: "/api/v1/connection", headers: {} },
    { method: "POST", path: "/hooks/http/0190a0a0-0000-7000-8000-000000000000", headers: {}, body: "{}" }
  ]
  return (place) => {
    const part = place % 100
    if (part % 20 === 0) {
      return { method: "POST", path, headers: { ...json, "idempotency-key": `soak-${place}` }, body }
    }
    return part % 7 === 1 ? (refused[place % refused.length] ?? reading) : reading
  }
}

const ask = (base: string, agent: Agent, what: Asked): Promise<number> =>
  new Promise((resolve) => {
    const { body, headers, method, path } = what
    const asked = request(`${base}${path}`, { agent, method, headers })
    asked.on("response", (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode ?? 0))
    })
    asked.on("error", (error) => {
      // The host had just closed a connection that was idle for as long as it may: every client asks again then.
      const isStale = asked.reusedSocket && "code" in error && error.code === "ECONNRESET"
      resolve(isStale ? ask(base, agent, what) : 0)
    })
    asked.end(body)
  })

/** Requests a second, when 16 clients ask one after the other for as long. */
const capacityOf = async (target: Target, ms: number): Promise<number> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const mix = mixOf(target)
  const until = performance.now() + ms
  let asked = 0
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      asked += 1
      // Its own keys: those of the soak are not used up.
      await ask(target.host.base, agent, mix(asked * 100 + 2 + (asked % 90)))
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  agent.destroy()
  return (asked / ms) * 1000
}

const get = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"

/** Hangs up with requests in the pipeline, or midway in one; or reads nothing until it is cut. */
const misbehave = (port: number, place: number): void => {
  const socket = connect(port, "127.0.0.1", () => {
    if (place % 3 === 0) {
      socket.write(get.repeat(16))
      setTimeout(() => socket.resetAndDestroy(), 50)
    } else if (place % 3 === 1) {
      socket.write("POST /hooks/http/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
      setTimeout(() => socket.destroy(), 50)
    } else {
      socket.pause()
      socket.write(get.repeat(16))
      setTimeout(() => socket.destroy(), 20_000)
    }
  })
  socket.on("error", () => socket.destroy())
}

const average = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

export const soak: Attack = {
  name: "soak",
  run: async ({ minutes }) => {
    if (minutes < 4) throw new Error("A soak takes at least 4 minutes: the third is compared with the last.")
    const target = await startTarget()
    const { host, owner } = target
    const agent = new Agent({ keepAlive: true, maxSockets: 64 })
    try {
      await consent(host, owner.accountId, phone)
      const capacity = await capacityOf(target, 10_000)
      const perTick = (capacity * 0.7) / 100
      const mix = mixOf(target)
      const port = Number(new URL(host.base).port)
      const statuses = new Map<number, number>()
      const memory: Array<number> = []
      const began = performance.now()
      let [asked, due, seconds, under] = [0, 0, 0, 0]
      while (performance.now() - began < minutes * 60_000) {
        const elapsed = performance.now() - began
        due = (elapsed / 10) * perTick
        for (; asked < due; asked++) {
          // Whoever comes to a host that is behind waits outside of it.
          if (under >= 256) continue
          under += 1
          void ask(host.base, agent, mix(asked)).then((status) => {
            under -= 1
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
          })
        }
        for (; seconds < elapsed / 1000; seconds++) {
          memory.push(memoryOf(host.pid))
          for (let place = 0; place < 6; place++) misbehave(port, place)
        }
        await sleep(10)
      }
      // What is under way is not cut off by the end of the measure.
      for (const until = performance.now() + 10_000; under > 0 && performance.now() < until; ) await sleep(10)
      const minute = (number: number): number => average(memory.slice((number - 1) * 60, number * 60))
      const [third, last] = [minute(3), minute(Math.floor(minutes))]
      const refused = await metricOf(host, "sendwright_refusals_total")
      agent.destroy()
      host.signal("SIGTERM")
      const { afterMs, code } = await host.ended
      const failed = [...statuses].filter(([status]) => status === 0 || status >= 500)
      return [
        told("capacity", `${Math.round(capacity)} requests a second`),
        told("answers", [...statuses].map(([status, times]) => `${times} × ${status}`).join(", ")),
        told("refused or cut", String(refused)),
        atMost(
          "failed",
          failed.reduce((sum, [, times]) => sum + times, 0),
          0,
          ""
        ),
        told(
          "memory by minute",
          `${Array.from({ length: Math.floor(minutes) }, (_, n) => Math.round(minute(n + 1))).join(", ")} MB`
        ),
        atMost("memory, last minute beside the third", (last / third - 1) * 100, 5, "%"),
        atMost("stop", afterMs, 1000, "ms"),
        atMost("exit code", code ?? 1, 0, "")
      ]
    } finally {
      agent.destroy()
      host.signal("SIGKILL")
      await host.stop()
    }
  }
}
