/**
 * What one send over HTTP costs, against undici's `Pool.request` in the same run and turn about: an exchange of the
 * same body (unsigned), and the whole of the HTTP gateway's `send` (signed). 64 are in flight at once. Beside it what
 * the engine itself takes per recipient, at a sender that answers at once. The ratios are of the client's CPU time per
 * request: a machine with other work to do says nothing by the clock on the wall.
 *
 *   taskset -c 0 npx tsx --conditions=@sendwright/source bench/outbound.ts [requests per round] [rounds]
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { ConsentStore, HttpGateway, Ids, type JobStore, Sender } from "@sendwright/core"
import * as Console from "effect/Console"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Pool } from "undici"
import * as Exchange from "../packages/core/src/sender/Exchange.ts"
import * as Fixtures from "../packages/core/src/testing/Fixtures.ts"
import * as Dispatch from "../packages/core/src/worker/Dispatch.ts"

const [requests = 8000, rounds = 9] = process.argv.slice(2).map(Number)
const inFlight = 64

const server = Effect.acquireRelease(
  Effect.promise(async (): Promise<readonly [ChildProcess, string]> => {
    const child = fork(new URL("./outbound-server.ts", import.meta.url), { execArgv: ["--import", "tsx"] })
    const [told]: ReadonlyArray<{ readonly port: number }> = await once(child, "message")
    return [child, `http://127.0.0.1:${told?.port}`]
  }),
  ([child]) => Effect.sync(() => child.kill())
)

const ids = Ids.make((count) => crypto.getRandomValues(new Uint8Array(count)))
const jobId = ids.jobId(Date.now())
const sessionId = ids.uuid(Date.now())
const content = { kind: "direct", text: "Your parcel has left us, Ana.", linkPreview: false } as const

/** As the gateway writes it: about 230 bytes. */
const body = JSON.stringify({
  message_id: Ids.messageId(jobId, 0),
  session_id: sessionId,
  to: "34691000000",
  type: "text",
  text: { body: content.text, link_preview: content.linkPreview }
})
const headers = { "content-type": "application/json", authorization: "Bearer a-token-of-the-gateway" }

/** Fibers of which each makes one request after the other. */
const pulled = (one: (n: number) => Effect.Effect<unknown>) =>
  Effect.suspend(() => {
    let begun = 0
    const lane = Effect.whileLoop({ while: () => begun < requests, body: () => one(begun++), step: () => {} })
    return Effect.all(
      Array.from({ length: inFlight }, () => lane),
      { concurrency: "unbounded", discard: true }
    )
  })

/** CPU time of this process, in microseconds per request. */
const cpu = (run: Effect.Effect<unknown>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    yield* run
    const { system, user } = process.cpuUsage(before)
    return (system + user) / requests
  })

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const poolRequest = (origin: string, connections: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Pool(origin, { connections, pipelining: 1 })),
      (pool) => Effect.promise(() => pool.destroy())
    ),
    (pool) =>
      Effect.promise(async () => {
        let begun = 0
        const lane = async (): Promise<void> => {
          while (begun++ < requests) {
            const answer = await pool.request({ method: "POST", path: "/v1/messages", headers, body })
            await answer.body.json()
          }
        }
        await Promise.all(Array.from({ length: inFlight }, lane))
      })
  )

const unsigned = (origin: string) =>
  Effect.map(Exchange.make, (exchange) =>
    pulled(() =>
      Effect.map(
        exchange({
          method: "POST",
          url: `${origin}/v1/messages`,
          headers,
          body,
          timeoutMs: 10_000,
          maximumBytes: 65_536
        }),
        (exchanged) => {
          if (exchanged._tag !== "Answered") throw new Error(`${exchanged._tag}: ${exchanged.reason}`)
          JSON.parse(exchanged.body)
        }
      )
    )
  )

const signed = (origin: string) =>
  Effect.map(HttpGateway.make, (gateway) => {
    const config = { url: `${origin}/v1/messages`, secret: "a-secret-of-the-gateway" }
    return pulled((n) =>
      Effect.map(
        gateway.send({
          messageId: Ids.messageId(jobId, n % 4000),
          sessionId,
          to: "34691000000",
          content,
          values: [],
          attempt: 1,
          config
        }),
        (result) => {
          if (result._tag !== "Accepted") throw new Error(JSON.stringify(result))
        }
      )
    )
  })

/** Windows of one job, attempted by a sender that answers at once. */
const engine = Effect.sync(() => {
  const accepted = Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))
  const sender: Sender.Sender = { provider: "sandbox", deduplicates: true, send: () => accepted }
  const recipients = Array.from({ length: 250 }, (_, index) => ({
    index,
    phone: `346${String(index).padStart(8, "0")}`,
    values: [],
    attempts: 1,
    uncertain: false,
    suspect: false
  }))
  const job: JobStore.ClaimedJob = { jobId, accountId: sessionId, sessionId, content, fence: 1, recipients }
  const granted = Effect.succeed(
    recipients.map(({ phone }) => ({ _tag: "Granted" as const, record: Fixtures.consent(phone) }))
  )
  const consents: Context.Tag.Service<ConsentStore.ConsentStore> = {
    record: () => Effect.void,
    verdicts: () => granted,
    history: () => Effect.succeed([])
  }
  const window = Effect.flatMap(Dispatch.window({ sender, config: {} }, job, inFlight), (attempts) =>
    Effect.map(attempts.run, attempts.settlements)
  )
  let left = 0
  return Effect.suspend(() => {
    left = requests
    return Effect.whileLoop({
      while: () => left > 0,
      body: () => window,
      step: (settlements) => {
        left -= settlements.length
      }
    })
  }).pipe(Effect.provideService(ConsentStore.ConsentStore, consents), Effect.orDie)
})

const program = Effect.gen(function* () {
  const [, origin] = yield* server
  const variants = [
    ["Pool.request, 64 connections", yield* poolRequest(origin, inFlight)],
    // As many as the senders have: then a request needs not wait until a connection has come to rest.
    ["Pool.request, 256 connections", yield* poolRequest(origin, 256)],
    ["exchange, unsigned", yield* unsigned(origin)],
    ["HttpGateway.send, signed", yield* signed(origin)],
    ["the engine, sender at once", yield* engine]
  ] as const
  const taken = variants.map(([name, run]) => ({ name, run, us: [] as number[] }))
  for (let round = 0; round <= rounds; round++) {
    for (const { run, us } of round % 2 === 0 ? taken : taken.toReversed()) {
      const each = yield* cpu(run)
      // The first round is for the compiler.
      if (round > 0) us.push(each)
    }
  }
  const [first] = taken
  const ratios = (us: ReadonlyArray<number>) =>
    us.map((each, round) => (first?.us[round] ?? Number.NaN) / each)
  for (const { name, us } of taken) {
    const least = Math.min(...us).toFixed(1)
    const most = Math.max(...us).toFixed(1)
    yield* Console.log(
      `${name.padEnd(30)} ${median(us).toFixed(1).padStart(6)} µs of CPU [${least}..${most}]  ` +
        `ratio ${median(ratios(us)).toFixed(2)}`
    )
  }
})

Effect.runPromise(Effect.scoped(program))
